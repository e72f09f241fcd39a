/* SPDX-License-Identifier: Apache-2.0 */
/* What the tracker and the helper that reads for it (collect/probe.h) send each other, and the reading itself. */
#ifndef COLLECT_PROBE_PROBE_INTERNAL_H
#define COLLECT_PROBE_PROBE_INTERNAL_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/probe/probe.h"
#include "kernel/sysroot.h"

#define PROBE_HELPER_FLAG "--probe-helper"

enum { PROBE_HELPER_FLAG_AT = 1, PROBE_HELPER_ROOT_AT, PROBE_HELPER_ARGUMENTS };

/* Both ends are the same program: the number is for what is neither. */
enum { PROBE_WIRE_VERSION = 1 };

struct probe_request {
    uint32_t version;
    uint32_t ticket;
    struct probe_subject subject;
};

/* One per attribute, in their order; sent without the unused end of value. */
struct probe_reply {
    uint32_t version;
    uint32_t ticket;
    uint32_t attribute;
    int32_t size; /* of value, or a negative errno */
    uint64_t cpu_ns; /* that the helper has used so far */
    char value[PROBE_VALUE_BYTES];
};

/* How many files (or calls) answer a question. */
unsigned probe_attributes(enum probe_kind kind);

/* The path of one of them below the root: "/sys/dev/block/254:0/serial". */
void probe_path(const struct probe_subject *subject, unsigned attribute, char *out, size_t size);

/* Reads one. Returns its size or a negative errno. This is what may hang. */
int probe_read(const struct sysroot *root, const struct probe_subject *subject, unsigned attribute,
    char value[static PROBE_VALUE_BYTES]);

/* Adds to the answer what was read. */
void probe_add(
    const struct probe_subject *subject, unsigned attribute, const char *value, int size, struct probe_answer *answer);

/* An answer to which nothing was added yet. */
struct probe_answer probe_no_answer(const struct probe_subject *subject);

#endif
