/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a run as "state.json" has it, in both directions:
 * {"format":1,"run_id":"20261115T093000Z-1f2e3d4c","started_at":"…","register":{…},"run":{…},"KEY-OF-A-TARGET":{…},…}
 */
#include "stream/delivery.h"

#include <errno.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/utc.h"
#include "codec/json_read.h"
#include "encode/json.h"

/* DIRECTORIES_MAX: home, .local, state, resource-tracker, spool */
enum { STATE_FORMAT = 1, NUMBERS_TEXT_MAX = 32 * 1024, DIRECTORIES_MAX = 5 };

int run_state_init(struct run_state *state)
{
    *state = (struct run_state){0};
    buf_init(&state->register_body, RUN_STATE_BODY_MAX);
    buf_init(&state->run_body, RUN_STATE_BODY_MAX);
    buf_init(&state->summary, RUN_STATE_SUMMARY_MAX);
    state->targets = calloc(stream_target_count, sizeof(*state->targets));
    if (!state->targets)
        return -ENOMEM;
    for (size_t i = 0; i < stream_target_count; i++) {
        struct target_run *run = &state->targets[i];
        run->target = stream_targets[i];
        buf_init(&run->batch, SPOOL_BATCH_BYTES_MAX);
        run->state = calloc(1, run->target->state_bytes + 1);
        if (!run->state)
            return -ENOMEM;
    }
    return 0;
}

void run_state_fini(struct run_state *state)
{
    for (size_t i = 0; state->targets && i < stream_target_count && state->targets[i].state; i++) {
        struct target_run *run = &state->targets[i];
        if (run->target->close)
            run->target->close(run);
        buf_fini(&run->batch);
        free(run->state);
    }
    free(state->targets);
    state->targets = NULL;
    buf_fini(&state->register_body);
    buf_fini(&state->run_body);
    buf_fini(&state->summary);
}

bool run_state_has_targets(const struct run_state *state)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        if (target_is_kept(&state->targets[i]))
            return true;
    }
    return false;
}

bool run_state_is_delivered(const struct run_state *state)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        if (target_is_kept(&state->targets[i]) && !state->targets[i].is_done)
            return false;
    }
    return true;
}

static void put_object(struct buf *buf, const char *key, const struct buf *object)
{
    json_put_key(buf, key);
    if (object->len > 0)
        buf_append(buf, object->data, object->len);
    else
        buf_puts(buf, "{}");
}

void run_state_put(struct buf *buf, const struct run_state *state)
{
    buf_printf(buf, "{\"format\":%d", STATE_FORMAT);
    json_put_text(buf, "run_id", state->run_id);
    json_put_time(buf, "started_at", state->started_secs);
    /* The key is in files that earlier versions wrote and read. */
    buf_printf(buf, ",\"made_folders\":%u", state->made_directories);
    if (state->made_directories > 0)
        json_put_text(buf, "made_in", state->made_in);
    put_object(buf, "register", &state->register_body);
    put_object(buf, "run", &state->run_body);
    if (buf_ok(&state->summary) && state->summary.len > 0)
        put_object(buf, "summary", &state->summary);
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct target_run *run = &state->targets[i];
        if (!target_is_kept(run))
            continue;
        json_put_key(buf, run->target->state_key);
        buf_putc(buf, '{');
        json_put_text(buf, "kind", run->target->state_key);
        run->target->put_state(run, buf);
        json_put_bool(buf, "done", run->is_done);
        buf_putc(buf, '}');
    }
    if (state->has_end) {
        json_put_key(buf, "end");
        run_state_put_end(buf, state);
    }
    buf_puts(buf, "}\n");
}

void run_state_put_end(struct buf *buf, const struct run_state *state)
{
    buf_putc(buf, '{');
    payload_end(buf, &state->end);
    buf_putc(buf, '}');
}

static bool read_numbers(const struct json_value *value, struct number_set *set)
{
    AUTO_BUF struct buf text = {.max = NUMBERS_TEXT_MAX};
    return json_string(value, &text) && number_set_parse(buf_str(&text), set) == 0 &&
           (set->count == 0 || set->ranges[set->count - 1].last < SPOOL_BATCHES_MAX);
}

static bool read_time(const struct json_value *value, int64_t *ret_secs)
{
    char text[64];
    return json_string_copy(value, text, sizeof(text)) && utc_parse_iso(str_of(text), ret_secs) == 0;
}

static bool read_object(const struct json_value *value, struct buf *buf)
{
    if (!value || value->type != JSON_OBJECT)
        return false;
    buf_clear(buf);
    buf_append(buf, value->text.p, value->text.n);
    return buf_ok(buf);
}

static bool read_targets(const struct json_value *root, struct run_state *state)
{
    for (size_t i = 0; i < stream_target_count; i++) {
        struct target_run *run = &state->targets[i];
        const struct json_value *value = run->target->state_key ? json_get(root, run->target->state_key) : NULL;
        if (!value)
            continue;
        run->is_wanted = true;
        run->is_done = target_read_bool(value, "done");
        if (!read_numbers(json_get(value, "delivered"), &run->delivered) || !run->target->read_state(run, value))
            return false;
    }
    return true;
}

static bool read_end(const struct json_value *value, struct run_state *state)
{
    if (!value)
        return true;
    char status[16];
    int64_t code;
    if (!json_string_copy(json_get(value, "run_status"), status, sizeof(status)) ||
        !read_time(json_get(value, "finished_at"), &state->end.finished_secs))
        return false;
    state->end.is_failed = strcmp(status, "finished") != 0;
    if (json_integer(json_get(value, "exit_code"), &code))
        state->end.exit_code = some_i64(code);
    state->has_end = true;
    return true;
}

static bool read_all(const struct json_value *root, struct run_state *state)
{
    int64_t format, made;
    if (json_integer(json_get(root, "made_folders"), &made) && made > 0 && made <= DIRECTORIES_MAX &&
        json_string_copy(json_get(root, "made_in"), state->made_in, sizeof(state->made_in)))
        state->made_directories = (unsigned)made;
    return json_integer(json_get(root, "format"), &format) && format == STATE_FORMAT &&
           json_string_copy(json_get(root, "run_id"), state->run_id, sizeof(state->run_id)) &&
           read_time(json_get(root, "started_at"), &state->started_secs) &&
           read_object(json_get(root, "register"), &state->register_body) &&
           read_object(json_get(root, "run"), &state->run_body) &&
           (!json_get(root, "summary") || read_object(json_get(root, "summary"), &state->summary)) &&
           read_targets(root, state) && read_end(json_get(root, "end"), state);
}

int run_state_parse(struct str text, struct run_state *ret_state, struct err *err)
{
    struct json_doc doc = {0};
    int r = json_doc_parse(text, &doc);
    if (r == 0 && !read_all(&doc.items[0], ret_state))
        r = -EBADMSG;
    json_doc_fini(&doc);
    return r < 0 ? err_set(err, r, "its state.json cannot be read: %s",
                       r == -ENOMEM ? "out of memory" : "it is broken or of another version")
                 : 0;
}

int run_state_parse_end(struct str text, struct run_state *state)
{
    struct json_doc doc = {0};
    int r = json_doc_parse(text, &doc);
    if (r == 0 && !read_end(&doc.items[0], state))
        r = -EBADMSG;
    json_doc_fini(&doc);
    return r == 0 || r == -ENOMEM ? r : -EBADMSG;
}

void run_state_put_run(struct buf *buf, const struct run_state *state, uint32_t batches)
{
    size_t n = state->run_body.len;
    if (n < 2) {
        buf_puts(buf, "{}");
        return;
    }
    buf_append(buf, state->run_body.data, n - 1);
    if (state->has_end) {
        buf_puts(buf, n > 2 ? ",\"end\":{" : "\"end\":{");
        payload_end(buf, &state->end);
        buf_printf(buf, "},\"batches\":%u", (unsigned)batches);
        if (buf_ok(&state->summary) && state->summary.len > 0)
            put_object(buf, "summary", &state->summary);
    }
    buf_putc(buf, '}');
}
