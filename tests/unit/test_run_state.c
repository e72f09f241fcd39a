/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "stream/run_state.h"
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

static void test_round_trip(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    run_state_init(&state);
    run_state_init(&again);
    fill(&state);
    state.sentinel.is_wanted = state.sentinel.is_finishing = true;
    (void)str_copy(STR("https://api.example/\"x\""), state.sentinel.url, sizeof(state.sentinel.url));
    (void)str_copy(STR("run-17"), state.sentinel.run_id, sizeof(state.sentinel.run_id));
    (void)str_copy(STR("s3://b/p"), state.sentinel.upload_prefix, sizeof(state.sentinel.upload_prefix));
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(number_set_add(&state.sentinel.delivered, i == 3 ? 9 : i), 0);
    state.bucket.is_wanted = state.bucket.is_introduced = state.bucket.is_path_style = true;
    (void)str_copy(STR("s3://mine/runs"), state.bucket.uri, sizeof(state.bucket.uri));
    (void)str_copy(STR("job/20261115T093000Z-1f2e3d4c"), state.bucket.folder, sizeof(state.bucket.folder));
    state.has_end = true;
    state.end = (struct end_facts){.exit_code = some_i64(137), .is_failed = true, .finished_secs = 1794735060};
    struct buf text = text_of(&state);
    assert_int_equal(run_state_parse((struct str){text.data, text.len}, &again, NULL), 0);
    assert_string_equal(again.run_id, state.run_id);
    assert_int_equal(again.started_secs, state.started_secs);
    assert_int_equal(again.register_body.len, state.register_body.len);
    assert_memory_equal(again.register_body.data, state.register_body.data, state.register_body.len);
    assert_true(again.sentinel.is_wanted && again.sentinel.is_finishing && !again.sentinel.is_done);
    assert_string_equal(again.sentinel.url, state.sentinel.url);
    assert_string_equal(again.sentinel.run_id, "run-17");
    assert_int_equal(number_set_count(&again.sentinel.delivered), 5);
    assert_true(number_set_has(&again.sentinel.delivered, 9));
    assert_false(number_set_has(&again.sentinel.delivered, 3));
    assert_true(again.bucket.is_wanted && again.bucket.is_introduced && again.bucket.is_path_style);
    assert_string_equal(again.bucket.folder, state.bucket.folder);
    assert_true(again.has_end && again.end.is_failed);
    assert_int_equal(again.end.exit_code.v, 137);
    assert_int_equal(again.end.finished_secs, 1794735060);
    buf_fini(&text);
    run_state_fini(&state);
    run_state_fini(&again);
}

static void test_no_targets_and_no_end(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    run_state_init(&state);
    run_state_init(&again);
    fill(&state);
    struct buf text = text_of(&state);
    assert_int_equal(run_state_parse((struct str){text.data, text.len}, &again, NULL), 0);
    assert_false(again.sentinel.is_wanted || again.bucket.is_wanted || again.has_end);
    buf_fini(&text);
    run_state_fini(&state);
    run_state_fini(&again);
}

static void test_broken_states_are_refused(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    run_state_init(&state);
    fill(&state);
    struct buf text = text_of(&state);
    for (size_t n = 0; n + 2 < text.len; n += 3) {
        struct err err = {0};
        run_state_init(&again);
        assert_int_equal(run_state_parse((struct str){text.data, n}, &again, &err), -EBADMSG);
        assert_non_null(strstr(err.msg, "state.json"));
        run_state_fini(&again);
    }
    run_state_init(&again);
    assert_int_equal(run_state_parse(STR("{\"format\":2}"), &again, NULL), -EBADMSG);
    run_state_fini(&again);
    buf_fini(&text);
    run_state_fini(&state);
}

static void test_end_alone(void **unused)
{
    (void)unused;
    static struct run_state state, again;
    run_state_init(&state);
    run_state_init(&again);
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
}

static void test_run_with_its_end(void **unused)
{
    (void)unused;
    static struct run_state state;
    run_state_init(&state);
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
        cmocka_unit_test(test_no_targets_and_no_end),
        cmocka_unit_test(test_broken_states_are_refused),
        cmocka_unit_test(test_end_alone),
        cmocka_unit_test(test_run_with_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
