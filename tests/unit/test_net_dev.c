/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/net/dev: new and old layouts, glued numbers, aliases, broken and cut lines, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernel/devices.h"

#define HEADINGS                                                                                                       \
    "Inter-|   Receive                                                |  Transmit\n"                                   \
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier " \
    "compressed\n"

static const char kernel_6_18[] = HEADINGS "    lo:    3245      30    0    0    0     0          0         0     3245 "
                                           "     30    0    0    0     0       0          0\n"
                                           "  eth0: 57875629    1343    1    2    0     0          0         0    "
                                           "73108     847    3    4    0     0       0          0\n";

/* Before 2.6.39 or so the first number touches the colon once it has eight digits. */
static const char kernel_2_6_18[] = HEADINGS "    lo:  104088    1250    0    0    0     0          0         0   "
                                             "104088    1250    0    0    0     0       0          0\n"
                                             "  eth0:3942160712 23341210    5    6    0     0          0         0 "
                                             "1174632188 15550012    7    8    0     0       0          0\n"
                                             "eth0:1:12 1 2 3 0 0 0 0 99 1 4 5 0 0 0 0\n"
                                             "  sit0:       0       0    0    0    0     0          0         0        "
                                             "0       0    0    0    0     0       0          0\n";

static void test_new_kernel(void **state)
{
    (void)state;
    struct net_dev dev = {0};
    assert_int_equal(net_dev_parse(str_of(kernel_6_18), &dev), 0);
    assert_int_equal(dev.count, 2);
    assert_string_equal(dev.items[0].name, "lo");
    assert_int_equal(dev.items[0].rx_bytes, 3245);
    assert_int_equal(dev.items[0].tx_bytes, 3245);
    assert_string_equal(dev.items[1].name, "eth0");
    assert_int_equal(dev.items[1].rx_bytes, 57875629);
    assert_int_equal(dev.items[1].rx_errors, 1);
    assert_int_equal(dev.items[1].rx_dropped, 2);
    assert_int_equal(dev.items[1].tx_bytes, 73108);
    assert_int_equal(dev.items[1].tx_errors, 3);
    assert_int_equal(dev.items[1].tx_dropped, 4);
    net_dev_fini(&dev);
    assert_null(dev.items);
}

static void test_glued_number_and_alias(void **state)
{
    (void)state;
    struct net_dev dev = {0};
    assert_int_equal(net_dev_parse(str_of(kernel_2_6_18), &dev), 0);
    assert_int_equal(dev.count, 4);
    assert_string_equal(dev.items[1].name, "eth0");
    assert_int_equal(dev.items[1].rx_bytes, 3942160712);
    assert_int_equal(dev.items[1].tx_dropped, 8);
    assert_string_equal(dev.items[2].name, "eth0:1");
    assert_int_equal(dev.items[2].rx_bytes, 12);
    assert_int_equal(dev.items[2].rx_errors, 2);
    assert_int_equal(dev.items[2].rx_dropped, 3);
    assert_int_equal(dev.items[2].tx_bytes, 99);
    assert_int_equal(dev.items[2].tx_errors, 4);
    assert_int_equal(dev.items[2].tx_dropped, 5);
    assert_string_equal(dev.items[3].name, "sit0");
    net_dev_fini(&dev);
}

static void test_odd_names(void **state)
{
    (void)state;
    struct net_dev dev = {0};
    const char *text = HEADINGS "br-5f3c0d9e1a2b: 1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0\n"
                                "veth1@if2: 3 0 0 0 0 0 0 0 4 0 0 0 0 0 0 0\n"
                                "a-name-of-thirty-one-bytes-1234: 5 0 0 0 0 0 0 0 6 0 0 0 0 0 0 0\n"
                                "a-name-of-thirty-two-bytes-12345: 7 0 0 0 0 0 0 0 8 0 0 0 0 0 0 0\n"
                                "\xc3\xa9th: 9 0 0 0 0 0 0 0 10 0 0 0 0 0 0 0\n";
    assert_int_equal(net_dev_parse(str_of(text), &dev), 0);
    assert_int_equal(dev.count, 4);
    assert_string_equal(dev.items[0].name, "br-5f3c0d9e1a2b");
    assert_string_equal(dev.items[1].name, "veth1@if2");
    assert_string_equal(dev.items[2].name, "a-name-of-thirty-one-bytes-1234");
    assert_string_equal(dev.items[3].name, "\xc3\xa9th");
    assert_int_equal(dev.items[3].tx_bytes, 10);
    net_dev_fini(&dev);
}

static void test_broken_lines_are_skipped(void **state)
{
    (void)state;
    struct net_dev dev = {0};
    const char *text = HEADINGS "\n"
                                "dummy0: No statistics available.\n"
                                "eth1 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                "eth2: 1 2 3 4 5 6 7 8 9 10 11\n"
                                "eth3: 1 2 3 4 5 6 7 8 9 10 11 12x 13 14 15 16\n"
                                "eth4: 1 2 3 4 5 6 7 8 -9 10 11 12 13 14 15 16\n"
                                "eth5: 99999999999999999999 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                "   : 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                ": 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                "eth6: 1 2 3 eth7: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                "good: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 18446744073709551616 17\n"
                                "max: 18446744073709551615 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n";
    assert_int_equal(net_dev_parse(str_of(text), &dev), 0);
    assert_int_equal(dev.count, 2);
    assert_string_equal(dev.items[0].name, "good");
    assert_int_equal(dev.items[0].tx_bytes, 9);
    assert_string_equal(dev.items[1].name, "max");
    assert_true(dev.items[1].rx_bytes == UINT64_MAX);
    net_dev_fini(&dev);
}

static void test_cut_text_is_not_trusted(void **state)
{
    (void)state;
    struct net_dev dev = {0};
    const char *text = HEADINGS "lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n"
                                "eth0: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 1";
    assert_int_equal(net_dev_parse(str_of(text), &dev), -EBADMSG);
    assert_int_equal(dev.count, 0);
    net_dev_fini(&dev);
}

static void test_headings(void **state)
{
    (void)state;
    struct net_dev dev = {0};
    assert_int_equal(net_dev_parse(str_of(kernel_6_18), &dev), 0);
    assert_int_equal(net_dev_parse((struct str){0}, &dev), -EINVAL);
    assert_int_equal(dev.count, 0);
    assert_int_equal(net_dev_parse(STR("Inter-|  Receive |  Transmit\n"), &dev), -EINVAL);
    assert_int_equal(net_dev_parse(STR("lo: 1 2 3\neth0: 1 2 3\n"), &dev), -EINVAL);
    assert_int_equal(net_dev_parse(STR(HEADINGS), &dev), 0);
    assert_int_equal(dev.count, 0);
    net_dev_fini(&dev);
}

static void test_row_limit(void **state)
{
    (void)state;
    size_t size = (NET_DEV_ROWS_MAX + 1) * 48 + sizeof(HEADINGS);
    char *text = malloc(size);
    assert_non_null(text);
    size_t n = (size_t)snprintf(text, size, "%s", HEADINGS);
    for (unsigned i = 0; i < NET_DEV_ROWS_MAX; i++)
        n += (size_t)snprintf(text + n, size - n, "veth%u: %u 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n", i, i);
    struct net_dev dev = {0};
    assert_int_equal(net_dev_parse((struct str){text, n}, &dev), 0);
    assert_int_equal(dev.count, NET_DEV_ROWS_MAX);
    assert_string_equal(dev.items[4095].name, "veth4095");
    assert_int_equal(dev.items[4095].rx_bytes, 4095);
    n += (size_t)snprintf(text + n, size - n, "one: 1 0 0 0 0 0 0 0 1 0 0 0 0 0 0 0\n");
    assert_int_equal(net_dev_parse((struct str){text, n}, &dev), -E2BIG);
    assert_int_equal(dev.count, 0);
    net_dev_fini(&dev);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_kernel),
        cmocka_unit_test(test_glued_number_and_alias),
        cmocka_unit_test(test_odd_names),
        cmocka_unit_test(test_broken_lines_are_skipped),
        cmocka_unit_test(test_cut_text_is_not_trusted),
        cmocka_unit_test(test_headings),
        cmocka_unit_test(test_row_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
