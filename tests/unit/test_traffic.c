/* SPDX-License-Identifier: Apache-2.0 */
/* What the tree received and sent, on a fake machine: network namespaces as links and files, sockets as answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "collect/traffic/traffic.h"
#include "fake_env.h"
#include "tcp_answer.h"

enum { OURS = 1000, TRACKER = 10, ROOT = 100, CHILD = 101, MEMBERS_MAX = 4 };

struct machine {
    struct fake_env fake;
    struct tracked tracked;
    struct tree_status status;
    struct job_member members[MEMBERS_MAX];
    struct fake_run run;
    int ends[2]; /* of the socket: the collector's, and the kernel's */
    int failure; /* there is no socket */
    uint32_t sequence; /* of the next request */
    uint64_t segments;
    unsigned slow_reads; /* of the CPU clock */
};

static int open_socket(void *context)
{
    struct machine *machine = context;
    return machine->failure < 0 ? machine->failure : dup(machine->ends[0]);
}

static void set_members(struct machine *machine, size_t count)
{
    machine->status.members.items = machine->members;
    machine->status.members.count = count;
}

static void set_namespace(struct machine *machine, int pid, unsigned inode)
{
    char path[64], target[32];
    (void)snprintf(path, sizeof(path), "proc/%d/ns/net", pid);
    (void)snprintf(target, sizeof(target), "net:[%u]", inode);
    fake_env_link(&machine->fake, path, target);
}

static void write_dev(struct machine *machine, int pid, unsigned long received, unsigned long sent)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof(path), "proc/%d/net/dev", pid);
    (void)snprintf(text, sizeof(text),
        "Inter-|   Receive  |  Transmit\n face |bytes packets errs drop fifo frame compressed multicast|bytes packets "
        "errs drop fifo colls carrier compressed\n    lo: 777 0 0 0 0 0 0 0 777 0 0 0 0 0 0 0\n"
        "  eth0: %lu 0 0 0 0 0 0 0 %lu 0 0 0 0 0 0 0\n",
        received, sent);
    fake_env_write(&machine->fake, path, text);
}

/* Connections were made, and segments went by. */
static void write_snmp(struct machine *machine, unsigned opens)
{
    char text[256];
    (void)snprintf(text, sizeof(text),
        "Ip: 1\nTcp: RtoAlgorithm RtoMin\nTcp: 1 200 120000 -1 %u 0 0 0 0 %llu 0 0 0 0 0\n", opens,
        (unsigned long long)++machine->segments);
    fake_env_write(&machine->fake, "proc/net/snmp", text);
}

static void reply(struct machine *machine, const struct tcp_answer *answer)
{
    assert_int_equal(send(machine->ends[1], answer->bytes, answer->n, 0), answer->n);
}

/* What the kernel will say to the next request: a list, or with `is_one` each socket alone. */
static void answer_with(struct machine *machine, const struct tcp_fake *sockets, size_t count, bool is_one)
{
    struct tcp_answer answer = {0};
    machine->sequence++;
    for (size_t i = 0; i < count; i++) {
        tcp_answer_row(&answer, machine->sequence, &sockets[i]);
        if (is_one) {
            reply(machine, &answer);
            answer.n = 0;
        }
    }
    if (is_one)
        return;
    tcp_answer_error(&answer, NLMSG_DONE, machine->sequence, 0);
    reply(machine, &answer);
}

static size_t count_requests(struct machine *machine)
{
    char request[8192];
    size_t count = 0;
    while (recv(machine->ends[1], request, sizeof(request), MSG_DONTWAIT) > 0)
        count++;
    return count;
}

static void begin(struct machine *machine, bool is_attached, unsigned namespace_of_root)
{
    *machine = (struct machine){.tracked = {.root = ROOT, .tracker = TRACKER, .attached = is_attached}};
    fake_env_init(&machine->fake);
    assert_int_equal(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, machine->ends), 0);
    machine->fake.env.tracked = &machine->tracked;
    machine->fake.env.tree = &machine->status;
    machine->fake.env.open_sock_diag = open_socket;
    machine->fake.env.sock_diag_context = machine;
    machine->members[0] = (struct job_member){.pid = ROOT, .start_ticks = 1};
    machine->members[1] = (struct job_member){.pid = CHILD, .start_ticks = 2};
    set_members(machine, 1);
    fake_env_link(&machine->fake, "proc/self/ns/net", "net:[1000]");
    fake_env_write(&machine->fake, "proc/self/mountinfo", "1 2 0:4 net:[3000] /run/netns/blue rw - nsfs nsfs rw\n");
    fake_env_mkdir(&machine->fake, "proc/10/fd");
    set_namespace(machine, TRACKER, OURS);
    set_namespace(machine, ROOT, namespace_of_root);
    write_snmp(machine, 1);
}

static void open_machine(struct machine *machine)
{
    assert_int_equal(fake_env_open(&machine->fake, &collector_traffic, &machine->run), 0);
}

static void finish(struct machine *machine)
{
    fake_env_close(&machine->run);
    (void)close(machine->ends[0]);
    (void)close(machine->ends[1]);
    machine->status.members.items = NULL;
    fake_env_fini(&machine->fake);
}

static void expect(struct machine *machine, const char *source, uint64_t received, uint64_t sent)
{
    fake_env_advance(&machine->fake, NS_PER_SEC);
    assert_int_equal(fake_env_collect(&machine->fake, &machine->run), 0);
    const struct sample_cpu *cpu = &machine->run.sample.cpu;
    if (!source) {
        assert_null(cpu->process_net_source);
        assert_false(cpu->process_net_recv_bytes.has || cpu->process_net_sent_bytes.has);
        return;
    }
    assert_non_null(cpu->process_net_source);
    assert_string_equal(cpu->process_net_source, source);
    assert_true(cpu->process_net_recv_bytes.has && cpu->process_net_sent_bytes.has);
    assert_int_equal(cpu->process_net_recv_bytes.v, received);
    assert_int_equal(cpu->process_net_sent_bytes.v, sent);
}

/* A clock on which what is done first takes long. */
static int64_t read_slow(void *context, enum clock_kind kind)
{
    struct machine *machine = context;
    if (kind == CLOCK_KIND_OWN_CPU && machine->slow_reads > 0) {
        machine->slow_reads--;
        machine->fake.mono_ns += 12 * NS_PER_MS;
    }
    return kind == CLOCK_KIND_REALTIME ? machine->fake.real_ns : machine->fake.mono_ns;
}

static void test_own_namespace(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, 2000);
    write_dev(&machine, ROOT, 5000, 300);
    open_machine(&machine);
    answer_with(&machine, NULL, 0, false);
    expect(&machine, "namespace", 5000, 300);
    write_dev(&machine, ROOT, 6000, 400);
    expect(&machine, "namespace", 1000, 100);
    /* After its last process the kept descriptor still has the last bytes. */
    write_dev(&machine, ROOT, 6001, 402);
    set_members(&machine, 0);
    expect(&machine, "namespace", 1, 2);
    write_dev(&machine, ROOT, 9999, 999);
    expect(&machine, "namespace", 0, 0);
    finish(&machine);
}

static void test_several_namespaces_and_ours(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, 2000);
    set_namespace(&machine, CHILD, 2001);
    write_dev(&machine, ROOT, 100, 10);
    write_dev(&machine, CHILD, 1000, 20);
    set_members(&machine, 2);
    open_machine(&machine);
    answer_with(&machine, NULL, 0, false);
    expect(&machine, "namespace", 1100, 30);
    /* An interface that is gone took bytes with it. */
    write_dev(&machine, CHILD, 500, 20);
    expect(&machine, "tcp", 0, 0);
    write_dev(&machine, CHILD, 501, 20);
    expect(&machine, "namespace", 1, 0);
    /* What a process in ours does besides is not in it. */
    machine.members[2] = (struct job_member){.pid = 102, .start_ticks = 3};
    set_namespace(&machine, 102, OURS);
    set_members(&machine, 3);
    write_dev(&machine, ROOT, 101, 10);
    expect(&machine, "tcp", 1, 0);
    finish(&machine);
}

static void test_namespace_of_others(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, 2000);
    set_namespace(&machine, 55, 2000);
    write_dev(&machine, ROOT, 5000, 300);
    open_machine(&machine);
    answer_with(&machine, NULL, 0, false);
    for (int i = 0; i < 5; i++)
        expect(&machine, NULL, 0, 0);
    finish(&machine);
    /* A child that was not listed yet is none of them. */
    begin(&machine, false, 2000);
    set_namespace(&machine, CHILD, 2000);
    write_dev(&machine, ROOT, 5000, 300);
    open_machine(&machine);
    answer_with(&machine, NULL, 0, false);
    expect(&machine, NULL, 0, 0);
    set_members(&machine, 2);
    expect(&machine, "namespace", 5000, 300);
    finish(&machine);
}

/* A host with many processes: a check goes on with the next sample, and is over only once all were asked. */
static void test_check_within_its_budget(void **state)
{
    (void)state;
    enum { FIRST = 200, PROCESSES = 100, SLOW_READS = 16 };
    for (unsigned has_other = 0; has_other < 2; has_other++) {
        struct machine machine;
        begin(&machine, false, 2000);
        const struct clock slow = {.read_ns = read_slow, .context = &machine};
        machine.fake.env.clock = &slow;
        for (int pid = FIRST; pid < FIRST + PROCESSES; pid++)
            set_namespace(&machine, pid, OURS);
        if (has_other)
            set_namespace(&machine, FIRST + PROCESSES, 2000);
        write_dev(&machine, ROOT, 5000, 300);
        open_machine(&machine);
        answer_with(&machine, NULL, 0, false);
        unsigned samples = 0;
        do {
            machine.slow_reads = SLOW_READS;
            fake_env_advance(&machine.fake, NS_PER_SEC);
            assert_int_equal(fake_env_collect(&machine.fake, &machine.run), 0);
            samples++;
        } while (!machine.run.sample.cpu.process_net_source && samples < 50);
        if (has_other) {
            assert_int_equal(samples, 50);
        } else {
            assert_in_range(samples, 3, 49);
            assert_string_equal(machine.run.sample.cpu.process_net_source, "namespace");
            assert_int_equal(machine.run.sample.cpu.process_net_recv_bytes.v, 5000);
        }
        finish(&machine);
    }
}

static void test_namespace_that_was_there_before(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, 3000); /* which has a name */
    write_dev(&machine, ROOT, 5000, 300);
    open_machine(&machine);
    answer_with(&machine, NULL, 0, false);
    expect(&machine, "tcp", 0, 0);
    write_dev(&machine, ROOT, 5007, 301);
    expect(&machine, "namespace", 7, 1);
    finish(&machine);
    begin(&machine, true, 2000);
    write_dev(&machine, ROOT, 5000, 300);
    open_machine(&machine);
    answer_with(&machine, NULL, 0, false);
    assert_int_equal(fake_env_baseline(&machine.fake, &machine.run), 0);
    write_dev(&machine, ROOT, 5001, 300);
    expect(&machine, "namespace", 1, 0);
    finish(&machine);
}

static void test_sockets(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, OURS);
    open_machine(&machine);
    fake_env_link(&machine.fake, "proc/100/fd/3", "socket:[11]");
    fake_env_link(&machine.fake, "proc/100/fd/4", "socket:[14]");
    fake_env_link(&machine.fake, "proc/10/fd/3", "socket:[14]"); /* which we have as well */
    struct tcp_fake sockets[] = {{.inode = 11, .cookie = 1, .received = 1000, .acked = 101},
        {.inode = 12, .cookie = 2, .received = 77, .acked = 77}, {.inode = 14, .cookie = 4, .received = 5}};
    answer_with(&machine, sockets, 3, false);
    expect(&machine, "tcp", 1000, 100);
    /* The unknown one is searched for once more, then only the tree's is asked for. */
    sockets[0].received = 1500;
    answer_with(&machine, sockets, 3, false);
    write_snmp(&machine, 1);
    expect(&machine, "tcp", 500, 0);
    assert_int_equal(count_requests(&machine), 2);
    sockets[0].received = 1600;
    answer_with(&machine, sockets, 1, true);
    write_snmp(&machine, 1);
    expect(&machine, "tcp", 100, 0);
    assert_int_equal(count_requests(&machine), 1);
    /* Nothing went by: nothing is asked. */
    expect(&machine, "tcp", 0, 0);
    assert_int_equal(count_requests(&machine), 0);
    /* Closed by its process, it still sends. */
    sockets[0] = (struct tcp_fake){.cookie = 1, .state = TCP_LAST_ACK_STATE, .received = 1601, .acked = 402};
    answer_with(&machine, sockets, 3, false);
    write_snmp(&machine, 2);
    expect(&machine, "tcp", 0, 300);
    /* Gone, and what it had stays counted. */
    for (unsigned i = 0; i < 3; i++) {
        answer_with(&machine, &sockets[1], 2, false);
        write_snmp(&machine, 3 + i);
        expect(&machine, "tcp", 0, 0);
    }
    finish(&machine);
}

static void test_connection_within_the_tree(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, OURS);
    set_namespace(&machine, CHILD, OURS);
    set_members(&machine, 2);
    open_machine(&machine);
    fake_env_link(&machine.fake, "proc/100/fd/3", "socket:[11]");
    fake_env_link(&machine.fake, "proc/101/fd/3", "socket:[12]");
    fake_env_link(&machine.fake, "proc/101/fd/4", "socket:[13]");
    struct tcp_fake sockets[] = {{.inode = 11, .cookie = 1, .port = 5000, .peer = 80, .received = 1000},
        {.inode = 12, .cookie = 2, .port = 80, .peer = 5000, .acked = 1001, .is_mapped = true},
        {.inode = 13, .cookie = 3, .port = 80, .peer = 5001, .received = 9}};
    answer_with(&machine, sockets, 3, false);
    expect(&machine, "tcp", 9, 0);
    finish(&machine);
}

static void test_attached_counts_from_now(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, true, OURS);
    open_machine(&machine);
    fake_env_link(&machine.fake, "proc/100/fd/3", "socket:[11]");
    struct tcp_fake sockets[] = {
        {.inode = 11, .cookie = 1, .received = 1000}, {.inode = 12, .cookie = 2, .received = 50}};
    answer_with(&machine, sockets, 1, false);
    assert_int_equal(fake_env_baseline(&machine.fake, &machine.run), 0);
    fake_env_link(&machine.fake, "proc/100/fd/4", "socket:[12]");
    sockets[0].received = 1005;
    answer_with(&machine, sockets, 2, false);
    write_snmp(&machine, 2);
    expect(&machine, "tcp", 55, 0);
    finish(&machine);
}

/* A host with too many sockets: the list is cut, what was in it counts, and what is found late is not taken for new. */
static void test_list_that_is_cut(void **state)
{
    (void)state;
    for (unsigned is_attached = 0; is_attached < 2; is_attached++) {
        struct machine machine;
        begin(&machine, is_attached, OURS);
        const struct clock slow = {.read_ns = read_slow, .context = &machine};
        machine.fake.env.clock = &slow;
        open_machine(&machine);
        machine.slow_reads = 4;
        fake_env_link(&machine.fake, "proc/100/fd/3", "socket:[11]");
        fake_env_link(&machine.fake, "proc/100/fd/4", "socket:[12]");
        fake_env_link(&machine.fake, "proc/10/fd/4", "socket:[12]");
        struct tcp_fake sockets[] = {
            {.inode = 11, .cookie = 1, .received = 1000}, {.inode = 12, .cookie = 2, .received = 50}};
        answer_with(&machine, sockets, 1, true);
        for (unsigned i = 0; i < 6; i++) {
            machine.sequence--;
            answer_with(&machine, &(struct tcp_fake){.inode = 100 + i, .cookie = 100 + i}, 1, true);
        }
        if (is_attached)
            assert_int_equal(fake_env_baseline(&machine.fake, &machine.run), 0);
        else
            expect(&machine, "tcp", 1000, 0);
        char left[8192];
        int count = 0;
        while (recv(machine.ends[0], left, sizeof(left), MSG_DONTWAIT) > 0)
            count++;
        assert_in_range(count, 1, 4);
        sockets[0].received = 1005;
        answer_with(&machine, sockets, 2, false);
        write_snmp(&machine, 2);
        fake_env_advance(&machine.fake, 100 * NS_PER_SEC); /* until it may cost something again */
        expect(&machine, "tcp", 5, 0);
        finish(&machine);
    }
}

static void test_unsupported(void **state)
{
    (void)state;
    struct machine machine;
    begin(&machine, false, OURS);
    machine.failure = -EPROTONOSUPPORT;
    open_machine(&machine);
    expect(&machine, NULL, 0, 0);
    write_snmp(&machine, 2);
    expect(&machine, NULL, 0, 0);
    finish(&machine);
    /* A kernel that does not count bytes. */
    begin(&machine, false, OURS);
    open_machine(&machine);
    const struct tcp_fake old = {.inode = 11, .cookie = 1, .is_old = true};
    fake_env_link(&machine.fake, "proc/100/fd/3", "socket:[11]");
    answer_with(&machine, &old, 1, false);
    expect(&machine, NULL, 0, 0);
    finish(&machine);
    /* One whose answer is nonsense the first time. */
    begin(&machine, false, OURS);
    open_machine(&machine);
    machine.sequence++;
    reply(&machine, &(struct tcp_answer){.n = 7});
    expect(&machine, NULL, 0, 0);
    finish(&machine);
}

/* What fails for a moment only is tried again: no descriptor is left, or sockets come and go while they are listed. */
static void test_error_that_passes(void **state)
{
    (void)state;
    const struct tcp_fake socket = {.inode = 11, .cookie = 1, .received = 1000};
    for (unsigned is_changed = 0; is_changed < 2; is_changed++) {
        struct machine machine;
        begin(&machine, false, OURS);
        fake_env_link(&machine.fake, "proc/100/fd/3", "socket:[11]");
        open_machine(&machine);
        if (is_changed) {
            struct tcp_answer answer = {0};
            struct nlmsghdr head = {
                .nlmsg_len = sizeof(head), .nlmsg_seq = ++machine.sequence, .nlmsg_flags = NLM_F_DUMP_INTR};
            tcp_answer_put(&answer, &head, sizeof(head));
            reply(&machine, &answer);
        } else {
            machine.failure = -EMFILE;
        }
        expect(&machine, NULL, 0, 0);
        machine.failure = 0;
        if (!is_changed)
            machine.sequence = 0;
        answer_with(&machine, &socket, 1, false);
        write_snmp(&machine, 2);
        /* In between the process is looked at once more instead. */
        fake_env_advance(&machine.fake, NS_PER_SEC);
        assert_int_equal(fake_env_collect(&machine.fake, &machine.run), 0);
        expect(&machine, "tcp", 1000, 0);
        finish(&machine);
    }
}

static void test_nothing_tracked(void **state)
{
    (void)state;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    assert_int_equal(fake_env_open(&fake, &collector_traffic, &run), -ENODATA);
    fake_env_fini(&fake);
}

/* As --doctor asks, which tracks nothing. */
static void test_check(void **state)
{
    (void)state;
    struct machine machine;
    const struct tcp_fake rows[] = {
        {.inode = 11, .cookie = 1, .received = 5}, {.inode = 12, .cookie = 2, .is_old = true}};
    for (size_t count = 1; count <= 2; count++) {
        begin(&machine, false, OURS);
        machine.fake.env.tracked = NULL;
        answer_with(&machine, rows, count, false);
        assert_int_equal(traffic_check(&machine.fake.env), count == 1 ? 0 : -ENOSYS);
        machine.fake.env.open_sock_diag = NULL;
        assert_int_equal(traffic_check(&machine.fake.env), -ENOTSUP);
        (void)close(machine.ends[1]);
        machine.status.members.items = NULL;
        fake_env_fini(&machine.fake);
    }
}

static void test_no_descriptor_is_left(void **state)
{
    (void)state;
    int before = fake_env_open_count();
    test_own_namespace(state);
    test_sockets(state);
    assert_int_equal(fake_env_open_count(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_namespace),
        cmocka_unit_test(test_several_namespaces_and_ours),
        cmocka_unit_test(test_namespace_of_others),
        cmocka_unit_test(test_check_within_its_budget),
        cmocka_unit_test(test_namespace_that_was_there_before),
        cmocka_unit_test(test_sockets),
        cmocka_unit_test(test_connection_within_the_tree),
        cmocka_unit_test(test_attached_counts_from_now),
        cmocka_unit_test(test_list_that_is_cut),
        cmocka_unit_test(test_unsupported),
        cmocka_unit_test(test_error_that_passes),
        cmocka_unit_test(test_nothing_tracked),
        cmocka_unit_test(test_check),
        cmocka_unit_test(test_no_descriptor_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
