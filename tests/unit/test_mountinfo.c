/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/mountinfo: tags, octal escapes, empty sources, broken and cut lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "kernel/mountinfo.h"

enum { TEXT_BYTES = 2048 };

static int parse(char *text, const char *lines, struct mountinfo *info)
{
    size_t n = strlen(lines);
    assert_true(n < TEXT_BYTES);
    memcpy(text, lines, n);
    return mountinfo_parse(text, n, info);
}

static void test_captured(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(parse(text,
                         "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
                         "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard,resv_strict,resuid=65534\n"
                         "41 31 0:38 /a /sys/fs/cgroup/unified rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n",
                         &info),
        0);
    assert_int_equal(info.count, 3);
    assert_int_equal(info.items[0].id, 22);
    assert_int_equal(info.items[0].parent, 27);
    assert_int_equal(info.items[0].major, 0);
    assert_int_equal(info.items[0].minor, 21);
    assert_string_equal(info.items[0].super_options, "rw");
    assert_int_equal(info.items[1].major, 254);
    assert_string_equal(info.items[1].root, "/");
    assert_string_equal(info.items[1].mount_point, "/");
    assert_string_equal(info.items[1].options, "rw,relatime");
    assert_string_equal(info.items[1].fstype, "ext4");
    assert_string_equal(info.items[1].source, "/dev/vda");
    assert_string_equal(info.items[1].super_options, "rw,discard,resv_strict,resuid=65534");
    assert_string_equal(info.items[2].root, "/a");
    assert_string_equal(info.items[2].fstype, "cgroup2");
    assert_string_equal(info.items[2].super_options, "rw,nsdelegate");
    mountinfo_fini(&info);
    assert_null(info.items);
}

static void test_several_tags(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(
        parse(text, "1 2 8:1 / /a rw shared:1 master:7 propagate_from:3 unbindable - xfs /dev/sda1 rw\n", &info), 0);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.items[0].options, "rw");
    assert_string_equal(info.items[0].fstype, "xfs");
    assert_string_equal(info.items[0].source, "/dev/sda1");
    mountinfo_fini(&info);
}

static void test_octal_escapes(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(
        parse(text, "1 2 8:1 /r\\011t /my\\040disk\\134x\\012y rw - fuse.ss\\040h me@host:/a\\040b rw,o=\\043\\377\n",
            &info),
        0);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.items[0].root, "/r\tt");
    assert_string_equal(info.items[0].mount_point, "/my disk\\x\ny");
    assert_string_equal(info.items[0].fstype, "fuse.ss h");
    assert_string_equal(info.items[0].source, "me@host:/a b");
    assert_string_equal(info.items[0].super_options, "rw,o=#\xff");
    mountinfo_fini(&info);
}

static void test_not_quite_escapes(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(parse(text, "1 2 8:1 / /a\\04 rw - t \\000\\400\\08a\\\\040 rw\\1\n", &info), 0);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.items[0].mount_point, "/a\\04");
    assert_string_equal(info.items[0].source, "\\000\\400\\08a\\ ");
    assert_string_equal(info.items[0].super_options, "rw\\1");
    mountinfo_fini(&info);
}

static void test_empty_source(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(parse(text, "36 35 0:44 / /run/x rw,nosuid - tmpfs  rw,size=4k\n", &info), 0);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.items[0].source, "");
    assert_string_equal(info.items[0].super_options, "rw,size=4k");
    mountinfo_fini(&info);
}

static void test_dash_in_paths_and_blanks_in_super_options(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(parse(text, "1 2 0:4 /- - rw - - - rw a b\n", &info), 0);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.items[0].root, "/-");
    assert_string_equal(info.items[0].mount_point, "-");
    assert_string_equal(info.items[0].fstype, "-");
    assert_string_equal(info.items[0].source, "-");
    assert_string_equal(info.items[0].super_options, "rw a b");
    mountinfo_fini(&info);
}

static void test_broken_lines_are_skipped(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(parse(text,
                         "\n"
                         "1\n"
                         "x 2 8:1 / /a rw - ext4 /dev/a rw\n"
                         "1 -2 8:1 / /a rw - ext4 /dev/a rw\n"
                         "2147483648 2 8:1 / /a rw - ext4 /dev/a rw\n"
                         "1 2 8 / /a rw - ext4 /dev/a rw\n"
                         "1 2 8: / /a rw - ext4 /dev/a rw\n"
                         "1 2 8:4294967296 / /a rw - ext4 /dev/a rw\n"
                         "1 2 8:1  /a rw - ext4 /dev/a rw\n"
                         "1 2 8:1 / /a rw shared:1 ext4 /dev/a rw\n"
                         "1 2 8:1 / /a rw - ext4 /dev/a\n"
                         "1 2 8:1 / /a rw - ext4\n"
                         "1 2 8:1 / /a rw -\n"
                         "2147483647 0 4294967295:1 / /good rw - ext4 /dev/a rw\n",
                         &info),
        0);
    assert_int_equal(info.count, 1);
    assert_string_equal(info.items[0].mount_point, "/good");
    assert_int_equal(info.items[0].id, INT_MAX);
    assert_true(info.items[0].major == UINT_MAX);
    mountinfo_fini(&info);
}

static void test_nul_inside(void **state)
{
    (void)state;
    static const char line[] = "1 2 8:1 / /a rw - ext4 /dev/a rw\0b\n";
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    memcpy(text, line, sizeof(line));
    assert_int_equal(mountinfo_parse(text, sizeof(line) - 1, &info), 0);
    assert_int_equal(info.count, 0);
    mountinfo_fini(&info);
}

static void test_empty_and_cut(void **state)
{
    (void)state;
    struct mountinfo info = {0};
    char text[TEXT_BYTES];
    assert_int_equal(mountinfo_parse(NULL, 0, &info), 0);
    assert_int_equal(info.count, 0);
    assert_int_equal(
        parse(text, "1 2 8:1 / /a rw - ext4 /dev/a rw\n2 1 8:2 / /b rw - ext4 /dev/b rw,errors=rem", &info), 0);
    assert_int_equal(info.count, 1);
    const struct mount_row *items = info.items;
    assert_int_equal(parse(text, "5 2 8:1 / /a rw - ext4 /dev/a rw\n", &info), 0);
    assert_ptr_equal(info.items, items);
    assert_int_equal(info.items[0].id, 5);
    mountinfo_fini(&info);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_captured),
        cmocka_unit_test(test_several_tags),
        cmocka_unit_test(test_octal_escapes),
        cmocka_unit_test(test_not_quite_escapes),
        cmocka_unit_test(test_empty_source),
        cmocka_unit_test(test_dash_in_paths_and_blanks_in_super_options),
        cmocka_unit_test(test_broken_lines_are_skipped),
        cmocka_unit_test(test_nul_inside),
        cmocka_unit_test(test_empty_and_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
