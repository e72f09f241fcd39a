/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stream/stream_internal.h"

static struct sample sample_of(double host_cores, double tree_cores, double host_mib, double tree_mib)
{
    struct sample sample = {.tracked_pid = some_u64(7)};
    sample.cpu.utilization_pct = some_f64(host_cores);
    sample.cpu.process_cores_used = some_f64(tree_cores);
    sample.cpu.process_rss_mib = some_f64(tree_mib);
    sample.memory.used_mib = some_f64(host_mib);
    return sample;
}

static void add(struct means *means, const struct sample *sample)
{
    const struct sample_totals totals = sample_totals_of(sample, true);
    means_add(means, sample, &totals);
}

static const char *allocation(struct sample sample)
{
    struct means means = {0};
    add(&means, &sample);
    return means_allocation(&means);
}

static void test_nothing_to_compare(void **state)
{
    (void)state;
    struct means means = {0};
    assert_null(means_allocation(&means));
    struct sample host_alone = sample_of(1, 1, 100, 100);
    host_alone.tracked_pid = (struct opt_u64){0};
    add(&means, &host_alone);
    assert_null(means_allocation(&means));
}

static void test_dedicated(void **state)
{
    (void)state;
    assert_string_equal(allocation(sample_of(4.2, 4.0, 4000, 3700)), "dedicated");
}

static void test_cpu_of_others(void **state)
{
    (void)state;
    assert_string_equal(allocation(sample_of(4.26, 4.0, 4000, 3700)), "shared"); /* more than 0.25 cores */
    assert_string_equal(allocation(sample_of(0.126, 0.1, 4000, 3700)), "shared"); /* more than a quarter */
}

static void test_memory_of_others(void **state)
{
    (void)state;
    assert_string_equal(allocation(sample_of(4, 4, 4300, 3700)), "shared"); /* more than 512 MiB */
    assert_string_equal(allocation(sample_of(4, 4, 310, 200)), "shared"); /* more than half as much again */
    assert_string_equal(allocation(sample_of(4, 4, 290, 200)), "dedicated");
}

static void test_proportional_memory_goes_first(void **state)
{
    (void)state;
    struct sample sample = sample_of(4, 4, 300, 290);
    sample.cpu.process_pss_mib = some_f64(100);
    assert_string_equal(allocation(sample), "shared");
}

static void test_gpus_of_others(void **state)
{
    (void)state;
    struct sample_gpu gpus[2] = {{.utilization_pct = some_f64(90), .vram_used_bytes = some_u64(1048576000)},
        {.utilization_pct = some_f64(50), .vram_used_bytes = some_u64(1048576000)}};
    struct sample sample = sample_of(4, 4, 100, 100);
    sample.gpu = (struct sample_list){.present = true, .items = gpus, .count = 2};
    sample.cpu.process_gpu_usage = some_f64(1.3);
    sample.cpu.process_gpu_vram_mib = some_f64(1900);
    assert_string_equal(allocation(sample), "dedicated");
    sample.cpu.process_gpu_usage = some_f64(0.9);
    assert_string_equal(allocation(sample), "shared");
    sample.cpu.process_gpu_usage = some_f64(1.3);
    sample.cpu.process_gpu_vram_mib = some_f64(1400);
    assert_string_equal(allocation(sample), "shared");
}

static void test_means_over_samples(void **state)
{
    (void)state;
    struct means means = {0};
    struct sample busy = sample_of(8, 4, 100, 100), calm = sample_of(4, 8, 100, 100);
    add(&means, &busy);
    add(&means, &calm);
    assert_string_equal(means_allocation(&means), "dedicated");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_to_compare),
        cmocka_unit_test(test_dedicated),
        cmocka_unit_test(test_cpu_of_others),
        cmocka_unit_test(test_memory_of_others),
        cmocka_unit_test(test_proportional_memory_goes_first),
        cmocka_unit_test(test_gpus_of_others),
        cmocka_unit_test(test_means_over_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
