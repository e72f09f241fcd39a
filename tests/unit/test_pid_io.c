/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/io. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "kernel/pid.h"

/* As printed by Linux 6.18. */
static const char captured[] = "rchar: 7275\nwchar: 299\nsyscr: 12\nsyscw: 1\nread_bytes: 4096\nwrite_bytes: 12288\n"
                               "cancelled_write_bytes: 8192\n";

static void test_ordinary(void **state)
{
    (void)state;
    struct pid_io io;
    assert_int_equal(pid_io_parse(str_of(captured), &io), 0);
    assert_int_equal(io.read_bytes, 4096);
    assert_int_equal(io.write_bytes, 12288);
}

static void test_other_order_and_keys(void **state)
{
    (void)state;
    struct pid_io io;
    assert_int_equal(pid_io_parse(STR("\nr\nw\nwrite_bytes_direct: 1\nwrite_bytes: 0\nread_bytes2: 2\nread_bytes 3\n"
                                      "new: line\nread_bytes: 18446744073709551615\n"),
                         &io),
        0);
    assert_true(io.read_bytes == UINT64_MAX);
    assert_int_equal(io.write_bytes, 0);
}

/* Whole as soon as both lines are; what is cut behind them does no harm. */
static void test_every_prefix(void **state)
{
    (void)state;
    const char *end = strstr(captured, "cancelled");
    size_t needed = (size_t)(end - captured);
    for (size_t n = 0; n < sizeof(captured); n++) {
        /* A block of exactly this size lets the sanitizer see a read behind the end. */
        char *text = malloc(n > 0 ? n : 1);
        assert_non_null(text);
        memcpy(text, captured, n);
        struct pid_io io = {42, 42};
        assert_int_equal(pid_io_parse((struct str){text, n}, &io), n < needed ? -EINVAL : 0);
        assert_int_equal(io.write_bytes, n < needed ? 42 : 12288);
        free(text);
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "read_bytes: 1\n",
        "write_bytes: 1\n",
        "read_bytes: 1\ncancelled_write_bytes: 1\n",
        "read_bytes: 1\n write_bytes: 1\n",
        "read_bytes: 1 write_bytes: 1\n",
        "read_bytes: 1\nwrite_bytes: \n",
        "read_bytes: 1\nwrite_bytes:\n2\n",
        "read_bytes: 1\nwrite_bytes: -2\n",
        "read_bytes: 1\nwrite_bytes: 2x\n",
        "read_bytes: 1\nwrite_bytes: 2 kB\n",
        "read_bytes: 1\nwrite_bytes: 18446744073709551616\n",
        "read_bytes: 1.5\nwrite_bytes: 2\n",
        "read_bytes: 1\nwrite_bytes: 2",
        "READ_BYTES: 1\nWRITE_BYTES: 2\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct pid_io io = {42, 42};
        assert_int_equal(pid_io_parse(str_of(texts[i]), &io), -EINVAL);
        assert_int_equal(io.read_bytes, 42);
        assert_int_equal(io.write_bytes, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_other_order_and_keys),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
