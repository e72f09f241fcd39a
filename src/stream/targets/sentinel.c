/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on its way to Sentinel: registered, its batches uploaded with the credentials received, finished; or, where
 * nothing was uploaded, finished with the data in the call.
 */
#include <errno.h>

#include "aws/chain.h"
#include "base/auto.h"
#include "base/text.h"
#include "codec/gzip.h"
#include "codec/json_read.h"
#include "encode/json.h"
#include "net/url.h"
#include "stream/delivery.h"
#include "stream/targets/sentinel_internal.h"

/* As much compressed data goes into the finish call; more is uploaded. */
enum { INLINE_BYTES_MAX = 1024 * 1024, URIS_BYTES_MAX = 4 * 1024 * 1024 };

struct to_sentinel {
    char url[RUN_STATE_URL_BYTES]; /* of the API, as the run was recorded for it */
    bool is_finishing; /* a finish call was sent, and its answer is not known */
    bool is_finished; /* the API has accepted one; where the run is not done a batch was refused */
    struct sentinel api;
    struct s3_client s3;
    struct s3_bucket bucket;
    bool has_bucket; /* the API has named one, and it is usable */
    const char *s3_endpoint; /* instead of Amazon's; NULL: none */
    bool is_path_style;
    bool is_renewed; /* new credentials were asked for, and nothing has worked with them */
    bool is_inline_refused; /* the data is uploaded then */
};

static bool is_wanted(const struct settings *settings)
{
    return settings->sentinel_token != NULL;
}

/* The token and its address: what cannot work, or would be written down with the run. */
static int check(const struct settings *settings, struct err *err)
{
    struct url url;
    if (settings->sentinel_token[0] && !text_is_visible(str_of(settings->sentinel_token)))
        return err_set(err, -EINVAL,
            "the token (SENTINEL_API_TOKEN) holds a blank, a line end or another character that cannot be sent");
    const char *text = settings->sentinel_url;
    int r = target_check_url(settings, "the address of the Sentinel API (SENTINEL_API_URL)", text, err);
    if (r < 0)
        return r;
    if (strlen(text) >= RUN_STATE_URL_BYTES)
        return err_set(err, -EINVAL, "SENTINEL_API_URL is longer than %d bytes", RUN_STATE_URL_BYTES - 1);
    if (url_parse(str_of(text), &url, err) < 0 || url.has_user_info || text[strcspn(text, "?#")])
        return err_set(err, -EINVAL,
            "the address of the Sentinel API (SENTINEL_API_URL) must be scheme, host, port and path only, as in "
            "https://api.example.com");
    return 0;
}

static void begin(struct target_run *run, const struct run_state *state, const struct settings *settings)
{
    struct to_sentinel *to = run->state;
    (void)state;
    (void)str_copy(str_of(settings->sentinel_url ? settings->sentinel_url : ""), to->url, sizeof(to->url));
}

static void put_state(const struct target_run *run, struct buf *buf)
{
    const struct to_sentinel *to = run->state;
    json_put_text(buf, "url", to->url);
    json_put_text(buf, "run_id", to->api.run_id);
    json_put_text(buf, "upload_uri_prefix", to->api.upload_prefix);
    target_put_delivered(buf, run);
    json_put_bool(buf, "finishing", to->is_finishing);
    json_put_bool(buf, "finished", to->is_finished);
}

static bool read_state(struct target_run *run, const struct json_value *value)
{
    struct to_sentinel *to = run->state;
    to->is_finishing = target_read_bool(value, "finishing");
    to->is_finished = target_read_bool(value, "finished");
    return json_string_copy(json_get(value, "url"), to->url, sizeof(to->url)) &&
           json_string_copy(json_get(value, "run_id"), to->api.run_id, sizeof(to->api.run_id)) &&
           json_string_copy(json_get(value, "upload_uri_prefix"), to->api.upload_prefix, sizeof(to->api.upload_prefix));
}

/* The credentials that come with the token go where the environment says, as the token does. */
static const char *endpoint_of(char *const *environment)
{
    const char *own = env_get(environment, "AWS_ENDPOINT_URL_S3");
    return own ? own : env_get(environment, "AWS_ENDPOINT_URL");
}

static void open_run(struct target_run *run)
{
    struct to_sentinel *to = run->state;
    const struct stream_options *options = run->delivery->options;
    to->api.url = to->url;
    to->api.token = options->settings->sentinel_token;
    to->api.http = run->clients->http;
    to->api.clock = options->clock;
    to->api.inline_form = options->settings->sentinel_inline;
    to->s3 = (struct s3_client){.http = run->clients->http_s3, .clock = options->clock};
    to->s3_endpoint = endpoint_of(options->settings->environment);
    to->is_path_style = options->settings->s3_path_style && to->s3_endpoint;
}

static void close_run(struct target_run *run)
{
    struct to_sentinel *to = run->state;
    s3_credentials_wipe(&to->api.credentials);
}

static struct str without_slashes(const char *url)
{
    struct str text = str_of(url);
    while (text.n > 0 && text.p[text.n - 1] == '/')
        text.n--;
    return text;
}

/* The token goes only to the address that the environment names with it. */
static const char *lack(const struct target_run *run)
{
    const struct to_sentinel *to = run->state;
    const struct settings *settings = run->delivery->options->settings;
    if (!settings->sentinel_token)
        return "SENTINEL_API_TOKEN is not set";
    if (!str_eq(without_slashes(to->url), without_slashes(settings->sentinel_url)))
        return "SENTINEL_API_URL names another API than the one it was recorded for";
    return NULL;
}

static bool has_uploaded(const struct target_run *run)
{
    return number_set_count(&run->delivered) > 0;
}

/* Without a usable prefix for uploads everything waits for the finish call. */
static bool can_upload(const struct to_sentinel *to)
{
    return to->api.upload_prefix[0] != '\0';
}

static int64_t next_due(const struct target_run *run)
{
    const struct to_sentinel *to = run->state;
    uint32_t number;
    bool has_work =
        run->delivery->is_over || to->api.run_id[0] == '\0' || (can_upload(to) && target_next_batch(run, &number));
    return has_work ? run->retry.next_ns : DELIVERY_NEVER;
}

static bool takes(const struct target_run *run)
{
    const struct to_sentinel *to = run->state;
    return to->api.run_id[0] != '\0' && can_upload(to);
}

/* What became of a call: true where it worked. */
static bool settle(struct target_run *run, struct sentinel_result result, const struct err *err)
{
    if (result.outcome == SENTINEL_AGAIN)
        target_fail(run, err, result.retry_after_secs);
    else if (result.outcome == SENTINEL_REFUSED)
        target_give_up(run, err);
    return result.outcome == SENTINEL_DONE;
}

static void enroll(struct target_run *run, int64_t deadline_ns)
{
    struct to_sentinel *to = run->state;
    const struct buf *body = &run->delivery->state->register_body;
    struct err err = {0};
    struct sentinel_result result = sentinel_register(&to->api, buf_str(body), deadline_ns, &err);
    if (!settle(run, result, &err))
        return;
    target_succeed(run);
    (void)delivery_save(run->delivery);
    exchange_notify(run->delivery->exchange, LOG_INFO, "Sentinel: the run is registered as %s", to->api.run_id);
    if (!can_upload(to))
        exchange_notify(run->delivery->exchange, LOG_WARNING,
            "Sentinel: the answer to the registration has no usable upload_uri_prefix; the samples wait in the spool "
            "and are sent with the finish call");
}

/* The bucket that the API has named; false where it is unusable. */
static bool find_bucket(struct target_run *run)
{
    struct to_sentinel *to = run->state;
    struct err err = {0};
    if (!to->has_bucket &&
        s3_bucket_parse(str_of(to->api.upload_prefix), to->s3_endpoint, to->is_path_style, &to->bucket, &err) < 0) {
        (void)err_wrap(&err, "Sentinel: unusable upload_uri_prefix");
        target_give_up(run, &err);
        return false;
    }
    to->has_bucket = true;
    return true;
}

/* Credentials and region for the next upload; false where they are not to be had now. */
static bool prepare_upload(struct target_run *run, int64_t deadline_ns)
{
    struct to_sentinel *to = run->state;
    struct err err = {0};
    if (!find_bucket(run))
        return false;
    /* Keys expire by the server's clock. */
    if (sentinel_needs_refresh(&to->api, delivery_unix_secs(run->delivery) + to->bucket.skew_secs) &&
        !settle(run, sentinel_refresh(&to->api, deadline_ns, &err), &err))
        return false;
    /* Once: what the bucket corrects later is right. */
    if (!to->bucket.is_region_sure && to->api.credentials.region[0] != '\0') {
        (void)str_copy(str_of(to->api.credentials.region), to->bucket.region, sizeof(to->bucket.region));
        to->bucket.is_region_sure = true;
    }
    return s3_find_region(&to->s3, &to->bucket, deadline_ns) == 0;
}

static void settle_upload(struct target_run *run, uint32_t number, struct s3_result result, struct err *err)
{
    struct to_sentinel *to = run->state;
    bool is_refused = result.outcome == S3_REFUSED;
    if (result.outcome != S3_DONE)
        (void)err_wrap(err, is_refused ? "Sentinel" : "Sentinel: cannot upload a batch");
    if (result.outcome == S3_EXPIRED)
        to->api.must_refresh = true;
    if (target_settle_upload(run, result, err, &to->is_renewed))
        target_note_batch(run, number);
    else if (is_refused)
        target_refuse_batch(run, number, err);
}

static void upload(struct target_run *run, uint32_t number, int64_t deadline_ns)
{
    struct to_sentinel *to = run->state;
    if (!prepare_upload(run, deadline_ns) || target_read_batch(run, number) < 0)
        return;
    struct err err = {0};
    deadline_ns += delivery_extra_ns(run->delivery, run->batch.len);
    AUTO_BUF struct buf key = {.max = S3_KEY_BYTES_MAX + 160};
    target_put_key(&key, to->bucket.prefix, to->api.run_id, number);
    struct s3_object object = {buf_str(&key), buf_str(&run->batch), "application/gzip"};
    struct s3_result result = s3_put(&to->s3, &to->bucket, &to->api.credentials, &object, deadline_ns, &err);
    settle_upload(run, number, result, &err);
}

/* All batches as one CSV: the header once. */
struct csv_pieces {
    bool in_header; /* of a batch that is not the first */
    int (*take)(void *context, struct str piece);
    void *take_context;
};

static int take_piece(void *context, struct str piece)
{
    struct csv_pieces *pieces = context;
    if (pieces->in_header) {
        const char *lf = memchr(piece.p, '\n', piece.n);
        if (!lf)
            return 0;
        pieces->in_header = false;
        piece = (struct str){lf + 1, piece.n - (size_t)(lf + 1 - piece.p)};
    }
    return piece.n > 0 ? pieces->take(pieces->take_context, piece) : 0;
}

static int read_csv(void *context, int (*take)(void *take_context, struct str piece), void *take_context)
{
    struct csv_pieces pieces = {.take = take, .take_context = take_context};
    struct target_run *run = context;
    struct spool_run *spooled = run->delivery->run;
    for (size_t i = 0; i < spooled->batches.count; i++) {
        int r = target_read_batch(run, spooled->batches.items[i].number);
        pieces.in_header = i > 0;
        if (r == 0)
            r = gzip_unpack(buf_str(&run->batch), take_piece, &pieces);
        if (r < 0)
            return r;
    }
    if (spooled->batches.count > 0)
        return 0;
    /* No rows: the header alone, without what put_row would put. */
    struct str rest = str_of(run->delivery->options->csv_header), header = rest;
    (void)str_cut(&rest, TARGET_ROW_SEPARATOR, &header);
    int r = take(take_context, header);
    return r == 0 && rest.n > 0 ? take(take_context, STR("\n")) : r;
}

static void put_uris(const struct target_run *run, struct buf *buf)
{
    const struct to_sentinel *to = run->state;
    buf_putc(buf, '[');
    AUTO_BUF struct buf key = {.max = 4096};
    AUTO_BUF struct buf uri = {.max = 4096};
    size_t at = 0;
    for (struct number_range range; number_set_next(&run->delivered, &at, &range);) {
        for (uint32_t number = range.first; number <= range.last; number++) {
            buf_clear(&key);
            buf_clear(&uri);
            target_put_key(&key, to->bucket.prefix, to->api.run_id, number);
            s3_put_uri(&uri, &to->bucket, buf_str(&key));
            if (buf->len > 1)
                buf_putc(buf, ',');
            json_put_string(buf, buf_str(&uri));
        }
    }
    buf_putc(buf, ']');
}

static void settle_finish(struct target_run *run, struct sentinel_result result, const struct err *err)
{
    struct to_sentinel *to = run->state;
    /* An earlier call arrived, though its answer did not. */
    if (result.outcome == SENTINEL_REFUSED && result.status == 409 && (to->is_finishing || to->api.finish_calls > 1))
        result.outcome = SENTINEL_DONE;
    to->is_finishing = result.outcome == SENTINEL_CANCELED || result.outcome == SENTINEL_AGAIN;
    if (settle(run, result, err)) {
        target_succeed(run);
        to->is_finished = true;
        /* A batch that was refused stays for later. */
        run->is_done = number_set_count(&run->refused) == 0;
        run->is_stuck = !run->is_done;
    }
    (void)delivery_save(run->delivery);
}

/* Before the first call, so that a repeated one is known as such whatever happens to us. */
static void begin_finish(struct target_run *run)
{
    struct to_sentinel *to = run->state;
    bool was = to->is_finishing;
    to->is_finishing = true;
    if (!was)
        (void)delivery_save(run->delivery);
    to->is_finishing = was;
}

static uint64_t waiting_bytes(const struct spool_run *spooled)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < spooled->batches.count; i++)
        bytes += spooled->batches.items[i].bytes;
    return bytes;
}

/* Batches that cannot be read are set aside before the call is made; false where that cannot be known now. */
static bool check_batches(struct target_run *run)
{
    struct spool_run *spooled = run->delivery->run;
    for (size_t i = 0; i < spooled->batches.count;) {
        int r = target_read_batch(run, spooled->batches.items[i].number);
        if (r < 0 && r != -ENODATA)
            return false;
        i += r == 0;
    }
    return true;
}

static void finish_inline(struct target_run *run, int64_t deadline_ns)
{
    struct to_sentinel *to = run->state;
    if (!check_batches(run))
        return;
    begin_finish(run);
    struct sentinel_csv csv = {.read = read_csv, .context = run};
    struct err err = {0};
    struct sentinel_result result =
        sentinel_finish_inline(&to->api, &run->delivery->state->end, &csv, deadline_ns, &err);
    bool is_form_refused = result.outcome == SENTINEL_REFUSED && result.status != 401 && result.status != 403 &&
                           result.status != 404 && result.status != 409;
    if (is_form_refused && run->delivery->run->batches.count > 0 && can_upload(to)) {
        /* It may still take the data by way of the bucket. */
        to->is_inline_refused = true;
        target_note_error(run, &err);
        return;
    }
    /* What was refused as an object is in the call. */
    if (result.outcome == SENTINEL_DONE)
        run->refused.count = 0;
    settle_finish(run, result, &err);
}

static void finish_uploaded(struct target_run *run, int64_t deadline_ns)
{
    struct to_sentinel *to = run->state;
    AUTO_BUF struct buf uris = {.max = URIS_BYTES_MAX};
    struct err err = {0};
    if (!find_bucket(run))
        return;
    put_uris(run, &uris);
    if (!buf_ok(&uris)) {
        (void)err_set(&err, -E2BIG, "Sentinel: the list of batches is too long for the finish call");
        target_give_up(run, &err);
        return;
    }
    begin_finish(run);
    struct sentinel_result result =
        sentinel_finish_s3(&to->api, &run->delivery->state->end, buf_str(&uris), deadline_ns, &err);
    settle_finish(run, result, &err);
}

/* Nothing is left to try: done where the API knows of the end, and all that was left behind then has been uploaded. */
static void end_finished(struct target_run *run)
{
    const struct to_sentinel *to = run->state;
    run->is_done = to->is_finished && number_set_count(&run->refused) == 0;
    run->is_stuck = !run->is_done;
    if (run->is_done)
        (void)delivery_save(run->delivery);
}

static void step(struct target_run *run, int64_t deadline_ns)
{
    struct to_sentinel *to = run->state;
    uint32_t number;
    bool is_over = run->delivery->is_over;
    if (to->api.run_id[0] == '\0') {
        enroll(run, deadline_ns);
        return;
    }
    bool has_next = target_next_batch(run, &number);
    bool is_short = waiting_bytes(run->delivery->run) <= INLINE_BYTES_MAX;
    bool may_inline = is_over && !to->is_finished && !has_uploaded(run) && !to->is_inline_refused;
    if (may_inline && (is_short || !has_next || !can_upload(to)))
        finish_inline(run, deadline_ns);
    else if (has_next && can_upload(to))
        upload(run, number, deadline_ns);
    else if (is_over && !to->is_finished && has_uploaded(run))
        finish_uploaded(run, deadline_ns);
    else if (is_over)
        end_finished(run);
}

static bool put_url(const struct settings *settings, size_t i, struct buf *url)
{
    if (i > 0)
        return false;
    buf_puts(url, settings->sentinel_url);
    return true;
}

const struct stream_target sentinel_target = {
    .name = "Sentinel",
    .label = "Sentinel",
    .state_key = "sentinel",
    .takes_batches = true,
    .state_bytes = sizeof(struct to_sentinel),
    .is_wanted = is_wanted,
    .check = check,
    .begin = begin,
    .put_state = put_state,
    .read_state = read_state,
    .open = open_run,
    .close = close_run,
    .lack = lack,
    .next_due = next_due,
    .takes = takes,
    .step = step,
    .put_url = put_url,
};
