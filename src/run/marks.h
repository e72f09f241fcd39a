/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Marks: moments and phases that the command names while it runs. Each is one datagram to a socket of ours, whose path
 * the command finds in TRACKER_SOCKET: "mark NAME", "begin NAME" or "end NAME". Its time is that of its arrival, as the
 * kernel has it. The socket lies in a directory that only its owner may list, so what does not know its name does not
 * find it.
 */
#ifndef RUN_MARKS_H
#define RUN_MARKS_H

#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/str.h"
#include "model/sample.h"

/* In all of a run; those that come later are dropped. */
enum { MARKS_TOTAL_MAX = 100000, MARKS_VARIABLE_BYTES = 128 };

struct marks {
    int fd; /* -1: none are received */
    char variable[MARKS_VARIABLE_BYTES]; /* "TRACKER_SOCKET=/dev/shm/resource-tracker-4711-1f2e3d4c/5b6a79880f1e2d3c" */
    struct marks_store *store; /* those of the next sample; NULL: none came yet */
    size_t total, dropped;
    struct complaint too_many;
};

/* Makes the socket and puts its path into the environment, which has space for one variable more. Where that is not
 * possible there are no marks. */
void marks_open(struct marks *marks, char **environment);

/* Takes what has come. since_ns: the sample before (monotonic), which no mark of the next one precedes. Returns how
 * many there are for that. */
size_t marks_receive(struct marks *marks, int64_t start_ns, int64_t since_ns);

/* Least time between a sample that is taken because of a mark and its neighbours; 0: the others are near enough. */
int64_t marks_gap_ns(int64_t interval_ns);

/* Into a sample, with its end where that is present; valid until marks_clear. */
void marks_fill(const struct marks *marks, struct sample *sample);
void marks_clear(struct marks *marks);

/* The socket and its directory are gone. */
void marks_close(struct marks *marks);

/* Removes what trackers of this user that were killed have left behind in memory, a bounded number of them. A socket is
 * one of these where it refuses connections: no process has it open, in whatever container. */
void marks_sweep(const struct marks *marks);

/* "begin load" -> kind and name. False for what is none; ret_name has SAMPLE_MARK_BYTES, and is harmless. */
bool marks_parse(struct str text, const char **ret_kind, char *ret_name);

/* The other end: sends a mark, without ever waiting. socket_path NULL: there is no tracker. Returns 0 or a negative
 * errno, of which it has warned. */
int marks_send(const char *socket_path, const char *kind, const char *name);

#endif
