/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers as JSON shows them: with 4 decimals. What is made of samples is made of these, so that a recording gives
 * exactly what the run itself gave.
 */
#ifndef MODEL_SHOWN_H
#define MODEL_SHOWN_H

#include "base/opt.h"
#include "model/sample.h"

#define SHOWN_E4 10000

/* The value in ten-thousandths, rounded as num_write_short does; absent where JSON has null, and from 9e14 on. */
struct opt_i64 shown_e4(struct opt_f64 value);

static inline double shown_from_e4(int64_t e4)
{
    return (double)e4 / SHOWN_E4;
}

/*
 * How long the interval of a sample was, in ten-thousandths of a second. JSON has it in whole milliseconds and the time
 * since the start more exactly: where the two agree the growth of that time since the sample before (absent: there is
 * none, or it is not known) is taken. In a first sample it is the time since the start.
 */
int64_t shown_interval_e4(const struct sample *sample, struct opt_i64 elapsed_before_e4);

/* The value as a recording has it. */
static inline struct opt_f64 shown_f64(struct opt_f64 value)
{
    struct opt_i64 e4 = shown_e4(value);
    return (struct opt_f64){e4.has, shown_from_e4(e4.v)};
}

#endif
