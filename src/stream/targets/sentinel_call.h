/* SPDX-License-Identifier: Apache-2.0 */
/* One call of the Sentinel API, whichever it is: the request, what the answer means, and the words for people. */
#ifndef STREAM_TARGETS_SENTINEL_CALL_H
#define STREAM_TARGETS_SENTINEL_CALL_H

#include <stdbool.h>

#include "stream/targets/sentinel.h"

struct sentinel_call {
    const char *purpose; /* "register the run", for messages */
    const char *verb; /* behind the run's id in the path; NULL: the collection of runs itself */
    struct str body; /* n = 0: none */
    bool is_gzip;
    bool is_repeatable; /* doing it twice does no harm */
    /* Reads the body of a 2xx; NULL: any will do. */
    int (*read)(struct str body, struct sentinel *sentinel, struct err *err);
    int64_t deadline_ns;
};

/* One attempt; see sentinel.h for what err says. */
struct sentinel_result sentinel_call(struct sentinel *sentinel, const struct sentinel_call *call, struct err *err);

/* A failure before anything was sent: "Sentinel: cannot PURPOSE: " and the message of err; returns the result. */
struct sentinel_result sentinel_call_fail(
    const struct sentinel_call *call, enum sentinel_outcome outcome, struct err *err);

#endif
