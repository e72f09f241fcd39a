/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tree received and sent. Exact where it is in network namespaces of its own, else what its TCP connections
 * say, which is never too much; docs/decisions/0037. Connections end between two samples with bytes that none of them
 * saw, so sockets are listed in between as well: soon after the start, and while bytes move after a part of the age of
 * the newest connection, so that what is missed is a small part of it.
 */
#include "collect/traffic/traffic.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/vec.h"
#include "collect/traffic/traffic_internal.h"

#define FIRST_NS (15 * NS_PER_MS) /* after the start of the command */
#define SOONEST_NS (10 * NS_PER_MS)
#define NOTICE_NS (240 * NS_PER_MS) /* where the tree has no sockets, more often is of no use */
#define BETWEEN_NS (100 * NS_PER_MS) /* samples that are no farther apart are enough */
enum { RECHECKS_SHARE = 16, AGE_SHARE = 64, IDLE_SHARE = 2, CHILDREN_MAX = 64, CHILDREN_BYTES = 4096 };

struct traffic_state {
    const struct collect_env *env;
    struct sockets sockets;
    struct namespaces namespaces;
    int timer_fd; /* -1: samples come often enough */
    struct {
        struct job_member *items;
        size_t count, cap;
    } found; /* between samples */
    struct traffic_bytes reported;
    int64_t updated_ns;
    bool has_skipped; /* sockets were left out of the last update */
    const char *source; /* when a process was last there */
    bool has_sampled;
    bool is_lossy; /* since the last sample */
};

static void arm(const struct traffic_state *state, int64_t after_ns)
{
    struct itimerspec once = {
        .it_value = {.tv_sec = (time_t)(after_ns / NS_PER_SEC), .tv_nsec = (long)(after_ns % NS_PER_SEC)}};
    if (state->timer_fd >= 0)
        (void)timerfd_settime(state->timer_fd, 0, &once, NULL);
}

/* Before the first sample each time after half of what has passed; then while bytes of the tree move. */
static void arm_next(const struct traffic_state *state, int64_t now_ns)
{
    const struct sockets *sockets = &state->sockets;
    int64_t age_ns = (now_ns - sockets->newest_ns) / AGE_SHARE, idle_ns = (now_ns - sockets->moved_ns) / IDLE_SHARE;
    int64_t moving_ns = age_ns > idle_ns ? age_ns : idle_ns;
    int64_t after_ns = state->has_sampled ? state->env->interval_ns : (now_ns - state->env->tracked->start_ns) / 2;
    if (sockets->members > 0 && moving_ns < after_ns)
        after_ns = moving_ns > SOONEST_NS ? moving_ns : SOONEST_NS;
    if (after_ns <= state->env->interval_ns / 2)
        arm(state, after_ns);
}

__attribute__((cold)) static int traffic_open(void *opaque, const struct collect_env *env, struct err *err)
{
    struct traffic_state *state = opaque;
    if (!env->tracked || env->tracked->root == 0 || !env->tree)
        return err_set(err, -ENODATA, "traffic: nothing is tracked");
    *state = (struct traffic_state){.env = env, .timer_fd = -1};
    sockets_open(&state->sockets, env);
    namespaces_open(&state->namespaces, env);
    if (env->interval_ns > BETWEEN_NS && env->root->names_us)
        state->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return 0;
}

__attribute__((cold)) static void traffic_close(void *opaque)
{
    struct traffic_state *state = opaque;
    sockets_close(&state->sockets);
    namespaces_close(&state->namespaces);
    fd_close(&state->timer_fd);
    free(state->found.items);
}

static const char *find_source(const struct traffic_state *state)
{
    const struct namespaces *namespaces = &state->namespaces;
    const struct sockets *sockets = &state->sockets;
    if (namespaces->in_own > 0 && namespaces->in_ours == 0 && namespaces->elsewhere == 0 && !state->is_lossy)
        return "namespace";
    bool has_tcp = sockets->is_known && !sockets->lacks_bytes && namespaces->in_ours > 0;
    return has_tcp || namespaces->has_any ? "tcp" : NULL;
}

static void update(
    struct traffic_state *state, const struct job_member *members, size_t count, int64_t now_ns, bool is_sample)
{
    struct namespaces *namespaces = &state->namespaces;
    int64_t since_ns = now_ns - state->updated_ns, age_ns = now_ns - state->env->tracked->start_ns;
    bool is_idle = state->sockets.members == 0 && namespaces->used == 0;
    /* Nothing is there that could have a socket: the end of a job that had none, or that was over at once. */
    if (is_idle && count == 0)
        return;
    if (is_sample && is_idle && since_ns < NOTICE_NS && since_ns < age_ns / 2)
        return;
    state->updated_ns = now_ns;
    /* A tree without sockets costs one call: either a process is looked at once more, or the counters are. */
    size_t rechecks = state->has_skipped ? 0 : 1 + count / RECHECKS_SHARE;
    namespaces->rechecks = rechecks;
    namespaces_update(namespaces, members, count, now_ns);
    state->is_lossy |= namespaces->is_lossy;
    state->has_skipped = is_sample && is_idle && namespaces->rechecks < rechecks;
    if (!state->has_skipped)
        sockets_update(&state->sockets, members, count, now_ns, is_sample);
    if (count > 0)
        state->source = find_source(state);
    arm_next(state, now_ns);
}

static uint64_t pop_growth(uint64_t *reported, uint64_t a, uint64_t b)
{
    uint64_t growth = counter_delta(*reported, a > b ? a : b);
    *reported += growth;
    return growth;
}

/*
 * A process in our namespace may carry what another one in its own receives and sends (slirp4netns, pasta), so that
 * the two amounts are not added: each of them is a lower bound.
 */
static void fill(struct traffic_state *state, struct sample_cpu *cpu)
{
    const struct traffic_bytes *exact = &state->namespaces.total, *tcp = &state->sockets.total;
    uint64_t received = pop_growth(&state->reported.received, exact->received, tcp->received);
    uint64_t sent = pop_growth(&state->reported.sent, exact->sent, tcp->sent);
    if (!state->source)
        return;
    cpu->process_net_source = state->source;
    cpu->process_net_recv_bytes = some_u64(received);
    cpu->process_net_sent_bytes = some_u64(sent);
}

static int traffic_collect(void *opaque, const struct tick *tick, struct sample *sample, struct err *err)
{
    (void)err;
    struct traffic_state *state = opaque;
    const struct tree_status *tree = state->env->tree;
    if (tick->baseline && !state->env->tracked->attached) {
        sockets_baseline(&state->sockets);
        arm(state, FIRST_NS);
        return 0;
    }
    state->has_sampled |= !tick->baseline;
    update(state, tree->members.items, tree->members.count, tick->mono_ns, true);
    if (tick->baseline)
        return 0;
    if (tree->members.count == 0 && state->is_lossy && state->source)
        state->source = "tcp";
    fill(state, &sample->cpu);
    state->is_lossy = false;
    if (tick->is_final)
        namespaces_close(&state->namespaces);
    return 0;
}

/* Adds the children that the first thread of a process has made. */
static void add_children(struct traffic_state *state, pid_t pid)
{
    char path[48], text[CHILDREN_BYTES];
    uint64_t child;
    (void)snprintf(path, sizeof(path), "%d/task/%d/children", (int)pid, (int)pid);
    struct blocking *blocking = state->env->blocking;
    if (blocking_is_stuck(blocking, pid, NULL))
        return;
    struct blocking_thread *bracket = blocking_enter(blocking, pid, "children");
    AUTO_FD int fd = file_open_at(state->env->root->proc_fd, path, O_RDONLY);
    int n = fd < 0 ? fd : file_read_once(fd, text, sizeof(text));
    if (!blocking_leave(bracket)) {
        fd_close(&fd);
        blocking_return(bracket);
    }
    struct str rest = {text, n > 0 ? (size_t)n : 0};
    while (state->found.count < CHILDREN_MAX && num_next_u64(&rest, &child) && child <= INT32_MAX) {
        bool is_known = false;
        for (size_t i = 0; i < state->found.count; i++)
            is_known |= state->found.items[i].pid == (pid_t)child;
        if (!is_known)
            state->found.items[state->found.count++] = (struct job_member){.pid = (pid_t)child};
    }
}

/* The tree is not read between samples: the processes of the last one, and their children of now. */
static int find_members(struct traffic_state *state)
{
    const struct tree_status *tree = state->env->tree;
    size_t known = state->has_sampled ? tree->members.count : 1;
    int r = VEC_GROW(&state->found, known > CHILDREN_MAX ? known : CHILDREN_MAX, SIZE_MAX / sizeof(struct job_member));
    if (r < 0)
        return r;
    state->found.count = known;
    if (state->has_sampled && known > 0)
        memcpy(state->found.items, tree->members.items, known * sizeof(*state->found.items));
    else if (!state->has_sampled)
        state->found.items[0] = (struct job_member){.pid = state->env->tracked->root};
    bool is_wanted = !state->has_sampled || sockets_has_opened(&state->sockets);
    for (size_t i = 0; is_wanted && i < state->found.count && i < CHILDREN_MAX; i++)
        add_children(state, state->found.items[i].pid);
    return 0;
}

static int traffic_watch_fd(const void *opaque)
{
    const struct traffic_state *state = opaque;
    return state->timer_fd;
}

static void traffic_woken(void *opaque)
{
    struct traffic_state *state = opaque;
    uint64_t expirations;
    if (read(state->timer_fd, &expirations, sizeof(expirations)) < 0 || find_members(state) < 0)
        return;
    update(state, state->found.items, state->found.count, clock_read(state->env->clock, CLOCK_KIND_MONOTONIC), false);
}

/* Files of processes are read in brackets, one by one. Nothing else that it reads waits for anything. */
const struct collector collector_traffic = {
    .name = "traffic",
    .state_bytes = sizeof(struct traffic_state),
    .open = traffic_open,
    .collect = traffic_collect,
    .close = traffic_close,
    .watch_fd = traffic_watch_fd,
    .woken = traffic_woken,
    .watches_input = true,
};
