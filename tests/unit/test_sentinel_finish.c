/* SPDX-License-Identifier: Apache-2.0 */
/* Finish with the samples in the call: the three forms byte for byte, their order, the pins and the ceiling. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "codec/gzip.h"
#include "codec/hash.h"
#include "encode/json.h"
#include "sentinel_scenario.h"

#define HEAD                                                                                                           \
    "{\"exit_code\":0,\"run_status\":\"finished\",\"finished_at\":\"2026-11-15T09:30:00Z\",\"data_source\":"           \
    "\"inline\","
#define OK_ANSWER LOOPBACK_ANSWER("200 OK", "", "{}")
#define REFUSAL(status, words) LOOPBACK_ANSWER(status, "", "{\"detail\":\"" words "\"}")

static const struct end_facts end = {.exit_code = {true, 0}, .finished_secs = 1794735000};

/* A CSV that is handed out in pieces of a certain size. */
struct csv {
    struct str text;
    size_t piece;
    size_t reads;
    int error; /* returned instead of the last piece */
};

static int read_csv(void *context, int (*take)(void *take_context, struct str piece), void *take_context)
{
    struct csv *csv = context;
    csv->reads++;
    for (size_t i = 0; i < csv->text.n; i += csv->piece) {
        size_t left = csv->text.n - i;
        if (left <= csv->piece && csv->error)
            return csv->error;
        int r = take(take_context, (struct str){csv->text.p + i, left < csv->piece ? left : csv->piece});
        if (r < 0)
            return r;
    }
    return 0;
}

static struct sentinel_result finish(struct sentinel_scenario *scenario, const char *const *answers, size_t count,
    enum settings_inline form, struct csv *csv)
{
    const struct sentinel_csv source = {.read = read_csv, .context = csv};
    assert_true(scenario_open(scenario, answers, count));
    scenario->sentinel.inline_form = (int)form;
    (void)str_copy(STR("r-1"), scenario->sentinel.run_id, sizeof(scenario->sentinel.run_id));
    struct sentinel_result result =
        sentinel_finish_inline(&scenario->sentinel, &end, &source, scenario_soon(), &scenario->err);
    loopback_stop(&scenario->server);
    return result;
}

static int append_piece(void *context, struct str piece)
{
    buf_append(context, piece.p, piece.n);
    return 0;
}

enum expected_form { BASE64_GZIP, TEXT_GZIP, TEXT_PLAIN };

static void assert_request(const struct loopback_request *request, enum expected_form form, struct str csv)
{
    AUTO_BUF struct buf expected;
    AUTO_BUF struct buf got;
    AUTO_BUF struct buf head;
    buf_init(&expected, LOOPBACK_BYTES_MAX);
    buf_init(&got, LOOPBACK_BYTES_MAX);
    buf_init(&head, LOOPBACK_BYTES_MAX);
    buf_append(&head, request->head.data, request->head.len);
    buf_puts(&expected, HEAD "\"data_csv\":");
    if (form == BASE64_GZIP) {
        buf_putc(&expected, '"');
        hash_base64(&expected, csv);
        buf_putc(&expected, '"');
    } else {
        json_put_string(&expected, csv);
    }
    buf_putc(&expected, '}');
    struct str body = {request->body.data, request->body.len};
    if (form == TEXT_PLAIN)
        buf_append(&got, body.p, body.n);
    else
        assert_int_equal(gzip_unpack(body, append_piece, &got), 0);
    assert_true(buf_ok(&expected) && buf_ok(&got));
    assert_int_equal(got.len, expected.len);
    assert_memory_equal(got.data, expected.data, expected.len);
    const char *text = buf_cstr(&head);
    assert_int_equal(strncmp(text, "POST /runs/r-1/finish HTTP/1.1\r\n", 32), 0);
    assert_non_null(strstr(text, "\r\nContent-Type: application/json\r\n"));
    assert_int_equal(strstr(text, "\r\nContent-Encoding: gzip\r\n") != NULL, form != TEXT_PLAIN);
}

static void test_first_form(void **state)
{
    (void)state;
    static const char *const answers[] = {OK_ANSWER};
    struct csv csv = {.text = STR("a,b\n1,2\n"), .piece = 3};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 1, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_DONE);
    assert_int_equal(result.status, 200);
    assert_string_equal(scenario.err.msg, "");
    assert_int_equal(scenario.server.request_count, 1);
    assert_request(&scenario.server.requests[0], BASE64_GZIP, csv.text);
    scenario_close(&scenario);
}

static void test_all_forms(void **state)
{
    (void)state;
    static const char *const answers[] = {REFUSAL("422 X", "one"), REFUSAL("500 X", "two"), OK_ANSWER};
    struct csv csv = {.text = STR("a,\"b\"\n1,\xc3\xa4\n"), .piece = 1};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 3, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_DONE);
    assert_string_equal(scenario.err.msg, "");
    assert_int_equal(scenario.err.code, 0);
    assert_int_equal(csv.reads, 3);
    assert_int_equal(scenario.server.request_count, 3);
    assert_request(&scenario.server.requests[0], BASE64_GZIP, csv.text);
    assert_request(&scenario.server.requests[1], TEXT_GZIP, csv.text);
    assert_request(&scenario.server.requests[2], TEXT_PLAIN, csv.text);
    scenario_close(&scenario);
}

static void test_none_accepted(void **state)
{
    (void)state;
    static const char *const answers[] = {REFUSAL("400 X", "one"), REFUSAL("415 X", "two"), REFUSAL("422 X", "three")};
    static const char *const broken[] = {REFUSAL("422 X", "one"), REFUSAL("422 X", "two"), REFUSAL("500 X", "three")};
    struct csv csv = {.text = STR("a\n"), .piece = 10};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 3, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_int_equal(result.status, 422);
    assert_string_equal(scenario.err.msg, "Sentinel refused to finish the run: 422 Unprocessable Content: three");
    assert_int_equal(scenario.server.request_count, 3);
    scenario_close(&scenario);
    result = finish(&scenario, broken, 3, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_AGAIN);
    assert_int_equal(result.status, 500);
    scenario_close(&scenario);
}

static void test_other_refusals_end_it(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        enum sentinel_outcome outcome;
        int status;
    } cases[] = {
        {REFUSAL("401 X", "no"), SENTINEL_REFUSED, 401},
        {REFUSAL("404 X", "no"), SENTINEL_REFUSED, 404},
        {REFUSAL("409 X", "no"), SENTINEL_REFUSED, 409},
        {REFUSAL("413 X", "no"), SENTINEL_REFUSED, 413},
        {REFUSAL("429 X", "no"), SENTINEL_AGAIN, 429},
        {REFUSAL("502 X", "no"), SENTINEL_AGAIN, 502},
        {NULL, SENTINEL_AGAIN, 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *const answers[] = {cases[i].answer, OK_ANSWER};
        struct csv csv = {.text = STR("a\n"), .piece = 10};
        struct sentinel_scenario scenario;
        struct sentinel_result result = finish(&scenario, answers, 2, INLINE_AUTO, &csv);
        assert_int_equal(result.outcome, cases[i].outcome);
        assert_int_equal(result.status, cases[i].status);
        assert_int_equal(scenario.server.request_count, 1);
        scenario_close(&scenario);
    }
}

static void test_pins(void **state)
{
    (void)state;
    static const char *const answers[] = {REFUSAL("422 X", "one"), REFUSAL("422 X", "two"), REFUSAL("422 X", "three")};
    struct csv csv = {.text = STR("a\n"), .piece = 10};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 3, INLINE_BASE64, &csv);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_int_equal(scenario.server.request_count, 1);
    assert_request(&scenario.server.requests[0], BASE64_GZIP, csv.text);
    scenario_close(&scenario);
    result = finish(&scenario, answers, 3, INLINE_PLAIN, &csv);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_int_equal(scenario.server.request_count, 2);
    assert_request(&scenario.server.requests[0], TEXT_GZIP, csv.text);
    assert_request(&scenario.server.requests[1], TEXT_PLAIN, csv.text);
    scenario_close(&scenario);
}

/* Characters of every length, broken ones and control bytes, across every border of the slices. */
static void test_borders(void **state)
{
    (void)state;
    static const char *const answers[] = {REFUSAL("422 X", ""), REFUSAL("422 X", ""), OK_ANSWER};
    static const struct str units[] = {{"x", 1}, {"\xc3\xa4", 2}, {"\xe2\x82\xac", 3}, {"\xf0\x9f\x99\x82", 4},
        {"\xff", 1}, {"\xe2\x82", 2}, {"\x80", 1}, {"\xf0\x9f\x99", 3}, {"\x01", 1}, {"\0", 1}, {"\"\\", 2},
        {"\xc3\xa4\xe2", 3}};
    static const size_t pieces[] = {1, 2, 1000, 3071, 3072, 3073, 100000};
    for (size_t unit = 0; unit < sizeof(units) / sizeof(units[0]); unit++) {
        for (size_t shift = 0; shift < 4; shift++) {
            AUTO_BUF struct buf text;
            buf_init(&text, 1024 * 1024);
            buf_append(&text, "aaa", shift);
            while (text.len < 10000 + unit)
                buf_append(&text, units[unit].p, units[unit].n);
            struct csv csv = {
                .text = {text.data, text.len}, .piece = pieces[(unit + shift) % (sizeof(pieces) / sizeof(pieces[0]))]};
            struct sentinel_scenario scenario;
            struct sentinel_result result = finish(&scenario, answers, 3, INLINE_AUTO, &csv);
            assert_int_equal(result.outcome, SENTINEL_DONE);
            assert_request(&scenario.server.requests[0], BASE64_GZIP, csv.text);
            assert_request(&scenario.server.requests[1], TEXT_GZIP, csv.text);
            assert_request(&scenario.server.requests[2], TEXT_PLAIN, csv.text);
            scenario_close(&scenario);
        }
    }
}

static void test_nothing_to_report(void **state)
{
    (void)state;
    static const char *const answers[] = {REFUSAL("400 X", ""), REFUSAL("400 X", ""), OK_ANSWER};
    struct csv csv = {.text = STR(""), .piece = 1};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 3, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_DONE);
    assert_request(&scenario.server.requests[0], BASE64_GZIP, csv.text);
    assert_request(&scenario.server.requests[2], TEXT_PLAIN, csv.text);
    scenario_close(&scenario);
}

static void test_unreadable(void **state)
{
    (void)state;
    static const char *const answers[] = {OK_ANSWER};
    struct csv csv = {.text = STR("a\nb\n"), .piece = 2, .error = -EIO};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 1, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_AGAIN);
    assert_int_equal(result.status, 0);
    assert_string_equal(
        scenario.err.msg, "Sentinel: cannot finish the run: cannot put the samples into the call: Input/output error");
    assert_int_equal(scenario.server.request_count, 0);
    scenario_close(&scenario);
}

static void test_too_large(void **state)
{
    (void)state;
    static const char *const answers[] = {REFUSAL("422 X", "one"), REFUSAL("422 X", "two"), OK_ANSWER};
    enum { BYTES = 9 * 1024 * 1024 };
    AUTO_FREE char *text = malloc(BYTES);
    assert_non_null(text);
    uint64_t seed = 1;
    for (size_t i = 0; i < BYTES; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        text[i] = (char)(seed >> 56);
    }
    struct csv csv = {.text = {text, BYTES}, .piece = 65536};
    struct sentinel_scenario scenario;
    struct sentinel_result result = finish(&scenario, answers, 3, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_int_equal(result.status, 0);
    assert_string_equal(
        scenario.err.msg, "Sentinel: cannot finish the run: the samples are too large for the call (over 8 MiB)");
    assert_int_equal(scenario.server.request_count, 0);
    scenario_close(&scenario);

    /* Compressed it fits; the last form does not, and the server's message stay. */
    memset(text, '7', BYTES);
    result = finish(&scenario, answers, 3, INLINE_AUTO, &csv);
    assert_int_equal(result.outcome, SENTINEL_REFUSED);
    assert_int_equal(result.status, 422);
    assert_string_equal(scenario.err.msg, "Sentinel refused to finish the run: 422 Unprocessable Content: two");
    assert_int_equal(scenario.server.request_count, 2);
    assert_true(scenario.server.requests[0].body.len < 256 * 1024);
    scenario_close(&scenario);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_form),
        cmocka_unit_test(test_all_forms),
        cmocka_unit_test(test_none_accepted),
        cmocka_unit_test(test_other_refusals_end_it),
        cmocka_unit_test(test_pins),
        cmocka_unit_test(test_borders),
        cmocka_unit_test(test_nothing_to_report),
        cmocka_unit_test(test_unreadable),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
