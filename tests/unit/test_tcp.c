/* SPDX-License-Identifier: Apache-2.0 */
/* TCP of a namespace: net/snmp, and lists of sockets as they come, cut, foreign and hostile. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "tcp_answer.h"

#define TCP_HEADINGS                                                                                                   \
    "Ip: 1\nTcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab "      \
    "InSegs "                                                                                                          \
    "OutSegs RetransSegs InErrs OutRsts InCsumErrors\n"

static void test_counters(void **state)
{
    (void)state;
    struct tcp_counters counters;
    const char *text = "Ip: Forwarding\nIp: 1\n" TCP_HEADINGS "Tcp: 1 200 120000 -1 5 7 1 2 3 100 90 4 0 6 0\nUdp: 1\n";
    assert_int_equal(tcp_counters_parse(str_of(text), &counters), 0);
    assert_int_equal(counters.opens, 12);
    assert_int_equal(counters.segments, 190);
    static const char *const broken[] = {"", TCP_HEADINGS, TCP_HEADINGS "Tcp: 1 200 120000 -1 5 7 1 2 3 100 90",
        TCP_HEADINGS "Tcp: 1 200\n", TCP_HEADINGS "Tcp: 1 200 120000 -1 5 x 1 2 3 100 90\n",
        TCP_HEADINGS "Tcp: 1 200 120000 -1 5 7 1 2 3 100\n"};
    for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
        assert_int_equal(tcp_counters_parse(str_of(broken[i]), &counters), -EBADMSG);
}

static void test_requests(void **state)
{
    (void)state;
    struct tcp_request request;
    tcp_request_init(&request, 7);
    assert_int_equal(request.header.nlmsg_len, sizeof(request));
    assert_int_equal(request.header.nlmsg_seq, 7);
    assert_true(request.header.nlmsg_flags & NLM_F_DUMP);
    struct tcp_name name = {AF_INET6, {.idiag_sport = 1, .idiag_cookie = {3, 4}}};
    struct tcp_request_one one;
    tcp_request_one_init(&one, &name, 8);
    assert_int_equal(one.header.nlmsg_len, sizeof(one));
    assert_false(one.header.nlmsg_flags & NLM_F_DUMP & ~NLM_F_REQUEST);
    assert_int_equal(one.body.sdiag_family, AF_INET6);
    assert_int_equal(one.body.id.idiag_cookie[1], 4);
}

static void test_rows(void **state)
{
    (void)state;
    struct tcp_answer answer = {0};
    struct tcp_row row;
    size_t at = 0;
    tcp_answer_row(&answer, 5, &(struct tcp_fake){.inode = 11, .cookie = 1, .received = 1000, .acked = 51});
    tcp_answer_row(&answer, 4, &(struct tcp_fake){.inode = 12, .cookie = 2});
    tcp_answer_row(&answer, 5, &(struct tcp_fake){.state = TCP_LAST_ACK_STATE, .received = 1001, .acked = 52});
    tcp_answer_row(&answer, 5, &(struct tcp_fake){.inode = 13, .is_old = true});
    assert_int_equal(tcp_answer_next(answer.bytes, answer.n, 5, &at, &row), TCP_ROW);
    assert_int_equal(row.inode, 11);
    assert_true(row.is_connected && row.has_bytes);
    /* A SYN and a FIN are no data. */
    assert_int_equal(row.received, 1000);
    assert_int_equal(row.sent, 50);
    assert_int_equal(tcp_answer_next(answer.bytes, answer.n, 5, &at, &row), TCP_ROW);
    assert_int_equal(row.inode, 0);
    assert_false(row.is_connected);
    assert_int_equal(row.received, 1000);
    assert_int_equal(row.sent, 50);
    assert_int_equal(tcp_answer_next(answer.bytes, answer.n, 5, &at, &row), TCP_ROW);
    assert_int_equal(row.inode, 13);
    assert_false(row.has_bytes);
    assert_int_equal(tcp_answer_next(answer.bytes, answer.n, 5, &at, &row), TCP_END);
}

static int next_of(const struct tcp_answer *answer, size_t n)
{
    struct tcp_row row;
    size_t at = 0;
    return tcp_answer_next(answer->bytes, n, 1, &at, &row);
}

static void test_ends_and_errors(void **state)
{
    (void)state;
    struct tcp_answer answer = {0};
    tcp_answer_error(&answer, NLMSG_DONE, 1, 0);
    assert_int_equal(next_of(&answer, answer.n), TCP_DONE);
    answer.n = 0;
    tcp_answer_error(&answer, NLMSG_ERROR, 1, -ENOENT);
    assert_int_equal(next_of(&answer, answer.n), -ENOENT);
    answer.n = 0;
    tcp_answer_error(&answer, NLMSG_ERROR, 1, INT32_MIN);
    assert_int_equal(next_of(&answer, answer.n), -EBADMSG);
    answer.n = 0;
    tcp_answer_message(&answer, NLMSG_ERROR, 1, 0);
    assert_int_equal(next_of(&answer, answer.n), -EBADMSG);
    ((struct nlmsghdr *)(void *)answer.bytes)->nlmsg_flags = 0x10;
    ((struct nlmsghdr *)(void *)answer.bytes)->nlmsg_type = NLMSG_DONE;
    assert_int_equal(next_of(&answer, answer.n), -EINTR);
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    struct tcp_answer answer = {0};
    tcp_answer_row(&answer, 1, &(struct tcp_fake){.inode = 1});
    for (size_t n = 1; n < answer.n; n++)
        assert_int_equal(next_of(&answer, n), -EBADMSG);
    assert_int_equal(next_of(&answer, answer.n), TCP_ROW);
    struct nlmsghdr *head = (void *)answer.bytes;
    head->nlmsg_len -= TCP_INFO_BYTES + 2; /* within the header of the attribute */
    assert_int_equal(next_of(&answer, answer.n), -EBADMSG);
    head->nlmsg_len = 3;
    assert_int_equal(next_of(&answer, answer.n), -EBADMSG);
}

static struct tcp_name name_of(const struct tcp_fake *fake)
{
    struct tcp_answer answer = {0};
    struct tcp_row row = {0};
    size_t at = 0;
    tcp_answer_row(&answer, 1, fake);
    assert_int_equal(tcp_answer_next(answer.bytes, answer.n, 1, &at, &row), TCP_ROW);
    return row.name;
}

static void test_two_ends(void **state)
{
    (void)state;
    struct tcp_name client = name_of(&(struct tcp_fake){.cookie = 1, .port = 40000, .peer = 80});
    struct tcp_name server = name_of(&(struct tcp_fake){.cookie = 2, .port = 80, .peer = 40000});
    struct tcp_name mapped = name_of(&(struct tcp_fake){.cookie = 3, .port = 80, .peer = 40000, .is_mapped = true});
    struct tcp_name other = name_of(&(struct tcp_fake){.cookie = 4, .port = 80, .peer = 40001});
    assert_true(tcp_name_is_other_end(&client, &server) && tcp_name_is_other_end(&server, &client));
    assert_true(tcp_name_is_other_end(&client, &mapped) && tcp_name_is_other_end(&mapped, &client));
    assert_false(tcp_name_is_other_end(&client, &other) || tcp_name_is_other_end(&client, &client));
    mapped.id.idiag_src[2] = 0;
    assert_false(tcp_name_is_other_end(&client, &mapped));
    server.id.idiag_src[0]++;
    assert_false(tcp_name_is_other_end(&client, &server));
    assert_true(tcp_name_is_same(&client, &client));
    assert_false(tcp_name_is_same(&client, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counters),
        cmocka_unit_test(test_requests),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_ends_and_errors),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_two_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
