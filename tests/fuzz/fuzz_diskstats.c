/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/diskstats: names are ended, not empty and free of blanks; a second reading gives the same. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/diskstats.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* A block of exactly this size lets the sanitizer see a read behind the end. */
    char *copy = malloc(size);
    if (!copy)
        return 0;
    if (size > 0)
        memcpy(copy, data, size);
    struct str text = {copy, size};
    struct diskstats stats = {0};
    int r = diskstats_parse(text, &stats);
    check(stats.count <= stats.cap && stats.cap <= DISKSTATS_ROWS_MAX && (r == 0 || stats.count == 0));
    for (size_t i = 0; i < stats.count; i++) {
        const char *name = stats.items[i].name;
        check(memchr(name, '\0', sizeof(stats.items[i].name)) && name[0] && !strpbrk(name, " \t\n"));
    }
    size_t count = stats.count;
    check(diskstats_parse(text, &stats) == r && stats.count == count);
    diskstats_fini(&stats);
    free(copy);
    return 0;
}
