/* SPDX-License-Identifier: Apache-2.0 */
/* A Sentinel client with a server of our own behind it. */
#ifndef TESTS_UNIT_SENTINEL_WORLD_H
#define TESTS_UNIT_SENTINEL_WORLD_H

#include "base/clock.h"
#include "loopback.h"
#include "stream/targets/sentinel_internal.h"

#define WORLD_TOKEN "tok-SECRET-1"

struct sentinel_world {
    struct loopback server;
    struct sentinel sentinel;
    struct err err;
    char url[64];
};

static inline int64_t world_soon(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) + 20 * NS_PER_SEC;
}

static inline bool world_open_client(struct sentinel_world *world, const struct net_wait *wait)
{
    const struct http_context http = {.wait = wait, .user_agent = "resource-tracker/test"};
    world->sentinel = (struct sentinel){.url = world->url, .token = WORLD_TOKEN, .clock = &clock_system};
    world->err = (struct err){0};
    return http_client_new(&http, &world->sentinel.http) == 0;
}

static inline bool world_open(struct sentinel_world *world, const char *const *answers, size_t count)
{
    if (!loopback_start(&world->server, answers, count))
        return false;
    (void)snprintf(world->url, sizeof(world->url), "http://127.0.0.1:%u", world->server.port);
    return world_open_client(world, &net_wait_plain);
}

static inline void world_close(struct sentinel_world *world)
{
    http_client_free(world->sentinel.http);
    loopback_fini(&world->server);
}

#endif
