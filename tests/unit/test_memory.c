/* SPDX-License-Identifier: Apache-2.0 */
/* The memory section: its arithmetic, old kernels, odd amounts, and a file that breaks and comes back. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "collect/collect_internal.h"
#include "fake_env.h"

static const char usual[] = "MemTotal:       16777216 kB\nMemFree:         4194304 kB\nMemAvailable:    9437184 kB\n"
                            "Buffers:          262144 kB\nCached:          3145728 kB\nSwapCached:            7 kB\n"
                            "Active:          5242880 kB\nInactive:        2097152 kB\nActive(anon):          1 kB\n"
                            "Inactive(anon):        2 kB\nSwapTotal:       2097152 kB\nSwapFree:        1572864 kB\n"
                            "Dirty:               512 kB\nShmem:             10240 kB\nSReclaimable:     524288 kB\n";

static void assert_mib(struct opt_f64 value, double expected)
{
    assert_true(value.has);
    assert_true(value.v == expected);
}

static void test_usual(void **state)
{
    (void)state;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    int before = fake_env_open_count();
    fake_env_write(&fake, "proc/meminfo", usual);
    assert_int_equal(fake_env_open(&fake, &collector_memory, &run), 0);
    assert_int_equal(fake_env_baseline(&fake, &run), 0);
    assert_false(run.sample.memory.present);
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    const struct sample_memory *m = &run.sample.memory;
    assert_true(m->present);
    assert_mib(m->total_mib, 16384);
    assert_mib(m->free_mib, 4096);
    assert_mib(m->available_mib, 9216);
    assert_mib(m->unavailable_mib, 16384 - 9216);
    assert_mib(m->buffers_mib, 256);
    assert_mib(m->cached_mib, 3072 + 512);
    assert_mib(m->used_mib, 16384 - 4096 - 256 - 3584);
    assert_mib(m->used_pct, 100.0 * 8448 / 16384);
    assert_mib(m->active_mib, 5120);
    assert_mib(m->inactive_mib, 2048);
    assert_mib(m->swap_total_mib, 2048);
    assert_mib(m->swap_used_mib, 512);
    assert_mib(m->swap_used_pct, 25);
    assert_mib(m->shmem_mib, 10);
    assert_mib(m->dirty_mib, 0); /* whole MiB, rounded down */
    assert_int_equal(run.err.code, 0);
    fake_env_close(&run);
    assert_int_equal(fake_env_open_count(), before);
    fake_env_fini(&fake);
}

static void test_every_sample_reads_anew(void **state)
{
    (void)state;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    fake_env_write(&fake, "proc/meminfo", "MemTotal: 2048 kB\nMemFree: 1024 kB\nBuffers: 0 kB\nCached: 0 kB\n");
    assert_int_equal(fake_env_open(&fake, &collector_memory, &run), 0);
    assert_int_equal(fake_env_baseline(&fake, &run), 0);
    fake_env_write(&fake, "proc/meminfo",
        "MemTotal: 4095 kB\nMemFree: 2047 kB\nMemAvailable: 3071 kB\nBuffers: 0 kB\nCached: 0 kB\n");
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_mib(run.sample.memory.total_mib, 3);
    assert_mib(run.sample.memory.free_mib, 1);
    assert_mib(run.sample.memory.used_mib, 2); /* of the difference, not the difference of what is rounded */
    assert_mib(run.sample.memory.unavailable_mib, 1);
    fake_env_close(&run);
    fake_env_fini(&fake);
}

static void test_old_kernel_and_no_swap(void **state)
{
    (void)state;
    struct meminfo info = {
        .total_kib = some_u64(4096),
        .free_kib = some_u64(1024),
        .buffers_kib = some_u64(0),
        .cached_kib = some_u64(1024),
        .swap_total_kib = some_u64(0),
        .swap_free_kib = some_u64(0),
    };
    struct sample_memory m = {0};
    memory_derive(&info, &m);
    assert_false(m.available_mib.has);
    assert_false(m.active_mib.has || m.inactive_mib.has || m.shmem_mib.has || m.dirty_mib.has);
    assert_mib(m.cached_mib, 1);
    assert_mib(m.used_mib, 2);
    assert_mib(m.swap_total_mib, 0);
    assert_mib(m.swap_used_mib, 0);
    assert_mib(m.swap_used_pct, 0);
}

static void test_what_is_not_known_is_not_guessed(void **state)
{
    (void)state;
    struct meminfo info = {.total_kib = some_u64(4096), .s_reclaimable_kib = some_u64(7)};
    struct sample_memory m = {0};
    memory_derive(&info, &m);
    assert_mib(m.total_mib, 4);
    assert_false(m.free_mib.has || m.used_mib.has || m.used_pct.has || m.cached_mib.has || m.buffers_mib.has);
    assert_false(m.swap_total_mib.has || m.swap_used_mib.has || m.swap_used_pct.has);
    info.swap_total_kib = some_u64(5);
    memory_derive(&info, &m);
    assert_false(m.swap_used_mib.has || m.swap_used_pct.has);
}

/* Parts that are read at different moments may add up to more than there is: never below 0. */
static void test_amounts_that_do_not_add_up(void **state)
{
    (void)state;
    struct meminfo info = {
        .total_kib = some_u64(1024),
        .free_kib = some_u64(1000),
        .buffers_kib = some_u64(20),
        .cached_kib = some_u64(10),
        .swap_total_kib = some_u64(10),
        .swap_free_kib = some_u64(11),
    };
    struct sample_memory m = {0};
    memory_derive(&info, &m);
    assert_mib(m.used_mib, 0);
    assert_mib(m.used_pct, 0);
    assert_mib(m.swap_used_mib, 0);
    info = (struct meminfo){
        .total_kib = some_u64(0), .free_kib = some_u64(0), .buffers_kib = some_u64(0), .cached_kib = some_u64(0)};
    memory_derive(&info, &m);
    assert_mib(m.used_pct, 0);
}

static void test_a_file_that_is_missing(void **state)
{
    (void)state;
    struct fake_env fake;
    struct fake_run run;
    fake_env_init(&fake);
    assert_int_equal(fake_env_open(&fake, &collector_memory, &run), 0);
    assert_int_equal(fake_env_baseline(&fake, &run), -ENOENT);
    assert_int_equal(fake_env_collect(&fake, &run), -ENOENT);
    assert_false(run.sample.memory.present);
    assert_int_equal(run.err.code, -ENOENT);
    assert_non_null(strstr(run.err.msg, "meminfo"));
    fake_env_write(&fake, "proc/meminfo", usual);
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_true(run.sample.memory.present);
    fake_env_break(&fake, "proc/meminfo");
    assert_int_equal(fake_env_collect(&fake, &run), 0);
    assert_true(run.sample.memory.present);
    fake_env_close(&run);
    fake_env_fini(&fake);
}

/*
 * A meminfo without MemTotal is an error to be reported, so it must not come out as -ENODATA: that means "this host has
 * none" and is silent.
 */
static void test_a_file_that_is_broken_is_reported(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "garbage\n", "MemFree: 12 kB\n", "MemTotal: 12"};
    struct fake_env fake;
    fake_env_init(&fake);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct fake_run run;
        fake_env_write(&fake, "proc/meminfo", texts[i]);
        assert_int_equal(fake_env_open(&fake, &collector_memory, &run), 0);
        int r = fake_env_collect(&fake, &run);
        bool present = run.sample.memory.present;
        int code = run.err.code;
        fake_env_close(&run);
        assert_false(present);
        assert_true(r < 0);
        assert_int_equal(code, r);
        assert_int_not_equal(r, -ENODATA);
    }
    fake_env_fini(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usual),
        cmocka_unit_test(test_every_sample_reads_anew),
        cmocka_unit_test(test_old_kernel_and_no_swap),
        cmocka_unit_test(test_what_is_not_known_is_not_guessed),
        cmocka_unit_test(test_amounts_that_do_not_add_up),
        cmocka_unit_test(test_a_file_that_is_missing),
        cmocka_unit_test(test_a_file_that_is_broken_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
