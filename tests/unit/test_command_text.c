/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines of processes as they may be shown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "model/sample.h"
#include "run/command_text.h"

enum { MOST = SAMPLE_PROCESS_BYTES - 1 };

/* A block of exactly this size lets the sanitizer see a read behind the end. */
static int mask(const char *text, size_t n, bool is_cut, char out[static SAMPLE_PROCESS_BYTES])
{
    char *copy = malloc(n > 0 ? n : 1);
    assert_non_null(copy);
    memcpy(copy, text, n);
    int r = command_text_mask((struct str){copy, n}, is_cut, MASK_AUTO, out, SAMPLE_PROCESS_BYTES);
    free(copy);
    return r;
}

#define CHECK(text, wanted) check(text, sizeof(text) - 1, wanted)

static void check(const char *text, size_t n, const char *wanted)
{
    char out[SAMPLE_PROCESS_BYTES], again[SAMPLE_PROCESS_BYTES];
    assert_int_equal(mask(text, n, false, out), 0);
    assert_string_equal(out, wanted);
    assert_int_equal(command_text_mask_again(out, MASK_AUTO, again, sizeof(again)), 0);
    assert_string_equal(again, out);
}

static void test_arguments(void **state)
{
    (void)state;
    CHECK("sh\0", "sh");
    CHECK("sh", "sh");
    CHECK("a\0b c\0d\0", "a b c d");
    CHECK("a\0\0b\0", "a  b");
    CHECK("nginx: worker process\0\0\0\0\0", "nginx: worker process");
    CHECK("a\nb\0\xff\0\xc3\xa4\0", "a\nb \xff \xc3\xa4");
}

static void test_secrets(void **state)
{
    (void)state;
    CHECK("sh\0-c\0run --password=hunter2\0", "sh -c run --password=[SECRET]");
    CHECK("mysql\0-phunter2\0db\0", "mysql -p[SECRET] db");
    CHECK("run\0--token\0hunter2\0x\0", "run --token [SECRET] x");
}

static void test_nothing(void **state)
{
    (void)state;
    char out[SAMPLE_PROCESS_BYTES];
    assert_int_equal(mask("", 0, false, out), -ENODATA);
    assert_int_equal(mask("\0\0", 2, false, out), -ENODATA);
    assert_int_equal(command_text_mask_again("", MASK_AUTO, out, sizeof(out)), -ENODATA);
    assert_int_equal(command_text_mask_again("  ", MASK_AUTO, out, sizeof(out)), -ENODATA);
}

/* 256 bytes are whole, 257 are not, and no character is cut in two. */
static void test_length(void **state)
{
    (void)state;
    char text[300], out[SAMPLE_PROCESS_BYTES];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i % 10 == 5 ? '.' : "abcdefghij"[i % 10]);
    assert_int_equal(mask(text, MOST, false, out), 0);
    assert_int_equal(strlen(out), MOST);
    assert_memory_equal(out, text, MOST);
    assert_int_equal(mask(text, MOST + 1, false, out), 0);
    assert_int_equal(strlen(out), MOST);
    assert_memory_equal(out, text, MOST - 3);
    assert_string_equal(out + MOST - 3, "...");
    /* Two arguments, the blank between them at the very end. */
    text[MOST] = '\0';
    assert_int_equal(mask(text, MOST + 3, false, out), 0);
    assert_string_equal(out + MOST - 3, "...");
    memcpy(text + MOST - 5, "\xf0\x9f\x98\x80", 4);
    text[MOST] = 'x';
    assert_int_equal(mask(text, MOST + 3, false, out), 0);
    assert_int_equal(strlen(out), MOST - 2);
    assert_string_equal(out + MOST - 5, "...");
}

/* Of an argument that was cut nothing is shown, unless so much stands before its end that this is not shown anyway. */
static void test_cut(void **state)
{
    (void)state;
    char out[SAMPLE_PROCESS_BYTES];
    assert_int_equal(mask("a\0b\0secret-begi", 15, true, out), 0);
    assert_string_equal(out, "a b ...");
    assert_int_equal(mask("secret-begi", 11, true, out), 0);
    assert_string_equal(out, "...");
    char text[SAMPLE_COMMAND_BYTES + 10];
    memset(text, '/', sizeof(text));
    memcpy(text, "sh\0-c\0", 6);
    assert_int_equal(mask(text, SAMPLE_COMMAND_BYTES, true, out), 0);
    assert_int_equal(strlen(out), MOST);
    assert_memory_equal(out, "sh -c ////", 10);
    assert_int_equal(mask(text, sizeof(text), false, out), 0);
    assert_int_equal(strlen(out), MOST);
}

static void test_many_arguments(void **state)
{
    (void)state;
    char text[SAMPLE_COMMAND_BYTES], out[SAMPLE_PROCESS_BYTES];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = i % 2 == 0 ? 'x' : '\0';
    assert_int_equal(mask(text, sizeof(text), true, out), 0);
    assert_int_equal(strlen(out), MOST);
    memset(text, '\0', sizeof(text) - 1);
    text[sizeof(text) - 1] = 'x';
    assert_int_equal(mask(text, sizeof(text), false, out), 0);
    assert_in_range(strlen(out), 1, MOST);
}

static void test_off(void **state)
{
    (void)state;
    char out[SAMPLE_PROCESS_BYTES];
    assert_int_equal(command_text_mask(STR("run\0--password=hunter2\0"), false, MASK_OFF, out, sizeof(out)), 0);
    assert_string_equal(out, "run --password=hunter2");
    assert_int_equal(command_text_mask_again(out, MASK_AUTO, out, sizeof(out)), 0);
    assert_string_equal(out, "run --password=[SECRET]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_secrets),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_many_arguments),
        cmocka_unit_test(test_off),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
