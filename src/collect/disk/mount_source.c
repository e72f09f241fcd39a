/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/disk/mount_source.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/num.h"
#include "base/str.h"

enum { HOPS_MAX = 8 };

/* "dev" or "dev/..." after "." and ".." have been taken out; nothing else is looked at, so nothing can hang. */
static bool is_below_dev(const char *path)
{
    return strncmp(path, "dev/", 4) == 0;
}

/* Puts `more` behind the folder `path` (without a leading slash), resolving "." and ".." by the text alone. */
static bool join_path(char path[static PATH_MAX], struct str more)
{
    size_t n = strlen(path);
    while (more.n > 0) {
        const char *slash = memchr(more.p, '/', more.n);
        struct str part = {more.p, slash ? (size_t)(slash - more.p) : more.n};
        size_t used = part.n + (slash ? 1 : 0);
        more.p += used;
        more.n -= used;
        if (part.n == 0 || str_eq(part, STR(".")))
            continue;
        if (str_eq(part, STR(".."))) {
            while (n > 0 && path[--n] != '/')
                ;
            path[n] = '\0';
            continue;
        }
        if (n + part.n + 2 > PATH_MAX)
            return false;
        if (n > 0)
            path[n++] = '/';
        memcpy(path + n, part.p, part.n);
        n += part.n;
        path[n] = '\0';
    }
    return true;
}

/* One link further: 1 followed, 0 not a link (or not there), negative errno. */
static int follow_link(int root_fd, char path[static PATH_MAX])
{
    char target[PATH_MAX];
    ssize_t n = readlinkat(root_fd, path, target, sizeof(target));
    if (n <= 0)
        return 0;
    struct str text = {target, (size_t)n};
    char *last = strrchr(path, '/');
    if (target[0] == '/' || !last)
        path[0] = '\0';
    else
        *last = '\0';
    return join_path(path, text) ? 1 : -ENAMETOOLONG;
}

static int read_number(int sys_fd, const char *name, unsigned *ret_major, unsigned *ret_minor)
{
    char path[PATH_MAX];
    char text[32];
    if (snprintf(path, sizeof(path), "class/block/%s/dev", name) >= (int)sizeof(path))
        return -ENAMETOOLONG;
    int r = file_read_line_at(sys_fd, path, text, sizeof(text));
    if (r < 0)
        return r;
    struct str rest = str_of(text);
    uint64_t major, minor;
    if (!num_next_u64(&rest, &major) || rest.n < 2 || rest.p[0] != ':')
        return -ENODEV;
    rest = (struct str){rest.p + 1, rest.n - 1};
    if (num_parse_u64(rest, &minor) < 0 || major == 0 || major > UINT_MAX || minor > UINT_MAX)
        return -ENODEV;
    *ret_major = (unsigned)major;
    *ret_minor = (unsigned)minor;
    return 0;
}

int mount_source_resolve(const struct sysroot *root, const char *source, unsigned *ret_major, unsigned *ret_minor)
{
    char path[PATH_MAX] = "";
    /* bcachefs names all its devices: /dev/sda:/dev/sdb. */
    const char *second = strstr(source, ":/dev/");
    if (!join_path(path, second ? (struct str){source, (size_t)(second - source)} : str_of(source)))
        return -ENAMETOOLONG;
    int followed = 1;
    for (int hop = 0; is_below_dev(path) && (followed = follow_link(root->root_fd, path)) > 0; hop++) {
        if (hop == HOPS_MAX)
            return -ELOOP;
    }
    if (followed < 0)
        return followed;
    if (!is_below_dev(path))
        return -ENODEV;
    const char *last = strrchr(path, '/') + 1;
    if (read_number(root->sys_fd, last, ret_major, ret_minor) == 0)
        return 0;
    /* /dev/cciss/c0d0p1 is cciss!c0d0p1 there. */
    char *name = path + strlen("dev/");
    for (char *p = name; *p; p++) {
        if (*p == '/')
            *p = '!';
    }
    return read_number(root->sys_fd, name, ret_major, ret_minor) == 0 ? 0 : -ENODEV;
}
