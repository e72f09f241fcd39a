/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streaming as the sampling thread sees it: samples go in, notices come out, nothing waits. Only stream_finish does,
 * and not for longer than it is allowed to.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/run_facts.h"
#include "model/totals.h"
#include "stream/exchange.h"
#include "stream/target.h"

struct stream;

/* Are there targets, and some among them that samples are kept for? */
bool stream_is_wanted(const struct settings *settings);
bool stream_takes_samples(const struct settings *settings);

/* Would these targets be understood? Returns 0 or -EINVAL / -EPERM with a message that names the setting. */
int stream_check(const struct settings *settings, struct err *err);

/*
 * Makes the worker thread, which waits for stream_begin. What the options point to must stay until the stream is freed.
 * Where no thread can be started this is reported, and everything is delivered at the end. Returns 0 or a negative
 * errno with a message.
 */
int stream_new(struct stream **ret_stream, const struct stream_options *options, struct err *err);

/* Before stream_begin, where the command cannot be started because of us: the worker gives its thread back, at once,
 * and everything is delivered at the end. False where there was no thread. */
bool stream_do_without_thread(struct stream *stream);

/* The command line as it may be sent, NULL-terminated; it must stay until the stream is freed. Before stream_begin;
 * without this call none is sent. */
void stream_set_command(struct stream *stream, char *const *command);

/* The command runs. */
void stream_begin(struct stream *stream);

/* One sample, to be delivered. */
void stream_sample(struct stream *stream, const struct run_info *info, const struct sample *sample,
    const struct sample_totals *totals);

/* Readable when there are notices; stream_tell then logs it. */
int stream_watch_fd(const struct stream *stream);
void stream_tell(struct stream *stream);

/*
 * The run is over: waits until everything is delivered, but at most grace_ns, and not any longer once it is cancelled.
 * Logs the notices that are left.
 */
void stream_finish(
    struct stream *stream, const struct end_facts *end, int64_t grace_ns, const struct stream_cancel *cancel);

/* Returns false where the worker is stuck (a disk that does not answer): it and its memory are left alone, and the
 * process should end without tidying up. NULL allowed. */
bool stream_free(struct stream *stream);

#endif
