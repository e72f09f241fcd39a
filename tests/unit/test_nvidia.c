/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The NVIDIA vendor with the real helper process and a library that plays a script: RESOURCE_TRACKER is the
 * program, FAKE_NVML_LIB the library. Times are ours where they matter, so nothing here waits for long.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/gpu/gpu.h"
#include "collect/gpu/nvidia/nvidia_internal.h"
#include "fake_env.h"
#include "skip.h"

extern const struct gpu_vendor gpu_vendor_nvidia;

#define PLAIN                                                                                                          \
    "gpus 1; gpu 0 name NVIDIA H200; gpu 0 uuid GPU-1; gpu 0 util 40; gpu 0 used 1048576; gpu 0 total 1073741824"
#define FIRST_NAMESPACE "pid:[4026531836]"

enum { PATIENCE_MS = 10000, STEP_MS = 5 };

struct fixture {
    struct fake_env fake;
    struct tracked tracked;
    struct helpers helpers;
    char script[1024];
    char *environment[2];
    void *state;
    struct gpu_list list;
    struct err err;
};

static int64_t now(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
}

static void start_fixture(struct fixture *fixture, const char *script, const char *pid_namespace)
{
    *fixture = (struct fixture){.tracked = {.root = 4711, .tracker = getpid()}};
    fake_env_init(&fixture->fake);
    fake_env_write(&fixture->fake, "dev/nvidiactl", "");
    fake_env_link(&fixture->fake, "proc/self/ns/pid", pid_namespace);
    (void)snprintf(fixture->script, sizeof(fixture->script), "FAKE_NVML=%s", script);
    fixture->environment[0] = fixture->script;
    struct collect_env *env = &fixture->fake.env;
    env->clock = &clock_system;
    env->interval_ns = 100 * NS_PER_MS;
    env->tracked = &fixture->tracked;
    env->helpers = &fixture->helpers;
    env->gpu = (struct collect_gpu){.nvml_library = getenv("FAKE_NVML_LIB"),
        .program = getenv("RESOURCE_TRACKER"),
        .environment = fixture->environment,
        .wants_energy = true};
    fixture->state = calloc(1, gpu_vendor_nvidia.state_bytes);
    assert_non_null(fixture->state);
}

static void open_fixture(struct fixture *fixture, const char *script)
{
    start_fixture(fixture, script, FIRST_NAMESPACE);
    assert_int_equal(gpu_vendor_nvidia.open(fixture->state, &fixture->fake.env, &fixture->err), 0);
}

static void end_fixture(struct fixture *fixture)
{
    gpu_vendor_nvidia.close(fixture->state);
    free(fixture->state);
    fake_env_fini(&fixture->fake);
    /* Killed at the end and waited for with all other children. */
    for (int i = 0; i < PATIENCE_MS / STEP_MS; i++) {
        if (waitpid(-1, NULL, WNOHANG) < 0)
            break;
        (void)poll(NULL, 0, STEP_MS);
    }
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void step_at(struct fixture *fixture, int64_t now_ns, const struct job_member *members, size_t count)
{
    struct gpu_tick tick = {
        .now_ns = now_ns, .slot_ns = now_ns, .members = members, .member_count = count, .is_tracking = true};
    err_clear(&fixture->err);
    assert_int_equal(gpu_vendor_nvidia.read(fixture->state, &tick, &fixture->list, &fixture->err), 0);
    gpu_vendor_nvidia.attribute(fixture->state, &tick);
}

static void step(struct fixture *fixture)
{
    step_at(fixture, now(), NULL, 0);
}

static bool has_reading(const struct fixture *fixture)
{
    return fixture->list.count > 0 && fixture->list.cards[0].reading.utilization_pct.has;
}

static void await_reading(struct fixture *fixture)
{
    for (int i = 0; i < PATIENCE_MS / STEP_MS; i++) {
        step(fixture);
        if (has_reading(fixture))
            return;
        (void)poll(NULL, 0, STEP_MS);
    }
    fail_msg("no reading came: %s", fixture->err.msg);
}

static void await_error(struct fixture *fixture)
{
    for (int i = 0; i < PATIENCE_MS / STEP_MS; i++) {
        step(fixture);
        if (fixture->err.code < 0)
            return;
        (void)poll(NULL, 0, STEP_MS);
    }
    fail_msg("no error came");
}

static pid_t helper_of(const struct fixture *fixture)
{
    for (size_t i = 0; i < HELPERS_MAX; i++) {
        if (fixture->helpers.processes[i].pid > 0)
            return fixture->helpers.processes[i].pid;
    }
    return 0;
}

/* Until the first helper is gone and another one is there. */
static void await_replacement(struct fixture *fixture, pid_t first)
{
    for (int i = 0; i < PATIENCE_MS / STEP_MS; i++) {
        step(fixture);
        pid_t helper = helper_of(fixture);
        if (helper > 0 && helper != first)
            return;
        (void)poll(NULL, 0, STEP_MS);
    }
    fail_msg("no other helper came");
}

/* So many seconds pass, as the helper sees nothing of. */
static void pass(struct fixture *fixture, int secs)
{
    int64_t begin_ns = now();
    for (int i = 1; i <= secs; i++)
        step_at(fixture, begin_ns + i * NS_PER_SEC, NULL, 0);
}

/* Until the one that has ended was waited for. */
static void await_no_helper(struct fixture *fixture)
{
    for (int i = 0; i < PATIENCE_MS / STEP_MS && helper_of(fixture) > 0; i++) {
        (void)poll(NULL, 0, STEP_MS);
        step(fixture);
    }
    assert_int_equal(helper_of(fixture), 0);
}

static void test_a_card_is_read(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, PLAIN);
    step(&fixture);
    assert_false(fixture.list.is_known);
    assert_int_equal(fixture.list.count, 0);
    assert_int_equal(fixture.err.code, 0);
    await_reading(&fixture);
    assert_true(fixture.list.is_known);
    assert_int_equal(fixture.list.count, 1);
    const struct gpu_card *card = &fixture.list.cards[0];
    assert_string_equal(card->facts.name, "NVIDIA H200");
    assert_string_equal(card->facts.uuid, "GPU-1");
    assert_true(card->reading.utilization_pct.v == 40);
    assert_int_equal(card->reading.vram_used_bytes.v, 1048576);
    assert_true(helpers_has(&fixture.helpers, helper_of(&fixture)));
    assert_true(fixture.helpers.cpu_ns > 0);
    assert_true(fixture.helpers.rss_bytes > 100 * 1024);
    end_fixture(&fixture);
}

/* Before the delay is over there is no process, however often it is asked. */
static void test_a_short_command_never_sees_the_helper(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, PLAIN);
    assert_true(gpu_vendor_nvidia.watch_fd(fixture.state) >= 0);
    int64_t begin_ns = now();
    step(&fixture);
    if (now() - begin_ns < 20 * NS_PER_MS)
        assert_int_equal(helper_of(&fixture), 0);
    struct pollfd timer = {.fd = gpu_vendor_nvidia.watch_fd(fixture.state), .events = POLLIN};
    assert_int_equal(poll(&timer, 1, 2000), 1);
    gpu_vendor_nvidia.woken(fixture.state);
    assert_true(helper_of(&fixture) > 0);
    assert_int_equal(poll(&timer, 1, 0), 0);
    end_fixture(&fixture);
}

static void test_no_device_file(void **state)
{
    (void)state;
    struct fixture fixture;
    start_fixture(&fixture, PLAIN, FIRST_NAMESPACE);
    fake_env_remove(&fixture.fake, "dev/nvidiactl");
    fixture.fake.env.gpu.nvml_library = NULL;
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), -ENODATA);
    /* A library that was named is used all the same. */
    fixture.fake.env.gpu.nvml_library = getenv("FAKE_NVML_LIB");
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    end_fixture(&fixture);
}

/* A driver that knows no device is no error, and is asked again after a while. */
static void test_no_device(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, "gpus 0");
    for (int i = 0; i < PATIENCE_MS / STEP_MS && !fixture.list.is_known; i++) {
        step(&fixture);
        assert_int_equal(fixture.err.code, 0);
        (void)poll(NULL, 0, STEP_MS);
    }
    assert_true(fixture.list.is_known);
    assert_int_equal(fixture.list.count, 0);
    await_no_helper(&fixture);
    assert_int_equal(fixture.err.code, 0);
    /* It does not live long either: a later reader may find it gone again. */
    int64_t begin_ns = now();
    for (int i = 1; i <= 62 && helper_of(&fixture) <= 0; i++) {
        step_at(&fixture, begin_ns + i * NS_PER_SEC, NULL, 0);
        assert_int_equal(fixture.err.code, 0);
    }
    assert_true(helper_of(&fixture) > 0);
    end_fixture(&fixture);
}

static void test_no_library(void **state)
{
    (void)state;
    struct fixture fixture;
    start_fixture(&fixture, PLAIN, FIRST_NAMESPACE);
    fixture.fake.env.gpu.nvml_library = "libno-such-library.so.1";
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    await_error(&fixture);
    assert_int_equal(fixture.err.code, -ENOENT);
    assert_non_null(strstr(fixture.err.msg, "nvidia: libno-such-library.so.1"));
    assert_false(fixture.list.is_known);
    await_no_helper(&fixture);
    /* It is not tried again. */
    for (int i = 0; i < 20; i++)
        step_at(&fixture, now() + (100 + i) * NS_PER_SEC, NULL, 0);
    assert_int_equal(helper_of(&fixture), 0);
    end_fixture(&fixture);
}

SKIPPABLE_TEST(test_the_program_cannot_be_started);
static void test_the_program_cannot_be_started(void **state)
{
    (void)state;
    if (is_emulated())
        SKIP_TEST(test_the_program_cannot_be_started,
            "qemu-user makes vfork a fork: posix_spawn does not hear that the program cannot be started");
    struct fixture fixture;
    start_fixture(&fixture, PLAIN, FIRST_NAMESPACE);
    fixture.fake.env.gpu.program = "/nonexistent/program";
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    await_error(&fixture);
    assert_non_null(strstr(fixture.err.msg, "cannot start a process"));
    end_fixture(&fixture);
}

static void test_driver_that_comes_later(void **state)
{
    (void)state;
    struct fixture fixture;
    char path[128];
    start_fixture(&fixture, "", FIRST_NAMESPACE);
    (void)snprintf(path, sizeof(path), "%s/script", fixture.fake.dir);
    (void)snprintf(fixture.script, sizeof(fixture.script), "FAKE_NVML=%s", path);
    fake_env_write(&fixture.fake, "script", "init_error 9\n");
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    await_error(&fixture);
    assert_int_equal(fixture.err.code, -ENODEV);
    fake_env_write(&fixture.fake, "script", "gpus 1\ngpu 0 util 5\n");
    step_at(&fixture, now() + 2 * NS_PER_SEC, NULL, 0);
    await_reading(&fixture);
    assert_int_equal(fixture.err.code, 0);
    end_fixture(&fixture);
}

static void await_signal_error(struct fixture *fixture, const char *text)
{
    for (int i = 0; i < PATIENCE_MS / STEP_MS; i++) {
        step_at(fixture, now() + 3 * NS_PER_SEC, NULL, 0); /* whatever was read is not fresh any more */
        if (fixture->err.code < 0 && strstr(fixture->err.msg, text))
            return;
        (void)poll(NULL, 0, STEP_MS);
    }
    fail_msg("it was not said that '%s' but '%s'", text, fixture->err.msg);
}

static void test_abort(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, PLAIN "; abort nvmlDeviceGetPowerUsage 2");
    await_reading(&fixture);
    await_signal_error(&fixture, "crashed its process (signal 6)");
    assert_int_equal(fixture.list.count, 1);
    assert_string_equal(fixture.list.cards[0].facts.uuid, "GPU-1");
    assert_false(fixture.list.cards[0].reading.utilization_pct.has);
    assert_false(fixture.list.cards[0].use.usage.has);
    end_fixture(&fixture);
}

static void test_exit(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, PLAIN "; exit nvmlInit* 3");
    await_error(&fixture);
    assert_non_null(strstr(fixture.err.msg, "ended its process (status 3)"));
    end_fixture(&fixture);
}

/* A helper that falls silent is killed, and another one replaces it. */
static void test_hang(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, PLAIN "; hang_after nvmlDeviceGetTemperature 3");
    await_reading(&fixture);
    pid_t first = helper_of(&fixture);
    (void)poll(NULL, 0, 500);
    step(&fixture);
    pass(&fixture, 6);
    assert_int_equal(fixture.err.code, -ETIMEDOUT);
    assert_false(has_reading(&fixture));
    siginfo_t info;
    /* Where its end came before the last step, that has waited for it. */
    if (waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT) == 0)
        assert_int_equal(info.si_status, SIGKILL);
    step_at(&fixture, now() + 8 * NS_PER_SEC, NULL, 0);
    assert_int_equal(waitpid(first, NULL, WNOHANG), -1);
    assert_true(helper_of(&fixture) > 0 && helper_of(&fixture) != first);
    await_reading(&fixture);
    /* One that has crashed is not trusted at once, so that a crash over and over is reported once. */
    assert_int_equal(fixture.err.code, -ETIMEDOUT);
    end_fixture(&fixture);
}

/* One that never answers gets more time: sleeping GPUs take long to wake. */
static void test_hang_in_init(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, "hang nvmlInit*");
    (void)poll(NULL, 0, 50);
    step(&fixture);
    pid_t first = helper_of(&fixture);
    assert_true(first > 0);
    pass(&fixture, 30);
    assert_int_equal(fixture.err.code, -ETIMEDOUT);
    assert_int_equal(waitpid(first, NULL, WNOHANG), 0);
    pass(&fixture, 61);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)first, &info, WEXITED | WNOWAIT), 0);
    end_fixture(&fixture);
}

/* A library may have spoilt the memory of its process, or found the channel. */
static void test_invalid_data(void **state)
{
    (void)state;
    struct fixture fixture;
    char path[128];
    start_fixture(&fixture, PLAIN, FIRST_NAMESPACE);
    (void)snprintf(path, sizeof(path), "%s/evil", fixture.fake.dir);
    fake_env_write(&fixture.fake, "evil", "#!/bin/sh\nprintf 'anything at all, and more of it' >&3\nexec sleep 20\n");
    assert_int_equal(chmod(path, 0755), 0);
    fixture.fake.env.gpu.program = path;
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    await_error(&fixture);
    assert_int_equal(fixture.err.code, -EBADMSG);
    assert_false(fixture.list.is_known);
    end_fixture(&fixture);
}

/* A GPU that fell off the bus is reported; where none is left, only a new start of the library can find it again. */
static void test_lost_devices(void **state)
{
    (void)state;
    struct fixture fixture;
    char path[128];
    start_fixture(&fixture, "", FIRST_NAMESPACE);
    (void)snprintf(path, sizeof(path), "%s/script", fixture.fake.dir);
    (void)snprintf(fixture.script, sizeof(fixture.script), "FAKE_NVML=%s", path);
    fake_env_write(&fixture.fake, "script", "gpus 2\ngpu 1 uuid GPU-B\n");
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    await_reading(&fixture);
    fake_env_write(&fixture.fake, "script", "gpus 2\ngpu 1 uuid GPU-B\nfail nvmlDevice* 15 1\n");
    await_error(&fixture);
    assert_non_null(strstr(fixture.err.msg, "GPU 1 (GPU-B) no longer responds"));
    assert_true(has_reading(&fixture));
    pid_t first = helper_of(&fixture);
    fake_env_write(&fixture.fake, "script",
        "gpus 2\nfail nvmlDeviceGetUtil* 15\nfail nvmlDeviceGetT* 15\n"
        "fail nvmlDeviceGetPower* 15\n");
    await_signal_error(&fixture, "no GPU responds any more");
    fake_env_write(&fixture.fake, "script", "gpus 2\n");
    step_at(&fixture, now() + 3 * NS_PER_SEC, NULL, 0);
    await_replacement(&fixture, first);
    await_reading(&fixture);
    end_fixture(&fixture);
}

static void test_energy(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, PLAIN "; gpu 0 energy 1000000; gpu 0 energy_step 2500");
    await_reading(&fixture);
    struct gpu_tick tick = {.now_ns = now(), .slot_ns = now(), .is_final = true};
    for (int i = 0; i < 100 && !(fixture.list.count > 0 && fixture.list.cards[0].energy_joules.has); i++) {
        (void)poll(NULL, 0, STEP_MS);
        tick.now_ns = now();
        assert_int_equal(gpu_vendor_nvidia.read(fixture.state, &tick, &fixture.list, &fixture.err), 0);
    }
    assert_true(fixture.list.cards[0].energy_joules.has);
    assert_true(fixture.list.cards[0].energy_joules.v >= 2.5);
    end_fixture(&fixture);
}

static const struct job_member job_members[] = {{.pid = 4711, .start_ticks = 1}, {.pid = 4712, .start_ticks = 2}};

#define SHARED_CARD                                                                                                    \
    PLAIN "; process 0 4711 104857600 compute; process 0 4712 1048576 both; process 0 99 5000000 compute"

static void test_only_the_tree_counts(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture,
        "gpus 2; gpu 0 util 40; gpu 0 total 1000000000; gpu 1 util 1; gpu 1 total 1000000000;"
        "process 0 4711 104857600 compute; process 0 4712 1048576 both; process 0 99 5000000 compute;"
        "process 1 99 7 compute; sample 0 4711 30; sample 0 99 50");
    await_reading(&fixture);
    for (int i = 0; i < 100; i++) {
        step_at(&fixture, now(), job_members, 2);
        if (fixture.list.cards[0].use.usage.has && fixture.list.cards[0].use.usage.v > 0)
            break;
        (void)poll(NULL, 0, 20);
    }
    const struct gpu_use *use = &fixture.list.cards[0].use;
    assert_int_equal(use->vram_bytes.v, 104857600 + 1048576);
    assert_true(use->usage.has && use->usage.v > 0.25 && use->usage.v < 0.35);
    assert_true(fixture.list.cards[1].use.usage.has && fixture.list.cards[1].use.usage.v == 0);
    assert_true(fixture.list.cards[1].use.vram_bytes.has && fixture.list.cards[1].use.vram_bytes.v == 0);
    end_fixture(&fixture);
}

/* One process has 80 GiB on one card, another one 10 GiB on each of the others, beside one that is not of the tree. */
static void test_uneven_cards(void **state)
{
    (void)state;
    enum { CARDS = 8 };
    struct fixture fixture;
    char script[900] = "gpus 8; process 0 99 32212254720 compute; sample 0 99 5; sample 0 4711 90; sample 7 4712 20";
    for (int i = 0; i < CARDS; i++) {
        size_t n = strlen(script);
        (void)snprintf(script + n, sizeof(script) - n, "; gpu %d total 150000000000; process %d %d %lld compute", i, i,
            i == 0 ? 4711 : 4712, (i == 0 ? 80LL : 10LL) << 30);
    }
    open_fixture(&fixture, script);
    await_reading(&fixture);
    double first = 0, last = 0;
    for (int i = 0; i < PATIENCE_MS / STEP_MS && (first <= 0 || last <= 0); i++) {
        (void)poll(NULL, 0, STEP_MS);
        step_at(&fixture, now(), job_members, 2);
        first = fixture.list.cards[0].use.usage.v;
        last = fixture.list.cards[CARDS - 1].use.usage.v;
    }
    assert_true(first > 0.8 && first < 0.95 && last > 0.15 && last < 0.25);
    for (int i = 0; i < CARDS; i++)
        assert_int_equal(fixture.list.cards[i].use.vram_bytes.v, (i == 0 ? 80LL : 10LL) << 30);
    end_fixture(&fixture);
}

/* One that has ended since the last sample is in the reading that still saw it, and not in one that came before. */
static void test_a_process_that_has_ended(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, "gpus 1; gpu 0 util 40; gpu 0 total 1000000000; process 0 4711 104857600 compute");
    await_reading(&fixture);
    step_at(&fixture, now(), job_members, 2);
    (void)poll(NULL, 0, 300);
    step_at(&fixture, now(), NULL, 0);
    assert_int_equal(fixture.list.cards[0].use.vram_bytes.v, 104857600);
    /* The same reading again: what happened since is not known, and from then on nothing happens. */
    step_at(&fixture, now(), job_members, 2);
    step_at(&fixture, now(), NULL, 0);
    assert_true(fixture.list.cards[0].use.vram_bytes.has);
    assert_int_equal(fixture.list.cards[0].use.vram_bytes.v, 0);
    assert_false(fixture.list.cards[0].use.usage.has);
    step_at(&fixture, now(), NULL, 0);
    assert_true(fixture.list.cards[0].use.usage.has && fixture.list.cards[0].use.usage.v == 0);
    end_fixture(&fixture);
}

/* In another PID namespace the numbers of the driver are believed only where a device file proves them. */
static void test_pid_namespace(void **state)
{
    (void)state;
    struct fixture fixture;
    start_fixture(&fixture, SHARED_CARD, "pid:[4026532999]");
    assert_int_equal(gpu_vendor_nvidia.open(fixture.state, &fixture.fake.env, &fixture.err), 0);
    fake_env_link(&fixture.fake, "proc/4711/fd/0", "/dev/null");
    fake_env_link(&fixture.fake, "proc/4712/fd/0", "/dev/null");
    await_reading(&fixture);
    /* No process of the tree has a GPU open: 0, although two numbers are the same. */
    step_at(&fixture, now(), job_members, 2);
    assert_true(fixture.list.cards[0].use.vram_bytes.has);
    assert_int_equal(fixture.list.cards[0].use.vram_bytes.v, 0);
    /* One has, but is not listed by that number: nothing is known. */
    const struct job_member other = {.pid = 50, .start_ticks = 3};
    fake_env_link(&fixture.fake, "proc/50/fd/7", "/dev/nvidia0");
    step_at(&fixture, now() + NS_PER_SEC + NS_PER_MS, &other, 1);
    assert_false(fixture.list.cards[0].use.vram_bytes.has);
    assert_false(fixture.list.cards[0].use.usage.has);
    step_at(&fixture, now(), &other, 1);
    assert_int_equal(fixture.err.code, -ESRCH);
    /* Now one of those listed. */
    fake_env_link(&fixture.fake, "proc/4711/fd/8", "/dev/nvidiactl");
    step_at(&fixture, now(), job_members, 2);
    assert_true(fixture.list.cards[0].use.vram_bytes.has);
    assert_int_equal(fixture.list.cards[0].use.vram_bytes.v, 104857600);
    end_fixture(&fixture);
}

static void test_lists_that_are_missing(void **state)
{
    (void)state;
    struct fixture fixture;
    open_fixture(&fixture, SHARED_CARD "; fail nvmlDeviceGetCompute* 3; fail nvmlDeviceGetGraphics* 3; fail "
                                       "nvmlDeviceGetMPS* 3");
    await_reading(&fixture);
    step_at(&fixture, now(), job_members, 2);
    assert_false(fixture.list.cards[0].use.vram_bytes.has);
    assert_false(fixture.list.cards[0].use.usage.has);
    end_fixture(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_card_is_read),
        cmocka_unit_test(test_a_short_command_never_sees_the_helper),
        cmocka_unit_test(test_no_device_file),
        cmocka_unit_test(test_no_device),
        cmocka_unit_test(test_no_library),
        skippable_unit_test(test_the_program_cannot_be_started),
        cmocka_unit_test(test_driver_that_comes_later),
        cmocka_unit_test(test_abort),
        cmocka_unit_test(test_exit),
        cmocka_unit_test(test_hang),
        cmocka_unit_test(test_hang_in_init),
        cmocka_unit_test(test_invalid_data),
        cmocka_unit_test(test_lost_devices),
        cmocka_unit_test(test_energy),
        cmocka_unit_test(test_only_the_tree_counts),
        cmocka_unit_test(test_uneven_cards),
        cmocka_unit_test(test_a_process_that_has_ended),
        cmocka_unit_test(test_pid_namespace),
        cmocka_unit_test(test_lists_that_are_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
