/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "base/text.h"
#include "summary/write.h"
#include "summary_cases.h"

enum { LINES_MAX = 25 };

static void render(struct buf *buf, const struct summary *summary, unsigned columns, bool has_colour)
{
    struct summary_style style = {.has_colour = has_colour, .columns = columns};
    buf_init(buf, 64 * 1024);
    summary_put_text(buf, summary, &style);
    assert_true(buf_ok(buf));
    assert_int_equal(buf->data[buf->len - 1], '\n');
}

/* Columns of a line without its colours, as a terminal counts ASCII and the wide characters of these tests. */
static size_t line_columns(struct str line, bool *ret_is_reset)
{
    size_t columns = 0;
    bool is_reset = true;
    while (line.n > 0) {
        if (line.p[0] == '\033') {
            assert_true(line.n >= 3 && line.p[1] == '[');
            is_reset = line.p[2] == '0';
            while (!str_take(&line, 'm'))
                str_skip(&line, 1);
            continue;
        }
        size_t length = utf8_length(line);
        assert_true(length > 0);
        assert_true((unsigned char)line.p[0] >= 0x20 && line.p[0] != 0x7f);
        columns += (unsigned char)line.p[0] >= 0xe1 ? 2 : 1;
        str_skip(&line, length);
    }
    *ret_is_reset = is_reset;
    return columns;
}

static void check_shape(const struct buf *buf, size_t columns)
{
    struct str rest = {buf->data, buf->len}, line;
    unsigned lines = 0;
    for (; str_line(&rest, &line); lines++) {
        bool is_reset;
        size_t have = line_columns(line, &is_reset);
        if (have > columns)
            fail_msg("%zu columns of %zu: %.*s", have, columns, (int)line.n, line.p);
        assert_true(is_reset);
        assert_true(line.n > 0 && line.p[line.n - 1] != ' ');
        assert_true(line.p[0] != '{' && (line.p[0] < '0' || line.p[0] > '9'));
    }
    assert_in_range(lines, 1, LINES_MAX);
}

static void compare(const struct summary *summary, const char *name, unsigned columns, bool has_colour)
{
    AUTO_BUF struct buf buf;
    render(&buf, summary, columns, has_colour);
    check_shape(&buf, columns ? columns : 80);
    summary_case_compare(name, has_colour ? "colour.txt" : "txt", &buf);
}

static void test_golden(void **state)
{
    (void)state;
    for (size_t i = 0; i < summary_cases_count; i++) {
        struct summary summary;
        summary_cases[i].fill(&summary);
        compare(&summary, summary_cases[i].name, 0, false);
        compare(&summary, summary_cases[i].name, 0, true);
        char name[64];
        for (unsigned columns = 40; columns <= 60; columns += 20) {
            (void)snprintf(name, sizeof(name), "%s-%u", summary_cases[i].name, columns);
            compare(&summary, name, columns, false);
        }
    }
    summary_case_end();
}

/* Every case at every width: never wider, never more lines, nothing of the data reaches the terminal as a command. */
static void test_any_width(void **state)
{
    (void)state;
    for (size_t i = 0; i < summary_cases_count; i++) {
        struct summary summary;
        summary_cases[i].fill(&summary);
        for (unsigned columns = 1; columns < 200; columns++) {
            AUTO_BUF struct buf buf;
            render(&buf, &summary, columns, columns % 2);
            check_shape(&buf, columns < 40 ? 40 : columns);
        }
    }
}

static void test_any_bytes(void **state)
{
    (void)state;
    char bytes[600];
    uint32_t random = 1;
    for (unsigned round = 0; round < 300; round++) {
        size_t length = round * 2 % sizeof(bytes);
        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            bytes[i] = (char)(random >> 24 ? random >> 24 : 1);
        }
        bytes[length] = '\0';
        const char *text = bytes;
        struct summary summary;
        summary_case_fill_texts(&summary, &text);
        AUTO_BUF struct buf buf;
        render(&buf, &summary, 40 + round % 100, false);
        check_shape(&buf, 40 + round % 100);
        assert_null(memchr(buf.data, '\033', buf.len));
    }
}

static void test_wide_characters(void **state)
{
    (void)state;
    static const char *const text = "\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97"
                                    "\xa5\xe6\x9c\xac\xe8\xaa\x9e\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e\xf0\x9f\x98\x80";
    struct summary summary;
    summary_case_fill_texts(&summary, &text);
    for (unsigned columns = 40; columns < 120; columns++) {
        AUTO_BUF struct buf buf;
        render(&buf, &summary, columns, false);
        check_shape(&buf, columns);
    }
}

static void test_many_notes(void **state)
{
    (void)state;
    static const char *notes[1000];
    for (size_t i = 0; i < 1000; i++)
        notes[i] = "a note that is much too long for one line of a terminal, so that it would like to have two of them";
    struct summary summary;
    summary_case_fill_full(&summary);
    summary.notes = (struct sample_list){true, 1000, notes};
    summary.sizing.gpus = summary.sizing.vcpus = summary.sizing.memory_mib = summary.sizing.vram_mib =
        (struct opt_u64){0};
    AUTO_BUF struct buf buf;
    render(&buf, &summary, 80, false);
    check_shape(&buf, 80);
    assert_non_null(strstr(buf_cstr(&buf), "997 further notes\n"));
    assert_non_null(strstr(buf_cstr(&buf), "VRAM withheld: peak of 3140 MiB + 20 %\n"));
}

static void test_colour_of_result(void **state)
{
    (void)state;
    static const struct {
        const char *verdict, *colour;
    } expected[] = {
        {SUMMARY_FINISHED, "\033[32mfinished"},
        {SUMMARY_FAILED, "\033[31mfailed"},
        {SUMMARY_SIGNALED, "\033[31mended early"},
        {SUMMARY_OUT_OF_MEMORY, "\033[31mout of memory"},
        {SUMMARY_MAYBE_OUT_OF_MEMORY, "\033[31mmaybe out of memory"},
        {SUMMARY_UNKNOWN, "\033[33mend unknown, tracked for"},
        {NULL, "\033[33mend unknown, tracked for"},
    };
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        struct summary summary;
        summary_case_fill_full(&summary);
        summary.result.verdict = expected[i].verdict;
        AUTO_BUF struct buf buf;
        render(&buf, &summary, 80, true);
        assert_non_null(strstr(buf_cstr(&buf), expected[i].colour));
    }
}

/* A buffer that is full stays whole and says so. */
static void test_full_buffer(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    for (size_t max = 0; max < 1500; max += 7) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, max);
        summary_put_text(&buf, &summary, &(struct summary_style){0});
        assert_true(buf.len <= max);
        assert_false(buf_ok(&buf) && max < 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_any_width),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_wide_characters),
        cmocka_unit_test(test_many_notes),
        cmocka_unit_test(test_colour_of_result),
        cmocka_unit_test(test_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
