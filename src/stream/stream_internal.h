/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The remote run, in the one thread that talks to the network. It takes rows as they come, even while a server keeps it
 * waiting; compresses, spools and delivers them; and ends the run at every target or leaves it in the spool.
 */
#ifndef STREAM_STREAM_INTERNAL_H
#define STREAM_STREAM_INTERNAL_H

#include "base/buf.h"
#include "base/err.h"
#include "model/sample.h"
#include "model/totals.h"
#include "stream/batch.h"
#include "stream/delivery.h"
#include "stream/exchange.h"
#include "stream/payload.h"
#include "stream/target.h"

struct worker {
    const struct stream_options *options;
    struct exchange *exchange;
    struct net_wait wait;
    struct stream_cancel cancel; /* watched where there is no other thread to do it; fd -1 otherwise */
    struct target_clients *clients; /* by target */
    struct spool spool;
    struct spool_run run;
    struct batch batch;
    struct run_state state;
    struct delivery delivery;
    struct run_facts facts;
    struct exchange_news news;
    struct buf rows; /* taken and not yet in the batch */
    int64_t started_ns; /* monotonic */
    int64_t seal_ns; /* when the open batch is sealed; DELIVERY_NEVER: it is empty */
    int64_t leave_ns; /* when a request that was under way as the run ended has had its time; 0: the run goes on */
    size_t next_target; /* the first to be asked, of those that are due at the same time */
    bool is_ending; /* what is under way now was begun after the end */
    bool is_introduced; /* the machine is known, and the targets may be informed */
    bool is_spool_open;
    uint64_t lost_rows, taken_rows; /* to all targets */
    uint64_t passing_rows; /* in the batch that nothing has room for */
    uint64_t dropped_rows; /* of the batch `dropped`, which may be on its way while it was given up; 0: none */
    uint32_t dropped;
    bool is_stepping; /* a target makes an attempt */
    bool is_prompt_acting; /* one that is prompt does, perhaps while another one waits */
    bool is_full; /* and it was reported */
    bool is_journal_failing; /* rows of the open batch are not on the disk */
};

struct stream;

/* stream_new behind its checks: with these options. Returns 0 or a negative errno with a message. */
int stream_new_with(struct stream **ret_stream, const struct stream_options *options, struct err *err);

/* Quick; opens nothing. Returns 0 or -ENOMEM. */
int worker_init(struct worker *worker, const struct stream_options *options, struct exchange *exchange);
void worker_fini(struct worker *worker);

/* In its thread: until there is something to do. Rows cannot come before that. False where the thread is wanted back.
 */
bool worker_wait_for_begin(struct worker *worker);

/* The whole of it, until the end of the run and at most to give_up_ns of the news. */
void worker_run(struct worker *worker);

/* Where there is no thread: takes the rows without touching the network. */
void worker_take_rows(struct worker *worker);

/* Of worker.c, for its caller and for worker_end.c. */
int64_t worker_now(const struct worker *worker); /* monotonic */
void worker_seal(struct worker *worker);
void worker_settle_passing(struct worker *worker); /* the batch that nothing had room for: kept now, or lost */
int64_t worker_next_delivery(const struct worker *worker);
void worker_deliver_prompt(struct worker *worker); /* of all that are prompt and due */
void worker_deliver(struct worker *worker, int64_t deadline_ns); /* one attempt of another target that is due */
void worker_wait(struct worker *worker, int64_t until_ns); /* for news, for a target, or for the time; takes rows */
void worker_open_spool(struct worker *worker); /* and the targets; again: nothing happens */
void worker_introduce(struct worker *worker); /* the description of the run is complete */

/* worker_end.c: delivers what is left until everything is there or it has to give up; then cleans up or announces. */
void worker_end(struct worker *worker);

/*
 * Had the job its machine for itself? The means of a run, of the host and of the tree, side by side. A fixed size
 * whatever the length of the run.
 */
struct mean {
    double sum;
    uint64_t count;
};

struct means {
    struct mean host_cores, host_memory_mib, host_gpus, host_vram_mib;
    struct mean tree_cores, tree_memory_mib, tree_gpus, tree_vram_mib;
};

void means_add(struct means *means, const struct sample *sample, const struct sample_totals *totals);

/* "shared", "dedicated", or NULL where there is nothing to compare. */
const char *means_allocation(const struct means *means);

/*
 * --upload-spool: delivers what earlier runs left behind, one run after the other. Secrets and the environment come
 * from the options, everything else from the state of each run. Runs in progress are left alone. The report gets a line
 * for each run. Returns how many runs could not be delivered, or a negative errno with a message.
 */
int upload_spool(const struct stream_options *options, struct buf *report, struct err *err);

#endif
