/* SPDX-License-Identifier: Apache-2.0 */
/* What streaming is told before the run: the targets and their surroundings. Texts are the caller's and stay. */
#ifndef STREAM_OPTIONS_H
#define STREAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "model/run_facts.h"
#include "net/http.h"
#include "stream/spool/spool.h"
#include "stream/targets/sentinel.h"

struct stream_options {
    const char *sentinel_token; /* NULL: no Sentinel */
    const char *sentinel_url;
    enum sentinel_inline sentinel_inline;
    const char *omit; /* names of fields, comma separated; NULL: none */
    const char *sentinel_s3_endpoint; /* for uploads with its credentials; only from the environment; NULL: Amazon's */
    const char *s3_uri; /* NULL: no bucket */
    const char *s3_endpoint, *s3_region; /* NULL: Amazon's, to be found out */
    bool is_path_style;
    const char *hook_start, *hook_heartbeat, *hook_stop; /* NULL: none */
    int64_t heartbeat_ns;
    const struct http_header *hook_headers;
    size_t hook_header_count;
    int64_t upload_interval_ns;
    int64_t interval_ns; /* between samples */
    struct spool_places spool_places;
    uint64_t spool_max_bytes;
    bool allow_http;
    char *const *environment; /* proxies, roots, AWS */
    const struct clock *clock;
    struct job_facts job;
    int64_t pid; /* tracked by number (--pid); 0: none */
    const char *version;
    const char *csv_header; /* one line with its LF */
    /* The machine and the cloud, asked in the worker's thread; waits only through `wait`. */
    void (*discover_host)(void *context, struct host_facts *ret_host);
    void (*discover_cloud)(void *context, const struct net_wait *wait, struct cloud_facts *ret_cloud);
    void *discover_context;
};

#endif
