/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the tally share: a tally for each, seconds of a job, and numbers met to the last bit. */
#ifndef TESTS_UNIT_TALLY_SCENARIO_H
#define TESTS_UNIT_TALLY_SCENARIO_H

#include "summary/accumulate.h"

int tally_scenario_setup(void **state);
int tally_scenario_teardown(void **state);

#define TEST(name) cmocka_unit_test_setup_teardown(name, tally_scenario_setup, tally_scenario_teardown)

/* The numbers come from ten-thousandths, so those of a test are met to the last bit. */
void assert_f64(struct opt_f64 value, double wanted);

/* With its totals. */
void add_sample(struct accumulator *accumulator, const struct sample *sample);

/* The i-th second of a job that uses `cores` and `rss` MiB. */
struct sample second(unsigned i, double cores, double rss);

#endif
