/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics on stderr: "resource-tracker: warning: …", one line and one write each, text made harmless for terminals.
 * Only run/, stream/, config/ and main.c call this; everything below returns an err. A stderr that takes nothing now (a
 * full pipe, a stopped terminal) does not block us: the line is dropped, and a complaint is said again at the next
 * occasion.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

#include "base/str.h"

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Takes a description of stderr of our own, non-blocking, where it is a pipe or terminal. Call once, early. */
void log_open(void);

/* Gives that back; lines go to stderr itself from then on. */
void log_close(void);

/* Lines above this level are not written; LOG_WARNING until set. */
void log_set_level(enum log_level level);

/*
 * Lines go through `write` instead of straight to stderr: where samples go to the same pipe or terminal, only their
 * writer knows whether a record is half out. It returns false where the line was lost. NULL: straight to stderr again.
 */
void log_divert(bool (*write)(void *context, struct str line), void *context);

__attribute__((format(printf, 2, 3))) void log_line(enum log_level level, const char *fmt, ...);

#define log_error(...) log_line(LOG_ERROR, __VA_ARGS__)
#define log_warning(...) log_line(LOG_WARNING, __VA_ARGS__)
#define log_info(...) log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

/* Whole lines as they are, whatever the level: what was asked for. Waits a second for a reader that is slow; false
 * where some of it was lost. */
bool log_text(struct str text);

/* A warning with manners: said once, silent while it lasts, taken back with one line when it is over. */
struct complaint {
    bool said;
};

__attribute__((format(printf, 2, 3))) void complaint_say(struct complaint *complaint, const char *fmt, ...);
/* True where the complaint had been made and was now taken back. */
__attribute__((format(printf, 2, 3))) bool complaint_over(struct complaint *complaint, const char *fmt, ...);

#endif
