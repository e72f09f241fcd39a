/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pressure stall information, one or two lines:
 *   some avg10=2.83 avg60=1.04 avg300=0.30 total=6776423
 * The averages are not read: totals make exact ones over our own interval. A line without its LF is not trusted.
 */
#include "kernel/pressure.h"

#include <errno.h>

#include "base/num.h"

/* The total has always been the last word, found from its end; one that moved would still be found. */
static const char *find_key(struct str line, struct str key)
{
    const char *p = line.p + line.n;
    while (p > line.p && (unsigned char)(p[-1] - '0') <= 9)
        p--;
    if ((size_t)(p - line.p) >= key.n && memcmp(p - key.n, key.p, key.n) == 0)
        return p - key.n;
    return memmem(line.p, line.n, key.p, key.n);
}

/* An LF follows the line. */
static struct opt_u64 find_total(struct str line)
{
    static const struct str key = {" total=", 7};
    const char *at = find_key(line, key);
    if (!at)
        return (struct opt_u64){0};
    const char *p = at + key.n;
    uint64_t total;
    if (*p == ' ' || !num_next_in_line(&p, &total) || (*p != ' ' && *p != '\n'))
        return (struct opt_u64){0};
    return some_u64(total);
}

int pressure_parse(struct str text, struct pressure *ret)
{
    struct pressure pressure = {0};
    const char *lf;
    while (text.n > 0 && (lf = memchr(text.p, '\n', text.n))) {
        struct str line = {text.p, (size_t)(lf - text.p)};
        text = (struct str){lf + 1, text.n - line.n - 1};
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
