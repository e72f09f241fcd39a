/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/smaps_rollup. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>

#include "kernel/pid.h"

/* As printed by Linux 6.18. */
static const char captured[] = "5638cb6fa000-7ffd5656e000 ---p 00000000 00:00 0                          [rollup]\n"
                               "Rss:                1712 kB\n"
                               "Pss:                 405 kB\n"
                               "Pss_Dirty:           112 kB\n"
                               "Pss_Anon:            111 kB\n"
                               "Pss_File:            293 kB\n"
                               "Pss_Shmem:             0 kB\n"
                               "Shared_Clean:       1512 kB\n"
                               "Private_Dirty:       112 kB\n"
                               "Anonymous:           112 kB\n"
                               "KSM:                   4 kB\n"
                               "Swap:                  0 kB\n"
                               "SwapPss:               0 kB\n"
                               "Locked:                0 kB\n";

static void test_ordinary(void **state)
{
    (void)state;
    struct smaps_rollup rollup;
    assert_int_equal(smaps_rollup_parse(str_of(captured), &rollup), 0);
    assert_int_equal(rollup.rss_kib, 1712);
    assert_int_equal(rollup.pss_kib, 405);
    assert_int_equal(rollup.anonymous_kib.v, 112);
    assert_int_equal(rollup.pss_anon_kib.v, 111);
    assert_int_equal(rollup.ksm_kib.v, 4);
}

static void test_linux_4_14(void **state)
{
    (void)state;
    struct smaps_rollup rollup;
    assert_int_equal(
        smaps_rollup_parse(STR("00400000-7fff1c3ad000 ---p 00000000 00:00 0                              [rollup]\n"
                               "Rss:             1048576 kB\n"
                               "Pss:             1048575 kB\n"
                               "Shared_Clean:          1 kB\n"),
            &rollup),
        0);
    assert_int_equal(rollup.rss_kib, 1048576);
    assert_int_equal(rollup.pss_kib, 1048575);
    assert_false(rollup.anonymous_kib.has || rollup.pss_anon_kib.has || rollup.ksm_kib.has);
}

static void test_other_order_and_keys(void **state)
{
    (void)state;
    struct smaps_rollup rollup;
    assert_int_equal(smaps_rollup_parse(STR("Pss_Dirty: 1 kB\nSwapPss: 2 kB\nPss: 18446744073709551615 kB\n\n"
                                            "RssAnon: 4 kB\nRss: 0 kB\n"),
                         &rollup),
        0);
    assert_int_equal(rollup.rss_kib, 0);
    assert_true(rollup.pss_kib == UINT64_MAX);
}

/* Whole as soon as both lines are; what is cut behind them does no harm. */
static void test_every_prefix(void **state)
{
    (void)state;
    const char *end = strstr(captured, "Pss_Dirty");
    size_t needed = (size_t)(end - captured);
    for (size_t n = 0; n < sizeof(captured); n++) {
        /* A block of exactly this size lets the sanitizer see a read behind the end. */
        char *text = malloc(n > 0 ? n : 1);
        assert_non_null(text);
        memcpy(text, captured, n);
        struct smaps_rollup rollup = {.rss_kib = 42, .pss_kib = 42};
        assert_int_equal(smaps_rollup_parse((struct str){text, n}, &rollup), n < needed ? -EINVAL : 0);
        assert_int_equal(rollup.pss_kib, n < needed ? 42 : 405);
        free(text);
    }
}

static void test_broken(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "\n",
        "00400000-7fff1c3ad000 ---p 00000000 00:00 0    [rollup]\n",
        "Rss: 1 kB\n",
        "Pss: 1 kB\n",
        "Rss: 1 kB\nSwapPss: 1 kB\n",
        "Rss: 1 kB\n Pss: 1 kB\n",
        "Rss: 1 kB Pss: 1 kB\n",
        "Rss: 1 kB\nPss: 2 kB",
        "Rss: 1 kB\nPss: kB\n",
        "Rss: 1 kB\nPss:\n2 kB\n",
        "Rss: 1 kB\nPss: 2\n",
        "Rss: 1 kB\nPss: 2 k\n",
        "Rss: 1 kB\nPss: 2 kB \n",
        "Rss: 1 kB\nPss: 2 MB\n",
        "Rss: 1 kB\nPss: 2kB\n",
        "Rss: 1 kB\nPss: -2 kB\n",
        "Rss: 1.5 kB\nPss: 2 kB\n",
        "Rss: 1 kB\nPss: 18446744073709551616 kB\n",
    };
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        struct smaps_rollup rollup = {.rss_kib = 42, .pss_kib = 42};
        assert_int_equal(smaps_rollup_parse(str_of(texts[i]), &rollup), -EINVAL);
        assert_int_equal(rollup.rss_kib, 42);
        assert_int_equal(rollup.pss_kib, 42);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ordinary),
        cmocka_unit_test(test_linux_4_14),
        cmocka_unit_test(test_other_order_and_keys),
        cmocka_unit_test(test_every_prefix),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
