/* SPDX-License-Identifier: Apache-2.0 */
/* gzip: the frame of RFC 1952, round trips of all sizes, bounds, files of others, broken and cut files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "base/buf.h"
#include "codec/gzip.h"

enum { HEADER_BYTES = 10, TRAILER_BYTES = 8, MAX = 4 * 1024 * 1024 };

/* "hello hello hello\n" by gzip(1), with the name a.txt and a time. */
static const char foreign[] = "\x1f\x8b\x08\x08\x00\xf1\x53\x65\x00\x03\x61\x2e\x74\x78\x74\x00\xcb\x48\xcd\xc9\xc9\x57"
                              "\xc8\x40\x90\x5c\x00\x3b\x7c\x8a\xdf\x12\x00\x00\x00";

static struct str str_of_buf(const struct buf *buf)
{
    return (struct str){buf->data, buf->len};
}

static int take_into(void *context, struct str piece)
{
    assert_true(piece.n > 0 && piece.n <= 16 * 1024);
    buf_append(context, piece.p, piece.n);
    return 0;
}

static int refuse(void *context, struct str piece)
{
    (void)piece;
    int *calls = context;
    ++*calls;
    return -EXDEV;
}

static struct buf new_buf(void)
{
    struct buf buf;
    buf_init(&buf, MAX);
    return buf;
}

/* Bytes that compress badly, but are always the same. */
static void fill(struct buf *buf, size_t n)
{
    uint32_t seed = 1;
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525 + 1013904223;
        buf_putc(buf, (char)(seed >> (i % 3 ? 28 : 20)));
    }
}

static void pack(struct gzip *gzip, struct str bytes, size_t step, struct buf *out)
{
    for (size_t at = 0; at < bytes.n; at += step) {
        size_t n = bytes.n - at < step ? bytes.n - at : step;
        assert_int_equal(gzip_add(gzip, (struct str){bytes.p + at, n}, out), 0);
    }
    assert_int_equal(gzip_finish(gzip, out), 0);
}

static void check_unpacks_to(struct str file, struct str want)
{
    struct buf got = new_buf();
    assert_int_equal(gzip_unpack(file, take_into, &got), 0);
    assert_int_equal(got.len, want.n);
    assert_true(str_eq(str_of_buf(&got), want));
    buf_fini(&got);
}

static void test_frame(void **state)
{
    (void)state;
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    struct buf out = new_buf();
    pack(gzip, STR("hello hello hello\n"), 100, &out);
    static const uint8_t header[HEADER_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    assert_memory_equal(out.data, header, HEADER_BYTES);
    /* The CRC and the length are those that gzip(1) found for the same text. */
    assert_memory_equal(
        out.data + out.len - TRAILER_BYTES, foreign + sizeof(foreign) - 1 - TRAILER_BYTES, TRAILER_BYTES);
    check_unpacks_to(str_of_buf(&out), STR("hello hello hello\n"));
    buf_fini(&out);
    gzip_free(gzip);
    gzip_free(NULL);
}

static void test_empty(void **state)
{
    (void)state;
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    struct buf out = new_buf();
    assert_int_equal(gzip_add(gzip, STR(""), &out), 0);
    assert_int_equal(gzip_add(gzip, (struct str){NULL, 0}, &out), 0);
    assert_int_equal(gzip_finish(gzip, &out), 0);
    assert_int_equal(out.len, HEADER_BYTES + 2 + TRAILER_BYTES);
    check_unpacks_to(str_of_buf(&out), STR(""));
    buf_fini(&out);
    gzip_free(gzip);
}

static void test_round_trips(void **state)
{
    (void)state;
    static const size_t sizes[] = {1, 2, 4095, 4096, 16383, 16384, 16385, 65536, 300000, 1500000};
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        struct buf bytes = new_buf();
        struct buf out = new_buf();
        fill(&bytes, sizes[i]);
        pack(gzip, str_of_buf(&bytes), i % 2 ? 1000 : SIZE_MAX / 2, &out);
        check_unpacks_to(str_of_buf(&out), str_of_buf(&bytes));
        buf_fini(&bytes);
        buf_fini(&out);
    }
    gzip_free(gzip);
}

/* The same bytes give the same file, whatever the pieces, and whatever went through the gzip before. */
static void test_same_bytes_same_file(void **state)
{
    (void)state;
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    struct buf bytes = new_buf();
    struct buf first = new_buf();
    struct buf second = new_buf();
    fill(&bytes, 100000);
    pack(gzip, str_of_buf(&bytes), SIZE_MAX / 2, &first);
    pack(gzip, str_of_buf(&bytes), 77, &second);
    assert_true(str_eq(str_of_buf(&first), str_of_buf(&second)));
    assert_true(first.len < 80000);
    buf_fini(&bytes);
    buf_fini(&first);
    buf_fini(&second);
    gzip_free(gzip);
}

static void test_out_is_full(void **state)
{
    (void)state;
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    struct buf bytes = new_buf();
    struct buf out;
    buf_init(&out, 5000);
    fill(&bytes, 200000);
    assert_int_equal(gzip_add(gzip, str_of_buf(&bytes), &out), -ENOBUFS);
    assert_true(out.len <= 5000);
    assert_int_equal(gzip_add(gzip, STR("more"), &out), -ENOBUFS);
    assert_int_equal(gzip_finish(gzip, &out), -ENOBUFS);
    gzip_free(gzip);

    /* The end may not fit either. */
    assert_int_equal(gzip_new(&gzip), 0);
    buf_fini(&out);
    buf_init(&out, HEADER_BYTES + 4);
    assert_int_equal(gzip_add(gzip, STR("some words"), &out), 0);
    assert_int_equal(gzip_finish(gzip, &out), -ENOBUFS);
    buf_fini(&out);
    buf_fini(&bytes);
    gzip_free(gzip);
}

static void test_members(void **state)
{
    (void)state;
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    struct buf file = new_buf();
    pack(gzip, STR("one\n"), 100, &file);
    buf_append(&file, foreign, sizeof(foreign) - 1);
    pack(gzip, STR(""), 100, &file);
    pack(gzip, STR("three\n"), 100, &file);
    check_unpacks_to(str_of_buf(&file), STR("one\nhello hello hello\nthree\n"));
    buf_append(&file, "x", 1);
    struct buf got = new_buf();
    assert_int_equal(gzip_unpack(str_of_buf(&file), take_into, &got), -EBADMSG);
    buf_fini(&got);
    buf_fini(&file);
    gzip_free(gzip);
}

/* Zeros fill up what a tape or a device has in blocks; they are the end, and only behind a member. */
static void test_padding(void **state)
{
    (void)state;
    static const char zeros[3000] = {0};
    static const size_t steps[] = {1, 7, 1000, 1000000};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct gunzip *gunzip;
        struct buf file = new_buf();
        struct buf got = new_buf();
        buf_append(&file, foreign, sizeof(foreign) - 1);
        buf_append(&file, foreign, sizeof(foreign) - 1);
        buf_append(&file, zeros, sizeof(zeros));
        assert_int_equal(gunzip_new(&gunzip), 0);
        for (size_t at = 0; at < file.len; at += steps[i]) {
            size_t n = file.len - at < steps[i] ? file.len - at : steps[i];
            assert_int_equal(gunzip_add(gunzip, (struct str){file.data + at, n}, take_into, &got), 0);
        }
        assert_true(gunzip_is_whole(gunzip));
        assert_string_equal(buf_cstr(&got), "hello hello hello\nhello hello hello\n");
        assert_int_equal(gunzip_add(gunzip, (struct str){foreign, sizeof(foreign) - 1}, take_into, &got), -EBADMSG);
        gunzip_free(gunzip);
        check_unpacks_to(str_of_buf(&file), STR("hello hello hello\nhello hello hello\n"));
        buf_append(&file, "x", 1);
        assert_int_equal(gzip_unpack(str_of_buf(&file), take_into, &got), -EBADMSG);
        buf_fini(&got);
        buf_fini(&file);
    }
    struct buf got = new_buf();
    assert_int_equal(gzip_unpack((struct str){zeros, sizeof(zeros)}, take_into, &got), -EBADMSG);
    buf_fini(&got);
}

/* In pieces of any size, members or not: the same bytes, and whole exactly at the end of a member. */
static void test_unpack_in_pieces(void **state)
{
    (void)state;
    struct gzip *gzip;
    assert_int_equal(gzip_new(&gzip), 0);
    struct buf bytes = new_buf();
    struct buf file = new_buf();
    fill(&bytes, 100000);
    pack(gzip, str_of_buf(&bytes), SIZE_MAX / 2, &file);
    size_t first_end = file.len;
    pack(gzip, str_of_buf(&bytes), SIZE_MAX / 2, &file);
    static const size_t steps[] = {1, 7, 4096, 1000000};
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct gunzip *gunzip;
        struct buf got = new_buf();
        assert_int_equal(gunzip_new(&gunzip), 0);
        assert_false(gunzip_is_whole(gunzip));
        for (size_t at = 0; at < file.len; at += steps[i]) {
            size_t n = file.len - at < steps[i] ? file.len - at : steps[i];
            assert_int_equal(gunzip_add(gunzip, (struct str){file.data + at, n}, take_into, &got), 0);
            assert_true(gunzip_is_whole(gunzip) == (at + n == first_end || at + n == file.len));
        }
        assert_int_equal(got.len, 2 * bytes.len);
        assert_memory_equal(got.data, bytes.data, bytes.len);
        assert_memory_equal(got.data + bytes.len, bytes.data, bytes.len);
        assert_int_equal(gunzip_add(gunzip, STR("no gzip"), take_into, &got), -EBADMSG);
        gunzip_free(gunzip);
        buf_fini(&got);
    }
    gunzip_free(NULL);
    buf_fini(&bytes);
    buf_fini(&file);
    gzip_free(gzip);
}

/* Cut anywhere, a file is never taken for whole. */
static void test_cut(void **state)
{
    (void)state;
    for (size_t n = 0; n < sizeof(foreign) - 1; n++) {
        struct buf got = new_buf();
        assert_int_equal(gzip_unpack((struct str){foreign, n}, take_into, &got), -EBADMSG);
        buf_fini(&got);
    }
    check_unpacks_to((struct str){foreign, sizeof(foreign) - 1}, STR("hello hello hello\n"));
    struct buf got = new_buf();
    assert_int_equal(gzip_unpack((struct str){NULL, 0}, take_into, &got), -EBADMSG);
    assert_int_equal(got.len, 0);
    buf_fini(&got);
}

static void test_broken(void **state)
{
    (void)state;
    char file[sizeof(foreign) - 1];
    static const size_t at[] = {0, 1, 2, 18, sizeof(file) - 1, sizeof(file) - 4, sizeof(file) - 5, sizeof(file) - 8};
    for (size_t i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
        memcpy(file, foreign, sizeof(file));
        file[at[i]] = (char)(file[at[i]] ^ 0x40);
        struct buf got = new_buf();
        assert_int_equal(gzip_unpack((struct str){file, sizeof(file)}, take_into, &got), -EBADMSG);
        buf_fini(&got);
    }
    struct buf got = new_buf();
    assert_int_equal(gzip_unpack(STR("plain text, no gzip at all"), take_into, &got), -EBADMSG);
    buf_fini(&got);
}

static void test_taker_ends_it(void **state)
{
    (void)state;
    int calls = 0;
    assert_int_equal(gzip_unpack((struct str){foreign, sizeof(foreign) - 1}, refuse, &calls), -EXDEV);
    assert_int_equal(calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_frame),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_round_trips),
        cmocka_unit_test(test_same_bytes_same_file),
        cmocka_unit_test(test_out_is_full),
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_padding),
        cmocka_unit_test(test_unpack_in_pieces),
        cmocka_unit_test(test_cut),
        cmocka_unit_test(test_broken),
        cmocka_unit_test(test_taker_ends_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
