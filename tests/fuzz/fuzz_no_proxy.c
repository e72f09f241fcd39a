/* SPDX-License-Identifier: Apache-2.0 */
/*
 * no_proxy and proxy values: the first line is the list, the second a URL, the third the proxy. Whatever the list says,
 * more entries never exempt less, "*" exempts everything, and a proxy is used only where it should be.
 */
#include "fuzz.h"

#include <errno.h>
#include <stdio.h>

#include "net/proxy.h"

static char *next_line(struct str *rest)
{
    struct str line = {0};
    (void)str_line(rest, &line);
    return fuzz_copy_string((const uint8_t *)line.p, line.n);
}

static void check_list(const char *list, const struct url *url)
{
    bool is_exempt = proxy_is_exempt(list, url);
    size_t size = strlen(list) + 64;
    char *more = malloc(size);
    if (!more)
        return;
    (void)snprintf(more, size, "other.invalid,%s ,192.0.2.99/32", list);
    check(!is_exempt || proxy_is_exempt(more, url));
    (void)snprintf(more, size, "%s,*", list);
    check(proxy_is_exempt(more, url));
    free(more);
}

static void check_choice(const char *list, const char *value, const struct url *url)
{
    const struct proxy_rules rules = {value, value, list};
    struct proxy proxy;
    struct err err = {0};
    int r = proxy_choose(&rules, url, &proxy, &err);
    check(r == 0 || (r == -EINVAL && !proxy.is_used));
    if (r < 0)
        check_printable(err.msg);
    if (r == 0 && proxy.is_used) {
        check(!proxy.url.is_https && proxy.url.host.n > 0 && proxy.url.port > 0);
        check(!proxy_is_exempt(list, url) && !url_is_loopback(url));
    }
    proxy_fini(&proxy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str rest = {(const char *)data, size};
    char *list = next_line(&rest);
    char *text = next_line(&rest);
    char *value = next_line(&rest);
    struct url url;
    if (list && text && value && url_parse(str_of(text), &url, NULL) == 0) {
        check_list(list, &url);
        check_choice(list, value, &url);
    }
    free(list);
    free(text);
    free(value);
    return 0;
}
