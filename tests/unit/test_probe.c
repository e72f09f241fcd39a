/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that devices are asked for: a helper that answers, hangs, dies or sends nonsense, and one that cannot be
 * started. This program is its own helper; how it is to behave is the name of the sysroot.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "collect/probe/probe.h"
#include "fake_env.h"
#include "skip.h"

struct scenario {
    struct fake_env fake;
    struct probe probe;
    struct helpers helpers;
    struct fake_run run;
};

static void scenario_open(struct scenario *scenario, const char *behaviour)
{
    fake_env_init(&scenario->fake);
    scenario->helpers = (struct helpers){0};
    (void)str_copy(str_of(behaviour), scenario->fake.root.path, sizeof(scenario->fake.root.path));
    scenario->fake.env.probe = &scenario->probe;
    scenario->fake.env.program = "/proc/self/exe";
    scenario->fake.env.helpers = &scenario->helpers;
    scenario->fake.env.interval_ns = NS_PER_SEC;
    assert_int_equal(fake_env_open(&scenario->fake, &collector_probe, &scenario->run), 0);
    assert_int_equal(fake_env_baseline(&scenario->fake, &scenario->run), 0);
}

static void scenario_close(struct scenario *scenario)
{
    fake_env_close(&scenario->run);
    fake_env_fini(&scenario->fake);
}

static struct probe_subject disk_named(const char *name, unsigned minor)
{
    struct probe_subject subject = {.kind = PROBE_DISK, .major = 8, .minor = minor};
    (void)str_copy(str_of(name), subject.name, sizeof(subject.name));
    return subject;
}

/* Steps under the fake clock until the question is answered, for real seconds at most. */
static struct probe_answer await(struct scenario *scenario, uint32_t *ticket, const struct probe_subject *subject)
{
    struct probe_answer answer;
    for (int i = 0; i < 10000; i++) {
        if (probe_get(&scenario->fake.env, ticket, subject, &answer))
            return answer;
        fake_env_advance(&scenario->fake, NS_PER_MS);
        assert_int_equal(fake_env_collect(&scenario->fake, &scenario->run), 0);
        struct pollfd channel = {.fd = scenario->probe.channel_fd, .events = POLLIN};
        (void)poll(&channel, 1, 1);
    }
    fail_msg("there is no answer");
    return answer;
}

/* Until every helper is waited for: nothing is left behind. */
static void await_quiet(struct scenario *scenario)
{
    for (int i = 0; i < 10000 && scenario->probe.process.pid > 0; i++) {
        fake_env_advance(&scenario->fake, NS_PER_MS);
        assert_int_equal(fake_env_collect(&scenario->fake, &scenario->run), 0);
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(scenario->probe.process.pid, 0);
    assert_int_equal(scenario->probe.channel_fd, -1);
}

static void test_nothing_before_its_time(void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open(&scenario, "answer");
    struct probe_subject sda = disk_named("sda", 0);
    struct probe_answer answer;
    uint32_t ticket = 0;
    assert_false(probe_get(&scenario.fake.env, &ticket, &sda, &answer));
    assert_true(ticket > 0);
    fake_env_advance(&scenario.fake, PROBE_DELAY_NS - 1);
    assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
    assert_int_equal(scenario.probe.process.pid, 0);
    /* The last sample of a run starts nothing, however late it is. */
    fake_env_advance(&scenario.fake, NS_PER_SEC);
    struct tick last = {.is_final = true, .mono_ns = scenario.fake.mono_ns};
    assert_int_equal(collector_probe.collect(scenario.run.state, &last, &scenario.run.sample, &scenario.run.err), 0);
    assert_int_equal(scenario.probe.process.pid, 0);
    scenario_close(&scenario);
}

static void test_answers(void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open(&scenario, "answer");
    uint32_t tickets[40] = {0};
    struct probe_answer answer;
    struct probe_subject speed = {.kind = PROBE_SPEED, .name = "eth0"};
    for (unsigned i = 0; i < 40; i++) {
        struct probe_subject disk = disk_named("sda", i);
        assert_false(probe_get(&scenario.fake.env, &tickets[i], &disk, &answer));
    }
    for (unsigned i = 0; i < 40; i++) {
        struct probe_subject disk = disk_named("sda", i);
        answer = await(&scenario, &tickets[i], &disk);
        assert_int_equal(answer.error, 0);
        assert_string_equal(answer.disk.serial, "9"); /* the number of the attribute */
        assert_string_equal(answer.disk.model, "2");
        assert_int_equal(tickets[i], 0);
    }
    assert_int_equal(scenario.probe.questions.count, 0);
    await_quiet(&scenario);
    assert_true(scenario.helpers.probe_cpu_ns > 0);

    /* What is asked later gets a helper of its own; what is dropped is not waited for. */
    uint32_t ticket = 0, other = 0;
    struct probe_subject gone = disk_named("sdb", 99);
    assert_false(probe_get(&scenario.fake.env, &other, &gone, &answer));
    answer = await(&scenario, &ticket, &speed);
    assert_int_equal(answer.speed.error, 0);
    assert_string_equal(answer.speed.text, "0");
    probe_drop(&scenario.fake.env, &other);
    assert_int_equal(other, 0);
    await_quiet(&scenario);
    assert_int_equal(scenario.probe.questions.count, 0);
    assert_int_equal(scenario.run.err.code, 0);
    scenario_close(&scenario);
}

static void test_one_hangs(void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open(&scenario, "hang");
    struct probe_subject good = disk_named("sda", 0), bad = disk_named("sdb", 1), behind = disk_named("sdc", 2);
    struct probe_answer answer;
    uint32_t tickets[3] = {0};
    assert_false(probe_get(&scenario.fake.env, &tickets[0], &good, &answer));
    assert_false(probe_get(&scenario.fake.env, &tickets[1], &bad, &answer));
    assert_false(probe_get(&scenario.fake.env, &tickets[2], &behind, &answer));
    answer = await(&scenario, &tickets[0], &good);
    assert_int_equal(answer.error, 0);
    /* The model has come, the serial number has not. */
    while (scenario.probe.questions.items[0].next < DISK_SERIAL) {
        (void)poll(&(struct pollfd){.fd = scenario.probe.channel_fd, .events = POLLIN}, 1, 1000);
        assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
    }
    assert_int_equal(scenario.run.err.code, 0);
    fake_env_advance(&scenario.fake, PROBE_DEADLINE_NS);
    assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
    assert_int_equal(scenario.run.err.code, -ETIMEDOUT);
    assert_string_equal(scenario.run.err.msg, "disk: hang/sys/dev/block/8:1/serial did not answer within 5 s");
    assert_true(probe_get(&scenario.fake.env, &tickets[1], &bad, &answer));
    assert_int_equal(answer.error, -ETIMEDOUT);
    assert_string_equal(answer.disk.model, "2");
    /* The others are asked by a new process, and the complaint stays. */
    answer = await(&scenario, &tickets[2], &behind);
    assert_int_equal(answer.error, 0);
    assert_string_equal(answer.disk.serial, "9");
    assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
    assert_int_equal(scenario.run.err.code, -ETIMEDOUT);
    scenario_close(&scenario);
}

static void test_too_many_hang(void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open(&scenario, "hang");
    struct probe_subject bad = disk_named("sdb", 1);
    struct probe_answer answer;
    unsigned failed = 0;
    /* Those set aside are killed, and waited for before the next start: at no time are there more than so many. */
    for (int i = 0; i < 6; i++) {
        uint32_t ticket = 0;
        for (int attempt = 0; attempt < 2000 && !probe_get(&scenario.fake.env, &ticket, &bad, &answer); attempt++) {
            fake_env_advance(&scenario.fake, NS_PER_SEC);
            assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
        }
        failed += ticket == 0;
        size_t helpers = 0;
        for (size_t k = 0; k < HELPERS_MAX; k++)
            helpers += scenario.helpers.processes[k].pid > 0;
        assert_true(helpers <= HELPER_ABANDONED_MAX + 1);
    }
    assert_true(failed >= HELPER_ABANDONED_MAX);
    scenario_close(&scenario);
}

static void test_dies_and_lies(void **state)
{
    (void)state;
    static const char *const behaviours[] = {"die", "lie", "short"};
    for (size_t i = 0; i < sizeof(behaviours) / sizeof(behaviours[0]); i++) {
        struct scenario scenario;
        scenario_open(&scenario, behaviours[i]);
        struct probe_subject sda = disk_named("nvme0n1", 0);
        uint32_t ticket = 0;
        struct probe_answer answer = await(&scenario, &ticket, &sda);
        assert_int_equal(answer.error, -EIO);
        assert_string_equal(answer.disk.device_type, "nvme");
        assert_int_equal(scenario.run.err.code, -EIO);
        assert_non_null(strstr(scenario.run.err.msg, "the process that read "));
        scenario_close(&scenario);
    }
}

static void test_no_process(void **state)
{
    (void)state;
    struct scenario scenario;
    scenario_open(&scenario, "answer");
    scenario.fake.env.program = "/nonexistent/program";
    struct probe_subject sda = disk_named("sda", 0);
    struct probe_answer answer;
    uint32_t ticket = 0;
    assert_false(probe_get(&scenario.fake.env, &ticket, &sda, &answer));
    for (int i = 0; i < 10; i++) {
        fake_env_advance(&scenario.fake, NS_PER_SEC);
        assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
        assert_false(probe_get(&scenario.fake.env, &ticket, &sda, &answer));
        assert_int_equal(scenario.run.err.code, -ENOENT);
    }
    assert_non_null(strstr(scenario.run.err.msg, "devices: cannot start a process to ask them"));
    /* It is tried again, ever more seldom, and all is well when it works. */
    scenario.fake.env.program = "/proc/self/exe";
    fake_env_advance(&scenario.fake, PROBE_PAUSE_MOST_NS);
    answer = await(&scenario, &ticket, &sda);
    assert_int_equal(answer.error, 0);
    assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
    assert_int_equal(scenario.run.err.code, 0);
    scenario_close(&scenario);
}

/* A helper that holds nothing of ours: stuck for good, it keeps no pipe of the caller open. */
static void test_holds_nothing(void **state)
{
    (void)state;
    int pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    struct scenario scenario;
    scenario_open(&scenario, "hang");
    struct probe_subject bad = disk_named("sdb", 1);
    struct probe_answer answer;
    uint32_t ticket = 0;
    assert_false(probe_get(&scenario.fake.env, &ticket, &bad, &answer));
    while (scenario.probe.questions.items[0].next < DISK_SERIAL) {
        fake_env_advance(&scenario.fake, NS_PER_MS);
        assert_int_equal(fake_env_collect(&scenario.fake, &scenario.run), 0);
        (void)poll(&(struct pollfd){.fd = scenario.probe.channel_fd, .events = POLLIN}, 1, 10);
    }
    assert_true(scenario.probe.process.pid > 0);
    assert_int_equal(getpgid(scenario.probe.process.pid), scenario.probe.process.pid);
    assert_int_equal(close(pipe_ends[1]), 0);
    struct pollfd end = {.fd = pipe_ends[0], .events = POLLIN};
    assert_int_equal(poll(&end, 1, 10000), 1);
    assert_true(end.revents & POLLHUP);
    assert_int_equal(close(pipe_ends[0]), 0);
    scenario_close(&scenario);
}

/* The other end: answers with the numbers of the attributes, but for what the behaviour says. */
static int play_helper(const char *behaviour)
{
    struct probe_request request;
    helper_restrict_self("test-probe");
    while (recv(HELPER_CHANNEL_FD, &request, sizeof(request), 0) == sizeof(request)) {
        for (unsigned i = 0; i < probe_attributes(request.subject.kind); i++) {
            struct probe_reply reply = {
                .version = PROBE_WIRE_VERSION, .ticket = request.ticket, .attribute = i, .size = 1, .cpu_ns = 1000};
            reply.value[0] = (char)('0' + i);
            if (strcmp(behaviour, "hang") == 0 && request.subject.minor == 1 && i == DISK_SERIAL)
                (void)pause();
            if (strcmp(behaviour, "die") == 0)
                return EXIT_FAILURE;
            if (strcmp(behaviour, "lie") == 0)
                reply.attribute = 77;
            if (strcmp(behaviour, "short") == 0)
                reply.size = 300;
            (void)send(HELPER_CHANNEL_FD, &reply, offsetof(struct probe_reply, value) + 1, MSG_NOSIGNAL);
        }
    }
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    if (probe_helper_is_meant(argc, argv))
        _exit(play_helper(argv[PROBE_HELPER_ROOT_AT]));
    if (is_emulated()) {
        (void)puts("1..0 # SKIP a program that qemu-user runs cannot execute itself again");
        return 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_before_its_time),
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_one_hangs),
        cmocka_unit_test(test_too_many_hang),
        cmocka_unit_test(test_dies_and_lies),
        cmocka_unit_test(test_no_process),
        cmocka_unit_test(test_holds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
