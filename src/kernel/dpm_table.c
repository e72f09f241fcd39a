/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pp_dpm_sclk, one line per level:
 *   0: 500Mhz
 *   1: 2482Mhz *
 * The level is a number or, while the clock is stopped, a letter ("S: 19Mhz *"). Some kernels leave a blank at the end.
 */
#include "kernel/dpm_table.h"

#include <errno.h>
#include <strings.h>

#include "base/num.h"

/* "1: 2482Mhz" */
static int parse_level(struct str line, uint64_t *ret_mhz)
{
    struct str level, clock, none;
    if (!str_word(&line, &level) || level.n < 2 || level.p[level.n - 1] != ':')
        return -EINVAL;
    if (!str_word(&line, &clock) || str_word(&line, &none))
        return -EINVAL;
    uint64_t mhz;
    if (clock.p[0] < '0' || clock.p[0] > '9' || !num_next_u64(&clock, &mhz))
        return -EINVAL;
    if (clock.n != 3 || strncasecmp(clock.p, "mhz", 3) != 0)
        return -EINVAL;
    *ret_mhz = mhz;
    return 0;
}

int dpm_table_parse_current(struct str text, uint64_t *ret_mhz)
{
    struct str line;
    while (str_line(&text, &line)) {
        line = str_trim(line);
        if (line.n > 0 && line.p[line.n - 1] == '*')
            return parse_level((struct str){line.p, line.n - 1}, ret_mhz);
    }
    return -ENODATA;
}
