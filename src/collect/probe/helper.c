/* SPDX-License-Identifier: Apache-2.0 */
/* The reading that may hang. Only the helper process does it, and tests without one. */
#include "collect/probe/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/str.h"
#include "collect/disk/disk.h"

unsigned probe_attributes(enum probe_kind kind)
{
    return kind == PROBE_DISK ? DISK_ATTRIBUTES : 1;
}

/* Below sys. */
static void path_in_sys(const struct probe_subject *subject, unsigned attribute, char *out, size_t size)
{
    if (subject->kind == PROBE_DISK) {
        struct disk_attribute_path path =
            disk_identity_path(subject->major, subject->minor, (enum disk_attribute)attribute);
        (void)str_copy(str_of(path.text), out, size);
    } else {
        (void)snprintf(out, size, "class/net/%s/speed", subject->name);
    }
}

void probe_path(const struct probe_subject *subject, unsigned attribute, char *out, size_t size)
{
    char path[PROBE_NAME_BYTES + 32];
    if (subject->kind == PROBE_SPACE) {
        (void)str_copy(str_of(subject->name), out, size);
        return;
    }
    path_in_sys(subject, attribute, path, sizeof(path));
    (void)snprintf(out, size, "/sys/%s", path);
}

static int read_file(int sys_fd, const char *path, char value[static PROBE_VALUE_BYTES])
{
    AUTO_FD int fd = file_open_at(sys_fd, path, O_RDONLY);
    if (fd < 0)
        return fd;
    return file_read_once(fd, value, PROBE_VALUE_BYTES);
}

int probe_read(const struct sysroot *root, const struct probe_subject *subject, unsigned attribute,
    char value[static PROBE_VALUE_BYTES])
{
    if (subject->kind == PROBE_SPACE) {
        struct fs_space space;
        int r = mounts_ask_kernel(root, subject->name, &space);
        if (r == 0)
            memcpy(value, &space, sizeof(space));
        return r < 0 ? r : (int)sizeof(space);
    }
    char path[PROBE_NAME_BYTES + 32];
    path_in_sys(subject, attribute, path, sizeof(path));
    return read_file(root->sys_fd, path, value);
}

struct probe_answer probe_no_answer(const struct probe_subject *subject)
{
    struct probe_answer answer = {.speed = {.error = -ENODATA}, .space = {.error = -ENODATA}};
    if (subject->kind == PROBE_DISK)
        answer.disk = disk_identity_of_name(subject->name);
    return answer;
}

void probe_add(
    const struct probe_subject *subject, unsigned attribute, const char *value, int size, struct probe_answer *answer)
{
    struct str content = {value, size > 0 ? (size_t)size : 0};
    switch (subject->kind) {
    case PROBE_DISK:
        if (size > 0)
            disk_identity_add(&answer->disk, subject->name, (enum disk_attribute)attribute, content);
        break;
    case PROBE_SPEED:
        answer->speed.error = size < 0 ? size : 0;
        (void)str_copy(str_trim(content), answer->speed.text, sizeof(answer->speed.text));
        break;
    case PROBE_SPACE:
        answer->space.error = size < 0 ? size : -EBADMSG;
        if (content.n != sizeof(answer->space.space))
            break;
        memcpy(&answer->space.space, value, sizeof(answer->space.space));
        answer->space.error = 0;
        break;
    }
}

/*
 * The other end of probe.c: a process that reads one file after the other and may hang in each of them. It has
 * no descriptor of ours but the channel, no signal reaches it but SIGKILL, and it ends with the tracker or when all
 * questions are answered.
 */

bool probe_helper_is_meant(int argc, char **argv)
{
    return argc == PROBE_HELPER_ARGUMENTS && helper_is_meant(argv[PROBE_HELPER_FLAG_AT], PROBE_HELPER_FLAG);
}

static bool receive_request(struct probe_request *ret_request)
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
    helper_restrict_self("tracker-probe");
    const char *path = argv[PROBE_HELPER_ROOT_AT];
    if (sysroot_open(path[0] ? path : "/", &root, NULL) < 0)
        return EXIT_FAILURE;
    /* The directory that we were started in must not be kept busy; a captured tree may be named relative to it. */
    if (path[0] == '\0' && chdir("/") < 0)
        return EXIT_FAILURE;
    while (receive_request(&request)) {
        if (!answer(&root, &request))
            break;
    }
    _exit(EXIT_SUCCESS);
}
