/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/stat: text of several kernels, missing and extra columns, broken and cut lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/proc.h"

static const char kernel_6_18[] = "cpu  3188 0 2808 200653 1428 0 79 420 0 0\n"
                                  "cpu0 753 0 914 102394 50 0 13 202 0 0\n"
                                  "cpu1 2434 0 1893 98258 1378 0 66 218 0 0\n"
                                  "intr 165175 0 0 0 0 0 0 0 0 0 1 1 11 0 0 0 208 49 0 29 1 56116 0 1021 747\n"
                                  "ctxt 310342\n"
                                  "btime 1794729600\n"
                                  "processes 5054\n"
                                  "procs_running 3\n"
                                  "procs_blocked 1\n"
                                  "softirq 129920 0 15501 4 1710 56116 0 6 33529 0 23054\n";

/* Before steal, guest and guest_nice. */
static const char kernel_2_6_9[] = "cpu  91021 277 15504 8843119 20977 115 601\n"
                                   "cpu0 91021 277 15504 8843119 20977 115 601\n"
                                   "intr 90415122 89716512 8 0 2 2 0 3 0 1 0 0 0 87 0 188204 3\n"
                                   "ctxt 4110233\n"
                                   "btime 1102346001\n"
                                   "processes 61442\n"
                                   "procs_running 2\n"
                                   "procs_blocked 0\n";

static const char kernel_2_4[] = "cpu  100 20 30 4000\n"
                                 "cpu0 100 20 30 4000\n"
                                 "page 5741 1808\n"
                                 "swap 1 0\n"
                                 "intr 1462898 1400 0\n"
                                 "disk_io: (3,0):(3024,2211,40622,813,3616)\n"
                                 "ctxt 115315\n"
                                 "btime 769041601\n"
                                 "processes 86031\n";

static void assert_ticks(struct cpu_ticks got, struct cpu_ticks want)
{
    assert_int_equal(got.user, want.user);
    assert_int_equal(got.nice, want.nice);
    assert_int_equal(got.system, want.system);
    assert_int_equal(got.idle, want.idle);
    assert_int_equal(got.iowait, want.iowait);
    assert_int_equal(got.irq, want.irq);
    assert_int_equal(got.softirq, want.softirq);
    assert_int_equal(got.steal, want.steal);
}

static void assert_counter(struct opt_u64 got, uint64_t want)
{
    assert_true(got.has);
    assert_int_equal(got.v, want);
}

static int parse_once(const char *text)
{
    struct proc_stat stat = {0};
    int r = proc_stat_parse(str_of(text), &stat);
    if (r < 0)
        assert_int_equal(stat.cores.count, 0);
    proc_stat_fini(&stat);
    assert_null(stat.cores.items);
    return r;
}

static void test_new_kernel(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(str_of(kernel_6_18), &stat), 0);
    assert_ticks(stat.total, (struct cpu_ticks){3188, 0, 2808, 200653, 1428, 0, 79, 420});
    assert_int_equal(stat.cores.count, 2);
    assert_int_equal(stat.cores.items[0].number, 0);
    assert_ticks(stat.cores.items[0].ticks, (struct cpu_ticks){753, 0, 914, 102394, 50, 0, 13, 202});
    assert_int_equal(stat.cores.items[1].number, 1);
    assert_ticks(stat.cores.items[1].ticks, (struct cpu_ticks){2434, 0, 1893, 98258, 1378, 0, 66, 218});
    assert_counter(stat.context_switches, 310342);
    assert_counter(stat.forks, 5054);
    assert_counter(stat.procs_running, 3);
    assert_counter(stat.procs_blocked, 1);
    proc_stat_fini(&stat);
}

static void test_old_kernels(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(str_of(kernel_2_6_9), &stat), 0);
    assert_ticks(stat.total, (struct cpu_ticks){91021, 277, 15504, 8843119, 20977, 115, 601, 0});
    assert_int_equal(stat.cores.count, 1);
    assert_counter(stat.procs_blocked, 0);

    assert_int_equal(proc_stat_parse(str_of(kernel_2_4), &stat), 0);
    assert_ticks(stat.total, (struct cpu_ticks){100, 20, 30, 4000, 0, 0, 0, 0});
    assert_ticks(stat.cores.items[0].ticks, stat.total);
    assert_counter(stat.forks, 86031);
    assert_false(stat.procs_running.has);
    assert_false(stat.procs_blocked.has);
    proc_stat_fini(&stat);
}

static void test_more_columns_than_known(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(STR("cpu  1 2 3 4 5 6 7 8 9 10 11 12 13\n"), &stat), 0);
    assert_ticks(stat.total, (struct cpu_ticks){1, 2, 3, 4, 5, 6, 7, 8});
    assert_int_equal(stat.cores.count, 0);
    proc_stat_fini(&stat);
}

static void test_trailing_blanks(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(STR("cpu  1 2 3 4  \ncpu0 1 2 3 4 5 6 7 8 \n"), &stat), 0);
    assert_int_equal(stat.total.idle, 4);
    assert_int_equal(stat.cores.items[0].ticks.steal, 8);
    proc_stat_fini(&stat);
}

static void test_numbers_of_two_digits_and_gaps(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(STR("cpu  9 0 0 9\ncpu1 1 0 0 1\ncpu10 2 0 0 2\ncpu100 3 0 0 3\n"), &stat), 0);
    assert_int_equal(stat.cores.count, 3);
    assert_int_equal(stat.cores.items[0].number, 1);
    assert_int_equal(stat.cores.items[1].number, 10);
    assert_int_equal(stat.cores.items[2].number, 100);
    assert_int_equal(stat.cores.items[2].ticks.user, 3);
    proc_stat_fini(&stat);
}

static void test_cpu_number_limit(void **state)
{
    (void)state;
    assert_int_equal(parse_once("cpu  1 1 1 1\ncpu8191 1 1 1 1\n"), 0);
    assert_int_equal(parse_once("cpu  1 1 1 1\ncpu8192 1 1 1 1\n"), -E2BIG);
    assert_int_equal(parse_once("cpu  1 1 1 1\ncpu99999999999999999999999 1 1 1 1\n"), -E2BIG);
}

static void test_numbers_must_ascend(void **state)
{
    (void)state;
    assert_int_equal(parse_once("cpu  1 1 1 1\ncpu0 1 1 1 1\ncpu0 1 1 1 1\n"), -EINVAL);
    assert_int_equal(parse_once("cpu  1 1 1 1\ncpu3 1 1 1 1\ncpu2 1 1 1 1\n"), -EINVAL);
}

static void test_broken_cpu_lines(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "cpu\n",
        "cpu \n",
        "cpu  1 2 3\n",
        "cpu  1 2 3 x\n",
        "cpu  1 2 3 4 x\n",
        "cpu  1 2 3 -4\n",
        "cpu  1 2 3 4 5 6 7 8x\n",
        "cpu  1 2 3 4.5\n",
        "cpu  1 2 3 18446744073709551616\n",
        "cpu  1 2 3 4 18446744073709551616\n",
        "cpu  1 2 3 4\ncpu0\n",
        "cpu  1 2 3 4\ncpu0 1 2 3\n",
        "cpu  1 2 3 4\ncpu0x 1 2 3 4\n",
        "cpu  1 2 3 4\ncpu0\t1 2 3 4\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        assert_int_equal(parse_once(texts[i]), -EINVAL);
}

static void test_largest_number(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(STR("cpu  18446744073709551615 2 3 9999999999999999999\n"), &stat), 0);
    assert_true(stat.total.user == UINT64_MAX);
    assert_true(stat.total.idle == UINT64_C(9999999999999999999));
    proc_stat_fini(&stat);
}

static void test_total_is_needed(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse((struct str){0}, &stat), -EBADMSG);
    proc_stat_fini(&stat);
    assert_int_equal(parse_once("\n\n"), -EBADMSG);
    assert_int_equal(parse_once("cpu0 1 2 3 4\nctxt 1\n"), -EBADMSG);
    assert_int_equal(parse_once("cpufreq 1 2 3 4\n"), -EBADMSG);
}

static void test_cut_text_is_not_trusted(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(STR("cpu  1 2 3 4"), &stat), -EBADMSG);
    assert_int_equal(proc_stat_parse(STR("cpu  1 2 3 4\ncpu0 1 2 3 4\ncpu1 1 2"), &stat), -EBADMSG);
    assert_int_equal(stat.cores.count, 0);
    assert_int_equal(proc_stat_parse(STR("cpu  1 2 3 4\ncpu0 1 2 3 4\nprocesses 77"), &stat), -EBADMSG);
    assert_int_equal(stat.cores.count, 0);
    proc_stat_fini(&stat);
}

/* gVisor counts no births. */
static void test_no_births(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(STR("cpu  1 2 3 4\nprocesses 0\nprocs_running 0\n"), &stat), 0);
    assert_false(stat.forks.has);
    assert_counter(stat.procs_running, 0);
    proc_stat_fini(&stat);
}

static void test_unknown_and_broken_counters(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    const char *text = "cpu  1 2 3 4\ncpufoo 7\nc\nctx 5\nctxt\nctxt 5x\nprocs\nprocs_running -1\nprocs_blocked\n"
                       "processed 9\nprocesses 99999999999999999999\n";
    assert_int_equal(proc_stat_parse(str_of(text), &stat), 0);
    assert_false(stat.context_switches.has);
    assert_false(stat.forks.has);
    assert_false(stat.procs_running.has);
    assert_false(stat.procs_blocked.has);
    proc_stat_fini(&stat);
}

static void test_array_is_reused(void **state)
{
    (void)state;
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse(str_of(kernel_6_18), &stat), 0);
    const struct cpu_core *items = stat.cores.items;
    assert_int_equal(proc_stat_parse(str_of(kernel_2_4), &stat), 0);
    assert_ptr_equal(stat.cores.items, items);
    assert_int_equal(stat.cores.count, 1);
    assert_false(stat.procs_running.has);
    proc_stat_fini(&stat);
}

static void test_every_cpu_there_can_be(void **state)
{
    (void)state;
    static char text[PROC_STAT_CPUS_MAX * 24 + 64];
    size_t n = (size_t)snprintf(text, sizeof(text), "cpu  1 1 1 1\n");
    for (unsigned i = 0; i < PROC_STAT_CPUS_MAX; i++)
        n += (size_t)snprintf(text + n, sizeof(text) - n, "cpu%u %u 0 0 1\n", i, i + 7);
    struct proc_stat stat = {0};
    assert_int_equal(proc_stat_parse((struct str){text, n}, &stat), 0);
    assert_int_equal(stat.cores.count, PROC_STAT_CPUS_MAX);
    assert_int_equal(stat.cores.items[8191].number, 8191);
    assert_int_equal(stat.cores.items[8191].ticks.user, 8198);
    proc_stat_fini(&stat);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_kernel),
        cmocka_unit_test(test_old_kernels),
        cmocka_unit_test(test_more_columns_than_known),
        cmocka_unit_test(test_trailing_blanks),
        cmocka_unit_test(test_numbers_of_two_digits_and_gaps),
        cmocka_unit_test(test_cpu_number_limit),
        cmocka_unit_test(test_numbers_must_ascend),
        cmocka_unit_test(test_broken_cpu_lines),
        cmocka_unit_test(test_largest_number),
        cmocka_unit_test(test_total_is_needed),
        cmocka_unit_test(test_cut_text_is_not_trusted),
        cmocka_unit_test(test_no_births),
        cmocka_unit_test(test_unknown_and_broken_counters),
        cmocka_unit_test(test_array_is_reused),
        cmocka_unit_test(test_every_cpu_there_can_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
