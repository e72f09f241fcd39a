/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/diskstats: 14, 18 and 20 columns, the short rows of old partitions, odd names, broken and cut lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/devices.h"

static const char kernel_6_18[] =
    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
    " 254       0 vda 48578 7561 2917954 26321 9042 9393 790352 4547 0 17452 31322 3559 61 216752 406 825 46\n"
    " 259       1 nvme0n1p1 5 0 40 1 0 0 0 0 0 2 1 0 0 0 0 0 0\n";

/* Partitions had four numbers only until 2.6.25. */
static const char kernel_2_6_18[] =
    "   1    0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
    "   3    0 hda 446216 784926 9550688 4382310 424847 312726 5922052 19310380 0 3376340 23705160\n"
    "   3    1 hda1 35486 38030 38030 38030\n"
    " 104    0 cciss/c0d0 10 1 80 5 20 2 160 9 0 14 14\n";

static void test_new_kernel(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    assert_int_equal(diskstats_parse(str_of(kernel_6_18), &stats), 0);
    assert_int_equal(stats.count, 3);
    assert_string_equal(stats.items[0].name, "loop0");
    assert_int_equal(stats.items[0].major, 7);
    assert_int_equal(stats.items[0].minor, 0);
    assert_int_equal(stats.items[0].reads + stats.items[0].busy_ms, 0);
    assert_string_equal(stats.items[1].name, "vda");
    assert_int_equal(stats.items[1].major, 254);
    assert_int_equal(stats.items[1].reads, 48578);
    assert_int_equal(stats.items[1].read_units, 2917954);
    assert_int_equal(stats.items[1].writes, 9042);
    assert_int_equal(stats.items[1].write_units, 790352);
    assert_int_equal(stats.items[1].busy_ms, 17452);
    assert_string_equal(stats.items[2].name, "nvme0n1p1");
    assert_int_equal(stats.items[2].minor, 1);
    assert_int_equal(stats.items[2].busy_ms, 2);
    diskstats_fini(&stats);
    assert_null(stats.items);
}

static void test_old_kernel(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    assert_int_equal(diskstats_parse(str_of(kernel_2_6_18), &stats), 0);
    assert_int_equal(stats.count, 3);
    assert_string_equal(stats.items[0].name, "ram0");
    assert_string_equal(stats.items[1].name, "hda");
    assert_int_equal(stats.items[1].busy_ms, 3376340);
    assert_string_equal(stats.items[2].name, "cciss/c0d0");
    assert_int_equal(stats.items[2].reads, 10);
    assert_int_equal(stats.items[2].read_units, 80);
    assert_int_equal(stats.items[2].writes, 20);
    assert_int_equal(stats.items[2].write_units, 160);
    assert_int_equal(stats.items[2].busy_ms, 14);
    diskstats_fini(&stats);
}

static void test_eighteen_columns(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    assert_int_equal(diskstats_parse(STR("8 16 sdb 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n"), &stats), 0);
    assert_int_equal(stats.count, 1);
    assert_int_equal(stats.items[0].write_units, 7);
    assert_int_equal(stats.items[0].busy_ms, 10);
    diskstats_fini(&stats);
}

/* An unused row must not leave numbers of the reading before. */
static void test_reused_row_is_cleared(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    assert_int_equal(diskstats_parse(STR("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"), &stats), 0);
    const struct diskstats_row *items = stats.items;
    assert_int_equal(diskstats_parse(STR("7 0 loop0 0 0 0 0 0 0 0 0 0 0 0\n"), &stats), 0);
    assert_ptr_equal(stats.items, items);
    assert_string_equal(stats.items[0].name, "loop0");
    assert_int_equal(stats.items[0].reads, 0);
    assert_int_equal(stats.items[0].read_units, 0);
    assert_int_equal(stats.items[0].writes, 0);
    assert_int_equal(stats.items[0].write_units, 0);
    assert_int_equal(stats.items[0].busy_ms, 0);
    diskstats_fini(&stats);
}

/* Rows that begin like an unused one. */
static void test_almost_unused(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    const char *text = "7 0 a 0 0 0 0 0 0 0 0 0 0 05\n7 1 b 0 0 0 0 0 0 0 0 0 9 0\n7 2 c 0 0 0 0 0 0 0 0 0 0\n"
                       "7 3 d 0 0 0 0 0 0 0 0 0 0 0x\n7 4 e 0 0 0 0 0 0 0 0 0 0 0 \n";
    assert_int_equal(diskstats_parse(str_of(text), &stats), 0);
    assert_int_equal(stats.count, 3);
    assert_string_equal(stats.items[0].name, "a");
    assert_string_equal(stats.items[1].name, "b");
    assert_int_equal(stats.items[1].busy_ms, 9);
    assert_string_equal(stats.items[2].name, "e");
    diskstats_fini(&stats);
}

static void test_broken_lines_are_skipped(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    const char *text = "\n"
                       "8 0\n"
                       "8 0 sda\n"
                       "8 x sda 1 2 3 4 5 6 7 8 9 10 11\n"
                       "8 0sda 1 2 3 4 5 6 7 8 9 10 11\n"
                       "4294967296 0 sda 1 2 3 4 5 6 7 8 9 10 11\n"
                       "8 4294967296 sda 1 2 3 4 5 6 7 8 9 10 11\n"
                       "8 0 sda 1 2 3 4 5 6 7 8 9 10\n"
                       "8 0 sda 1 2 3 4 5 6 7 8 9 10 11x\n"
                       "8 0 sda 1 2 3 4 5 6 7 8 9 -10 11\n"
                       "8 0 sda 18446744073709551616 2 3 4 5 6 7 8 9 10 11\n"
                       "8 0 a-name-of-thirty-two-bytes-12345 1 2 3 4 5 6 7 8 9 10 11\n"
                       "4294967295 4294967295 a-name-of-thirty-one-bytes-1234 1 2 3 4 5 6 7 8 9 10 11\n";
    assert_int_equal(diskstats_parse(str_of(text), &stats), 0);
    assert_int_equal(stats.count, 1);
    assert_string_equal(stats.items[0].name, "a-name-of-thirty-one-bytes-1234");
    assert_true(stats.items[0].major == UINT32_MAX);
    assert_true(stats.items[0].minor == UINT32_MAX);
    diskstats_fini(&stats);
}

static void test_empty_and_cut(void **state)
{
    (void)state;
    struct diskstats stats = {0};
    assert_int_equal(diskstats_parse((struct str){0}, &stats), 0);
    assert_int_equal(stats.count, 0);
    assert_int_equal(diskstats_parse(STR("8 0 sda 1 2 3 4 5 6 7 8 9 10 11"), &stats), -EBADMSG);
    assert_int_equal(stats.count, 0);
    assert_int_equal(
        diskstats_parse(STR("8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n8 1 sda1 1 2 3 4 5 6 7 8 9 10 1"), &stats), -EBADMSG);
    assert_int_equal(stats.count, 0);
    diskstats_fini(&stats);
}

static void test_row_limit(void **state)
{
    (void)state;
    size_t size = (DISKSTATS_ROWS_MAX + 1) * 48;
    char *text = malloc(size);
    assert_non_null(text);
    size_t n = 0;
    for (unsigned i = 0; i < DISKSTATS_ROWS_MAX; i++)
        n += (size_t)snprintf(text + n, size - n, "253 %u dm-%u %u 0 0 0 0 0 0 0 0 0 0\n", i, i, i);
    struct diskstats stats = {0};
    assert_int_equal(diskstats_parse((struct str){text, n}, &stats), 0);
    assert_int_equal(stats.count, DISKSTATS_ROWS_MAX);
    assert_int_equal(stats.items[16383].reads, 16383);
    n += (size_t)snprintf(text + n, size - n, "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n");
    assert_int_equal(diskstats_parse((struct str){text, n}, &stats), -E2BIG);
    assert_int_equal(stats.count, 0);
    diskstats_fini(&stats);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_kernel),
        cmocka_unit_test(test_old_kernel),
        cmocka_unit_test(test_eighteen_columns),
        cmocka_unit_test(test_reused_row_is_cleared),
        cmocka_unit_test(test_almost_unused),
        cmocka_unit_test(test_broken_lines_are_skipped),
        cmocka_unit_test(test_empty_and_cut),
        cmocka_unit_test(test_row_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
