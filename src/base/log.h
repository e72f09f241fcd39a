/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diagnostics on stderr: "resource-tracker: warning: …", one line and one write each, control bytes made harmless. Only
 * run/, stream/, config/ and main.c call this; everything below returns an err.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdbool.h>

enum log_level { LOG_ERROR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

/* Lines above this level are not written; LOG_WARNING until set. */
void log_set_level(enum log_level level);

__attribute__((format(printf, 1, 2))) void log_error(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_warning(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_info(const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void log_debug(const char *fmt, ...);

/* A warning with manners: said once, silent while it lasts, taken back with one line when it is over. */
struct complaint {
    bool said;
};

__attribute__((format(printf, 2, 3))) void complaint_say(struct complaint *complaint, const char *fmt, ...);
__attribute__((format(printf, 2, 3))) void complaint_over(struct complaint *complaint, const char *fmt, ...);

#endif
