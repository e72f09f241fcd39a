/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/pid.h"

/* As printed by Linux 6.18. */
#define CAT_COLUMNS                                                                                                    \
    "R 8637 8636 6935 0 -1 4194304 101 0 5 6 7 8 9 10 20 0 1 0 1176224 3133440 384 18446744073709551615 "              \
    "94801931255808 94801931275689 140726051982464 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0 94801931291696 94801931293312 "    \
    "94802363678720 140726051986055 140726051986127 140726051986127 140726051987435 0\n"

/* Columns 5 to 33 with nothing of note. */
#define QUIET_COLUMNS " 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0\n"

static void check_cat(struct str text)
{
    struct pid_stat stat = {0};
    assert_int_equal(pid_stat_parse(text, &stat), 0);
    assert_int_equal(stat.pid, 8643);
    assert_int_equal(stat.state, 'R');
    assert_int_equal(stat.parent, 8637);
    assert_int_equal(stat.major_faults, 5);
    assert_int_equal(stat.children_major_faults, 6);
    assert_int_equal(stat.user_ticks, 7);
    assert_int_equal(stat.system_ticks, 8);
    assert_int_equal(stat.children_user_ticks, 9);
    assert_int_equal(stat.children_system_ticks, 10);
    assert_int_equal(stat.threads, 1);
    assert_int_equal(stat.start_ticks, 1176224);
    assert_int_equal(stat.vsize_bytes, 3133440);
    assert_int_equal(stat.rss_pages, 384);
    assert_int_equal(stat.stack_start, UINT64_C(140726051982464));
    assert_false(stat.has_not_execed);
    assert_false(stat.ignores_sigchld);
    assert_false(pid_stat_is_dead(&stat));
}

static void test_forked_without_exec(void **state)
{
    (void)state;
    struct pid_stat stat;
    assert_int_equal(pid_stat_parse(STR("7 (sh) S 1 7 7 0 -1 4194368 1 2 0 0 0 0 0 0 20 0 1 0 31 2654208 397 "
                                        "18446744073709551615 1 1 0 0 0 0 0 4096 1088 0 0 0 17 1\n"),
                         &stat),
        0);
    assert_true(stat.has_not_execed);
}

static void test_ordinary(void **state)
{
    (void)state;
    check_cat(STR("8643 (cat) " CAT_COLUMNS));
}

static void test_first_process_and_kernel_thread(void **state)
{
    (void)state;
    struct pid_stat stat;
    assert_int_equal(
        pid_stat_parse(STR("1 (process_api) S 0 0 0 0 -1 4194560 109905 164824740 69 31682 741 3307 427572 110737 20 0 "
                           "13 0 31 49635328 4494 18446744073709551615 1 1 0 0 0 0 0 4096 1088 0 0 0 17 1 0 0 0 0 0 0 "
                           "0 0 0 0 0 0 0\n"),
            &stat),
        0);
    assert_int_equal(stat.pid, 1);
    assert_int_equal(stat.parent, 0);
    assert_int_equal(stat.minor_faults, 109905);
    assert_int_equal(stat.major_faults, 69);
    assert_int_equal(stat.children_major_faults, 31682);
    assert_int_equal(stat.user_ticks, 741);
    assert_int_equal(stat.children_system_ticks, 110737);
    assert_int_equal(stat.threads, 13);
    assert_int_equal(stat.start_ticks, 31);
    assert_int_equal(stat.rss_pages, 4494);
    assert_false(stat.ignores_sigchld);

    assert_int_equal(pid_stat_parse(STR("2 (kthreadd) S 0 0 0 0 -1 2129984 0 0 0 0 0 1 0 0 20 0 1 0 31 0 0 "
                                        "18446744073709551615 0 0 0 0 0 0 0 2147483647 0 1 0 0 0 1 0 0 0 0 0 0 0 0 0 "
                                        "0 0 0 0\n"),
                         &stat),
        0);
    assert_int_equal(stat.system_ticks, 1);
    assert_int_equal(stat.rss_pages, 0);
    assert_true(stat.ignores_sigchld);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const names[] = {
        "",
        " ",
        "Web Content",
        "(sd-pam)",
        ") (",
        ") R 1 1 1 1 1 1",
        "a) Z 1 (b",
        "\n",
        "a)\nb",
        "x) S 1\n2 (y",
        ")))))))))))))))",
        "(((((((((((((((",
        "\xff\x80\t\r\v",
        "-1 -1",
        "kworker/u8:0-events_unbound_of_a_long_name_that_only_kernel_has",
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        char line[600];
        int n = snprintf(line, sizeof(line), "8643 (%s) " CAT_COLUMNS, names[i]);
        assert_in_range(n, 1, sizeof(line) - 1);
        check_cat((struct str){line, (size_t)n});
    }
    static const char with_nul[] = "8643 (a\0b) " CAT_COLUMNS;
    check_cat((struct str){with_nul, sizeof(with_nul) - 1});
}

static void check_name(const char *in_file, const char *name)
{
    char line[600];
    struct pid_stat stat;
    int n = snprintf(line, sizeof(line), "8643 (%s) " CAT_COLUMNS, in_file);
    assert_int_equal(pid_stat_parse((struct str){line, (size_t)n}, &stat), 0);
    assert_string_equal(stat.name, name);
}

static void test_name_as_it_was(void **state)
{
    (void)state;
    check_name("", "");
    check_name("cat", "cat");
    check_name(") (odd", ") (odd");
    check_name("a\\nb\\\\c", "a\nb\\c");
    check_name("\\", "\\");
    check_name("a\\", "a\\");
    check_name("\\x\\", "\\x\\");
    check_name("\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n\\n", "\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n");
    check_name("fifteen bytes..", "fifteen bytes..");
    check_name("kworker/u8:0-events_unbound", "kworker/u8:0-ev");
    check_name("\xff\x80", "\xff\x80");
}

static void test_every_prefix_is_refused(void **state)
{
    (void)state;
    static const char line[] = "8643 (a)\n b) R 1\n) " CAT_COLUMNS;
    for (size_t n = 0; n < sizeof(line) - 1; n++) {
        /* A block of exactly this size lets the sanitizer see a read behind the end. */
        char *text = malloc(n > 0 ? n : 1);
        assert_non_null(text);
        memcpy(text, line, n);
        struct pid_stat stat = {.pid = 42};
        assert_int_equal(pid_stat_parse((struct str){text, n}, &stat), -EINVAL);
        assert_int_equal(stat.pid, 42);
        free(text);
    }
    check_cat((struct str){line, sizeof(line) - 1});
}

/* The same with an LF where the text was cut: only what holds column 33 whole is let through. */
static void test_short_lines(void **state)
{
    (void)state;
    static const char line[] = "9 (sh) S 1" QUIET_COLUMNS;
    size_t whole = sizeof(line) - 2;
    for (size_t n = 0; n <= whole; n++) {
        char *text = malloc(n + 1);
        assert_non_null(text);
        memcpy(text, line, n);
        text[n] = '\n';
        struct pid_stat stat;
        assert_int_equal(pid_stat_parse((struct str){text, n + 1}, &stat), n == whole ? 0 : -EINVAL);
        free(text);
    }
}

static void test_other_lengths(void **state)
{
    (void)state;
    struct pid_stat stat;
    /* Columns to 33 and no further. */
    assert_int_equal(pid_stat_parse(STR("9 (sh) S 1" QUIET_COLUMNS), &stat), 0);
    assert_int_equal(stat.start_ticks, 7);
    assert_false(stat.ignores_sigchld);
    /* More than today's 52, some of a new kind. */
    assert_int_equal(pid_stat_parse(STR("9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 65536 0 "
                                        "0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0 53 -54 0x55 5.6 new:57\n"),
                         &stat),
        0);
    assert_int_equal(stat.start_ticks, 7);
    assert_true(stat.ignores_sigchld);
}

static void test_ignored_signals(void **state)
{
    (void)state;
    static const struct {
        const char *ignored;
        bool expected;
    } cases[] = {{"0", false}, {"65536", true}, {"65537", true}, {"65535", false}, {"131072", false}, {"32768", false},
        {"2147483647", true}, {"2147418111", false}, {"18446744073709551615", true}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[300];
        /* The columns on both sides have the bit the other way round. */
        const char *other = cases[i].expected ? "0" : "65536";
        int n = snprintf(line, sizeof(line),
            "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 %s %s %s\n", other, cases[i].ignored,
            other);
        struct pid_stat stat;
        assert_int_equal(pid_stat_parse((struct str){line, (size_t)n}, &stat), 0);
        assert_int_equal(stat.ignores_sigchld, cases[i].expected);
    }
}

static void test_negative(void **state)
{
    (void)state;
    struct pid_stat stat;
    /* Terminal, its group, children's times, priority, nice, itrealvalue and rss; group and session as in a removal. */
    assert_int_equal(
        pid_stat_parse(STR("9 (rt) S 1 -1 -1 -2147483648 -1 0 0 0 3 4 5 6 -7 -9223372036854775808 -100 -20 "
                           "2 -1 77 4096 -3 0 0 0 0 0 0 0 0 0\n"),
            &stat),
        0);
    assert_int_equal(stat.parent, 1);
    assert_int_equal(stat.major_faults, 3);
    assert_int_equal(stat.children_major_faults, 4);
    assert_int_equal(stat.user_ticks, 5);
    assert_int_equal(stat.system_ticks, 6);
    assert_int_equal(stat.children_user_ticks, 0);
    assert_int_equal(stat.children_system_ticks, 0);
    assert_int_equal(stat.threads, 2);
    assert_int_equal(stat.start_ticks, 77);
    assert_int_equal(stat.rss_pages, 0);
}

#define MAX "18446744073709551615"

static void test_extremes(void **state)
{
    (void)state;
    struct pid_stat stat;
    assert_int_equal(
        pid_stat_parse(STR(MAX " (max) S " MAX " " MAX " " MAX " 2147483647 2147483647 4294967295 " MAX " " MAX " " MAX
                               " " MAX " " MAX " " MAX " " MAX " " MAX " 39 19 " MAX " 0 " MAX " " MAX " " MAX " " MAX
                               " " MAX " " MAX " " MAX " " MAX " " MAX " " MAX " " MAX " " MAX "\n"),
            &stat),
        0);
    assert_true(stat.pid == UINT64_MAX && stat.parent == UINT64_MAX);
    assert_true(stat.threads == UINT64_MAX && stat.start_ticks == UINT64_MAX);
    assert_true(stat.major_faults == UINT64_MAX && stat.children_major_faults == UINT64_MAX);
    assert_true(stat.user_ticks == UINT64_MAX && stat.system_ticks == UINT64_MAX);
    assert_true(stat.children_user_ticks == UINT64_MAX && stat.children_system_ticks == UINT64_MAX);
    assert_true(stat.rss_pages == UINT64_MAX);
    assert_true(stat.ignores_sigchld);
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        " ",
        "9\n",
        "9 \n",
        "9 (\n",
        "9 ()\n",
        "9 () \n",
        "9 () S\n",
        "9 () S \n",
        "(sh) S 1" QUIET_COLUMNS,
        "x (sh) S 1" QUIET_COLUMNS,
        "-9 (sh) S 1" QUIET_COLUMNS,
        "9(sh) S 1" QUIET_COLUMNS,
        "9 sh S 1" QUIET_COLUMNS,
        "9 (sh S 1" QUIET_COLUMNS,
        "9 sh) S 1" QUIET_COLUMNS,
        "9 )sh( S 1" QUIET_COLUMNS,
        "9 (sh)S 1" QUIET_COLUMNS,
        "9 (sh)  1" QUIET_COLUMNS,
        "9 (sh) 5 1" QUIET_COLUMNS,
        "9 (sh) SS 1" QUIET_COLUMNS,
        "9 (sh) S1" QUIET_COLUMNS,
        "9 (sh) S" QUIET_COLUMNS,
        "9 (sh) S -1" QUIET_COLUMNS,
        "9 (sh) S x" QUIET_COLUMNS,
        "9 (sh) S 1x" QUIET_COLUMNS,
        "9 (sh) S 1\n" QUIET_COLUMNS,
        "9 (sh) S 18446744073709551616" QUIET_COLUMNS,
        "18446744073709551616 (sh) S 1" QUIET_COLUMNS,
        "9 (sh) S 1" QUIET_COLUMNS "\n",
        "9 (sh) S 1" QUIET_COLUMNS "more\n",
        "9 (sh) S 1 1 1-0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 - 1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 -- 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 -1 0 -1 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 -1 0 7 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 -1 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 -7 0 0 0 0 0 0 0 0 0 0 0\n",
        "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 -1\n",
        "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0 0x\n",
        "9 (sh) S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 7 0 0 0 0 0 0 0 0 0 0\t0\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pid_stat stat = {.pid = 42};
        assert_int_equal(pid_stat_parse(str_of(texts[i]), &stat), -EINVAL);
        assert_int_equal(stat.pid, 42);
    }
}

static void test_dead(void **state)
{
    (void)state;
    struct pid_stat stat;
    assert_int_equal(
        pid_stat_parse(STR("8641 (sleep) Z 8637 8637 6935 0 -1 4227084 95 0 0 0 11 12 0 0 20 0 1 0 1176220 "
                           "0 0 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 "
                           "0\n"),
            &stat),
        0);
    assert_int_equal(stat.state, 'Z');
    assert_int_equal(stat.user_ticks, 11);
    assert_int_equal(stat.rss_pages, 0);
    assert_true(pid_stat_is_dead(&stat));

    /* The first thread has called pthread_exit, two others run. */
    stat.threads = 3;
    assert_false(pid_stat_is_dead(&stat));
    stat.threads = 2;
    assert_false(pid_stat_is_dead(&stat));
    /* Being removed, the kernel counts no thread at all. */
    stat.threads = 0;
    assert_true(pid_stat_is_dead(&stat));
}

static void test_dead_states(void **state)
{
    (void)state;
    static const char states[] = "RSDTtKWPIZXx";
    for (size_t i = 0; i < sizeof(states) - 1; i++) {
        char line[200];
        int n = snprintf(line, sizeof(line), "9 (sh) %c 1" QUIET_COLUMNS, states[i]);
        struct pid_stat stat;
        assert_int_equal(pid_stat_parse((struct str){line, (size_t)n}, &stat), 0);
        assert_int_equal(stat.state, states[i]);
        assert_int_equal(pid_stat_is_dead(&stat), i >= 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_forked_without_exec),
        cmocka_unit_test(test_first_process_and_kernel_thread),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_name_as_it_was),
        cmocka_unit_test(test_every_prefix_is_refused),
        cmocka_unit_test(test_short_lines),
        cmocka_unit_test(test_other_lengths),
        cmocka_unit_test(test_ignored_signals),
        cmocka_unit_test(test_negative),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_dead),
        cmocka_unit_test(test_dead_states),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
