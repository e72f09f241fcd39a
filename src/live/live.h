/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --live: a small block at the bottom of the terminal that shows the newest samples, below what the command prints. The
 * command's output scrolls above it; the terminal is as before when the run is over, stopped, or has failed.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <stdbool.h>

#include "model/sample.h"

struct live;

struct live_terminal {
    int fd; /* stderr */
    const char *term; /* TERM; NULL: not set */
    const char *locale; /* the first of LC_ALL, LC_CTYPE, LANG that is set and not empty; NULL: none */
    bool has_colour; /* the caller does not object (NO_COLOR) */
};

/*
 * Returns 0, with *ret_live NULL where there is no terminal or TERM is dumb, unknown or not set; -ENOMEM. name: the job
 * or the command, any bytes, kept by the caller; "" where there is none. Nothing is written yet, and nothing is shown
 * while the window is too small, we are not in the foreground, or a program has switched the terminal to single keys
 * (editors, pagers, shells at their prompt).
 */
int live_new(const struct live_terminal *terminal, const char *name, struct live **ret_live);

/* Draws the block anew with this sample, at most ten times a second; the first time it takes its place. */
void live_sample(struct live *live, const struct sample *sample);

/* The window has another size (SIGWINCH): takes the new place at once, where the block is shown. */
void live_resized(struct live *live);

/*
 * Before we stop (job control) and at the end: the block is wiped, scrolling is as before, the cursor where the command
 * left it. Waits for a slow terminal, but not longer than a fifth of a second. live_sample brings the block back.
 */
void live_hide(struct live *live);

void live_free(struct live *live); /* NULL allowed; hides it */

#endif
