/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/diskstats: names are ended, not empty and free of blanks; a second reading gives the same. */
#include "fuzz.h"

#include "kernel/devices.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct diskstats stats = {0};
    int r = diskstats_parse(text, &stats);
    check(stats.count <= stats.cap && stats.cap <= DISKSTATS_ROWS_MAX && (r == 0 || stats.count == 0));
    for (size_t i = 0; i < stats.count; i++)
        check_name(stats.items[i].name, sizeof(stats.items[i].name));
    size_t count = stats.count;
    check(diskstats_parse(text, &stats) == r && stats.count == count);
    diskstats_fini(&stats);
    free(copy);
    return 0;
}
