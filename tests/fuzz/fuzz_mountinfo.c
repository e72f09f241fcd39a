/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/mountinfo: every decoded string begins and ends inside the text. */
#include "fuzz.h"

#include "kernel/mountinfo.h"

static void check_inside(const char *string, const char *text, size_t size)
{
    check(string >= text && string < text + size);
    check(memchr(string, '\0', size - (size_t)(string - text)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct mountinfo info = {0};
    int r = mountinfo_parse(copy, size, &info);
    check(info.count <= info.cap && info.cap <= MOUNTINFO_ROWS_MAX && (r == 0 || info.count == 0));
    for (size_t i = 0; i < info.count; i++) {
        const struct mount_row *row = &info.items[i];
        check(row->id >= 0 && row->parent >= 0 && row->root[0] && row->mount_point[0] && row->fstype[0]);
        const char *const strings[] = {
            row->root, row->mount_point, row->options, row->fstype, row->source, row->super_options};
        for (size_t j = 0; j < sizeof(strings) / sizeof(strings[0]); j++)
            check_inside(strings[j], copy, size);
    }
    mountinfo_fini(&info);
    free(copy);
    return 0;
}
