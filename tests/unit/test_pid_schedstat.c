/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/schedstat and statm: lines of numbers, of which the first three are read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "kernel/pid.h"

/* As printed by Linux 6.18. */
static const char captured[] = "4120345678 17034221 902\n";

static void test_ordinary(void **state)
{
    (void)state;
    struct pid_schedstat schedstat;
    assert_int_equal(pid_schedstat_parse(str_of(captured), &schedstat), 0);
    assert_true(schedstat.run_ns == UINT64_C(4120345678));
    assert_int_equal(schedstat.wait_ns, 17034221);
    assert_int_equal(schedstat.runs, 902);
    assert_int_equal(pid_schedstat_parse(STR("0 18446744073709551615 1 more\n"), &schedstat), 0);
    assert_int_equal(schedstat.run_ns, 0);
    assert_true(schedstat.wait_ns == UINT64_MAX);
}

static void test_statm(void **state)
{
    (void)state;
    struct pid_statm statm = {42, 42};
    assert_int_equal(pid_statm_parse(STR("1131 397 312 19 0 98 0\n"), &statm), 0);
    assert_int_equal(statm.resident_pages, 397);
    assert_int_equal(statm.file_pages, 312);
    assert_int_equal(pid_statm_parse(STR("1131 397\n"), &statm), -EINVAL);
    assert_int_equal(pid_statm_parse(STR("1131 397 312 19"), &statm), -EINVAL);
    assert_int_equal(statm.resident_pages, 397);
}

static void test_every_prefix(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(captured); n++) {
        /* A block of exactly this size lets the sanitizer see a read behind the end. */
        char *text = malloc(n > 0 ? n : 1);
        assert_non_null(text);
        memcpy(text, captured, n);
        struct pid_schedstat schedstat = {42, 42, 42};
        bool is_whole = n == sizeof(captured) - 1;
        assert_int_equal(pid_schedstat_parse((struct str){text, n}, &schedstat), is_whole ? 0 : -EINVAL);
        assert_int_equal(schedstat.runs, is_whole ? 902 : 42);
        free(text);
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "\n", "1\n", "1 2\n", "1 2 \n", "1 2 x\n", "1 2 3x\n", "-1 2 3\n",
        "1 -2 3\n", "1,2,3\n", "1 2,3\n", "1\n2\n3\n", "1 2\n3\n", "18446744073709551616 2 3\n", "1 2 3", "x1 2 3\n",
        "1.5 2 3\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pid_schedstat schedstat = {42, 42, 42};
        assert_int_equal(pid_schedstat_parse(str_of(texts[i]), &schedstat), -EINVAL);
        assert_int_equal(schedstat.run_ns, 42);
        assert_int_equal(schedstat.wait_ns, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_statm),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
