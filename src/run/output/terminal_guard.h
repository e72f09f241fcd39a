/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The terminal after a SIGKILL: a process that knows what has to be written to take the live view away, and writes it
 * when the tracker is gone. It is started with the first view that is shown, so that a run without one has none.
 */
#ifndef RUN_OUTPUT_TERMINAL_GUARD_H
#define RUN_OUTPUT_TERMINAL_GUARD_H

#include <stdbool.h>

#include "base/str.h"
#include "collect/helper.h"

struct terminal_guard {
    struct helpers *helpers; /* where it is registered; NULL: it is never started */
    char *const *environment;
    struct helper process;
    int channel_fd; /* -1: none */
    bool was_started;
};

#define TERMINAL_GUARD_NONE                                                                                            \
    {                                                                                                                  \
        .process = HELPER_NONE, .channel_fd = -1                                                                       \
    }

/* What is to be written to the terminal fd if we end without another call; "": nothing. context is the guard. */
void terminal_guard_set(void *context, int fd, struct str text);

/* Does not wait longer than a fifth of a second. */
void terminal_guard_end(struct terminal_guard *guard);

/* In the process itself. */
bool terminal_guard_is_meant(int argc, char **argv);
int terminal_guard_main(void);

#endif
