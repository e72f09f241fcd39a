/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a group's name to its directory. The input is three strings with a NUL between them: the group, the root of the
 * mount and the mount point. A location never leads out of the mount, and the way up from it ends at the mount.
 */
#include "fuzz.h"

#include "collect/cgroup/cgroup.h"

enum { STRINGS = 3 };

static void check_no_way_out(const char *dir)
{
    while (*dir) {
        size_t n = strcspn(dir, "/");
        check(n != 2 || memcmp(dir, "..", 2) != 0);
        dir += n + (dir[n] == '/');
    }
}

static void check_place(const struct cgroup_location *location)
{
    check(location->len < sizeof(location->dir) && strnlen(location->dir, sizeof(location->dir)) == location->len);
    check(location->top_len <= location->len);
    check(location->len == 0 || (location->dir[0] != '/' && location->dir[location->len - 1] != '/'));
    check(location->top_len == 0 || location->top_len == location->len || location->dir[location->top_len] == '/');
    check_no_way_out(location->dir);
    size_t len = location->len;
    for (size_t before = len; cgroup_path_up(location, &len); before = len)
        check(len < before && len >= location->top_len && (location->dir[len] == '/' || len == location->top_len));
    check(len == location->top_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy_string(data, size);
    if (!copy)
        return 0;
    const char *strings[STRINGS];
    const char *at = copy;
    for (size_t i = 0; i < STRINGS; i++) {
        strings[i] = at;
        at += strlen(at);
        at += at < copy + size ? 1 : 0;
    }
    /* Only what is written on success may be read, so the location is garbage before. */
    struct cgroup_location location;
    memset(&location, 0xa5, sizeof(location));
    if (cgroup_path_translate(str_of(strings[0]), strings[1], strings[2], &location))
        check_place(&location);
    free(copy);
    return 0;
}
