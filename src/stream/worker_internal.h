/* SPDX-License-Identifier: Apache-2.0 */
/* What worker.c, worker_start.c and worker_end.c share. */
#ifndef STREAM_WORKER_INTERNAL_H
#define STREAM_WORKER_INTERNAL_H

#include "stream/worker.h"

/* worker.c */
int64_t worker_now(const struct worker *worker); /* monotonic */
void worker_seal(struct worker *worker);
void worker_settle_passing(struct worker *worker); /* the batch that nothing had room for: kept now, or lost */
int64_t worker_next_delivery(const struct worker *worker);
void worker_deliver(struct worker *worker, int64_t deadline_ns); /* one attempt of a target that is due */

/* worker_start.c */
void worker_make_facts(struct worker *worker);
void worker_open_spool(struct worker *worker);
void worker_introduce(struct worker *worker);
void worker_make_bodies(struct worker *worker);

/* worker_end.c: delivers what is left until everything is there or it has to give up; then cleans up or announces. */
void worker_end(struct worker *worker);

#endif
