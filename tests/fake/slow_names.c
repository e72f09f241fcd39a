/* SPDX-License-Identifier: Apache-2.0 */
/* For LD_PRELOAD: names that end in ".here" are this host, and a name that ends in ".never" is looked up for ever. */
#include <dlfcn.h>
#include <netdb.h>
#include <string.h>
#include <unistd.h>

typedef int resolve_function(const char *, const char *, const struct addrinfo *, struct addrinfo **);

static int ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

__attribute__((visibility("default"))) int getaddrinfo(const char *restrict node, const char *restrict service,
    const struct addrinfo *restrict hints, struct addrinfo **restrict res)
{
    resolve_function *next = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "getaddrinfo");
    int is_numeric = hints && (hints->ai_flags & AI_NUMERICHOST) != 0;
    while (!is_numeric && ends_with(node, ".never"))
        (void)pause();
    return next(!is_numeric && ends_with(node, ".here") ? "127.0.0.1" : node, service, hints, res);
}
