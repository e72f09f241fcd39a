/* SPDX-License-Identifier: Apache-2.0 */
#include "tally_scenario.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

int tally_scenario_setup(void **state)
{
    struct accumulator *tally;
    int code = accumulate_new(&tally);
    *state = tally;
    return code;
}

int tally_scenario_teardown(void **state)
{
    accumulate_free(*state);
    return 0;
}

void assert_f64(struct opt_f64 value, double wanted)
{
    assert_true(value.has);
    if (!(value.v <= wanted && value.v >= wanted))
        fail_msg("%.17g instead of %.17g", value.v, wanted);
}

struct sample second(unsigned i, double cores, double rss)
{
    struct sample sample = {.timestamp_ms = some_i64(1700000000000 + i * 1000), .elapsed_secs = some_f64(i)};
    if (i > 1)
        sample.actual_interval_ms = some_f64(1000);
    sample.tracked_pid = some_u64(42);
    sample.version = "1.2.3";
    sample.job_name = "job";
    sample.cpu.present = true;
    sample.cpu.process_cores_used = some_f64(cores);
    sample.cpu.process_utime_secs = some_f64(cores / 2);
    sample.cpu.process_stime_secs = some_f64(cores / 2);
    sample.cpu.process_rss_mib = some_f64(rss);
    return sample;
}

void add_sample(struct accumulator *accumulator, const struct sample *sample)
{
    const struct sample_totals totals = sample_totals_of(sample, true);
    accumulate_add(accumulator, sample, &totals);
}
