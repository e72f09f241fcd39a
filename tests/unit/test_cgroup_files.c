/* SPDX-License-Identifier: Apache-2.0 */
/* Control group files of both versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kernel/cgroup_files.h"

static void assert_str(struct str got, const char *want)
{
    assert_true(str_eq(got, str_of(want)));
}

static void test_lines_of_v1(void **state)
{
    (void)state;
    struct str rest = STR("9:name=systemd:/\n4:memory:/docker/b9db\n2:cpu,cpuacct:/docker/a:b\n0::/\n");
    struct cgroup_line line;
    assert_true(cgroup_line_next(&rest, &line));
    assert_int_equal(line.hierarchy, 9);
    assert_str(line.controllers, "name=systemd");
    assert_str(line.path, "/");
    assert_true(cgroup_line_next(&rest, &line));
    assert_int_equal(line.hierarchy, 4);
    assert_str(line.controllers, "memory");
    assert_str(line.path, "/docker/b9db");
    assert_true(cgroup_line_next(&rest, &line));
    assert_str(line.controllers, "cpu,cpuacct");
    assert_str(line.path, "/docker/a:b");
    assert_true(cgroup_line_next(&rest, &line));
    assert_int_equal(line.hierarchy, 0);
    assert_int_equal(line.controllers.n, 0);
    assert_str(line.path, "/");
    assert_false(cgroup_line_next(&rest, &line));
    assert_false(cgroup_line_next(&rest, &line));
}

static void test_line_of_v2(void **state)
{
    (void)state;
    struct str rest = STR("0::/user.slice/user-1000.slice/run-r1.scope (deleted)\n");
    struct cgroup_line line;
    assert_true(cgroup_line_next(&rest, &line));
    assert_int_equal(line.hierarchy, 0);
    assert_str(line.path, "/user.slice/user-1000.slice/run-r1.scope (deleted)");
    assert_false(cgroup_line_next(&rest, &line));
}

static void test_broken_lines_are_skipped(void **state)
{
    (void)state;
    struct str rest =
        STR("\n:\n::/\nx::/\n-1::/\n3:cpu\n3:cpu:\n3:cpu:relative\n99999999999999999999::/\n5:pids:/p\n0::/cut");
    struct cgroup_line line;
    assert_true(cgroup_line_next(&rest, &line));
    assert_int_equal(line.hierarchy, 5);
    assert_str(line.path, "/p");
    assert_false(cgroup_line_next(&rest, &line));
    rest = (struct str){0};
    assert_false(cgroup_line_next(&rest, &line));
}

static void test_list_has(void **state)
{
    (void)state;
    assert_true(cgroup_list_has(STR("cpu,cpuacct"), STR("cpu")));
    assert_true(cgroup_list_has(STR("cpu,cpuacct"), STR("cpuacct")));
    assert_true(cgroup_list_has(STR("memory"), STR("memory")));
    assert_true(cgroup_list_has(STR(",a,"), STR("a")));
    assert_false(cgroup_list_has(STR("cpuacct,cpuset"), STR("cpu")));
    assert_false(cgroup_list_has(STR("cpu"), STR("cpuacct")));
    assert_false(cgroup_list_has(STR("name=cpu"), STR("cpu")));
    assert_false(cgroup_list_has(STR(""), STR("cpu")));
    assert_false(cgroup_list_has(STR("a,,b"), STR("")));
    assert_false(cgroup_list_has((struct str){0}, (struct str){0}));
}

static void test_keyed(void **state)
{
    (void)state;
    struct str text =
        STR("usage_usec 812345\nuser_usec 600000\nsystem_usec 212345\nnr_periods 0\nbad x\ntwo 1 2\nempty \ncut 5");
    assert_true(cgroup_keyed_u64(text, STR("usage_usec")).has);
    assert_int_equal(cgroup_keyed_u64(text, STR("usage_usec")).v, 812345);
    assert_int_equal(cgroup_keyed_u64(text, STR("system_usec")).v, 212345);
    assert_true(cgroup_keyed_u64(text, STR("nr_periods")).has);
    assert_int_equal(cgroup_keyed_u64(text, STR("nr_periods")).v, 0);
    static const char *const absent[] = {"usec", "user", "usage_usec 8", "bad", "two", "empty", "cut", "none"};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        assert_false(cgroup_keyed_u64(text, str_of(absent[i])).has);
    assert_false(cgroup_keyed_u64((struct str){0}, STR("usage_usec")).has);
}

static void test_single(void **state)
{
    (void)state;
    assert_true(cgroup_single_u64(STR("536870912\n")).has);
    assert_int_equal(cgroup_single_u64(STR("536870912\n")).v, 536870912);
    assert_int_equal(cgroup_single_u64(STR("7")).v, 7);
    assert_true(cgroup_single_u64(STR("0\n")).has);
    assert_true(cgroup_single_u64(STR("18446744073709551615\n")).v == UINT64_MAX);
    static const char *const absent[] = {
        "max\n", "", "\n", "-1\n", "12 13\n", "1k\n", "18446744073709551616\n", "0x10"};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        assert_false(cgroup_single_u64(str_of(absent[i])).has);
    assert_false(cgroup_single_u64((struct str){0}).has);
}

static void test_cpu_max(void **state)
{
    (void)state;
    struct opt_f64 cores = cgroup_cpu_max_cores(STR("50000 100000\n"));
    assert_true(cores.has);
    assert_true(cores.v == 0.5);
    cores = cgroup_cpu_max_cores(STR("400000 100000"));
    assert_true(cores.has && cores.v == 4.0);
    static const char *const absent[] = {"max 100000\n", "max\n", "50000\n", "50000 0\n", "0 100000\n", "",
        "50000 max\n", "50000 100000 1\n", "-1 100000\n"};
    for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
        assert_false(cgroup_cpu_max_cores(str_of(absent[i])).has);
}

static void test_cfs(void **state)
{
    (void)state;
    struct opt_f64 cores = cgroup_cfs_cores(STR("150000\n"), STR("100000\n"));
    assert_true(cores.has);
    assert_true(cores.v == 1.5);
    assert_false(cgroup_cfs_cores(STR("-1\n"), STR("100000\n")).has);
    assert_false(cgroup_cfs_cores(STR("150000\n"), STR("0\n")).has);
    assert_false(cgroup_cfs_cores(STR("150000\n"), STR("")).has);
    assert_false(cgroup_cfs_cores(STR(""), STR("100000\n")).has);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_of_v1),
        cmocka_unit_test(test_line_of_v2),
        cmocka_unit_test(test_broken_lines_are_skipped),
        cmocka_unit_test(test_list_has),
        cmocka_unit_test(test_keyed),
        cmocka_unit_test(test_single),
        cmocka_unit_test(test_cpu_max),
        cmocka_unit_test(test_cfs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
