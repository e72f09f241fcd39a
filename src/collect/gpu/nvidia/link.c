/* SPDX-License-Identifier: Apache-2.0 */
/* Our end of the helper process that asks NVML: start, read, replace. */
#include "collect/gpu/nvidia/nvidia_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/vec.h"

/* More messages than a socket holds at once are an error. */
enum { ENERGY_WAIT_MS = 20, ENERGY_WAIT_CARD_MS = 10, MESSAGES_MAX = 8192 };

void nvidia_link_open(struct nvidia_link *link, const struct collect_env *env, int64_t due_ns)
{
    *link = (struct nvidia_link){.env = env,
        .phase = NVIDIA_WAITING,
        .due_ns = due_ns,
        .pause_ns = NVIDIA_PAUSE_NS,
        .slot_ns = due_ns,
        .process = HELPER_NONE,
        .channel_fd = -1};
    for (size_t i = 0; i < HELPER_ABANDONED_MAX; i++)
        link->abandoned[i] = (struct helper)HELPER_NONE;
}

void nvidia_link_close(struct nvidia_link *link)
{
    helper_end(&link->process, link->abandoned, link->env->helpers);
    fd_close(&link->channel_fd);
    free(link->cards.items);
    link->cards.items = NULL;
    link->cards.count = link->cards.cap = 0;
}

static int start_process(struct nvidia_link *link)
{
    const struct collect_gpu *gpu = &link->env->gpu;
    char name[] = "resource-tracker", flag[] = NVML_HELPER_FLAG, library[PATH_MAX], start[NUM_TEXT_BYTES],
         interval[NUM_TEXT_BYTES], lists[] = "0";
    if (!str_copy(str_of(gpu->nvml_library ? gpu->nvml_library : "libnvidia-ml.so.1"), library, sizeof(library)))
        return -ENAMETOOLONG;
    *num_write_i64(start, link->slot_ns) = '\0';
    *num_write_i64(interval, link->env->interval_ns) = '\0';
    lists[0] = link->env->tracked && link->env->tracked->root > 0 ? '1' : '0';
    char *argv[NVML_HELPER_ARGUMENTS + 1] = {name, flag, library, start, interval, lists, NULL};
    const struct helper_request request = {
        .path = gpu->program, .argv = argv, .environment = gpu->environment, .stdout_fd = -1};
    return helper_start_with_channel(&link->process, link->env->helpers, request, &link->channel_fd);
}

/* The next one comes after a pause; one that worked for long makes up for earlier failures. */
static void plan_start(struct nvidia_link *link, int64_t now_ns)
{
    if (link->has_worked && now_ns - link->started_ns > NVIDIA_PAUSE_MOST_NS)
        link->pause_ns = NVIDIA_PAUSE_NS;
    link->phase = NVIDIA_WAITING;
    link->due_ns = now_ns + link->pause_ns;
    link->pause_ns = link->pause_ns < NVIDIA_PAUSE_MOST_NS / 2 ? link->pause_ns * 2 : NVIDIA_PAUSE_MOST_NS;
}

static void start(struct nvidia_link *link, int64_t now_ns)
{
    link->started_ns = link->heard_ns = now_ns;
    link->is_broken = link->is_invalid = link->has_all_energy = link->has_worked = false;
    link->is_empty = false;
    link->usage_cards = 0;
    int r = start_process(link);
    if (r == 0) {
        link->phase = NVIDIA_RUNNING;
        return;
    }
    (void)err_sys(&link->why, r, "nvidia: cannot start a process for the NVIDIA library");
    plan_start(link, now_ns);
}

static void handle_failure(struct nvidia_link *link)
{
    const struct nvml_wire_message *message = &link->message;
    int code = message->failed.code < 0 ? message->failed.code : -EIO;
    if (code == -ENXIO) {
        /* A driver without a device is an answer; one may come. */
        link->cards.count = 0;
        link->has_facts = link->is_empty = true;
        link->pause_ns = NVIDIA_PAUSE_MOST_NS;
        err_clear(&link->why);
        return;
    }
    bool is_useless = code == -ENOENT || code == -ELIBBAD;
    (void)err_set(&link->why, code, "nvidia: %s%s", message->failed.text,
        is_useless ? " (TRACKER_NVML_PATH can name the NVIDIA library)" : "");
    if (is_useless)
        link->phase = NVIDIA_GIVEN_UP;
}

static void handle_facts(struct nvidia_link *link)
{
    const struct nvml_wire_message *message = &link->message;
    struct nvidia_cards *cards = &link->cards;
    if (message->card == 0) {
        link->has_facts = false;
        link->read_ns = (struct opt_i64){0};
        cards->count = 0;
    }
    if (message->card != cards->count || VEC_GROW(cards, message->card_count, NVML_CARDS_MAX) < 0)
        return;
    struct nvidia_card *card = &cards->items[cards->count++];
    struct gpu_facts facts;
    nvml_wire_get_facts(message, &facts);
    /* The energy of a card that is back counts from the first start on. */
    bool is_same = card->facts.device_type && strcmp(card->facts.uuid, facts.uuid) == 0;
    card->first_joules = is_same ? card->first_joules : (struct opt_f64){0};
    card->facts = facts;
    card->coming_cycle = 0;
    link->has_facts = cards->count == message->card_count;
}

static void handle_reading(struct nvidia_link *link)
{
    const struct nvml_wire_message *message = &link->message;
    if (!link->has_facts || message->card >= link->cards.count)
        return;
    struct nvidia_card *card = &link->cards.items[message->card];
    size_t processes_bytes = message->reading.process_count * sizeof(struct nvml_wire_process);
    memcpy(&card->coming, &message->reading, offsetof(struct nvml_wire_reading, processes) + processes_bytes);
    card->coming_cycle = message->cycle;
}

/* A reading counts only where nothing of it was lost. */
static void handle_done(struct nvidia_link *link)
{
    const struct nvml_wire_message *message = &link->message;
    bool is_whole = link->has_facts;
    if (message->done.read_ns > link->now_ns + NS_PER_SEC) {
        link->is_invalid = true;
        return;
    }
    /* What has waited for us says nothing of the time since. */
    link->heard_ns = message->done.read_ns;
    for (size_t i = 0; i < link->cards.count; i++)
        is_whole &= link->cards.items[i].coming_cycle == message->cycle;
    link->done_cpu_ns = message->done.cpu_ns;
    if (message->done.cpu_ns > link->cpu_ns)
        link->cpu_ns = message->done.cpu_ns;
    link->rss_bytes = message->done.rss_bytes;
    if (!is_whole)
        return;
    for (size_t i = 0; i < link->cards.count; i++)
        link->cards.items[i].current = link->cards.items[i].coming;
    link->read_ns = some_i64(message->done.read_ns);
    link->has_worked = true;
    err_clear(&link->why);
}

static void handle_energy(struct nvidia_link *link)
{
    const struct nvml_wire_message *message = &link->message;
    if (message->cycle == UINT32_MAX) {
        link->has_all_energy = true;
        return;
    }
    if (!link->has_facts || message->card >= link->cards.count)
        return;
    struct nvidia_card *card = &link->cards.items[message->card];
    card->last_joules = some_f64(message->energy_joules);
    if (!card->first_joules.has)
        card->first_joules = card->last_joules;
}

static void handle_message(struct nvidia_link *link)
{
    switch ((enum nvml_wire_kind)link->message.kind) {
    case NVML_WIRE_FAILED:
        handle_failure(link);
        break;
    case NVML_WIRE_FACTS:
        handle_facts(link);
        break;
    case NVML_WIRE_READING:
        handle_reading(link);
        break;
    case NVML_WIRE_DONE:
        handle_done(link);
        break;
    case NVML_WIRE_ENERGY:
        handle_energy(link);
        break;
    }
}

/* Takes one message; false where there is none now. */
static bool receive_next(struct nvidia_link *link)
{
    ssize_t n;
    do {
        n = recv(link->channel_fd, &link->message, sizeof(link->message), MSG_DONTWAIT | MSG_TRUNC);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno == EAGAIN)
        return false;
    link->is_broken = n <= 0;
    if (link->is_broken)
        return false;
    link->heard_ns = link->now_ns;
    if ((size_t)n > sizeof(link->message) || nvml_wire_check(&link->message, (size_t)n) < 0)
        link->is_invalid = true;
    else
        handle_message(link);
    return !link->is_invalid;
}

static void drain(struct nvidia_link *link)
{
    size_t taken = 0;
    while (taken < MESSAGES_MAX && receive_next(link))
        taken++;
    link->is_invalid |= taken == MESSAGES_MAX;
    if (!link->is_invalid)
        return;
    link->is_broken = true;
    (void)err_set(&link->why, -EBADMSG, "nvidia: the process of the NVIDIA library sent invalid data");
}

static void explain_end(struct nvidia_link *link, struct opt_i64 status)
{
    if (link->why.code < 0 || !status.has)
        return;
    const char *when = link->heard_ns > link->started_ns ? "" : " before its first answer";
    if (status.v < 0)
        (void)err_set(
            &link->why, -EIO, "nvidia: the NVIDIA library crashed its process (signal %d)%s", (int)-status.v, when);
    else
        (void)err_set(
            &link->why, -EIO, "nvidia: the NVIDIA library ended its process (status %d)%s", (int)status.v, when);
}

static void set_aside(struct nvidia_link *link)
{
    if (helper_abandon(&link->process, link->abandoned) < HELPER_ABANDONED_MAX)
        return;
    link->phase = NVIDIA_GIVEN_UP;
    (void)err_set(&link->why, -ETIMEDOUT, "nvidia: processes hang in the driver, and it is not asked again");
}

/* It is killed where it has not ended by itself. That may take effect later, or never: it is not waited for. */
static void end_process(struct nvidia_link *link, int64_t now_ns)
{
    struct opt_i64 status = {0};
    fd_close(&link->channel_fd);
    link->past_cpu_ns += link->cpu_ns;
    link->cpu_ns = link->done_cpu_ns = link->rss_bytes = 0;
    if (helper_reap(&link->process, link->env->helpers, &status)) {
        if (!link->is_empty)
            explain_end(link, status);
    } else {
        set_aside(link);
    }
    if (link->phase == NVIDIA_RUNNING)
        plan_start(link, now_ns);
    if (link->why.code == 0 && !link->is_empty)
        (void)err_set(&link->why, -EIO, "nvidia: the process of the NVIDIA library exited");
}

static void check_process(struct nvidia_link *link, int64_t now_ns)
{
    int64_t silence_ns = now_ns - link->heard_ns;
    bool has_answered = link->heard_ns > link->started_ns;
    int status;
    /* A child of the library may hold the channel open after the helper's end. */
    if (link->is_broken || helpers_has_ended(link->env->helpers, link->process.pid, &status)) {
        end_process(link, now_ns);
        return;
    }
    int64_t patience_ns = has_answered ? NVIDIA_SILENCE_NS : NVIDIA_INIT_NS;
    bool is_spinning = link->cpu_ns > link->done_cpu_ns + NVIDIA_SPIN_NS;
    if (silence_ns > (has_answered ? NVIDIA_SILENCE_NS : NVIDIA_INIT_NS / 3))
        (void)err_set(
            &link->why, -ETIMEDOUT, "nvidia: the driver has not answered for %d s", (int)(silence_ns / NS_PER_SEC));
    if (is_spinning)
        (void)err_set(&link->why, -ETIMEDOUT, "nvidia: the NVIDIA library takes all CPU time and does not answer");
    if (silence_ns > patience_ns || is_spinning)
        end_process(link, now_ns);
}

static void read_cpu(struct nvidia_link *link)
{
    const struct collect_env *env = link->env;
    uint64_t cpu_ns;
    if (link->process.pid > 0 && env->cpu_time && env->cpu_time(env->cpu_time_context, link->process.pid, &cpu_ns) == 0)
        link->cpu_ns = cpu_ns;
}

void nvidia_link_tick(struct nvidia_link *link, int64_t now_ns)
{
    /* We were stopped, or suspended: that nothing was received says nothing. */
    bool has_slept = now_ns - link->now_ns > NVIDIA_ASLEEP_NS;
    link->now_ns = now_ns;
    read_cpu(link);
    (void)helper_reap_abandoned(link->abandoned, link->env->helpers);
    if (link->channel_fd >= 0) {
        drain(link);
        if (has_slept && link->heard_ns > link->started_ns)
            link->heard_ns = now_ns;
        check_process(link, now_ns);
    }
    if (link->phase == NVIDIA_WAITING && now_ns >= link->due_ns)
        start(link, now_ns);
}

static bool ask(struct nvidia_link *link, enum nvml_helper_wish wish, uint64_t cards)
{
    const struct nvml_helper_request request = {.wish = (uint64_t)wish, .cards = cards};
    return link->phase == NVIDIA_RUNNING &&
           send(link->channel_fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof(request);
}

void nvidia_link_want_usage(struct nvidia_link *link, uint64_t cards)
{
    if (cards != link->usage_cards && ask(link, NVML_HELPER_USAGE, cards))
        link->usage_cards = cards;
}

void nvidia_link_ask_energy(struct nvidia_link *link)
{
    const struct clock *clock = link->env->clock;
    bool had_all = link->has_all_energy;
    link->has_all_energy = false;
    if (!link->read_ns.has || !had_all || !ask(link, NVML_HELPER_ENERGY, 0))
        return;
    int64_t wait_ms = ENERGY_WAIT_MS + ENERGY_WAIT_CARD_MS * (int64_t)link->cards.count;
    int64_t until_ns = clock_read(clock, CLOCK_KIND_MONOTONIC) + wait_ms * NS_PER_MS;
    while (!link->has_all_energy && !link->is_broken) {
        int64_t left_ns = until_ns - clock_read(clock, CLOCK_KIND_MONOTONIC);
        struct pollfd channel = {.fd = link->channel_fd, .events = POLLIN};
        if (left_ns <= 0 || poll(&channel, 1, (int)(left_ns / NS_PER_MS) + 1) <= 0)
            break;
        link->now_ns = until_ns;
        drain(link);
    }
}
