/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/targets/to_bucket.h"

#include <errno.h>

#include "base/auto.h"

enum { KEY_BYTES_MAX = S3_KEY_BYTES_MAX + 512 };

static struct state_bucket *state_of(const struct to_bucket *to)
{
    return &to->delivery->state->bucket;
}

void to_bucket_init(struct to_bucket *to, struct delivery *delivery, struct http_client *http, char *const *environment)
{
    struct state_bucket *state = &delivery->state->bucket;
    *to = (struct to_bucket){
        .delivery = delivery,
        .aws = {.environment = environment, .http = http, .clock = delivery->clock},
        .s3 = {.http = http, .clock = delivery->clock},
    };
    retry_init(&to->retry, delivery, 2);
    buf_init(&to->batch, SPOOL_BATCH_BYTES_MAX);
    struct err err = {0};
    to->is_valid = s3_bucket_parse(str_of(state->uri), state->endpoint, state->is_path_style, &to->bucket, &err) == 0;
    if (!to->is_valid)
        trouble_note(&to->trouble, &err);
    if (s3_is_region(str_of(state->region))) {
        (void)str_copy(str_of(state->region), to->bucket.region, sizeof(to->bucket.region));
        to->bucket.is_region_sure = true;
    }
}

void to_bucket_fini(struct to_bucket *to)
{
    s3_credentials_wipe(&to->credentials);
    buf_fini(&to->batch);
}

/* run.json is written when everything about the machine is known. */
static bool wants_introduction(const struct to_bucket *to)
{
    return !state_of(to)->is_introduced && to->delivery->state->run_body.len > 0;
}

static bool has_work(const struct to_bucket *to)
{
    uint32_t number;
    return to->delivery->is_over || wants_introduction(to) ||
           delivery_next_batch(to->delivery, &state_of(to)->delivered, &to->refused, &number);
}

int64_t to_bucket_due(const struct to_bucket *to)
{
    const struct state_bucket *state = state_of(to);
    if (!state->is_wanted || state->is_done || to->is_stuck || !to->is_valid || !has_work(to))
        return DELIVERY_NEVER;
    return to->retry.next_ns;
}

bool to_bucket_takes(const struct to_bucket *to)
{
    const struct state_bucket *state = state_of(to);
    return state->is_wanted && !state->is_done && !to->is_stuck && to->is_valid && state->is_introduced &&
           to->retry.failures == 0;
}

void to_bucket_end(struct to_bucket *to)
{
    retry_hurry(&to->retry);
    to->refused.count = 0;
    to->trouble.refusal[0] = '\0';
    to->is_stuck = false;
}

static void tell_lack(struct to_bucket *to)
{
    if (to->delivery->is_over)
        to->is_stuck = true;
    else
        trouble_say(&to->trouble, to->delivery, DELIVERY_KEPT);
}

/* Keys expire by the server's clock. */
static bool has_lasting_credentials(const struct to_bucket *to)
{
    int64_t now_secs = delivery_unix_secs(to->delivery) + to->bucket.skew_secs;
    return to->has_credentials &&
           (!to->credentials.expires_secs.has || to->credentials.expires_secs.v - DELIVERY_REFRESH_SECS > now_secs);
}

/* Credentials and region; false where they are not to be had now. */
static bool prepare(struct to_bucket *to, int64_t deadline_ns)
{
    struct err err = {0};
    if (!has_lasting_credentials(to)) {
        int r = aws_find_credentials(&to->aws, deadline_ns, &to->credentials, &err);
        /* What is still valid for a moment is better than nothing. */
        if (r < 0 && !to->has_credentials) {
            if (r != -ECANCELED)
                delivery_fail(to->delivery, &to->retry, &to->trouble, &err, -1);
            /* Neither will be mended by waiting a few seconds. */
            if (r == -ENOENT || r == -EINVAL)
                tell_lack(to);
            return false;
        }
        to->has_credentials = true;
    }
    char region[S3_REGION_BYTES];
    if (!to->bucket.is_region_sure && aws_find_region(&to->aws, deadline_ns, region) == 0) {
        (void)str_copy(str_of(region), to->bucket.region, sizeof(to->bucket.region));
        to->bucket.is_region_sure = true;
    }
    return s3_find_region(&to->s3, &to->bucket, deadline_ns) == 0;
}

/* What became of an upload: true where it is there. */
static bool settle(struct to_bucket *to, struct s3_result result, struct err *err)
{
    switch (result.outcome) {
    case S3_DONE:
        to->is_fresh_tried = false;
        retry_succeed(&to->retry);
        trouble_end(&to->trouble, to->delivery, "S3: the bucket takes the data again");
        return true;
    case S3_EXPIRED:
        to->has_credentials = false;
        if (to->is_fresh_tried)
            delivery_fail(to->delivery, &to->retry, &to->trouble, err, result.retry_after_secs);
        to->is_fresh_tried = !to->is_fresh_tried;
        break;
    case S3_AGAIN:
    case S3_DENIED:
        delivery_fail(to->delivery, &to->retry, &to->trouble, err, result.retry_after_secs);
        break;
    case S3_REFUSED:
    case S3_CANCELED:
        break;
    }
    return false;
}

static struct s3_result put_object(
    struct to_bucket *to, const struct s3_object *object, int64_t deadline_ns, struct err *err)
{
    struct s3_result result = s3_put(&to->s3, &to->bucket, &to->credentials, object, deadline_ns, err);
    if (result.outcome != S3_DONE)
        (void)err_wrap(err, "cannot upload");
    return result;
}

static void upload_run(struct to_bucket *to, int64_t deadline_ns)
{
    AUTO_BUF struct buf key;
    buf_init(&key, KEY_BYTES_MAX);
    buf_printf(&key, "%s%s%s/run.json", to->bucket.prefix, to->bucket.prefix[0] ? "/" : "", state_of(to)->folder);
    AUTO_BUF struct buf body;
    buf_init(&body, RUN_STATE_BODY_MAX + 1024);
    run_state_put_run(&body, to->delivery->state, delivery_batches(to->delivery));
    struct err err = {0};
    struct s3_object object = {{key.data, key.len}, {body.data, body.len}, "application/json"};
    struct s3_result result = put_object(to, &object, deadline_ns, &err);
    if (settle(to, result, &err)) {
        /* With its end also where a batch was refused, which then stays for later. */
        bool is_whole = number_set_count(&to->refused) == 0;
        state_of(to)->is_introduced = true;
        state_of(to)->is_done = to->delivery->is_over && is_whole;
        to->is_stuck = to->delivery->is_over && !is_whole;
        (void)delivery_save(to->delivery);
    } else if (result.outcome == S3_REFUSED) {
        /* The bucket takes nothing of us: neither would it take the rest. */
        trouble_note(&to->trouble, &err);
        to->is_stuck = true;
        if (!to->delivery->is_over)
            trouble_say(&to->trouble, to->delivery, "the data stays in the spool");
    }
}

static void upload_batch(struct to_bucket *to, uint32_t number, int64_t deadline_ns)
{
    struct err err = {0};
    int r = delivery_read_batch(to->delivery, number, &to->batch, &err);
    if (r < 0) {
        if (r != -ENODATA)
            delivery_fail(to->delivery, &to->retry, &to->trouble, &err, -1);
        return;
    }
    deadline_ns += delivery_extra_ns(to->delivery, to->batch.len);
    AUTO_BUF struct buf key;
    buf_init(&key, KEY_BYTES_MAX);
    delivery_put_key(&key, to->bucket.prefix, state_of(to)->folder, number);
    struct s3_object object = {{key.data, key.len}, {to->batch.data, to->batch.len}, "application/gzip"};
    struct s3_result result = put_object(to, &object, deadline_ns, &err);
    if (settle(to, result, &err))
        to->is_stuck = !delivery_note_batch(to->delivery, &state_of(to)->delivered, number);
    else if (result.outcome == S3_REFUSED)
        to->is_stuck = !delivery_refuse_batch(to->delivery, &to->trouble, &to->refused, number, &err);
}

void to_bucket_step(struct to_bucket *to, int64_t deadline_ns)
{
    uint32_t number;
    if (!prepare(to, deadline_ns))
        return;
    bool is_first = wants_introduction(to) && !to->delivery->is_over;
    if (!is_first && delivery_next_batch(to->delivery, &state_of(to)->delivered, &to->refused, &number))
        upload_batch(to, number, deadline_ns);
    else
        upload_run(to, deadline_ns);
}
