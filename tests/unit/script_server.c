/* SPDX-License-Identifier: Apache-2.0 */
#include "script_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

static void must(bool is_so)
{
    if (!is_so)
        abort();
}

/* False when the server is to stop. */
static bool wait_for(const struct script_server *server, int fd, short events, int timeout_ms)
{
    struct pollfd watched[] = {{.fd = fd, .events = events}, {.fd = server->stop_fd, .events = POLLIN}};
    int n;
    do {
        n = poll(watched, 2, timeout_ms);
    } while (n < 0 && errno == EINTR);
    return watched[1].revents == 0;
}

static bool send_all(const struct script_server *server, int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && errno != EAGAIN)
            return false;
        if (sent > 0) {
            bytes += sent;
            n -= (size_t)sent;
        } else if (!wait_for(server, fd, POLLOUT, -1)) {
            return false;
        }
    }
    return true;
}

/* How many bytes the request has in all, or 0 while its head is not complete. */
static size_t request_bytes(const char *request, enum script_take take)
{
    const char *end = strstr(request, "\r\n\r\n");
    if (!end)
        return 0;
    size_t head = (size_t)(end - request) + 4;
    const char *length = strstr(request, "\r\nContent-Length: ");
    if (take == SCRIPT_HEAD || !length || length > end)
        return head;
    return head + strtoul(length + strlen("\r\nContent-Length: "), NULL, 10);
}

/* False where the client closed before the request was complete, or the server stops. */
static bool take_request(struct script_server *server, int fd, enum script_take take)
{
    char *request = calloc(1, SCRIPT_REQUEST_BYTES);
    must(request && server->request_count < SCRIPT_STEPS_MAX);
    size_t used = 0;
    size_t whole = 0;
    while (whole == 0 || used < whole) {
        size_t want = take == SCRIPT_HEAD ? 1 : SCRIPT_REQUEST_BYTES - 1 - used;
        ssize_t n = recv(fd, request + used, want, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN) || (n < 0 && !wait_for(server, fd, POLLIN, -1)))
            break;
        used += n > 0 ? (size_t)n : 0;
        whole = request_bytes(request, take);
    }
    if (used == 0) {
        free(request);
        return false;
    }
    server->request_connections[server->request_count] = server->connection_count;
    server->requests[server->request_count++] = request;
    return whole > 0 && used >= whole;
}

static void drip(const struct script_server *server, int fd, const char *answer)
{
    for (size_t i = 0; send_all(server, fd, answer[i] != '\0' ? &answer[i] : "x", 1); i += answer[i] != '\0') {
        struct pollfd stop = {.fd = server->stop_fd, .events = POLLIN};
        if (poll(&stop, 1, 20) > 0)
            return;
    }
}

/* Reads what comes until the client is gone. */
static void hang(const struct script_server *server, int fd)
{
    char bytes[4096];
    while (wait_for(server, fd, POLLIN, -1) && recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0)
        ;
}

static void finish(const struct script_server *server, int fd, const struct script_step *step)
{
    struct linger now = {.l_onoff = 1};
    if (step->then == SCRIPT_RESET)
        (void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    if (step->then == SCRIPT_HANG && step->take == SCRIPT_NOTHING)
        (void)wait_for(server, -1, 0, -1);
    else if (step->then == SCRIPT_HANG)
        hang(server, fd);
    if (step->then == SCRIPT_DRIP)
        drip(server, fd, step->answer);
}

/* Returns false where the connection is over. */
static bool play(struct script_server *server, int fd, const struct script_step *step)
{
    if (step->take != SCRIPT_NOTHING && !take_request(server, fd, step->take))
        return false;
    if (step->answer && step->then != SCRIPT_DRIP) {
        size_t n = step->answer_bytes > 0 ? step->answer_bytes : strlen(step->answer);
        if (!send_all(server, fd, step->answer, n))
            return false;
    }
    finish(server, fd, step);
    return step->then == SCRIPT_KEEP;
}

static void *serve(void *data)
{
    struct script_server *server = data;
    int fd = -1;
    for (size_t i = 0; i < server->step_count;) {
        if (fd < 0) {
            if (!wait_for(server, server->listen_fd, POLLIN, -1))
                break;
            fd = accept4(server->listen_fd, NULL, NULL, SOCK_CLOEXEC);
            must(fd >= 0);
            server->connection_count++;
        }
        size_t before = server->request_count;
        bool is_open = play(server, fd, &server->steps[i]);
        /* A client that left without a word has not used up the step. */
        if (server->request_count > before || server->steps[i].take == SCRIPT_NOTHING)
            i++;
        else
            is_open = false;
        if (!is_open) {
            (void)close(fd);
            fd = -1;
        }
    }
    if (fd >= 0) {
        hang(server, fd);
        (void)close(fd);
    }
    return NULL;
}

void script_server_start(struct script_server *server, const struct script_step *steps, size_t step_count)
{
    *server = (struct script_server){.steps = steps, .step_count = step_count};
    server->listen_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    server->stop_fd = eventfd(0, EFD_CLOEXEC);
    struct sockaddr_in at = {.sin_family = AF_INET};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof(at);
    must(server->listen_fd >= 0 && server->stop_fd >= 0);
    must(bind(server->listen_fd, (struct sockaddr *)&at, bytes) == 0 && listen(server->listen_fd, 8) == 0);
    must(getsockname(server->listen_fd, (struct sockaddr *)&at, &bytes) == 0);
    server->port = ntohs(at.sin_port);
    must(pthread_create(&server->thread, NULL, serve, server) == 0);
}

void script_server_stop(struct script_server *server)
{
    const uint64_t one = 1;
    must(write(server->stop_fd, &one, sizeof(one)) == sizeof(one));
    must(pthread_join(server->thread, NULL) == 0);
    (void)close(server->listen_fd);
    (void)close(server->stop_fd);
}

void script_server_free(struct script_server *server)
{
    for (size_t i = 0; i < server->request_count; i++)
        free(server->requests[i]);
    server->request_count = 0;
}
