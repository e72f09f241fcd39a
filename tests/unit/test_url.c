/* SPDX-License-Identifier: Apache-2.0 */
/* URLs: their pieces, what is refused and in which words, loopback, the Host header, percent-encoding. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "net/url.h"

static void assert_str(struct str text, const char *expected)
{
    if (!str_eq(text, str_of(expected)))
        fail_msg("'%.*s' is not '%s'", (int)text.n, text.p, expected);
}

static struct url parsed(const char *text)
{
    struct url url;
    struct err err = {0};
    if (url_parse(str_of(text), &url, &err) != 0)
        fail_msg("%s: %s", text, err.msg);
    return url;
}

static void assert_parts(const char *text, const char *host, unsigned port, const char *target)
{
    struct url url = parsed(text);
    assert_str(url.host, host);
    assert_int_equal(url.port, port);
    assert_str(url.target, target);
}

static void assert_refused(struct str text, const char *words)
{
    struct url url = {.port = 7};
    struct err err = {0};
    if (url_parse(text, &url, &err) != -EINVAL)
        fail_msg("taken: '%.*s'", (int)text.n, text.p);
    assert_int_equal(err.code, -EINVAL);
    if (!strstr(err.msg, words))
        fail_msg("'%s' does not say '%s'", err.msg, words);
    assert_int_equal(url.port, 7);
    assert_null(url.host.p);
    assert_int_equal(url_parse(text, &url, NULL), -EINVAL);
}

static void test_pieces(void **state)
{
    (void)state;
    struct url url = parsed("https://api.sentinel.sparecores.net/runs/1/finish?a=b&c=%2F#top");
    assert_true(url.is_https);
    assert_false(url.is_ip6);
    assert_false(url.has_user_info);
    assert_int_equal(url.user_info.n, 0);
    assert_str(url.host, "api.sentinel.sparecores.net");
    assert_int_equal(url.port, 443);
    assert_str(url.target, "/runs/1/finish?a=b&c=%2F");
    url = parsed("http://h");
    assert_false(url.is_https);
    assert_parts("http://h", "h", 80, "");
    assert_parts("http://h/", "h", 80, "/");
    assert_parts("https://h?q=/x", "h", 443, "?q=/x");
    assert_parts("https://h#f", "h", 443, "");
    assert_parts("https://h/a#f?no/query", "h", 443, "/a");
    assert_parts("https://h//a//b", "h", 443, "//a//b");
    assert_parts("https://h/a?b?c", "h", 443, "/a?b?c");
    assert_parts("https://h/@x:1", "h", 443, "/@x:1");
    assert_parts("https://h/[x]{y}|z", "h", 443, "/[x]{y}|z");
    assert_parts("HTTPS://Example.COM/Path", "Example.COM", 443, "/Path");
    assert_parts("hTTp://h/", "h", 80, "/");
    assert_parts("http://169.254.169.254/latest", "169.254.169.254", 80, "/latest");
    assert_parts("http://my_host-1.local./", "my_host-1.local.", 80, "/");
}

static void test_ports(void **state)
{
    (void)state;
    assert_parts("http://h:8080/x", "h", 8080, "/x");
    assert_parts("https://h:80", "h", 80, "");
    assert_parts("http://h:1", "h", 1, "");
    assert_parts("http://h:65535?x", "h", 65535, "?x");
    assert_parts("http://h:00080/", "h", 80, "/");
    assert_parts("http://h:/x", "h", 80, "/x");
    assert_parts("https://h:", "h", 443, "");
    static const char *const broken[] = {"http://h:0/", "http://h:65536/", "http://h:99999999999999999999999/",
        "http://h:-1/", "http://h:+80/", "http://h:8o/", "http://h:80:80/", "http://h:%38%30/", "http://h::80/",
        "http://[::1]:0/", "http://::1/", "http://[::1]:x", "http://h:80a/", "http://u:p/w@h/"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        const char *words = strcmp(broken[i], "http://::1/") == 0 ? "no host" : "port";
        assert_refused(str_of(broken[i]), words);
    }
}

static void test_user_info(void **state)
{
    (void)state;
    struct url url = parsed("http://user:pa%40ss@proxy:3128/");
    assert_true(url.has_user_info);
    assert_str(url.user_info, "user:pa%40ss");
    assert_str(url.host, "proxy");
    assert_int_equal(url.port, 3128);
    /* The last one counts, wherever a password stops. */
    url = parsed("http://user:p@ss@host/x@y");
    assert_str(url.user_info, "user:p@ss");
    assert_str(url.host, "host");
    assert_str(url.target, "/x@y");
    url = parsed("http://good.example@evil.example/");
    assert_str(url.host, "evil.example");
    url = parsed("http://@host");
    assert_true(url.has_user_info);
    assert_int_equal(url.user_info.n, 0);
    url = parsed("http://a:b:c@[::1]:81");
    assert_str(url.user_info, "a:b:c");
    assert_str(url.host, "::1");
    assert_int_equal(url.port, 81);
    url = parsed("http://h?x=u@other");
    assert_false(url.has_user_info);
    assert_str(url.host, "h");
    url = parsed("http://h#u@other");
    assert_false(url.has_user_info);
    assert_str(url.host, "h");
    assert_refused(STR("http://user@/"), "no host");
    assert_refused(STR("http://user@"), "no host");
    assert_refused(STR("http://user@:80/"), "no host");
}

static void test_ip6(void **state)
{
    (void)state;
    struct url url = parsed("http://[fe80::1]:81/x");
    assert_true(url.is_ip6);
    assert_str(url.host, "fe80::1");
    assert_int_equal(url.port, 81);
    assert_str(url.target, "/x");
    assert_parts("https://[2001:DB8::7]", "2001:DB8::7", 443, "");
    assert_parts("https://[::ffff:10.0.0.1]:/", "::ffff:10.0.0.1", 443, "/");
    static const char *const broken[] = {"[]", "[", "[::1", "[fe80::1%eth0]", "[fe80::1%25eth0]", "[1.2.3.4]", "[::g]",
        "[1:2:3:4:5:6:7:8:9]", "[:]", "[::1]x", "[::1]80", "[[::1]]", "x[::1]", "[v1.x]", "[localhost]",
        "[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]", "[::1/64]", "[::1]]"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        char text[128];
        (void)snprintf(text, sizeof(text), "http://%s/", broken[i]);
        assert_refused(str_of(text), "");
    }
    assert_refused(STR("http://[fe80::1%25eth0]/"), "zone");
    assert_refused(STR("http://[::1/"), "']'");
    assert_refused(STR("http://[::1]x/"), "behind");
}

static void test_schemes(void **state)
{
    (void)state;
    static const char *const broken[] = {"", "h", "h:80", "//h/", "/x", "ftp://h/", "file:///etc/passwd", "http",
        "http:", "http:/x", "http:h", "http//h", "https:/h", "httpss://h", "xhttp://h", "javascript:x", "http;//h",
        "://h", "http:%2f%2fh", "unix:///run/x"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_refused(str_of(broken[i]), "it must begin with http:// or https://");
    assert_refused((struct str){0}, "it must begin with http:// or https://");
}

static void test_hosts(void **state)
{
    (void)state;
    static const char *const empty[] = {"http://", "https://", "http:///x", "http://?x", "http://#x", "http://:80/"};
    for (size_t i = 0; i < sizeof(empty) / sizeof(empty[0]); i++)
        assert_refused(str_of(empty[i]), "no host");
    static const char *const parts[] = {"http://./", "http://../", "http://.h/", "http://h../", "http://a..b/"};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        assert_refused(str_of(parts[i]), "empty part");
    static const char *const odd[] = {"http://a%2eb/", "http://h%00/", "http://a,b/", "http://a;b/", "http://a*/",
        "http://a~b/", "http://$(x)/", "http://a'b/", "http://a\"b/", "http://a]/", "http://<h>/", "http://a&b/"};
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
        assert_refused(str_of(odd[i]), "host's name");
}

static void test_bytes(void **state)
{
    (void)state;
    assert_refused(STR("http://h/a b"), "at byte 11");
    assert_refused(STR(" http://h/"), "at byte 1");
    assert_refused(STR("http://h/\n"), "at byte 10");
    assert_refused(STR("http://h/\r\nX: y"), "control");
    assert_refused(STR("http://h\t/"), "control");
    assert_refused(STR("http://h/\0x"), "control");
    assert_refused(STR("http://h\0.evil/"), "control");
    assert_refused(STR("http://h/\x7f"), "control");
    assert_refused(STR("http://h\xc3\xa4/"), "ASCII");
    assert_refused(STR("http://h/\xff"), "ASCII");
    assert_refused(STR("http:\\\\h\\x"), "backslash");
    assert_refused(STR("http://good\\@evil/"), "backslash");
    assert_refused(STR("http://h/\\x"), "backslash");
    for (unsigned c = 0; c < 256; c++) {
        const char in_path[] = {'h', 't', 't', 'p', ':', '/', '/', 'h', '/', (char)c};
        bool plain = c > ' ' && c < 127 && c != '\\';
        struct url url;
        assert_int_equal(url_parse((struct str){in_path, sizeof(in_path)}, &url, NULL), plain ? 0 : -EINVAL);
    }
}

static void test_lengths(void **state)
{
    (void)state;
    char host[600] = "http://";
    memset(host + 7, 'a', URL_HOST_MAX);
    assert_int_equal(parsed(host).host.n, URL_HOST_MAX);
    memset(host + 7, 'a', URL_HOST_MAX + 1);
    assert_refused(str_of(host), "longer than 253");
    char *text = malloc(URL_BYTES_MAX + 1);
    assert_non_null(text);
    memset(text, 'x', URL_BYTES_MAX + 1);
    memcpy(text, "http://h/", 9);
    struct url url;
    assert_int_equal(url_parse((struct str){text, URL_BYTES_MAX}, &url, NULL), 0);
    assert_int_equal(url.target.n, URL_BYTES_MAX - 8);
    assert_refused((struct str){text, URL_BYTES_MAX + 1}, "longer than 8192");
    free(text);
}

static void test_no_message_repeats_the_url(void **state)
{
    (void)state;
    static const char *const texts[] = {"ftp://u:s3cret@h/", "http://u:s3cret@", "http://u:s3cret@h:0/",
        "http://s3cret:x/", "http://u:s3cret@[::g]/", "http://u:s3cret@h /", "http://s3cret!/", "http://u:s3cret@h\\"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct url url;
        struct err err = {0};
        assert_int_equal(url_parse(str_of(texts[i]), &url, &err), -EINVAL);
        assert_null(strstr(err.msg, "s3cret"));
    }
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    static const char text[] = "https://user:word@[2001:db8::1]:8443/path?query#fragment";
    for (size_t n = 0; n < sizeof(text); n++) {
        char *copy = malloc(n ? n : 1);
        assert_non_null(copy);
        memcpy(copy, text, n);
        struct url url;
        if (url_parse((struct str){copy, n}, &url, NULL) == 0)
            assert_true(url.host.n > 0 && url.target.p + url.target.n <= copy + n);
        free(copy);
    }
    AUTO_BUF struct buf buf;
    buf_init(&buf, 16);
    for (size_t n = 1; n < 3; n++) {
        char *copy = malloc(n);
        assert_non_null(copy);
        memcpy(copy, "%41", n);
        assert_int_equal(url_decode(&buf, (struct str){copy, n}), -EINVAL);
        free(copy);
    }
}

static void test_loopback(void **state)
{
    (void)state;
    static const char *const here[] = {"http://localhost/", "http://LOCALHOST:80", "http://localhost.",
        "http://a.localhost", "http://a.b.LocalHost./", "http://127.0.0.1/", "http://127.255.255.254:9",
        "http://127.0.0.0", "http://[::1]/", "http://[0:0:0:0:0:0:0:1]:8", "http://[0000::0001]"};
    for (size_t i = 0; i < sizeof(here) / sizeof(here[0]); i++) {
        struct url url = parsed(here[i]);
        if (!url_is_loopback(&url))
            fail_msg("%s is not taken for loopback", here[i]);
    }
    static const char *const elsewhere[] = {"http://example.com", "http://localhost.example.com", "http://notlocalhost",
        "http://my-localhost", "http://localhost1", "http://localhos", "http://127.0.0.1.example.com",
        "http://128.0.0.1", "http://126.255.255.255", "http://0.0.0.0", "http://10.127.0.1", "http://[::2]",
        "http://[::]", "http://[::ffff:10.0.0.1]", "http://[1::1]", "http://127", "http://127.0.0",
        "http://127.0.0.256", "http://127.0.0.1.2", "http://_localhost", "http://local.host",
        "http://localhost@example.com"};
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        struct url url = parsed(elsewhere[i]);
        if (url_is_loopback(&url))
            fail_msg("%s is taken for loopback", elsewhere[i]);
    }
}

static void assert_host_header(const char *text, const char *expected)
{
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024);
    struct url url = parsed(text);
    url_put_host(&buf, &url);
    assert_string_equal(buf_cstr(&buf), expected);
}

static void test_host_header(void **state)
{
    (void)state;
    assert_host_header("http://h/x", "h");
    assert_host_header("http://h:80/x", "h");
    assert_host_header("https://h:443/", "h");
    assert_host_header("https://h:80/", "h:80");
    assert_host_header("http://h:443/", "h:443");
    assert_host_header("http://u:p@Host:8080", "Host:8080");
    assert_host_header("http://[::1]/", "[::1]");
    assert_host_header("https://[fe80::1]:65535/", "[fe80::1]:65535");
}

static void test_encode(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    url_encode(&buf, STR("azAZ09-._~ /?#[]@!$&'()*+,;=%\"\\^`{|}<>:\x7f\n\xc3\xa4\xff"));
    assert_string_equal(buf_cstr(&buf),
        "azAZ09-._~%20%2F%3F%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D%25%22%5C%5E%60"
        "%7B%7C%7D%3C%3E%3A%7F%0A%C3%A4%FF");
    buf_clear(&buf);
    url_encode(&buf, (struct str){"a\0b", 3});
    assert_string_equal(buf_cstr(&buf), "a%00b");
    buf_clear(&buf);
    url_encode_path(&buf, STR("/a b/c+d//\xc3\xa4%2F.csv~gz\0"));
    assert_string_equal(buf_cstr(&buf), "/a%20b/c%2Bd//%C3%A4%252F.csv~gz%00");
    buf_clear(&buf);
    url_encode(&buf, (struct str){0});
    assert_int_equal(buf.len, 0);
}

static void test_decode(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4096);
    buf_puts(&buf, "kept ");
    assert_int_equal(url_decode(&buf, STR("a%20b+%2f%2F%c3%A4%25zz")), 0);
    assert_string_equal(buf_cstr(&buf), "kept a b+//\xc3\xa4%zz");
    buf_clear(&buf);
    assert_int_equal(url_decode(&buf, STR("a%00b%ff")), 0);
    assert_int_equal(buf.len, 4);
    assert_memory_equal(buf.data, "a\0b\xff", 4);
    buf_clear(&buf);
    buf_puts(&buf, "kept");
    static const char *const broken[] = {"%", "a%", "%2", "abc%2", "%zz", "%2g", "%g2", "%%41", "%-1", "% 1", "%u0041"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
        assert_int_equal(url_decode(&buf, str_of(broken[i])), -EINVAL);
        assert_string_equal(buf_cstr(&buf), "kept");
    }
}

static void test_encode_and_back(void **state)
{
    (void)state;
    AUTO_BUF struct buf encoded;
    AUTO_BUF struct buf decoded;
    buf_init(&encoded, 4096);
    buf_init(&decoded, 4096);
    char all[256];
    for (unsigned c = 0; c < sizeof(all); c++)
        all[c] = (char)c;
    url_encode(&encoded, (struct str){all, sizeof(all)});
    assert_int_equal(encoded.len, 66 + (256 - 66) * 3);
    assert_int_equal(url_decode(&decoded, (struct str){encoded.data, encoded.len}), 0);
    assert_int_equal(decoded.len, sizeof(all));
    assert_memory_equal(decoded.data, all, sizeof(all));
}

static void test_a_full_buffer(void **state)
{
    (void)state;
    AUTO_BUF struct buf buf;
    buf_init(&buf, 4);
    url_encode(&buf, STR("a b"));
    assert_false(buf_ok(&buf));
    buf_clear(&buf);
    assert_int_equal(url_decode(&buf, STR("abcde")), 0);
    assert_false(buf_ok(&buf));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_ports),
        cmocka_unit_test(test_user_info),
        cmocka_unit_test(test_ip6),
        cmocka_unit_test(test_schemes),
        cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_no_message_repeats_the_url),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_loopback),
        cmocka_unit_test(test_host_header),
        cmocka_unit_test(test_encode),
        cmocka_unit_test(test_decode),
        cmocka_unit_test(test_encode_and_back),
        cmocka_unit_test(test_a_full_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
