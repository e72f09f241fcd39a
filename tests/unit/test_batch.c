/* SPDX-License-Identifier: Apache-2.0 */
/* Batches: header and rows, when they are full, sealing, losing and counting, and what is recovered from a journal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/auto.h"
#include "spool_scenario.h"
#include "stream/batch.h"

struct setting {
    struct spool_scenario scenario;
    struct spool_run run;
    struct batch batch;
};

static void set_up(struct setting *setting)
{
    spool_scenario_make(&setting->scenario);
    assert_int_equal(spool_run_create(&setting->run, &setting->scenario.spool, "run", NULL), 0);
    assert_int_equal(batch_init(&setting->batch, &setting->run, STR(SCENARIO_HEADER)), 0);
}

static void tear_down(struct setting *setting)
{
    batch_fini(&setting->batch);
    spool_run_close(&setting->run);
    spool_scenario_free(&setting->scenario);
}

static void assert_unpacked(struct spool_run *run, uint32_t number, const char *expected)
{
    AUTO_BUF struct buf text;
    buf_init(&text, SCENARIO_MAX_BYTES);
    spool_scenario_read(run, number, &text);
    assert_string_equal(buf_cstr(&text), expected);
}

static void test_rows(void **state)
{
    (void)state;
    struct setting s;
    set_up(&s);
    assert_int_equal(batch_seal(&s.batch, NULL), 0);
    assert_int_equal(s.run.batches.count, 0);
    assert_int_equal(batch_add(&s.batch, STR(""), 0, 5, NULL), 0);
    assert_int_equal(s.batch.rows, 0);
    assert_int_equal(batch_add(&s.batch, STR("1,a\n2,b\n"), 2, 77, NULL), 0);
    assert_int_equal(batch_add(&s.batch, STR("3,c\n"), 1, 99, NULL), 0);
    assert_int_equal(s.batch.rows, 3);
    assert_int_equal(s.batch.opened_ns, 77);
    assert_int_equal(spool_scenario_size(&s.scenario, "run/000000.csv"), strlen(SCENARIO_HEADER) + 12);
    assert_int_equal(batch_seal(&s.batch, NULL), 0);
    assert_int_equal(s.batch.rows, 0);
    assert_int_equal(s.batch.opened_ns, 0);
    assert_unpacked(&s.run, 0, SCENARIO_HEADER "1,a\n2,b\n3,c\n");
    assert_int_equal(batch_add(&s.batch, STR("4,d\n"), 1, 111, NULL), 0);
    assert_int_equal(s.batch.opened_ns, 111);
    assert_int_equal(batch_seal(&s.batch, NULL), 0);
    assert_unpacked(&s.run, 1, SCENARIO_HEADER "4,d\n");
    assert_int_equal(s.batch.lost_rows, 0);
    assert_int_equal(spool_scenario_entries(&s.scenario, "run"), 3);
    tear_down(&s);
}

static void test_headers(void **state)
{
    (void)state;
    struct spool spool = {.dir_fd = -1};
    struct spool_run run;
    struct batch batch;
    assert_int_equal(spool_run_create(&run, &spool, "run", NULL), 0);
    static const char *const bad[] = {"", "no end", "two\nlines\n", "\nbehind"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(batch_init(&batch, &run, str_of(bad[i])), -EINVAL);
        assert_int_equal(batch_add(&batch, STR("1,a\n2,b\n"), 2, 1, NULL), -EINVAL);
        assert_int_equal(batch.lost_rows, 2);
        assert_false(batch_is_full(&batch));
        assert_int_equal(batch_seal(&batch, NULL), 0);
        batch_fini(&batch);
    }
    static char large[BATCH_HEADER_BYTES_MAX + 1];
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\n';
    assert_int_equal(batch_init(&batch, &run, (struct str){large, sizeof(large)}), -EINVAL);
    batch_fini(&batch);
    spool_run_close(&run);
}

/* Rows that do not compress. */
static void put_noise(struct buf *buf, size_t bytes, uint32_t *seed)
{
    for (size_t i = 0; i < bytes; i++) {
        *seed = *seed * 1664525 + 1013904223;
        char c = (char)(*seed >> 24);
        buf_putc(buf, c == '\n' ? 'x' : c);
    }
    buf_putc(buf, '\n');
}

static void test_full_compressed(void **state)
{
    (void)state;
    struct setting s;
    set_up(&s);
    uint32_t seed = 1;
    uint64_t rows = 0;
    AUTO_BUF struct buf row;
    buf_init(&row, BATCH_LINES_BYTES_MAX);
    for (; !batch_is_full(&s.batch); rows++) {
        buf_clear(&row);
        put_noise(&row, 100 * 1024, &seed);
        assert_int_equal(batch_add(&s.batch, (struct str){row.data, row.len}, 1, 1, NULL), 0);
    }
    assert_in_range(rows, 10, 13);
    /* A caller that does not seal loses what comes on top, and nothing else. */
    struct err err = {0};
    buf_clear(&row);
    put_noise(&row, BATCH_LINES_BYTES_MAX - 1, &seed);
    struct str lines = {row.data, row.len};
    int r = 0;
    for (int i = 0; r == 0 && i < 10; i++, rows += r == 0)
        r = batch_add(&s.batch, lines, 1, 1, &err);
    assert_int_equal(r, -ENOBUFS);
    assert_int_equal(err.code, -ENOBUFS);
    assert_int_equal(s.batch.lost_rows, 1);
    assert_int_equal(s.batch.rows, rows);
    assert_int_equal(batch_seal(&s.batch, NULL), 0);
    AUTO_BUF struct buf text;
    buf_init(&text, SCENARIO_MAX_BYTES);
    spool_scenario_read(&s.run, 0, &text);
    uint64_t found = 0;
    for (size_t i = 0; i < text.len; i++)
        found += text.data[i] == '\n';
    assert_int_equal(found, rows + 1);
    tear_down(&s);
}

static void test_full_plain(void **state)
{
    (void)state;
    struct setting s;
    set_up(&s);
    static char row[BATCH_LINES_BYTES_MAX + 1];
    memset(row, 'x', sizeof(row));
    row[BATCH_LINES_BYTES_MAX - 1] = '\n';
    int n = 0;
    for (; !batch_is_full(&s.batch); n++)
        assert_int_equal(batch_add(&s.batch, (struct str){row, BATCH_LINES_BYTES_MAX}, 1, 1, NULL), 0);
    assert_int_equal(n, 16);
    assert_int_equal(batch_add(&s.batch, (struct str){row, sizeof(row)}, 3, 1, NULL), -EFBIG);
    assert_int_equal(s.batch.lost_rows, 3);
    assert_int_equal(batch_seal(&s.batch, NULL), 0);
    assert_false(batch_is_full(&s.batch));
    tear_down(&s);
}

static void test_spool_full(void **state)
{
    (void)state;
    struct setting s;
    struct err err = {0};
    set_up(&s);
    s.scenario.spool.max_bytes = 10;
    assert_int_equal(batch_add(&s.batch, STR("1,a\n2,b\n"), 2, 1, NULL), 0);
    assert_int_equal(batch_seal(&s.batch, &err), 1); /* in memory */
    assert_int_equal(s.batch.lost_rows, 0);
    assert_int_equal(s.batch.rows, 0);
    uint64_t memory_bytes = s.run.memory_bytes;
    s.run.memory_bytes = SPOOL_MEMORY_BYTES_MAX; /* as if others were there */
    assert_int_equal(batch_add(&s.batch, STR("lost\n"), 1, 1, NULL), 0);
    assert_int_equal(batch_seal(&s.batch, &err), -ENOSPC);
    assert_int_equal(s.batch.lost_rows, 1);
    s.run.memory_bytes = memory_bytes;
    s.scenario.spool.max_bytes = SCENARIO_MAX_BYTES;
    assert_int_equal(batch_add(&s.batch, STR("3,c\n"), 1, 1, NULL), 0);
    assert_int_equal(batch_seal(&s.batch, &err), 0);
    assert_unpacked(&s.run, 0, SCENARIO_HEADER "1,a\n2,b\n");
    assert_unpacked(&s.run, 1, SCENARIO_HEADER "3,c\n");
    tear_down(&s);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A journal that fails loses nothing while we live, and begins with its header once it works again. */
static void test_journal_fails(void **state)
{
    (void)state;
    struct setting s;
    struct err err = {0};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    set_up(&s);
    limit_files(2);
    assert_int_equal(batch_add(&s.batch, STR("1,a\n"), 1, 1, &err), 1);
    assert_int_equal(err.code, -EFBIG);
    assert_int_equal(spool_scenario_size(&s.scenario, "run/000000.csv"), 0);
    limit_files(RLIM_INFINITY);
    assert_int_equal(batch_add(&s.batch, STR("2,b\n"), 1, 1, &err), 0);
    assert_int_equal(batch_add(&s.batch, STR("3,c\n"), 1, 1, &err), 0);
    AUTO_BUF struct buf rows;
    buf_init(&rows, 1024);
    assert_int_equal(spool_run_read_journal(&s.run, spool_scenario_take, &rows, NULL), 0);
    assert_string_equal(buf_cstr(&rows), SCENARIO_HEADER "2,b\n3,c\n");
    assert_int_equal(batch_seal(&s.batch, NULL), 0);
    assert_unpacked(&s.run, 0, SCENARIO_HEADER "1,a\n2,b\n3,c\n");
    assert_int_equal(s.batch.lost_rows, 0);
    tear_down(&s);
    (void)signal(SIGXFSZ, before);
}

static void test_memory_only(void **state)
{
    (void)state;
    struct spool spool = {.dir_fd = -1};
    struct spool_run run;
    struct batch batch;
    struct err err = {0};
    assert_int_equal(spool_run_create(&run, &spool, "run", NULL), 0);
    assert_int_equal(batch_init(&batch, &run, STR(SCENARIO_HEADER)), 0);
    assert_int_equal(batch_add(&batch, STR("1,a\n"), 1, 1, &err), 0);
    assert_int_equal(batch_seal(&batch, &err), 1);
    assert_unpacked(&run, 0, SCENARIO_HEADER "1,a\n");
    assert_int_equal(batch_recover(&run, &err), 0);
    assert_unpacked(&run, 0, SCENARIO_HEADER "1,a\n");
    batch_fini(&batch);
    spool_run_close(&run);
}

static void assert_recovered(const char *journal, int expected, const char *text)
{
    struct spool_scenario scenario;
    struct spool_run run;
    spool_scenario_make(&scenario);
    tree_write(&scenario.tree, "spool/run/000004.csv", journal);
    assert_int_equal(spool_run_open(&run, &scenario.spool, "run", NULL), 0);
    assert_int_equal(batch_recover(&run, NULL), expected);
    assert_int_equal(spool_scenario_size(&scenario, "run/000004.csv"), -1);
    assert_int_equal(run.batches.count, expected);
    if (expected == 1)
        assert_unpacked(&run, 4, text);
    assert_int_equal(batch_recover(&run, NULL), 0);
    assert_int_equal(run.batches.count, expected);
    spool_run_close(&run);
    spool_scenario_free(&scenario);
}

static void test_recover(void **state)
{
    (void)state;
    assert_recovered("", 0, NULL);
    assert_recovered("timest", 0, NULL);
    assert_recovered(SCENARIO_HEADER, 0, NULL);
    assert_recovered(SCENARIO_HEADER "1,torn", 0, NULL);
    assert_recovered(SCENARIO_HEADER "1,a\n", 1, SCENARIO_HEADER "1,a\n");
    assert_recovered(SCENARIO_HEADER "1,a\n2,b\n3,to", 1, SCENARIO_HEADER "1,a\n2,b\n");
}

static void test_recover_several(void **state)
{
    (void)state;
    struct spool_scenario scenario;
    struct spool_run run;
    spool_scenario_make(&scenario);
    assert_int_equal(spool_run_create(&run, &scenario.spool, "run", NULL), 0);
    struct batch batch;
    assert_int_equal(batch_init(&batch, &run, STR(SCENARIO_HEADER)), 0);
    for (char i = '0'; i < '3'; i++) {
        const char row[] = {i, ',', 'x', '\n'};
        assert_int_equal(batch_add(&batch, (struct str){row, 4}, 1, 1, NULL), 0);
        assert_int_equal(batch_seal(&batch, NULL), 0);
    }
    batch_fini(&batch);
    spool_run_close(&run);
    /* 1 was killed between sealing and dropping its rows, 3 and 5 were in memory only, 4 had no rows. */
    tree_write(&scenario.tree, "spool/run/000001.csv", SCENARIO_HEADER "1,x\n");
    tree_write(&scenario.tree, "spool/run/000003.csv", SCENARIO_HEADER "3,x\n");
    tree_write(&scenario.tree, "spool/run/000004.csv", SCENARIO_HEADER);
    tree_write(&scenario.tree, "spool/run/000005.csv", SCENARIO_HEADER "5,x\n");
    assert_int_equal(spool_run_open(&run, &scenario.spool, "run", NULL), 0);
    assert_int_equal(run.open_number, 3);
    assert_int_equal(batch_recover(&run, NULL), 1);
    AUTO_BUF struct buf rows;
    buf_init(&rows, 1024);
    spool_scenario_rows(&run, &rows);
    assert_string_equal(buf_cstr(&rows), "0,x\n1,x\n2,x\n3,x\n5,x\n");
    assert_int_equal(run.open_number, 6);
    assert_int_equal(spool_scenario_entries(&scenario, "run"), 6);
    assert_int_equal(spool_run_remove(&run, NULL), 0);
    spool_scenario_free(&scenario);
}

/* Where there is no room for the batch the rows stay as they are. */
static void test_recover_without_room(void **state)
{
    (void)state;
    struct spool_scenario scenario;
    struct spool_run run;
    struct err err = {0};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    spool_scenario_make(&scenario);
    tree_write(&scenario.tree, "spool/run/000000.csv", SCENARIO_HEADER "1,a\n");
    assert_int_equal(spool_run_open(&run, &scenario.spool, "run", NULL), 0);
    scenario.spool.max_bytes = 10;
    assert_int_equal(batch_recover(&run, &err), -ENOSPC);
    assert_int_equal(err.code, -ENOSPC);
    assert_int_equal(spool_scenario_size(&scenario, "run/000000.csv"), strlen(SCENARIO_HEADER) + 4);
    scenario.spool.max_bytes = SCENARIO_MAX_BYTES;
    limit_files(5);
    assert_int_equal(batch_recover(&run, &err), 1);
    assert_int_equal(run.memory_bytes > 0, 1);
    assert_int_equal(spool_scenario_size(&scenario, "run/000000.csv"), strlen(SCENARIO_HEADER) + 4);
    assert_unpacked(&run, 0, SCENARIO_HEADER "1,a\n");
    spool_run_close(&run);
    assert_int_equal(spool_scenario_size(&scenario, "run/000000.csv"), strlen(SCENARIO_HEADER) + 4);
    limit_files(RLIM_INFINITY);
    assert_int_equal(spool_run_open(&run, &scenario.spool, "run", NULL), 0);
    assert_int_equal(batch_recover(&run, &err), 1);
    assert_int_equal(run.memory_bytes, 0);
    assert_unpacked(&run, 0, SCENARIO_HEADER "1,a\n");
    spool_run_close(&run);
    spool_scenario_free(&scenario);
    (void)signal(SIGXFSZ, before);
}

/* Delivered from memory: the rows that were kept for the time after a kill must not come back. */
static void test_delivered_from_memory(void **state)
{
    (void)state;
    struct setting s;
    struct spool_run run;
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    set_up(&s);
    assert_int_equal(batch_add(&s.batch, STR("1,a\n"), 1, 1, NULL), 0);
    limit_files(5);
    assert_int_equal(batch_seal(&s.batch, NULL), 1);
    assert_true(spool_scenario_size(&s.scenario, "run/000000.csv") > 0);
    spool_run_drop(&s.run, 0);
    assert_int_equal(s.run.memory_bytes, 0);
    limit_files(RLIM_INFINITY);
    batch_fini(&s.batch);
    spool_run_close(&s.run);
    assert_int_equal(spool_run_open(&run, &s.scenario.spool, "run", NULL), 0);
    assert_int_equal(batch_recover(&run, NULL), 0);
    assert_int_equal(run.batches.count, 0);
    spool_run_close(&run);
    spool_scenario_free(&s.scenario);
    (void)signal(SIGXFSZ, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_full_compressed),
        cmocka_unit_test(test_full_plain),
        cmocka_unit_test(test_spool_full),
        cmocka_unit_test(test_journal_fails),
        cmocka_unit_test(test_memory_only),
        cmocka_unit_test(test_recover),
        cmocka_unit_test(test_recover_several),
        cmocka_unit_test(test_recover_without_room),
        cmocka_unit_test(test_delivered_from_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
