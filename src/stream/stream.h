/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streaming as the sampling thread sees it: samples go in, notices come out, nothing waits. Only stream_end does, and
 * not for longer than it is allowed to. And --upload-spool, for what earlier runs left in the spool.
 */
#ifndef STREAM_STREAM_H
#define STREAM_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"
#include "kernel/sysroot.h"
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

/* What the settings say, without csv_header and discover_context. */
struct stream_options stream_options_of(const struct settings *settings);

/*
 * Checks the targets and makes the worker thread, which waits for stream_begin; before the command is started. NULL
 * where there is no target. What is passed must stay until the stream is freed. Where no thread can be started this is
 * reported, and everything is delivered at the end; where there is no memory or descriptor this is reported, too, and
 * there is no stream. Returns 0, or what stream_check does.
 */
int stream_new(struct stream **ret_stream, const struct settings *settings, const struct sysroot *root,
    const struct run_info *info, struct err *err);

bool stream_wants_samples(const struct stream *stream); /* NULL allowed */

/* There is no room for streaming beside the command: it ends here, with a warning. False where there was none. */
bool stream_drop(struct stream **stream, const char *why);

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

/* For the end of the run: the run as metrics of Prometheus, and its summary as one JSON object without processes (at
 * most RUN_STATE_SUMMARY_MAX bytes). Both are moved away. NULL allowed. */
void stream_set_metrics(struct stream *stream, struct buf *text);
void stream_set_summary(struct stream *stream, struct buf *json);

/* Is there a target that wants them? */
bool stream_takes_metrics(const struct settings *settings);
bool stream_takes_summary(const struct settings *settings);

enum { STREAM_VARIABLE_BYTES = 128 };

/* Behind stream_new: puts the variable of a target into the environment (env_put), in memory of the caller, which
 * outlives the stream. NULL allowed. */
void stream_put_variable(
    const struct stream *stream, char **environment, char ret_variable[static STREAM_VARIABLE_BYTES]);

/* Readable when there are notices; stream_log then logs them. */
int stream_watch_fd(const struct stream *stream);
void stream_log(struct stream *stream);

/*
 * The run is over: waits until everything is delivered, but at most grace_ns, and not any longer once a signal that
 * means us is read from signal_fd (-1: none). Logs the notices that are left. status: the exit status, negative for an
 * error of ours; is_asked: the end was requested; ended_ns: when it ended, monotonic. NULL allowed.
 */
void stream_end(struct stream *stream, int status, bool is_asked, int64_t ended_ns, int64_t grace_ns, int signal_fd);

/* Returns false where the worker is stuck (a disk that does not answer): it and its memory are left alone, and the
 * process should end without tidying up. NULL allowed. */
bool stream_free(struct stream *stream);

/* --upload-spool. The report is for stdout. Returns the exit status or a negative errno with a message. */
int stream_upload(const struct settings *settings, struct buf *report, struct err *err);

#endif
