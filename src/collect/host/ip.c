/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The address of the default route's interface. A connected UDP socket has been given its source address by the routing
 * table and has sent nothing. The far ends are addresses that nobody has, so that no other route leads there: one of
 * the reserved class E (RFC 1112), and one that is not allocated in the global range of IPv6 (RFC 4291).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "collect/host/host_internal.h"

enum { DISCARD_PORT = 9 };

static bool is_own_ip4(struct in_addr address)
{
    uint32_t bits = ntohl(address.s_addr);
    bool is_link_local = bits >> 16 == 0xa9fe;
    return bits >> 24 != 0 && bits >> 24 != IN_LOOPBACKNET && !is_link_local && !IN_MULTICAST(bits) &&
           bits != INADDR_BROADCAST;
}

static bool is_own_ip6(const struct in6_addr *address)
{
    return !IN6_IS_ADDR_UNSPECIFIED(address) && !IN6_IS_ADDR_LOOPBACK(address) && !IN6_IS_ADDR_LINKLOCAL(address) &&
           !IN6_IS_ADDR_MULTICAST(address) && !IN6_IS_ADDR_V4MAPPED(address);
}

static bool is_container_bridge(const char *interface)
{
    static const char *const prefixes[] = {"docker", "br-", "virbr", "cni", "podman", "lxcbr"};
    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (strncmp(interface, prefixes[i], strlen(prefixes[i])) == 0)
            return true;
    }
    return false;
}

bool host_is_own_address(const struct sockaddr *address, const char *interface)
{
    if (is_container_bridge(interface))
        return false;
    if (address->sa_family == AF_INET)
        return is_own_ip4(((const struct sockaddr_in *)(const void *)address)->sin_addr);
    return address->sa_family == AF_INET6 &&
           is_own_ip6(&((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The bytes of the address alone; NULL for other families. */
static const void *address_bytes(const struct sockaddr *address, size_t *ret_n)
{
    if (address->sa_family == AF_INET) {
        *ret_n = sizeof(struct in_addr);
        return &((const struct sockaddr_in *)(const void *)address)->sin_addr;
    }
    if (address->sa_family == AF_INET6) {
        *ret_n = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr;
    }
    return NULL;
}

static bool is_same_address(const struct sockaddr *a, const struct sockaddr *b)
{
    size_t n = 0;
    size_t other_n = 0;
    if (!a || !b || a->sa_family != b->sa_family)
        return false;
    const void *bytes = address_bytes(a, &n);
    const void *other = address_bytes(b, &other_n);
    return bytes && other && memcmp(bytes, other, n) == 0;
}

static bool has_own_interface(const struct sockaddr *address)
{
    struct ifaddrs *all;
    if (getifaddrs(&all) < 0)
        return false;
    bool found = false;
    for (const struct ifaddrs *one = all; one && !found; one = one->ifa_next)
        found = is_same_address(one->ifa_addr, address) && host_is_own_address(address, one->ifa_name);
    freeifaddrs(all);
    return found;
}

/* The source address towards `there`, as text. */
static bool find_source(const struct sockaddr *there, socklen_t bytes, char *out, size_t size)
{
    AUTO_FD int fd = socket(there->sa_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct sockaddr_storage storage = {0};
    struct sockaddr *source = (struct sockaddr *)&storage;
    socklen_t source_bytes = sizeof(storage);
    if (fd < 0 || connect(fd, there, bytes) < 0 || getsockname(fd, source, &source_bytes) < 0)
        return false;
    size_t n = 0;
    const void *address = address_bytes(source, &n);
    if (!address || !has_own_interface(source))
        return false;
    char text[INET6_ADDRSTRLEN];
    return inet_ntop(source->sa_family, address, text, sizeof(text)) && str_copy(str_of(text), out, size);
}

void host_find_ip(char *out, size_t size)
{
    struct sockaddr_in there4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 there6 = {.sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT)};
    out[0] = '\0';
    if (inet_pton(AF_INET, "240.0.0.1", &there4.sin_addr) == 1 &&
        find_source((const struct sockaddr *)&there4, sizeof(there4), out, size))
        return;
    if (inet_pton(AF_INET6, "2000::1", &there6.sin6_addr) != 1 ||
        !find_source((const struct sockaddr *)&there6, sizeof(there6), out, size))
        out[0] = '\0';
}
