/* SPDX-License-Identifier: Apache-2.0 */
/* Names of output files: what is put in for the braces, and that nothing put in can leave its directory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/auto.h"
#include "run/output/file_name.h"

/* 2026-11-15 09:30:00 UTC */
static const int64_t when = 1794735000;

static int expand(const char *name, const char *job_name, char *path, size_t size, struct err *err)
{
    char job[16] = "";
    struct settings settings = {.job_name = job_name ? job : NULL};
    (void)str_copy(str_of(job_name ? job_name : ""), job, sizeof(job));
    return file_name_expand(name, &settings, path, size, err);
}

static void assert_filled(const char *name, const struct file_name_values *values, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    file_name_fill(name, values, &buf);
    assert_true(buf_ok(&buf));
    assert_string_equal(buf_cstr(&buf), expected);
}

static void test_every_name(void **state)
{
    (void)state;
    const struct file_name_values values = {.job = "train", .host = "node-7", .pid = 4242, .unix_secs = when};
    assert_filled("", &values, "");
    assert_filled("run.jsonl", &values, "run.jsonl");
    assert_filled("{job}", &values, "train");
    assert_filled("{host}", &values, "node-7");
    assert_filled("{pid}", &values, "4242");
    assert_filled("{datetime}", &values, "20261115T093000Z");
    assert_filled("out/{job}-{host}-{pid}-{datetime}.csv", &values, "out/train-node-7-4242-20261115T093000Z.csv");
    assert_filled("{job}{job}", &values, "traintrain");
    assert_filled("{node}-{rank}", &values, "host-0");
    struct file_name_values part = values;
    part.node = "n1/../2";
    part.rank = "17";
    assert_filled("{node}-{rank}.jsonl", &part, "n1_.._2-17.jsonl");
}

static void test_other_braces_stay(void **state)
{
    (void)state;
    const struct file_name_values values = {.job = "j", .host = "h", .pid = 1, .unix_secs = when};
    assert_filled("{", &values, "{");
    assert_filled("}", &values, "}");
    assert_filled("{}", &values, "{}");
    assert_filled("{job", &values, "{job");
    assert_filled("{JOB}", &values, "{JOB}");
    assert_filled("{ job }", &values, "{ job }");
    assert_filled("{jobs}", &values, "{jobs}");
    assert_filled("{{job}}", &values, "{j}");
    assert_filled("{pi{pid}d}", &values, "{pi1d}");
    assert_filled("100%d %s %n", &values, "100%d %s %n");
    assert_filled("\xc3\xa4 {job} \xff", &values, "\xc3\xa4 j \xff");
}

static void test_values_are_made_safe(void **state)
{
    (void)state;
    struct file_name_values values = {.host = "h", .pid = 1, .unix_secs = when};
    static const char *const cases[][2] = {
        {"a/b", "a_b"},
        {"../../etc/passwd", "_._.._etc_passwd"},
        {"..", "_."},
        {".", "_"},
        {".hidden", "_hidden"},
        {"/abs", "_abs"},
        {"a b\tc\nd", "a_b_c_d"},
        {"{pid}", "_pid_"},
        {"{job}", "_job_"},
        {"a.b_c-D9", "a.b_c-D9"},
        {"\xc3\xa4", "__"},
        {"*?$`'\"\\|;&<>", "____________"},
        {"\x01\x7f\xff", "___"},
        {"-rf", "_rf"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        values.job = cases[i][0];
        assert_filled("{job}", &values, cases[i][1]);
        values.host = cases[i][0];
        assert_filled("{host}", &values, cases[i][1]);
    }
}

static void test_missing_values_have_a_name(void **state)
{
    (void)state;
    struct file_name_values values = {.pid = 1, .unix_secs = when};
    assert_filled("{job}.{host}", &values, "job.host");
    values.job = "";
    values.host = "";
    assert_filled("{job}.{host}", &values, "job.host");
}

static void test_a_long_value_is_cut(void **state)
{
    (void)state;
    char job[1001];
    memset(job, 'x', sizeof(job) - 1);
    job[sizeof(job) - 1] = '\0';
    struct file_name_values values = {.job = job, .host = "h", .pid = 1, .unix_secs = when};
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    file_name_fill("{job}.csv", &values, &buf);
    /* Whatever is put in must leave room for the rest of a name of at most 255 bytes. */
    assert_in_range(buf.len, 64, 255);
    assert_non_null(strstr(buf_cstr(&buf), "xx.csv"));
}

static void test_odd_times_and_numbers(void **state)
{
    (void)state;
    struct file_name_values values = {.pid = INT64_MIN, .unix_secs = 0};
    assert_filled("{datetime}", &values, "19700101T000000Z");
    assert_filled("{pid}", &values, "-9223372036854775808");
    values.unix_secs = 951782400;
    assert_filled("{datetime}", &values, "20000229T000000Z");
    values.unix_secs = INT64_MAX;
    assert_filled("{datetime}", &values, "99991231T235959Z");
}

static void test_expanding_uses_this_process(void **state)
{
    (void)state;
    char path[256];
    char expected[256];
    struct err err = {0};
    assert_int_equal(expand("/tmp/{job}-{pid}", "a/b", path, sizeof(path), &err), 0);
    (void)snprintf(expected, sizeof(expected), "/tmp/a_b-%ld", (long)getpid());
    assert_string_equal(path, expected);
    assert_int_equal(expand("{job}", NULL, path, sizeof(path), &err), 0);
    assert_string_equal(path, "job");
    assert_int_equal(expand("", NULL, path, sizeof(path), &err), 0);
    assert_string_equal(path, "");
    assert_int_equal(expand("{datetime}", NULL, path, sizeof(path), &err), 0);
    assert_int_equal(strlen(path), strlen("20261115T093000Z"));
    assert_int_equal(path[8], 'T');
    assert_int_equal(path[15], 'Z');
    assert_int_equal(expand("{host}", NULL, path, sizeof(path), &err), 0);
    assert_true(path[0] != '\0' && !strchr(path, '/'));
}

static void test_expanding_into_too_little_room(void **state)
{
    (void)state;
    char path[8];
    struct err err = {0};
    assert_int_equal(expand("1234567", NULL, path, sizeof(path), &err), 0);
    assert_string_equal(path, "1234567");
    memcpy(path, "before", 7);
    assert_int_equal(expand("12345678", NULL, path, sizeof(path), &err), -ENAMETOOLONG);
    assert_int_equal(err.code, -ENAMETOOLONG);
    assert_non_null(strstr(err.msg, "7"));
    assert_string_equal(path, "before");
    assert_int_equal(expand("1234{job}", "5678", path, sizeof(path), NULL), -ENAMETOOLONG);
    assert_string_equal(path, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_name),
        cmocka_unit_test(test_other_braces_stay),
        cmocka_unit_test(test_values_are_made_safe),
        cmocka_unit_test(test_missing_values_have_a_name),
        cmocka_unit_test(test_a_long_value_is_cut),
        cmocka_unit_test(test_odd_times_and_numbers),
        cmocka_unit_test(test_expanding_uses_this_process),
        cmocka_unit_test(test_expanding_into_too_little_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
