/* SPDX-License-Identifier: Apache-2.0 */
/* See marks.h. */
#include "run/marks.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/syscalls.h"
#include "base/text.h"

#define MEMORY_DIR "/dev/shm"
#define NAME_PREFIX "resource-tracker-"

/* Of leftovers: entries that are looked at, and the least age: a young one may belong to a tracker that is starting. */
enum { SWEEP_MAX = 1024, SWEEP_SECS = 60 };

enum { DO_NOT_BLOCK = 1, DATAGRAM_BYTES = 512, RECEIVE_MAX = 256, DIRECTORY_MODE = 0711, SOCKET_MODE = 0666 };

static const char variable_name[] = "TRACKER_SOCKET=";

struct marks_store {
    size_t count;
    struct sample_mark items[SAMPLE_MARKS_MAX];
    char names[SAMPLE_MARKS_MAX][SAMPLE_MARK_BYTES];
};

static char *path_of(struct marks *marks)
{
    return marks->variable + sizeof(variable_name) - 1;
}

static int address_of(const char *path, struct sockaddr_un *ret_address)
{
    size_t n = strlen(path);
    *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (n >= sizeof(ret_address->sun_path))
        return -ENAMETOOLONG;
    memcpy(ret_address->sun_path, path, n);
    return 0;
}

static void remove_socket(char *path)
{
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    (void)rmdir(path);
}

/* Makes the directory and binds the socket in it. The modes are set apart, since the umask may forbid them. */
static int bind_in(const char *parent, int fd, const uint32_t random[static 3], char *ret_path, size_t size)
{
    struct sockaddr_un address;
    int n = snprintf(ret_path, size, "%s/" NAME_PREFIX "%d-%08x", parent, (int)getpid(), random[0]);
    char *slash = ret_path + n;
    int rest = n > 0 && (size_t)n < size ? snprintf(slash, size - (size_t)n, "/%08x%08x", random[1], random[2]) : -1;
    if (rest < 0 || (size_t)rest >= size - (size_t)n || address_of(ret_path, &address) < 0)
        return -ENAMETOOLONG;
    *slash = '\0';
    if (mkdirat(AT_FDCWD, ret_path, DIRECTORY_MODE) < 0)
        return err_last();
    int r = chmod(ret_path, DIRECTORY_MODE);
    *slash = '/';
    if (r == 0)
        r = bind(fd, (const struct sockaddr *)&address, sizeof(address));
    if (r == 0)
        r = chmod(ret_path, SOCKET_MODE);
    if (r == 0)
        return 0;
    r = err_last();
    remove_socket(ret_path);
    return r;
}

void marks_open(struct marks *marks, char **environment)
{
    uint32_t random[3];
    int on = 1;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    /* Where the kernel has none (before 3.17, or yet), there are no marks: nothing waits here. */
    bool is_ready = fd >= 0 && syscall(SYS_getrandom, random, sizeof(random), DO_NOT_BLOCK) == (long)sizeof(random);
    /* Without stamps the time is that of the reading. */
    if (is_ready)
        (void)setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof(on));
    (void)snprintf(marks->variable, sizeof(marks->variable), "%s", variable_name);
    char *path = path_of(marks);
    size_t size = sizeof(marks->variable) - sizeof(variable_name) + 1;
    /* Memory first: a busy disk would hold up the command. */
    const char *const parents[] = {MEMORY_DIR, env_get(environment, "TMPDIR"), "/tmp"};
    for (size_t i = 0; is_ready && i < sizeof(parents) / sizeof(parents[0]); i++) {
        if (!parents[i] || parents[i][0] != '/')
            continue;
        if (bind_in(parents[i], fd, random, path, size) < 0)
            continue;
        marks->fd = fd_take(&fd);
        env_put(environment, marks->variable);
        return;
    }
}

bool marks_parse(struct str text, const char **ret_kind, char *ret_name)
{
    static const char kinds[][8] = {"mark", "begin", "end"};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct str kind = str_of(kinds[i]), name = text;
        if (!str_starts(text, kind))
            continue;
        str_skip(&name, kind.n);
        if (!str_take(&name, ' '))
            return false;
        *ret_kind = kinds[i];
        return text_clean(name, TEXT_NAME, "...", ret_name, SAMPLE_MARK_BYTES) > 0;
    }
    return false;
}

/* When it came, on the monotonic clock: the kernel stamps it with the other one, which may be set meanwhile. */
static int64_t arrival_ns(struct msghdr *message)
{
    int64_t now_ns = clock_now();
    const struct cmsghdr *header = CMSG_FIRSTHDR(message);
    if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_TIMESTAMPNS)
        return now_ns;
    struct timespec stamp;
    memcpy(&stamp, CMSG_DATA(header), sizeof(stamp));
    int64_t age_ns =
        clock_read(&clock_system, CLOCK_KIND_REALTIME) - ((int64_t)stamp.tv_sec * NS_PER_SEC + stamp.tv_nsec);
    return age_ns > 0 && age_ns < 3600 * NS_PER_SEC ? now_ns - age_ns : now_ns;
}

static void add(struct marks *marks, struct str text, int64_t elapsed_ns)
{
    if (!marks->store)
        marks->store = calloc(1, sizeof(*marks->store));
    struct marks_store *store = marks->store;
    if (!store || store->count == SAMPLE_MARKS_MAX || marks->total == MARKS_TOTAL_MAX) {
        marks->dropped++;
        complaint_say(&marks->too_many, "too many marks: some are not recorded");
        return;
    }
    struct sample_mark *mark = &store->items[store->count];
    char *name = store->names[store->count];
    if (!marks_parse(text, &mark->kind, name))
        return;
    double secs = elapsed_ns > 0 ? (double)elapsed_ns / 1e9 : 0;
    /* They came in this order. */
    if (store->count > 0 && mark[-1].elapsed_secs.v > secs)
        secs = mark[-1].elapsed_secs.v;
    mark->elapsed_secs = some_f64(secs);
    mark->name = name;
    store->count++;
    marks->total++;
}

size_t marks_receive(struct marks *marks, int64_t start_ns, int64_t since_ns)
{
    char text[DATAGRAM_BYTES];
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct timespec))];
    } control;
    for (int i = 0; marks->fd >= 0 && i < RECEIVE_MAX; i++) {
        struct iovec part = {text, sizeof(text)};
        struct msghdr message = {
            .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)};
        ssize_t n = recvmsg(marks->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
        if (n < 0)
            break;
        int64_t at_ns = arrival_ns(&message);
        add(marks, (struct str){text, (size_t)n}, (at_ns > since_ns ? at_ns : since_ns) - start_ns);
    }
    return marks->store ? marks->store->count : 0;
}

int64_t marks_gap_ns(int64_t interval_ns)
{
    enum { LEAST_MS = 20, MOST_MS = 100, SHARE = 10 };
    int64_t gap_ns = interval_ns / SHARE;
    if (gap_ns > MOST_MS * NS_PER_MS)
        return MOST_MS * NS_PER_MS;
    return gap_ns >= LEAST_MS * NS_PER_MS ? gap_ns : 0;
}

void marks_fill(const struct marks *marks, struct sample *sample)
{
    if (marks->store && marks->store->count > 0)
        sample->marks = (struct sample_list){true, marks->store->count, marks->store->items};
    if (marks->fd >= 0)
        sample->end.marks_dropped = some_u64(marks->dropped);
}

void marks_clear(struct marks *marks)
{
    if (marks->store)
        marks->store->count = 0;
}

void marks_close(struct marks *marks)
{
    if (marks->fd < 0)
        return;
    (void)close(marks->fd);
    marks->fd = -1;
    remove_socket(path_of(marks));
    free(marks->store);
    marks->store = NULL;
}

static bool is_refused(const char *path)
{
    struct sockaddr_un address;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    return fd >= 0 && address_of(path, &address) == 0 &&
           connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 && errno == ECONNREFUSED;
}

static void remove_leftover(const char *name)
{
    char path[MARKS_VARIABLE_BYTES];
    struct stat info;
    int n = snprintf(path, sizeof(path), MEMORY_DIR "/%s", name);
    int64_t now_secs = clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_SEC;
    if (n >= (int)sizeof(path) || lstat(path, &info) < 0 || info.st_uid != geteuid() ||
        now_secs - (int64_t)info.st_mtime < SWEEP_SECS)
        return;
    DIR *listing = opendir(path);
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        (void)snprintf(path + n, sizeof(path) - (size_t)n, "/%s", entry->d_name);
        if (entry->d_type == DT_SOCK && is_refused(path))
            (void)unlink(path);
    }
    if (listing)
        (void)closedir(listing);
    path[n] = '\0';
    (void)rmdir(path);
}

__attribute__((cold)) void marks_sweep(const struct marks *marks)
{
    DIR *listing = marks->fd >= 0 ? opendir(MEMORY_DIR) : NULL;
    const struct dirent *entry;
    for (int i = 0; listing && i < SWEEP_MAX && (entry = readdir(listing)); i++) {
        if (strncmp(entry->d_name, NAME_PREFIX, sizeof(NAME_PREFIX) - 1) == 0)
            remove_leftover(entry->d_name);
    }
    if (listing)
        (void)closedir(listing);
}

static int send_text(const char *socket_path, const char *kind, const char *name)
{
    struct sockaddr_un address;
    int r = address_of(socket_path, &address);
    if (r < 0)
        return r;
    char text[DATAGRAM_BYTES];
    int n = snprintf(text, sizeof(text), "%s %s", kind, name);
    size_t length = n < 0 ? 0 : (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
    AUTO_FD int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return err_last();
    ssize_t sent =
        sendto(fd, text, length, MSG_DONTWAIT | MSG_NOSIGNAL, (const struct sockaddr *)&address, sizeof(address));
    return sent < 0 ? err_last() : 0;
}

int marks_send(const char *socket_path, const char *kind, const char *name)
{
    if (!socket_path) {
        log_info("no tracker: TRACKER_SOCKET is not set");
        return 0;
    }
    int r = send_text(socket_path, kind, name);
    if (r < 0)
        log_warning("--%s: cannot send to the tracker: %s", kind, strerror(-r));
    return r;
}
