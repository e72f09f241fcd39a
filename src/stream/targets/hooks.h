/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP hooks: a small JSON POST at the start, from time to time, and at the end. URLs and headers may hold secrets: a
 * message names the host of a hook and nothing else of it.
 */
#ifndef STREAM_TARGETS_HOOKS_H
#define STREAM_TARGETS_HOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "net/http.h"

enum hooks_event { HOOKS_START, HOOKS_HEARTBEAT, HOOKS_STOP };
enum { HOOKS_EVENTS = 3, HOOKS_HEADERS_MAX = HTTP_HEADERS_MAX - 2 };

struct hooks {
    const char *urls[HOOKS_EVENTS]; /* by event; NULL or "": none */
    const struct http_header *headers; /* sent with every hook, also instead of our Content-Type and Accept */
    size_t header_count;
    struct http_client *http;
};

/* "start", "heartbeat", "stop": as in the payload. */
const char *hooks_name(enum hooks_event event);

bool hooks_has(const struct hooks *hooks, enum hooks_event event);

/*
 * One attempt. Returns 0 on any 2xx and where the event has no hook; -EAGAIN (408, 429, 5xx), -EREMOTEIO (any other
 * status), -EINVAL (the URL, or a header that cannot be sent: trying again does not help), or what http_send returns;
 * with a message.
 */
int hooks_send(
    const struct hooks *hooks, enum hooks_event event, struct str body, int64_t deadline_ns, struct err *err);

#endif
