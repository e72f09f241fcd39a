/* SPDX-License-Identifier: Apache-2.0 */
/* The pressure collector over made-up kernels: new, old, without PSI, with a file missing or failing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake_env.h"

static void put(struct fake_env *fake, const char *name, unsigned some_us, int full_us)
{
    char path[64], text[256];
    (void)snprintf(path, sizeof(path), "proc/pressure/%s", name);
    int n = snprintf(text, sizeof(text), "some avg10=0.00 avg60=0.00 avg300=0.00 total=%u\n", some_us);
    if (full_us >= 0)
        (void)snprintf(
            text + n, sizeof(text) - (size_t)n, "full avg10=0.00 avg60=0.00 avg300=0.00 total=%d\n", full_us);
    fake_env_write(fake, path, text);
}

static void assert_secs(struct opt_f64 value, double secs)
{
    assert_true(value.has);
    assert_true(value.v == secs);
}

static void test_all_files(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    put(fake, "cpu", 1000000, 7);
    put(fake, "memory", 2000000, 500000);
    put(fake, "io", 3000000, 250000);
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    assert_false(run.sample.pressure.present);
    put(fake, "cpu", 1500000, 9);
    put(fake, "memory", 2000000, 500001);
    put(fake, "io", 5250000, 1250000);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    const struct sample_pressure *p = &run.sample.pressure;
    assert_true(p->present);
    assert_secs(p->cpu_some_secs, 0.5);
    assert_secs(p->memory_some_secs, 0);
    assert_secs(p->memory_full_secs, 1e-6);
    assert_secs(p->io_some_secs, 2.25);
    assert_secs(p->io_full_secs, 1);
    assert_int_equal(run.err.code, 0);

    /* Nothing moved, then everything went backwards: 0 both times, and from there on again. */
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_secs(p->io_some_secs, 0);
    put(fake, "io", 100, 50);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_secs(p->io_some_secs, 0);
    assert_secs(p->io_full_secs, 0);
    put(fake, "io", 1000100, 50);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_secs(p->io_some_secs, 1);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
}

static void test_first_sample_without_baseline(void **state)
{
    struct fake_env *fake = *state;
    put(fake, "cpu", 1, 1);
    put(fake, "memory", 1, 1);
    put(fake, "io", 1, 1);
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_true(run.sample.pressure.present);
    assert_false(run.sample.pressure.cpu_some_secs.has);
    assert_false(run.sample.pressure.io_full_secs.has);
    fake_env_close(&run);
}

static void test_kernel_without_cpu_full(void **state)
{
    struct fake_env *fake = *state;
    put(fake, "cpu", 10, -1);
    put(fake, "memory", 10, -1);
    put(fake, "io", 10, 20);
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    put(fake, "cpu", 2000010, -1);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_secs(run.sample.pressure.cpu_some_secs, 2);
    assert_secs(run.sample.pressure.memory_some_secs, 0);
    assert_false(run.sample.pressure.memory_full_secs.has);
    assert_secs(run.sample.pressure.io_full_secs, 0);
    fake_env_close(&run);
}

static void test_no_psi(void **state)
{
    struct fake_env *fake = *state;
    int before = fake_env_open_count();
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), -ENODATA);
    fake_env_write(fake, "proc/pressure", "a file where a directory should be");
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), -ENODATA);
    assert_int_equal(fake_env_open_count(), before);
}

static void test_one_file_missing(void **state)
{
    struct fake_env *fake = *state;
    put(fake, "cpu", 0, 0);
    put(fake, "io", 0, 0);
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    /* What was not there at the start is not looked for again. */
    put(fake, "memory", 5, 5);
    put(fake, "io", 500000, 0);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_int_equal(run.err.code, 0);
    assert_true(run.sample.pressure.present);
    assert_secs(run.sample.pressure.cpu_some_secs, 0);
    assert_false(run.sample.pressure.memory_some_secs.has);
    assert_false(run.sample.pressure.memory_full_secs.has);
    assert_secs(run.sample.pressure.io_some_secs, 0);
    fake_env_close(&run);
}

static void test_unreadable(void **state)
{
    struct fake_env *fake = *state;
    fake_env_mkdir(fake, "proc/pressure/memory");
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), -EISDIR);
    assert_non_null(strstr(run.err.msg, "/proc/pressure/memory"));

    put(fake, "cpu", 0, 0);
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_int_equal(run.err.code, -EISDIR);
    assert_true(run.sample.pressure.present);
    assert_false(run.sample.pressure.memory_some_secs.has);
    assert_secs(run.sample.pressure.cpu_some_secs, 0);
    fake_env_close(&run);
}

static void test_broken_text_and_gap(void **state)
{
    struct fake_env *fake = *state;
    put(fake, "cpu", 1000000, 0);
    put(fake, "io", 1000000, 0);
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    fake_env_write(fake, "proc/pressure/io", "some avg10=0.00\n");
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_int_equal(run.err.code, -EINVAL);
    assert_non_null(strstr(run.err.msg, "/proc/pressure/io"));
    assert_false(run.sample.pressure.io_some_secs.has);
    /* The reading after the gap covers it. */
    put(fake, "io", 4000000, 0);
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_int_equal(run.err.code, 0);
    assert_secs(run.sample.pressure.io_some_secs, 3);
    fake_env_close(&run);
}

static void test_descriptor_goes_bad(void **state)
{
    struct fake_env *fake = *state;
    put(fake, "cpu", 0, 0);
    struct fake_run run;
    assert_int_equal(fake_env_open(fake, &collector_pressure, &run), 0);
    assert_int_equal(fake_env_baseline(fake, &run), 0);
    put(fake, "cpu", 1000000, 0);
    fake_env_break(fake, "proc/pressure/cpu");
    assert_int_equal(fake_env_collect(fake, &run), 0);
    assert_secs(run.sample.pressure.cpu_some_secs, 1);
    fake_env_break(fake, "proc/pressure/cpu");
    fake_env_remove(fake, "proc/pressure");
    assert_int_equal(fake_env_collect(fake, &run), -ENODATA);
    assert_false(run.sample.pressure.present);
    assert_int_equal(fake_env_collect(fake, &run), -ENODATA);
    fake_env_close(&run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        fake_env_unit_test(test_all_files),
        fake_env_unit_test(test_first_sample_without_baseline),
        fake_env_unit_test(test_kernel_without_cpu_full),
        fake_env_unit_test(test_no_psi),
        fake_env_unit_test(test_one_file_missing),
        fake_env_unit_test(test_unreadable),
        fake_env_unit_test(test_broken_text_and_gap),
        fake_env_unit_test(test_descriptor_goes_bad),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
