/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --live: a small block at the bottom of the terminal that shows the newest samples, below what the command prints. The
 * command's output scrolls above it; the terminal is as before when the run is over, stopped, or has failed.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "model/totals.h"

struct live;

struct live_terminal {
    int fd; /* stderr */
    const char *term; /* TERM; NULL: not set */
    const char *locale; /* the first of LC_ALL, LC_CTYPE, LANG that is set and not empty; NULL: none */
    bool has_colour; /* the caller does not object (NO_COLOR) */
    /* Gets what is to be written to the terminal if we end without a word (SIGKILL): before the block is shown, and ""
     * when it is gone. NULL: nothing does that. */
    void (*guard)(void *context, int fd, struct str text);
    void *guard_context;
};

/* What is shown. */
struct live_job {
    const char *name; /* of the job or the command, any bytes, kept by the caller; "" where there is none */
    int64_t interval_ns;
};

/*
 * Returns 0, with *ret_live NULL where there is no terminal or TERM is dumb, unknown or not set; -ENOMEM. Nothing is
 * written yet, and nothing is shown while the window is too small, we are not in the foreground, or a program has
 * switched the terminal to single keys (editors, pagers, shells at their prompt).
 */
int live_new(const struct live_terminal *terminal, const struct live_job *job, struct live **ret_live);

/* Has the first process of the tree ended? To be said before the sample that does not count it. */
void live_set_root_gone(struct live *live, bool is_root_gone);

/* Draws the block anew with this sample, at most ten times a second; the first time it reserves its lines. */
void live_sample(struct live *live, const struct sample *sample, const struct sample_totals *totals);

/* The same without a sample: before the first one, and for the elapsed time where they are rare. */
void live_tick(struct live *live);

/* The window has another size (SIGWINCH): reserves the lines anew at once, where the block is shown. */
void live_resized(struct live *live);

/*
 * Before we stop (job control) and at the end: the block is wiped, scrolling is as before, the cursor where the command
 * left it. Waits for a slow terminal, but not longer than a fifth of a second. live_sample brings the block back.
 */
void live_hide(struct live *live);

void live_free(struct live *live); /* NULL allowed; hides it */

/*
 * The lines of the live view (block.c): the newest values of a run, each line with the history of its last samples. Of
 * the tree where one is tracked, else of the host; the network is always the host's. Plain text and colours into a
 * buffer, no I/O, and no cursor is moved.
 */
enum {
    LIVE_BLOCK_HISTORY = 216, /* samples that are kept and shown; as many as fit */
    LIVE_BLOCK_PIECE_COLUMNS = 72, /* of a history or a rule in one part */
    LIVE_BLOCK_COLUMNS_MIN = 30,
    LIVE_BLOCK_LINES_MIN = 5,
    LIVE_BLOCK_LINES_MAX = 6,
    LIVE_BLOCK_PART_BYTES = 236, /* no part is longer */
};

/* A line comes in parts, each with columns of its own, so that each can be drawn alone: the text from the first column,
 * and pieces of the history or rule, which begin with the move to their column. */
enum { LIVE_TEXT, LIVE_PIECES, LIVE_PARTS = 5 };

/* In this order from top to bottom, below the headline. */
enum live_value {
    LIVE_CORES,
    LIVE_MEMORY, /* MiB */
    LIVE_GPUS, /* GPUs in use; only shown where there is one */
    LIVE_DISK, /* bytes per second, read and written */
    LIVE_NETWORK, /* bytes per second, received and sent */
    LIVE_HISTORIES,
};

struct live_style {
    bool is_utf8; /* else only ASCII is put */
    bool has_colour;
};

/* All zeros but `name`, `style` and `interval_secs` before the first sample. */
struct live_block {
    const char *name; /* any bytes; not owned; "": none */
    struct live_style style;
    double interval_secs; /* 0: unknown */
    struct opt_f64 histories[LIVE_HISTORIES][LIVE_BLOCK_HISTORY]; /* rings */
    size_t newest, count; /* index into the rings; how many samples are in them */
    bool is_tree; /* else the host */
    bool is_root_gone; /* of the tree; set by the owner before a sample is added */
    bool has_gpu; /* seen at least once */
    bool is_pss; /* what the memory of a tree is; else RSS */
    struct opt_f64 elapsed_secs, vram_mib, host_cores;
    struct opt_f64 limits[LIVE_HISTORIES]; /* what a value is a share of; absent: of nothing */
    struct opt_f64 cpus_allowed;
    struct live_rates {
        struct opt_f64 in, out; /* bytes per second */
    } disk, network;
    struct opt_u64 processes;
};

void live_block_add(struct live_block *block, const struct sample *sample, const struct sample_totals *totals);

/* How many lines there are; does not become less. */
unsigned live_block_lines(const struct live_block *block);

/*
 * Line 0 is the headline. Stays below `columns` (at least LIVE_BLOCK_COLUMNS_MIN) of a terminal and overwrites all that
 * an earlier call has put there. No LF. Nothing where the line has no such part at that width.
 */
void live_block_put(struct buf *buf, const struct live_block *block, unsigned line, unsigned part, unsigned columns);

/* Does a locale such as "de_DE.UTF-8" write UTF-8? False for NULL. */
bool live_block_locale_is_utf8(const char *locale);

#endif
