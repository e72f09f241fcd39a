/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_conn.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"

void http_conn_close(struct http_conn *conn)
{
    tls_close(conn->tls);
    conn->tls = NULL;
    fd_close(&conn->fd);
}

bool http_conn_is_quiet(const struct http_conn *conn)
{
    struct pollfd watched = {.fd = conn->fd, .events = POLLIN};
    return conn->fd >= 0 && poll(&watched, 1, 0) == 0;
}

static int tell_wait(int code, const char *doing, struct err *err)
{
    if (code == -ETIMEDOUT)
        return err_set(err, code, "timed out while %s", doing);
    return code == -ECANCELED ? err_set(err, code, "called off while %s", doing) : err_sys(err, code, "%s", doing);
}

/* Something to read while we still write is the answer, unless it is one of the 1xx that go before it. */
static bool has_early_answer(int fd)
{
    char start[10]; /* "HTTP/1.1 4" */
    ssize_t n = recv(fd, start, sizeof(start), MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n == sizeof(start) && start[9] != '1');
}

static int write_plain(struct http_conn *conn, struct str bytes, int64_t deadline_ns, struct err *err)
{
    short events = POLLOUT | POLLIN;
    while (bytes.n > 0) {
        ssize_t n = send(conn->fd, bytes.p, bytes.n, MSG_NOSIGNAL);
        if (n >= 0) {
            bytes = (struct str){bytes.p + n, bytes.n - (size_t)n};
            continue;
        }
        if (errno == EINTR)
            continue;
        if (errno != EAGAIN)
            return err_sys(err, errno == ECONNRESET ? -EPIPE : -errno, "sending the request");
        if ((events & POLLIN) != 0 && !http_conn_is_quiet(conn)) {
            if (has_early_answer(conn->fd))
                return err_set(err, -EPIPE, "the server did not read the whole request");
            events = POLLOUT;
        }
        int r = net_wait_until(conn->wait, conn->fd, events, deadline_ns);
        if (r < 0)
            return tell_wait(r, "sending the request", err);
    }
    return 0;
}

int http_conn_write(struct http_conn *conn, struct str bytes, int64_t deadline_ns, struct err *err)
{
    if (!conn->tls)
        return write_plain(conn, bytes, deadline_ns, err);
    int r = tls_write(conn->tls, bytes, deadline_ns, err);
    return r == -ECONNRESET ? -EPIPE : r;
}

/* At least one byte, 0 at the end, or a negative errno. */
static ssize_t read_some(struct http_conn *conn, char *bytes, size_t size, int64_t deadline_ns, struct err *err)
{
    if (conn->tls)
        return tls_read(conn->tls, bytes, size, deadline_ns, err);
    for (;;) {
        ssize_t n = recv(conn->fd, bytes, size, 0);
        if (n >= 0)
            return n;
        if (errno == ECONNRESET || errno == EPIPE)
            return err_set(err, -ECONNRESET, "the connection was reset before the answer was complete");
        if (errno != EAGAIN && errno != EINTR)
            return err_sys(err, -errno, "reading the answer");
        int r = errno == EINTR ? 0 : net_wait_until(conn->wait, conn->fd, POLLIN, deadline_ns);
        if (r < 0)
            return tell_wait(r, "waiting for the answer", err);
    }
}

static int tell_parse(ssize_t code, struct err *err)
{
    if (code == -EMSGSIZE)
        return err_set(err, -EMSGSIZE, "the answer is too large");
    if (code == -ENOMEM)
        return err_set(err, -ENOMEM, "no memory for the answer");
    return err_set(err, -EPROTO, "the answer is not valid HTTP");
}

int http_conn_read_answer(struct http_conn *conn, struct http_parse *parse, int64_t deadline_ns, struct err *err)
{
    char bytes[4096];
    while (parse->state != HTTP_PARSE_DONE) {
        ssize_t n = read_some(conn, bytes, sizeof(bytes), deadline_ns, err);
        if (n < 0)
            return (int)n;
        if (n == 0) {
            if (http_parse_end(parse) < 0)
                return err_set(err, -ECONNRESET, "the connection was closed before the answer was complete");
            break;
        }
        ssize_t used = http_parse_add(parse, bytes, (size_t)n);
        if (used < 0)
            return tell_parse(used, err);
        if (used < n)
            parse->is_kept = false;
        /* A peer that always has a byte ready would never make us wait. */
        if (parse->state != HTTP_PARSE_DONE && clock_read(&clock_system, CLOCK_KIND_MONOTONIC) >= deadline_ns)
            return tell_wait(-ETIMEDOUT, "reading the answer", err);
    }
    return 0;
}
