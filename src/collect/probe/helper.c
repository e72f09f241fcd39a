/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other end of collect/probe.c: a process that reads one file after the other and may hang in each of them. It has
 * no descriptor of ours but the channel, no signal reaches it but SIGKILL, and it ends with the tracker or when all
 * questions are answered.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/probe/probe_internal.h"

bool probe_helper_is_meant(int argc, char **argv)
{
    int kind;
    socklen_t kind_bytes = sizeof(kind);
    return argc == PROBE_HELPER_ARGUMENTS && strcmp(argv[PROBE_HELPER_FLAG_AT], PROBE_HELPER_FLAG) == 0 &&
           getsockopt(HELPER_CHANNEL_FD, SOL_SOCKET, SO_TYPE, &kind, &kind_bytes) == 0;
}

static bool take_request(struct probe_request *ret_request)
{
    ssize_t n;
    do {
        n = recv(HELPER_CHANNEL_FD, ret_request, sizeof(*ret_request), 0);
    } while (n < 0 && errno == EINTR);
    const struct probe_subject *subject = &ret_request->subject;
    return n == sizeof(*ret_request) && ret_request->version == PROBE_WIRE_VERSION && subject->kind >= PROBE_DISK &&
           subject->kind <= PROBE_SPACE && memchr(subject->name, '\0', sizeof(subject->name));
}

static bool send_reply(const struct probe_reply *reply)
{
    size_t size = offsetof(struct probe_reply, value) + (reply->size > 0 ? (size_t)reply->size : 0);
    ssize_t n;
    do {
        n = send(HELPER_CHANNEL_FD, reply, size, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)size;
}

static bool answer(const struct sysroot *root, const struct probe_request *request)
{
    unsigned count = probe_attributes(request->subject.kind);
    for (unsigned attribute = 0; attribute < count; attribute++) {
        struct probe_reply reply = {.version = PROBE_WIRE_VERSION, .ticket = request->ticket, .attribute = attribute};
        reply.size = probe_read(root, &request->subject, attribute, reply.value);
        reply.cpu_ns = (uint64_t)clock_read(&clock_system, CLOCK_KIND_OWN_CPU);
        if (!send_reply(&reply))
            return false;
    }
    return true;
}

int probe_helper_main(char **argv)
{
    struct sysroot root;
    struct probe_request request;
    helper_make_modest("tracker-probe");
    const char *path = argv[PROBE_HELPER_ROOT_AT];
    if (sysroot_open(path[0] ? path : "/", &root, NULL) < 0)
        return EXIT_FAILURE;
    /* The directory that we were started in must not be kept busy; a captured tree may be named relative to it. */
    if (path[0] == '\0' && chdir("/") < 0)
        return EXIT_FAILURE;
    while (take_request(&request)) {
        if (!answer(&root, &request))
            break;
    }
    _exit(EXIT_SUCCESS);
}
