/* SPDX-License-Identifier: Apache-2.0 */
#include "net/connect.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/thread.h"
#include "net/wait.h"

/* Name service modules of other makers run on this stack. */
enum { STACK_BYTES = 256 * 1024, NAME_BYTES = 256 };

/* An answer that came after its asker had left is still good for a while. */
#define LATE_RESULT_NS (60 * NS_PER_SEC)

/* Shared by the thread and the asker; the last of them frees it. What is not atomic is the asker's once is_done. */
struct lookup_job {
    atomic_int holders;
    atomic_bool is_done;
    int event_fd; /* readable when it is done */
    lookup_function *resolve;
    char name[NAME_BYTES];
    int64_t done_ns;
    int failure; /* an EAI_ code, or 0 */
    int errno_then; /* of EAI_SYSTEM */
    struct lookup_result result;
};

void lookup_init(struct lookup *lookup)
{
    *lookup = (struct lookup){.resolve = getaddrinfo};
}

static void job_unref(struct lookup_job *job)
{
    if (atomic_fetch_sub(&job->holders, 1) > 1)
        return;
    (void)close(job->event_fd);
    free(job);
}

static void drop_job(struct lookup *lookup)
{
    if (lookup->job)
        job_unref(lookup->job);
    lookup->job = NULL;
    lookup->is_early = false;
}

void lookup_fini(struct lookup *lookup)
{
    drop_job(lookup);
}

static void add_address(struct lookup_result *result, const struct addrinfo *from)
{
    struct lookup_address *to = &result->items[result->count];
    if (result->count == LOOKUP_ADDRESSES_MAX || from->ai_addrlen > sizeof(to->at))
        return;
    memcpy(&to->at, from->ai_addr, from->ai_addrlen);
    to->bytes = from->ai_addrlen;
    result->count++;
}

static const struct addrinfo *next_of(const struct addrinfo *at, int family, bool is_same)
{
    while (at && ((at->ai_family != AF_INET && at->ai_family != AF_INET6) || (at->ai_family == family) != is_same))
        at = at->ai_next;
    return at;
}

/* In the order given, but the families in turn, so that one that is broken does not take up all the time. */
static void interleave(struct lookup_result *result, const struct addrinfo *list)
{
    result->count = 0;
    const struct addrinfo *first = next_of(list, AF_UNSPEC, false);
    if (!first)
        return;
    int family = first->ai_family;
    const struct addrinfo *second = next_of(list, family, false);
    while (first || second) {
        if (first) {
            add_address(result, first);
            first = next_of(first->ai_next, family, true);
        }
        if (second) {
            add_address(result, second);
            second = next_of(second->ai_next, family, false);
        }
    }
}

static int resolve_into(lookup_function *resolve, const char *name, int flags, struct lookup_result *result)
{
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags};
    struct addrinfo *list = NULL;
    int failure = resolve(name, NULL, &hints, &list);
    if (failure != 0)
        return failure;
    interleave(result, list);
    freeaddrinfo(list);
    return result->count > 0 ? 0 : EAI_NONAME;
}

static void job_resolve(struct lookup_job *job)
{
    errno = 0;
    job->failure = resolve_into(job->resolve, job->name, 0, &job->result);
    job->errno_then = errno;
    job->done_ns = clock_now();
    atomic_store(&job->is_done, true);
    static const uint64_t one = 1;
    (void)!write(job->event_fd, &one, sizeof(one));
}

static void *job_run(void *data)
{
    struct lookup_job *job = data;
    job_resolve(job);
    job_unref(job);
    return NULL;
}

/* NULL where there is no memory, descriptor or thread for it. */
static struct lookup_job *start_job(lookup_function *resolve, const char *name)
{
    struct lookup_job *job = calloc(1, sizeof(*job));
    if (!job)
        return NULL;
    job->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (job->event_fd < 0) {
        free(job);
        return NULL;
    }
    job->resolve = resolve;
    (void)str_copy(str_of(name), job->name, sizeof(job->name));
    atomic_init(&job->holders, 2);
    /* Without a thread there would be no deadline. */
    if (thread_start(job_run, job, STACK_BYTES, NULL) < 0) {
        (void)close(job->event_fd);
        free(job);
        return NULL;
    }
    return job;
}

/* One that was abandoned and has come to its end since: of use only where it has a fresh answer to the same question.
 */
static void drop_if_useless(struct lookup *lookup, const char *name)
{
    const struct lookup_job *job = lookup->job;
    if (!job || !atomic_load(&job->is_done))
        return;
    int64_t age_ns = clock_now() - job->done_ns;
    bool is_failed = job->failure != 0 && !lookup->is_early;
    if (is_failed || age_ns > LATE_RESULT_NS || !str_is_nocase(job->name, name))
        drop_job(lookup);
}

static int wait_for_job(struct lookup_job *job, const struct net_wait *wait, int64_t deadline_ns, struct err *err)
{
    while (!atomic_load(&job->is_done)) {
        int r = net_wait_until(wait, job->event_fd, POLLIN, deadline_ns);
        if (r == -ETIMEDOUT)
            return err_set(err, r, "the name could not be looked up in time");
        if (r < 0)
            return err_sys(err, r, "looking up the name");
    }
    return 0;
}

static int take_result(const struct lookup_job *job, struct lookup_result *ret_result, struct err *err)
{
    if (job->failure == EAI_MEMORY)
        return err_set(err, -ENOMEM, "cannot look up a name: out of memory");
    if (job->failure == EAI_SYSTEM && job->errno_then > 0)
        return err_set(err, -ENXIO, "name lookup: %s", strerror(job->errno_then));
    if (job->failure != 0)
        return err_set(err, -ENXIO, "name lookup: %s", gai_strerror(job->failure));
    *ret_result = job->result;
    return 0;
}

/* RFC 6761, 6.3: such names are this host whatever a name server says, so that plain http to them stays here. */
static bool is_localhost(const char *name)
{
    static const char word[] = "localhost";
    size_t n = strlen(name);
    size_t want = sizeof(word) - 1;
    if (n > 0 && name[n - 1] == '.')
        n--;
    return n >= want && strncasecmp(name + n - want, word, want) == 0 && (n == want || name[n - want - 1] == '.');
}

static void set_loopback(struct lookup_result *result)
{
    *result = (struct lookup_result){.count = 2};
    result->items[0].bytes = sizeof(struct sockaddr_in);
    result->items[0].at.ip4.sin_family = AF_INET;
    result->items[0].at.ip4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    result->items[1].bytes = sizeof(struct sockaddr_in6);
    result->items[1].at.ip6.sin6_family = AF_INET6;
    result->items[1].at.ip6.sin6_addr = in6addr_loopback;
}

static bool is_host_name(const char *host)
{
    return host[0] != '\0' && strlen(host) < NAME_BYTES;
}

/* What needs no thread. */
static bool find_at_once(const char *host, struct lookup_result *ret_result)
{
    struct lookup_result numeric;
    if (resolve_into(getaddrinfo, host, AI_NUMERICHOST, &numeric) == 0)
        *ret_result = numeric;
    else if (is_localhost(host))
        set_loopback(ret_result);
    else
        return false;
    return true;
}

int lookup_begin(struct lookup *lookup, const char *host)
{
    struct lookup_result ignored;
    if (!is_host_name(host) || find_at_once(host, &ignored))
        return -1;
    drop_if_useless(lookup, host);
    if (!lookup->job) {
        lookup->job = start_job(lookup->resolve, host);
        lookup->is_early = lookup->job != NULL;
    }
    return lookup->job && !atomic_load(&lookup->job->is_done) ? lookup->job->event_fd : -1;
}

int lookup_find(struct lookup *lookup, const char *host, const struct net_wait *wait, int64_t deadline_ns,
    struct lookup_result *ret_result, struct err *err)
{
    if (!is_host_name(host))
        return err_set(err, -ENXIO, "not a host name");
    if (find_at_once(host, ret_result))
        return 0;
    drop_if_useless(lookup, host);
    struct lookup_job *job = lookup->job;
    if (job && !str_is_nocase(job->name, host)) {
        int r = wait_for_job(job, wait, deadline_ns, err);
        if (r < 0)
            return r;
        drop_job(lookup);
        job = NULL;
    }
    if (!job)
        job = lookup->job = start_job(lookup->resolve, host);
    if (!job)
        return err_set(err, -ENOMEM, "no thread, memory or descriptor for a name lookup");
    int r = wait_for_job(job, wait, deadline_ns, err);
    if (r < 0)
        return r;
    r = take_result(job, ret_result, err);
    drop_job(lookup);
    return r;
}

/* What an address gets at least, so that many of them do not make all of them fail. */
#define SLICE_MIN_NS (250 * NS_PER_MS)

/* -EPERM and -EINVAL mean other things to our callers. */
static int connect_code(int error)
{
    if (error == EPERM)
        return -EACCES;
    return error == EINVAL ? -ENETUNREACH : -error;
}

static int wait_connected(int fd, const struct net_wait *wait, int64_t deadline_ns)
{
    int r = net_wait_until(wait, fd, POLLOUT, deadline_ns);
    if (r < 0)
        return r;
    int error = 0;
    socklen_t bytes = sizeof(error);
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) < 0)
        return connect_code(errno);
    return error != 0 ? connect_code(error) : 0;
}

static int try_address(
    const struct lookup_address *address, uint16_t port, const struct net_wait *wait, int64_t deadline_ns)
{
    struct lookup_address to = *address;
    if (to.at.any.sa_family == AF_INET6)
        to.at.ip6.sin6_port = htons(port);
    else
        to.at.ip4.sin_port = htons(port);
    AUTO_FD int fd = socket(to.at.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    if (fd < 0)
        return connect_code(errno);
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(fd, &to.at.any, to.bytes) < 0) {
        /* Interrupted or not, the kernel goes on connecting. */
        int r = errno == EINPROGRESS || errno == EINTR ? wait_connected(fd, wait, deadline_ns) : connect_code(errno);
        if (r < 0)
            return r;
    }
    return fd_take(&fd);
}

/* Says only that this host has no way to addresses of that family; what another address says is worth more. */
static bool is_weak(int code)
{
    return code == 0 || code == -ENETUNREACH || code == -EAFNOSUPPORT || code == -EADDRNOTAVAIL;
}

int connect_open(struct lookup *lookup, const char *host, uint16_t port, const struct net_wait *wait,
    int64_t deadline_ns, struct err *err)
{
    struct lookup_result found = {0};
    int r = lookup_find(lookup, host, wait, deadline_ns, &found, err);
    if (r < 0)
        return r;
    int failure = 0;
    for (size_t i = 0; i < found.count; i++) {
        int64_t now_ns = clock_now();
        if (now_ns >= deadline_ns) {
            failure = -ETIMEDOUT;
            break;
        }
        int64_t slice_ns = (deadline_ns - now_ns) / (int64_t)(found.count - i);
        if (slice_ns < SLICE_MIN_NS)
            slice_ns = SLICE_MIN_NS;
        r = try_address(&found.items[i], port, wait, slice_ns < deadline_ns - now_ns ? now_ns + slice_ns : deadline_ns);
        if (r >= 0)
            return r;
        if (r == -ECANCELED)
            return err_sys(err, r, "connecting");
        failure = is_weak(failure) ? r : failure;
    }
    return err_sys(err, failure, "cannot connect");
}

/* No single wait is longer, so that every time fits into a timespec of 32 bits. */
static const int64_t step_max_ns = 3600 * NS_PER_SEC;

static int poll_until(void *context, int fd, short events, int64_t deadline_ns)
{
    (void)context;
    struct pollfd watched = {.fd = fd, .events = events};
    for (;;) {
        int64_t now_ns = clock_now();
        if (now_ns >= deadline_ns)
            return -ETIMEDOUT;
        int64_t left_ns = deadline_ns - now_ns;
        if (left_ns > step_max_ns)
            left_ns = step_max_ns;
        struct timespec left = {.tv_sec = (time_t)(left_ns / NS_PER_SEC), .tv_nsec = (long)(left_ns % NS_PER_SEC)};
        int n = ppoll(&watched, 1, &left, NULL);
        if (n > 0)
            return watched.revents & POLLNVAL ? -EBADF : 0;
        if (n < 0 && errno != EINTR)
            return err_last();
    }
}

const struct net_wait net_wait_plain = {.until = poll_until};
