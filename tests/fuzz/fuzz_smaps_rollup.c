/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/smaps_rollup: both lines are there where it is accepted, and a line to come changes nothing. */
#include "fuzz.h"

#include <errno.h>

#include "kernel/pid.h"

static void check_longer(struct str text, int r, const struct smaps_rollup *rollup)
{
    static const struct str more = {"Pss_New: 1 kB\n", 14};
    char *longer = fuzz_join(more, text);
    if (!longer)
        return;
    struct smaps_rollup again;
    check(smaps_rollup_parse((struct str){longer, more.n + text.n}, &again) == r);
    check(r < 0 || (again.rss_kib == rollup->rss_kib && again.pss_kib == rollup->pss_kib));
    free(longer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    struct str text = {copy, size};
    struct smaps_rollup rollup = {0};
    int r = smaps_rollup_parse(text, &rollup);
    check(r == 0 || (r == -EINVAL && rollup.rss_kib == 0 && rollup.pss_kib == 0));
    if (r == 0)
        check(memmem(copy, size, "Rss:", 4) && memmem(copy, size, "Pss:", 4) && memmem(copy, size, " kB\n", 4));
    check_longer(text, r, &rollup);
    free(copy);
    return 0;
}
