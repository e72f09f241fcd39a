/* SPDX-License-Identifier: Apache-2.0 */
/* Are there targets, and can they be meant? Everything that is wrong with them is said before the command starts. */
#include <errno.h>

#include "aws/s3.h"
#include "net/url.h"
#include "stream/run_state.h"
#include "stream/stream.h"

bool stream_takes_samples(const struct stream_options *options)
{
    return options->sentinel_token || options->s3_uri;
}

bool stream_is_wanted(const struct stream_options *options)
{
    return stream_takes_samples(options) || options->hook_start || options->hook_heartbeat || options->hook_stop;
}

static int check_url(const struct stream_options *options, const char *name, const char *text, struct err *err)
{
    struct url url;
    if (!text || !text[0])
        return 0;
    int r = url_parse(str_of(text), &url, err);
    if (r < 0)
        return err_wrap(err, "%s is no URL that can be used", name);
    if (!url.is_https && !options->allow_http && !url_is_loopback(&url))
        return err_set(err, -EPERM,
            "%s is plain http to another host, which everybody on the way can read: use https, or set "
            "TRACKER_ALLOW_HTTP=1 if that is meant",
            name);
    return 0;
}

/* The token and its address: what cannot work, or would be written down with the run. */
static int check_sentinel(const struct stream_options *options, struct err *err)
{
    struct url url;
    if (!options->sentinel_token)
        return 0;
    for (const char *p = options->sentinel_token; *p; p++) {
        if (*p < 0x21 || *p > 0x7e)
            return err_set(err, -EINVAL,
                "the token (SENTINEL_API_TOKEN) holds a blank, a line end or another character that cannot be sent");
    }
    int r = check_url(options, "the address of the Sentinel API (SENTINEL_API_URL)", options->sentinel_url, err);
    if (r < 0)
        return r;
    if (strlen(options->sentinel_url) >= RUN_STATE_URL_BYTES)
        return err_set(err, -EINVAL, "SENTINEL_API_URL is longer than %d bytes", RUN_STATE_URL_BYTES - 1);
    if (url_parse(str_of(options->sentinel_url), &url, err) < 0 || url.has_user_info ||
        strpbrk(options->sentinel_url, "?#"))
        return err_set(err, -EINVAL,
            "the address of the Sentinel API (SENTINEL_API_URL) must be scheme, host, port and path only, as in "
            "https://api.example.com");
    return 0;
}

int stream_check(const struct stream_options *options, struct err *err)
{
    int checked = check_sentinel(options, err);
    if (checked < 0)
        return checked;
    const struct {
        const char *name, *text;
    } urls[] = {{"the S3 endpoint (AWS_ENDPOINT_URL or s3.endpoint)", options->s3_uri ? options->s3_endpoint : NULL},
        {"http.start_url", options->hook_start}, {"http.heartbeat_url", options->hook_heartbeat},
        {"http.stop_url", options->hook_stop}};
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        int r = check_url(options, urls[i].name, urls[i].text, err);
        if (r < 0)
            return r;
    }
    struct s3_bucket bucket;
    if (options->s3_uri && strlen(options->s3_uri) >= RUN_STATE_URL_BYTES)
        return err_set(err, -EINVAL, "s3.uri (TRACKER_S3_URI) is longer than %d bytes", RUN_STATE_URL_BYTES - 1);
    if (options->s3_uri &&
        s3_bucket_parse(str_of(options->s3_uri), options->s3_endpoint, options->is_path_style, &bucket, err) < 0)
        return err_wrap(err, "s3.uri (TRACKER_S3_URI)");
    if (options->s3_uri && options->s3_region && !s3_is_region(str_of(options->s3_region)))
        return err_set(
            err, -EINVAL, "s3.region (AWS_REGION) must be small letters, digits and '-', such as eu-central-1");
    return 0;
}
