/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pressure stall information, one or two lines:
 *   some avg10=2.83 avg60=1.04 avg300=0.30 total=6776423
 * The averages are not read: totals make exact ones over our own interval. A line without its LF is not trusted.
 */
#include "kernel/pressure.h"

#include <errno.h>

#include "base/num.h"

/* The total has always been the last word; one that moved would still be found. */
static const char *find_key(struct str line, struct str key)
{
    const char *last = memrchr(line.p, ' ', line.n);
    if (last && str_starts((struct str){last, (size_t)(line.p + line.n - last)}, key))
        return last;
    return memmem(line.p, line.n, key.p, key.n);
}

static struct opt_u64 find_total(struct str line)
{
    static const struct str key = {" total=", 7};
    const char *at = find_key(line, key);
    if (!at)
        return (struct opt_u64){0};
    struct str rest = {at + key.n, (size_t)(line.p + line.n - at) - key.n};
    uint64_t total;
    if (!num_next_u64(&rest, &total) || (rest.n > 0 && rest.p[0] != ' '))
        return (struct opt_u64){0};
    return some_u64(total);
}

int pressure_parse(struct str text, struct pressure *ret)
{
    struct pressure pressure = {0};
    struct str rest = text;
    struct str line;
    while (str_line(&rest, &line) && line.p + line.n != text.p + text.n) {
        if (str_starts(line, STR("some ")))
            pressure.some_total_us = find_total(line);
        else if (str_starts(line, STR("full ")))
            pressure.full_total_us = find_total(line);
    }
    if (!pressure.some_total_us.has)
        return -EINVAL;
    *ret = pressure;
    return 0;
}
