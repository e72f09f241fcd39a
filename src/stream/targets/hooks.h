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
#include "stream/exchange.h"
#include "stream/payload.h"
#include "stream/target.h"

enum hooks_event { HOOKS_START, HOOKS_HEARTBEAT, HOOKS_STOP };
enum { HOOKS_EVENTS = 3, HOOKS_HEADERS_MAX = HTTP_HEADERS_MAX - 2 };

struct hooks {
    const char *urls[HOOKS_EVENTS]; /* by event; NULL or "": none */
    const struct http_header *headers; /* sent with every hook, also instead of our Content-Type and Accept */
    size_t header_count;
    struct http_client *http;
    /* of hooks_init */
    const struct stream_options *options;
    const struct run_facts *facts;
    struct exchange *exchange;
    struct http_header *own_headers;
    int64_t started_ns, heartbeat_ns; /* monotonic; when the next heartbeat is due */
    bool is_heartbeat_failing; /* it was reported */
    /* On their way: a hook waits for the name of its host, while others are served. */
    struct {
        bool is_pending;
        int64_t deadline_ns;
        struct payload_event event;
    } pending[HOOKS_EVENTS];
};

/* The hooks of a run. Everything that is passed must stay. Returns 0 or -ENOMEM; to be freed in any case. */
int hooks_init(struct hooks *hooks, const struct stream_options *options, const struct net_wait *wait,
    const struct run_facts *facts, struct exchange *exchange);
void hooks_fini(struct hooks *hooks);

/* Sends a hook, or begins to look up its host. end: of the run, with HOOKS_STOP. */
void hooks_start(struct hooks *hooks, enum hooks_event event, const struct end_facts *end, int64_t deadline_ns);

/* Sends the heartbeat where it is due; returns when the next one is. */
int64_t hooks_beat(struct hooks *hooks, int64_t now_ns);

/* Sends those whose host is known by now. Returns until when one waits for a name, on *ret_fd. */
int64_t hooks_continue(struct hooks *hooks, int *ret_fd);

/* Those that wait get no more time than this; hooks_cancel gives up on them, with a warning. */
void hooks_limit(struct hooks *hooks, int64_t deadline_ns);
void hooks_cancel(struct hooks *hooks);

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
