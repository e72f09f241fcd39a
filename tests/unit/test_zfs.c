/* SPDX-License-Identifier: Apache-2.0 */
/* ZFS pools: the text of zpool list, and a zpool command that answers, hangs, lies or is missing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/disk/disk.h"
#include "skip.h"
#include "tree.h"

struct scenario {
    struct tree tree;
    struct sysroot root;
    struct collect_env env;
    struct zfs zfs;
    char zpool[128];
};

static void start_scenario(struct scenario *scenario, const char *script)
{
    *scenario = (struct scenario){0};
    tree_make(&scenario->tree);
    tree_directory(&scenario->tree, "proc/spl/kstat/zfs");
    assert_int_equal(sysroot_open(scenario->tree.path, &scenario->root, NULL), 0);
    (void)snprintf(scenario->zpool, sizeof(scenario->zpool), "%s/bin/zpool", scenario->tree.path);
    tree_directory(&scenario->tree, "bin");
    if (script) {
        tree_write(&scenario->tree, "bin/zpool", script);
        assert_int_equal(chmod(scenario->zpool, 0755), 0);
    }
    scenario->env = (struct collect_env){.root = &scenario->root, .zpool_path = scenario->zpool};
    zfs_open(&scenario->zfs, &scenario->env);
}

static void end_scenario(struct scenario *scenario)
{
    zfs_close(&scenario->zfs);
    sysroot_close(&scenario->root);
    tree_free(&scenario->tree);
}

/* Waits for the helper's end without reaping it. */
static void await_exit(const struct scenario *scenario)
{
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)scenario->zfs.process.pid, &info, WEXITED | WNOWAIT), 0);
}

static void test_parse_good(void **state)
{
    (void)state;
    struct zfs_pools pools = {0};
    assert_int_equal(zfs_parse_list(STR("tank\t1000\t400\t600\nbackup pool\t-\t-\t-\n"), &pools), 0);
    assert_int_equal(pools.count, 2);
    assert_string_equal(pools.items[0].device, "zfs:backup pool");
    assert_false(pools.items[0].size_bytes.has);
    assert_string_equal(pools.items[1].device, "zfs:tank");
    assert_int_equal(pools.items[1].size_bytes.v, 1000);
    assert_int_equal(pools.items[1].alloc_bytes.v, 400);
    assert_int_equal(pools.items[1].free_bytes.v, 600);
    assert_int_equal(zfs_parse_list(STR(""), &pools), 0);
    assert_int_equal(pools.count, 0);
    free(pools.items);
}

static void test_parse_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "tank\t1000\t400\t600",
        "tank\t1000\t400\n",
        "tank\t1000\t400\t600\t7\n",
        "tank\t1000\t-400\t600\n",
        "tank\t1.0G\t400M\t600M\n",
        "tank 1000 400 600\n",
        "\t1000\t400\t600\n",
        "9tank\t1000\t400\t600\n",
        "ta/nk\t1000\t400\t600\n",
        "ta\x01nk\t1000\t400\t600\n",
        "tank\t1000\t400\t99999999999999999999999\n",
        "tank\t1000\t400\t600\n\n",
        "internal error: failed to initialize ZFS library\n",
    };
    struct zfs_pools pools = {0};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(zfs_parse_list(str_of(texts[i]), &pools), -EBADMSG);
        assert_int_equal(pools.count, 0);
    }
    struct buf text;
    buf_init(&text, ZFS_TEXT_BYTES_MAX);
    for (int i = 0; i < 257; i++)
        buf_printf(&text, "p%d\t1\t1\t0\n", i);
    assert_int_equal(zfs_parse_list((struct str){text.data, text.len}, &pools), -E2BIG);
    buf_clear(&text);
    for (int i = 0; i < 256; i++)
        buf_putc(&text, 'a');
    buf_puts(&text, "\t1\t1\t0\n");
    assert_int_equal(zfs_parse_list((struct str){text.data, text.len}, &pools), -EBADMSG);
    buf_fini(&text);
    free(pools.items);
}

static void test_good_answer(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "#!/bin/sh\n"
                              "echo asked >> \"${0%/*}/log\"\n"
                              "[ \"$*\" = 'list -Hp -o name,size,alloc,free' ] || exit 2\n"
                              "printf 'tank\\t1000\\t400\\t600\\n'\n");
    assert_true(zfs_is_loaded(&scenario.zfs));
    zfs_poll(&scenario.zfs, 0, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    assert_int_equal(zfs_current(&scenario.zfs, 0).count, 0);
    await_exit(&scenario);
    zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    assert_int_equal(zfs_current(&scenario.zfs, NS_PER_SEC).count, 1);
    assert_string_equal(zfs_current(&scenario.zfs, NS_PER_SEC).items[0].device, "zfs:tank");

    zfs_poll(&scenario.zfs, 59 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    zfs_poll(&scenario.zfs, 60 * NS_PER_SEC, false);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    zfs_poll(&scenario.zfs, 60 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    /* An answer picked up long after the deadline is still an answer. */
    await_exit(&scenario);
    zfs_poll(&scenario.zfs, 100 * NS_PER_SEC, true);
    assert_int_equal(zfs_current(&scenario.zfs, 100 * NS_PER_SEC).count, 1);
    assert_int_equal(zfs_current(&scenario.zfs, 240 * NS_PER_SEC).count, 1);
    assert_int_equal(zfs_current(&scenario.zfs, 241 * NS_PER_SEC).count, 0);
    end_scenario(&scenario);
}

static void test_hang_is_killed(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "#!/bin/sh\nprintf 'tank\\t1000\\t400\\t600\\n'\nexec sleep 1000\n");
    zfs_poll(&scenario.zfs, 0, true);
    pid_t first = scenario.zfs.process.pid;
    struct pollfd wait = {.fd = scenario.zfs.pipe_fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 10000), 1);
    zfs_poll(&scenario.zfs, 4 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    assert_int_equal(kill(first, 0), 0);
    zfs_poll(&scenario.zfs, 5 * NS_PER_SEC, true);
    siginfo_t info = {0};
    if (scenario.zfs.helper == ZFS_HELPER_ENDING) {
        assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
        assert_int_equal(info.si_status, SIGKILL);
    }
    zfs_poll(&scenario.zfs, 6 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    assert_int_equal(zfs_current(&scenario.zfs, 6 * NS_PER_SEC).count, 0);
    zfs_poll(&scenario.zfs, 59 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    zfs_poll(&scenario.zfs, 60 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    end_scenario(&scenario);
}

/* A helper that cannot be killed (here: one that closed its output and is within its time) has no successor. */
static void test_never_two(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "#!/bin/sh\nexec >&-\nexec sleep 1000\n");
    zfs_poll(&scenario.zfs, 0, true);
    pid_t first = scenario.zfs.process.pid;
    struct pollfd wait = {.fd = scenario.zfs.pipe_fd, .events = POLLIN};
    assert_int_equal(poll(&wait, 1, 10000), 1);
    zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_ENDING);
    /* As if a minute had been asked for long ago. */
    scenario.zfs.asked_ns = -60 * NS_PER_SEC;
    zfs_poll(&scenario.zfs, 0, true);
    assert_int_equal(scenario.zfs.process.pid, first);
    siginfo_t info = {0};
    if (scenario.zfs.helper == ZFS_HELPER_ENDING)
        assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
    zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    assert_int_not_equal(scenario.zfs.process.pid, first);
    end_scenario(&scenario);
}

static void expect_no_pools(const char *script)
{
    struct scenario scenario;
    start_scenario(&scenario, script);
    zfs_poll(&scenario.zfs, 0, true);
    await_exit(&scenario);
    zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    assert_int_equal(zfs_current(&scenario.zfs, NS_PER_SEC).count, 0);
    assert_false(scenario.zfs.has_pools);
    assert_false(scenario.zfs.given_up);
    zfs_poll(&scenario.zfs, 60 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    end_scenario(&scenario);
}

static void test_bad_answers(void **state)
{
    (void)state;
    expect_no_pools("#!/bin/sh\nprintf 'tank\\t1000\\t400\\t600\\n'\nexit 1\n");
    expect_no_pools("#!/bin/sh\necho garbage\n");
    expect_no_pools("#!/bin/sh\nprintf 'tank\\t1000\\t400\\t600\\n'\nkill -9 $$\n");
}

static void test_endless_answer(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "#!/bin/sh\nwhile :; do printf 'tank\\t1000\\t400\\t600\\n'; done\n");
    zfs_poll(&scenario.zfs, 0, true);
    for (int i = 0; i < 10000 && scenario.zfs.helper == ZFS_HELPER_READING; i++) {
        struct pollfd wait = {.fd = scenario.zfs.pipe_fd, .events = POLLIN};
        assert_int_equal(poll(&wait, 1, 10000), 1);
        zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    }
    assert_int_not_equal(scenario.zfs.helper, ZFS_HELPER_READING);
    assert_true(scenario.zfs.text.cap <= ZFS_TEXT_BYTES_MAX);
    assert_false(scenario.zfs.has_pools);
    end_scenario(&scenario);
}

/* The old list stays when a new answer is bad, and a helper reaped elsewhere is not missed. */
static void test_reaped_elsewhere(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "#!/bin/sh\nprintf 'tank\\t1000\\t400\\t600\\n'\n");
    zfs_poll(&scenario.zfs, 0, true);
    assert_int_equal(waitpid(scenario.zfs.process.pid, NULL, 0), scenario.zfs.process.pid);
    zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    assert_int_equal(zfs_current(&scenario.zfs, NS_PER_SEC).count, 1);
    tree_write(&scenario.tree, "bin/zpool", "#!/bin/sh\necho garbage\n");
    zfs_poll(&scenario.zfs, 60 * NS_PER_SEC, true);
    await_exit(&scenario);
    zfs_poll(&scenario.zfs, 61 * NS_PER_SEC, true);
    assert_int_equal(zfs_current(&scenario.zfs, 61 * NS_PER_SEC).count, 1);
    end_scenario(&scenario);
}

SKIPPABLE_TEST(test_missing_command);
static void test_missing_command(void **state)
{
    (void)state;
    if (is_emulated())
        SKIP_TEST(test_missing_command,
            "qemu-user makes vfork a fork: posix_spawn does not hear that the program cannot be started");
    struct scenario scenario;
    start_scenario(&scenario, NULL);
    zfs_poll(&scenario.zfs, 0, true);
    assert_true(scenario.zfs.given_up);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    tree_write(&scenario.tree, "bin/zpool", "#!/bin/sh\n");
    assert_int_equal(chmod(scenario.zpool, 0755), 0);
    zfs_poll(&scenario.zfs, 120 * NS_PER_SEC, true);
    assert_int_equal(scenario.zfs.helper, ZFS_HELPER_NONE);
    assert_false(zfs_is_loaded(&scenario.zfs));
    end_scenario(&scenario);
}

/* The helper sees a default signal mask, no descriptor but its three, and nothing of our environment. */
static void test_clean_helper(void **state)
{
    (void)state;
    struct scenario scenario;
    start_scenario(&scenario, "#!/bin/sh\n"
                              "blocked=$(sed -n 's/^SigBlk:[^0-9a-f]*//p' /proc/self/status)\n"
                              "[ \"$blocked\" = 0000000000000000 ] || exit 1\n"
                              "[ -e /proc/$$/fd/9 ] && exit 1\n"
                              "[ -n \"$SECRET\" ] && exit 1\n"
                              "printf 'clean\\t1\\t1\\t0\\n'\n");
    sigset_t block, before;
    (void)sigemptyset(&block);
    (void)sigaddset(&block, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &block, &before), 0);
    assert_int_equal(dup2(STDERR_FILENO, 9), 9);
    assert_int_equal(setenv("SECRET", "x", 1), 0);
    zfs_poll(&scenario.zfs, 0, true);
    await_exit(&scenario);
    zfs_poll(&scenario.zfs, NS_PER_SEC, true);
    assert_int_equal(zfs_current(&scenario.zfs, NS_PER_SEC).count, 1);
    assert_int_equal(unsetenv("SECRET"), 0);
    assert_int_equal(close(9), 0);
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    end_scenario(&scenario);
}

static void test_place(void **state)
{
    (void)state;
    struct mount_row rows[] = {
        {.fstype = "zfs", .source = "tank2", .mount_point = "/wrong"},
        {.fstype = "ext4", .source = "tank", .mount_point = "/ext4"},
        {.fstype = "zfs", .source = "tank/home", .mount_point = "/home"},
        {.fstype = "zfs", .source = "tank", .mount_point = "/tank"},
        {.fstype = "zfs", .source = "data/a", .mount_point = "/a"},
        {.fstype = "zfs", .source = "data/b", .mount_point = "/b"},
    };
    struct mounts mounts = {.info = {.items = rows, .count = 6}};
    struct zfs_pool pools[] = {{.device = "zfs:data"}, {.device = "zfs:none"}, {.device = "zfs:tank"}};
    struct zfs zfs = {.pools = {.items = pools, .count = 3}};
    zfs_find_mounts(&zfs, &mounts);
    assert_string_equal(pools[0].mount_point, "/a");
    assert_null(pools[1].mount_point);
    assert_string_equal(pools[2].mount_point, "/tank");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parse_good),
        cmocka_unit_test(test_parse_broken),
        cmocka_unit_test(test_good_answer),
        cmocka_unit_test(test_hang_is_killed),
        cmocka_unit_test(test_never_two),
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_endless_answer),
        cmocka_unit_test(test_reaped_elsewhere),
        skippable_unit_test(test_missing_command),
        cmocka_unit_test(test_clean_helper),
        cmocka_unit_test(test_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
