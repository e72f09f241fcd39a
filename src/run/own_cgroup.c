/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control group of the command (--cgroup): making and removing it (Documentation/admin-guide/cgroup-v2.rst). rmdir
 * takes a group only when no process is in it (EBUSY), so a group in use is never in danger here. Writing a PID to
 * cgroup.procs moves that process.
 */
#include "run/session_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/cgroup/cgroup.h"
#include "kernel/cgroup_files.h"

enum { NAMES_MAX = 64, DEPTH_MAX = 8, MOVE_ROUNDS = 3, GROUPS_BYTES_MAX = 256 * 1024, PROCS_BYTES_MAX = 64 * 1024 };

#define NAME_PREFIX "resource-tracker-"

bool own_cgroup_name_parse(const char *name, pid_t *ret_pid)
{
    struct str rest = str_of(name);
    if (!str_starts(rest, STR(NAME_PREFIX)))
        return false;
    rest.p += STR(NAME_PREFIX).n;
    rest.n -= STR(NAME_PREFIX).n;
    struct str digits = rest;
    const char *dash = rest.n > 0 ? memchr(rest.p, '-', rest.n) : NULL;
    uint64_t pid, number;
    if (dash) {
        digits.n = (size_t)(dash - rest.p);
        if (num_parse_u64((struct str){dash + 1, rest.n - digits.n - 1}, &number) < 0)
            return false;
    }
    if (num_parse_u64(digits, &pid) < 0 || pid < 1 || pid > INT_MAX)
        return false;
    *ret_pid = (pid_t)pid;
    return true;
}

/* In a container every tracker may have the same PID: one with our number that is older than we are is not us. */
static bool tracker_lives(pid_t pid)
{
    return pid != getpid() && (kill(pid, 0) == 0 || errno != ESRCH);
}

/*
 * The times of a group that was not accessed for a while begin anew, which only makes it seem younger than it is.
 */
static bool is_leftover(int parent_fd, const char *name, int64_t now_secs)
{
    pid_t pid;
    struct stat info;
    if (!own_cgroup_name_parse(name, &pid) || fstatat(parent_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    return now_secs - (int64_t)info.st_mtime > OWN_CGROUP_LEFTOVER_SECS && !tracker_lives(pid);
}

static DIR *list_dir(int fd, const char *name)
{
    AUTO_FD int dir_fd = file_open_at(fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    DIR *listing = dir_fd >= 0 ? fdopendir(dir_fd) : NULL;
    if (listing)
        (void)fd_take(&dir_fd);
    return listing;
}

/* Groups that the command made below its own, or a tracker inside it; those in use stay. */
static void remove_empty_below(int fd, const char *name, unsigned depth)
{
    DIR *listing = depth > 0 ? list_dir(fd, name) : NULL;
    const struct dirent *entry;
    while (listing && (entry = readdir(listing))) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.')
            continue;
        remove_empty_below(dirfd(listing), entry->d_name, depth - 1);
        (void)unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR);
    }
    if (listing)
        (void)closedir(listing);
}

size_t own_cgroup_sweep(int parent_fd, int64_t now_secs)
{
    DIR *listing = list_dir(parent_fd, ".");
    if (!listing)
        return 0;
    size_t removed = 0;
    const struct dirent *entry;
    while (removed < OWN_CGROUP_SWEEP_MAX && (entry = readdir(listing))) {
        if (!is_leftover(parent_fd, entry->d_name, now_secs))
            continue;
        remove_empty_below(parent_fd, entry->d_name, DEPTH_MAX);
        removed += unlinkat(parent_fd, entry->d_name, AT_REMOVEDIR) == 0;
    }
    (void)closedir(listing);
    return removed;
}

static int make_failed(struct err *err, int code, const char *parent_dir)
{
    if (code == -EACCES || code == -EPERM || code == -EROFS)
        return err_sys(err, code, "cgroup: not permitted to create a group in /%s", parent_dir);
    if (code == -EAGAIN)
        return err_set(err, code,
            "cgroup: /%s has reached its limit of groups (cgroup.max.descendants or cgroup.max.depth)", parent_dir);
    return err_sys(err, code, "cgroup: cannot create a group in /%s", parent_dir);
}

/* Only threads of the same processes may be below a threaded group: the new group says "domain invalid". */
static bool is_invalid(int dir_fd)
{
    char type[32];
    return file_read_line_at(dir_fd, "cgroup.type", type, sizeof(type)) >= 0 && strcmp(type, "domain invalid") == 0;
}

static int make_dir(int parent_fd, char *name, size_t name_bytes)
{
    for (unsigned i = 1; i <= NAMES_MAX; i++) {
        char suffix[16] = "";
        if (i > 1)
            (void)snprintf(suffix, sizeof(suffix), "-%u", i);
        (void)snprintf(name, name_bytes, NAME_PREFIX "%jd%s", (intmax_t)getpid(), suffix);
        if (mkdirat(parent_fd, name, 0755) == 0)
            return 0;
        if (errno != EEXIST)
            return err_last();
    }
    return -EEXIST;
}

int own_cgroup_make(int parent_fd, const char *parent_dir, struct own_cgroup *ret_group, struct err *err)
{
    char name[sizeof(ret_group->name)], dir[sizeof(ret_group->dir)];
    int r = make_dir(parent_fd, name, sizeof(name));
    if (r < 0)
        return make_failed(err, r, parent_dir);
    int n = snprintf(dir, sizeof(dir), "%s%s%s", parent_dir, parent_dir[0] ? "/" : "", name);
    int dir_fd = n < (int)sizeof(dir) ? file_open_at(parent_fd, name, O_RDONLY | O_DIRECTORY) : -ENAMETOOLONG;
    if (dir_fd < 0)
        r = err_sys(err, dir_fd, "cgroup: cannot open the new group %s in /%s", name, parent_dir);
    else if (is_invalid(dir_fd))
        r = err_set(err, -EOPNOTSUPP, "cgroup: /%s is a threaded group: no process can be placed below it", parent_dir);
    if (r < 0) {
        fd_close(&dir_fd);
        (void)unlinkat(parent_fd, name, AT_REMOVEDIR);
        return r;
    }
    ret_group->dir_fd = dir_fd;
    ret_group->parent_fd = parent_fd;
    (void)str_copy(str_of(name), ret_group->name, sizeof(ret_group->name));
    (void)str_copy(str_of(dir), ret_group->dir, sizeof(ret_group->dir));
    return 0;
}

int own_cgroup_create(struct own_cgroup *ret_group, const struct sysroot *root, struct err *err)
{
    if (!root->is_host)
        return err_set(err, -ENOTSUP, "cgroup: groups are only created on the host, not below %s", root->path);
    AUTO_BUF struct buf groups;
    buf_init(&groups, GROUPS_BYTES_MAX);
    int r = file_read_at(root->proc_fd, "self/cgroup", &groups);
    if (r == -ENOENT)
        return err_set(err, -ENODATA, "cgroup: control groups are not available (no /proc/self/cgroup)");
    if (r < 0)
        return err_sys(err, r, "cgroup: cannot read /proc/self/cgroup");
    struct cgroup_location place;
    r = cgroup_path_find_v2(root, buf_str(&groups), &place, err);
    if (r < 0)
        return r;
    AUTO_FD int parent_fd = file_open_at(root->root_fd, place.dir[0] ? place.dir : ".", O_RDONLY | O_DIRECTORY);
    if (parent_fd < 0)
        return err_sys(err, parent_fd, "cgroup: cannot open /%s", place.dir);
    (void)own_cgroup_sweep(parent_fd, clock_read(&clock_system, CLOCK_KIND_REALTIME) / NS_PER_SEC);
    r = own_cgroup_make(parent_fd, place.dir, ret_group, err);
    if (r < 0)
        return r;
    (void)fd_take(&parent_fd);
    struct str rest = buf_str(&groups);
    struct cgroup_line line;
    ret_group->lacks_memory = false;
    while (cgroup_line_next(&rest, &line))
        ret_group->lacks_memory |= line.hierarchy != 0 && cgroup_list_has(line.controllers, STR("memory"));
    return 0;
}

size_t own_cgroup_move(int from_fd, int to_fd, size_t max)
{
    AUTO_BUF struct buf text;
    buf_init(&text, PROCS_BYTES_MAX);
    int r = file_read_at(from_fd, "cgroup.procs", &text);
    AUTO_FD int to = r >= 0 || r == -EFBIG ? file_open_at(to_fd, "cgroup.procs", O_WRONLY) : -1;
    if (to < 0)
        return 0;
    /* Where there are more than fit, the last one may be cut. */
    while (text.len > 0 && text.data[text.len - 1] != '\n')
        text.len--;
    struct str rest = buf_str(&text), line;
    size_t tried = 0;
    while (tried < max && str_line(&rest, &line)) {
        uint64_t pid;
        /* A process that our PID namespace does not show is written as 0, which would mean ourselves. */
        if (num_parse_u64(line, &pid) < 0 || pid == 0)
            continue;
        char number[NUM_TEXT_BYTES];
        char *end = num_write_u64(number, pid);
        *end++ = '\n';
        ssize_t n;
        do {
            n = write(to, number, (size_t)(end - number));
        } while (n < 0 && errno == EINTR);
        tried++;
    }
    return tried;
}

bool own_cgroup_remove(struct own_cgroup *group)
{
    if (group->name[0] == '\0' || group->dir_fd < 0)
        return true;
    size_t moves_left = OWN_CGROUP_MOVES_MAX;
    bool is_busy;
    for (unsigned round = 0;; round++) {
        is_busy = unlinkat(group->parent_fd, group->name, AT_REMOVEDIR) < 0 && errno == EBUSY;
        if (!is_busy || round == MOVE_ROUNDS)
            break;
        moves_left -= own_cgroup_move(group->dir_fd, group->parent_fd, moves_left);
        remove_empty_below(group->parent_fd, group->name, DEPTH_MAX);
    }
    fd_close(&group->dir_fd);
    fd_close(&group->parent_fd);
    group->name[0] = '\0';
    return !is_busy;
}
