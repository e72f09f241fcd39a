/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a group's name to its directory. The input is three strings with a NUL between them: the group, the root of the
 * mount and the mount point. A place never leads out of the mount, and the way up from it ends at the mount.
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

static void check_place(const struct cgroup_place *place)
{
    check(place->len < sizeof(place->dir) && strnlen(place->dir, sizeof(place->dir)) == place->len);
    check(place->top_len <= place->len);
    check(place->len == 0 || (place->dir[0] != '/' && place->dir[place->len - 1] != '/'));
    check(place->top_len == 0 || place->top_len == place->len || place->dir[place->top_len] == '/');
    check_no_way_out(place->dir);
    size_t len = place->len;
    for (size_t before = len; cgroup_path_up(place, &len); before = len)
        check(len < before && len >= place->top_len && (place->dir[len] == '/' || len == place->top_len));
    check(len == place->top_len);
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
    /* Only what is written on success may be read, so the place is garbage before. */
    struct cgroup_place place;
    memset(&place, 0xa5, sizeof(place));
    if (cgroup_path_translate(str_of(strings[0]), strings[1], strings[2], &place))
        check_place(&place);
    free(copy);
    return 0;
}
