/* SPDX-License-Identifier: Apache-2.0 */
/* Exact mode: records of processes that no sample has seen, from messages as the kernel's process connector has them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fake_tree.h"
#include "kernel/process_events.h"

#define TICK_NS NS_PER_SEC

struct machine {
    struct fake_tree tree;
    int ends[2]; /* of the socket: the collector's, and the kernel's */
};

static void begin(struct machine *machine)
{
    struct fake_tree *tree = &machine->tree;
    fake_tree_init(tree);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, machine->ends), 0);
    tree->tracked.wants_top = tree->tracked.wants_history = true;
    tree->tracked.root_program = "/usr/bin/make";
    tree->fake.env.events_fd = machine->ends[0];
    fake_tree_open(tree);
}

static void end(struct machine *machine)
{
    fake_tree_close(&machine->tree);
    (void)close(machine->ends[1]);
    fake_tree_fini(&machine->tree);
}

static struct process_message message_of(struct machine *machine, const struct proc_event *event, int after_ms)
{
    struct proc_event copy = *event;
    struct process_message message = {.connector.id = {CN_IDX_PROC, CN_VAL_PROC}};
    copy.timestamp_ns = (uint64_t)(machine->tree.tracked.start_ns + after_ms * NS_PER_MS);
    memcpy(message.event, &copy, sizeof(copy));
    return message;
}

static void report(struct machine *machine, int after_ms, struct proc_event event)
{
    struct process_message message = message_of(machine, &event, after_ms);
    assert_int_equal(send(machine->ends[1], &message, sizeof(message), 0), sizeof(message));
}

static void report_fork(struct machine *machine, int after_ms, pid_t parent, pid_t pid)
{
    report(
        machine, after_ms, (struct proc_event){.what = PROC_EVENT_FORK, .event_data.fork = {parent, parent, pid, pid}});
}

static void report_exit(struct machine *machine, int after_ms, pid_t pid, unsigned status)
{
    report(machine, after_ms,
        (struct proc_event){.what = PROC_EVENT_EXIT,
            .event_data.exit = {.process_pid = pid, .process_tgid = pid, .exit_code = status}});
}

static void report_exec(struct machine *machine, int after_ms, pid_t pid)
{
    report(machine, after_ms, (struct proc_event){.what = PROC_EVENT_EXEC, .event_data.exec = {pid, pid}});
}

/* The records of a last tick must be these, but for CPU time and what follows up to the status. */
static void expect(struct machine *machine, const char *const *expected, size_t count)
{
    struct fake_tree *tree = &machine->tree;
    tree->is_final = true;
    fake_tree_collect_after(tree, TICK_NS);
    const char *text = tree->sample.end.history.records;
    for (size_t i = 0; i < count; i++) {
        char words[12][24], found[128];
        int n = 0;
        assert_int_equal(sscanf(text, "%23s %23s %23s %23s %23s %23s %23s %23s %23s %23s %23s %23[^;];%n", words[0],
                             words[1], words[2], words[3], words[4], words[5], words[6], words[7], words[8], words[9],
                             words[10], words[11], &n),
            12);
        (void)snprintf(found, sizeof(found), "%s %s %s %s %s", words[0], words[1], words[2], words[3], words[10]);
        assert_string_equal(found, expected[i]);
        text += n;
    }
    assert_string_equal(text, "");
}

static void test_between_samples(void **unused)
{
    (void)unused;
    struct machine machine;
    begin(&machine);
    report_fork(&machine, 0, FAKE_TRACKER, FAKE_ROOT);
    report_fork(&machine, 1, FAKE_TRACKER, 60); /* a helper of ours */
    report_fork(&machine, 10, FAKE_ROOT, 101);
    report_exec(&machine, 11, 101);
    report_fork(&machine, 20, 101, 102);
    report(&machine, 21,
        (struct proc_event){.what = PROC_EVENT_FORK, .event_data.fork = {101, 101, 103, 101}}); /* a thread */
    report(&machine, 22,
        (struct proc_event){.what = PROC_EVENT_EXIT, .event_data.exit = {.process_pid = 103, .process_tgid = 101}});
    report_fork(&machine, 25, 1, 55);
    report_fork(&machine, 26, 55, 56);
    report_exit(&machine, 30, 102, 9);
    report_exit(&machine, 30, 56, 0);
    report_exit(&machine, 50, 101, 3 << 8);
    /* Now their numbers are those of others. */
    report_fork(&machine, 60, 55, 101);
    report_fork(&machine, 61, 101, 104);
    report_exit(&machine, 62, 101, 0);
    static const char *const expected[] = {"100 0 0 - -", "101 1 10 40 3", "102 2 20 10 137"};
    expect(&machine, expected, 3);
    fake_tree_assert_count(machine.tree.sample.end.processes_seen, 1);
    fake_tree_assert_count(machine.tree.sample.end.processes_unseen, 2);
    end(&machine);
}

/* A process has one record, whether its messages or a sample come first. */
static void test_seen_as_well(void **unused)
{
    (void)unused;
    struct machine machine;
    begin(&machine);
    struct fake_tree *tree = &machine.tree;
    report_fork(&machine, 0, FAKE_TRACKER, FAKE_ROOT);
    fake_env_advance(&tree->fake, 100 * NS_PER_MS);
    fake_tree_fork(tree, 101, FAKE_ROOT, 0)->name = "cc1";
    fake_tree_fork(tree, 102, FAKE_ROOT, 0)->name = "late";
    for (pid_t pid = 101; pid <= 102; pid++) {
        fake_tree_find(tree, pid)->start_ticks = (uint64_t)(tree->fake.mono_ns / FAKE_TICK_NS);
        fake_tree_write(tree, fake_tree_find(tree, pid));
    }
    report_fork(&machine, 105, FAKE_ROOT, 101);
    fake_tree_collect_after(tree, TICK_NS);
    report_fork(&machine, 107, FAKE_ROOT, 102);
    fake_tree_finish(tree, 101);
    report_exit(&machine, 1200, 101, 0);
    fake_tree_collect_after(tree, TICK_NS);
    /* Its number again, for a process that a sample finds before its message is read. */
    fake_tree_fork(tree, 101, FAKE_ROOT, 0)->name = "second";
    fake_tree_find(tree, 101)->start_ticks = (uint64_t)(tree->fake.mono_ns / FAKE_TICK_NS);
    fake_tree_write(tree, fake_tree_find(tree, 101));
    fake_tree_collect_after(tree, TICK_NS);
    report_fork(&machine, 2105, FAKE_ROOT, 101);
    report_exit(&machine, 3500, 101, 1 << 8);
    fake_tree_finish(tree, 101);
    static const char *const expected[] = {"100 0 0 - -", "101 1 105 1095 0", "102 1 100 - -", "101 1 2100 1400 1"};
    expect(&machine, expected, 4);
    fake_tree_assert_count(tree->sample.end.processes_unseen, 0);
    end(&machine);
}

static void test_off(void **unused)
{
    (void)unused;
    struct fake_tree tree;
    fake_tree_init(&tree);
    tree.tracked.wants_history = true;
    fake_tree_open(&tree);
    assert_int_equal(collector_tree.watch_fd(tree.state), -1);
    tree.is_final = true;
    fake_tree_collect_after(&tree, TICK_NS);
    assert_true(tree.sample.end.history.present);
    assert_false(tree.sample.end.processes_unseen.has);
    fake_tree_close(&tree);
    fake_tree_fini(&tree);
}

static void test_messages(void **unused)
{
    (void)unused;
    struct machine machine = {.tree.tracked.start_ns = 5 * NS_PER_SEC};
    struct process_event event;
    struct proc_event answer = {.what = PROC_EVENT_NONE, .event_data.ack.err = EPERM};
    struct process_message message = message_of(&machine, &answer, 7);
    assert_int_equal(process_event_parse(&message, sizeof(message), &event), 0);
    assert_int_equal(event.kind, PROCESS_ANSWER);
    assert_int_equal(event.status, EPERM);
    assert_int_equal(event.at_ns, 5007 * NS_PER_MS);
    for (size_t n = 0; n < sizeof(message); n++)
        assert_int_equal(process_event_parse(&message, n, &event), -EBADMSG);
    struct proc_event other = {.what = PROC_EVENT_UID, .event_data.id = {101, 101, {0}, {0}}};
    message = message_of(&machine, &other, 7);
    assert_int_equal(process_event_parse(&message, sizeof(message), &event), 0);
    assert_int_equal(event.kind, PROCESS_OTHER);
    message.connector.id.val++;
    assert_int_equal(process_event_parse(&message, sizeof(message), &event), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_between_samples),
        cmocka_unit_test(test_seen_as_well),
        cmocka_unit_test(test_off),
        cmocka_unit_test(test_messages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
