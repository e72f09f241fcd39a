/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the OTLP target share: fields that become protobuf or its JSON mapping, the metrics of rows, and
 * what describes a run: its resource and its span.
 */
#ifndef STREAM_OTLP_INTERNAL_H
#define STREAM_OTLP_INTERNAL_H

#include "codec/json_read.h"
#include "stream/delivery.h"

/*
 * A message on its way into a buffer. field: its number, for protobuf; name: its key, for JSON. In JSON repeated fields
 * stand in a list: otlp_open_list and otlp_close_list around them, and a name of NULL for each.
 */
struct otlp_out {
    struct buf *buf;
    bool is_json;
};

size_t otlp_open(const struct otlp_out *out, unsigned field, const char *name);
void otlp_close(const struct otlp_out *out, size_t start);
void otlp_open_list(const struct otlp_out *out, const char *name);
void otlp_close_list(const struct otlp_out *out);
void otlp_put_text(const struct otlp_out *out, unsigned field, const char *name, struct str text); /* UTF-8 */
void otlp_put_id(const struct otlp_out *out, unsigned field, const char *name, const char *hex);
void otlp_put_time(const struct otlp_out *out, unsigned field, const char *name, int64_t unix_ms);
void otlp_put_real(const struct otlp_out *out, unsigned field, const char *name, double value);
void otlp_put_integer(const struct otlp_out *out, unsigned field, const char *name, int64_t number); /* sfixed64 */
void otlp_put_enum(
    const struct otlp_out *out, unsigned field, const char *name, unsigned value); /* and flags of 32 bits */
void otlp_put_bool(const struct otlp_out *out, unsigned field, const char *name, bool value);

/* Names of our own stand in tables without the word that all begin with: ".x" is "resource_tracker.x". */
enum { OTLP_NAME_BYTES = 64 };
struct str otlp_name(struct str name, char buffer[static OTLP_NAME_BYTES]);

/* One KeyValue of the list that is open; its number is field. */
void otlp_put_attribute(const struct otlp_out *out, unsigned field, struct str key, struct str text);
/* A value of JSON: text, number or boolean; a text of a JSON list of texts becomes such a list. Others are left out. */
void otlp_put_attribute_json(
    const struct otlp_out *out, unsigned field, struct str key, const struct json_value *value);

/* By the settings and the environment, of metrics (or spans). */
enum { OTLP_HEADERS_BYTES_MAX = 16 * 1024, OTLP_OWN_HEADERS = 2 };

bool otlp_is_wanted(const struct settings *settings);
int otlp_check(const struct settings *settings, struct err *err);
bool otlp_is_json(const struct settings *settings, bool is_span);
bool otlp_is_plain(const struct settings *settings, bool is_span); /* not compressed */
int64_t otlp_interval_ns(const struct settings *settings);
int64_t otlp_timeout_ns(const struct settings *settings, bool is_span);
bool otlp_put_url(const struct settings *settings, size_t i, struct buf *url);
void otlp_copy_endpoint(
    const struct settings *settings, bool is_span, char out[static RUN_STATE_URL_BYTES]); /* "": none is to be sent */

/*
 * Those that are ours, Content-Encoding as the second, and what OTEL_EXPORTER_OTLP_HEADERS says ("KEY=VALUE,KEY=VALUE",
 * percent-encoded). texts: where decoded ones stand. Returns how many there are, or -EINVAL with a message.
 */
int otlp_fill_headers(const struct settings *settings, bool is_span, struct buf *texts,
    struct http_header ret_headers[static HTTP_HEADERS_MAX], struct err *err);

/* What of a run --upload-spool has to know, too. */
enum {
    OTLP_TRACE_HEX = 33,
    OTLP_SPAN_HEX = 17,
    OTLP_TEXT_BYTES = 256,
    OTLP_ATTRIBUTES_BYTES = 4096,
};

struct otlp_run {
    char service[OTLP_TEXT_BYTES]; /* as in OTEL_SERVICE_NAME */
    char attributes[OTLP_ATTRIBUTES_BYTES]; /* as in OTEL_RESOURCE_ATTRIBUTES */
    char trace[OTLP_TRACE_HEX], span[OTLP_SPAN_HEX], parent[OTLP_SPAN_HEX]; /* span "": none is sent */
    char trace_state[2 * OTLP_TEXT_BYTES];
    bool is_delta; /* the rows hold differences, not sums since the start */
    int64_t start_ms; /* Unix */
    int64_t pid; /* of the tree; 0: not known, or there is none */
};

/* The sums of a run so far, for rows. */
enum { OTLP_SUMS_MAX = 32 };

struct otlp_sums {
    double sums[OTLP_SUMS_MAX];
    int64_t last_ms; /* when the row before was taken */
    double cpus; /* that the tree may run on; 0: unknown */
};

/* By the environment: differences instead of sums since the start. */
bool otlp_is_delta(const struct settings *settings);

/* A sample as an object of JSON: without what is not sent, and counters as sums unless differences are wanted. */
void otlp_put_row(void *sums, const struct settings *settings, const struct sample *sample, struct buf *buf);

/* Rows that make one request. */
enum { OTLP_ROWS_MAX = 64, OTLP_ROWS_BYTES_MAX = 256 * 1024 };

struct otlp_rows {
    struct json_doc docs[OTLP_ROWS_MAX];
    size_t count;
};

/*
 * Whole requests, and what is in both: {"resourceMetrics":[{"resource":…,"scopeMetrics":[{"scope":…,"metrics":[…]}]}]}.
 * Fills in run->pid where it is 0.
 */
void otlp_put_metrics(
    const struct otlp_out *out, struct otlp_run *run, const struct run_state *state, const struct otlp_rows *rows);
void otlp_put_span(const struct otlp_out *out, const struct otlp_run *run, const struct run_state *state);

/* resourceMetrics or resourceSpans: what stands around the metrics or spans, which are put in between. */
struct otlp_frame {
    size_t starts[2];
};
struct otlp_frame otlp_frame_open(
    const struct otlp_out *out, const struct otlp_run *run, const struct run_state *state, bool is_span);
void otlp_frame_close(const struct otlp_out *out, const struct otlp_frame *frame);

#endif
