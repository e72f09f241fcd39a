/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes of an interval for recordings that have only totals and rates: our first versions and the Rust tool. They are
 * the growth of the totals since the sample before; in the first sample, what the rate says.
 */
#ifndef REPLAY_PREVIOUS_H
#define REPLAY_PREVIOUS_H

#include "base/opt.h"
#include "model/sample.h"
#include "replay/json_line.h"

enum { PREVIOUS_DEVICES_MAX = 256, PREVIOUS_NAME_BYTES = 48 };

/* The totals of a device: read and written, received and sent. */
struct previous_device {
    char name[PREVIOUS_NAME_BYTES];
    struct opt_u64 in, out;
};

struct previous_list {
    bool is_known; /* was there a sample before, with these devices to be remembered? */
    size_t count;
    struct previous_device devices[PREVIOUS_DEVICES_MAX];
};

struct previous {
    struct previous_list disks, interfaces;
};

/* A run begins. */
void previous_reset(struct previous *previous);

/* Completes the disks and interfaces of the sample that was just parsed from the line. secs: of its interval. */
void previous_complete(struct previous *previous, const struct json_line *json, struct str line, struct opt_f64 secs,
    struct sample *sample);

#endif
