/* SPDX-License-Identifier: Apache-2.0 */
/*
 * src/net/tls.h as a program, for the tests against real servers:
 *
 *   tls_client PORT HOST CAFILE [CADIR]    connects to 127.0.0.1:PORT, sends one GET / to HOST, prints "ok STATUSLINE"
 *                                          or "failed CODE: message" and ends with 0 or 1; "" stands for no file.
 *                                          TLS_CLIENT_SECS: how long it is patient, 5 where not given
 *   tls_client --count CAFILE              prints how many certificates were loaded and refused
 *   tls_client --library                   prints which TLS library this is
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <mbedtls/x509_crt.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"
#include "net/tls.h"
#include "net/tls_internal.h"

enum { PATIENCE_SECS = 5 };

static int connect_to(const char *port_text, int *ret_fd, struct err *err)
{
    uint64_t port;
    if (num_parse_u64(str_of(port_text), &port) < 0 || port > UINT16_MAX)
        return err_set(err, -EINVAL, "no port: %s", port_text);
    AUTO_FD int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((uint16_t)port),
        .sin_addr = {htonl(INADDR_LOOPBACK)},
    };
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
        fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
        return err_sys(err, -errno, "connecting");
    *ret_fd = fd_take(&fd);
    return 0;
}

/* Prints the status line and reads up to the end. */
static int exchange(struct tls *tls, const char *host, int64_t deadline_ns, struct err *err)
{
    char request[512];
    bool is_ip6 = strchr(host, ':');
    int n = snprintf(request, sizeof(request), "GET / HTTP/1.1\r\nHost: %s%s%s\r\nConnection: close\r\n\r\n",
        is_ip6 ? "[" : "", host, is_ip6 ? "]" : "");
    int code = tls_write(tls, (struct str){request, (size_t)n}, deadline_ns, err);
    if (code < 0)
        return code;
    char answer[4096];
    size_t len = 0;
    ssize_t got;
    while ((got = tls_read(tls, answer + len, sizeof(answer) - 1 - len, deadline_ns, err)) > 0) {
        len += (size_t)got;
        if (len > sizeof(answer) / 2) /* the beginning is enough, the rest is only read */
            len = sizeof(answer) / 2;
    }
    if (got < 0)
        return (int)got;
    answer[len] = '\0';
    answer[strcspn(answer, "\r\n")] = '\0';
    printf("ok %s\n", answer);
    return 0;
}

static int64_t deadline(void)
{
    uint64_t secs = PATIENCE_SECS;
    const char *given = getenv("TLS_CLIENT_SECS");
    if (given)
        (void)num_parse_u64(str_of(given), &secs);
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + (int64_t)secs * NS_PER_SEC;
}

static int run(char **args, int count, struct err *err)
{
    const struct tls_trust trust = {
        .file = args[2][0] ? args[2] : NULL,
        .dir = count > 3 ? args[3] : NULL,
    };
    AUTO_FD int fd = -1;
    int code = connect_to(args[0], &fd, err);
    if (code < 0)
        return code;
    int64_t deadline_ns = deadline();
    struct tls *tls = NULL;
    const struct tls_peer peer = {.fd = fd, .host = args[1], .trust = &trust};
    code = tls_open(&tls, &peer, &net_wait_plain, deadline_ns, err);
    if (code == 0)
        code = exchange(tls, args[1], deadline_ns, err);
    tls_close(tls);
    return code;
}

static int count_roots(const char *path, struct err *err)
{
    mbedtls_x509_crt roots;
    mbedtls_x509_crt_init(&roots);
    struct tls_trust_count count;
    int code = tls_trust_load(&(struct tls_trust){.file = path}, &roots, &count, err);
    mbedtls_x509_crt_free(&roots);
    if (code == 0)
        printf("loaded %zu refused %zu\n", count.loaded, count.refused);
    return code;
}

int main(int argc, char **argv)
{
    struct err err = {0};
    int code;
    if (argc == 2 && strcmp(argv[1], "--library") == 0) {
        puts(tls_library());
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "--count") == 0) {
        code = count_roots(argv[2], &err);
    } else if (argc == 4 || argc == 5) {
        code = run(argv + 1, argc - 1, &err);
    } else {
        fputs("usage: tls_client PORT HOST CAFILE [CADIR] | --count CAFILE | --library\n", stderr);
        return 2;
    }
    if (code < 0)
        printf("failed %s: %s\n", strerrorname_np(-code), err.msg);
    return code < 0 ? 1 : 0;
}
