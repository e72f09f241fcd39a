/* SPDX-License-Identifier: Apache-2.0 */
/* Sending one HTTP hook, apart from when that happens: for hooks.c and its unit test. */
#ifndef STREAM_TARGETS_HOOKS_INTERNAL_H
#define STREAM_TARGETS_HOOKS_INTERNAL_H

#include <stddef.h>
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

/*
 * One attempt. Returns 0 on any 2xx and where the event has no hook; -EAGAIN (408, 429, 5xx), -EREMOTEIO (any other
 * status), -EINVAL (the URL, or a header that cannot be sent: trying again does not help), or what http_send returns;
 * with a message.
 */
int hooks_send(
    const struct hooks *hooks, enum hooks_event event, struct str body, int64_t deadline_ns, struct err *err);

#endif
