/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of every framing, whole and byte by byte; broken ones are refused with the right code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "net/http.h"

enum { ANSWER_MAX = 1000 };

struct outcome {
    int code; /* of add, or of end where add took everything */
    size_t used;
    bool is_kept;
    struct http_answer answer;
};

static struct outcome feed_request(struct str text, size_t step, bool is_head)
{
    struct http_parse parse;
    struct outcome outcome = {0};
    http_parse_init(&parse, is_head, ANSWER_MAX);
    while (outcome.used < text.n && parse.state != HTTP_PARSE_DONE) {
        size_t n = text.n - outcome.used < step ? text.n - outcome.used : step;
        ssize_t r = http_parse_add(&parse, text.p + outcome.used, n);
        if (r < 0) {
            http_parse_fini(&parse);
            outcome.code = (int)r;
            return outcome;
        }
        assert_true((size_t)r == n || parse.state == HTTP_PARSE_DONE);
        outcome.used += (size_t)r;
    }
    outcome.code = http_parse_end(&parse);
    outcome.is_kept = parse.is_kept;
    if (outcome.code == 0)
        http_parse_take(&parse, &outcome.answer);
    http_parse_fini(&parse);
    return outcome;
}

static void check_answer(const char *text, int status, const char *body, bool is_kept)
{
    for (size_t step = 1; step < 40; step++) {
        struct outcome outcome = feed_request(str_of(text), step == 39 ? 100000 : step, false);
        assert_int_equal(outcome.code, 0);
        assert_int_equal(outcome.used, strlen(text));
        assert_int_equal(outcome.answer.status, status);
        assert_string_equal(buf_cstr(&outcome.answer.body), body);
        assert_int_equal(outcome.is_kept, is_kept);
        http_answer_fini(&outcome.answer);
    }
}

static void check_refused_bytes(struct str text, int code)
{
    for (size_t step = 1; step < 20; step++) {
        struct outcome outcome = feed_request(text, step == 19 ? 100000 : step, false);
        if (outcome.code != code)
            print_error("%.*s\n", (int)text.n, text.p);
        assert_int_equal(outcome.code, code);
        http_answer_fini(&outcome.answer);
    }
}

static void check_refused(const char *text, int code)
{
    check_refused_bytes(str_of(text), code);
}

static void test_lengths_and_ends(void **state)
{
    (void)state;
    check_answer("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true);
    check_answer("HTTP/1.1 200\r\ncontent-length:0\r\n\r\n", 200, "", true);
    check_answer("HTTP/1.1 404 \r\nContent-Length: 2\r\nConnection: close\r\n\r\nno", 404, "no", false);
    check_answer("HTTP/1.1 200 OK\r\n\r\nto the end\r\n", 200, "to the end\r\n", false);
    check_answer("HTTP/1.1 200 OK\r\n\r\n", 200, "", false);
    check_answer("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nab", 200, "ab", false);
    check_answer("HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: Keep-Alive\r\n\r\nab", 200, "ab", true);
    check_answer("HTTP/1.1 200 OK\r\nConnection: x ,CLOSE\r\nContent-Length: 1\r\n\r\na", 200, "a", false);
    check_answer("HTTP/1.1 200 OK\r\nConnection: close-not\r\nContent-Length: 1\r\n\r\na", 200, "a", true);
    check_answer("HTTP/1.1 503 B\xc3\xa4h\r\nContent-Length: \t1 \t\r\n\r\n\n", 503, "\n", true);
}

static void test_bare_lf_lines(void **state)
{
    (void)state;
    check_answer("HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", 200, "abc", true);
    check_answer("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\r\n\n2\nab\n1\r\nc\n0\n\n", 200, "abc", true);
}

static void test_chunks(void **state)
{
    (void)state;
    check_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n6;a=b;c=\"d\"\r\n there\r\n"
                 "000 ; last\r\n\r\n",
        200, "hello there", true);
    check_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n"
                 "Checksum: 1\r\nContent-Length: 7\r\n\r\n",
        200, "abcdefghijklmnopqrstuvwxyz", true);
    check_answer("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n0\r\n\r\n", 200, "", false);
}

static void test_informational_answers_are_skipped(void **state)
{
    (void)state;
    check_answer("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\nContent-Length: 4\r\nConnection: "
                 "close\r\n\r\nHTTP/1.1 201 Created\r\nContent-Length: 1\r\n\r\nz",
        201, "z", true);
    struct outcome outcome = feed_request(
        STR("HTTP/1.1 103 E\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nA: b\r\nContent-Length: 0\r\n\r\n"), 1000, false);
    assert_int_equal(outcome.code, 0);
    assert_string_equal(buf_cstr(&outcome.answer.head), "A: b\nContent-Length: 0\n");
    http_answer_fini(&outcome.answer);
    check_refused("HTTP/1.1 100 Continue\r\n\r\n", -ECONNRESET);
    check_refused("HTTP/1.1 101 Switching Protocols\r\n\r\n", -EPROTO);
}

static void test_answers_without_a_body(void **state)
{
    (void)state;
    check_answer("HTTP/1.1 204 No Content\r\n\r\n", 204, "", true);
    check_answer("HTTP/1.1 304 Not Modified\r\nContent-Length: 99999999\r\n\r\n", 304, "", true);
    struct str text = STR("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
    struct outcome outcome = feed_request(text, 1000, true);
    assert_int_equal(outcome.code, 0);
    assert_int_equal(outcome.used, text.n - 5);
    assert_int_equal(outcome.answer.body.len, 0);
    assert_true(outcome.is_kept);
    http_answer_fini(&outcome.answer);
    outcome = feed_request(STR("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), 1000, true);
    assert_int_equal(outcome.code, 0);
    http_answer_fini(&outcome.answer);
}

static void test_bytes_behind_the_answer_are_left(void **state)
{
    (void)state;
    struct str text = STR("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nabcd");
    for (size_t step = 1; step < 60; step++) {
        struct outcome outcome = feed_request(text, step, false);
        assert_int_equal(outcome.code, 0);
        assert_int_equal(outcome.used, text.n - 2);
        assert_string_equal(buf_cstr(&outcome.answer.body), "ab");
        http_answer_fini(&outcome.answer);
    }
}

static void test_broken_status_lines(void **state)
{
    (void)state;
    static const char *const broken[] = {"\r\n", "HTTP/2 200 OK\r\n", "HTTP/1.1 20 OK\r\n", "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1  200 OK\r\n", "http/1.1 200 OK\r\n", "HTTP/1.1 200OK\r\n", "HTTP/1.x 200 OK\r\n",
        "HTTP/1.1 099 x\r\n", "HTTP/1.1 600 x\r\n", "HTTP/1.1 -12 x\r\n", "HTTP/1.11 200\r\n",
        "SSH-2.0-OpenSSH_9.2p1\r\n", "HTTP/1.1\r\n", "HTTP/1.1 200 O\rK\r\n", "\x16\x03\x01\x02\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        check_refused(broken[i], -EPROTO);
    check_refused_bytes(STR("HTTP/1.1 200 O\0K\r\n"), -EPROTO);
}

static void test_broken_header_lines(void **state)
{
    (void)state;
    static const char *const broken[] = {"A: b\r\n folded\r\n", "\tA: b\r\n", "no colon\r\n", ": empty\r\n",
        "A : blank before the colon\r\n", "A: b\rc\r\n", "A(b): c\r\n", "A: \x01\r\n", "\x80: c\r\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n", broken[i]);
        check_refused(text, -EPROTO);
    }
    check_refused_bytes(STR("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"), -EPROTO);
}

static void test_ambiguous_lengths(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "Content-Length: 1\r\nContent-Length: 2\r\n",
        "Content-Length: 1\r\nContent-Length: 1\r\n",
        "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 1\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: identity\r\n",
        "Transfer-Encoding:\r\n",
        "Content-Length: -1\r\n",
        "Content-Length: +1\r\n",
        "Content-Length: 1, 1\r\n",
        "Content-Length: 0x10\r\n",
        "Content-Length:\r\n",
        "Content-Length: 1 2\r\n",
        "Content-Length: 18446744073709551616\r\n",
    };
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\n%s\r\n", broken[i]);
        check_refused(text, -EPROTO);
    }
    check_refused("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", -EPROTO);
}

static void test_broken_chunks(void **state)
{
    (void)state;
    static const char *const broken[] = {"\r\n", "g\r\n", "-1\r\n", "0x5\r\nhello\r\n", "5\r\nhelloX\r\n", "5 5\r\n",
        " 5\r\nhello\r\n", "ffffffffffffffff0\r\n", "5;\x01\r\nhello\r\n", "0\r\nno colon\r\n\r\n",
        "0\r\nA: b\r\n folded\r\n\r\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char text[200];
        (void)snprintf(text, sizeof(text), "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%s", broken[i]);
        check_refused(text, -EPROTO);
    }
}

static void test_cut_answers(void **state)
{
    (void)state;
    static const char *const whole[] = {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n"};
    for (size_t i = 0; i < 2; i++) {
        for (size_t n = 0; n < strlen(whole[i]); n++)
            check_refused_bytes((struct str){whole[i], n}, -ECONNRESET);
    }
}

static struct outcome feed_body(const char *head, size_t body_bytes, const char *end)
{
    struct buf text;
    buf_init(&text, 1 << 16);
    buf_puts(&text, head);
    for (size_t i = 0; i < body_bytes; i++)
        buf_putc(&text, 'x');
    buf_puts(&text, end);
    struct outcome outcome = feed_request((struct str){text.data, text.len}, 64, false);
    buf_fini(&text);
    return outcome;
}

static void test_body_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *fits, *too_large, *end;
    } heads[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n", ""},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n", "\r\n0\r\n\r\n"},
        {"HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\n", ""},
    };
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        struct outcome outcome = feed_body(heads[i].fits, ANSWER_MAX, heads[i].end);
        assert_int_equal(outcome.code, 0);
        assert_int_equal(outcome.answer.body.len, ANSWER_MAX);
        assert_int_equal(strlen(buf_cstr(&outcome.answer.body)), ANSWER_MAX);
        http_answer_fini(&outcome.answer);
        outcome = feed_body(heads[i].too_large, ANSWER_MAX + 1, heads[i].end);
        assert_int_equal(outcome.code, -EMSGSIZE);
    }
    /* Two chunks that fit one by one only. */
    struct outcome outcome = feed_body(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n", ANSWER_MAX, "\r\n1\r\nx\r\n0\r\n\r\n");
    assert_int_equal(outcome.code, -EMSGSIZE);
    check_refused("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n", -EMSGSIZE);
    check_refused("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n", -EMSGSIZE);
}

static void fill(struct buf *buf, const char *start, const char *line, size_t times)
{
    buf_init(buf, 1 << 20);
    buf_puts(buf, start);
    for (size_t i = 0; i < times; i++)
        buf_puts(buf, line);
    assert_true(buf_ok(buf));
}

static void test_head_sizes(void **state)
{
    (void)state;
    static const struct {
        const char *start, *line;
        size_t times;
    } large[] = {
        {"HTTP/1.1 200 OK\r\n", "A: b\r\n", HTTP_HEAD_BYTES_MAX / 6},
        {"HTTP/1.1 200 OK\r\nA: ", "x", HTTP_HEAD_BYTES_MAX},
        {"", "HTTP/1.1 100 Continue\r\n\r\n", HTTP_HEAD_BYTES_MAX / 25 + 1},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", HTTP_HEAD_BYTES_MAX / 6},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", "x", 2000},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", "0", 2000},
        {"", "x", HTTP_HEAD_BYTES_MAX},
    };
    for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
        struct buf text;
        fill(&text, large[i].start, large[i].line, large[i].times);
        for (size_t step = 100; step < 1000000; step *= 10) {
            struct outcome outcome = feed_request((struct str){text.data, text.len}, step, false);
            assert_int_equal(outcome.code, -EMSGSIZE);
        }
        buf_fini(&text);
    }
}

static void check_header(const char *head, const char *name, const char *value)
{
    struct http_answer answer = {0};
    buf_init(&answer.head, 1000);
    buf_puts(&answer.head, head);
    struct str found = http_answer_header(&answer, name);
    if (value)
        assert_true(found.p && str_eq(found, str_of(value)));
    else
        assert_true(!found.p && found.n == 0);
    http_answer_fini(&answer);
}

static void test_header_values(void **state)
{
    (void)state;
    check_header("ETag: \"x\"\nDate: today\n", "date", "today");
    check_header("ETag: \"x\"\netag: y\n", "ETAG", "\"x\"");
    check_header("X-Date: a\nDat: b\nDate2: c\n", "Date", NULL);
    check_header("Date:\n", "Date", "");
    check_header("Date:  spaced out \n", "Date", "spaced out");
    check_header("", "Date", NULL);
}

static int64_t retry_after(const char *value)
{
    struct http_answer answer = {0};
    buf_init(&answer.head, 1000);
    if (value)
        buf_printf(&answer.head, "Retry-After: %s\n", value);
    int64_t secs = http_answer_retry_after(&answer, 1794735000, 300); /* 2026-11-15 09:30:00 */
    http_answer_fini(&answer);
    return secs;
}

static void test_retry_after(void **state)
{
    (void)state;
    assert_int_equal(retry_after(NULL), -1);
    assert_int_equal(retry_after("0"), 0);
    assert_int_equal(retry_after("17"), 17);
    assert_int_equal(retry_after("301"), 300);
    assert_int_equal(retry_after("99999999999999999999999"), 300);
    assert_int_equal(retry_after("-1"), -1);
    assert_int_equal(retry_after("soon"), -1);
    assert_int_equal(retry_after(""), -1);
    assert_int_equal(retry_after("1.5"), -1);
    assert_int_equal(retry_after("Sun, 15 Nov 2026 09:31:00 GMT"), 60);
    assert_int_equal(retry_after("Sun, 15 Nov 2026 09:30:00 GMT"), 0);
    assert_int_equal(retry_after("Sun, 15 Nov 1998 09:31:00 GMT"), 0);
    assert_int_equal(retry_after("Mon, 16 Nov 2026 09:31:00 GMT"), 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lengths_and_ends),
        cmocka_unit_test(test_bare_lf_lines),
        cmocka_unit_test(test_chunks),
        cmocka_unit_test(test_informational_answers_are_skipped),
        cmocka_unit_test(test_answers_without_a_body),
        cmocka_unit_test(test_bytes_behind_the_answer_are_left),
        cmocka_unit_test(test_broken_status_lines),
        cmocka_unit_test(test_broken_header_lines),
        cmocka_unit_test(test_ambiguous_lengths),
        cmocka_unit_test(test_broken_chunks),
        cmocka_unit_test(test_cut_answers),
        cmocka_unit_test(test_body_sizes),
        cmocka_unit_test(test_head_sizes),
        cmocka_unit_test(test_header_values),
        cmocka_unit_test(test_retry_after),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
