/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts that a driver may have to ask its device for: the identity of disks, the speed of links, the first statvfs of
 * filesystems that count their free space on the medium. A request to a device can take any time, and a thread that
 * waits for one cannot be ended. So a process of ours reads them, a little after the start, with a deadline per file;
 * its answers are picked up without waiting, and one that hangs is killed and left alone. Until then, and where it does
 * not answer, the facts are unknown. Nothing here blocks.
 */
#ifndef COLLECT_PROBE_PROBE_H
#define COLLECT_PROBE_PROBE_H

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/collect.h"
#include "collect/disk/identity.h"
#include "collect/helper.h"
#include "kernel/sysroot.h"

enum { PROBE_NAME_BYTES = 256, PROBE_VALUE_BYTES = 512, PROBE_QUESTIONS_MAX = 4096 };

#define PROBE_DELAY_NS (100 * NS_PER_MS) /* after the start, and half an interval at most */
#define PROBE_DEADLINE_NS (5 * NS_PER_SEC) /* without an answer */
#define PROBE_PAUSE_NS NS_PER_SEC /* between the starts of two helpers; doubles after a failure */
#define PROBE_PAUSE_MOST_NS (300 * NS_PER_SEC)

enum probe_kind {
    PROBE_DISK = 1, /* name: as in diskstats */
    PROBE_SPEED, /* name: of the interface */
    PROBE_SPACE, /* name: the mount point */
};

struct probe_subject {
    enum probe_kind kind;
    unsigned major, minor; /* of a disk */
    char name[PROBE_NAME_BYTES];
};

struct probe_answer {
    int error; /* 0, or why it is not whole: -ETIMEDOUT, -EIO */
    struct disk_identity disk;
    struct {
        int error; /* of the file */
        char text[32];
    } speed;
    struct {
        int error;
        struct fs_space space;
    } space;
};

struct probe_question {
    uint32_t ticket;
    enum { PROBE_PENDING, PROBE_SENT, PROBE_OVER } state;
    bool is_dropped; /* its owner is gone, the device may still hang */
    unsigned next; /* attribute that is read now, or next */
    struct probe_subject subject;
    struct probe_answer answer;
};

struct probe {
    const struct collect_env *env; /* NULL: closed */
    /* A collector that was stuck may ask while another thread samples (collect/blocking.h). Zeroed it is ready. */
    pthread_mutex_t lock;
    struct {
        struct probe_question *items; /* in the order in which they were asked */
        size_t count, cap;
    } questions;
    uint32_t last_ticket;
    _Atomic uint32_t news; /* counts questions that were answered or given up */
    void (*begin)(void *state, int64_t now_ns);
    void *begin_state;
    bool has_begun;
    int64_t due_ns, pause_ns; /* when the next helper may be started, and the time to the one after it */
    struct helper process, abandoned[HELPER_ABANDONED_MAX];
    int channel_fd;
    bool is_all_sent, has_failed; /* of the present helper */
    int64_t heard_ns;
    int timer_fd;
    bool is_armed;
    int64_t gap_ns; /* between two polls of the channel by the timer */
    uint64_t cpu_ns, past_cpu_ns; /* of the present helper, and of those before it */
    struct err why; /* a fact is missing; code 0: none is */
    struct probe_subject why_subject;
};

/* collector_probe does both, and makes it move. One that does not move answers nothing. */
void probe_init(struct probe *probe, const struct collect_env *env);
void probe_fini(struct probe *probe);

/*
 * A fact of a subject: true with the answer when it is there, false where it is not known yet. The first call with a
 * *ticket of 0 asks, the one that returns true makes the ticket 0 again. Without a probe in the environment it is read
 * here and now.
 */
bool probe_get(const struct collect_env *env, uint32_t *ticket, const struct probe_subject *subject,
    struct probe_answer *ret_answer);

/* Can probe_get know more than at the last call? Saves building a subject. *seen: 0 at first. */
static inline bool probe_has_news(const struct collect_env *env, uint32_t ticket, uint32_t *seen)
{
    if (ticket == 0 || !env->probe)
        return true;
    uint32_t news = atomic_load_explicit(&env->probe->news, memory_order_relaxed);
    bool is_new = news != *seen;
    *seen = news;
    return is_new;
}

/* The answer is not wanted any more. Makes the ticket 0. */
void probe_drop(const struct collect_env *env, uint32_t *ticket);

/* begin is called once, at the time at which helpers may first be started; not in a run that is over before. For one
 * collector. */
void probe_at_begin(const struct collect_env *env, void (*begin)(void *state, int64_t now_ns), void *state);

/* True where facts come later, and not at once. */
bool probe_is_late(const struct collect_env *env);

/* Is this the end of a command that was over before the probe could begin? Then what the probe is asked for is unknown,
 * and so is what else would take many small files to find out. */
bool probe_is_too_late(const struct collect_env *env, const struct tick *tick);

/* The hidden mode of the program: reads what it is asked for through HELPER_CHANNEL_FD until that is closed. */
bool probe_helper_is_meant(int argc, char **argv);
int probe_helper_main(char **argv);

/* For probe.c and helper.c: what the tracker and its helper send each other, and the reading itself. */

#define PROBE_HELPER_FLAG "--probe-helper"

enum { PROBE_HELPER_FLAG_AT = 1, PROBE_HELPER_ROOT_AT, PROBE_HELPER_ARGUMENTS };

/* Both ends are the same program: the number is for what is neither. */
enum { PROBE_WIRE_VERSION = 1 };

struct probe_request {
    uint32_t version;
    uint32_t ticket;
    struct probe_subject subject;
};

/* One per attribute, in their order; sent without the unused end of value. */
struct probe_reply {
    uint32_t version;
    uint32_t ticket;
    uint32_t attribute;
    int32_t size; /* of value, or a negative errno */
    uint64_t cpu_ns; /* that the helper has used so far */
    char value[PROBE_VALUE_BYTES];
};

/* How many files (or calls) answer a question. */
unsigned probe_attributes(enum probe_kind kind);

/* The path of one of them below the root: "/sys/dev/block/254:0/serial". */
void probe_path(const struct probe_subject *subject, unsigned attribute, char *out, size_t size);

/* Reads one. Returns its size or a negative errno. This is what may hang. */
int probe_read(const struct sysroot *root, const struct probe_subject *subject, unsigned attribute,
    char value[static PROBE_VALUE_BYTES]);

/* Adds to the answer what was read. */
void probe_add(
    const struct probe_subject *subject, unsigned attribute, const char *value, int size, struct probe_answer *answer);

/* An answer to which nothing was added yet. */
struct probe_answer probe_no_answer(const struct probe_subject *subject);

#endif
