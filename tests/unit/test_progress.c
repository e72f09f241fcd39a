/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a progress line, and when there is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/auto.h"
#include "base/progress.h"
#include "summary/units.h"

static void test_text(void **state)
{
    (void)state;
    static const struct {
        uint64_t done, total;
        double secs;
        const char *want;
    } rows[] = {
        {0, 0, 1, "reading x: 0 B"},
        {1500000, 0, 1, "reading x: 1.5 MB"},
        {0, 1000, 5, "reading x: 0 B of 1 kB, 0 %"},
        {250, 1000, 2, "reading x: 250 B of 1 kB, 25 %, 6 s left"},
        {1000, 1000, 2, "reading x: 1 kB of 1 kB, 100 %, 0 s left"},
        {2000, 1000, 2, "reading x: 2 kB of 1 kB, 100 %, 0 s left"},
        {10, 1000, 10, "reading x: 10 B of 1 kB, 1 %, 17 min left"},
        {1, UINT64_MAX, 10, "reading x: 1 B of 18,447 PB, 0 %"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct progress progress = {.put_bytes = units_put_bytes, .what = "reading x"};
        AUTO_BUF struct buf buf;
        buf_init(&buf, 1024);
        progress_put(&progress, &buf, rows[i].done, rows[i].total, rows[i].secs);
        assert_string_equal(buf_cstr(&buf), rows[i].want);
    }
}

static void test_foreign_names(void **state)
{
    (void)state;
    struct progress progress = {.put_bytes = units_put_bytes, .what = "reading a\033[2J\nb\r"};
    AUTO_BUF struct buf buf;
    buf_init(&buf, 1024);
    progress_put(&progress, &buf, 1, 0, 0);
    assert_string_equal(buf_cstr(&buf), "reading a?[2J?b?: 1 B");
}

static void test_not_at_once_and_not_where_it_is_unwanted(void **state)
{
    (void)state;
    struct progress progress;
    progress_begin(&progress, units_put_bytes, false);
    assert_false(progress.is_enabled);
    progress.began_ns -= INT64_C(10000000000);
    assert_false(progress_is_due(&progress));
    progress.is_enabled = true;
    assert_true(progress_is_due(&progress));
    progress_begin(&progress, units_put_bytes, true);
    progress.is_enabled = true;
    assert_false(progress_is_due(&progress));
    progress_clear(&progress);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_foreign_names),
        cmocka_unit_test(test_not_at_once_and_not_where_it_is_unwanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
