/* SPDX-License-Identifier: Apache-2.0 */
/* Shares of a device per process, from the samples of a driver that has windows of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/gpu/nvidia/sampling.h"

#define START_US UINT64_C(1800000000000000)
#define MS UINT64_C(1000)

enum { WINDOW_MS = 200, POLL_MS = 200, JOB = 4711, OTHER = 4712 };

struct driver {
    struct nvml_usage usage;
    uint64_t now_us;
};

static void begin(struct driver *driver)
{
    nvml_usage_init(&driver->usage);
    driver->now_us = START_US;
    struct nvml_samples none = {.is_known = true};
    nvml_usage_add(&driver->usage, &none, driver->now_us, POLL_MS * MS);
}

static void poll_pair(struct driver *driver, uint32_t job_pct, uint32_t other_pct)
{
    static struct nvml_samples samples;
    driver->now_us += POLL_MS * MS;
    samples.is_known = true;
    samples.count = 0;
    const uint32_t pids[] = {JOB, OTHER}, shares[] = {job_pct, other_pct};
    for (size_t i = 0; i < 2; i++) {
        if (shares[i] > 0)
            samples.items[samples.count++] =
                (struct nvml_sample){.pid = pids[i], .time_us = driver->now_us - 50 * MS, .sm_pct = shares[i]};
    }
    nvml_usage_add(&driver->usage, &samples, driver->now_us, POLL_MS * MS);
}

static void assert_usage(const struct driver *driver, uint32_t pid, double expected)
{
    struct opt_f64 usage = nvml_usage_of(&driver->usage, pid);
    assert_true(usage.has);
    assert_true(usage.v > expected - 0.011 && usage.v < expected + 0.011);
}

static void test_nothing_is_known_at_first(void **state)
{
    (void)state;
    static struct driver driver;
    begin(&driver);
    assert_false(nvml_usage_of(&driver.usage, JOB).has);
    nvml_usage_close(&driver.usage);
    assert_false(nvml_usage_of(&driver.usage, JOB).has);
}

static void test_constant_load(void **state)
{
    (void)state;
    static struct driver driver;
    begin(&driver);
    for (int second = 0; second < 3; second++) {
        for (int i = 0; i < 5; i++)
            poll_pair(&driver, 90, 0);
        assert_usage(&driver, JOB, 0.9);
        assert_usage(&driver, OTHER, 0);
        nvml_usage_close(&driver.usage);
        assert_usage(&driver, JOB, 0.9);
    }
    assert_int_equal(driver.usage.seen_us, driver.now_us - 50 * MS);
}

/* 400 ms of 1 s busy: the average, not the last window. */
static void test_average_over_the_period(void **state)
{
    (void)state;
    static struct driver driver;
    begin(&driver);
    for (int i = 0; i < 10; i++)
        poll_pair(&driver, 50, 50);
    nvml_usage_close(&driver.usage);
    for (int i = 0; i < 5; i++)
        poll_pair(&driver, i < 2 ? 100 : 0, 20);
    assert_usage(&driver, JOB, 0.4);
    assert_usage(&driver, OTHER, 0.2);
}

static void test_idle_after_load_becomes_zero(void **state)
{
    (void)state;
    static struct driver driver;
    begin(&driver);
    for (int i = 0; i < 10; i++)
        poll_pair(&driver, 100, 0);
    nvml_usage_close(&driver.usage);
    for (int i = 0; i < 10; i++)
        poll_pair(&driver, 0, 0);
    nvml_usage_close(&driver.usage);
    for (int i = 0; i < 5; i++)
        poll_pair(&driver, 0, 0);
    assert_usage(&driver, JOB, 0);
    nvml_usage_close(&driver.usage);
    assert_usage(&driver, JOB, 0);
    assert_int_equal(driver.usage.count, 0);
}

/* A long pause counts as idle, not as time that the next sample stands for. */
static void test_load_after_idle(void **state)
{
    (void)state;
    static struct driver driver;
    begin(&driver);
    for (int i = 0; i < 10; i++)
        poll_pair(&driver, 100, 0);
    for (int i = 0; i < 50; i++)
        poll_pair(&driver, 0, 0);
    nvml_usage_close(&driver.usage);
    for (int i = 0; i < 4; i++)
        poll_pair(&driver, 0, 0);
    poll_pair(&driver, 100, 0);
    /* 200 ms of work; the window may reach back by one poll. */
    struct opt_f64 usage = nvml_usage_of(&driver.usage, JOB);
    assert_true(usage.has && usage.v > 0.15 && usage.v < 0.45);
}

/* Asked more often than the driver has news, the value stays instead of jumping between 0 and twice the truth. */
static void test_short_periods(void **state)
{
    (void)state;
    static struct driver driver;
    static struct nvml_samples samples;
    begin(&driver);
    for (int i = 0; i < 40; i++) {
        driver.now_us += 100 * MS;
        bool has_news = i % 2 == 0;
        samples = (struct nvml_samples){.is_known = true, .count = has_news};
        samples.items[0] = (struct nvml_sample){.pid = JOB, .time_us = driver.now_us - 10 * MS, .sm_pct = 60};
        nvml_usage_add(&driver.usage, &samples, driver.now_us, 100 * MS);
        if (i > 20)
            assert_usage(&driver, JOB, 0.6);
        nvml_usage_close(&driver.usage);
        if (i > 20)
            assert_usage(&driver, JOB, 0.6);
    }
}

static void test_several_rows_of_one_process(void **state)
{
    (void)state;
    static struct driver driver;
    static struct nvml_samples samples;
    begin(&driver);
    for (int i = 0; i < 4; i++)
        poll_pair(&driver, 10, 0);
    nvml_usage_close(&driver.usage);
    driver.now_us += 400 * MS;
    samples = (struct nvml_samples){.is_known = true, .count = 2};
    samples.items[0] = (struct nvml_sample){.pid = JOB, .time_us = driver.now_us - 250 * MS, .sm_pct = 100};
    samples.items[1] = (struct nvml_sample){.pid = JOB, .time_us = driver.now_us - 50 * MS, .sm_pct = 50};
    nvml_usage_add(&driver.usage, &samples, driver.now_us, 400 * MS);
    assert_usage(&driver, JOB, 0.75);
}

/* Each process has the time at which it was last seen; both averages are of the whole time. */
static void test_rows_of_several_times(void **state)
{
    (void)state;
    static struct driver driver;
    static struct nvml_samples samples;
    begin(&driver);
    for (int i = 0; i < 4; i++)
        poll_pair(&driver, 10, 0);
    nvml_usage_close(&driver.usage);
    driver.now_us += 1000 * MS;
    samples = (struct nvml_samples){.is_known = true, .count = 2};
    samples.items[0] = (struct nvml_sample){.pid = JOB, .time_us = driver.now_us - 250 * MS, .sm_pct = 60};
    samples.items[1] = (struct nvml_sample){.pid = OTHER, .time_us = driver.now_us - 50 * MS, .sm_pct = 40};
    nvml_usage_add(&driver.usage, &samples, driver.now_us, 1000 * MS);
    assert_usage(&driver, JOB, 0.6);
    assert_usage(&driver, OTHER, 0.4);
}

static void test_clock_is_set(void **state)
{
    (void)state;
    static struct driver driver;
    begin(&driver);
    for (int i = 0; i < 5; i++)
        poll_pair(&driver, 80, 0);
    nvml_usage_close(&driver.usage);
    driver.now_us -= 3600 * 1000 * MS;
    for (int i = 0; i < 6; i++)
        poll_pair(&driver, 80, 0);
    assert_usage(&driver, JOB, 0.8);
    nvml_usage_close(&driver.usage);
    driver.now_us += 3600 * 1000 * MS;
    for (int i = 0; i < 6; i++)
        poll_pair(&driver, 80, 0);
    assert_usage(&driver, JOB, 0.8);
}

/* A sample of the future must not hide all that come before its time. */
static void test_future_times(void **state)
{
    (void)state;
    static struct driver driver;
    static struct nvml_samples samples;
    begin(&driver);
    poll_pair(&driver, 50, 0);
    driver.now_us += POLL_MS * MS;
    samples = (struct nvml_samples){.is_known = true, .count = 1};
    samples.items[0] = (struct nvml_sample){.pid = JOB, .time_us = driver.now_us + 86400000 * MS, .sm_pct = 50};
    nvml_usage_add(&driver.usage, &samples, driver.now_us, POLL_MS * MS);
    assert_int_equal(driver.usage.seen_us, driver.now_us);
    nvml_usage_close(&driver.usage);
    for (int i = 0; i < 5; i++)
        poll_pair(&driver, 50, 0);
    assert_usage(&driver, JOB, 0.5);
}

static void test_more_processes_than_fit(void **state)
{
    (void)state;
    static struct nvml_usage usage;
    static struct nvml_samples samples;
    struct nvml_samples none = {.is_known = true};
    nvml_usage_init(&usage);
    nvml_usage_add(&usage, &none, START_US, POLL_MS * MS);
    for (uint32_t round = 1; round <= 2; round++) {
        samples = (struct nvml_samples){.is_known = true, .count = NVML_PROCESSES_MAX};
        for (uint32_t i = 0; i < NVML_PROCESSES_MAX; i++)
            samples.items[i] =
                (struct nvml_sample){.pid = round * 1000 + i, .time_us = START_US + round * 200 * MS, .sm_pct = 1};
        nvml_usage_add(&usage, &samples, START_US + round * 200 * MS, POLL_MS * MS);
    }
    assert_int_equal(usage.count, NVML_PROCESSES_MAX);
    assert_true(nvml_usage_of(&usage, 1000).v > 0);
    assert_true(nvml_usage_of(&usage, 2000).v == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_is_known_at_first),
        cmocka_unit_test(test_constant_load),
        cmocka_unit_test(test_average_over_the_period),
        cmocka_unit_test(test_idle_after_load_becomes_zero),
        cmocka_unit_test(test_load_after_idle),
        cmocka_unit_test(test_short_periods),
        cmocka_unit_test(test_several_rows_of_one_process),
        cmocka_unit_test(test_rows_of_several_times),
        cmocka_unit_test(test_clock_is_set),
        cmocka_unit_test(test_future_times),
        cmocka_unit_test(test_more_processes_than_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
