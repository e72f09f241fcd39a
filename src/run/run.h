/* SPDX-License-Identifier: Apache-2.0 */
/* What the program can do, for main.c: a run over a command, a running tree or the host alone; a replay; its licences.
 */
#ifndef RUN_RUN_H
#define RUN_RUN_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/settings.h"

struct session_result {
    /*
     * The exit status: the command's own, 126 or 127 with a message where it could not be executed; without a command 0
     * after SIGINT or SIGTERM, 129 after SIGHUP. A negative errno with a message where tracking could not start.
     */
    int status;
    int signal; /* that ended the command; 0: none did */
    bool is_stuck; /* a file or a disk that does not answer holds up a thread of ours: leave without tidying up */
};

/* caller_mask: the signal mask the command is to have. */
struct session_result session_run(const struct settings *settings, const sigset_t *caller_mask, struct err *err);

/* --from: recorded samples instead of new ones, through the same outputs. */

/*
 * Reads every file of settings->sources. Samples are written where a file or a format was asked for, or where stdout is
 * captured and nothing else was asked for. Returns 0, or a negative errno with a message where a file could not be read
 * or an output could not be written.
 */
int replaying_run(const struct settings *settings, struct err *err);

/*
 * --licenses: the licences of the program and of what is linked into it. tools/embed-licenses packs the text at build
 * time.
 */

/* The text as one gzip file; in a source file that the build makes. */
extern const unsigned char licenses_packed[];
extern const size_t licenses_packed_bytes;

/* Appends the whole text. Returns 0 or a negative errno with a message. */
int licenses_put(struct buf *buf, struct err *err);

/* One line, which scripts cut at the blank; is_long: also what the program is built with. */
void version_put(struct buf *text, bool is_long);

#endif
