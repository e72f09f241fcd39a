/* SPDX-License-Identifier: Apache-2.0 */
/* What the DRM clients of a tree use of a device: sums, shared clients, counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drm_fixture.h"

enum { CLIENT_BYTES = 1000 * 1024 };

static void test_first_tick_and_after(void **state)
{
    struct drm_fixture *fixture = *state;
    assert_false(drm_fixture_is_known(fixture));
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 60000));
    drm_fixture_tick(fixture);
    assert_false(fdinfo_tree_use(fixture->fdinfo, drm_card).usage.has);
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 60500));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.5);
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 60600));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0.2);
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0);
    /* No time, no share. */
    drm_fixture_step(fixture, 0);
    assert_false(fdinfo_tree_use(fixture->fdinfo, drm_card).usage.has);
}

static void test_no_client(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_tick(fixture);
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, drm_card);
    assert_false(use.usage.has);
    assert_true(use.vram_bytes.has);
    drm_fixture_join(fixture, 100, 1);
    fake_env_link(&fixture->fake, "proc/100/fd/0", "/dev/null");
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
    assert_int_equal(drm_fixture_vram(fixture), 0);
    /* The host was not asked for. */
    assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).usage.has);
    assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has);
}

/* dup(2), and a second open that makes a client of its own. */
static void test_duplicated_descriptors(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    for (int fd = 5; fd < 8; fd++)
        drm_fixture_open(fixture, 100, fd, drm_fixture_client(42, 0));
    drm_fixture_open(fixture, 100, 8, drm_fixture_client(43, 0));
    drm_fixture_tick(fixture);
    for (int fd = 5; fd < 8; fd++)
        drm_fixture_show(fixture, 100, fd, drm_fixture_client(42, 200));
    drm_fixture_show(fixture, 100, 8, drm_fixture_client(43, 100));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.3);
    assert_int_equal(drm_fixture_vram(fixture), 2 * CLIENT_BYTES);
    /* The one that was read is closed: another goes on. */
    drm_fixture_close(fixture, 100, 5);
    for (int fd = 6; fd < 8; fd++)
        drm_fixture_show(fixture, 100, fd, drm_fixture_client(42, 450));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.25);
}

static void test_inherited_client(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 1000));
    drm_fixture_tick(fixture);
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_open(fixture, 101, 5, drm_fixture_client(42, 1400));
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 1400));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.4);
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    /* The parent, whose file is kept, goes away: neither a jump nor a loss. */
    drm_fixture_leave(fixture, 100);
    drm_fixture_remove(fixture, 100);
    drm_fixture_show(fixture, 101, 5, drm_fixture_client(42, 2000));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.6);
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    /* What the last holder did before it went away is not known. */
    drm_fixture_leave(fixture, 101);
    drm_fixture_remove(fixture, 101);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
    assert_int_equal(drm_fixture_vram(fixture), 0);
}

/* Sent to a process that is scanned only later: the mean over the time in which no process was known to hold it. */
static void test_client_changes_hands(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 9000));
    fake_env_link(&fixture->fake, "proc/101/fd/0", "/dev/null");
    drm_fixture_tick(fixture);
    drm_fixture_leave(fixture, 100);
    drm_fixture_remove(fixture, 100);
    drm_fixture_open(fixture, 101, 9, drm_fixture_client(42, 9100));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_show(fixture, 101, 9, drm_fixture_client(42, 9300));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0.3);
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
}

/* A member may be scanned a minute after the one before it has gone. */
static void test_client_is_remembered(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 9000));
    drm_fixture_tick(fixture);
    drm_fixture_leave(fixture, 100);
    drm_fixture_remove(fixture, 100);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_usage_lost(fixture));
    drm_fixture_step(fixture, 68 * NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_open(fixture, 101, 9, drm_fixture_client(42, 16000));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.1);
}

/* One of several clients is lost: that device's usage is not known for one tick, all else is. */
static void test_lost_client(void **state)
{
    struct drm_fixture *fixture = *state;
    static const char other[] = "0000:43:00.0";
    struct fdinfo_device device = {other, "amdgpu"};
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 1000));
    drm_fixture_open(fixture, 101, 5, drm_fixture_client(43, 1000));
    drm_fixture_open(fixture, 101, 6, drm_fixture_client_of(other, 44, 1000));
    drm_fixture_tick(fixture);
    drm_fixture_leave(fixture, 100);
    drm_fixture_remove(fixture, 100);
    drm_fixture_show(fixture, 101, 5, drm_fixture_client(43, 1200));
    drm_fixture_show(fixture, 101, 6, drm_fixture_client_of(other, 44, 1300));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, device);
    assert_true(use.usage.has);
    assert_near(use.usage.v, 0.3);
    drm_fixture_show(fixture, 101, 5, drm_fixture_client(43, 1300));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.1);
    /* The last descriptor of the other card is closed, in a process that goes on. */
    drm_fixture_close(fixture, 101, 6);
    drm_fixture_step(fixture, NS_PER_SEC);
    use = fdinfo_tree_use(fixture->fdinfo, device);
    assert_false(use.usage.has);
    assert_true(use.vram_bytes.has);
    assert_int_equal(use.vram_bytes.v, 0);
    assert_near(drm_fixture_usage(fixture), 0);
    drm_fixture_step(fixture, NS_PER_SEC);
    use = fdinfo_tree_use(fixture->fdinfo, device);
    assert_true(use.usage.has);
    assert_near(use.usage.v, 0);
}

static void test_devices_are_apart(void **state)
{
    struct drm_fixture *fixture = *state;
    static const char other[] = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:43:00.0\ndrm-client-id:\t42\n"
                                "drm-memory-vram:\t7\ndrm-engine-gfx:\t%u000000 ns\n";
    static const char npu[] = "drm-driver:\tivpu\ndrm-client-id:\t42\ndrm-engine-npu:\t%u000000 ns\n";
    char text[256];
    drm_fixture_join(fixture, 100, 1);
    for (unsigned tick = 0; tick < 2; tick++) {
        fake_env_advance(&fixture->fake, NS_PER_SEC);
        (tick ? drm_fixture_show : drm_fixture_open)(fixture, 100, 5, drm_fixture_client(42, tick * 100));
        (void)snprintf(text, sizeof(text), other, tick * 200);
        (tick ? drm_fixture_show : drm_fixture_open)(fixture, 100, 6, text);
        (void)snprintf(text, sizeof(text), npu, tick * 300);
        if (tick == 0)
            fake_env_link(&fixture->fake, "proc/100/fd/7", "/dev/accel/accel0");
        drm_fixture_show(fixture, 100, 7, text);
        drm_fixture_tick(fixture);
    }
    assert_near(drm_fixture_usage(fixture), 0.1);
    struct fdinfo_use use = fdinfo_tree_use(fixture->fdinfo, (struct fdinfo_device){"0000:43:00.0", "amdgpu"});
    assert_near(use.usage.v, 0.2);
    assert_int_equal(use.vram_bytes.v, 7);
    use = fdinfo_tree_use(fixture->fdinfo, (struct fdinfo_device){"", "ivpu"});
    assert_near(use.usage.v, 0.3);
    /* Its driver does not report it. */
    assert_false(use.vram_bytes.has);
    use = fdinfo_tree_use(fixture->fdinfo, (struct fdinfo_device){"", "amdgpu"});
    assert_true(use.usage.has && use.vram_bytes.has);
    assert_near(use.usage.v, 0);
}

static void test_closed_and_opened_again(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 5000));
    drm_fixture_tick(fixture);
    /* The same number, another client, in the tick in which its process is scanned anyway and in one where not. */
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(43, 300));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(44, 100));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), CLIENT_BYTES);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(44, 150));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0.1);
    drm_fixture_close(fixture, 100, 5);
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0);
}

static void test_new_client_counts_from_its_birth(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    fake_env_link(&fixture->fake, "proc/100/fd/0", "/dev/null");
    drm_fixture_tick(fixture);
    /* One in a process that we know, one in a process that is new. */
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 250));
    drm_fixture_join(fixture, 101, 2);
    drm_fixture_open(fixture, 101, 5, drm_fixture_client(43, 500));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.75);
    /* More than fits can only be what is not new. */
    drm_fixture_join(fixture, 102, 3);
    drm_fixture_open(fixture, 102, 5, drm_fixture_client(44, 90000));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 1);
}

static void test_counter_goes_backwards(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 5000));
    drm_fixture_tick(fixture);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 4000));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 4125));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.125);
}

/* Two clients on "rcs" make 0.5; "ccs" has four engines, so that 1.2 of them are less. */
static void test_cycles(void **state)
{
    struct drm_fixture *fixture = *state;
    static const char *const texts[2][2] = {
        {"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t" PDEV "\ndrm-cycles-rcs:\t100\ndrm-total-cycles-rcs:\t1000\n"
         "drm-cycles-ccs:\t0\ndrm-total-cycles-ccs:\t1000\ndrm-engine-capacity-ccs:\t4\n",
            "drm-driver:\txe\ndrm-client-id:\t2\ndrm-pdev:\t" PDEV
            "\ndrm-cycles-rcs:\t50\ndrm-total-cycles-rcs:\t1000\n"},
        {"drm-driver:\txe\ndrm-client-id:\t1\ndrm-pdev:\t" PDEV "\ndrm-cycles-rcs:\t500\ndrm-total-cycles-rcs:\t2000\n"
         "drm-cycles-ccs:\t1200\ndrm-total-cycles-ccs:\t2000\ndrm-engine-capacity-ccs:\t4\n",
            "drm-driver:\txe\ndrm-client-id:\t2\ndrm-pdev:\t" PDEV
            "\ndrm-cycles-rcs:\t150\ndrm-total-cycles-rcs:\t2000\n"},
    };
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, texts[0][0]);
    drm_fixture_open(fixture, 100, 6, texts[0][1]);
    drm_fixture_tick(fixture);
    drm_fixture_show(fixture, 100, 5, texts[1][0]);
    drm_fixture_show(fixture, 100, 6, texts[1][1]);
    drm_fixture_step(fixture, 7 * NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.5);
    /* The clock of the engines stands still. */
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
    /* A new client is next to a clock that is much older. */
    drm_fixture_open(fixture, 100, 7,
        "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t" PDEV "\ndrm-cycles-rcs:\t900\ndrm-total-cycles-rcs:\t1000\n");
    drm_fixture_step(fixture, 10 * NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0);
}

static void test_busiest_class(void **state)
{
    struct drm_fixture *fixture = *state;
    static const char before[] = "drm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\t" PDEV "\n"
                                 "drm-engine-capacity-video:\t2\ndrm-engine-render:\t0 ns\ndrm-engine-video:\t0 ns\n";
    /* A class that is listed only once it is used began at 0. */
    static const char after[] = "drm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\t" PDEV "\n"
                                "drm-engine-capacity-video:\t2\ndrm-engine-render:\t100000000 ns\n"
                                "drm-engine-video:\t1600000000 ns\ndrm-engine-copy:\t300000000 ns\n";
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, before);
    drm_fixture_tick(fixture);
    drm_fixture_show(fixture, 100, 5, after);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(drm_fixture_usage(fixture), 0.8);
    drm_fixture_step(fixture, 4 * NS_PER_SEC);
    drm_fixture_show(fixture, 100, 5, before);
    drm_fixture_step(fixture, NS_PER_SEC);
    drm_fixture_show(fixture, 100, 5, after);
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 1);
}

static void test_without_client_id(void **state)
{
    struct drm_fixture *fixture = *state;
    static const char text[] = "drm-driver:\tmsm\ndrm-engine-gpu:\t%u000000 ns\n";
    char shown[128];
    drm_fixture_join(fixture, 100, 1);
    for (unsigned tick = 0; tick < 3; tick++) {
        for (int fd = 5; fd < 7; fd++) {
            (void)snprintf(shown, sizeof(shown), text, 3000 + tick * 100 * (unsigned)(fd - 4));
            (tick ? drm_fixture_show : drm_fixture_open)(fixture, 100, fd, shown);
        }
        drm_fixture_step(fixture, NS_PER_SEC);
    }
    struct fdinfo_device device = {"", "msm"};
    assert_near(fdinfo_tree_use(fixture->fdinfo, device).usage.v, 0.3);
    /* A process by the same number: what it did before is not known to be new. */
    fixture->members[0].start_ticks = 9;
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_near(fdinfo_tree_use(fixture->fdinfo, device).usage.v, 0);
}

static void test_pid_reuse(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 1000));
    drm_fixture_tick(fixture);
    drm_fixture_remove(fixture, 100);
    fixture->members[0].start_ticks = 50;
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(43, 100));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), 1000 * 1024);
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(43, 200));
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0.2);
    /* The next one has none, and nothing is left of the one before. */
    fixture->members[0].start_ticks = 60;
    drm_fixture_remove(fixture, 100);
    fake_env_link(&fixture->fake, "proc/100/fd/5", "/dev/null");
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_true(drm_fixture_is_usage_lost(fixture));
    assert_int_equal(drm_fixture_vram(fixture), 0);
    drm_fixture_step(fixture, NS_PER_SEC / 2);
    assert_near(drm_fixture_usage(fixture), 0);
    assert_int_equal(drm_fixture_vram(fixture), 0);
}

/* A driver that names no engine reports nothing of how busy they are. */
static void test_client_without_engines(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, "drm-driver:\tintel_vpu\ndrm-client-id:\t9\ndrm-pdev:\t" PDEV "\n");
    drm_fixture_tick(fixture);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(fdinfo_tree_use(fixture->fdinfo, drm_card).usage.has);
}

static void test_broken_text(void **state)
{
    struct drm_fixture *fixture = *state;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_open(fixture, 100, 5, drm_fixture_client(42, 0));
    drm_fixture_tick(fixture);
    drm_fixture_show(fixture, 100, 5, "drm-driver:\tamdgpu\ndrm-client-id:\t42");
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(drm_fixture_is_known(fixture));
    drm_fixture_show(fixture, 100, 5, drm_fixture_client(42, 600));
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_true(drm_fixture_is_known(fixture));
    assert_near(drm_fixture_usage(fixture), 0.3);
}

static void test_without_proc(void **state)
{
    struct drm_fixture *fixture = *state;
    fdinfo_free(fixture->fdinfo);
    struct sysroot bare = fixture->fake.root;
    bare.proc_fd = -1;
    fixture->fake.env.root = &bare;
    assert_int_equal(fdinfo_new(&fixture->fake.env, &fixture->fdinfo), 0);
    fixture->all_processes = true;
    drm_fixture_join(fixture, 100, 1);
    drm_fixture_tick(fixture);
    drm_fixture_step(fixture, NS_PER_SEC);
    assert_false(fdinfo_host_use(fixture->fdinfo, drm_card).vram_bytes.has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        drm_unit_test(test_first_tick_and_after),
        drm_unit_test(test_no_client),
        drm_unit_test(test_duplicated_descriptors),
        drm_unit_test(test_inherited_client),
        drm_unit_test(test_client_changes_hands),
        drm_unit_test(test_client_is_remembered),
        drm_unit_test(test_lost_client),
        drm_unit_test(test_devices_are_apart),
        drm_unit_test(test_closed_and_opened_again),
        drm_unit_test(test_new_client_counts_from_its_birth),
        drm_unit_test(test_counter_goes_backwards),
        drm_unit_test(test_cycles),
        drm_unit_test(test_busiest_class),
        drm_unit_test(test_without_client_id),
        drm_unit_test(test_pid_reuse),
        drm_unit_test(test_client_without_engines),
        drm_unit_test(test_broken_text),
        drm_unit_test(test_without_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
