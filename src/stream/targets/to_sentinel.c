/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/targets/to_sentinel.h"

#include <errno.h>

#include "base/auto.h"
#include "codec/gzip.h"
#include "encode/json.h"

/* As much compressed data goes into the finish call; more is uploaded. */
enum { INLINE_BYTES_MAX = 1024 * 1024, URIS_BYTES_MAX = 4 * 1024 * 1024 };

static struct state_sentinel *state_of(const struct to_sentinel *to)
{
    return &to->delivery->state->sentinel;
}

void to_sentinel_init(struct to_sentinel *to, struct delivery *delivery, const struct to_sentinel_options *options)
{
    *to = (struct to_sentinel){
        .delivery = delivery,
        .api = {.url = delivery->state->sentinel.url,
            .token = options->token,
            .http = delivery->http,
            .clock = delivery->clock,
            .inline_form = options->inline_form},
        .s3 = {.http = options->http_s3, .clock = delivery->clock},
        .s3_endpoint = options->s3_endpoint,
        .is_path_style = options->is_path_style,
        .csv_header = options->csv_header,
    };
    retry_init(&to->retry, delivery, 1);
    buf_init(&to->batch, SPOOL_BATCH_BYTES_MAX);
    (void)str_copy(str_of(state_of(to)->run_id), to->api.run_id, sizeof(to->api.run_id));
    (void)str_copy(str_of(state_of(to)->upload_prefix), to->api.upload_prefix, sizeof(to->api.upload_prefix));
}

void to_sentinel_fini(struct to_sentinel *to)
{
    s3_credentials_wipe(&to->api.credentials);
    buf_fini(&to->batch);
}

static bool has_uploaded(const struct to_sentinel *to)
{
    return number_set_count(&state_of(to)->delivered) > 0;
}

/* Without a usable place for uploads everything waits for the finish call. */
static bool can_upload(const struct to_sentinel *to)
{
    return to->api.upload_prefix[0] != '\0';
}

static bool has_work(const struct to_sentinel *to)
{
    uint32_t number;
    return to->delivery->is_over || to->api.run_id[0] == '\0' ||
           (can_upload(to) && delivery_next_batch(to->delivery, &state_of(to)->delivered, &to->refused, &number));
}

bool to_sentinel_takes(const struct to_sentinel *to)
{
    const struct state_sentinel *state = state_of(to);
    return state->is_wanted && !state->is_done && !to->is_stuck && to->api.run_id[0] != '\0' && can_upload(to) &&
           to->retry.failures == 0;
}

void to_sentinel_end(struct to_sentinel *to)
{
    retry_hurry(&to->retry);
    to->refused.count = 0;
    to->trouble.refusal[0] = '\0';
}

int64_t to_sentinel_due(const struct to_sentinel *to)
{
    const struct state_sentinel *state = state_of(to);
    if (!state->is_wanted || state->is_done || to->is_stuck || !has_work(to))
        return DELIVERY_NEVER;
    return to->retry.next_ns;
}

static void give_up(struct to_sentinel *to, const struct err *err)
{
    trouble_note(&to->trouble, err);
    to->is_stuck = true;
    if (!to->delivery->is_over)
        trouble_say(&to->trouble, to->delivery, "the data stays in the spool");
}

static void succeed(struct to_sentinel *to)
{
    retry_succeed(&to->retry);
    trouble_end(&to->trouble, to->delivery, "Sentinel takes the data again");
}

/* What became of a call: true where it worked. */
static bool settle(struct to_sentinel *to, struct sentinel_result result, const struct err *err)
{
    switch (result.outcome) {
    case SENTINEL_DONE:
        return true;
    case SENTINEL_AGAIN:
        delivery_fail(to->delivery, &to->retry, &to->trouble, err, result.retry_after_secs);
        return false;
    case SENTINEL_REFUSED:
        give_up(to, err);
        return false;
    case SENTINEL_CANCELED:
        break;
    }
    return false;
}

static void enroll(struct to_sentinel *to, int64_t deadline_ns)
{
    const struct buf *body = &to->delivery->state->register_body;
    struct err err = {0};
    struct sentinel_result result = sentinel_register(&to->api, (struct str){body->data, body->len}, deadline_ns, &err);
    if (!settle(to, result, &err))
        return;
    succeed(to);
    (void)str_copy(str_of(to->api.run_id), state_of(to)->run_id, sizeof(state_of(to)->run_id));
    (void)str_copy(str_of(to->api.upload_prefix), state_of(to)->upload_prefix, sizeof(state_of(to)->upload_prefix));
    (void)delivery_save(to->delivery);
    exchange_tell(to->delivery->exchange, LOG_INFO, "Sentinel: the run is registered as %s", to->api.run_id);
    if (!can_upload(to))
        exchange_tell(to->delivery->exchange, LOG_WARNING,
            "Sentinel: the answer to the registration has no usable upload_uri_prefix; the samples wait in the spool "
            "and are sent with the finish call");
}

/* Credentials and region for the next upload; false where they are not to be had now. */
static bool prepare_upload(struct to_sentinel *to, int64_t deadline_ns)
{
    struct err err = {0};
    if (!to->has_bucket) {
        if (s3_bucket_parse(str_of(to->api.upload_prefix), to->s3_endpoint, to->is_path_style, &to->bucket, &err) < 0) {
            (void)err_wrap(&err, "Sentinel: its place for uploads makes no sense");
            give_up(to, &err);
            return false;
        }
        to->has_bucket = true;
    }
    /* Keys expire by the server's clock. */
    if (sentinel_needs_refresh(&to->api, delivery_unix_secs(to->delivery) + to->bucket.skew_secs) &&
        !settle(to, sentinel_refresh(&to->api, deadline_ns, &err), &err))
        return false;
    /* Once: what the bucket corrects later is right. */
    if (!to->bucket.is_region_sure && to->api.credentials.region[0] != '\0') {
        (void)str_copy(str_of(to->api.credentials.region), to->bucket.region, sizeof(to->bucket.region));
        to->bucket.is_region_sure = true;
    }
    return s3_find_region(&to->s3, &to->bucket, deadline_ns) == 0;
}

static void refuse_batch(struct to_sentinel *to, uint32_t number, struct err *err)
{
    (void)err_wrap(err, "Sentinel");
    to->is_stuck = !delivery_refuse_batch(to->delivery, &to->trouble, &to->refused, number, err);
}

static void settle_upload(struct to_sentinel *to, uint32_t number, struct s3_result result, struct err *err)
{
    if (result.outcome != S3_DONE && result.outcome != S3_REFUSED)
        (void)err_wrap(err, "Sentinel: a batch cannot be uploaded");
    switch (result.outcome) {
    case S3_DONE:
        to->is_fresh_tried = false;
        succeed(to);
        to->is_stuck = !delivery_note_batch(to->delivery, &state_of(to)->delivered, number);
        break;
    case S3_EXPIRED:
        /* New credentials at once, but only once. */
        to->api.must_refresh = true;
        if (to->is_fresh_tried)
            delivery_fail(to->delivery, &to->retry, &to->trouble, err, result.retry_after_secs);
        to->is_fresh_tried = !to->is_fresh_tried;
        break;
    case S3_AGAIN:
    case S3_DENIED:
        delivery_fail(to->delivery, &to->retry, &to->trouble, err, result.retry_after_secs);
        break;
    case S3_REFUSED:
        refuse_batch(to, number, err);
        break;
    case S3_CANCELED:
        break;
    }
}

static void upload(struct to_sentinel *to, uint32_t number, int64_t deadline_ns)
{
    if (!prepare_upload(to, deadline_ns))
        return;
    struct err err = {0};
    int r = delivery_read_batch(to->delivery, number, &to->batch, &err);
    if (r < 0) {
        if (r != -ENODATA)
            delivery_fail(to->delivery, &to->retry, &to->trouble, &err, -1);
        return;
    }
    deadline_ns += delivery_extra_ns(to->delivery, to->batch.len);
    AUTO_BUF struct buf key;
    buf_init(&key, S3_KEY_BYTES_MAX + 160);
    delivery_put_key(&key, to->bucket.prefix, to->api.run_id, number);
    struct s3_object object = {{key.data, key.len}, {to->batch.data, to->batch.len}, "application/gzip"};
    struct s3_result result = s3_put(&to->s3, &to->bucket, &to->api.credentials, &object, deadline_ns, &err);
    settle_upload(to, number, result, &err);
}

/* All batches as one CSV: the header once. */
struct csv_pieces {
    struct to_sentinel *to;
    bool in_header; /* of a batch that is not the first */
    bool is_begun;
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
    struct csv_pieces pieces = {.to = context, .take = take, .take_context = take_context};
    struct spool_run *run = pieces.to->delivery->run;
    struct err err = {0};
    for (size_t i = 0; i < run->batches.count; i++) {
        int r = spool_run_read(run, run->batches.items[i].number, &pieces.to->batch, &err);
        pieces.in_header = i > 0;
        if (r == 0)
            r = gzip_unpack((struct str){pieces.to->batch.data, pieces.to->batch.len}, take_piece, &pieces);
        if (r < 0)
            return r;
    }
    return run->batches.count > 0 ? 0 : take(take_context, str_of(pieces.to->csv_header));
}

static void put_uris(const struct to_sentinel *to, struct buf *buf)
{
    buf_putc(buf, '[');
    AUTO_BUF struct buf key;
    AUTO_BUF struct buf uri;
    buf_init(&key, 4096);
    buf_init(&uri, 4096);
    size_t at = 0;
    for (struct number_range range; number_set_next(&state_of(to)->delivered, &at, &range);) {
        for (uint32_t number = range.first; number <= range.last; number++) {
            buf_clear(&key);
            buf_clear(&uri);
            delivery_put_key(&key, to->bucket.prefix, to->api.run_id, number);
            s3_put_uri(&uri, &to->bucket, (struct str){key.data, key.len});
            if (buf->len > 1)
                buf_putc(buf, ',');
            json_put_string(buf, (struct str){uri.data, uri.len});
        }
    }
    buf_putc(buf, ']');
}

static void settle_finish(struct to_sentinel *to, struct sentinel_result result, const struct err *err)
{
    struct state_sentinel *state = state_of(to);
    /* An earlier call arrived, though its answer did not. */
    if (result.outcome == SENTINEL_REFUSED && result.status == 409 && (state->is_finishing || to->api.finish_calls > 1))
        result.outcome = SENTINEL_DONE;
    state->is_finishing = result.outcome == SENTINEL_CANCELED || result.outcome == SENTINEL_AGAIN;
    if (settle(to, result, err)) {
        succeed(to);
        state->is_finished = true;
        /* A batch that was refused stays for later. */
        state->is_done = number_set_count(&to->refused) == 0;
        to->is_stuck = !state->is_done;
    }
    (void)delivery_save(to->delivery);
}

/* Before the first call, so that a repeated one is known as such whatever happens to us. */
static void begin_finish(struct to_sentinel *to)
{
    bool was = state_of(to)->is_finishing;
    state_of(to)->is_finishing = true;
    if (!was)
        (void)delivery_save(to->delivery);
    state_of(to)->is_finishing = was;
}

static uint64_t waiting_bytes(const struct spool_run *run)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < run->batches.count; i++)
        bytes += run->batches.items[i].bytes;
    return bytes;
}

/* Batches that cannot be read are set aside before the call is made; false where that cannot be known now. */
static bool check_batches(struct to_sentinel *to)
{
    struct spool_run *run = to->delivery->run;
    struct err err = {0};
    for (size_t i = 0; i < run->batches.count;) {
        int r = delivery_read_batch(to->delivery, run->batches.items[i].number, &to->batch, &err);
        if (r < 0 && r != -ENODATA) {
            delivery_fail(to->delivery, &to->retry, &to->trouble, &err, -1);
            return false;
        }
        i += r == 0;
    }
    return true;
}

static void finish_inline(struct to_sentinel *to, int64_t deadline_ns)
{
    if (!check_batches(to))
        return;
    begin_finish(to);
    struct sentinel_csv csv = {.read = read_csv, .context = to};
    struct err err = {0};
    struct sentinel_result result =
        sentinel_finish_inline(&to->api, &to->delivery->state->end, &csv, deadline_ns, &err);
    bool is_form_refused = result.outcome == SENTINEL_REFUSED && result.status != 401 && result.status != 403 &&
                           result.status != 404 && result.status != 409;
    if (is_form_refused && to->delivery->run->batches.count > 0 && can_upload(to)) {
        /* It may still take the data by way of the bucket. */
        to->is_inline_refused = true;
        trouble_note(&to->trouble, &err);
        return;
    }
    /* What was refused as an object is in the call. */
    if (result.outcome == SENTINEL_DONE)
        to->refused.count = 0;
    settle_finish(to, result, &err);
}

static void finish_uploaded(struct to_sentinel *to, int64_t deadline_ns)
{
    AUTO_BUF struct buf uris;
    buf_init(&uris, URIS_BYTES_MAX);
    struct err err = {0};
    if (!to->has_bucket &&
        s3_bucket_parse(str_of(to->api.upload_prefix), to->s3_endpoint, to->is_path_style, &to->bucket, &err) < 0) {
        give_up(to, &err);
        return;
    }
    to->has_bucket = true;
    put_uris(to, &uris);
    if (!buf_ok(&uris)) {
        (void)err_set(&err, -E2BIG, "Sentinel: the list of batches is too long for the finish call");
        give_up(to, &err);
        return;
    }
    begin_finish(to);
    struct sentinel_result result =
        sentinel_finish_s3(&to->api, &to->delivery->state->end, (struct str){uris.data, uris.len}, deadline_ns, &err);
    settle_finish(to, result, &err);
}

/* Nothing is left to try: done where the API knows of the end, and all that was left behind then has been uploaded. */
static void end_finished(struct to_sentinel *to)
{
    struct state_sentinel *state = state_of(to);
    state->is_done = state->is_finished && number_set_count(&to->refused) == 0;
    to->is_stuck = !state->is_done;
    if (state->is_done)
        (void)delivery_save(to->delivery);
}

void to_sentinel_step(struct to_sentinel *to, int64_t deadline_ns)
{
    uint32_t number;
    bool is_over = to->delivery->is_over;
    if (to->api.run_id[0] == '\0') {
        enroll(to, deadline_ns);
        return;
    }
    struct state_sentinel *state = state_of(to);
    bool has_next = delivery_next_batch(to->delivery, &state->delivered, &to->refused, &number);
    bool is_short = waiting_bytes(to->delivery->run) <= INLINE_BYTES_MAX;
    bool may_inline = is_over && !state->is_finished && !has_uploaded(to) && !to->is_inline_refused;
    if (may_inline && (is_short || !has_next || !can_upload(to)))
        finish_inline(to, deadline_ns);
    else if (has_next && can_upload(to))
        upload(to, number, deadline_ns);
    else if (is_over && !state->is_finished && has_uploaded(to))
        finish_uploaded(to, deadline_ns);
    else if (is_over)
        end_finished(to);
}
