/* SPDX-License-Identifier: Apache-2.0 */
/* {"format":1,"run_id":"20261115T093000Z-1f2e3d4c","started_at":"…","register":{…},"run":{…},"sentinel":{…},…} */
#include "stream/run_state.h"

#include <errno.h>

#include "base/auto.h"
#include "base/utc.h"
#include "codec/json_read.h"
#include "encode/json.h"
#include "stream/payload.h"
#include "stream/spool/spool.h"

/* FOLDERS_MAX: home, .local, state, resource-tracker, spool */
enum { STATE_FORMAT = 1, NUMBERS_TEXT_MAX = 32 * 1024, FOLDERS_MAX = 5 };

void run_state_init(struct run_state *state)
{
    *state = (struct run_state){0};
    buf_init(&state->register_body, RUN_STATE_BODY_MAX);
    buf_init(&state->run_body, RUN_STATE_BODY_MAX);
}

void run_state_fini(struct run_state *state)
{
    buf_fini(&state->register_body);
    buf_fini(&state->run_body);
}

static void put_text(struct buf *buf, const char *key, const char *text)
{
    buf_printf(buf, ",\"%s\":", key);
    json_put_string(buf, str_of(text));
}

static void put_bool(struct buf *buf, const char *key, bool on)
{
    buf_printf(buf, ",\"%s\":%s", key, on ? "true" : "false");
}

static void put_numbers(struct buf *buf, const char *key, const struct number_set *set)
{
    buf_printf(buf, ",\"%s\":\"", key);
    number_set_put(set, buf);
    buf_putc(buf, '"');
}

static void put_object(struct buf *buf, const char *key, const struct buf *object)
{
    buf_printf(buf, ",\"%s\":", key);
    if (object->len > 0)
        buf_append(buf, object->data, object->len);
    else
        buf_puts(buf, "{}");
}

static void put_time(struct buf *buf, const char *key, int64_t unix_secs)
{
    char text[UTC_ISO_BYTES];
    utc_format_iso(unix_secs, text);
    put_text(buf, key, text);
}

void run_state_put(struct buf *buf, const struct run_state *state)
{
    buf_printf(buf, "{\"format\":%d", STATE_FORMAT);
    put_text(buf, "run_id", state->run_id);
    put_time(buf, "started_at", state->started_secs);
    buf_printf(buf, ",\"made_folders\":%u", state->made_folders);
    if (state->made_folders > 0)
        put_text(buf, "made_in", state->made_in);
    put_object(buf, "register", &state->register_body);
    put_object(buf, "run", &state->run_body);
    if (state->sentinel.is_wanted) {
        buf_puts(buf, ",\"sentinel\":{\"kind\":\"sentinel\"");
        put_text(buf, "url", state->sentinel.url);
        put_text(buf, "run_id", state->sentinel.run_id);
        put_text(buf, "upload_uri_prefix", state->sentinel.upload_prefix);
        put_numbers(buf, "delivered", &state->sentinel.delivered);
        put_bool(buf, "finishing", state->sentinel.is_finishing);
        put_bool(buf, "finished", state->sentinel.is_finished);
        put_bool(buf, "done", state->sentinel.is_done);
        buf_putc(buf, '}');
    }
    if (state->bucket.is_wanted) {
        buf_puts(buf, ",\"s3\":{\"kind\":\"s3\"");
        put_text(buf, "uri", state->bucket.uri);
        put_text(buf, "endpoint", state->bucket.endpoint);
        put_text(buf, "region", state->bucket.region);
        put_bool(buf, "path_style", state->bucket.is_path_style);
        put_text(buf, "folder", state->bucket.folder);
        put_numbers(buf, "delivered", &state->bucket.delivered);
        put_bool(buf, "introduced", state->bucket.is_introduced);
        put_bool(buf, "done", state->bucket.is_done);
        buf_putc(buf, '}');
    }
    if (state->has_end) {
        buf_puts(buf, ",\"end\":");
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

static bool is_true(const struct json_value *value)
{
    return value && value->type == JSON_TRUE;
}

static bool read_numbers(const struct json_value *value, struct number_set *set)
{
    AUTO_BUF struct buf text;
    buf_init(&text, NUMBERS_TEXT_MAX);
    return json_string(value, &text) && number_set_parse((struct str){text.data, text.len}, set) == 0 &&
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

static bool read_sentinel(const struct json_value *value, struct state_sentinel *sentinel)
{
    if (!value)
        return true;
    sentinel->is_wanted = true;
    sentinel->is_finishing = is_true(json_get(value, "finishing"));
    sentinel->is_finished = is_true(json_get(value, "finished"));
    sentinel->is_done = is_true(json_get(value, "done"));
    return json_string_copy(json_get(value, "url"), sentinel->url, sizeof(sentinel->url)) &&
           json_string_copy(json_get(value, "run_id"), sentinel->run_id, sizeof(sentinel->run_id)) &&
           json_string_copy(
               json_get(value, "upload_uri_prefix"), sentinel->upload_prefix, sizeof(sentinel->upload_prefix)) &&
           read_numbers(json_get(value, "delivered"), &sentinel->delivered);
}

static bool read_bucket(const struct json_value *value, struct state_bucket *bucket)
{
    if (!value)
        return true;
    bucket->is_wanted = true;
    bucket->is_path_style = is_true(json_get(value, "path_style"));
    bucket->is_introduced = is_true(json_get(value, "introduced"));
    bucket->is_done = is_true(json_get(value, "done"));
    return json_string_copy(json_get(value, "uri"), bucket->uri, sizeof(bucket->uri)) &&
           json_string_copy(json_get(value, "endpoint"), bucket->endpoint, sizeof(bucket->endpoint)) &&
           json_string_copy(json_get(value, "region"), bucket->region, sizeof(bucket->region)) &&
           json_string_copy(json_get(value, "folder"), bucket->folder, sizeof(bucket->folder)) &&
           read_numbers(json_get(value, "delivered"), &bucket->delivered);
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
    if (json_integer(json_get(root, "made_folders"), &made) && made > 0 && made <= FOLDERS_MAX &&
        json_string_copy(json_get(root, "made_in"), state->made_in, sizeof(state->made_in)))
        state->made_folders = (unsigned)made;
    return json_integer(json_get(root, "format"), &format) && format == STATE_FORMAT &&
           json_string_copy(json_get(root, "run_id"), state->run_id, sizeof(state->run_id)) &&
           read_time(json_get(root, "started_at"), &state->started_secs) &&
           read_object(json_get(root, "register"), &state->register_body) &&
           read_object(json_get(root, "run"), &state->run_body) &&
           read_sentinel(json_get(root, "sentinel"), &state->sentinel) &&
           read_bucket(json_get(root, "s3"), &state->bucket) && read_end(json_get(root, "end"), state);
}

int run_state_parse(struct str text, struct run_state *ret_state, struct err *err)
{
    struct json_doc doc = {0};
    int r = json_doc_parse(text, &doc);
    if (r == 0 && !read_all(&doc.items[0], ret_state))
        r = -EBADMSG;
    json_doc_fini(&doc);
    return r < 0 ? err_set(err, r, "its state.json cannot be read: %s",
                       r == -ENOMEM ? "no memory" : "it is broken or of another version")
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
    }
    buf_putc(buf, '}');
}
