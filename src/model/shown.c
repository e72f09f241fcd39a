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
