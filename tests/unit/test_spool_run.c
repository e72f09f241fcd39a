/* SPDX-License-Identifier: Apache-2.0 */
/* One run in the spool: directory and lock, state, journals, sealed batches, and what memory holds without a disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/auto.h"
#include "spool_scenario.h"

static void make_run(struct spool_scenario *context, struct spool_run *run, const char *name)
{
    struct err err = {0};
    if (spool_run_create(run, &context->spool, name, &err) < 0)
        fail_msg("%s", err.msg);
}

static void assert_batch(struct spool_run *run, uint32_t number, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, SPOOL_BATCH_BYTES_MAX);
    buf_puts(&buf, "what was there before");
    assert_int_equal(spool_run_read(run, number, &buf, NULL), 0);
    assert_string_equal(buf_cstr(&buf), expected);
}

static void test_create_and_remove(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    make_run(context, &run, "run-1");
    assert_int_equal(spool_scenario_entries(context, ""), 1);
    assert_int_equal(spool_scenario_size(context, "run-1/lock"), 0);
    struct stat st;
    assert_int_equal(fstatat(context->spool.dir_fd, "run-1", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(fcntl(run.dir_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(run.lock_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(spool_run_save_state(&run, STR("{}"), NULL), 0);
    assert_int_equal(spool_run_journal(&run, STR("a\nb\n"), NULL), 0);
    assert_int_equal(spool_run_seal(&run, STR("first"), NULL), 0);
    assert_int_equal(spool_run_journal(&run, STR("c\n"), NULL), 0);
    assert_int_equal(fcntl(run.journal_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(fstatat(run.dir_fd, "000001.csv", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(fstatat(run.dir_fd, "000000.csv.gz", &st, 0), 0);
    assert_int_equal(st.st_mode & 07777, 0600);
    tree_write(&context->tree, "spool/run-1/000007.csv.gz.new", "cut off");
    assert_int_equal(spool_run_remove(&run, NULL), 0);
    assert_int_equal(run.dir_fd, -1);
    assert_int_equal(spool_scenario_entries(context, ""), 0);
    spool_close(&context->spool);
    assert_int_equal(spool_scenario_size(context, ""), -1);
}

static void test_names(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    static const char *const bad[] = {"", ".", "..", ".hidden", "a/b", "../x", "a b", "a\n", "\xc3\xa4",
        "a234567890123456789012345678901234567890123456789012345678901234"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(spool_run_create(&run, &context->spool, bad[i], &err), -EINVAL);
        spool_run_close(&run);
        assert_int_equal(spool_run_open(&run, &context->spool, bad[i], &err), -EINVAL);
        spool_run_close(&run);
    }
    assert_int_equal(spool_scenario_entries(context, ""), 0);
    make_run(context, &run, "twice");
    struct spool_run again;
    assert_true(spool_run_create(&again, &context->spool, "twice", &err) < 0);
    assert_non_null(strstr(err.msg, "twice"));
    assert_int_equal(again.dir_fd, -1);
    assert_int_equal(spool_scenario_entries(context, ""), 1);
    /* Which still works, in memory. */
    assert_int_equal(spool_run_seal(&again, STR("kept"), &err), 1);
    assert_batch(&again, 0, "kept");
    spool_run_close(&again);
    assert_int_equal(spool_run_open(&again, &context->spool, "none", &err), -ENOENT);
    spool_run_close(&run);
}

static void test_lock(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct spool_run other;
    struct err err = {0};
    make_run(context, &run, "run");
    assert_int_equal(spool_run_open(&other, &context->spool, "run", &err), -EBUSY);
    assert_non_null(strstr(err.msg, "in use"));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(spool_run_open(&other, &context->spool, "run", NULL) == -EBUSY ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    spool_run_close(&run);
    assert_int_equal(spool_run_open(&other, &context->spool, "run", NULL), 0);
    assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), -EBUSY);
    spool_run_close(&other);
    /* A directory whose removal was cut off has no lock any more. */
    tree_remove(&context->tree, "spool/run/lock");
    assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), 0);
    assert_int_equal(spool_run_remove(&run, NULL), 0);
}

/* The spool may vanish between opening it and making a run: another tracker found it empty. */
static void test_spool_vanishes(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    tree_remove(&context->tree, "spool");
    make_run(context, &run, "run");
    assert_int_equal(spool_scenario_size(context, "run/lock"), 0);
    assert_int_equal(spool_run_remove(&run, NULL), 0);
    spool_close(&context->spool);
    assert_int_equal(spool_scenario_size(context, ""), -1);
}

static void test_foreign_file(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    make_run(context, &run, "run");
    assert_int_equal(spool_run_seal(&run, STR("x"), NULL), 0);
    tree_write(&context->tree, "spool/run/notes.txt", "mine");
    assert_int_equal(spool_run_remove(&run, &err), -ENOTEMPTY);
    assert_non_null(strstr(err.msg, "notes.txt"));
    assert_non_null(strstr(err.msg, context->path));
    assert_int_equal(spool_scenario_size(context, "run/notes.txt"), 4);
    assert_int_equal(spool_scenario_entries(context, "run"), 1);
    static const char *const odd[] = {"00001.csv", "0000001.csv", "+00001.csv", "000001.csv.new", "state.json.new.new",
        "lock.new", "000001.CSV", "-00001.csv.gz"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "spool/run/%s", odd[i]);
        tree_write(&context->tree, path, "x");
    }
    assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), 0);
    assert_int_equal(run.batches.count, 0);
    assert_int_equal(run.open_number, 0);
    assert_int_equal(spool_run_remove(&run, &err), -ENOTEMPTY);
    assert_int_equal(spool_scenario_entries(context, "run"), 9);
}

static void test_state(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    AUTO_BUF struct buf buf;
    struct err err = {0};
    buf_init(&buf, SPOOL_STATE_BYTES_MAX);
    make_run(context, &run, "run");
    assert_int_equal(spool_run_load_state(&run, &buf, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "state.json"));
    assert_int_equal(spool_run_save_state(&run, STR("{\"long\":1}"), NULL), 0);
    assert_int_equal(spool_run_save_state(&run, STR("{}"), NULL), 0);
    spool_run_close(&run);
    assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), 0);
    assert_int_equal(spool_run_load_state(&run, &buf, NULL), 0);
    assert_string_equal(buf_cstr(&buf), "{}");
    assert_int_equal(spool_scenario_entries(context, "run"), 2);

    static char large[SPOOL_STATE_BYTES_MAX + 1];
    assert_int_equal(spool_run_save_state(&run, (struct str){large, sizeof(large)}, &err), -EFBIG);
    /* A link in the directory is not followed, neither to read nor to write. */
    tree_remove(&context->tree, "spool/run/state.json");
    tree_write(&context->tree, "secret", "secret");
    tree_link(&context->tree, "spool/run/state.json", "../../secret");
    tree_link(&context->tree, "spool/run/state.json.new", "../../secret");
    assert_int_equal(spool_run_load_state(&run, &buf, NULL), -ELOOP);
    assert_int_equal(spool_run_save_state(&run, STR("{}"), NULL), -ELOOP);
    assert_int_equal(spool_run_save_state(&run, STR("{}"), NULL), 0);
    assert_int_equal(spool_run_load_state(&run, &buf, NULL), 0);
    assert_string_equal(buf_cstr(&buf), "{}");
    assert_int_equal(spool_scenario_size(context, "../secret"), 6);
    spool_run_close(&run);
}

static void test_journal_and_seal(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    make_run(context, &run, "run");
    AUTO_BUF struct buf rows;
    buf_init(&rows, 1024);
    assert_int_equal(spool_run_read_journal(&run, spool_scenario_take, &rows, NULL), -ENODATA);
    assert_int_equal(spool_run_journal(&run, STR("h\n1\n"), NULL), 0);
    assert_int_equal(spool_run_journal(&run, STR(""), NULL), 0);
    assert_int_equal(spool_run_journal(&run, STR("2\n"), NULL), 0);
    assert_int_equal(run.journal_bytes, 6);
    assert_int_equal(spool_run_read_journal(&run, spool_scenario_take, &rows, NULL), 0);
    assert_string_equal(buf_cstr(&rows), "h\n1\n2\n");
    assert_int_equal(spool_run_seal(&run, STR("batch 0"), NULL), 0);
    assert_int_equal(run.open_number, 1);
    assert_int_equal(run.journal_bytes, 0);
    assert_int_equal(run.sealed_bytes, 7);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv"), -1);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv.gz"), 7);
    assert_int_equal(spool_run_seal(&run, STR("batch no 1"), NULL), 0);
    assert_batch(&run, 0, "batch 0");
    assert_batch(&run, 1, "batch no 1");
    spool_run_drop(&run, 0);
    spool_run_drop(&run, 0);
    spool_run_drop(&run, 5);
    assert_int_equal(run.batches.count, 1);
    assert_int_equal(run.sealed_bytes, 10);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv.gz"), -1);
    struct err err = {0};
    assert_int_equal(spool_run_read(&run, 0, &rows, &err), -ENOENT);
    assert_non_null(strstr(err.msg, "000000.csv.gz"));
    assert_int_equal(spool_run_journal(&run, STR("h\n"), NULL), 0);
    spool_run_drop_journal(&run);
    assert_int_equal(run.open_number, 2);
    assert_int_equal(spool_scenario_entries(context, "run"), 2);
    spool_run_close(&run);
}

static void test_open_finds(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    tree_write(&context->tree, "spool/run/000012.csv.gz", "twelve");
    tree_write(&context->tree, "spool/run/000003.csv.gz", "three");
    tree_write(&context->tree, "spool/run/000003.csv", "h\nsealed already\n");
    tree_write(&context->tree, "spool/run/000014.csv", "h\nopen\ntorn");
    tree_write(&context->tree, "spool/run/000013.csv.gz.new", "cut off");
    tree_write(&context->tree, "spool/run/state.json.new", "{");
    tree_link(&context->tree, "spool/run/000020.csv.gz", "/etc/passwd");
    assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), 0);
    assert_int_equal(run.batches.count, 2);
    assert_int_equal(run.batches.items[0].number, 3);
    assert_int_equal(run.batches.items[1].number, 12);
    assert_int_equal(run.sealed_bytes, 11);
    assert_int_equal(run.open_number, 14);
    assert_int_equal(spool_scenario_size(context, "run/000003.csv"), -1);
    assert_int_equal(spool_scenario_size(context, "run/000013.csv.gz.new"), -1);
    assert_int_equal(spool_scenario_size(context, "run/state.json.new"), -1);
    AUTO_BUF struct buf rows;
    buf_init(&rows, 1024);
    assert_int_equal(spool_run_read_journal(&run, spool_scenario_take, &rows, NULL), 0);
    assert_string_equal(buf_cstr(&rows), "h\nopen\n");
    spool_run_drop_journal(&run);
    assert_int_equal(spool_run_find_journal(&run), 0);
    assert_int_equal(run.open_number, 13);
    spool_run_close(&run);
}

/* The last LF may lie anywhere before, at or behind the edges of what is read at once. */
static void test_long_journals(void **state)
{
    struct spool_scenario *context = *state;
    static const size_t sizes[] = {1, 16383, 16384, 16385, 32768, 50000};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        for (size_t torn = 0; torn < 40000; torn = torn ? torn * 200 : 1) {
            AUTO_BUF struct buf text;
            AUTO_BUF struct buf rows;
            buf_init(&text, 1 << 20);
            buf_init(&rows, 1 << 20);
            while (text.len + 1 < sizes[i])
                buf_putc(&text, (char)('a' + text.len % 26));
            buf_putc(&text, '\n');
            for (size_t n = 0; n < torn; n++)
                buf_putc(&text, 't');
            tree_write_bytes(&context->tree, "spool/run/000000.csv", text.data, text.len);
            struct spool_run run;
            assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), 0);
            assert_int_equal(spool_run_read_journal(&run, spool_scenario_take, &rows, NULL), 0);
            assert_int_equal(rows.len, sizes[i]);
            assert_memory_equal(rows.data, text.data, rows.len);
            spool_run_close(&run);
        }
    }
}

static int refuse(void *context, struct str piece)
{
    (void)context;
    (void)piece;
    return -ECANCELED;
}

static void test_take_refuses(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    make_run(context, &run, "run");
    assert_int_equal(spool_run_journal(&run, STR("h\n1\n"), NULL), 0);
    assert_int_equal(spool_run_read_journal(&run, refuse, NULL, &err), -ECANCELED);
    assert_int_equal(err.code, 0);
    spool_run_close(&run);
}

static void test_max_bytes(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    context->spool.max_bytes = 100;
    tree_write(&context->tree, "spool/other/000000.csv.gz", "0123456789012345678901234567890123456789");
    tree_write(&context->tree, "spool/other/000001.csv", "0123456789");
    make_run(context, &run, "run");
    assert_true(spool_run_has_room(&run, 50));
    assert_false(spool_run_has_room(&run, 51));
    assert_false(spool_run_has_room(&run, UINT64_MAX));
    assert_int_equal(spool_run_seal(&run, STR("0123456789012345678901234567890123456789"), NULL), 0);
    assert_true(spool_run_has_room(&run, 10));
    assert_int_equal(spool_run_journal(&run, STR("h\n1\n"), NULL), 0);
    /* What does not fit waits in memory, and goes to the disk when there is room. */
    assert_int_equal(spool_run_seal(&run, STR("12345678901"), &err), 1);
    assert_non_null(strstr(err.msg, "full"));
    assert_int_equal(run.open_number, 2);
    assert_int_equal(spool_scenario_size(context, "run/000001.csv"), -1);
    assert_int_equal(spool_scenario_size(context, "run/000001.csv.gz"), -1);
    assert_batch(&run, 1, "12345678901");
    assert_int_equal(spool_run_flush(&run), -EDQUOT);
    assert_false(spool_run_has_room(&run, 0));
    spool_run_drop(&run, 0);
    assert_int_equal(spool_run_flush(&run), 0);
    assert_int_equal(spool_scenario_size(context, "run/000001.csv.gz"), 11);
    assert_true(spool_run_has_room(&run, 39));
    assert_false(spool_run_has_room(&run, 40));
    assert_int_equal(run.batches.count, 1);
    spool_run_close(&run);
}

static void test_memory_only(void **state)
{
    (void)state;
    struct spool spool = {.dir_fd = -1};
    struct spool_run run;
    struct err err = {0};
    AUTO_BUF struct buf buf;
    buf_init(&buf, SPOOL_BATCH_BYTES_MAX);
    assert_int_equal(spool_run_create(&run, &spool, "run", &err), 0);
    assert_int_equal(spool_run_save_state(&run, STR("{}"), NULL), 0);
    assert_int_equal(spool_run_load_state(&run, &buf, NULL), -ENOENT);
    assert_int_equal(spool_run_journal(&run, STR("h\n"), NULL), 0);
    assert_int_equal(spool_run_read_journal(&run, spool_scenario_take, &buf, NULL), -ENODATA);
    assert_int_equal(spool_run_seal(&run, STR("zero"), &err), 1);
    assert_non_null(strstr(err.msg, "memory"));
    assert_int_equal(run.memory_bytes, 4);
    static char large[SPOOL_MEMORY_BYTES_MAX + 1];
    assert_int_equal(spool_run_seal(&run, (struct str){large, SPOOL_MEMORY_BYTES_MAX - 3}, &err), -ENOSPC);
    assert_int_equal(spool_run_seal(&run, (struct str){large, SPOOL_BATCH_BYTES_MAX + 1}, &err), -EFBIG);
    assert_int_equal(run.open_number, 1);
    assert_false(spool_run_has_room(&run, SPOOL_MEMORY_BYTES_MAX - 3));
    assert_true(spool_run_has_room(&run, SPOOL_MEMORY_BYTES_MAX - 4));
    assert_int_equal(spool_run_seal(&run, (struct str){large, SPOOL_MEMORY_BYTES_MAX - 4}, &err), 1);
    assert_batch(&run, 0, "zero");
    spool_run_drop(&run, 1);
    assert_int_equal(run.memory_bytes, 4);
    assert_int_equal(spool_run_remove(&run, NULL), 0);
    assert_int_equal(spool_run_open(&run, &spool, "run", &err), -ENOENT);
    spool_close(&spool);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A disk that takes no more than 30 bytes of a file. */
/* One batch that nothing has room for waits for those that take it at once. */
static void test_passing(void **state)
{
    (void)state;
    struct spool spool = {.dir_fd = -1};
    struct spool_run run;
    struct err err = {0};
    static char large[SPOOL_MEMORY_BYTES_MAX];
    assert_int_equal(spool_run_create(&run, &spool, "run", &err), 0);
    assert_false(spool_run_keep_passing(&run));
    assert_int_equal(spool_run_seal(&run, (struct str){large, SPOOL_MEMORY_BYTES_MAX - 1}, &err), 1);
    assert_int_equal(spool_run_seal(&run, STR("one"), &err), -ENOSPC);
    run.may_pass = true;
    assert_int_equal(spool_run_seal(&run, STR("one"), &err), 2);
    assert_true(run.has_passing && run.passing == 1);
    assert_int_equal(run.memory_bytes, SPOOL_MEMORY_BYTES_MAX - 1);
    assert_batch(&run, 1, "one");
    assert_int_equal(spool_run_seal(&run, STR("two"), &err), -ENOSPC);
    assert_false(spool_run_keep_passing(&run));
    spool_run_drop(&run, 1);
    assert_false(run.has_passing);
    assert_int_equal(spool_run_seal(&run, STR("two"), &err), 2);
    spool_run_drop(&run, 0);
    assert_int_equal(run.memory_bytes, 0);
    assert_true(spool_run_keep_passing(&run));
    assert_int_equal(run.memory_bytes, 3);
    assert_false(run.has_passing);
    assert_batch(&run, 2, "two");
    assert_int_equal(spool_run_seal(&run, STR("three"), &err), 1);
    spool_run_close(&run);
}

static void test_set_aside(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    char kept[SPOOL_ASIDE_BYTES];
    make_run(context, &run, "run");
    for (int i = 0; i < 3; i++)
        assert_int_equal(spool_run_seal(&run, STR("bytes"), NULL), 0);
    spool_run_set_aside(&run, 1, kept);
    assert_string_equal(kept, "000001.csv.gz.bad");
    assert_int_equal(spool_scenario_size(context, "run/000001.csv.gz.bad"), 5);
    assert_int_equal(spool_scenario_size(context, "run/000001.csv.gz"), -1);
    assert_int_equal(run.sealed_bytes, 10);
    tree_write(&context->tree, "spool/run/000002.csv.gz", "");
    spool_run_set_aside(&run, 2, kept);
    assert_string_equal(kept, "");
    assert_int_equal(spool_scenario_size(context, "run/000002.csv.gz"), -1);
    spool_run_set_aside(&run, 2, kept);
    assert_string_equal(kept, "");
    assert_int_equal(run.batches.count, 1);
    assert_batch(&run, 0, "bytes");
    assert_int_equal(spool_run_remove(&run, &err), -ENODATA);
    assert_non_null(strstr(err.msg, "000001.csv.gz.bad"));
    assert_int_equal(spool_scenario_entries(context, "run"), 1);
    /* What is foreign comes first. */
    tree_write(&context->tree, "spool/run/thesis.tex", "x");
    assert_int_equal(spool_run_open(&run, &context->spool, "run", &err), 0);
    assert_int_equal(run.batches.count, 0);
    assert_int_equal(spool_run_remove(&run, &err), -ENOTEMPTY);
    assert_non_null(strstr(err.msg, "thesis.tex"));
}

/* In place, in room that was taken before, and there for the process that opens the run later. */
static void test_end(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    struct stat before, after;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    make_run(context, &run, "run");
    assert_int_equal(spool_run_load_end(&run, &buf, &err), -ENODATA);
    assert_int_equal(spool_run_reserve_end(&run, &err), 0);
    assert_int_equal(fcntl(run.end_fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(spool_run_load_end(&run, &buf, &err), -ENODATA);
    assert_int_equal(fstatat(run.dir_fd, "end", &before, 0), 0);
    assert_int_equal(before.st_size, SPOOL_END_BYTES);
    assert_int_equal(before.st_mode & 07777, 0600);
    assert_int_equal(spool_run_note_end(&run, STR("{\"long\":\"text\"}"), &err), 0);
    assert_int_equal(spool_run_note_end(&run, STR("{}"), &err), 0);
    assert_int_equal(spool_run_sync_end(&run, &err), 0);
    static const char large[SPOOL_END_BYTES];
    assert_int_equal(spool_run_note_end(&run, (struct str){large, sizeof(large)}, &err), -E2BIG);
    assert_int_equal(fstatat(run.dir_fd, "end", &after, 0), 0);
    assert_true(after.st_size == before.st_size && after.st_ino == before.st_ino);
    spool_run_close(&run);
    assert_int_equal(spool_run_open(&run, &context->spool, "run", &err), 0);
    assert_int_equal(spool_run_load_end(&run, &buf, &err), 0);
    assert_true(str_eq(str_trim((struct str){buf.data, buf.len}), STR("{}")));
    assert_int_equal(spool_run_remove(&run, &err), 0);
}

static void test_disk_refuses(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    struct err err = {0};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    make_run(context, &run, "run");
    limit_files(30);
    assert_int_equal(spool_run_journal(&run, STR("header,of,a,run\n"), NULL), 0);
    assert_int_equal(spool_run_journal(&run, STR("first,row,is,cut,off\n"), &err), -EFBIG);
    assert_non_null(strstr(err.msg, "run"));
    assert_int_equal(spool_scenario_size(context, "run/000000.csv"), 16);
    assert_int_equal(spool_run_journal(&run, STR("short,row\n"), NULL), 0);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv"), 26);
    static const char batch[] = "a batch that is longer than 30 bytes";
    assert_int_equal(spool_run_seal(&run, str_of(batch), &err), 1);
    assert_non_null(strstr(err.msg, "memory"));
    assert_int_equal(spool_run_seal(&run, STR("short batch"), &err), 1);
    assert_int_equal(run.open_number, 2);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv"), 26); /* the rows stay for the time after a kill */
    assert_int_equal(spool_scenario_entries(context, "run"), 2);
    assert_batch(&run, 0, batch);
    assert_int_equal(run.memory_bytes, sizeof(batch) - 1 + 11);
    limit_files(RLIM_INFINITY);
    assert_int_equal(spool_run_seal(&run, STR("third"), &err), 0);
    assert_int_equal(run.memory_bytes, 0);
    assert_int_equal(run.sealed_bytes, sizeof(batch) - 1 + 11 + 5);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv"), -1);
    assert_int_equal(spool_scenario_entries(context, "run"), 4);
    spool_run_close(&run);
    assert_int_equal(spool_run_open(&run, &context->spool, "run", NULL), 0);
    assert_batch(&run, 0, batch);
    assert_batch(&run, 1, "short batch");
    assert_batch(&run, 2, "third");
    assert_int_equal(run.open_number, 3);
    spool_run_close(&run);
    (void)signal(SIGXFSZ, before);
}

/* What is still in memory at the end is offered to the disk once more. */
static void test_close_flushes(void **state)
{
    struct spool_scenario *context = *state;
    struct spool_run run;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    make_run(context, &run, "run");
    limit_files(1);
    assert_int_equal(spool_run_seal(&run, STR("batch"), NULL), 1);
    limit_files(RLIM_INFINITY);
    spool_run_close(&run);
    assert_int_equal(spool_scenario_size(context, "run/000000.csv.gz"), 5);
    (void)signal(SIGXFSZ, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        spool_unit_test(test_create_and_remove),
        spool_unit_test(test_names),
        spool_unit_test(test_lock),
        spool_unit_test(test_spool_vanishes),
        spool_unit_test(test_foreign_file),
        spool_unit_test(test_state),
        spool_unit_test(test_journal_and_seal),
        spool_unit_test(test_open_finds),
        spool_unit_test(test_long_journals),
        spool_unit_test(test_take_refuses),
        spool_unit_test(test_max_bytes),
        cmocka_unit_test(test_memory_only),
        cmocka_unit_test(test_passing),
        spool_unit_test(test_set_aside),
        spool_unit_test(test_end),
        spool_unit_test(test_disk_refuses),
        spool_unit_test(test_close_flushes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
