/* SPDX-License-Identifier: Apache-2.0 */
#include "stream/exchange.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/eventfd.h>

#include "base/auto.h"

int exchange_init(struct exchange *exchange, struct err *err)
{
    *exchange = (struct exchange){.wake_fd = -1, .notice_fd = -1};
    buf_init(&exchange->rows, EXCHANGE_ROWS_BYTES_MAX);
    int r = -pthread_mutex_init(&exchange->lock, NULL);
    if (r < 0)
        return err_sys(err, r, "streaming: cannot make a lock");
    exchange->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    exchange->notice_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (exchange->wake_fd < 0 || exchange->notice_fd < 0) {
        r = err_sys(err, err_last(), "streaming: cannot make an eventfd");
        exchange_fini(exchange);
    }
    return r;
}

void exchange_fini(struct exchange *exchange)
{
    fd_close(&exchange->wake_fd);
    fd_close(&exchange->notice_fd);
    buf_fini(&exchange->rows);
    (void)pthread_mutex_destroy(&exchange->lock);
}

static void ring(int fd)
{
    uint64_t one = 1;
    /* A counter at its limit rings already. */
    (void)!write(fd, &one, sizeof(one));
}

static void silence(int fd)
{
    uint64_t count;
    (void)!read(fd, &count, sizeof(count));
}

void exchange_push_row(struct exchange *exchange, struct str row)
{
    (void)pthread_mutex_lock(&exchange->lock);
    buf_append(&exchange->rows, row.p, row.n);
    if (buf_ok(&exchange->rows))
        exchange->news.rows++;
    else
        exchange->lost_rows++;
    exchange->rows.failed = false;
    exchange->news.has_sampled = true;
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->wake_fd);
}

void exchange_set_gpus(struct exchange *exchange, const struct host_facts *host)
{
    (void)pthread_mutex_lock(&exchange->lock);
    (void)str_copy(str_of(host->gpu_model), exchange->news.gpu_model, sizeof(exchange->news.gpu_model));
    exchange->news.gpu_count = host->gpu_count;
    exchange->news.gpu_memory_mib = host->gpu_memory_mib;
    (void)pthread_mutex_unlock(&exchange->lock);
}

void exchange_end(
    struct exchange *exchange, const struct end_facts *end, const char *server_allocation, int64_t give_up_ns)
{
    (void)pthread_mutex_lock(&exchange->lock);
    exchange->news.is_over = true;
    exchange->news.end = *end;
    exchange->news.server_allocation = server_allocation;
    exchange->news.give_up_ns = give_up_ns;
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->wake_fd);
}

void exchange_give_up(struct exchange *exchange, int64_t give_up_ns)
{
    (void)pthread_mutex_lock(&exchange->lock);
    if (give_up_ns < exchange->news.give_up_ns)
        exchange->news.give_up_ns = give_up_ns;
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->wake_fd);
}

void exchange_begin(struct exchange *exchange)
{
    (void)pthread_mutex_lock(&exchange->lock);
    exchange->news.is_begun = true;
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->wake_fd);
}

void exchange_retire(struct exchange *exchange)
{
    (void)pthread_mutex_lock(&exchange->lock);
    exchange->news.is_retired = true;
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->wake_fd);
}

bool exchange_is_done(struct exchange *exchange)
{
    (void)pthread_mutex_lock(&exchange->lock);
    bool is_done = exchange->is_done;
    (void)pthread_mutex_unlock(&exchange->lock);
    return is_done;
}

bool exchange_next_notice(struct exchange *exchange, struct exchange_notice *ret_notice)
{
    (void)pthread_mutex_lock(&exchange->lock);
    bool has = exchange->notice_count > 0;
    if (has) {
        *ret_notice = exchange->notices[0];
        exchange->notice_count--;
        memmove(&exchange->notices[0], &exchange->notices[1], exchange->notice_count * sizeof(exchange->notices[0]));
    } else {
        silence(exchange->notice_fd);
    }
    (void)pthread_mutex_unlock(&exchange->lock);
    return has;
}

void exchange_log(struct exchange *exchange)
{
    struct exchange_notice notice;
    while (exchange_next_notice(exchange, &notice)) {
        if (notice.level == LOG_ERROR)
            log_error("%s", notice.text);
        else if (notice.level == LOG_WARNING)
            log_warning("%s", notice.text);
        else
            log_info("%s", notice.text);
    }
}

void exchange_peek(struct exchange *exchange, struct exchange_news *ret_news)
{
    (void)pthread_mutex_lock(&exchange->lock);
    *ret_news = exchange->news;
    (void)pthread_mutex_unlock(&exchange->lock);
}

void exchange_pop(struct exchange *exchange, struct buf *rows, struct exchange_news *ret_news, uint64_t *ret_lost)
{
    (void)pthread_mutex_lock(&exchange->lock);
    silence(exchange->wake_fd);
    struct buf empty = *rows;
    *rows = exchange->rows;
    exchange->rows = empty;
    buf_clear(&exchange->rows);
    *ret_news = exchange->news;
    *ret_lost = exchange->lost_rows;
    exchange->news.rows = 0;
    exchange->lost_rows = 0;
    (void)pthread_mutex_unlock(&exchange->lock);
}

void exchange_set_later(struct exchange *exchange, struct str later)
{
    (void)pthread_mutex_lock(&exchange->lock);
    (void)str_copy(later, exchange->later, sizeof(exchange->later));
    (void)pthread_mutex_unlock(&exchange->lock);
}

void exchange_get_later(struct exchange *exchange, char ret_later[static EXCHANGE_LATER_BYTES])
{
    (void)pthread_mutex_lock(&exchange->lock);
    memcpy(ret_later, exchange->later, sizeof(exchange->later));
    (void)pthread_mutex_unlock(&exchange->lock);
}

void exchange_finish(struct exchange *exchange)
{
    (void)pthread_mutex_lock(&exchange->lock);
    exchange->is_done = true;
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->notice_fd);
}

void exchange_notify(struct exchange *exchange, enum log_level level, const char *fmt, ...)
{
    struct exchange_notice notice = {.level = level};
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(notice.text, sizeof(notice.text), fmt, args);
    va_end(args);
    (void)pthread_mutex_lock(&exchange->lock);
    if (exchange->notice_count < EXCHANGE_NOTICES_MAX - 1) {
        exchange->notices[exchange->notice_count++] = notice;
    } else if (exchange->notice_count < EXCHANGE_NOTICES_MAX) {
        static const struct exchange_notice more = {
            .level = LOG_WARNING, .text = "further messages about streaming are not shown"};
        exchange->notices[exchange->notice_count++] = more;
    }
    (void)pthread_mutex_unlock(&exchange->lock);
    ring(exchange->notice_fd);
}
