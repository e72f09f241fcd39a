/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the sampling thread and the worker exchange data: rows and the end of the run go one way, notices for the user
 * the other. Both are bounded, and neither waits for the other with the lock held.
 */
#ifndef STREAM_EXCHANGE_H
#define STREAM_EXCHANGE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/str.h"
#include "model/run_facts.h"

/* "wait in DIRECTORY; deliver them with: COMMAND" */
enum { EXCHANGE_LATER_BYTES = 512 };

enum { EXCHANGE_ROWS_BYTES_MAX = 1024 * 1024, EXCHANGE_NOTICES_MAX = 32, EXCHANGE_NOTICE_BYTES = 640 };

struct exchange_notice {
    enum log_level level;
    char text[EXCHANGE_NOTICE_BYTES];
};

/* A request to stop waiting for the end. */
struct stream_cancel {
    int fd; /* -1: none */
    bool (*is_cancelled)(int fd); /* asked when it has something to read, which it takes */
};

/* What the sampling thread knows and the worker does not. */
struct exchange_news {
    size_t rows; /* how many lines were taken */
    bool has_sampled; /* at least one sample was taken: GPUs are known as far as they ever are */
    char gpu_model[160];
    struct opt_u64 gpu_count, gpu_memory_mib;
    bool is_begun; /* the command runs: there is something to do */
    bool is_retired; /* before that: the thread is wanted back */
    bool is_over;
    struct end_facts end;
    const char *server_allocation; /* with is_over; NULL: unknown */
    int64_t give_up_ns; /* with is_over: monotonic; then nothing may take longer */
};

struct exchange {
    pthread_mutex_t lock;
    int wake_fd; /* readable: there is news for the worker */
    int notice_fd; /* readable: there are notices, or the worker is done */
    struct buf rows;
    uint64_t lost_rows; /* that found no room: the worker did not come for them */
    struct exchange_news news;
    struct str metrics, summary; /* of the whole run, set before its end; the stream's */
    struct exchange_notice notices[EXCHANGE_NOTICES_MAX];
    size_t notice_count;
    bool is_done; /* by the worker */
    char later[EXCHANGE_LATER_BYTES]; /* where what is not delivered is, and how it is later; "": nowhere */
};

/* 0 or a negative errno with a message. */
int exchange_init(struct exchange *exchange, struct err *err);
void exchange_fini(struct exchange *exchange);

/* By the sampling thread. */
void exchange_push_row(struct exchange *exchange, struct str row);
void exchange_set_gpus(struct exchange *exchange, const struct host_facts *host);
void exchange_end(
    struct exchange *exchange, const struct end_facts *end, const char *server_allocation, int64_t give_up_ns);
void exchange_give_up(struct exchange *exchange, int64_t give_up_ns); /* earlier than was said */
void exchange_begin(struct exchange *exchange);
void exchange_retire(struct exchange *exchange);
bool exchange_is_done(struct exchange *exchange);
void exchange_get_later(struct exchange *exchange, char ret_later[static EXCHANGE_LATER_BYTES]);

/* Logs the notices that wait, oldest first. */
void exchange_log(struct exchange *exchange);

/* The oldest notice; false where there is none. */
bool exchange_next_notice(struct exchange *exchange, struct exchange_notice *ret_notice);

/* By the worker: what is new, leaving rows and bell alone. */
void exchange_peek(struct exchange *exchange, struct exchange_news *ret_news);

/* By the worker: exchanges the waiting rows for the (empty) buffer of the caller. */
void exchange_pop(struct exchange *exchange, struct buf *rows, struct exchange_news *ret_news, uint64_t *ret_lost);
void exchange_finish(struct exchange *exchange);
void exchange_set_later(struct exchange *exchange, struct str later);

/* A notice for the user, logged by the sampling thread. The last slot is kept for "more were not shown". */
__attribute__((format(printf, 3, 4))) void exchange_notify(
    struct exchange *exchange, enum log_level level, const char *fmt, ...);

#endif
