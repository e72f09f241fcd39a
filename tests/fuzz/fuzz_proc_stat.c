/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/stat: cores ascend and stay below the bound; a second reading gives the same. */
#include "fuzz.h"

#include "kernel/proc.h"

static void check_cores(const struct proc_stat *stat, int r)
{
    check(stat->cores.count <= stat->cores.cap && stat->cores.cap <= PROC_STAT_CPUS_MAX);
    check(r == 0 || (r < 0 && stat->cores.count == 0));
    for (size_t i = 0; i < stat->cores.count; i++) {
        check(stat->cores.items[i].number < PROC_STAT_CPUS_MAX);
        check(i == 0 || stat->cores.items[i - 1].number < stat->cores.items[i].number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct proc_stat stat = {0};
    int r = proc_stat_parse(text, &stat);
    check_cores(&stat, r);
    size_t count = stat.cores.count;
    check(proc_stat_parse(text, &stat) == r && stat.cores.count == count);
    proc_stat_fini(&stat);
    free(copy);
    return 0;
}
