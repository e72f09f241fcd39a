/* SPDX-License-Identifier: Apache-2.0 */
/* Energy of a run and of several, with and without GPUs, and its CO2. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tally_scenario.h"

static void add_energy(struct accumulator *tally, unsigned i, const struct sample_energy *energy)
{
    struct sample sample = second(i, 1, 100);
    sample.energy = *energy;
    add_sample(tally, &sample);
}

static const struct sample_energy each = {.present = true,
    .package_joules = {true, 30},
    .dram_joules = {true, 6},
    .platform_joules = {true, 60},
    .idle_joules = {true, 18},
    .process_joules = {true, 9},
    .source = "rapl"};

static void test_run(void **state)
{
    for (unsigned i = 1; i <= 4; i++)
        add_energy(*state, i, &each);
    accumulate_set_carbon(*state, 500);
    const struct summary_energy *energy = &accumulate_finish(*state)->energy;
    assert_true(energy->present);
    assert_f64(energy->package_joules, 120);
    assert_f64(energy->dram_joules, 24);
    assert_f64(energy->platform_joules, 240);
    assert_f64(energy->idle_joules, 72);
    assert_f64(energy->process_joules, 36);
    assert_f64(energy->mean_watts, 36);
    assert_false(energy->gpu_joules.has);
    assert_f64(energy->job_joules, 36);
    assert_f64(energy->job_wh, 0.01);
    assert_f64(energy->carbon_grams, 0.01 * 500 / 1000);
    assert_string_equal(energy->source, "rapl");
}

/* Power is over the time in which energy was known, not over the run. */
static void test_known_in_part(void **state)
{
    const struct sample_energy none = {0}, battery = {.present = true, .platform_joules = {true, 60}};
    for (unsigned i = 1; i <= 8; i++)
        add_energy(*state, i, i <= 2 ? &each : &none);
    accumulate_next_run(*state);
    for (unsigned i = 1; i <= 4; i++)
        add_energy(*state, i, &battery);
    const struct summary_energy *energy = &accumulate_finish(*state)->energy;
    assert_f64(energy->package_joules, 60);
    assert_f64(energy->platform_joules, 360);
    assert_f64(energy->mean_watts, 36);
}

static void test_runs(void **state)
{
    struct sample_energy other = each;
    other.source = "cray";
    for (unsigned i = 1; i <= 4; i++)
        add_energy(*state, i, &each);
    accumulate_next_run(*state);
    for (unsigned i = 1; i <= 6; i++)
        add_energy(*state, i, &other);
    const struct summary_energy *energy = &accumulate_finish(*state)->energy;
    assert_f64(energy->package_joules, 300);
    assert_f64(energy->process_joules, 90);
    assert_f64(energy->mean_watts, 36);
    assert_false(energy->carbon_grams.has);
    assert_string_equal(energy->source, "several");
}

static void test_gpu(void **state)
{
    static const struct sample_gpu gpu = {.name = "A", .power_watts = {true, 100}};
    for (unsigned i = 1; i <= 2; i++) {
        struct sample sample = second(i, 1, 100);
        sample.gpu = (struct sample_list){true, 1, &gpu};
        sample.cpu.process_gpu_usage = some_f64(0.5);
        sample.energy = each;
        add_sample(*state, &sample);
    }
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->gpu.energy_joules, 200);
    assert_f64(summary->energy.gpu_joules, 200);
    assert_f64(summary->energy.job_joules, 218);
}

static void test_unused_gpu(void **state)
{
    static const struct sample_gpu gpu = {.name = "A", .power_watts = {true, 100}};
    for (unsigned i = 1; i <= 2; i++) {
        struct sample sample = second(i, 1, 100);
        sample.gpu = (struct sample_list){true, 1, &gpu};
        sample.cpu.process_gpu_usage = some_f64(0);
        add_sample(*state, &sample);
    }
    accumulate_set_carbon(*state, 500);
    const struct summary *summary = accumulate_finish(*state);
    assert_f64(summary->gpu.energy_joules, 200);
    assert_false(summary->energy.present);
    assert_false(summary->energy.carbon_grams.has);
    const char *const *notes = summary->notes.items;
    assert_int_equal(summary->notes.count, 1);
    assert_string_equal(notes[0], "the energy of the job is not known, so its CO2 is not either");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_run), TEST(test_known_in_part), TEST(test_runs), TEST(test_gpu), TEST(test_unused_gpu)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
