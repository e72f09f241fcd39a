/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which proxy stands between us and a URL: the values of https_proxy, http_proxy and no_proxy, which no standard
 * describes; read here as curl and Go read them where the two agree.
 */
#ifndef NET_PROXY_H
#define NET_PROXY_H

#include <stdbool.h>

#include "base/err.h"
#include "net/url.h"

enum { PROXY_BYTES_MAX = 1024 };

struct proxy {
    bool is_used; /* false: connect directly, nothing below means anything */
    struct url url; /* points into text, so the struct must stay where it is */
    char text[PROXY_BYTES_MAX]; /* holds a password: wipe with proxy_fini */
};

/* What a client was given; NULL and "" mean none. */
struct proxy_rules {
    const char *https_proxy, *http_proxy; /* "http://user:password@host:port", "host:port" or "host" (port 80) */
    const char *no_proxy; /* see proxy_is_exempt */
};

/* What the environment (NULL: there is none) says; the texts are its own. */
struct proxy_rules proxy_rules_of(char *const *environment);

/*
 * Returns 0, or -EINVAL where the value is not usable (malformed, too long, a proxy that itself speaks https or SOCKS),
 * with a message that does not repeat it. URLs of this host never use a proxy: what is sent to them must not leave it.
 */
int proxy_choose(const struct proxy_rules *rules, const struct url *url, struct proxy *ret_proxy, struct err *err);

/* Overwrites the password. */
void proxy_fini(struct proxy *proxy);

/*
 * Does the list ("localhost, .example.com,10.0.0.0/8,[fd00::1]:8080,*") name the URL's host? Entries are separated by
 * commas or blanks: "*" is every host; a name covers itself and all names below it, with or without "." or "*." in
 * front; an address covers itself in any notation, with "/bits" its network; ":port" narrows an entry to that port.
 */
bool proxy_is_exempt(const char *no_proxy, const struct url *url);

#endif
