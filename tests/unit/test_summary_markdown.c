/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/auto.h"
#include "base/str.h"
#include "summary/write.h"
#include "summary_cases.h"

static void render(struct buf *buf, const struct summary *summary, const struct spark *spark)
{
    buf_init(buf, 256 * 1024);
    summary_put_markdown(buf, summary, spark);
    assert_true(buf_ok(buf));
    assert_memory_equal(buf->data, "### resource-tracker: ", 22);
    assert_memory_equal(buf->data + buf->len - 2, "\n\n", 2);
}

/* An hour: cores that rise and fall, memory that grows. */
static void fill_spark(struct spark *spark)
{
    for (unsigned i = 1; i <= 3733; i++) {
        struct sample sample = {.elapsed_secs = some_f64(i), .tracked_pid = some_u64(4711)};
        sample.actual_interval_ms = some_f64(1000);
        sample.cpu.present = true;
        sample.cpu.process_cores_used = some_f64(i % 1000 / 1000.0);
        sample.cpu.process_rss_mib = some_f64(i < 3733 ? 200 + i * 0.35 : 0);
        spark_add(spark, &sample);
    }
}

static void test_golden(void **state)
{
    (void)state;
    struct spark spark = {0};
    fill_spark(&spark);
    for (size_t i = 0; i < summary_cases_count; i++) {
        struct summary summary;
        summary_cases[i].fill(&summary);
        AUTO_BUF struct buf buf;
        render(&buf, &summary, summary.samples.v > 1 ? &spark : NULL);
        summary_case_compare(summary_cases[i].name, "md", &buf);
    }
    summary_case_end();
}

static size_t count_of(struct str text, char c)
{
    size_t count = 0;
    for (size_t i = 0; i < text.n; i++)
        count += text.p[i] == c;
    return count;
}

static size_t count_comments(struct str line)
{
    size_t count = 0;
    for (; line.n > 0; str_skip(&line, 1))
        count += str_starts(line, STR("&#64;<!-- -->"));
    return count;
}

/* Outside the block of code: every row has its four pipes, one of phases six, and of markup there is only our own. */
static void check_lines(const struct buf *buf)
{
    struct str rest = {buf->data, buf->len}, line;
    bool is_code = false;
    size_t pipes = 4;
    for (unsigned number = 0; str_line(&rest, &line); number++) {
        if (str_starts(line, STR("```"))) {
            is_code = !is_code;
            continue;
        }
        if (is_code)
            continue;
        bool is_row = str_starts(line, STR("|"));
        bool is_head = number == 0;
        bool is_bold = str_starts(line, STR("**"));
        pipes = str_starts(line, STR("| phases, ")) ? 6 : is_row ? pipes : 4;
        assert_int_equal(count_of(line, '|'), is_row ? pipes : 0);
        assert_int_equal(count_of(line, '`') + count_of(line, '[') + count_of(line, ']') + count_of(line, '_'), 0);
        assert_int_equal(count_of(line, '*'), is_bold ? 4 : 0);
        bool is_broken = (is_bold && number == 2) || (str_starts(line, STR("result: ")) && number == 3);
        size_t ours = str_starts(line, STR("<code>")) ? 2 : is_broken;
        assert_int_equal(count_of(line, '<'), ours + count_comments(line));
        assert_int_equal(count_of(line, '#'), count_of(line, '&') + (is_head ? 3 : 0));
    }
    assert_false(is_code);
}

static void test_any_bytes(void **state)
{
    (void)state;
    char bytes[600];
    uint32_t random = 7;
    for (unsigned round = 0; round < 300; round++) {
        size_t length = 1 + round * 2 % (sizeof(bytes) - 1);
        for (size_t i = 0; i < length; i++) {
            random = random * 1664525 + 1013904223;
            unsigned byte = random >> 24;
            bytes[i] = (char)(round % 2 ? 0x21 + byte % 0x5e : byte ? byte : 1);
        }
        bytes[length - 1] = 'x';
        bytes[length] = '\0';
        const char *text = bytes;
        struct summary summary;
        summary_case_fill_texts(&summary, &text);
        AUTO_BUF struct buf buf;
        render(&buf, &summary, NULL);
        check_lines(&buf);
    }
}

static void test_links(void **state)
{
    (void)state;
    static const char *const text = "http://a www.b WWW.c d@e.f w";
    struct summary summary;
    summary_case_fill_texts(&summary, &text);
    AUTO_BUF struct buf buf;
    render(&buf, &summary, NULL);
    assert_null(strstr(buf_cstr(&buf), "://"));
    assert_null(strstr(buf_cstr(&buf), "www."));
    assert_null(memchr(buf.data, '@', (size_t)(strstr(buf.data, "```") - buf.data)));
    assert_non_null(strstr(buf_cstr(&buf), "http&#58;//a www&#46;b WWW&#46;c d&#64;<!-- -->e.f w\n"));
}

/* A ready line cannot leave its block. */
static void test_block_of_code(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    summary.sizing.slurm = "a\n```\n# b";
    AUTO_BUF struct buf buf;
    render(&buf, &summary, NULL);
    assert_non_null(strstr(buf_cstr(&buf), "\n```\na\n'''\n# b\n--"));
}

static void test_full_buffer(void **state)
{
    (void)state;
    struct summary summary;
    summary_case_fill_full(&summary);
    for (size_t max = 0; max < 2000; max += 7) {
        AUTO_BUF struct buf buf;
        buf_init(&buf, max);
        summary_put_markdown(&buf, &summary, NULL);
        assert_true(buf.len <= max);
        assert_false(buf_ok(&buf) && max < 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden),
        cmocka_unit_test(test_any_bytes),
        cmocka_unit_test(test_links),
        cmocka_unit_test(test_block_of_code),
        cmocka_unit_test(test_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
