/* SPDX-License-Identifier: Apache-2.0 */
/* Name lookup that hangs, fails or answers late, and connections to dead, silent and living addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "net/connect.h"

static int64_t in_ms(int64_t ms)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + ms * NS_PER_MS;
}

/* A name server: names beginning with "slow" wait for the gate. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_open;
    int calls, ended;
    bool has_blocked_signals;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void gate_set(bool is_open)
{
    (void)pthread_mutex_lock(&gate.lock);
    gate.is_open = is_open;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.lock);
}

/* Until so many lookups have come to their end. */
static void gate_await_ended(int ended)
{
    (void)pthread_mutex_lock(&gate.lock);
    while (gate.ended < ended)
        (void)pthread_cond_wait(&gate.changed, &gate.lock);
    (void)pthread_mutex_unlock(&gate.lock);
}

static int gate_calls(void)
{
    (void)pthread_mutex_lock(&gate.lock);
    int calls = gate.calls;
    (void)pthread_mutex_unlock(&gate.lock);
    return calls;
}

static int fake_resolve(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **ret_list)
{
    sigset_t blocked;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    (void)pthread_mutex_lock(&gate.lock);
    gate.calls++;
    gate.has_blocked_signals = sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGCHLD) == 1;
    while (strncmp(host, "slow", 4) == 0 && !gate.is_open)
        (void)pthread_cond_wait(&gate.changed, &gate.lock);
    gate.ended++;
    (void)pthread_cond_broadcast(&gate.changed);
    (void)pthread_mutex_unlock(&gate.lock);
    if (strcmp(host, "unknown.test") == 0)
        return EAI_NONAME;
    errno = EMFILE;
    if (strcmp(host, "broken.test") == 0)
        return EAI_SYSTEM;
    if (strcmp(host, "poor.test") == 0)
        return EAI_MEMORY;
    struct addrinfo *first = NULL;
    int r = getaddrinfo(strcmp(host, "two.test") == 0 ? "127.0.0.2" : "192.0.2.1", service, hints, &first);
    if (r == 0 && strcmp(host, "two.test") == 0)
        r = getaddrinfo("127.0.0.3", service, hints, &first->ai_next);
    *ret_list = first;
    return r;
}

static int setup(void **state)
{
    static struct lookup lookup;
    lookup_init(&lookup);
    lookup.resolve = fake_resolve;
    gate.is_open = false;
    gate.calls = gate.ended = 0;
    *state = &lookup;
    return 0;
}

static int teardown(void **state)
{
    gate_set(true);
    lookup_fini(*state);
    /* What was abandoned ends now, before the sanitizer counts. */
    gate_await_ended(gate_calls());
    return 0;
}

static int find(struct lookup *lookup, const char *host, int64_t ms, struct lookup_result *result, struct err *err)
{
    err_clear(err);
    return lookup_find(lookup, host, &net_wait_plain, in_ms(ms), result, err);
}

static void test_known_at_once(void **state)
{
    struct lookup_result result;
    struct err err = {0};
    assert_int_equal(find(*state, "192.0.2.9", 1000, &result, &err), 0);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.items[0].at.ip4.sin_addr.s_addr, htonl(0xc0000209));
    assert_int_equal(find(*state, "2001:db8::1", 1000, &result, &err), 0);
    assert_int_equal(result.items[0].at.any.sa_family, AF_INET6);
    static const char *const own[] = {"localhost", "LOCALHOST", "api.localhost", "localhost."};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(find(*state, own[i], 1000, &result, &err), 0);
        assert_int_equal(result.count, 2);
        assert_int_equal(result.items[0].at.ip4.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
        assert_int_equal(result.items[1].at.any.sa_family, AF_INET6);
    }
    assert_int_equal(gate_calls(), 0);
    assert_int_equal(find(*state, "notlocalhost", 1000, &result, &err), 0);
    assert_int_equal(gate_calls(), 1);
    assert_int_equal(find(*state, "", 1000, &result, &err), -ENXIO);
}

static void test_a_name(void **state)
{
    struct lookup_result result;
    struct err err = {0};
    assert_int_equal(find(*state, "one.test", 5000, &result, &err), 0);
    assert_int_equal(result.count, 1);
    assert_int_equal(result.items[0].at.ip4.sin_addr.s_addr, htonl(0xc0000201));
    assert_true(gate.has_blocked_signals);
    sigset_t mine;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &mine);
    assert_int_equal(sigismember(&mine, SIGTERM), 0);
    assert_int_equal(find(*state, "one.test", 5000, &result, &err), 0);
    assert_int_equal(gate_calls(), 2);
}

static void test_no_such_name(void **state)
{
    struct lookup_result result;
    struct err err = {0};
    assert_int_equal(find(*state, "unknown.test", 5000, &result, &err), -ENXIO);
    assert_non_null(strstr(err.msg, gai_strerror(EAI_NONAME)));
    assert_int_equal(find(*state, "broken.test", 5000, &result, &err), -ENXIO);
    assert_non_null(strstr(err.msg, strerror(EMFILE)));
    assert_int_equal(find(*state, "poor.test", 5000, &result, &err), -ENOMEM);
}

static void test_a_lookup_that_hangs(void **state)
{
    struct lookup *lookup = *state;
    struct lookup_result result;
    struct err err = {0};
    int64_t before = in_ms(0);
    assert_int_equal(find(lookup, "slow.test", 50, &result, &err), -ETIMEDOUT);
    assert_true(in_ms(0) - before < 2 * NS_PER_SEC);
    /* The same and another name wait, and start no second thread. */
    assert_int_equal(find(lookup, "SLOW.test", 20, &result, &err), -ETIMEDOUT);
    assert_int_equal(find(lookup, "one.test", 20, &result, &err), -ETIMEDOUT);
    assert_int_equal(gate_calls(), 1);
    gate_set(true);
    assert_int_equal(find(lookup, "slow.test", 5000, &result, &err), 0);
    assert_int_equal(result.count, 1);
    assert_int_equal(gate_calls(), 1);
    assert_int_equal(find(lookup, "one.test", 5000, &result, &err), 0);
    assert_int_equal(gate_calls(), 2);
}

static void test_a_lookup_that_nothing_waits_for(void **state)
{
    struct lookup *lookup = *state;
    struct lookup_result result;
    struct err err = {0};
    assert_int_equal(lookup_begin(lookup, "127.0.0.1"), -1);
    assert_int_equal(lookup_begin(lookup, "a.localhost"), -1);
    assert_int_equal(lookup_begin(lookup, ""), -1);
    assert_int_equal(gate_calls(), 0);
    int fd = lookup_begin(lookup, "slow.test");
    assert_true(fd >= 0);
    assert_int_equal(lookup_begin(lookup, "slow.test"), fd);
    gate_set(true);
    struct pollfd done = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&done, 1, 10 * 1000), 1);
    assert_int_equal(lookup_begin(lookup, "slow.test"), -1);
    assert_int_equal(find(lookup, "slow.test", 5000, &result, &err), 0);
    assert_int_equal(gate_calls(), 1);
    /* A failure counts as well: it is not asked for again before it was reported. */
    while ((done.fd = lookup_begin(lookup, "unknown.test")) >= 0)
        (void)poll(&done, 1, 10 * 1000);
    assert_int_equal(find(lookup, "unknown.test", 5000, &result, &err), -ENXIO);
    assert_int_equal(gate_calls(), 2);
    assert_int_equal(find(lookup, "unknown.test", 5000, &result, &err), -ENXIO);
    assert_int_equal(gate_calls(), 3);
}

static void test_another_name_behind_a_late_one(void **state)
{
    struct lookup *lookup = *state;
    struct lookup_result result;
    struct err err = {0};
    assert_int_equal(find(lookup, "slow.test", 20, &result, &err), -ETIMEDOUT);
    gate_set(true);
    assert_int_equal(find(lookup, "two.test", 5000, &result, &err), 0);
    assert_int_equal(result.count, 2);
    assert_int_equal(gate_calls(), 2);
}

static int cancel(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)fd;
    (void)events;
    (void)deadline_ns;
    int *calls = context;
    (*calls)++;
    return -ECANCELED;
}

static void test_canceled(void **state)
{
    int calls = 0;
    const struct net_wait wait = {cancel, &calls};
    struct lookup_result result;
    struct err err = {0};
    assert_int_equal(lookup_find(*state, "slow.test", &wait, in_ms(5000), &result, &err), -ECANCELED);
    assert_int_equal(calls, 1);
}

/* A socket that listens on an address; a port of 0 lets the system choose. */
static int listen_on(uint32_t address, uint16_t *port, int backlog)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(*port), .sin_addr.s_addr = htonl(address)};
    socklen_t bytes = sizeof(at);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, bytes), 0);
    assert_int_equal(listen(fd, backlog), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &bytes), 0);
    *port = ntohs(at.sin_port);
    return fd;
}

static void test_connecting(void **state)
{
    uint16_t port = 0;
    AUTO_FD int server = listen_on(INADDR_LOOPBACK, &port, 4);
    assert_true(server >= 0);
    struct err err = {0};
    AUTO_FD int fd = connect_open(*state, "127.0.0.1", port, &net_wait_plain, in_ms(5000), &err);
    assert_true(fd >= 0);
    assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
    assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    int on = 0;
    socklen_t bytes = sizeof(on);
    assert_int_equal(getsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, &bytes), 0);
    assert_true(on);
    AUTO_FD int other = connect_open(*state, "localhost", port, &net_wait_plain, in_ms(5000), &err);
    assert_true(other >= 0);
}

static void test_refused(void **state)
{
    uint16_t port = 0;
    (void)close(listen_on(INADDR_LOOPBACK, &port, 4));
    struct err err = {0};
    assert_int_equal(connect_open(*state, "127.0.0.1", port, &net_wait_plain, in_ms(5000), &err), -ECONNREFUSED);
    assert_non_null(strstr(err.msg, strerror(ECONNREFUSED)));
    /* The second of two addresses lives. */
    AUTO_FD int server = listen_on(0x7f000003, &port, 4);
    assert_true(server >= 0);
    AUTO_FD int fd = connect_open(*state, "two.test", port, &net_wait_plain, in_ms(5000), &err);
    assert_true(fd >= 0);
    struct sockaddr_in peer;
    socklen_t bytes = sizeof(peer);
    assert_int_equal(getpeername(fd, (struct sockaddr *)&peer, &bytes), 0);
    assert_int_equal(ntohl(peer.sin_addr.s_addr), 0x7f000003);
}

/* Connections that fill the queue of a server, so that the next one gets no answer. */
static void fill_queue(uint32_t address, uint16_t port, int fds[static 4])
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(address)};
    for (int i = 0; i < 4; i++) {
        fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        assert_true(fds[i] >= 0);
        (void)connect(fds[i], (struct sockaddr *)&at, sizeof(at));
    }
}

static void test_silent_addresses(void **state)
{
    uint16_t port = 0;
    int queue[4];
    struct err err = {0};
    AUTO_FD int silent = listen_on(0x7f000002, &port, 0);
    assert_true(silent >= 0);
    fill_queue(0x7f000002, port, queue);
    int64_t before = in_ms(0);
    assert_int_equal(connect_open(*state, "127.0.0.2", port, &net_wait_plain, in_ms(100), &err), -ETIMEDOUT);
    assert_true(in_ms(0) - before >= 99 * NS_PER_MS);
    /* It takes its share of the time and no more. */
    AUTO_FD int living = listen_on(0x7f000003, &port, 4);
    assert_true(living >= 0);
    before = in_ms(0);
    AUTO_FD int fd = connect_open(*state, "two.test", port, &net_wait_plain, in_ms(1000), &err);
    assert_true(fd >= 0);
    assert_in_range(in_ms(0) - before, 450 * NS_PER_MS, 950 * NS_PER_MS);
    int calls = 0;
    const struct net_wait wait = {cancel, &calls};
    assert_int_equal(connect_open(*state, "127.0.0.2", port, &wait, in_ms(5000), &err), -ECANCELED);
    for (int i = 0; i < 4; i++)
        (void)close(queue[i]);
}

static void test_no_time_left(void **state)
{
    struct err err = {0};
    assert_int_equal(connect_open(*state, "127.0.0.1", 9, &net_wait_plain, in_ms(-1), &err), -ETIMEDOUT);
}

/* Both families in turn, and not more than fit. */
static int many_resolve(const char *host, const char *service, const struct addrinfo *hints, struct addrinfo **ret_list)
{
    (void)host;
    struct addrinfo **end = ret_list;
    for (int i = 0; i < 30; i++) {
        if (getaddrinfo(i < 3 ? "2001:db8::1" : "192.0.2.1", service, hints, end) != 0)
            return EAI_FAIL;
        end = &(*end)->ai_next;
    }
    return 0;
}

static void test_families_in_turn(void **state)
{
    struct lookup *lookup = *state;
    struct lookup_result result;
    struct err err = {0};
    lookup->resolve = many_resolve;
    assert_int_equal(find(lookup, "many.test", 5000, &result, &err), 0);
    assert_int_equal(result.count, LOOKUP_ADDRESSES_MAX);
    for (size_t i = 0; i < result.count; i++)
        assert_int_equal(result.items[i].at.any.sa_family, i < 6 && i % 2 == 0 ? AF_INET6 : AF_INET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_known_at_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_such_name, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_lookup_that_hangs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_lookup_that_nothing_waits_for, setup, teardown),
        cmocka_unit_test_setup_teardown(test_another_name_behind_a_late_one, setup, teardown),
        cmocka_unit_test_setup_teardown(test_canceled, setup, teardown),
        cmocka_unit_test_setup_teardown(test_connecting, setup, teardown),
        cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_silent_addresses, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_time_left, setup, teardown),
        cmocka_unit_test_setup_teardown(test_families_in_turn, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
