/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to a stream: which targets, with which surroundings; and the spool of earlier runs. */
#ifndef STREAM_STREAMING_H
#define STREAM_STREAMING_H

#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"
#include "kernel/sysroot.h"
#include "model/run_facts.h"
#include "stream/stream.h"

struct streaming {
    struct stream_options options;
    struct stream *stream; /* NULL: no target */
    const struct sysroot *root;
    bool asks_cloud;
    struct job_tag *tags;
    struct buf csv_header;
};

/* Does any target want samples? */
static inline bool streaming_takes_samples(const struct streaming *streaming)
{
    return streaming->stream && stream_takes_samples(streaming->options.settings);
}

/* Checks the targets. Returns 0 or a negative errno with a message; to be freed with streaming_fini in any case. */
int streaming_init(struct streaming *streaming, const struct settings *settings, const struct sysroot *root,
    const struct run_info *info, struct err *err);

/* Starts the worker where there is a target; before the command is started. Errors are reported, and tracking goes on.
 */
void streaming_start(struct streaming *streaming);

/* There is no room for streaming beside the command: it ends here, with a warning. False where there was none. */
bool streaming_drop(struct streaming *streaming, const char *why);

/* status: the exit status, negative for an error of ours; is_asked: the end was requested. */
void streaming_end(struct streaming *streaming, int status, bool is_asked, int64_t grace_ns, int signal_fd);

/* False where the worker is stuck; see stream_free. */
bool streaming_fini(struct streaming *streaming);

/* --upload-spool. The report is for stdout. Returns the exit status or a negative errno with a message. */
int streaming_upload(const struct settings *settings, struct buf *report, struct err *err);

#endif
