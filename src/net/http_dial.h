/* SPDX-License-Identifier: Apache-2.0 */
/* From a URL to a connection that requests can be written to: lookup, TCP, the proxy's tunnel, TLS. */
#ifndef NET_HTTP_DIAL_H
#define NET_HTTP_DIAL_H

#include "base/err.h"
#include "net/http_conn.h"
#include "net/lookup.h"
#include "net/proxy.h"
#include "net/url.h"

struct http_route {
    const struct http_world *world;
    const struct url *url;
    const struct proxy *proxy;
};

/*
 * Fills *ret_conn (close it with http_conn_close) and returns 0, or a negative errno as http_send describes them with a
 * message that names the proxy where it is to blame, but not the host.
 */
int http_dial(const struct http_route *route, struct lookup *lookup, int64_t deadline_ns, struct http_conn *ret_conn,
    struct err *err);

#endif
