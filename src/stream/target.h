/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a stream target, and what all targets share. A target is one row of stream_targets
 * (targets/targets.c) and one file that implements it; the worker, the spool, --upload-spool and --doctor walk the
 * table and know no target by name. docs/adding-a-stream-target.md says how to add one.
 */
#ifndef STREAM_TARGET_H
#define STREAM_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "aws/s3.h"
#include "base/clock.h"
#include "base/err.h"
#include "config/settings.h"
#include "model/run_facts.h"
#include "net/http.h"
#include "stream/number_set.h"
#include "stream/spool/spool.h"

struct delivery;
struct json_value;
struct run_state;
struct sample;
struct target_run;

/* What streaming knows before the run. Everything that it points to is the caller's and must stay. */
struct stream_options {
    const struct settings *settings;
    struct spool_paths spool_paths;
    uint64_t spool_max_bytes;
    const struct clock *clock;
    struct job_facts job;
    const char *omit; /* names of fields that no target gets, comma separated; NULL: none */
    const char *version;
    const char *csv_header; /* one line with its LF */
    /* The machine and the cloud, asked in the worker's thread; waits only through `wait`. */
    void (*discover_host)(void *context, struct host_facts *ret_host);
    void (*discover_cloud)(void *context, const struct net_wait *wait, struct cloud_facts *ret_cloud);
    void *discover_context;
};

/* What --doctor reports of a target besides its addresses. */
struct target_finding {
    const char *name, *remedy; /* static; remedy NULL: none is needed */
    bool is_broken;
    char text[400];
};

/* A target. Functions that may be NULL say so. */
struct stream_target {
    const char *name; /* in --doctor */
    const char *label; /* within a sentence: "samples are lost to LABEL" */
    const char *state_key; /* of its object in state.json, and the "kind" there; never to be changed. NULL: the spool
                            * keeps nothing for it, and what it has not got by the end of the run is lost to it */
    bool is_prompt; /* it acts before the others, also before the machine is fully known and while another one waits
                     * for its server, and does not take long */
    bool is_s3; /* its addresses are S3: AWS_CA_BUNDLE, where it is set, names the roots */
    const char *roots; /* variables that name the roots for its other addresses, each with a NUL behind it, and one
                        * more; NULL: none */
    bool takes_summary; /* at the end it wants run_state.summary */
    bool takes_metrics; /* and exchange.metrics */
    bool takes_batches; /* of the spool: each is kept until all targets that take them have it */
    size_t state_bytes; /* of target_run.state */

    /* By settings alone. check: 0, or -EINVAL / -EPERM with a message that names the setting; called where wanted. */
    bool (*is_wanted)(const struct settings *settings);
    int (*check)(const struct settings *settings, struct err *err);

    /*
     * In the sampling thread: what it wants in each row of a batch besides the CSV, as one JSON object. state:
     * row_bytes of zeros at first. At most one target that is wanted has it (target_read_batch hides it from the
     * others). NULL: nothing.
     */
    size_t row_bytes;
    void (*put_row)(void *state, const struct settings *settings, const struct sample *sample, struct buf *buf);

    /* Nanoseconds after which a batch is wanted at the latest. NULL: as upload_interval_ns. */
    int64_t (*interval_ns)(const struct settings *settings);

    /* A new run: keeps in run->state what --upload-spool would have to know. No I/O. May be NULL. */
    void (*begin)(struct target_run *run, const struct run_state *state, const struct settings *settings);

    /* Behind begin: a variable for the environment of the command, "NAME=VALUE"; NULL: none. At most one target that
     * is wanted has it. May be NULL. */
    const char *(*variable)(const struct target_run *run);

    /* Its members of state.json, each with a comma before it, run->delivered among them and "done" not; and back,
     * false where they are unusable. run->delivered and run->is_done are read for it. No secrets. NULL without
     * state_key. */
    void (*put_state)(const struct target_run *run, struct buf *buf);
    bool (*read_state)(struct target_run *run, const struct json_value *value);

    /* After begin or read_state: from here on run->delivery and run->clients may be used. Quick, opens nothing. May be
     * NULL. */
    void (*open)(struct target_run *run);
    void (*close)(struct target_run *run); /* wipes secrets; also without open */

    /* Of a run from the spool: why it cannot be delivered with these settings; NULL: it can. May be NULL. */
    const char *(*lack)(const struct target_run *run);

    /* When it wants to act: a monotonic time, DELIVERY_NEVER where there is nothing to do. Only asked while it is
     * neither done nor stuck. */
    int64_t (*next_due)(const struct target_run *run);

    /* A descriptor that is readable when it wants to act before next_due; -1: none. Asked as next_due. May be NULL. */
    int (*watch_fd)(const struct target_run *run);

    /* Would it accept a batch at once, as far as is known? Asked as next_due, and after no failure. NULL without
     * takes_batches. */
    bool (*takes)(const struct target_run *run);

    /* One attempt at what is next. */
    void (*step)(struct target_run *run, int64_t deadline_ns);

    /* The run is over, beyond what target_end does. May be NULL. */
    void (*end)(struct target_run *run);

    /* Nothing more is waited for: gives up on what it has begun, and reports that. May be NULL. */
    void (*leave)(struct target_run *run);

    /* For --doctor: appends the address number i, counted from 0; false behind the last one. */
    bool (*put_url)(const struct settings *settings, size_t i, struct buf *url);

    /* For --doctor: false where there is nothing to report. http NULL: the network is not to be used. May be NULL. */
    bool (*doctor)(const struct settings *settings, struct http_client *http, struct target_finding *ret_finding);
};

extern const struct stream_target *const stream_targets[];
extern const size_t stream_target_count;

/* The clients of one target. Each target has its own, since a client has one connection and one thread for names: a
 * name that cannot be looked up holds back no other target. */
struct target_clients {
    struct http_client *http;
    struct http_client *http_s3; /* AWS_CA_BUNDLE, where it is set, names the roots */
};

/* The file that the first of these variables names that is set; NULL: none is. roots: as in stream_target, NULL
 * allowed. */
const char *target_roots(const char *roots, char *const *environment);

/* Returns 0 or -ENOMEM; what was made is to be freed in any case. Proxies and roots are the environment's. */
int target_clients_init(struct target_clients *clients, const struct stream_target *target,
    const struct settings *settings, const struct net_wait *wait);
void target_clients_close_idle(struct target_clients *clients); /* harmless where nothing was made, as is fini */
void target_clients_fini(struct target_clients *clients);

/*
 * How long to wait before the next attempt: doubling from a base up to a ceiling, with full jitter above half of it, so
 * that a thousand machines do not come back at once.
 */
struct backoff {
    int64_t base_ns, max_ns;
    unsigned failures;
    uint64_t random; /* state of the generator; any seed */
};

/* The seed is the caller's: time and PID in the program, a constant in tests. */
void backoff_init(struct backoff *backoff, int64_t base_ns, int64_t max_ns, uint64_t seed);

/* One more failure: the time to wait, between half of and all of min(max, base * 2^failures before this one). */
int64_t backoff_next(struct backoff *backoff);
void backoff_reset(struct backoff *backoff);

/* When to try again. Attempts of a round follow each other with growing pauses; after the last one the next round is
 * waited for. */
struct retry {
    struct backoff backoff;
    unsigned failures; /* in a row */
    int64_t next_ns; /* monotonic; not before */
    int64_t asked_ns; /* the part of it that the server asked for; 0: it did not */
};

/* One run on its way to one target. */
struct target_run {
    const struct stream_target *target;
    struct delivery *delivery;
    struct target_clients *clients;
    bool is_wanted;
    bool is_done; /* everything is there */
    bool is_stuck; /* refused for good: trying again does not help */
    struct number_set delivered; /* batches */
    struct number_set refused; /* for good, in this run */
    struct retry retry;
    struct {
        bool is_reported;
        char text[sizeof(((struct err *)0)->msg)]; /* the newest; "": none */
        char refusal[sizeof(((struct err *)0)->msg)]; /* of a batch, for good: no later success makes up for it */
    } last_error;
    uint64_t lost_rows; /* to this target alone */
    struct buf batch; /* on its way out */
    void *state; /* the target's own, state_bytes of zeros at first */
};

/* Makes it ready for delivery where it is wanted. */
void target_open(struct target_run *run, struct delivery *delivery, struct target_clients *clients);

bool target_is_open(const struct target_run *run); /* wanted, and not everything is there */
bool target_needs_batch(const struct target_run *run, uint32_t number); /* it takes batches and has not got this one */
bool target_is_kept(const struct target_run *run); /* wanted, and the spool keeps what it has not got */
int64_t target_next_due(const struct target_run *run);
int target_watch_fd(const struct target_run *run); /* -1: none */
bool target_takes(const struct target_run *run);

/* The run is over: our own pauses are, too (those that the server asked for are not), and what was refused is tried
 * once more. */
void target_end(struct target_run *run);

/* Nothing more is waited for. */
void target_leave(struct target_run *run);

/* An attempt worked: what was wrong before is over. */
void target_succeed(struct target_run *run);

/* An attempt failed and may work later: plans the next one, and reports when a whole round has failed. */
void target_fail(struct target_run *run, const struct err *err, int64_t retry_after_secs);

/*
 * What became of an upload; true where it worked. What is refused is left to the caller. *is_renewed: credentials that
 * have expired are replaced at once, but only once.
 */
bool target_settle_upload(struct target_run *run, struct s3_result result, const struct err *err, bool *is_renewed);

/* Nothing of this run will be accepted: it stays in the spool. */
void target_give_up(struct target_run *run, const struct err *err);

/* Keeps the last error, for the time when it is reported. */
void target_note_error(struct target_run *run, const struct err *err);

/* The last error, once, with what follows from it. */
#define TARGET_KEPT "the data is kept in the spool until it works"
void target_report_error(struct target_run *run, const char *consequence);

/* Why not everything was delivered. */
void target_put_reason(const struct target_run *run, struct buf *buf);

/* The oldest batch that is neither delivered nor refused; false where there is none. */
bool target_next_batch(const struct target_run *run, uint32_t *ret_number);

/*
 * A whole batch, into run->batch, as CSV alone unless the target has put_row. Returns 0, or a negative errno: the
 * failure is reported or planned for already. Batches that are broken or gone are set aside, and the run continues.
 */
int target_read_batch(struct target_run *run, uint32_t number);

/* Notes a delivered batch in the state on disk; batches that every target has are dropped. */
void target_note_batch(struct target_run *run, uint32_t number);

/* Refused for good: it stays in the spool, and is tried once more at the end of the run. */
void target_refuse_batch(struct target_run *run, uint32_t number, const struct err *err);

/* "PREFIX/DIRECTORY/000017.csv.gz" */
void target_put_key(struct buf *buf, const char *prefix, const char *directory, uint32_t number);

/* For check: text as a URL that may be used; NULL and "" are fine. name: of the setting. */
int target_check_url(const struct settings *settings, const char *name, const char *text, struct err *err);

/* What separates the CSV from what put_row has put, in the header and in each row. */
#define TARGET_ROW_SEPARATOR '\t'

/* A member of a JSON object, and one that is read. */
void target_put_delivered(struct buf *buf, const struct target_run *run);
bool target_read_bool(const struct json_value *object, const char *key);

#endif
