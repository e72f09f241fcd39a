/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web server on 127.0.0.1 that plays a list of answers, one per connection, and keeps what it was asked. Asked more
 * often than it has answers, it closes the connection.
 */
#ifndef TESTS_UNIT_LOOPBACK_H
#define TESTS_UNIT_LOOPBACK_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/num.h"
#include "base/str.h"

enum { LOOPBACK_REQUESTS_MAX = 8, LOOPBACK_BYTES_MAX = 16 * 1024 * 1024 };

/* An answer that ends with the connection. */
#define LOOPBACK_ANSWER(status, headers, body) "HTTP/1.1 " status "\r\nConnection: close\r\n" headers "\r\n" body

struct loopback_request {
    struct buf head; /* the request line and the header lines, with CRLF */
    struct buf body;
};

struct loopback {
    int fd;
    unsigned port;
    pthread_t thread;
    const char *const *answers; /* NULL in the list: closes the connection without one */
    size_t answer_count;
    struct loopback_request requests[LOOPBACK_REQUESTS_MAX];
    size_t request_count; /* valid after loopback_stop */
};

static inline size_t loopback_length(const char *head)
{
    uint64_t length = 0;
    const char *line = strstr(head, "\r\nContent-Length: ");
    if (line) {
        const char *value = line + strlen("\r\nContent-Length: ");
        (void)num_parse_u64((struct str){value, strcspn(value, "\r")}, &length);
    }
    return (size_t)length;
}

static inline void loopback_read(int fd, struct loopback_request *request)
{
    char bytes[64 * 1024];
    buf_init(&request->head, LOOPBACK_BYTES_MAX);
    buf_init(&request->body, LOOPBACK_BYTES_MAX);
    for (;;) {
        ssize_t n = read(fd, bytes, sizeof(bytes));
        if (n <= 0)
            return;
        buf_append(request->body.len > 0 ? &request->body : &request->head, bytes, (size_t)n);
        const char *end = request->body.len > 0 ? NULL : strstr(buf_cstr(&request->head), "\r\n\r\n");
        if (end) {
            size_t head = (size_t)(end - request->head.data) + 4;
            buf_append(&request->body, request->head.data + head, request->head.len - head);
            request->head.len = head;
        }
        if (strstr(buf_cstr(&request->head), "\r\n\r\n") &&
            request->body.len >= loopback_length(buf_cstr(&request->head)))
            return;
    }
}

static inline void *loopback_serve(void *context)
{
    struct loopback *server = context;
    for (;;) {
        int fd = accept(server->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        size_t i = server->request_count;
        if (i < LOOPBACK_REQUESTS_MAX) {
            loopback_read(fd, &server->requests[i]);
            server->request_count++;
        }
        const char *answer = i < server->answer_count ? server->answers[i] : NULL;
        if (answer && write(fd, answer, strlen(answer)) < 0)
            perror("loopback");
        (void)shutdown(fd, SHUT_WR);
        (void)close(fd);
    }
}

static inline bool loopback_start(struct loopback *server, const char *const *answers, size_t count)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    *server = (struct loopback){.answers = answers, .answer_count = count};
    server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->fd < 0 || bind(server->fd, (struct sockaddr *)&address, size) < 0 || listen(server->fd, 8) < 0 ||
        getsockname(server->fd, (struct sockaddr *)&address, &size) < 0)
        return false;
    server->port = ntohs(address.sin_port);
    return pthread_create(&server->thread, NULL, loopback_serve, server) == 0;
}

/* Ends the server; its requests can be looked at until loopback_fini. */
static inline void loopback_stop(struct loopback *server)
{
    if (server->fd < 0)
        return;
    (void)shutdown(server->fd, SHUT_RDWR); /* wakes accept */
    (void)pthread_join(server->thread, NULL);
    (void)close(server->fd);
    server->fd = -1;
}

static inline void loopback_fini(struct loopback *server)
{
    loopback_stop(server);
    for (size_t i = 0; i < server->request_count; i++) {
        buf_fini(&server->requests[i].head);
        buf_fini(&server->requests[i].body);
    }
}

#endif
