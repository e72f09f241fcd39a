/* SPDX-License-Identifier: Apache-2.0 */
/* A Sentinel client with a server of our own behind it. */
#ifndef TESTS_UNIT_SENTINEL_SCENARIO_H
#define TESTS_UNIT_SENTINEL_SCENARIO_H

#include "base/clock.h"
#include "loopback.h"
#include "stream/targets/sentinel_internal.h"

#define SCENARIO_TOKEN "tok-SECRET-1"

struct sentinel_scenario {
    struct loopback server;
    struct sentinel sentinel;
    struct err err;
    char url[64];
};

static inline int64_t scenario_soon(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + 20 * NS_PER_SEC;
}

static inline bool scenario_open_client(struct sentinel_scenario *scenario, const struct net_wait *wait)
{
    const struct http_context http = {.wait = wait, .user_agent = "resource-tracker/test"};
    scenario->sentinel = (struct sentinel){.url = scenario->url, .token = SCENARIO_TOKEN, .clock = &clock_system};
    scenario->err = (struct err){0};
    return http_client_new(&http, &scenario->sentinel.http) == 0;
}

static inline bool scenario_open(struct sentinel_scenario *scenario, const char *const *answers, size_t count)
{
    if (!loopback_start(&scenario->server, answers, count))
        return false;
    (void)snprintf(scenario->url, sizeof(scenario->url), "http://127.0.0.1:%u", scenario->server.port);
    return scenario_open_client(scenario, &net_wait_plain);
}

static inline void scenario_close(struct sentinel_scenario *scenario)
{
    http_client_free(scenario->sentinel.http);
    loopback_fini(&scenario->server);
}

#endif
