/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples on their way out: which format, which stream, compressed or not, and what is reported when the stream does
 * not accept them.
 */
#ifndef RUN_OUTPUT_OUTPUT_H
#define RUN_OUTPUT_OUTPUT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "codec/gzip.h"
#include "config/settings.h"
#include "encode/encode.h"
#include "sink/sink.h"

/*
 * Samples as gzip (compressed.c), in a file whose name ends in .gz: every sample is flushed, so that a file whose end
 * is missing gives back all of them, and a run is one member. Such a file has one writer at a time (flock).
 */
struct compressed {
    struct gzip *gzip; /* NULL: samples are not compressed */
    struct buf bytes;
};

bool compressed_is_meant(const char *path);

/*
 * For the file that the sink was opened on, with SINK_ALONE. head: how it begins, which becomes how its text begins. A
 * file that the run before could not end is ended here; one that is broken, or too large to be checked at once, is
 * refused. Returns 0 or a negative errno with a message. To be closed in any case.
 */
int compressed_open(
    struct compressed *compressed, struct sink *sink, const char *path, struct sink_head *head, struct err *err);

/* Returns like sink_write; a record that might not find its place is dropped whole. */
int compressed_write(struct compressed *compressed, struct sink *sink, struct str record);

/* The end of the member. */
void compressed_end(struct compressed *compressed, struct sink *sink);

void compressed_close(struct compressed *compressed);

struct output {
    const struct encoder *encoder; /* NULL: nothing is written (--quiet) */
    const struct run_info *info;
    struct sink sink;
    struct compressed compressed;
    char name[64]; /* "stdout", "stderr" or the file's name, cut */
    char *path; /* of the file, owned; NULL: there is none */
    struct buf line;
    bool begun; /* the header is out, or was there */
    bool has_written; /* at least one sample is out */
    bool is_shared; /* a file that others may append to as well */
    bool reader_gone;
    struct complaint complaint;
    uint64_t reported_lost; /* of the dropped samples */
    int last_result; /* of the newest write */
};

/*
 * Chooses the stream by the rules: --quiet, --output, else stderr when a command is tracked or when it was redirected
 * to a file and stdout was not, else stdout when it is captured, else stderr. Where stderr is a terminal it gets the
 * samples of a job only if a format was asked for, and with --live it gets none. Diagnostics then go through the same
 * sink where it is the same file, so that they never land inside a sample; *ret_output must stay where it is until
 * output_close. Returns 0 or a negative errno with a message.
 */
int output_open(
    struct output *ret_output, const struct settings *settings, const struct run_info *info, struct err *err);

/* Are samples written anywhere? */
static inline bool output_is_wanted(const struct output *output)
{
    return output->encoder != NULL;
}

/* Do samples have to come with their totals? */
static inline bool output_uses_totals(const struct output *output)
{
    return output->encoder && output->encoder->uses_totals;
}

/* What CPU times have to be multiples of, so that rounding loses nothing: without an output that of the summary. */
static inline int64_t output_cpu_resolution_ns(const struct output *output)
{
    return output->encoder ? output->encoder->cpu_resolution_ns : NS_PER_SEC / FIXED4;
}

/* Is there a live view on stderr, where samples would be in its way? */
bool output_has_view(const struct settings *settings);

/* Is stdout captured: is it a pipe, a file or a socket? */
bool output_is_captured(void);

/* Will samples go anywhere? */
bool output_writes_samples(const struct settings *settings);

/* Will samples go to where stderr leads? */
bool output_shows_samples(const struct settings *settings);

/* Encodes and writes one sample. Returns -EPIPE when the reader is gone for good, else 0: errors are logged here. */
int output_sample(struct output *output, const struct sample *sample, const struct sample_totals *totals);

/* Does something wait for the reader? Other errors wait for the next sample. output_drain writes what
 * goes within timeout_ms; returns like output_sample. */
bool output_waits(const struct output *output);
int output_drain(struct output *output, int timeout_ms);

/* A descriptor that reports when the reader goes away or accepts more, or -1. */
int output_watch_fd(const struct output *output);

/* Before output_close: the path of the file where samples are; NULL where there is no file of ours, or no sample. */
const char *output_written_file(const struct output *output);

/* Waits for the reader a last time, reports what was lost (where stderr can be written), closes. False where something
 * was lost. */
bool output_close(struct output *output);

#endif
