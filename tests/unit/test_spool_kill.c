/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run leaves behind when its tracker is killed before every one of its system calls (ptrace(2)) and at any time,
 * or when the disk is full (a tmpfs of a few pages in a mount namespace). Rows whose writing returned are there, once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "skip.h"
#include "spool_scenario.h"
#include "stream/batch.h"

enum { ROWS_PER_CALL = 2, CALLS_PER_BATCH = 3, ROW_BYTES = 9, STEPS_MAX = 2000, EXIT_SKIP = 77 };

/* Shared with the child, which reports how far it came without a system call. */
struct progress {
    volatile int added; /* rows whose batch_add returned */
    volatile int states; /* saved */
    volatile bool is_created, is_dropping, is_removing;
};

/* In a child, where cmocka's assertions have no place to go back to. */
#define CHECK(condition) check_in_child((condition), #condition, __LINE__)

static void check_in_child(bool holds, const char *condition, int line)
{
    if (holds)
        return;
    (void)fprintf(stderr, "line %d: %s\n", line, condition);
    _exit(1);
}

static void put_rows(struct buf *buf, int first)
{
    buf_clear(buf);
    for (int i = 0; i < ROWS_PER_CALL; i++)
        buf_printf(buf, "%06d,x\n", first + i);
}

static void add_rows(struct batch *batch, struct buf *lines, int calls, struct progress *progress)
{
    for (int i = 0; i < calls; i++) {
        put_rows(lines, progress->added);
        CHECK(batch_add(batch, (struct str){lines->data, lines->len}, ROWS_PER_CALL, 1, NULL) == 0);
        progress->added += ROWS_PER_CALL;
    }
}

static void save_state(struct spool_run *run, struct progress *progress)
{
    const char text[] = {'{', (char)('1' + progress->states), '}'};
    CHECK(spool_run_save_state(run, (struct str){text, sizeof(text)}, NULL) == 0);
    progress->states++;
}

/* A short life: every kind of step of a run. */
static void live(struct spool *spool, struct progress *progress)
{
    struct spool_run run;
    struct batch batch;
    struct buf lines;
    buf_init(&lines, 1024);
    CHECK(spool_run_create(&run, spool, "run", NULL) == 0);
    progress->is_created = true;
    save_state(&run, progress);
    CHECK(batch_init(&batch, &run, STR(SCENARIO_HEADER)) == 0);
    add_rows(&batch, &lines, CALLS_PER_BATCH, progress);
    CHECK(batch_seal(&batch, NULL) == 0);
    save_state(&run, progress);
    add_rows(&batch, &lines, CALLS_PER_BATCH, progress);
    progress->is_dropping = true;
    spool_run_drop(&run, 0);
    save_state(&run, progress);
    CHECK(batch_seal(&batch, NULL) == 0);
    add_rows(&batch, &lines, 1, progress);
    progress->is_removing = true;
    CHECK(spool_run_remove(&run, NULL) == 0);
    batch_fini(&batch);
    buf_fini(&lines);
}

static void assert_rows(struct spool_run *run, const struct progress *progress)
{
    AUTO_BUF struct buf rows;
    buf_init(&rows, SCENARIO_MAX_BYTES);
    spool_scenario_rows(run, &rows);
    assert_int_equal(rows.len % ROW_BYTES, 0);
    int count = (int)(rows.len / ROW_BYTES);
    int first = 0;
    for (int i = 0; i < count; i++) {
        uint64_t number;
        assert_int_equal(num_parse_u64((struct str){rows.data + i * ROW_BYTES, 6}, &number), 0);
        if (i == 0)
            first = (int)number;
        assert_int_equal(number, first + i);
    }
    assert_true(first == 0 || (progress->is_dropping && first == ROWS_PER_CALL * CALLS_PER_BATCH));
    /* What was under way may be there although it has not returned. */
    assert_in_range(first + count, progress->added, progress->added + ROWS_PER_CALL);
}

static void assert_state(struct spool_run *run, const struct progress *progress)
{
    AUTO_BUF struct buf text;
    buf_init(&text, SPOOL_STATE_BYTES_MAX);
    int r = spool_run_load_state(run, &text, NULL);
    if (progress->states == 0 && r == -ENOENT)
        return;
    assert_int_equal(r, 0);
    assert_int_equal(text.len, 3);
    assert_in_range(text.data[1] - '0', progress->states, progress->states + 1);
}

/* Hidden leftovers as they are an hour later. */
static void age_hidden(struct spool_scenario *scenario)
{
    struct stat st;
    const struct timespec when[2] = {{.tv_sec = time(NULL) - 3700}, {.tv_sec = time(NULL) - 3700}};
    if (fstatat(scenario->spool.dir_fd, ".run", &st, AT_SYMLINK_NOFOLLOW) == 0)
        assert_int_equal(utimensat(scenario->spool.dir_fd, ".run", when, AT_SYMLINK_NOFOLLOW), 0);
}

/* Leaves the spool empty. */
static void assert_left(struct spool_scenario *scenario, const struct progress *progress)
{
    struct spool_entry *entries = NULL;
    struct spool_run run;
    struct err err = {0};
    age_hidden(scenario);
    int n = spool_list(&scenario->spool, &entries, &err);
    free(entries);
    if (n == 0) {
        assert_true(!progress->is_created || progress->is_removing);
        assert_int_equal(spool_scenario_entries(scenario, ""), 0);
        return;
    }
    assert_int_equal(n, 1);
    if (spool_run_open(&run, &scenario->spool, "run", &err) < 0 || batch_recover(&run, &err) < 0)
        fail_msg("%s", err.msg);
    assert_rows(&run, progress);
    assert_state(&run, progress);
    assert_int_equal(batch_recover(&run, &err), 0);
    assert_int_equal(spool_run_remove(&run, &err), 0);
    assert_int_equal(spool_scenario_entries(scenario, ""), 0);
}

static struct progress *share(void)
{
    struct progress *progress =
        mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(progress != MAP_FAILED);
    return progress;
}

/* Lets the child do `steps` system calls and kills it before the next. False where it ended before. */
static bool step_and_kill(pid_t child, int steps)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSTOPPED(status));
    assert_int_equal(ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD), 0);
    /* A call stops twice: before and behind. */
    for (int i = 0; i < 2 * steps + 1; i++) {
        assert_int_equal(ptrace(PTRACE_SYSCALL, child, NULL, NULL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (WIFEXITED(status)) {
            assert_int_equal(WEXITSTATUS(status), 0);
            return false;
        }
        assert_true(WIFSTOPPED(status));
        assert_int_equal(WSTOPSIG(status), SIGTRAP | 0x80);
    }
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    return true;
}

static bool can_trace(void)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0 ? 0 : 1);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status == 0;
}

SKIPPABLE_TEST(test_killed_at_every_step);
static void test_killed_at_every_step(void **state)
{
    (void)state;
    if (is_emulated())
        SKIP_TEST(test_killed_at_every_step, "qemu-user cannot trace a process");
    if (!can_trace())
        SKIP_TEST(test_killed_at_every_step, "ptrace is not permitted");
    struct spool_scenario scenario;
    spool_scenario_make(&scenario);
    struct progress *progress = share();
    int steps = 0;
    for (bool is_killed = true; is_killed; steps++) {
        assert_true(steps < STEPS_MAX);
        *progress = (struct progress){0};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0 || raise(SIGSTOP) != 0)
                _exit(2);
            live(&scenario.spool, progress);
            _exit(0);
        }
        is_killed = step_and_kill(child, steps);
        assert_left(&scenario, progress);
    }
    assert_true(steps > 50);
    (void)munmap(progress, sizeof(*progress));
    spool_scenario_free(&scenario);
}

/* Rows and seals without an end. */
static void live_on(struct spool *spool, struct progress *progress)
{
    struct spool_run run;
    struct batch batch;
    struct buf lines;
    buf_init(&lines, 1024);
    CHECK(spool_run_create(&run, spool, "run", NULL) == 0);
    progress->is_created = true;
    CHECK(batch_init(&batch, &run, STR(SCENARIO_HEADER)) == 0);
    for (;;) {
        add_rows(&batch, &lines, 7, progress);
        CHECK(batch_seal(&batch, NULL) == 0);
    }
}

static void test_killed_at_any_time(void **state)
{
    (void)state;
    enum { ROUNDS = 25 };
    struct spool_scenario scenario;
    spool_scenario_make(&scenario);
    struct progress *progress = share();
    for (int round = 0; round < ROUNDS; round++) {
        *progress = (struct progress){0};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            live_on(&scenario.spool, progress);
        while (progress->added < round * 9 && waitpid(child, NULL, WNOHANG) == 0)
            (void)sched_yield();
        int status;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_left(&scenario, progress);
    }
    (void)munmap(progress, sizeof(*progress));
    spool_scenario_free(&scenario);
}

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool is_written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return is_written;
}

/* Without privileges: a user namespace where we are root. */
static bool enter_user_namespace(void)
{
    char uid_map[64];
    char gid_map[64];
    (void)snprintf(uid_map, sizeof(uid_map), "0 %u 1", (unsigned)geteuid());
    (void)snprintf(gid_map, sizeof(gid_map), "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 && write_text("/proc/self/setgroups", "deny") &&
           write_text("/proc/self/uid_map", uid_map) && write_text("/proc/self/gid_map", gid_map);
}

static bool enter_mount_namespace(void)
{
    return (unshare(CLONE_NEWNS) == 0 || enter_user_namespace()) &&
           mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Writes until nothing more fits. */
static void fill_disk(const struct spool *spool)
{
    static const char page[4096];
    int fd = openat(spool->dir_fd, "filler", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    while (write(fd, page, sizeof(page)) > 0) {
    }
    CHECK(errno == ENOSPC);
    (void)close(fd);
}

static void check_rows(struct spool_run *run, uint32_t number, size_t row_count)
{
    struct buf file;
    struct buf text;
    buf_init(&file, SPOOL_BATCH_BYTES_MAX);
    buf_init(&text, SCENARIO_MAX_BYTES);
    CHECK(spool_run_read(run, number, &file, NULL) == 0);
    CHECK(gzip_unpack((struct str){file.data, file.len}, spool_scenario_take, &text) == 0);
    CHECK(text.len == strlen(SCENARIO_HEADER) + row_count * ROW_BYTES);
    buf_fini(&file);
    buf_fini(&text);
}

/* Rows and a batch wait in memory until there is room again. */
static void live_on_full_disk(struct spool *spool)
{
    struct spool_run run;
    struct batch batch;
    struct err err = {0};
    CHECK(spool_run_create(&run, spool, "full", NULL) == 0);
    CHECK(batch_init(&batch, &run, STR(SCENARIO_HEADER)) == 0);
    fill_disk(spool);
    CHECK(batch_add(&batch, STR("000000,x\n"), 1, 1, &err) == 1 && err.code == -ENOSPC);
    CHECK(batch_add(&batch, STR("000001,x\n"), 1, 1, &err) == 1);
    CHECK(spool_run_save_state(&run, STR("{}"), &err) == -ENOSPC);
    CHECK(batch_seal(&batch, &err) == 1 && err.code == -ENOSPC);
    CHECK(run.memory_bytes > 0 && run.sealed_bytes == 0);
    CHECK(unlinkat(spool->dir_fd, "filler", 0) == 0);
    CHECK(batch_add(&batch, STR("000002,x\n"), 1, 1, &err) == 0);
    CHECK(batch_seal(&batch, &err) == 0);
    CHECK(run.memory_bytes == 0 && batch.lost_rows == 0);
    spool_run_close(&run);
    CHECK(spool_run_open(&run, spool, "full", NULL) == 0);
    CHECK(run.batches.count == 2);
    check_rows(&run, 0, 2);
    check_rows(&run, 1, 1);
    CHECK(spool_run_remove(&run, NULL) == 0);
    batch_fini(&batch);
}

/* The plain rows give way to their compressed form. */
static void live_on_crowded_disk(struct spool *spool)
{
    enum { ROWS = 2000 };
    struct spool_run run;
    struct batch batch;
    CHECK(spool_run_create(&run, spool, "crowded", NULL) == 0);
    CHECK(batch_init(&batch, &run, STR(SCENARIO_HEADER)) == 0);
    for (int i = 0; i < ROWS; i++)
        CHECK(batch_add(&batch, STR("000000,x\n"), 1, 1, NULL) == 0);
    fill_disk(spool);
    CHECK(batch_seal(&batch, NULL) == 0);
    CHECK(run.memory_bytes == 0);
    check_rows(&run, 0, ROWS);
    CHECK(spool_run_remove(&run, NULL) == 0);
    CHECK(unlinkat(spool->dir_fd, "filler", 0) == 0);
    batch_fini(&batch);
}

static void live_on_tmpfs(const char *path)
{
    if (!enter_mount_namespace() || mount("none", path, "tmpfs", MS_NOSUID | MS_NODEV, "size=128k,mode=0700") < 0)
        _exit(EXIT_SKIP);
    struct spool spool;
    const struct spool_paths places = {.given = path};
    CHECK(spool_open(&spool, &places, SCENARIO_MAX_BYTES, true, NULL) == 0);
    live_on_full_disk(&spool);
    live_on_crowded_disk(&spool);
    spool_close(&spool);
    _exit(0);
}

SKIPPABLE_TEST(test_full_disk);
static void test_full_disk(void **state)
{
    (void)state;
    struct tree tree;
    tree_make(&tree);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        live_on_tmpfs(tree.path);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    tree_free(&tree);
    if (WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SKIP)
        SKIP_TEST(test_full_disk, "namespaces are not permitted");
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        skippable_unit_test(test_killed_at_every_step),
        cmocka_unit_test(test_killed_at_any_time),
        skippable_unit_test(test_full_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
