/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding our own control group (cgroups(7), cgroup_namespaces(7)). self/cgroup names it inside its hierarchy, and
 * mountinfo says where which part of that hierarchy is mounted:
 *   4:memory:/docker/abc
 *   35 31 0:32 /docker/abc /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory
 * Finding one that others made, by its path or by the name of its directory.
 */
#include "collect/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/auto.h"
#include "base/file.h"
#include "kernel/cgroup_files.h"
#include "kernel/mountinfo.h"

enum { MOUNTS_BYTES_MAX = 32 * 1024 * 1024, ID_DIGITS_MIN = 12, PROCESSES_MAX = 4194304 };

static const struct str controller_names[CGROUP_CONTROLLERS] = {
    [CGROUP_CPU] = {"cpu", 3},
    [CGROUP_CPUACCT] = {"cpuacct", 7},
    [CGROUP_MEMORY] = {"memory", 6},
};

/* A namespace writes what lies outside of it as "/..". */
static bool path_goes_up(struct str path)
{
    size_t start = 0;
    for (size_t i = 0; i <= path.n; i++) {
        if (i < path.n && path.p[i] != '/')
            continue;
        if (i - start == 2 && path.p[start] == '.' && path.p[start + 1] == '.')
            return true;
        start = i + 1;
    }
    return false;
}

static struct str without_slashes(struct str path)
{
    while (path.n > 0 && path.p[0] == '/') {
        path.p++;
        path.n--;
    }
    while (path.n > 0 && path.p[path.n - 1] == '/')
        path.n--;
    return path;
}

bool cgroup_path_translate(
    struct str path, const char *mount_root, const char *mount_point, struct cgroup_location *ret_location)
{
    struct str top = without_slashes(str_of(mount_point));
    struct str shown = without_slashes(str_of(mount_root));
    struct str rest = without_slashes(path);
    if (path_goes_up(path) || path_goes_up(top) || !str_starts(rest, shown))
        return false;
    rest.p += shown.n;
    rest.n -= shown.n;
    if (shown.n > 0 && rest.n > 0 && rest.p[0] != '/')
        return false;
    rest = without_slashes(rest);

    size_t slash = top.n > 0 && rest.n > 0;
    size_t len = top.n + slash + rest.n;
    if (len >= sizeof(ret_location->dir))
        return false;
    ret_location->len = len;
    ret_location->top_len = top.n;
    (void)str_copy(top, ret_location->dir, sizeof(ret_location->dir));
    if (slash)
        ret_location->dir[top.n] = '/';
    (void)str_copy(rest, ret_location->dir + top.n + slash, sizeof(ret_location->dir) - top.n - slash);
    return true;
}

bool cgroup_path_up(const struct cgroup_location *location, size_t *len)
{
    if (*len <= location->top_len)
        return false;
    size_t n = *len - 1;
    while (n > location->top_len && location->dir[n] != '/')
        n--;
    *len = n;
    return true;
}

/* The path of our group in the v1 hierarchy of a controller, or (controller "") in v2. */
static bool group_path(struct str groups, struct str controller, struct str *ret_path)
{
    struct cgroup_line line;
    while (cgroup_line_next(&groups, &line)) {
        bool is_v2 = line.hierarchy == 0;
        if (controller.n == 0 ? is_v2 : !is_v2 && cgroup_list_has(line.controllers, controller)) {
            *ret_path = line.path;
            return true;
        }
    }
    return false;
}

static bool mount_shows(const struct mount_row *row, unsigned version, struct str controller)
{
    if (version == 2)
        return strcmp(row->fstype, "cgroup2") == 0;
    return strcmp(row->fstype, "cgroup") == 0 && cgroup_list_has(str_of(row->super_options), controller);
}

static bool directory_exists(const struct sysroot *root, const char *dir)
{
    struct stat info;
    return fstatat(root->root_fd, dir[0] != '\0' ? dir : ".", &info, 0) == 0 && S_ISDIR(info.st_mode);
}

/*
 * A hierarchy may be mounted at several mount points, some of them showing a part only or hidden under another mount:
 * of those that lead to our group, the one that shows most of the way up to the root knows most limits.
 */
static bool locate_in_mounts(const struct sysroot *root, const struct mountinfo *mounts, unsigned version,
    struct str controller, struct str path, struct cgroup_location *location)
{
    size_t shortest = SIZE_MAX;
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount_row *row = &mounts->items[i];
        struct cgroup_location found;
        if (!mount_shows(row, version, controller) || strlen(row->root) >= shortest)
            continue;
        if (!cgroup_path_translate(path, row->root, row->mount_point, &found) || !directory_exists(root, found.dir))
            continue;
        found.version = version;
        *location = found;
        shortest = strlen(row->root);
    }
    return shortest != SIZE_MAX;
}

/* controller "": the v2 hierarchy, whatever is bound to it. Sets the location where it returns true. */
static bool locate(const struct sysroot *root, struct str groups, const struct mountinfo *mounts, struct str controller,
    struct cgroup_location *ret_location)
{
    struct str path;
    bool is_v1 = controller.n > 0 && group_path(groups, controller, &path);
    return (is_v1 || group_path(groups, STR(""), &path)) &&
           locate_in_mounts(root, mounts, is_v1 ? 1 : 2, controller, path, ret_location);
}

/* The rows point into text; where that is empty, it is read first. */
static int mounts_read(const struct sysroot *root, struct buf *text, struct mountinfo *ret_mounts, struct err *err)
{
    int r = text->len > 0 ? 0 : file_read_at(root->proc_fd, "self/mountinfo", text);
    if (r == -ENOENT || r == -ENOTDIR)
        return err_set(err, -ENODATA, "cgroup: there is no %s/proc/self/mountinfo", root->path);
    if (r < 0)
        return err_sys(err, r, "cgroup: cannot read %s/proc/self/mountinfo", root->path);
    struct mountinfo mounts = {0};
    r = mountinfo_parse(text->data, text->len, &mounts);
    if (r < 0) {
        mountinfo_fini(&mounts);
        return err_sys(err, r, "cgroup: cannot hold %s/proc/self/mountinfo", root->path);
    }
    *ret_mounts = mounts;
    return 0;
}

/* Of the controllers, or (count 1) of the v2 hierarchy. Sets the locations of those that it finds. */
static int find(const struct sysroot *root, struct str groups, struct str mountinfo, size_t count,
    struct cgroup_location *ret_locations, struct err *err)
{
    AUTO_BUF struct buf text = {.max = MOUNTS_BYTES_MAX};
    buf_append(&text, mountinfo.p, mountinfo.n);
    struct mountinfo mounts = {0};
    int r = buf_ok(&text) ? mounts_read(root, &text, &mounts, err)
                          : err_set(err, -ENOMEM, "cgroup: cannot hold %s/proc/self/mountinfo", root->path);
    if (r < 0)
        return r;
    bool found = false;
    for (size_t i = 0; i < count; i++)
        found |= locate(root, groups, &mounts, count == 1 ? STR("") : controller_names[i], &ret_locations[i]);
    mountinfo_fini(&mounts);
    return found ? 0
                 : err_set(err, -ENODATA, "cgroup: no mount shows the %scontrol group of this process",
                       count == 1 ? "v2 " : "");
}

int cgroup_path_find(const struct sysroot *root, struct str groups, struct str mountinfo,
    struct cgroup_location ret_locations[CGROUP_CONTROLLERS], struct err *err)
{
    memset(ret_locations, 0, CGROUP_CONTROLLERS * sizeof(*ret_locations));
    return find(root, groups, mountinfo, CGROUP_CONTROLLERS, ret_locations, err);
}

int cgroup_path_find_v2(
    const struct sysroot *root, struct str groups, struct cgroup_location *ret_location, struct err *err)
{
    struct str path;
    if (!group_path(groups, STR(""), &path))
        return err_set(err, -ENODATA, "cgroup: there is no v2 hierarchy");
    return find(root, groups, STR(""), 1, ret_location, err);
}

struct search {
    bool is_path, is_id, is_ambiguous;
    pid_t pid; /* the lowest that was found; 0: none */
    char wanted[PATH_MAX]; /* part of the path of a process */
    char found[PATH_MAX]; /* the path of the group */
    char path[PATH_MAX];
};

/*
 * What to search for. A path below a mount point stands for what the mount shows there; a unit without its type is a
 * service.
 */
static bool begin_search(const struct mountinfo *mounts, const char *group, struct search *search)
{
    const char *top = "", *rest = group, *suffix = "";
    bool is_unit = strncmp(group, "unit:", 5) == 0;
    search->is_path = group[0] == '/';
    search->is_id = strspn(group, "0123456789abcdef") >= ID_DIGITS_MIN;
    if (is_unit) {
        top = "/";
        rest = group + 5;
        suffix = strchr(group, '.') ? "" : ".service";
    }
    for (size_t i = 0; i < mounts->count; i++) {
        const struct mount_row *row = &mounts->items[i];
        size_t n = strlen(row->mount_point);
        if (strncmp(row->fstype, "cgroup", 6) == 0 && strncmp(group, row->mount_point, n) == 0 && group[n] == '/') {
            top = row->root + (row->root[1] == '\0');
            rest = group + n;
        }
    }
    (void)snprintf(search->wanted, PATH_MAX, "%s%s%s", top, rest, suffix);
    for (size_t n = strlen(search->wanted); n > 1 && search->wanted[n - 1] == '/'; n--)
        search->wanted[n - 1] = '\0';
    return search->is_path || search->is_id || is_unit;
}

/*
 * Where the process is in the group, or below it, its path is cut behind the group. The ID of a container stands in
 * "docker-ID.scope", "libpod-ID.scope" or "ID", but podman's monitor of the container is in "libpod-conmon-ID.scope".
 */
static bool cut_at_group(const struct search *search, char *path)
{
    for (char *at = path; (at = strstr(at, search->wanted)) && (at == path || !search->is_path); at++) {
        char *end = at + strlen(search->wanted);
        while (search->is_id && *end != '\0' && *end != '/')
            end++;
        if ((*end != '\0' && *end != '/') || (search->is_id && strstr(path, "-conmon-")))
            continue;
        *end = '\0';
        return true;
    }
    return false;
}

static void search_process(struct search *search, pid_t pid, struct str groups)
{
    struct cgroup_line line;
    while (cgroup_line_next(&groups, &line)) {
        (void)str_copy(line.path, search->path, PATH_MAX);
        if (!cut_at_group(search, search->path))
            continue;
        if (search->pid == 0) {
            search->pid = pid;
            memcpy(search->found, search->path, PATH_MAX);
        }
        search->is_ambiguous |= strcmp(search->found, search->path) != 0;
    }
}

static void search_processes(const struct sysroot *root, pid_t tracker, struct search *search)
{
    struct pid_list list = {0};
    AUTO_BUF struct buf groups = {.max = MOUNTS_BYTES_MAX};
    (void)pid_list_read(root->proc_fd, PROCESSES_MAX, &list);
    for (size_t i = 0; i < list.count; i++) {
        char path[32];
        (void)snprintf(path, sizeof(path), "%d/cgroup", (int)list.items[i]);
        if (list.items[i] != tracker && file_read_at(root->proc_fd, path, &groups) >= 0)
            search_process(search, list.items[i], buf_str(&groups));
    }
    pid_list_fini(&list);
}

int cgroup_path_attach(const struct sysroot *root, const char *group, pid_t tracker,
    struct cgroup_location ret_locations[CGROUP_CONTROLLERS], pid_t *ret_pid, struct err *err)
{
    AUTO_BUF struct buf text = {.max = MOUNTS_BYTES_MAX};
    struct mountinfo mounts = {0};
    struct search search = {0};
    int r = mounts_read(root, &text, &mounts, err);
    if (r < 0)
        return r;
    if (begin_search(&mounts, group, &search))
        search_processes(root, tracker, &search);
    r = -ESRCH;
    for (int i = search.pid > 0 && !search.is_ambiguous ? CGROUP_CONTROLLERS : 0; i-- > 0;) {
        unsigned version = 1;
        while (version <= 2 &&
               !locate_in_mounts(root, &mounts, version, controller_names[i], str_of(search.found), &ret_locations[i]))
            version++;
        if (version <= 2 && r != CGROUP_CPUACCT)
            r = i;
    }
    mountinfo_fini(&mounts);
    *ret_pid = search.pid;
    if (r < 0)
        (void)err_set(err, r, "%s%s",
            search.is_ambiguous ? "several match, such as "
            : search.pid > 0    ? "no mount shows "
                                : "no process is in such a group (a path, unit:NAME or the ID of a container)",
            search.found);
    return r;
}

bool cgroup_path_enter(struct cgroup_location *location, const char *dir)
{
    struct str group = str_of(dir), top = {location->dir, location->top_len};
    if (group.n >= sizeof(location->dir))
        return false;
    bool below = str_starts(group, top) && (top.n == 0 || group.n == top.n || group.p[top.n] == '/');
    location->len = group.n;
    location->top_len = below ? top.n : group.n;
    (void)str_copy(group, location->dir, sizeof(location->dir));
    return true;
}
