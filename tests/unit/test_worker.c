/* SPDX-License-Identifier: Apache-2.0 */
/* A run with two targets of which one is dead, and with nothing that has room for what it does not take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "codec/gzip.h"
#include "loopback.h"
#include "spool_scenario.h"
#include "stream/stream_internal.h"

enum { ROW_BYTES = 60 * 1024, ROWS_AT_ONCE = 12, ROUNDS = 12, PATIENCE_SECS = 30, NO_ROOM = 1 };

/* A bucket that takes everything. */
struct store {
    int fd;
    unsigned port;
    pthread_t thread;
    atomic_uint rows; /* in all batches */
};

static int count_rows(void *context, struct str piece)
{
    unsigned *lines = context;
    for (size_t i = 0; i < piece.n; i++)
        *lines += piece.p[i] == '\n';
    return 0;
}

static void *serve(void *context)
{
    static const char answer[] = "HTTP/1.1 200 OK\r\nETag: \"x\"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    struct store *store = context;
    for (;;) {
        int fd = accept(store->fd, NULL, NULL);
        if (fd < 0)
            return NULL;
        struct loopback_request request;
        loopback_read(fd, &request);
        unsigned lines = 0;
        if (strstr(buf_cstr(&request.head), ".csv.gz HTTP/1.1") &&
            gzip_unpack((struct str){request.body.data, request.body.len}, count_rows, &lines) == 0)
            atomic_fetch_add(&store->rows, lines - 1);
        (void)!write(fd, answer, sizeof(answer) - 1);
        (void)close(fd);
        buf_fini(&request.head);
        buf_fini(&request.body);
    }
}

static unsigned listen_on(int *ret_fd, bool is_open)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof(at);
    *ret_fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(*ret_fd >= 0);
    assert_int_equal(bind(*ret_fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(*ret_fd, (struct sockaddr *)&at, &bytes), 0);
    if (is_open)
        assert_int_equal(listen(*ret_fd, 16), 0);
    return ntohs(at.sin_port);
}

static void no_host(void *context, struct host_facts *ret_host)
{
    (void)context;
    (void)ret_host;
}

static void no_cloud(void *context, const struct net_wait *wait, struct cloud_facts *ret_cloud)
{
    (void)context;
    (void)wait;
    (void)ret_cloud;
}

static void *work(void *context)
{
    worker_run(context);
    return NULL;
}

/* Rows that cannot be compressed by much. */
static void give_rows(struct exchange *exchange)
{
    static char row[ROW_BYTES];
    static uint64_t seed = 88172645463325252;
    for (int i = 0; i < ROWS_AT_ONCE; i++) {
        for (size_t k = 0; k + 1 < sizeof(row); k++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            row[k] = (char)('0' + seed % 64);
        }
        row[sizeof(row) - 1] = '\n';
        exchange_push_row(exchange, (struct str){row, sizeof(row)});
    }
}

static bool await_rows(struct store *store, unsigned rows)
{
    for (int i = 0; i < PATIENCE_SECS * 100; i++) {
        if (atomic_load(&store->rows) >= rows)
            return true;
        (void)nanosleep(&(struct timespec){.tv_nsec = 10 * NS_PER_MS}, NULL);
    }
    return false;
}

static void assert_notices(struct exchange *exchange)
{
    struct exchange_notice notice;
    bool is_named = false;
    unsigned long long lost = 0;
    while (exchange_next_notice(exchange, &notice)) {
        const char *count = strstr(notice.text, "streaming: ");
        is_named |= strstr(notice.text, "samples are lost to Sentinel until that changes") != NULL;
        if (count && strstr(notice.text, "samples are lost to Sentinel") && !strstr(notice.text, "until"))
            lost = strtoull(count + strlen("streaming: "), NULL, 10);
        if (strstr(notice.text, "lost to the bucket") || strstr(notice.text, "lost to the targets"))
            fail_msg("%s", notice.text);
    }
    assert_true(is_named);
    assert_in_range(lost, 1, ROUNDS * ROWS_AT_ONCE - 1);
}

static void test_a_dead_target_costs_the_other_nothing(void **state)
{
    (void)state;
    static char access_key[] = "AWS_ACCESS_KEY_ID=AK", secret_key[] = "AWS_SECRET_ACCESS_KEY=SK";
    static char *environment[] = {access_key, secret_key, NULL};
    static struct store store;
    static struct worker worker;
    static struct exchange exchange;
    struct tree tree;
    char spool[SCENARIO_TEXT_BYTES], endpoint[64], api[64];
    int dead_fd;
    tree_make(&tree);
    store.port = listen_on(&store.fd, true);
    (void)snprintf(spool, sizeof(spool), "%s/spool", tree.path);
    (void)snprintf(endpoint, sizeof(endpoint), "http://127.0.0.1:%u", store.port);
    (void)snprintf(api, sizeof(api), "http://127.0.0.1:%u", listen_on(&dead_fd, false));
    char token[] = "token", uri[] = "s3://mine/runs", region[] = "us-east-1";
    const struct settings settings = {
        .sentinel_token = token,
        .sentinel_url = api,
        .s3_uri = uri,
        .s3_endpoint = endpoint,
        .s3_region = region,
        .s3_path_style = true,
        .environment = environment,
        .interval_ns = NS_PER_SEC,
        .http_heartbeat_ns = 60 * NS_PER_SEC,
        .upload_interval_ns = 50 * NS_PER_MS,
    };
    const struct stream_options options = {
        .settings = &settings,
        .clock = &clock_system,
        .spool_paths = {.given = spool},
        .spool_max_bytes = NO_ROOM,
        .version = "0.0.0",
        .csv_header = "a\n",
        .discover_host = no_host,
        .discover_cloud = no_cloud,
    };
    pthread_t thread;
    assert_int_equal(pthread_create(&store.thread, NULL, serve, &store), 0);
    assert_int_equal(exchange_init(&exchange, NULL), 0);
    assert_int_equal(worker_init(&worker, &options, &exchange), 0);
    exchange_begin(&exchange);
    assert_int_equal(pthread_create(&thread, NULL, work, &worker), 0);
    bool is_there = true;
    for (unsigned round = 1; is_there && round <= ROUNDS; round++) {
        give_rows(&exchange);
        is_there = await_rows(&store, round * ROWS_AT_ONCE);
    }
    int64_t now_ns = clock_read(&clock_system, CLOCK_KIND_MONOTONIC);
    exchange_end(&exchange, &(struct end_facts){0}, NULL, now_ns + 2 * NS_PER_SEC);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(is_there);
    assert_int_equal(atomic_load(&store.rows), ROUNDS * ROWS_AT_ONCE);
    for (size_t i = 0; i < stream_target_count; i++) {
        const struct target_run *target = &worker.state.targets[i];
        if (target->is_wanted)
            assert_int_equal(target->is_done, target->target->is_s3);
    }
    assert_notices(&exchange);
    worker_fini(&worker);
    exchange_fini(&exchange);
    (void)shutdown(store.fd, SHUT_RDWR);
    assert_int_equal(pthread_join(store.thread, NULL), 0);
    (void)close(store.fd);
    (void)close(dead_fd);
    tree_free(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dead_target_costs_the_other_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
