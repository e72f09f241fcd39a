/* SPDX-License-Identifier: Apache-2.0 */
#include "net/connect.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>

#include "base/auto.h"
#include "base/clock.h"

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
    struct lookup_result found;
    int r = lookup_find(lookup, host, wait, deadline_ns, &found, err);
    if (r < 0)
        return r;
    int told = 0;
    for (size_t i = 0; i < found.count; i++) {
        int64_t now_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
        if (now_ns >= deadline_ns) {
            told = -ETIMEDOUT;
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
        told = is_weak(told) ? r : told;
    }
    return err_sys(err, told, "cannot connect");
}
