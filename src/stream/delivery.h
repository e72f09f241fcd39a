/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What both kinds of remote storage have in common: the run in the spool, its state, and when to try again after a
 * failure. A target is asked when it wants to act next, and told to make one attempt.
 */
#ifndef STREAM_DELIVERY_H
#define STREAM_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "net/backoff.h"
#include "net/http.h"
#include "stream/exchange.h"
#include "stream/number_set.h"
#include "stream/run_state.h"
#include "stream/spool/spool.h"

/* Attempts of a round, the longest time of one request, and how long before the expiry new credentials are fetched. */
enum { DELIVERY_ATTEMPTS = 3, DELIVERY_REFRESH_SECS = 300 };
#define DELIVERY_REQUEST_NS (30 * NS_PER_SEC)
#define DELIVERY_NEVER INT64_MAX

struct delivery {
    struct spool_run *run;
    struct run_state *state;
    struct http_client *http;
    const struct clock *clock;
    struct exchange *exchange; /* for what people should know */
    int64_t round_ns; /* between two rounds of attempts */
    bool is_over; /* the run has ended: what is left is all there is */
    bool is_spool_trouble; /* the disk does not take everything; it has been told */
    unsigned unreadable; /* batches that were in the spool and could not be read back */
};

int64_t delivery_now(const struct delivery *delivery); /* monotonic */
int64_t delivery_unix_secs(const struct delivery *delivery);

/* When to try again. Attempts of a round follow each other with growing pauses; after the last one the next round is
 * waited for. */
struct retry {
    struct backoff backoff;
    unsigned failures; /* in a row */
    int64_t next_ns; /* monotonic; not before */
    int64_t asked_ns; /* the part of it that the server asked for; 0: it did not */
};

void retry_init(struct retry *retry, const struct delivery *delivery, uint64_t salt);
void retry_fail(struct retry *retry, const struct delivery *delivery, int64_t retry_after_secs);
void retry_succeed(struct retry *retry);

/* There is no later: our own pauses are over, the server's word holds. */
void retry_hurry(struct retry *retry);

/* Has a whole round failed? Then it is time to say so. */
bool retry_is_serious(const struct retry *retry);

/* Trouble with a target: told once when it is serious, taken back when it is over, kept for the last word. */
struct trouble {
    bool is_said;
    char text[sizeof(((struct err *)0)->msg)]; /* the newest; "": none */
    char refusal[sizeof(((struct err *)0)->msg)]; /* of an object, for good: no later success makes up for it */
};

void trouble_note(struct trouble *trouble, const struct err *err);
void trouble_say(struct trouble *trouble, const struct delivery *delivery, const char *consequence);
void trouble_end(struct trouble *trouble, const struct delivery *delivery, const char *words);

/* Why not everything was delivered; where the newest error was reported already, the short text instead of it. */
const char *trouble_reason(const struct trouble *trouble, const char *short_text);

/* An attempt failed and may work later: notes it, plans the next one, and tells when a whole round has failed. */
#define DELIVERY_KEPT "the data waits in the spool until it works"
void delivery_fail(const struct delivery *delivery, struct retry *retry, struct trouble *trouble, const struct err *err,
    int64_t retry_after_secs);

/* The oldest batch that is in neither set; false where there is none. */
bool delivery_next_batch(const struct delivery *delivery, const struct number_set *delivered,
    const struct number_set *refused, uint32_t *ret_number);

/* Refused for good: it stays in the spool, and is tried once more at the end of the run. False where no more can be
 * kept in mind. */
bool delivery_refuse_batch(const struct delivery *delivery, struct trouble *trouble, struct number_set *refused,
    uint32_t number, const struct err *err);

/*
 * A whole batch, replacing the content of buf. Returns 0; -ENODATA where it cannot be read or is broken: it is set
 * aside, which is reported, and the run goes on without it; or another negative errno that may pass, with a message.
 */
int delivery_read_batch(struct delivery *delivery, uint32_t number, struct buf *buf, struct err *err);

/* Notes a delivered batch in the state on disk; batches that every target has are dropped. False as above. */
bool delivery_note_batch(struct delivery *delivery, struct number_set *delivered, uint32_t number);
int delivery_save(struct delivery *delivery); /* 0 or a negative errno, which has been reported */
void delivery_note(struct delivery *delivery); /* without waiting for the disk, unless one was synced already */

/* How the run ended: at once and without waiting for the disk, and then with it. 0 or a negative errno with a message.
 */
int delivery_note_end(struct delivery *delivery, struct err *err);

/* One complaint about the spool, whatever part of it fails; it is over when a batch was taken by the disk. */
void delivery_spool_fails(struct delivery *delivery, const char *why);
void delivery_spool_works(struct delivery *delivery);

/* What a slow line may need for so many bytes, while nobody waits for it. */
int64_t delivery_extra_ns(const struct delivery *delivery, size_t bytes);

/* "000017.csv.gz" below a folder. */
void delivery_put_key(struct buf *buf, const char *prefix, const char *folder, uint32_t number);

/* How many batches there have been so far. */
uint32_t delivery_batches(const struct delivery *delivery);

#endif
