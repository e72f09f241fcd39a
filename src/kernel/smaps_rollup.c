/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /proc/PID/smaps_rollup (Documentation/filesystems/proc.rst): a line with the span of all mappings, then sums:
 *   Pss:                 397 kB
 *   Anonymous:           112 kB
 * A line without its LF is not trusted.
 */
#include "kernel/smaps_rollup.h"

#include <errno.h>

#include "base/num.h"

/* The LF stands behind `line`. */
static void parse_amount(struct str line, struct str key, struct opt_u64 *amount_kib)
{
    uint64_t kib;
    if (!str_starts(line, key))
        return;
    const char *p = line.p + key.n;
    if (num_next_in_line(&p, &kib) && str_eq((struct str){p, (size_t)(line.p + line.n - p)}, STR(" kB")))
        *amount_kib = some_u64(kib);
}

int smaps_rollup_parse(struct str text, struct smaps_rollup *ret)
{
    struct opt_u64 rss_kib = {0}, pss_kib = {0};
    struct smaps_rollup rollup = {0};
    const char *lf;
    while (text.n > 0 && (lf = memchr(text.p, '\n', text.n))) {
        struct str line = {text.p, (size_t)(lf - text.p)};
        text = (struct str){lf + 1, text.n - line.n - 1};
        if (!rss_kib.has)
            parse_amount(line, STR("Rss:"), &rss_kib);
        if (!pss_kib.has)
            parse_amount(line, STR("Pss:"), &pss_kib);
        parse_amount(line, STR("Pss_Anon:"), &rollup.pss_anon_kib);
        parse_amount(line, STR("Anonymous:"), &rollup.anonymous_kib);
        parse_amount(line, STR("KSM:"), &rollup.ksm_kib);
    }
    if (!rss_kib.has || !pss_kib.has)
        return -EINVAL;
    rollup.rss_kib = rss_kib.v;
    rollup.pss_kib = pss_kib.v;
    *ret = rollup;
    return 0;
}
