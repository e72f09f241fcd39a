/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of the live view: the newest values of a run, each line with a course of its last samples. Of the tree
 * where one is tracked, else of the host; the network is always the host's. Plain text and colours into a buffer, no
 * I/O, and no cursor is moved.
 */
#ifndef LIVE_BLOCK_H
#define LIVE_BLOCK_H

#include "base/buf.h"
#include "model/sample.h"

enum {
    LIVE_BLOCK_HISTORY = 72, /* samples that are remembered and shown; as many as fit into a part */
    LIVE_BLOCK_COLUMNS_MIN = 30,
    LIVE_BLOCK_LINES_MIN = 5,
    LIVE_BLOCK_LINES_MAX = 6,
    LIVE_BLOCK_PART_BYTES = 236, /* no part is longer */
};

/* A line comes in two parts, each with a place of its own in it, so that each can be drawn alone. */
enum live_part {
    LIVE_TEXT, /* from the first column */
    LIVE_COURSE, /* or rule; begins with the move to its column */
    LIVE_PARTS,
};

/* In this order from top to bottom, below the headline. */
enum live_course {
    LIVE_CORES,
    LIVE_MEMORY, /* MiB */
    LIVE_GPUS, /* GPUs in use; only shown where there is one */
    LIVE_DISK, /* bytes per second, read and written */
    LIVE_NETWORK, /* bytes per second, received and sent */
    LIVE_COURSES,
};

struct live_style {
    bool is_utf8; /* else only ASCII is put */
    bool has_colour;
};

/* All zeros but `name` and `style` before the first sample. */
struct live_block {
    const char *name; /* any bytes; not owned; "": none */
    struct live_style style;
    struct opt_f64 courses[LIVE_COURSES][LIVE_BLOCK_HISTORY]; /* rings */
    size_t newest; /* place in the rings */
    bool is_tree; /* else the host */
    bool has_gpu; /* seen at least once */
    bool is_pss; /* what the memory of a tree is; else RSS */
    struct opt_f64 elapsed_secs, memory_limit_mib, vram_mib;
    struct opt_u64 processes;
};

void live_block_add(struct live_block *block, const struct sample *sample);

/* How many lines there are; does not become less. */
unsigned live_block_lines(const struct live_block *block);

/*
 * Line 0 is the headline. Stays below `columns` (at least LIVE_BLOCK_COLUMNS_MIN) of a terminal and overwrites all that
 * an earlier call has put there. No LF.
 */
void live_block_put(
    struct buf *buf, const struct live_block *block, unsigned line, enum live_part part, unsigned columns);

/* Does a locale such as "de_DE.UTF-8" write UTF-8? False for NULL. */
bool live_block_locale_is_utf8(const char *locale);

#endif
