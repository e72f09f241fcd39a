/* SPDX-License-Identifier: Apache-2.0 */
/* What the DRM clients of a tree use of a device: sums, shared clients, counters. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drm_world.h"

enum { CLIENT_BYTES = 1000 * 1024 };

static void test_first_turn_and_after(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    assert_false(drm_world_is_known(&world));
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 60000));
    drm_world_turn(&world);
    assert_false(fdinfo_tree_use(world.fdinfo, drm_card).usage.has);
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    drm_world_show(&world, 100, 5, drm_world_client(42, 60500));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.5);
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    drm_world_show(&world, 100, 5, drm_world_client(42, 60600));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0.2);
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0);
    /* No time, no share. */
    drm_world_step(&world, 0);
    assert_false(fdinfo_tree_use(world.fdinfo, drm_card).usage.has);
    drm_world_fini(&world);
}

static void test_nobody(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_turn(&world);
    struct fdinfo_use use = fdinfo_tree_use(world.fdinfo, drm_card);
    assert_false(use.usage.has);
    assert_true(use.vram_bytes.has);
    drm_world_join(&world, 100, 1);
    fake_env_link(&world.fake, "proc/100/fd/0", "/dev/null");
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0);
    assert_int_equal(drm_world_vram(&world), 0);
    /* Nobody was asked to look at the host. */
    assert_false(fdinfo_host_use(world.fdinfo, drm_card).usage.has);
    assert_false(fdinfo_host_use(world.fdinfo, drm_card).vram_bytes.has);
    drm_world_fini(&world);
}

/* dup(2), and a second open that makes a client of its own. */
static void test_duplicated_descriptors(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    for (int fd = 5; fd < 8; fd++)
        drm_world_open(&world, 100, fd, drm_world_client(42, 0));
    drm_world_open(&world, 100, 8, drm_world_client(43, 0));
    drm_world_turn(&world);
    for (int fd = 5; fd < 8; fd++)
        drm_world_show(&world, 100, fd, drm_world_client(42, 200));
    drm_world_show(&world, 100, 8, drm_world_client(43, 100));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.3);
    assert_int_equal(drm_world_vram(&world), 2 * CLIENT_BYTES);
    /* The one that was read is closed: another goes on. */
    drm_world_close(&world, 100, 5);
    for (int fd = 6; fd < 8; fd++)
        drm_world_show(&world, 100, fd, drm_world_client(42, 450));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.25);
    drm_world_fini(&world);
}

static void test_inherited_client(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 1000));
    drm_world_turn(&world);
    drm_world_join(&world, 101, 2);
    drm_world_open(&world, 101, 5, drm_world_client(42, 1400));
    drm_world_show(&world, 100, 5, drm_world_client(42, 1400));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.4);
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    /* The parent, whose file is kept, goes away: neither a jump nor a loss. */
    drm_world_leave(&world, 100);
    drm_world_remove(&world, 100);
    drm_world_show(&world, 101, 5, drm_world_client(42, 2000));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.6);
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    /* What the last holder did before it went away is not known. */
    drm_world_leave(&world, 101);
    drm_world_remove(&world, 101);
    drm_world_step(&world, NS_PER_SEC);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), 0);
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0);
    assert_int_equal(drm_world_vram(&world), 0);
    drm_world_fini(&world);
}

/* Sent to a process that is looked at only later: the mean over the time in which nobody was known to hold it. */
static void test_client_changes_hands(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_join(&world, 101, 2);
    drm_world_open(&world, 100, 5, drm_world_client(42, 9000));
    fake_env_link(&world.fake, "proc/101/fd/0", "/dev/null");
    drm_world_turn(&world);
    drm_world_leave(&world, 100);
    drm_world_remove(&world, 100);
    drm_world_open(&world, 101, 9, drm_world_client(42, 9100));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), 0);
    drm_world_show(&world, 101, 9, drm_world_client(42, 9300));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0.3);
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    drm_world_fini(&world);
}

/* A member may be looked at a minute after the one before it has gone. */
static void test_client_is_remembered(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 9000));
    drm_world_turn(&world);
    drm_world_leave(&world, 100);
    drm_world_remove(&world, 100);
    drm_world_step(&world, NS_PER_SEC);
    assert_true(drm_world_is_usage_lost(&world));
    drm_world_step(&world, 68 * NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0);
    drm_world_join(&world, 101, 2);
    drm_world_open(&world, 101, 9, drm_world_client(42, 16000));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.1);
    drm_world_fini(&world);
}

/* One of several clients is lost: that device's usage is not known for one turn, all else is. */
static void test_lost_client(void **state)
{
    (void)state;
    static const char other[] = "0000:43:00.0";
    struct fdinfo_device device = {other, "amdgpu"};
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_join(&world, 101, 2);
    drm_world_open(&world, 100, 5, drm_world_client(42, 1000));
    drm_world_open(&world, 101, 5, drm_world_client(43, 1000));
    drm_world_open(&world, 101, 6, drm_world_client_of(other, 44, 1000));
    drm_world_turn(&world);
    drm_world_leave(&world, 100);
    drm_world_remove(&world, 100);
    drm_world_show(&world, 101, 5, drm_world_client(43, 1200));
    drm_world_show(&world, 101, 6, drm_world_client_of(other, 44, 1300));
    drm_world_step(&world, NS_PER_SEC);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    struct fdinfo_use use = fdinfo_tree_use(world.fdinfo, device);
    assert_true(use.usage.has);
    assert_near(use.usage.v, 0.3);
    drm_world_show(&world, 101, 5, drm_world_client(43, 1300));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.1);
    /* The last descriptor of the other card is closed, in a process that goes on. */
    drm_world_close(&world, 101, 6);
    drm_world_step(&world, NS_PER_SEC);
    use = fdinfo_tree_use(world.fdinfo, device);
    assert_false(use.usage.has);
    assert_true(use.vram_bytes.has);
    assert_int_equal(use.vram_bytes.v, 0);
    assert_near(drm_world_usage(&world), 0);
    drm_world_step(&world, NS_PER_SEC);
    use = fdinfo_tree_use(world.fdinfo, device);
    assert_true(use.usage.has);
    assert_near(use.usage.v, 0);
    drm_world_fini(&world);
}

static void test_devices_are_apart(void **state)
{
    (void)state;
    static const char other[] = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:43:00.0\ndrm-client-id:\t42\n"
                                "drm-memory-vram:\t7\ndrm-engine-gfx:\t%u000000 ns\n";
    static const char npu[] = "drm-driver:\tivpu\ndrm-client-id:\t42\ndrm-engine-npu:\t%u000000 ns\n";
    char text[256];
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    for (unsigned turn = 0; turn < 2; turn++) {
        fake_env_advance(&world.fake, NS_PER_SEC);
        (turn ? drm_world_show : drm_world_open)(&world, 100, 5, drm_world_client(42, turn * 100));
        (void)snprintf(text, sizeof(text), other, turn * 200);
        (turn ? drm_world_show : drm_world_open)(&world, 100, 6, text);
        (void)snprintf(text, sizeof(text), npu, turn * 300);
        if (turn == 0)
            fake_env_link(&world.fake, "proc/100/fd/7", "/dev/accel/accel0");
        drm_world_show(&world, 100, 7, text);
        drm_world_turn(&world);
    }
    assert_near(drm_world_usage(&world), 0.1);
    struct fdinfo_use use = fdinfo_tree_use(world.fdinfo, (struct fdinfo_device){"0000:43:00.0", "amdgpu"});
    assert_near(use.usage.v, 0.2);
    assert_int_equal(use.vram_bytes.v, 7);
    use = fdinfo_tree_use(world.fdinfo, (struct fdinfo_device){"", "ivpu"});
    assert_near(use.usage.v, 0.3);
    /* Its driver does not tell. */
    assert_false(use.vram_bytes.has);
    use = fdinfo_tree_use(world.fdinfo, (struct fdinfo_device){"", "amdgpu"});
    assert_true(use.usage.has && use.vram_bytes.has);
    assert_near(use.usage.v, 0);
    drm_world_fini(&world);
}

static void test_closed_and_opened_again(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 5000));
    drm_world_turn(&world);
    /* The same number, another client, in the turn in which its process is looked at anyway and in one where not. */
    drm_world_show(&world, 100, 5, drm_world_client(43, 300));
    drm_world_step(&world, NS_PER_SEC);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    drm_world_show(&world, 100, 5, drm_world_client(44, 100));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), CLIENT_BYTES);
    drm_world_show(&world, 100, 5, drm_world_client(44, 150));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0.1);
    drm_world_close(&world, 100, 5);
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), 0);
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0);
    drm_world_fini(&world);
}

static void test_new_client_counts_from_its_birth(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    fake_env_link(&world.fake, "proc/100/fd/0", "/dev/null");
    drm_world_turn(&world);
    /* One in a process that we know, one in a process that is new. */
    drm_world_open(&world, 100, 5, drm_world_client(42, 250));
    drm_world_join(&world, 101, 2);
    drm_world_open(&world, 101, 5, drm_world_client(43, 500));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.75);
    /* More than fits can only be what is not new. */
    drm_world_join(&world, 102, 3);
    drm_world_open(&world, 102, 5, drm_world_client(44, 90000));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 1);
    drm_world_fini(&world);
}

static void test_counter_goes_backwards(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 5000));
    drm_world_turn(&world);
    drm_world_show(&world, 100, 5, drm_world_client(42, 4000));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0);
    drm_world_show(&world, 100, 5, drm_world_client(42, 4125));
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.125);
    drm_world_fini(&world);
}

/* Two clients on "rcs" make 0.5; "ccs" has four engines, so that 1.2 of them are less. */
static void test_cycles(void **state)
{
    (void)state;
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
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, texts[0][0]);
    drm_world_open(&world, 100, 6, texts[0][1]);
    drm_world_turn(&world);
    drm_world_show(&world, 100, 5, texts[1][0]);
    drm_world_show(&world, 100, 6, texts[1][1]);
    drm_world_step(&world, 7 * NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.5);
    /* The clock of the engines stands still. */
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0);
    /* A new client is next to a clock that is much older. */
    drm_world_open(&world, 100, 7,
        "drm-driver:\txe\ndrm-client-id:\t3\ndrm-pdev:\t" PDEV "\ndrm-cycles-rcs:\t900\ndrm-total-cycles-rcs:\t1000\n");
    drm_world_step(&world, 10 * NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0);
    drm_world_fini(&world);
}

static void test_busiest_class(void **state)
{
    (void)state;
    static const char before[] = "drm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\t" PDEV "\n"
                                 "drm-engine-capacity-video:\t2\ndrm-engine-render:\t0 ns\ndrm-engine-video:\t0 ns\n";
    /* A class that is told only once it is used began at 0. */
    static const char after[] = "drm-driver:\ti915\ndrm-client-id:\t1\ndrm-pdev:\t" PDEV "\n"
                                "drm-engine-capacity-video:\t2\ndrm-engine-render:\t100000000 ns\n"
                                "drm-engine-video:\t1600000000 ns\ndrm-engine-copy:\t300000000 ns\n";
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, before);
    drm_world_turn(&world);
    drm_world_show(&world, 100, 5, after);
    drm_world_step(&world, NS_PER_SEC);
    assert_near(drm_world_usage(&world), 0.8);
    drm_world_step(&world, 4 * NS_PER_SEC);
    drm_world_show(&world, 100, 5, before);
    drm_world_step(&world, NS_PER_SEC);
    drm_world_show(&world, 100, 5, after);
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 1);
    drm_world_fini(&world);
}

static void test_without_client_id(void **state)
{
    (void)state;
    static const char text[] = "drm-driver:\tmsm\ndrm-engine-gpu:\t%u000000 ns\n";
    char shown[128];
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    for (unsigned turn = 0; turn < 3; turn++) {
        for (int fd = 5; fd < 7; fd++) {
            (void)snprintf(shown, sizeof(shown), text, 3000 + turn * 100 * (unsigned)(fd - 4));
            (turn ? drm_world_show : drm_world_open)(&world, 100, fd, shown);
        }
        drm_world_step(&world, NS_PER_SEC);
    }
    struct fdinfo_device device = {"", "msm"};
    assert_near(fdinfo_tree_use(world.fdinfo, device).usage.v, 0.3);
    /* A process by the same number: what it did before is not known to be new. */
    world.members[0].start_ticks = 9;
    drm_world_step(&world, NS_PER_SEC);
    assert_near(fdinfo_tree_use(world.fdinfo, device).usage.v, 0);
    drm_world_fini(&world);
}

static void test_pid_reuse(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 1000));
    drm_world_turn(&world);
    drm_world_remove(&world, 100);
    world.members[0].start_ticks = 50;
    drm_world_open(&world, 100, 5, drm_world_client(43, 100));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), 1000 * 1024);
    drm_world_show(&world, 100, 5, drm_world_client(43, 200));
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0.2);
    /* The next one has none, and nothing is left of the one before. */
    world.members[0].start_ticks = 60;
    drm_world_remove(&world, 100);
    fake_env_link(&world.fake, "proc/100/fd/5", "/dev/null");
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_true(drm_world_is_usage_lost(&world));
    assert_int_equal(drm_world_vram(&world), 0);
    drm_world_step(&world, NS_PER_SEC / 2);
    assert_near(drm_world_usage(&world), 0);
    assert_int_equal(drm_world_vram(&world), 0);
    drm_world_fini(&world);
}

/* A driver that names no engine tells nothing of how busy they are. */
static void test_client_without_engines(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, "drm-driver:\tintel_vpu\ndrm-client-id:\t9\ndrm-pdev:\t" PDEV "\n");
    drm_world_turn(&world);
    drm_world_step(&world, NS_PER_SEC);
    assert_false(fdinfo_tree_use(world.fdinfo, drm_card).usage.has);
    drm_world_fini(&world);
}

static void test_broken_text(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    drm_world_join(&world, 100, 1);
    drm_world_open(&world, 100, 5, drm_world_client(42, 0));
    drm_world_turn(&world);
    drm_world_show(&world, 100, 5, "drm-driver:\tamdgpu\ndrm-client-id:\t42");
    drm_world_step(&world, NS_PER_SEC);
    assert_false(drm_world_is_known(&world));
    drm_world_show(&world, 100, 5, drm_world_client(42, 600));
    drm_world_step(&world, NS_PER_SEC);
    assert_true(drm_world_is_known(&world));
    assert_near(drm_world_usage(&world), 0.3);
    drm_world_fini(&world);
}

static void test_without_proc(void **state)
{
    (void)state;
    struct drm_world world;
    drm_world_init(&world);
    fdinfo_free(world.fdinfo);
    struct sysroot bare = world.fake.root;
    bare.proc_fd = -1;
    world.fake.env.root = &bare;
    assert_int_equal(fdinfo_new(&world.fake.env, &world.fdinfo), 0);
    world.everybody = true;
    drm_world_join(&world, 100, 1);
    drm_world_turn(&world);
    drm_world_step(&world, NS_PER_SEC);
    assert_false(fdinfo_host_use(world.fdinfo, drm_card).vram_bytes.has);
    drm_world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_turn_and_after),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_duplicated_descriptors),
        cmocka_unit_test(test_inherited_client),
        cmocka_unit_test(test_client_changes_hands),
        cmocka_unit_test(test_client_is_remembered),
        cmocka_unit_test(test_lost_client),
        cmocka_unit_test(test_devices_are_apart),
        cmocka_unit_test(test_closed_and_opened_again),
        cmocka_unit_test(test_new_client_counts_from_its_birth),
        cmocka_unit_test(test_counter_goes_backwards),
        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_busiest_class),
        cmocka_unit_test(test_without_client_id),
        cmocka_unit_test(test_pid_reuse),
        cmocka_unit_test(test_client_without_engines),
        cmocka_unit_test(test_broken_text),
        cmocka_unit_test(test_without_proc),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
