/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run on its way into a bucket of the user's own: run.json at the start, the batches, run.json at the end, all in one
 * directory: PREFIX/JOB-or-host/START-TIME-RUNID/, or, for engines that read columns from names,
 * PREFIX/job=JOB-or-host/date=YYYY-MM-DD/run=START-TIME-RUNID/.
 */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "aws/chain.h"
#include "aws/s3.h"
#include "base/auto.h"
#include "base/text.h"
#include "codec/json_read.h"
#include "encode/json.h"
#include "stream/delivery.h"

enum { KEY_BYTES_MAX = S3_KEY_BYTES_MAX + 512 };
#define CREDENTIALS_NS (10 * NS_PER_SEC)

struct to_bucket {
    char uri[RUN_STATE_URL_BYTES], endpoint[RUN_STATE_URL_BYTES], region[S3_REGION_BYTES];
    bool is_path_style;
    char directory[256]; /* without the prefix of the URI */
    bool is_introduced; /* run.json of the start is there */
    struct aws_context aws;
    struct s3_client s3;
    struct s3_bucket bucket;
    struct s3_credentials credentials;
    bool has_credentials;
    bool is_valid; /* the URI is usable */
    bool is_renewed; /* new credentials were asked for, and nothing has worked with them */
};

static bool is_wanted(const struct settings *settings)
{
    return settings->s3_uri != NULL;
}

static int check(const struct settings *settings, struct err *err)
{
    struct s3_bucket bucket;
    int r = target_check_url(settings, "the S3 endpoint (AWS_ENDPOINT_URL or s3.endpoint)", settings->s3_endpoint, err);
    if (r < 0)
        return r;
    if (strlen(settings->s3_uri) >= RUN_STATE_URL_BYTES)
        return err_set(err, -EINVAL, "s3.uri (TRACKER_S3_URI) is longer than %d bytes", RUN_STATE_URL_BYTES - 1);
    if (s3_bucket_parse(str_of(settings->s3_uri), settings->s3_endpoint, settings->s3_path_style, &bucket, err) < 0)
        return err_wrap(err, "s3.uri (TRACKER_S3_URI)");
    if (settings->s3_region && !s3_is_region(str_of(settings->s3_region)))
        return err_set(
            err, -EINVAL, "s3.region (AWS_REGION) must be small letters, digits and '-', such as eu-central-1");
    return 0;
}

static void copy_setting(char *out, size_t size, const char *text)
{
    (void)str_copy(str_of(text ? text : ""), out, size);
}

static void begin(struct target_run *run, const struct run_state *state, const struct settings *settings)
{
    struct to_bucket *to = run->state;
    copy_setting(to->uri, sizeof(to->uri), settings->s3_uri);
    copy_setting(to->endpoint, sizeof(to->endpoint), settings->s3_endpoint);
    copy_setting(to->region, sizeof(to->region), settings->s3_region);
    to->is_path_style = settings->s3_path_style;
    char host[256] = "", safe[129];
    const char *name = settings->job_name;
    if (!name || !name[0]) {
        (void)gethostname(host, sizeof(host) - 1);
        name = host[0] ? host : "host";
    }
    text_file_name(name, safe, sizeof(safe));
    const char *date = state->run_id; /* begins with YYYYMMDD */
    if (settings->s3_layout == LAYOUT_HIVE)
        (void)snprintf(to->directory, sizeof(to->directory), "job=%s/date=%.4s-%.2s-%.2s/run=%s", safe, date, date + 4,
            date + 6, state->run_id);
    else
        (void)snprintf(to->directory, sizeof(to->directory), "%s/%s", safe, state->run_id);
}

static void put_state(const struct target_run *run, struct buf *buf)
{
    const struct to_bucket *to = run->state;
    json_put_text(buf, "uri", to->uri);
    json_put_text(buf, "endpoint", to->endpoint);
    json_put_text(buf, "region", to->region);
    json_put_bool(buf, "path_style", to->is_path_style);
    json_put_text(buf, "folder", to->directory);
    target_put_delivered(buf, run);
    json_put_bool(buf, "introduced", to->is_introduced);
}

static bool read_state(struct target_run *run, const struct json_value *value)
{
    struct to_bucket *to = run->state;
    to->is_path_style = target_read_bool(value, "path_style");
    to->is_introduced = target_read_bool(value, "introduced");
    return json_string_copy(json_get(value, "uri"), to->uri, sizeof(to->uri)) &&
           json_string_copy(json_get(value, "endpoint"), to->endpoint, sizeof(to->endpoint)) &&
           json_string_copy(json_get(value, "region"), to->region, sizeof(to->region)) &&
           json_string_copy(json_get(value, "folder"), to->directory, sizeof(to->directory));
}

static void open_run(struct target_run *run)
{
    struct to_bucket *to = run->state;
    const struct stream_options *options = run->delivery->options;
    struct http_client *http = run->clients->http_s3;
    to->aws =
        (struct aws_context){.environment = options->settings->environment, .http = http, .clock = options->clock};
    to->s3 = (struct s3_client){.http = http, .clock = options->clock};
    struct err err = {0};
    to->is_valid = s3_bucket_parse(str_of(to->uri), to->endpoint, to->is_path_style, &to->bucket, &err) == 0;
    if (!to->is_valid)
        target_note_error(run, &err);
    if (s3_is_region(str_of(to->region))) {
        (void)str_copy(str_of(to->region), to->bucket.region, sizeof(to->bucket.region));
        to->bucket.is_region_sure = true;
    }
}

static void close_run(struct target_run *run)
{
    struct to_bucket *to = run->state;
    s3_credentials_wipe(&to->credentials);
}

/* run.json is written when everything about the machine is known. */
static bool wants_introduction(const struct target_run *run)
{
    const struct to_bucket *to = run->state;
    return !to->is_introduced && run->delivery->state->run_body.len > 0;
}

static int64_t next_due(const struct target_run *run)
{
    const struct to_bucket *to = run->state;
    uint32_t number;
    bool has_work = run->delivery->is_over || wants_introduction(run) || target_next_batch(run, &number);
    return to->is_valid && has_work ? run->retry.next_ns : DELIVERY_NEVER;
}

static bool takes(const struct target_run *run)
{
    const struct to_bucket *to = run->state;
    return to->is_valid && to->is_introduced;
}

static void end(struct target_run *run)
{
    run->is_stuck = false;
}

/* Keys expire by the server's clock. */
static bool has_lasting_credentials(const struct target_run *run)
{
    const struct to_bucket *to = run->state;
    int64_t now_secs = delivery_unix_secs(run->delivery) + to->bucket.skew_secs;
    return to->has_credentials &&
           (!to->credentials.expires_secs.has || to->credentials.expires_secs.v - DELIVERY_REFRESH_SECS > now_secs);
}

/* False where there are none. */
static bool find_credentials(struct target_run *run, int64_t deadline_ns)
{
    struct to_bucket *to = run->state;
    struct err err = {0};
    int r = aws_find_credentials(&to->aws, deadline_ns, &to->credentials, &err);
    /* What is still valid for a moment is better than nothing. */
    if (r == 0 || to->has_credentials) {
        to->has_credentials = true;
        return true;
    }
    if (r != -ECANCELED)
        target_fail(run, &err, -1);
    /* Neither is mended by waiting a few seconds. */
    if ((r == -ENOENT || r == -EINVAL) && run->delivery->is_over)
        run->is_stuck = true;
    else if (r == -ENOENT || r == -EINVAL)
        target_report_error(run, TARGET_KEPT);
    return false;
}

/* Credentials and region; false where they are not to be had now. */
static bool prepare(struct target_run *run, int64_t deadline_ns)
{
    struct to_bucket *to = run->state;
    if (!has_lasting_credentials(run) && !find_credentials(run, deadline_ns))
        return false;
    char region[S3_REGION_BYTES];
    if (!to->bucket.is_region_sure && aws_find_region(&to->aws, deadline_ns, region) == 0) {
        (void)str_copy(str_of(region), to->bucket.region, sizeof(to->bucket.region));
        to->bucket.is_region_sure = true;
    }
    return s3_find_region(&to->s3, &to->bucket, deadline_ns) == 0;
}

/* One object, and what became of it: true where it is there. */
static bool put_object(struct target_run *run, const struct s3_object *object, int64_t deadline_ns,
    enum s3_outcome *ret_outcome, struct err *err)
{
    struct to_bucket *to = run->state;
    struct s3_result result = s3_put(&to->s3, &to->bucket, &to->credentials, object, deadline_ns, err);
    *ret_outcome = result.outcome;
    if (result.outcome != S3_DONE)
        (void)err_wrap(err, "cannot upload");
    if (result.outcome == S3_EXPIRED)
        to->has_credentials = false;
    return target_settle_upload(run, result, err, &to->is_renewed);
}

static void upload_run(struct target_run *run, int64_t deadline_ns)
{
    struct to_bucket *to = run->state;
    struct delivery *delivery = run->delivery;
    AUTO_BUF struct buf key = {.max = KEY_BYTES_MAX};
    AUTO_BUF struct buf body = {.max = RUN_STATE_BODY_MAX + 1024};
    buf_printf(&key, "%s%s%s/run.json", to->bucket.prefix, to->bucket.prefix[0] ? "/" : "", to->directory);
    run_state_put_run(&body, delivery->state, delivery_batches(delivery));
    struct err err = {0};
    enum s3_outcome outcome;
    struct s3_object object = {buf_str(&key), buf_str(&body), "application/json"};
    if (put_object(run, &object, deadline_ns, &outcome, &err)) {
        /* With its end also where a batch was refused, which then stays for later. */
        bool is_whole = number_set_count(&run->refused) == 0;
        to->is_introduced = true;
        run->is_done = delivery->is_over && is_whole;
        run->is_stuck = delivery->is_over && !is_whole;
        (void)delivery_save(delivery);
    } else if (outcome == S3_REFUSED) {
        /* The bucket accepts nothing of ours: no batch either. */
        target_give_up(run, &err);
    }
}

static void upload_batch(struct target_run *run, uint32_t number, int64_t deadline_ns)
{
    struct to_bucket *to = run->state;
    struct err err = {0};
    if (target_read_batch(run, number) < 0)
        return;
    deadline_ns += delivery_extra_ns(run->delivery, run->batch.len);
    AUTO_BUF struct buf key = {.max = KEY_BYTES_MAX};
    target_put_key(&key, to->bucket.prefix, to->directory, number);
    enum s3_outcome outcome;
    struct s3_object object = {buf_str(&key), buf_str(&run->batch), "application/gzip"};
    if (put_object(run, &object, deadline_ns, &outcome, &err))
        target_note_batch(run, number);
    else if (outcome == S3_REFUSED)
        target_refuse_batch(run, number, &err);
}

static void step(struct target_run *run, int64_t deadline_ns)
{
    uint32_t number;
    if (!prepare(run, deadline_ns))
        return;
    bool is_first = wants_introduction(run) && !run->delivery->is_over;
    if (!is_first && target_next_batch(run, &number))
        upload_batch(run, number, deadline_ns);
    else
        upload_run(run, deadline_ns);
}

static bool put_url(const struct settings *settings, size_t i, struct buf *url)
{
    struct s3_bucket bucket;
    if (i > 0 ||
        s3_bucket_parse(str_of(settings->s3_uri), settings->s3_endpoint, settings->s3_path_style, &bucket, NULL) < 0)
        return false;
    s3_bucket_put_url(&bucket, str_of(settings->s3_region ? settings->s3_region : ""), (struct str){"", 0}, url);
    return true;
}

/* The first source that will be asked, as far as that is known without asking. */
static const char *credential_source(char *const *environment)
{
    if (env_get(environment, "AWS_ACCESS_KEY_ID"))
        return "the environment";
    if (env_get(environment, "AWS_WEB_IDENTITY_TOKEN_FILE"))
        return "a web identity";
    return "a profile, the container or the instance";
}

static bool doctor(const struct settings *settings, struct http_client *http, struct target_finding *ret_finding)
{
    struct aws_context aws = {.environment = settings->environment, .http = http, .clock = &clock_system};
    const char *source = credential_source(settings->environment);
    struct s3_credentials credentials;
    struct err err = {0};
    *ret_finding = (struct target_finding){.name = "AWS credentials"};
    if (!http) {
        (void)snprintf(
            ret_finding->text, sizeof(ret_finding->text), "to come from %s; --doctor=online looks for them", source);
        return true;
    }
    int64_t deadline_ns = clock_now() + CREDENTIALS_NS;
    ret_finding->is_broken = aws_find_credentials(&aws, deadline_ns, &credentials, &err) < 0;
    if (ret_finding->is_broken) {
        ret_finding->remedy = "Give some as for every AWS tool (aws configure).";
        (void)snprintf(ret_finding->text, sizeof(ret_finding->text), "%s", err.msg);
    } else {
        (void)snprintf(ret_finding->text, sizeof(ret_finding->text), "found, from %s", source);
        s3_credentials_wipe(&credentials);
    }
    return true;
}

const struct stream_target bucket_target = {
    .name = "bucket",
    .label = "the bucket",
    .state_key = "s3",
    .is_s3 = true,
    .takes_batches = true,
    .takes_summary = true,
    .state_bytes = sizeof(struct to_bucket),
    .is_wanted = is_wanted,
    .check = check,
    .begin = begin,
    .put_state = put_state,
    .read_state = read_state,
    .open = open_run,
    .close = close_run,
    .next_due = next_due,
    .takes = takes,
    .step = step,
    .end = end,
    .put_url = put_url,
    .doctor = doctor,
};
