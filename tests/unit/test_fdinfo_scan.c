/* SPDX-License-Identifier: Apache-2.0 */
/* When processes are scanned for DRM descriptors, which may not be, and what that costs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drm_fixture.h"

/* Reading goes on through kept files alone: their names are gone, and nothing is opened or closed. */
static void test_steady_state_opens_nothing(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 0));
    drm_fixture_open(fixture, 100, 6, drm_fixture_client(42, 0));
    drm_fixture_tick(fixture);
    int before = fake_env_open_count();
    for (unsigned tick = 1; tick < 4; tick++) {
        drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, tick * 50));
        drm_fixture_show(fixture, 100, 6, drm_fixture_client(42, tick * 50));
        if (tick == 2)
            fake_env_remove(&fixture->fake, "proc/100/fd");
        drm_fixture_step(fixture, NS_PER_SEC / 4);
        assert_near(drm_fixture_usage(fixture), 0.2);
        assert_int_equal(fake_env_open_count(), before);
    }
    fake_env_remove(&fixture->fake, "proc/100/fdinfo");
    drm_fixture_step(fixture, NS_PER_SEC / 8);
    assert_int_equal(drm_fixture_vram(fixture), 1000 * 1024);
    drm_fixture_leave(fixture, 100);
    drm_fixture_step(fixture, NS_PER_SEC / 8);
    assert_int_equal(fake_env_open_count(), before - 1);
}

/* Those that are not kept open are read all the same. */
static void test_more_clients_than_files(void **state)
{
    struct drm_fixture *fixture = *state;
    enum { MANY = FDINFO_FILES_MAX + 44 };
    int before = fake_env_open_count();
    drm_fixture_join(fixture, 100, 1);
    for (int i = 0; i < MANY; i++)
        drm_fixture_open(fixture, 100, 3 + i, drm_fixture_client((unsigned)i, 1));
    drm_fixture_tick(fixture);
    assert_int_equal(fake_env_open_count(), before + FDINFO_FILES_MAX);
    assert_true(drm_fixture_vram(fixture) == UINT64_C(1024000) * MANY);
    for (int i = 0; i < MANY; i++)
        drm_fixture_show(fixture, 100, 3 + i, drm_fixture_client((unsigned)i, 2));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), MANY / 1000.0);
    fdinfo_free(fixture->fdinfo);
    fixture->fdinfo = NULL;
    assert_int_equal(fake_env_open_count(), before);
}

/* Above the maximum nothing is said rather than too little. */
static void test_too_many_clients(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_tick(fixture);
    for (int i = 0; i <= FDINFO_CLIENTS_MAX; i++)
        drm_fixture_open(fixture, 100, 3 + i, drm_fixture_client((unsigned)i, 1));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(drm_fixture_is_known(fixture));
    drm_fixture_close(fixture, 100, 3);
    drm_fixture_close(fixture, 100, 4);
    drm_fixture_step(fixture, NS_PER_SEC);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_known(fixture));
    assert_true(drm_fixture_vram(fixture) == UINT64_C(1024000) * (FDINFO_CLIENTS_MAX - 1));
}

/* One that may not be read, seen as root: its directory is none. */
static void test_hidden_member(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 0));
    fake_env_write(&fixture->fake, "proc/101/fd", "");
    drm_fixture_tick(fixture);
    assert_false(drm_fixture_is_known(fixture));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_false(drm_fixture_is_known(fixture));
    assert_false(fdinfo_tree_use(fixture->fdinfo, (struct fdinfo_device){"", "ivpu"}).vram_bytes.has);
    /* It can be read now, but what it did before is not known to be new. */
    fake_env_remove(&fixture->fake, "proc/101/fd");
    drm_fixture_open(fixture, 101, 5, drm_fixture_client(43, 700));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_known(fixture));
    assert_near(drm_fixture_usage(fixture), 0);
    drm_fixture_show(fixture, 101, 5, drm_fixture_client(43, 800));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.1);
}

/* A process that has ended, or that is gone altogether, hides nothing. */
static void test_ended_member(void **state)
{
    struct drm_fixture *fixture = *state;
    static const char zombie[] = "101 (a) Z 1 101 101 0 -1 4228108 0 0 0 0 0 0 0 0 20 0 1 0 2 0 0 "
                                 "18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
    drm_fixture_tick(fixture);
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_join(fixture, 102, 3);
    fake_env_write(&fixture->fake, "proc/101/fd", "");
    fake_env_write(&fixture->fake, "proc/101/stat", zombie);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_known(fixture));
    fake_env_write(&fixture->fake, "proc/101/stat", "101 (a) S");
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(drm_fixture_is_known(fixture));
    drm_fixture_leave(fixture, 101);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_known(fixture));
}

/* Scanned when new, then after half of its age: 1 s at first, 10 s in the end. */
static void test_when_members_are_scanned(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    fake_env_link(&fixture->fake, "proc/100/fd/0", "/dev/null");
    drm_fixture_tick(fixture);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(1, 0));
    drm_fixture_step(fixture, NS_PER_SEC - 1);
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_step(fixture, 1);
    assert_int_equal(drm_fixture_vram(fixture), 1024000);
    for (int i = 0; i < 99; i++)
        drm_fixture_step(fixture, NS_PER_SEC);
    /* Ten seconds at the most; what it did is a mean over the time since it could have begun. */
    drm_fixture_step(fixture, 10 * NS_PER_SEC);
    drm_fixture_open(fixture, 100, 6, drm_fixture_client(2, 2000));
    for (int i = 0; i < 9; i++) {
        drm_fixture_step(fixture, NS_PER_SEC);
        assert_int_equal(drm_fixture_vram(fixture), 1024000);
    }
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_int_equal(drm_fixture_vram(fixture), 2048000);
    assert_near(drm_fixture_usage(fixture), 0.2);
}

static void test_what_is_no_client(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    static const char *const targets[] = {"/dev/dr", "/dev/drill/x", "/dev/accelerate", "dev/dri/card0",
        "/tmp/dev/dri/", "socket:[1]", "anon_inode:[eventpoll]"};
    for (int i = 0; i < 7; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "proc/100/fd/%d", i);
        fake_env_link(&fixture->fake, path, targets[i]);
        drm_fixture_show(fixture, 100, i, drm_fixture_client((unsigned)i, 0));
    }
    /* The NVIDIA driver, which reports nothing here, and one closed after the link was read. */
    drm_fixture_open(fixture, 100, 20, "pos:\t0\nflags:\t02\n");
    fake_env_link(&fixture->fake, "sys/class/drm/renderD128/device/driver", "../../../bus/pci/drivers/nvidia");
    fake_env_link(&fixture->fake, "proc/100/fd/21", "/dev/dri/card0");
    drm_fixture_tick(fixture);
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
}

static const struct fdinfo_device other_card = {"0000:43:00.0", "i915"};

static void run_unsupported(struct drm_fixture *fixture, pid_t pid)
{
    fixture->all_processes = true;
    drm_fixture_add_card(&fixture->fake, "renderD128", "i915", PDEV);
    drm_fixture_open(fixture, pid, 20, "pos:\t0\nflags:\t02\n");
    drm_fixture_tick(fixture);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).usage.has);
}

/* Before Linux 5.19 drivers did not report clients: then nothing is known of that device, and not 0. */
static void test_unsupported_driver(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    run_unsupported(fixture, 100);
    assert_false(drm_fixture_is_known(fixture));
    assert_true(fdinfo_tree_use(fixture->fdinfo, other_card).usage.has);
}

static void test_unsupported_driver_of_a_non_member(void **state)
{
    struct drm_fixture *fixture = *state;
    run_unsupported(fixture, 101);
    assert_true(drm_fixture_is_known(fixture));
    assert_true(fdinfo_host_use(fixture->fdinfo, other_card).usage.has);
}

/* A file that fails while its name still works is opened again in the same tick, once. */
static void test_file_fails(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 0));
    drm_fixture_tick(fixture);
    int before = fake_env_open_count();
    fake_env_break(&fixture->fake, "proc/100/fdinfo/5");
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 100));
    drm_fixture_step(fixture, NS_PER_SEC / 4);
    assert_near(drm_fixture_usage(fixture), 0.4);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_remove(&fixture->fake, "proc/100/fdinfo");
    drm_fixture_step(fixture, NS_PER_SEC / 4);
    assert_int_equal(drm_fixture_vram(fixture), 1024000);
}

static double host_usage(const struct drm_fixture *fixture)
{
    struct fdinfo_use use = fdinfo_host_use(fixture->fdinfo, drm_card);
    assert_true(use.usage.has);
    return use.usage.v;
}

static void test_all_processes(void **state)
{
    struct drm_fixture *fixture = *state;
    fixture->all_processes = true;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(1, 0));
    drm_fixture_open(fixture, 200, 5, drm_fixture_client(2, 7000));
    fake_env_write(&fixture->fake, "proc/300/fd", ""); /* hidden */
    drm_fixture_tick(fixture);
    assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).usage.has);
    assert_int_equal(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v, 2048000);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(1, 100));
    drm_fixture_show(fixture, 200, 5, drm_fixture_client(2, 7200));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(host_usage(fixture), 0.3);
    assert_near(drm_fixture_usage(fixture), 0.1);
    assert_int_equal(drm_fixture_vram(fixture), 1024000);
    /* The same PID, another process: its file fails, and it is scanned in the same tick. */
    drm_fixture_close(fixture, 200, 5);
    drm_fixture_open(fixture, 200, 6, drm_fixture_client(3, 400));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(host_usage(fixture), 0.2);
    /* It becomes a member. */
    drm_fixture_join(fixture, 200, 5);
    drm_fixture_show(fixture, 200, 6, drm_fixture_client(3, 900));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(host_usage(fixture), 0.5);
    assert_near(drm_fixture_usage(fixture), 0.5);
    /* Its links go with it, those from before included. */
    drm_fixture_leave(fixture, 200);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_int_equal(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v, 1024000);
    fixture->all_processes = false;
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has);
    assert_true(drm_fixture_is_known(fixture));
}

static void test_rounds(void **state)
{
    struct drm_fixture *fixture = *state;
    fixture->all_processes = true;
    drm_fixture_tick(fixture);
    drm_fixture_open(fixture, 200, 5, drm_fixture_client(2, 5000));
    for (int i = 0; i < 9; i++) {
        drm_fixture_step(fixture, NS_PER_SEC);
        assert_near(host_usage(fixture), 0);
    }
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(host_usage(fixture), 0.5);
    drm_fixture_remove(fixture, 200);
    int before = fake_env_open_count();
    for (int i = 0; i < 10; i++)
        drm_fixture_step(fixture, NS_PER_SEC);
    /* Not listed any more: its file is closed. */
    assert_int_equal(fake_env_open_count(), before - 1);
    assert_int_equal(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v, 0);
}

/* Whenever CPU time is asked for, a millisecond of it has been spent. */
static int64_t read_costly_ns(void *context, enum clock_kind kind)
{
    struct fake_env *fake = context;
    static int64_t cpu_ns;
    if (kind == CLOCK_KIND_OWN_CPU)
        return cpu_ns += NS_PER_MS;
    return fake->mono_ns;
}

/* A round over 50 processes takes 51 ms: five of them in a tick, and then a pause of a thousand times as long. */
static void test_costly_rounds(void **state)
{
    struct drm_fixture *fixture = *state;
    fixture->fake.clock.read_ns = read_costly_ns;
    fixture->all_processes = true;
    for (int pid = 200; pid < 250; pid++)
        drm_fixture_open(fixture, pid, 5, drm_fixture_client((unsigned)pid, 0));
    int ticks = 1;
    drm_fixture_tick(fixture);
    for (; !fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has && ticks < 20; ticks++)
        drm_fixture_step(fixture, NS_PER_SEC);
    assert_int_equal(ticks, 10);
    assert_int_equal(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v, 50 * 1024000);
    drm_fixture_open(fixture, 199, 5, drm_fixture_client(199, 0));
    int seconds = 0;
    for (; fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v == 50 * 1024000 && seconds < 200; seconds++)
        drm_fixture_step(fixture, NS_PER_SEC);
    assert_int_equal(seconds, 51);
}

/* A driver that reports nothing of clients: known at the end of a round, and until the end of the next one. */
static void test_unsupported_between_rounds(void **state)
{
    struct drm_fixture *fixture = *state;
    fixture->fake.clock.read_ns = read_costly_ns;
    fixture->all_processes = true;
    for (int pid = 200; pid < 211; pid++)
        drm_fixture_open(fixture, pid, 5, drm_fixture_client((unsigned)pid, 0));
    drm_fixture_add_card(&fixture->fake, "renderD128", "i915", PDEV);
    drm_fixture_open(fixture, 211, 5, "pos:\t0\nflags:\t02\n");
    /* Three ticks, and a pause of 13 s. */
    for (int i = 0; i < 15; i++) {
        drm_fixture_step(fixture, NS_PER_SEC);
        assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has);
    }
    drm_fixture_remove(fixture, 211);
    /* The next round takes three ticks as well. */
    for (int i = 0; i < 3; i++) {
        assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has);
        drm_fixture_step(fixture, NS_PER_SEC);
    }
    assert_int_equal(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v, 11 * 1024000);
    drm_fixture_open(fixture, 212, 5, "pos:\t0\nflags:\t02\n");
    int seconds = 0;
    for (; fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has && seconds < 30; seconds++) {
        assert_int_equal(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.v, 11 * 1024000);
        drm_fixture_step(fixture, NS_PER_SEC);
    }
    /* A pause of 12 s and a round of three ticks, not the first of them. */
    assert_int_equal(seconds, 14);
}

/* Eight members that have nothing open, each of which takes a millisecond, and another to read the time. */
static void add_costly_members(struct drm_fixture *fixture)
{
    fixture->fake.clock.read_ns = read_costly_ns;
    for (int i = 0; i < 8; i++) {
        char path[64];
        (void)snprintf(path, sizeof(path), "proc/%d/fd/0", 100 + i);
        fake_env_link(&fixture->fake, path, "/dev/null");
        drm_fixture_join(fixture, 100 + i, 1);
    }
}

/* Two of them in a tick; until the last one was scanned, the tree is not known. */
static void test_members_left_over(void **state)
{
    struct drm_fixture *fixture = *state;
    add_costly_members(fixture);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(1, 0));
    drm_fixture_open(fixture, 107, 5, drm_fixture_client(2, 0));
    drm_fixture_tick(fixture);
    assert_false(fdinfo_is_tree_known(fixture->fdinfo));
    for (int i = 0; i < 2; i++) {
        drm_fixture_step(fixture, 100 * NS_PER_MS);
        assert_false(drm_fixture_is_known(fixture));
        assert_false(fdinfo_is_tree_known(fixture->fdinfo));
    }
    drm_fixture_step(fixture, 100 * NS_PER_MS);
    assert_true(fdinfo_is_tree_known(fixture->fdinfo));
    assert_int_equal(drm_fixture_vram(fixture), 2048000);
    assert_near(drm_fixture_usage(fixture), 0);
}

/* A millisecond for one member: no more often than five times a second each, and with eight of them every 1.6 s. */
static void test_costly_members(void **state)
{
    struct drm_fixture *fixture = *state;
    add_costly_members(fixture);
    drm_fixture_tick(fixture);
    for (int i = 0; i < 3; i++)
        drm_fixture_step(fixture, 100 * NS_PER_MS);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(1, 0));
    drm_fixture_step(fixture, 1299 * NS_PER_MS);
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_step(fixture, NS_PER_MS);
    assert_int_equal(drm_fixture_vram(fixture), 1024000);
}

/* What computes through KFD does so past all DRM clients. */
static void test_kfd(void **state)
{
    struct drm_fixture *fixture = *state;
    fixture->all_processes = true;
    drm_fixture_join(fixture, 100, 1);
    fake_env_link(&fixture->fake, "proc/100/fd/3", "/dev/kfd2");
    fake_env_link(&fixture->fake, "proc/100/fd/4", "/tmp/dev/kfd");
    fake_env_link(&fixture->fake, "proc/200/fd/3", "/dev/kfd");
    drm_fixture_tick(fixture);
    assert_false(fdinfo_tree_holds(fixture->fdinfo, "/dev/kfd"));
    fake_env_link(&fixture->fake, "proc/100/fd/5", "/dev/kfd");
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(fdinfo_tree_holds(fixture->fdinfo, "/dev/kfd"));
    /* It counts between two scans as well. */
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_true(fdinfo_tree_holds(fixture->fdinfo, "/dev/kfd"));
    fake_env_remove(&fixture->fake, "proc/100/fd/5");
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(fdinfo_tree_holds(fixture->fdinfo, "/dev/kfd"));
    drm_fixture_join(fixture, 200, 2);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(fdinfo_tree_holds(fixture->fdinfo, "/dev/kfd"));
    drm_fixture_leave(fixture, 200);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(fdinfo_tree_holds(fixture->fdinfo, "/dev/kfd"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        drm_unit_test(test_steady_state_opens_nothing),
        drm_unit_test(test_more_clients_than_files),
        drm_unit_test(test_too_many_clients),
        drm_unit_test(test_hidden_member),
        drm_unit_test(test_ended_member),
        drm_unit_test(test_when_members_are_scanned),
        drm_unit_test(test_what_is_no_client),
        drm_unit_test(test_unsupported_driver),
        drm_unit_test(test_unsupported_driver_of_a_non_member),
        drm_unit_test(test_file_fails),
        drm_unit_test(test_all_processes),
        drm_unit_test(test_rounds),
        drm_unit_test(test_costly_rounds),
        drm_unit_test(test_unsupported_between_rounds),
        drm_unit_test(test_members_left_over),
        drm_unit_test(test_costly_members),
        drm_unit_test(test_kfd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
