/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>

#include "stream/delivery.h"
#include "stream/spool/spool.h"

static void fill(struct run_state *state)
{
    (void)str_copy(STR("20261115T093000Z-1f2e3d4c"), state->run_id, sizeof(state->run_id));
    state->started_secs = 1794735000;
    buf_puts(&state->register_body, "{\"job_name\":\"a \\\"b\\\"\"}");
    buf_puts(&state->run_body, "{\"run_id\":\"x\"}");
}

static struct buf text_of(const struct run_state *state)
{
    struct buf text;
    buf_init(&text, 1024 * 1024);
    run_state_put(&text, state);
    assert_true(buf_ok(&text));
    return text;
}

/* As version 0.1.0 wrote it: what is spooled by one version is delivered by another, and every target has its object.
 */
static void test_round_trip(void **unused)
{
    (void)unused;
    static const char spooled[] =
        "{\"format\":1,\"run_id\":\"20261115T093000Z-1f2e3d4c\",\"started_at\":\"2026-11-15T09:30:00Z\","
        "\"made_folders\":2,\"made_in\":\"/spool\",\"register\":{\"job_name\":\"a "
        "\\\"b\\\"\"},\"run\":{\"run_id\":\"x\"},"
        "\"sentinel\":{\"kind\":\"sentinel\",\"url\":\"https://api.example/\\\"x\\\"\",\"run_id\":\"run-17\","
        "\"upload_uri_prefix\":\"s3://b/p\",\"delivered\":\"0-2,4,9\",\"finishing\":true,\"finished\":false,"
        "\"done\":false},"
        "\"s3\":{\"kind\":\"s3\",\"uri\":\"s3://mine/runs\",\"endpoint\":\"http://127.0.0.1:9000\",\"region\":\"eu-1\","
        "\"path_style\":true,\"folder\":\"job/20261115T093000Z-1f2e3d4c\",\"delivered\":\"0-3\",\"introduced\":true,"
        "\"done\":true},"
        "\"end\":{\"exit_code\":137,\"run_status\":\"failed\",\"finished_at\":\"2026-11-15T09:31:00Z\"}}\n";
    static struct run_state state;
    assert_int_equal(run_state_init(&state), 0);
    assert_int_equal(run_state_parse(STR(spooled), &state, NULL), 0);
    assert_string_equal(state.run_id, "20261115T093000Z-1f2e3d4c");
    assert_int_equal(state.started_secs, 1794735000);
    assert_true(state.has_end && state.end.is_failed);
    assert_int_equal(state.end.exit_code.v, 137);
    assert_int_equal(state.end.finished_secs, 1794735060);
    assert_true(run_state_has_targets(&state) && !run_state_is_delivered(&state));
    assert_int_equal(number_set_count(&state.targets[0].delivered), 5);
    assert_false(state.targets[0].is_done);
    assert_int_equal(number_set_count(&state.targets[1].delivered), 4);
    assert_true(state.targets[1].is_done);
    struct buf text = text_of(&state);
    assert_string_equal(buf_cstr(&text), spooled);
    buf_fini(&text);
    run_state_fini(&state);
}

static void test_unusable_targets_are_refused(void **unused)
{
    (void)unused;
    static const char *const bad[] = {"\"sentinel\":{}", "\"sentinel\":{\"url\":\"u\",\"run_id\":\"r\"}",
        "\"s3\":{\"uri\":\"s3://b\",\"delivered\":\"\"}",
        "\"sentinel\":{\"url\":\"u\",\"run_id\":\"\",\"upload_uri_prefix\":\"\",\"delivered\":\"1000000\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        static struct run_state state;
        char text[512];
        (void)snprintf(text, sizeof(text),
            "{\"format\":1,\"run_id\":\"x\",\"started_at\":\"2026-11-15T09:30:00Z\",\"register\":{},\"run\":{},%s}",
            bad[i]);
        assert_int_equal(run_state_init(&state), 0);
        assert_int_equal(run_state_parse(str_of(text), &state, NULL), -EBADMSG);
        run_state_fini(&state);
    }
}

static void test_no_targets_and_no_end(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    assert_int_equal(run_state_init(&state), 0);
    assert_int_equal(run_state_init(&again), 0);
    fill(&state);
    struct buf text = text_of(&state);
    assert_int_equal(run_state_parse((struct str){text.data, text.len}, &again, NULL), 0);
    assert_false(run_state_has_targets(&again) || again.has_end);
    buf_fini(&text);
    run_state_fini(&state);
    run_state_fini(&again);
}

static void test_broken_states_are_refused(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    assert_int_equal(run_state_init(&state), 0);
    fill(&state);
    struct buf text = text_of(&state);
    for (size_t n = 0; n + 2 < text.len; n += 3) {
        struct err err = {0};
        assert_int_equal(run_state_init(&again), 0);
        assert_int_equal(run_state_parse((struct str){text.data, n}, &again, &err), -EBADMSG);
        assert_non_null(strstr(err.msg, "state.json"));
        run_state_fini(&again);
    }
    assert_int_equal(run_state_init(&again), 0);
    assert_int_equal(run_state_parse(STR("{\"format\":2}"), &again, NULL), -EBADMSG);
    run_state_fini(&again);
    buf_fini(&text);
    run_state_fini(&state);
}

static void test_end_alone(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    assert_int_equal(run_state_init(&state), 0);
    assert_int_equal(run_state_init(&again), 0);
    state.end =
        (struct end_facts){.exit_code = some_i64(-2147483648), .is_failed = true, .finished_secs = 253402300799};
    struct buf text;
    buf_init(&text, SPOOL_END_BYTES - 1);
    run_state_put_end(&text, &state);
    assert_true(buf_ok(&text)); /* the longest that there can be */
    assert_int_equal(run_state_parse_end((struct str){text.data, text.len}, &again), 0);
    assert_true(again.has_end && again.end.is_failed);
    assert_int_equal(again.end.exit_code.v, -2147483648);
    assert_int_equal(again.end.finished_secs, 253402300799);
    static const char *const bad[] = {"", "{", "[]", "{}", "7", "{\"run_status\":\"finished\"}"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        again.has_end = false;
        assert_int_equal(run_state_parse_end(str_of(bad[i]), &again), -EBADMSG);
        assert_false(again.has_end);
    }
    buf_fini(&text);
    run_state_fini(&state);
    run_state_fini(&again);
}

static void test_run_with_its_end(void **unused)
{
    (void)unused;
    static struct run_state state;
    assert_int_equal(run_state_init(&state), 0);
    fill(&state);
    struct buf text;
    buf_init(&text, 4096);
    run_state_put_run(&text, &state, 3);
    assert_string_equal(buf_cstr(&text), "{\"run_id\":\"x\"}");
    buf_clear(&text);
    state.has_end = true;
    state.end = (struct end_facts){.exit_code = some_i64(0), .finished_secs = 0};
    run_state_put_run(&text, &state, 3);
    assert_string_equal(buf_cstr(&text), "{\"run_id\":\"x\",\"end\":{\"exit_code\":0,\"run_status\":\"finished\","
                                         "\"finished_at\":\"1970-01-01T00:00:00Z\"},"
                                         "\"batches\":3}");
    buf_fini(&text);
    run_state_fini(&state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_unusable_targets_are_refused),
        cmocka_unit_test(test_no_targets_and_no_end),
        cmocka_unit_test(test_broken_states_are_refused),
        cmocka_unit_test(test_end_alone),
        cmocka_unit_test(test_run_with_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
