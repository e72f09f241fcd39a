/* SPDX-License-Identifier: Apache-2.0 */
/* Which proxy for which URL, and the hosts that need none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "net/proxy.h"

static struct url parsed(const char *text)
{
    struct url url;
    struct err err = {0};
    assert_int_equal(url_parse(str_of(text), &url, &err), 0);
    return url;
}

static bool is_exempt(const char *no_proxy, const char *text)
{
    struct url url = parsed(text);
    return proxy_is_exempt(no_proxy, &url);
}

static void test_names(void **state)
{
    (void)state;
    assert_true(is_exempt("example.com", "https://example.com/"));
    assert_true(is_exempt("example.com", "https://EXAMPLE.com/"));
    assert_true(is_exempt("Example.COM", "https://api.example.com/"));
    assert_true(is_exempt(".example.com", "https://api.example.com/"));
    assert_true(is_exempt(".example.com", "https://example.com/"));
    assert_true(is_exempt("*.example.com", "https://a.b.example.com/"));
    assert_true(is_exempt("example.com", "https://example.com./"));
    assert_true(is_exempt("example.com.", "https://example.com/"));
    assert_false(is_exempt("example.com", "https://badexample.com/"));
    assert_false(is_exempt(".example.com", "https://badexample.com/"));
    assert_false(is_exempt("example.com", "https://example.com.evil.net/"));
    assert_false(is_exempt("api.example.com", "https://example.com/"));
    assert_false(is_exempt("example", "https://example.com/"));
    assert_false(is_exempt("com.", "https://example.org/"));
}

static void test_lists(void **state)
{
    (void)state;
    assert_true(is_exempt("a.test, b.test\tc.test", "https://c.test/"));
    assert_true(is_exempt(" ,, b.test ,", "https://b.test/"));
    assert_true(is_exempt("a.test,*", "https://anything.example/"));
    assert_true(is_exempt("*", "https://[2001:db8::1]/"));
    assert_false(is_exempt("", "https://a.test/"));
    assert_false(is_exempt(NULL, "https://a.test/"));
    assert_false(is_exempt(" , ,", "https://a.test/"));
    assert_false(is_exempt(". .. *. [ ] [] : :80 / /8", "https://a.test/"));
}

static void test_ports(void **state)
{
    (void)state;
    assert_true(is_exempt("example.com:8443", "https://example.com:8443/"));
    assert_true(is_exempt("example.com:443", "https://api.example.com/"));
    assert_false(is_exempt("example.com:8443", "https://example.com/"));
    assert_false(is_exempt("example.com:", "https://example.com/"));
    assert_false(is_exempt("example.com:http", "https://example.com/"));
    assert_false(is_exempt("example.com:99999999999999999999", "https://example.com/"));
    assert_true(is_exempt("192.0.2.7:80", "http://192.0.2.7/"));
    assert_false(is_exempt("192.0.2.7:81", "http://192.0.2.7/"));
    assert_true(is_exempt("[2001:db8::1]:8080", "http://[2001:db8::1]:8080/"));
    assert_false(is_exempt("[2001:db8::1]:8081", "http://[2001:db8::1]:8080/"));
    assert_false(is_exempt("[2001:db8::1]8080", "http://[2001:db8::1]:8080/"));
}

static void test_addresses(void **state)
{
    (void)state;
    assert_true(is_exempt("192.0.2.7", "https://192.0.2.7/"));
    assert_false(is_exempt("2.7", "https://192.0.2.7/"));
    assert_false(is_exempt(".2.7", "https://192.0.2.7/"));
    assert_false(is_exempt("192.0.2.70", "https://192.0.2.7/"));
    assert_false(is_exempt("192.0.2.7", "https://x.192.0.2.7/"));
    assert_true(is_exempt("2001:db8::1", "https://[2001:DB8:0:0:0:0:0:1]/"));
    assert_true(is_exempt("[2001:db8::1]", "https://[2001:db8::1]/"));
    assert_false(is_exempt("2001:db8::2", "https://[2001:db8::1]/"));
    assert_true(is_exempt("192.0.2.7", "https://[::ffff:192.0.2.7]/"));
}

static void test_networks(void **state)
{
    (void)state;
    assert_true(is_exempt("10.0.0.0/8", "https://10.255.3.4/"));
    assert_false(is_exempt("10.0.0.0/8", "https://11.0.0.1/"));
    assert_true(is_exempt("192.168.4.0/22", "https://192.168.7.255/"));
    assert_false(is_exempt("192.168.4.0/22", "https://192.168.8.0/"));
    assert_true(is_exempt("192.0.2.7/32", "https://192.0.2.7/"));
    assert_false(is_exempt("192.0.2.7/32", "https://192.0.2.6/"));
    assert_true(is_exempt("0.0.0.0/0", "https://192.0.2.6/"));
    assert_false(is_exempt("0.0.0.0/0", "https://[2001:db8::1]/"));
    assert_false(is_exempt("0.0.0.0/0", "https://a.test/"));
    assert_false(is_exempt("10.0.0.0/33", "https://10.0.0.1/"));
    assert_false(is_exempt("10.0.0.0/", "https://10.0.0.1/"));
    assert_false(is_exempt("10.0.0.0/-8", "https://10.0.0.1/"));
    assert_false(is_exempt("10.0.0/8", "https://10.0.0.1/"));
    assert_false(is_exempt("a.test/8", "https://a.test/"));
    assert_true(is_exempt("fd00::/8", "https://[fdff::1]/"));
    assert_false(is_exempt("fd00::/8", "https://[fc00::1]/"));
    assert_true(is_exempt("2001:db8::1/128", "https://[2001:db8::1]/"));
    assert_false(is_exempt("2001:db8::1/129", "https://[2001:db8::1]/"));
}

static void check_choice(const struct proxy_rules *rules, const char *text, const char *host, unsigned port)
{
    struct url url = parsed(text);
    struct proxy proxy;
    struct err err = {0};
    assert_int_equal(proxy_choose(rules, &url, &proxy, &err), 0);
    assert_int_equal(proxy.is_used, host != NULL);
    if (host) {
        assert_true(str_eq(proxy.url.host, str_of(host)));
        assert_int_equal(proxy.url.port, port);
    }
    proxy_fini(&proxy);
    assert_int_equal(proxy.text[0], '\0');
}

static void test_choice(void **state)
{
    (void)state;
    const struct proxy_rules rules = {"http://user:pw@secure.test:3128/", " plain.test:8080 ", "direct.test"};
    check_choice(&rules, "https://a.test/", "secure.test", 3128);
    check_choice(&rules, "http://a.test/", "plain.test", 8080);
    check_choice(&rules, "https://direct.test/", NULL, 0);
    check_choice(&rules, "http://x.direct.test/", NULL, 0);
    check_choice(&rules, "http://localhost:9000/", NULL, 0);
    check_choice(&rules, "https://127.0.0.1/", NULL, 0);
    check_choice(&rules, "https://[::1]/", NULL, 0);
    const struct proxy_rules bare = {"proxy", "[2001:db8::1]:3128", NULL};
    check_choice(&bare, "https://a.test/", "proxy", 80);
    check_choice(&bare, "http://a.test/", "2001:db8::1", 3128);
    const struct proxy_rules none = {"", NULL, NULL};
    check_choice(&none, "https://a.test/", NULL, 0);
    check_choice(&none, "http://a.test/", NULL, 0);
}

static void test_environment(void **state)
{
    (void)state;
    char upper_https[] = "HTTPS_PROXY=upper.test", upper_http[] = "HTTP_PROXY=header.test",
         upper_no[] = "NO_PROXY=a.test", https[] = "https_proxy=lower.test", http[] = "http_proxy=plain.test",
         no[] = "no_proxy=b.test";
    char *const upper[] = {upper_https, upper_http, upper_no, NULL};
    struct proxy_rules rules = proxy_rules_of(upper);
    assert_string_equal(rules.https_proxy, "upper.test");
    assert_null(rules.http_proxy);
    assert_string_equal(rules.no_proxy, "a.test");
    char *const both[] = {upper_https, upper_http, upper_no, https, http, no, NULL};
    rules = proxy_rules_of(both);
    assert_string_equal(rules.https_proxy, "lower.test");
    assert_string_equal(rules.http_proxy, "plain.test");
    assert_string_equal(rules.no_proxy, "b.test");
    rules = proxy_rules_of(NULL);
    assert_true(!rules.https_proxy && !rules.http_proxy && !rules.no_proxy);
}

static void test_user_info(void **state)
{
    (void)state;
    const struct proxy_rules rules = {"us%40er:p%3Aw@secure.test:3128", NULL, NULL};
    struct url url = parsed("https://a.test/");
    struct proxy proxy;
    struct err err = {0};
    assert_int_equal(proxy_choose(&rules, &url, &proxy, &err), 0);
    assert_true(proxy.is_used && proxy.url.has_user_info);
    assert_true(str_eq(proxy.url.user_info, STR("us%40er:p%3Aw")));
    proxy_fini(&proxy);
}

static void test_unusable_values(void **state)
{
    (void)state;
    static char long_value[PROXY_BYTES_MAX + 100];
    memset(long_value, 'a', sizeof(long_value) - 1);
    const char *const values[] = {"https://user:sesame@secure.test:3128", "socks5://user:sesame@secure.test:1080",
        "http://user:sesame@", "user:sesame@secure.test:99999", "http://user:sesame@sec ure.test", long_value};
    struct url url = parsed("https://a.test/");
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        const struct proxy_rules rules = {values[i], NULL, NULL};
        struct proxy proxy;
        struct err err = {0};
        assert_int_equal(proxy_choose(&rules, &url, &proxy, &err), -EINVAL);
        assert_false(proxy.is_used);
        assert_non_null(strstr(err.msg, "https_proxy"));
        assert_null(strstr(err.msg, "sesame"));
        assert_null(memmem(proxy.text, sizeof(proxy.text), "sesame", 6));
        /* An exempt host does not care. */
        const struct proxy_rules exempt = {values[i], NULL, "a.test"};
        assert_int_equal(proxy_choose(&exempt, &url, &proxy, &err), 0);
        assert_false(proxy.is_used);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_networks),
        cmocka_unit_test(test_choice),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_user_info),
        cmocka_unit_test(test_unusable_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
