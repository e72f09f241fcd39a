/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of several recordings on one scale of time: slots of one width from a common start, each with the numbers of
 * a sample. Amounts are whole numbers and never lost; where there are too many slots, each two become one.
 */
#ifndef REPLAY_SLOTS_INTERNAL_H
#define REPLAY_SLOTS_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "model/sample.h"
#include "model/totals.h"

enum { SLOTS_MAX = 16384, SLOT_ROWS_MAX = 80 };

/* A sample, and what it has in lists as numbers. */
struct slot_values {
    struct sample sample;
    struct sample_totals totals;
};

struct slot {
    int64_t cells[SLOT_ROWS_MAX];
    unsigned char flags[SLOT_ROWS_MAX]; /* enum cell_flag */
    bool is_covered; /* by a sample */
};

/* Times are ten-thousandths of a second from the common start. */
struct slots {
    struct slot *items;
    size_t count, cap;
    int64_t width;
};

/* A sample of one recording, of the time between the two. Returns 0 or -ENOMEM. */
int slots_add(struct slots *slots, const struct slot_values *values, int64_t from, int64_t to);

enum slots_relation {
    SLOTS_OF_PART, /* of the same node: what is of the host counts where no part before it covers the slot */
    SLOTS_OF_NODE,
};

/* Adds those of a part or a node, and empties them. Widths are made equal. Returns 0 or -ENOMEM. */
int slots_merge(struct slots *into, struct slots *from, enum slots_relation relation);

/*
 * The numbers of a slot, of which so much time is used; what is not known of all that cover it is absent. The values
 * are those of the slot before: the end of the run adds up. Lists have their length only.
 */
void slots_get(const struct slots *slots, size_t i, int64_t length, struct slot_values *values);

#endif
