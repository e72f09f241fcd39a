/* SPDX-License-Identifier: Apache-2.0 */
#include "net/proxy.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <strings.h>

#include "base/num.h"
#include "base/opt.h"

/* A numeric address of either family; IPv4 that is mapped into IPv6 counts as IPv4. */
struct address {
    unsigned bits; /* 32, 128, or 0: not an address */
    uint8_t bytes[16];
};

static struct address address_of(struct str text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    struct address address = {0};
    char copy[INET6_ADDRSTRLEN];
    if (text.n == 0 || !str_copy(text, copy, sizeof(copy)) || strlen(copy) != text.n)
        return address;
    if (inet_pton(AF_INET, copy, address.bytes) == 1) {
        address.bits = 32;
    } else if (inet_pton(AF_INET6, copy, address.bytes) == 1) {
        address.bits = 128;
        if (memcmp(address.bytes, mapped, sizeof(mapped)) == 0) {
            memmove(address.bytes, address.bytes + sizeof(mapped), 4);
            address.bits = 32;
        }
    }
    return address;
}

static bool is_in_network(const struct address *host, const struct address *network, uint64_t prefix)
{
    if (host->bits != network->bits || prefix > network->bits)
        return false;
    size_t whole = (size_t)prefix / 8;
    unsigned rest = (unsigned)prefix % 8;
    if (memcmp(host->bytes, network->bytes, whole) != 0)
        return false;
    return rest == 0 || (host->bytes[whole] ^ network->bytes[whole]) >> (8 - rest) == 0;
}

static struct str without_last_dot(struct str name)
{
    if (name.n > 0 && name.p[name.n - 1] == '.')
        name.n--;
    return name;
}

static bool is_name_covered(struct str host, struct str entry)
{
    if (str_starts(entry, STR("*.")))
        entry = (struct str){entry.p + 1, entry.n - 1};
    if (str_starts(entry, STR(".")))
        entry = (struct str){entry.p + 1, entry.n - 1};
    host = without_last_dot(host);
    entry = without_last_dot(entry);
    if (entry.n == 0 || host.n < entry.n || strncasecmp(host.p + host.n - entry.n, entry.p, entry.n) != 0)
        return false;
    return host.n == entry.n || host.p[host.n - entry.n - 1] == '.';
}

/* Cuts ":8080" off "name:8080", "10.0.0.1:8080" and "[::1]:8080", and the brackets; false where it is malformed. */
static bool cut_port(struct str *entry, struct opt_u64 *ret_port)
{
    *ret_port = (struct opt_u64){0};
    struct str host = *entry;
    struct str port = {0};
    if (host.p[0] == '[') {
        const char *end = memchr(host.p, ']', host.n);
        if (!end)
            return false;
        host = (struct str){entry->p + 1, (size_t)(end - entry->p) - 1};
        port = (struct str){end + 1, entry->n - host.n - 2};
    } else {
        const char *colon = memchr(host.p, ':', host.n);
        /* Two colons are a bare IPv6 address. */
        if (colon && !memchr(colon + 1, ':', host.n - (size_t)(colon + 1 - host.p))) {
            host.n = (size_t)(colon - host.p);
            port = (struct str){colon, entry->n - host.n};
        }
    }
    if (port.n > 0) {
        if (port.p[0] != ':' || num_parse_u64((struct str){port.p + 1, port.n - 1}, &ret_port->v) < 0)
            return false;
        ret_port->has = true;
    }
    *entry = host;
    return host.n > 0;
}

static bool is_covered(const struct url *url, const struct address *host, struct str entry)
{
    if (str_eq(entry, STR("*")))
        return true;
    const char *slash = memchr(entry.p, '/', entry.n);
    if (slash) {
        struct address network = address_of((struct str){entry.p, (size_t)(slash - entry.p)});
        struct str bits = {slash + 1, entry.n - (size_t)(slash + 1 - entry.p)};
        uint64_t prefix;
        return network.bits > 0 && num_parse_u64(bits, &prefix) == 0 && is_in_network(host, &network, prefix);
    }
    struct opt_u64 port;
    if (!cut_port(&entry, &port) || (port.has && port.v != url->port))
        return false;
    struct address address = address_of(entry);
    if (address.bits > 0 || host->bits > 0)
        return is_in_network(host, &address, address.bits) && address.bits > 0;
    return is_name_covered(url->host, entry);
}

static bool is_separator(char c)
{
    return c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool proxy_is_exempt(const char *no_proxy, const struct url *url)
{
    struct address host = address_of(url->host);
    const char *p = no_proxy ? no_proxy : "";
    while (*p != '\0') {
        const char *end = p;
        while (*end != '\0' && !is_separator(*end))
            end++;
        if (end > p && is_covered(url, &host, (struct str){p, (size_t)(end - p)}))
            return true;
        p = *end != '\0' ? end + 1 : end;
    }
    return false;
}

static const char *either(char *const *environment, const char *name, const char *other)
{
    const char *value = env_get(environment, name);
    return value ? value : env_get(environment, other);
}

struct proxy_rules proxy_rules_of(char *const *environment)
{
    return (struct proxy_rules){
        .https_proxy = either(environment, "https_proxy", "HTTPS_PROXY"),
        /* Not HTTP_PROXY: in a CGI program that is a header of the request. */
        .http_proxy = env_get(environment, "http_proxy"),
        .no_proxy = either(environment, "no_proxy", "NO_PROXY"),
    };
}

int proxy_choose(const struct proxy_rules *rules, const struct url *url, struct proxy *ret_proxy, struct err *err)
{
    const char *name = url->is_https ? "https_proxy" : "http_proxy";
    const char *given = url->is_https ? rules->https_proxy : rules->http_proxy;
    struct str value = str_trim(str_of(given ? given : ""));
    ret_proxy->is_used = false;
    if (value.n == 0 || url_is_loopback(url) || proxy_is_exempt(rules->no_proxy, url))
        return 0;
    const char *scheme = memmem(value.p, value.n, "://", 3) ? "" : "http://";
    int n = snprintf(ret_proxy->text, sizeof(ret_proxy->text), "%s%.*s", scheme, (int)value.n, value.p);
    if (value.n >= sizeof(ret_proxy->text) || n < 0 || (size_t)n >= sizeof(ret_proxy->text)) {
        proxy_fini(ret_proxy);
        return err_set(err, -EINVAL, "%s is too long", name);
    }
    struct err why = {0};
    int r = url_parse((struct str){ret_proxy->text, (size_t)n}, &ret_proxy->url, &why);
    if (r == 0 && ret_proxy->url.is_https)
        r = err_set(&why, -EINVAL, "only http:// proxies are supported");
    if (r < 0) {
        proxy_fini(ret_proxy);
        return err_set(err, -EINVAL, "%s: %s", name, why.msg);
    }
    ret_proxy->is_used = true;
    return 0;
}

void proxy_fini(struct proxy *proxy)
{
    str_wipe(proxy->text, sizeof(proxy->text));
    proxy->is_used = false;
}
