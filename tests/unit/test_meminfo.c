/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/meminfo: new and old kernels, missing keys, near misses of names, broken and cut lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "kernel/proc.h"

static const char kernel_6_18[] = "MemTotal:       24682416 kB\n"
                                  "MemFree:        24312032 kB\n"
                                  "MemAvailable:   24343688 kB\n"
                                  "Buffers:             856 kB\n"
                                  "Cached:           221860 kB\n"
                                  "SwapCached:           11 kB\n"
                                  "Active:            10108 kB\n"
                                  "Inactive:         208548 kB\n"
                                  "Active(anon):       1240 kB\n"
                                  "Inactive(anon):     7480 kB\n"
                                  "Active(file):       8868 kB\n"
                                  "Inactive(file):   201068 kB\n"
                                  "Unevictable:       20256 kB\n"
                                  "Mlocked:           17780 kB\n"
                                  "SwapTotal:       2097148 kB\n"
                                  "SwapFree:        2097000 kB\n"
                                  "Zswap:                 0 kB\n"
                                  "Zswapped:              0 kB\n"
                                  "Dirty:               156 kB\n"
                                  "Writeback:             0 kB\n"
                                  "AnonPages:         16096 kB\n"
                                  "Mapped:            13144 kB\n"
                                  "Shmem:             12776 kB\n"
                                  "KReclaimable:      54581 kB\n"
                                  "Slab:              76568 kB\n"
                                  "SReclaimable:      54580 kB\n"
                                  "SUnreclaim:        21988 kB\n"
                                  "ShmemHugePages:        0 kB\n"
                                  "HugePages_Total:       0\n"
                                  "DirectMap1G:    25165824 kB\n";

/* No MemAvailable (3.14), no Shmem and SReclaimable; keys of high memory in between. */
static const char kernel_2_6_9[] = "MemTotal:      1034788 kB\n"
                                   "MemFree:         23044 kB\n"
                                   "Buffers:        102300 kB\n"
                                   "Cached:         600124 kB\n"
                                   "SwapCached:          0 kB\n"
                                   "Active:         512000 kB\n"
                                   "Inactive:       300100 kB\n"
                                   "HighTotal:      131008 kB\n"
                                   "HighFree:          252 kB\n"
                                   "LowTotal:       903780 kB\n"
                                   "LowFree:         22792 kB\n"
                                   "SwapTotal:     2040212 kB\n"
                                   "SwapFree:      2040212 kB\n"
                                   "Dirty:              84 kB\n"
                                   "Writeback:           0 kB\n"
                                   "Mapped:         210044 kB\n"
                                   "Slab:            90112 kB\n";

static void assert_kib(struct opt_u64 got, uint64_t want)
{
    assert_true(got.has);
    assert_int_equal(got.v, want);
}

static void test_new_kernel(void **state)
{
    (void)state;
    struct meminfo mem;
    assert_int_equal(meminfo_parse(str_of(kernel_6_18), &mem), 0);
    assert_kib(mem.total_kib, 24682416);
    assert_kib(mem.free_kib, 24312032);
    assert_kib(mem.available_kib, 24343688);
    assert_kib(mem.buffers_kib, 856);
    assert_kib(mem.cached_kib, 221860);
    assert_kib(mem.s_reclaimable_kib, 54580);
    assert_kib(mem.active_kib, 10108);
    assert_kib(mem.inactive_kib, 208548);
    assert_kib(mem.swap_total_kib, 2097148);
    assert_kib(mem.swap_free_kib, 2097000);
    assert_kib(mem.shmem_kib, 12776);
    assert_kib(mem.dirty_kib, 156);
}

static void test_old_kernel(void **state)
{
    (void)state;
    struct meminfo mem;
    assert_int_equal(meminfo_parse(str_of(kernel_2_6_9), &mem), 0);
    assert_kib(mem.total_kib, 1034788);
    assert_kib(mem.free_kib, 23044);
    assert_kib(mem.cached_kib, 600124);
    assert_kib(mem.dirty_kib, 84);
    assert_false(mem.available_kib.has);
    assert_false(mem.s_reclaimable_kib.has);
    assert_false(mem.shmem_kib.has);
}

/* The table of Linux 2.4 has numbers in bytes under words that look like ours. */
static void test_table_of_2_4(void **state)
{
    (void)state;
    struct meminfo mem;
    const char *text = "        total:    used:    free:  shared: buffers:  cached:\n"
                       "Mem:  529154048 518160384 10993664        0 12713984 372715520\n"
                       "Swap: 1052794880  6160384 1046634496\n"
                       "MemTotal:       516752 kB\n"
                       "MemShared:           0 kB\n";
    assert_int_equal(meminfo_parse(str_of(text), &mem), 0);
    assert_kib(mem.total_kib, 516752);
    assert_false(mem.free_kib.has);
    assert_false(mem.cached_kib.has);
}

static void test_any_order(void **state)
{
    (void)state;
    struct meminfo mem;
    assert_int_equal(meminfo_parse(STR("SwapFree: 3 kB\nDirty:\t4 kB\nDirty: 5 kB\nMemTotal: 1 kB\n"), &mem), 0);
    assert_kib(mem.swap_free_kib, 3);
    assert_kib(mem.dirty_kib, 5);
    assert_kib(mem.total_kib, 1);
}

static void test_first_of_two_wins(void **state)
{
    (void)state;
    struct meminfo mem;
    assert_int_equal(meminfo_parse(STR("MemTotal: 100 kB\nMemTotal: 200 kB\n"), &mem), 0);
    assert_kib(mem.total_kib, 100);
}

static void test_near_misses(void **state)
{
    (void)state;
    struct meminfo mem;
    const char *text =
        "MemTotal: 100 kB\nMemFreeX: 2 kB\nMemAvail: 3 kB\nBuffer:   4 kB\nCachedX:  5 kB\n"
        "Active(x): 6 kB\nInactiveX: 7 kB\nSwapTota: 8 kB\nShmemX:   9 kB\nSReclaim: 1 kB\nDirtyX:  1 kB\n";
    assert_int_equal(meminfo_parse(str_of(text), &mem), 0);
    assert_kib(mem.total_kib, 100);
    assert_false(mem.free_kib.has || mem.available_kib.has || mem.buffers_kib.has || mem.cached_kib.has);
    assert_false(mem.active_kib.has || mem.inactive_kib.has || mem.swap_total_kib.has || mem.swap_free_kib.has);
    assert_false(mem.shmem_kib.has || mem.s_reclaimable_kib.has || mem.dirty_kib.has);
}

static void test_broken_amounts_are_absent(void **state)
{
    (void)state;
    struct meminfo mem;
    const char *text = "MemTotal: 100 kB\nMemFree:    x kB\nBuffers:   12 MB\nCached:     12\nActive:    -4 kB\n"
                       "Inactive: 18446744073709551616 kB\nShmem:    1 kBx\nDirty:       kB\nSwapFree:        \n";
    assert_int_equal(meminfo_parse(str_of(text), &mem), 0);
    assert_false(mem.free_kib.has || mem.buffers_kib.has || mem.cached_kib.has || mem.active_kib.has);
    assert_false(mem.inactive_kib.has || mem.shmem_kib.has || mem.dirty_kib.has || mem.swap_free_kib.has);
}

static void test_cut_line_is_not_trusted(void **state)
{
    (void)state;
    struct meminfo mem;
    assert_int_equal(meminfo_parse(STR("MemTotal: 100 kB\nMemFree: 50 kB"), &mem), 0);
    assert_false(mem.free_kib.has);
    assert_int_equal(meminfo_parse(STR("MemTotal: 100 kB"), &mem), -EBADMSG);
}

static void test_total_is_needed_and_output_untouched(void **state)
{
    (void)state;
    struct meminfo mem = {.dirty_kib = {.has = true, .v = 42}};
    assert_int_equal(meminfo_parse((struct str){0}, &mem), -EBADMSG);
    assert_int_equal(meminfo_parse(STR("MemFree:        10 kB\nDirty:        1 kB\n"), &mem), -EBADMSG);
    assert_kib(mem.dirty_kib, 42);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_kernel),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_table_of_2_4),
        cmocka_unit_test(test_any_order),
        cmocka_unit_test(test_first_of_two_wins),
        cmocka_unit_test(test_near_misses),
        cmocka_unit_test(test_broken_amounts_are_absent),
        cmocka_unit_test(test_cut_line_is_not_trusted),
        cmocka_unit_test(test_total_is_needed_and_output_untouched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
