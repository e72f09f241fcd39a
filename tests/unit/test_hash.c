/* SPDX-License-Identifier: Apache-2.0 */
/* Vectors: SHA-256 of FIPS 180-4's examples, HMAC of RFC 4231, base64 of RFC 4648. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "codec/hash.h"

static void check_sha256(struct str bytes, const char *want)
{
    uint8_t hash[HASH_BYTES];
    char hex[HASH_HEX_BYTES];
    assert_int_equal(hash_sha256(bytes, hash), 0);
    hash_hex(hash, hex);
    assert_string_equal(hex, want);
}

static void check_hmac(struct str key, struct str bytes, const char *want)
{
    uint8_t hash[HASH_BYTES];
    char hex[HASH_HEX_BYTES];
    assert_int_equal(hash_hmac_sha256(key, bytes, hash), 0);
    hash_hex(hash, hex);
    assert_string_equal(hex, want);
}

static void test_sha256(void **state)
{
    (void)state;
    check_sha256(STR(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256((struct str){NULL, 0}, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_sha256(STR("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_sha256(STR("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    check_sha256(STR("a\0b"), "59b271ae1bbcb1d31d41929817f4b16fb439eb4f31520b5ad1d5ce98920a7138");
}

static void test_sha256_of_a_million(void **state)
{
    (void)state;
    enum { COUNT = 1000000 };
    char *bytes = malloc(COUNT);
    assert_non_null(bytes);
    memset(bytes, 'a', COUNT);
    check_sha256((struct str){bytes, COUNT}, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(bytes);
}

static void test_hmac(void **state)
{
    (void)state;
    check_hmac(STR("\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b"), STR("Hi There"),
        "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
    check_hmac(STR("Jefe"), STR("what do ya want for nothing?"),
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    char key[131]; /* longer than a block: it is hashed first */
    memset(key, 0xaa, sizeof(key));
    check_hmac((struct str){key, sizeof(key)}, STR("Test Using Larger Than Block-Size Key - Hash Key First"),
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    check_hmac(STR(""), STR(""), "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void check_base64(struct str bytes, const char *want)
{
    struct buf text;
    buf_init(&text, 256);
    hash_base64(&text, bytes);
    assert_true(buf_ok(&text));
    assert_string_equal(buf_cstr(&text), want);
    buf_fini(&text);
}

static void test_base64(void **state)
{
    (void)state;
    check_base64(STR(""), "");
    check_base64(STR("f"), "Zg==");
    check_base64(STR("fo"), "Zm8=");
    check_base64(STR("foo"), "Zm9v");
    check_base64(STR("foob"), "Zm9vYg==");
    check_base64(STR("fooba"), "Zm9vYmE=");
    check_base64(STR("foobar"), "Zm9vYmFy");
    check_base64(STR("\xff\xfe\xfb\x00\xef\xbf"), "//77AO+/");
    check_base64(STR("\xff"), "/w==");
    check_base64(STR("\0\0"), "AAA=");
}

static void test_base64_in_pieces(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 256);
    hash_base64(&text, STR("foobar"));
    hash_base64(&text, STR("baz"));
    hash_base64(&text, STR("x"));
    assert_string_equal(buf_cstr(&text), "Zm9vYmFyYmF6eA==");
    buf_fini(&text);
}

static void test_base64_without_room(void **state)
{
    (void)state;
    struct buf text;
    buf_init(&text, 7);
    hash_base64(&text, STR("foobar"));
    assert_false(buf_ok(&text));
    assert_int_equal(text.len, 4);
    buf_fini(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256),
        cmocka_unit_test(test_sha256_of_a_million),
        cmocka_unit_test(test_hmac),
        cmocka_unit_test(test_base64),
        cmocka_unit_test(test_base64_in_pieces),
        cmocka_unit_test(test_base64_without_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
