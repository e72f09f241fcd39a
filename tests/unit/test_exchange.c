/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <poll.h>
#include <stdio.h>

#include "stream/exchange.h"

static bool rings(int fd)
{
    struct pollfd one = {.fd = fd, .events = POLLIN};
    return poll(&one, 1, 0) == 1;
}

static int set_up(void **state)
{
    static struct exchange exchange;
    *state = &exchange;
    return exchange_init(&exchange, NULL);
}

static int tear_down(void **state)
{
    exchange_fini(*state);
    return 0;
}

static void test_rows_go_over(void **state)
{
    struct exchange *exchange = *state;
    struct buf rows;
    buf_init(&rows, EXCHANGE_ROWS_BYTES_MAX);
    struct exchange_news news;
    uint64_t lost;
    assert_false(rings(exchange->wake_fd));
    exchange_push_row(exchange, STR("1,2\n"));
    exchange_push_row(exchange, STR("3,4\n"));
    assert_true(rings(exchange->wake_fd));
    exchange_pop(exchange, &rows, &news, &lost);
    assert_false(rings(exchange->wake_fd));
    assert_int_equal(news.rows, 2);
    assert_true(news.has_sampled);
    assert_false(news.is_over);
    assert_int_equal(lost, 0);
    assert_int_equal(rows.len, 8);
    assert_memory_equal(rows.data, "1,2\n3,4\n", 8);
    buf_clear(&rows);
    exchange_pop(exchange, &rows, &news, &lost);
    assert_int_equal(news.rows, 0);
    assert_int_equal(rows.len, 0);
    buf_fini(&rows);
}

static void test_rows_are_bounded_and_counted(void **state)
{
    struct exchange *exchange = *state;
    static char row[100 * 1024];
    for (int i = 0; i < 12; i++)
        exchange_push_row(exchange, (struct str){row, sizeof(row)});
    struct buf rows;
    buf_init(&rows, EXCHANGE_ROWS_BYTES_MAX);
    struct exchange_news news;
    uint64_t lost;
    exchange_pop(exchange, &rows, &news, &lost);
    assert_int_equal(news.rows, 10);
    assert_int_equal(lost, 2);
    assert_int_equal(rows.len, 10 * sizeof(row));
    buf_clear(&rows);
    exchange_push_row(exchange, STR("x\n"));
    exchange_pop(exchange, &rows, &news, &lost);
    assert_int_equal(news.rows, 1);
    assert_int_equal(lost, 0);
    buf_fini(&rows);
}

static void test_end_and_earlier_end(void **state)
{
    struct exchange *exchange = *state;
    struct end_facts end = {.exit_code = some_i64(3), .is_failed = true, .finished_secs = 17};
    exchange_end(exchange, &end, "shared", 1000);
    exchange_give_up(exchange, 2000);
    exchange_give_up(exchange, 500);
    struct buf rows;
    buf_init(&rows, EXCHANGE_ROWS_BYTES_MAX);
    struct exchange_news news;
    uint64_t lost;
    exchange_pop(exchange, &rows, &news, &lost);
    assert_true(news.is_over);
    assert_int_equal(news.end.exit_code.v, 3);
    assert_string_equal(news.server_allocation, "shared");
    assert_int_equal(news.give_up_ns, 500);
    assert_false(exchange_is_done(exchange));
    exchange_finish(exchange);
    assert_true(exchange_is_done(exchange));
    assert_true(rings(exchange->notice_fd));
    buf_fini(&rows);
}

static void test_notices_in_order_and_bounded(void **state)
{
    struct exchange *exchange = *state;
    struct exchange_notice notice;
    for (int i = 0; i < EXCHANGE_NOTICES_MAX + 5; i++)
        exchange_notify(exchange, LOG_INFO, "notice %d", i);
    assert_true(rings(exchange->notice_fd));
    for (int i = 0; i < EXCHANGE_NOTICES_MAX - 1; i++) {
        char want[32];
        (void)snprintf(want, sizeof(want), "notice %d", i);
        assert_true(exchange_next_notice(exchange, &notice));
        assert_string_equal(notice.text, want);
    }
    assert_true(exchange_next_notice(exchange, &notice));
    assert_int_equal(notice.level, LOG_WARNING);
    assert_non_null(strstr(notice.text, "not shown"));
    assert_false(exchange_next_notice(exchange, &notice));
    assert_false(rings(exchange->notice_fd));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_rows_go_over, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rows_are_bounded_and_counted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_end_and_earlier_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_notices_in_order_and_bounded, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
