/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/probe/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/vec.h"

#define GAP_LEAST_NS (4 * NS_PER_MS)
#define GAP_MOST_NS (512 * NS_PER_MS)

static void arm(struct probe *probe, int64_t delay_ns)
{
    if (probe->timer_fd < 0 || (delay_ns == 0 && !probe->is_armed))
        return;
    struct itimerspec when = {.it_value = {.tv_sec = delay_ns / NS_PER_SEC, .tv_nsec = delay_ns % NS_PER_SEC}};
    (void)timerfd_settime(probe->timer_fd, 0, &when, NULL);
    probe->is_armed = delay_ns > 0;
}

void probe_init(struct probe *probe, const struct collect_env *env)
{
    *probe = (struct probe){
        .env = env, .process = HELPER_NONE, .channel_fd = -1, .timer_fd = -1, .pause_ns = PROBE_PAUSE_NS};
    for (size_t i = 0; i < HELPER_ABANDONED_MAX; i++)
        probe->abandoned[i] = (struct helper)HELPER_NONE;
}

/* Never waits: a helper that hangs in the kernel stays, with nothing of ours but memory. */
void probe_fini(struct probe *probe)
{
    helper_end(&probe->process, probe->abandoned, probe->env->helpers);
    fd_close(&probe->channel_fd);
    fd_close(&probe->timer_fd);
    free(probe->questions.items);
    *probe = (struct probe){.process = HELPER_NONE, .channel_fd = -1, .timer_fd = -1};
}

void probe_at_begin(const struct collect_env *env, void (*begin)(void *state, int64_t now_ns), void *state)
{
    if (!probe_is_late(env))
        return;
    env->probe->begin = begin;
    env->probe->begin_state = state;
}

static struct probe_question *find_question(struct probe *probe, uint32_t ticket)
{
    for (size_t i = 0; i < probe->questions.count; i++) {
        if (probe->questions.items[i].ticket == ticket)
            return &probe->questions.items[i];
    }
    return NULL;
}

static void remove_question(struct probe *probe, struct probe_question *question)
{
    struct probe_question *end = probe->questions.items + probe->questions.count;
    memmove(question, question + 1, (size_t)(end - question - 1) * sizeof(*question));
    probe->questions.count--;
}

/* The ticket, or 0 where there are too many questions. */
static uint32_t ask(struct probe *probe, const struct probe_subject *subject)
{
    if (VEC_GROW(&probe->questions, probe->questions.count + 1, PROBE_QUESTIONS_MAX) < 0)
        return 0;
    probe->last_ticket = probe->last_ticket == UINT32_MAX ? 1 : probe->last_ticket + 1;
    struct probe_question *question = &probe->questions.items[probe->questions.count++];
    *question =
        (struct probe_question){.ticket = probe->last_ticket, .subject = *subject, .answer = probe_no_answer(subject)};
    if (probe->has_begun && !probe->is_armed)
        arm(probe, GAP_LEAST_NS);
    return question->ticket;
}

static void read_now(const struct sysroot *root, const struct probe_subject *subject, struct probe_answer *ret_answer)
{
    char value[PROBE_VALUE_BYTES];
    *ret_answer = probe_no_answer(subject);
    for (unsigned i = 0; i < probe_attributes(subject->kind); i++)
        probe_add(subject, i, value, probe_read(root, subject, i, value), ret_answer);
}

bool probe_get(const struct collect_env *env, uint32_t *ticket, const struct probe_subject *subject,
    struct probe_answer *ret_answer)
{
    struct probe *probe = env->probe;
    if (!probe_is_late(env)) {
        read_now(env->root, subject, ret_answer);
        return true;
    }
    (void)pthread_mutex_lock(&probe->lock);
    struct probe_question *question = *ticket > 0 ? find_question(probe, *ticket) : NULL;
    if (!question)
        *ticket = ask(probe, subject);
    bool is_over = question && question->state == PROBE_OVER;
    if (is_over) {
        *ret_answer = question->answer;
        *ticket = 0;
        remove_question(probe, question);
    }
    (void)pthread_mutex_unlock(&probe->lock);
    return is_over;
}

bool probe_is_late(const struct collect_env *env)
{
    return env->probe && env->probe->env;
}

bool probe_is_too_late(const struct collect_env *env, const struct tick *tick)
{
    const struct tracked *tracked = env->tracked;
    return tick->is_final && probe_is_late(env) && tracked && tracked->root > 0 && !tracked->attached &&
           tick->mono_ns - tracked->start_ns < PROBE_DELAY_NS;
}

void probe_drop(const struct collect_env *env, uint32_t *ticket)
{
    struct probe *probe = env->probe;
    if (!probe || *ticket == 0)
        return;
    (void)pthread_mutex_lock(&probe->lock);
    struct probe_question *question = find_question(probe, *ticket);
    *ticket = 0;
    if (question && question->state == PROBE_SENT)
        question->is_dropped = true;
    else if (question)
        remove_question(probe, question);
    (void)pthread_mutex_unlock(&probe->lock);
}

static struct probe_question *first_in(struct probe *probe, int state)
{
    for (size_t i = 0; i < probe->questions.count; i++) {
        if ((int)probe->questions.items[i].state == state)
            return &probe->questions.items[i];
    }
    return NULL;
}

static bool is_same_subject(const struct probe_subject *a, const struct probe_subject *b)
{
    return a->kind == b->kind && a->major == b->major && a->minor == b->minor && strcmp(a->name, b->name) == 0;
}

static void finish_question(struct probe *probe, struct probe_question *question, int error)
{
    question->state = PROBE_OVER;
    question->answer.error = error;
    probe->news++;
    if (error == 0 && probe->why.code < 0 && is_same_subject(&question->subject, &probe->why_subject))
        err_clear(&probe->why);
    if (question->is_dropped)
        remove_question(probe, question);
}

/* The helper was reading for the oldest question when it hung or died. The others are for its successor. */
static void fail_current(struct probe *probe, int error)
{
    probe->has_failed = true;
    struct probe_question *question = first_in(probe, PROBE_SENT);
    if (!question)
        return;
    char path[PROBE_NAME_BYTES + 32];
    probe_path(&question->subject, question->next, path, sizeof(path));
    const char *module = question->subject.kind == PROBE_SPEED ? "network" : "disk";
    const char *root = probe->env->root->path;
    probe->why_subject = question->subject;
    if (error == -ETIMEDOUT)
        (void)err_set(&probe->why, error, "%s: %s%s did not answer within %d s", module, root, path,
            (int)(PROBE_DEADLINE_NS / NS_PER_SEC));
    else
        (void)err_set(&probe->why, error, "%s: the process that read %s%s died", module, root, path);
    finish_question(probe, question, error);
    while ((question = first_in(probe, PROBE_SENT))) {
        if (question->is_dropped) {
            remove_question(probe, question);
            continue;
        }
        question->state = PROBE_PENDING;
        question->next = 0;
        question->answer = probe_no_answer(&question->subject);
    }
}

static void close_channel(struct probe *probe, int64_t now_ns)
{
    fd_close(&probe->channel_fd);
    probe->past_cpu_ns += probe->cpu_ns;
    probe->cpu_ns = 0;
    probe->heard_ns = now_ns;
    if (!probe->has_failed)
        probe->pause_ns = PROBE_PAUSE_NS;
}

static int start_process(struct probe *probe)
{
    char name[] = "resource-tracker", flag[] = PROBE_HELPER_FLAG, root[PATH_MAX];
    (void)str_copy(str_of(probe->env->root->path), root, sizeof(root));
    char *argv[PROBE_HELPER_ARGUMENTS + 1] = {name, flag, root, NULL};
    char *environment[] = {NULL};
    const struct helper_request request = {
        .path = probe->env->program, .argv = argv, .environment = environment, .stdout_fd = -1};
    return helper_start_with_channel(&probe->process, probe->env->helpers, request, &probe->channel_fd);
}

static void start(struct probe *probe, int64_t now_ns)
{
    probe->due_ns = now_ns + probe->pause_ns;
    probe->pause_ns = probe->pause_ns < PROBE_PAUSE_MOST_NS / 2 ? probe->pause_ns * 2 : PROBE_PAUSE_MOST_NS;
    /* A machine on which so many processes hang has been asked enough; what is pending stays unknown. */
    if (helper_reap_abandoned(probe->abandoned, probe->env->helpers) == HELPER_ABANDONED_MAX)
        return;
    int r = start_process(probe);
    if (r < 0) {
        probe->why_subject = first_in(probe, PROBE_PENDING)->subject;
        (void)err_sys(&probe->why, r, "devices: cannot start a process to ask them");
        return;
    }
    probe->heard_ns = now_ns;
    probe->gap_ns = GAP_LEAST_NS;
    probe->is_all_sent = probe->has_failed = false;
}

/* Questions that come when all were sent wait for the next helper. */
static void send_questions(struct probe *probe)
{
    struct probe_question *question;
    while (!probe->is_all_sent && (question = first_in(probe, PROBE_PENDING))) {
        struct probe_request request;
        memset(&request, 0, sizeof(request));
        request.version = PROBE_WIRE_VERSION;
        request.ticket = question->ticket;
        request.subject = question->subject;
        if (send(probe->channel_fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) != sizeof(request))
            return;
        question->state = PROBE_SENT;
    }
    if (!probe->is_all_sent)
        (void)shutdown(probe->channel_fd, SHUT_WR);
    probe->is_all_sent = true;
}

/* False: this was sent by no helper of ours. */
static bool accept_reply(struct probe *probe, const struct probe_reply *reply, size_t size)
{
    struct probe_question *question = find_question(probe, reply->ticket);
    size_t value_size = size - offsetof(struct probe_reply, value);
    if (reply->version != PROBE_WIRE_VERSION || !question || question->state != PROBE_SENT ||
        reply->attribute != question->next || (reply->size > 0 ? (size_t)reply->size : 0) != value_size)
        return false;
    probe->cpu_ns = reply->cpu_ns;
    probe_add(&question->subject, question->next++, reply->value, reply->size, &question->answer);
    if (question->next == probe_attributes(question->subject.kind))
        finish_question(probe, question, 0);
    return true;
}

/* Returns 1 where replies were received, 0 where none was, or a negative errno: it is over. */
static int drain(struct probe *probe)
{
    struct probe_reply reply;
    int received = 0;
    for (;;) {
        ssize_t n = recv(probe->channel_fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return received;
        if (n <= 0)
            return -EPIPE;
        size_t size = (size_t)n;
        if (size < offsetof(struct probe_reply, value) || size > sizeof(reply) || !accept_reply(probe, &reply, size))
            return -EBADMSG;
        received = 1;
    }
}

static void talk(struct probe *probe, int64_t now_ns)
{
    send_questions(probe);
    int r = drain(probe);
    if (probe->env->helpers)
        probe->env->helpers->probe_cpu_ns = probe->past_cpu_ns + probe->cpu_ns;
    if (r > 0) {
        probe->heard_ns = now_ns;
        probe->gap_ns = GAP_LEAST_NS;
        send_questions(probe);
        return;
    }
    bool is_late = now_ns - probe->heard_ns >= PROBE_DEADLINE_NS;
    if (r == 0 && !is_late)
        return;
    if (first_in(probe, PROBE_SENT))
        fail_current(probe, r == 0 ? -ETIMEDOUT : -EIO);
    close_channel(probe, now_ns);
    if (r != -EPIPE)
        (void)helper_abandon(&probe->process, probe->abandoned);
}

/* The channel is closed: it is on its way out, or does not even get there. */
static void end_process(struct probe *probe, int64_t now_ns)
{
    struct opt_i64 status;
    if (!helper_reap(&probe->process, probe->env->helpers, &status) && now_ns - probe->heard_ns >= PROBE_DEADLINE_NS)
        (void)helper_abandon(&probe->process, probe->abandoned);
}

static void plan(struct probe *probe, int64_t now_ns)
{
    int64_t delay_ns = 0;
    if (probe->channel_fd >= 0 || probe->process.pid > 0) {
        delay_ns = probe->gap_ns;
        probe->gap_ns = probe->gap_ns < GAP_MOST_NS ? probe->gap_ns * 2 : GAP_MOST_NS;
    } else if (first_in(probe, PROBE_PENDING)) {
        delay_ns = probe->due_ns > now_ns ? probe->due_ns - now_ns : GAP_LEAST_NS;
    }
    arm(probe, delay_ns);
}

/* One step, without waiting. */
static void step(struct probe *probe, int64_t now_ns)
{
    if (!probe->has_begun) {
        if (now_ns < probe->due_ns)
            return;
        probe->has_begun = true;
        if (probe->begin)
            probe->begin(probe->begin_state, now_ns);
    }
    if (probe->questions.count == 0 && probe->process.pid == 0)
        return;
    if (probe->channel_fd < 0 && probe->process.pid > 0)
        end_process(probe, now_ns);
    if (probe->process.pid == 0 && now_ns >= probe->due_ns && first_in(probe, PROBE_PENDING))
        start(probe, now_ns);
    if (probe->channel_fd >= 0)
        talk(probe, now_ns);
    plan(probe, now_ns);
}

struct probe_state {
    struct probe *probe;
};

static int probe_open(void *state, const struct collect_env *env, struct err *err)
{
    (void)err;
    *(struct probe_state *)state = (struct probe_state){.probe = env->probe};
    if (!env->probe || !env->program)
        return -ENODATA;
    probe_init(env->probe, env);
    return 0;
}

static int probe_collect(void *state, const struct tick *tick, struct sample *sample, struct err *err)
{
    struct probe *probe = ((struct probe_state *)state)->probe;
    (void)sample;
    if (tick->baseline) {
        int64_t half_ns = probe->env->interval_ns / 2;
        int64_t delay_ns = half_ns > 0 && half_ns < PROBE_DELAY_NS ? half_ns : PROBE_DELAY_NS;
        probe->due_ns = tick->mono_ns + delay_ns;
        probe->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
        arm(probe, delay_ns);
        return 0;
    }
    (void)pthread_mutex_lock(&probe->lock);
    /* Nothing is begun that a run which is over would have to end; what has come is read. */
    if (!tick->is_final)
        step(probe, tick->mono_ns);
    else if (probe->channel_fd >= 0)
        (void)drain(probe);
    (void)pthread_mutex_unlock(&probe->lock);
    if (probe->why.code < 0)
        *err = probe->why;
    return 0;
}

static void probe_close(void *state)
{
    probe_fini(((struct probe_state *)state)->probe);
}

static int probe_watch_fd(const void *state)
{
    return ((const struct probe_state *)state)->probe->timer_fd;
}

static void probe_woken(void *state)
{
    struct probe *probe = ((struct probe_state *)state)->probe;
    uint64_t expirations;
    if (read(probe->timer_fd, &expirations, sizeof(expirations)) > 0)
        probe->is_armed = false;
    (void)pthread_mutex_lock(&probe->lock);
    step(probe, clock_read(probe->env->clock, CLOCK_KIND_MONOTONIC));
    (void)pthread_mutex_unlock(&probe->lock);
}

const struct collector collector_probe = {
    .name = "devices",
    .has_helper = true,
    .state_bytes = sizeof(struct probe_state),
    .open = probe_open,
    .collect = probe_collect,
    .close = probe_close,
    .watch_fd = probe_watch_fd,
    .woken = probe_woken,
    .watches_input = true,
};
