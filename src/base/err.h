/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small error object: made once where the cause is known, given context on the way up, logged once at the top.
 * Functions return a negative errno; the message is for the person in front of the terminal.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

struct err {
    int code; /* negative errno, 0 = no error */
    char msg[400];
};

/* Fills *err (NULL allowed) and returns code, so that `return err_set(...)` reads well. code is a negative errno. */
__attribute__((format(printf, 3, 4))) int err_set(struct err *err, int code, const char *fmt, ...);

/* Like err_set, with ": " and the text for code behind the message. */
__attribute__((format(printf, 3, 4))) int err_sys(struct err *err, int code, const char *fmt, ...);

/* Puts "context: " in front of the message; returns err->code (0 where err is NULL). */
__attribute__((format(printf, 2, 3))) int err_wrap(struct err *err, const char *fmt, ...);

void err_clear(struct err *err);

/* The negative errno of the call that failed last. */
int err_last(void);

#endif
