/* SPDX-License-Identifier: Apache-2.0 */
/* A series in the making, and samples for it. cmocka.h comes before it. */
#ifndef TESTS_UNIT_SERIES_SCENARIO_H
#define TESTS_UNIT_SERIES_SCENARIO_H

#include "summary/series.h"

/* Of an interval of one second, with a CPU section of which nothing is known. */
static inline struct sample at_secs(double secs)
{
    struct sample sample = {.elapsed_secs = some_f64(secs), .actual_interval_ms = some_f64(1000)};
    sample.cpu.present = true;
    return sample;
}

static inline void add(struct series *series, const struct sample *sample)
{
    const struct sample_totals totals = sample_totals_of(sample, true);
    series_add(series, sample, &totals);
}

static inline struct series *made(void)
{
    struct series *series = NULL;
    assert_int_equal(series_new(&series), 0);
    return series;
}

#endif
