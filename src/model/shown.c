/* SPDX-License-Identifier: Apache-2.0 */
#include "model/shown.h"

struct opt_i64 shown_e4(struct opt_f64 value)
{
    static const double limit = 9e14; /* ten-thousandths of it fit */
    double magnitude = value.v < 0 ? -value.v : value.v;
    if (!value.has || !(magnitude <= limit))
        return (struct opt_i64){0};
    int64_t whole = (int64_t)magnitude;
    int64_t e4 = whole * SHOWN_E4 + (int64_t)((magnitude - (double)whole) * SHOWN_E4 + 0.5);
    return some_i64(value.v < 0 ? -e4 : e4);
}

int64_t shown_interval_e4(const struct sample *sample, struct opt_i64 elapsed_before_e4)
{
    enum { E4_PER_MS = SHOWN_E4 / 1000, ROUNDED_E4 = E4_PER_MS / 2 + 1 };
    struct opt_i64 now = shown_e4(sample->elapsed_secs);
    struct opt_i64 ms_e4 = shown_e4(sample->actual_interval_ms);
    if (!ms_e4.has)
        return now.v > 0 ? now.v : 0;
    int64_t stated = (ms_e4.v + SHOWN_E4 / 2) / SHOWN_E4 * E4_PER_MS;
    bool has_both = now.has && elapsed_before_e4.has && elapsed_before_e4.v >= 0 && now.v >= elapsed_before_e4.v;
    int64_t grown = has_both ? now.v - elapsed_before_e4.v : stated;
    return grown >= stated - ROUNDED_E4 && grown <= stated + ROUNDED_E4 ? grown : stated;
}
