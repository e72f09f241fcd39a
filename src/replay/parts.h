/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --parts: the recordings of the parts of one run (ranks, nodes) as one run. Trees are added up at the same instants,
 * each host counts once.
 */
#ifndef REPLAY_PARTS_H
#define REPLAY_PARTS_H

#include "replay/replay.h"
#include "summary/summary.h"

enum { PARTS_MAX = 4096 };

/*
 * Reads all of them and passes on one run. The report has its notes, with the names of files. Returns 0 or a negative
 * errno with a message; ret_parts is to be freed in any case.
 */
int parts_replay(const char *const *paths, size_t count, const struct replay_target *target,
    struct replay_report *ret_report, struct summary_parts *ret_parts, struct err *err);
void parts_free(struct summary_parts *parts);

#endif
