/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvml_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/gpu/nvml.h"
#include "collect/gpu/nvml_pace.h"
#include "collect/gpu/nvml_usage.h"
#include "collect/gpu/nvml_wire.h"
#include "collect/helper.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

/* How early a reading is begun: its own time and half of that again, within limits. */
#define LEAD_LEAST_NS (2 * NS_PER_MS)
#define LEAD_MOST_NS (50 * NS_PER_MS)

/* Asking how much processes use took 2 to 3 ms of CPU time per card on an H200: it may take this share of a core, but
 * neither is it asked more often than the first of these, nor put off for longer than the second. */
#define POLL_SHARE 300
#define POLL_LEAST_NS (800 * NS_PER_MS)
#define POLL_MOST_NS (2 * NS_PER_SEC)

/* A command line that nobody but us writes is checked all the same. */
#define INTERVAL_MOST_NS (48 * 3600 * NS_PER_SEC)

struct card {
    struct nvml_usage usage;
    double utilization_sum, memory_utilization_sum; /* since the last place of the grid */
    unsigned utilization_count, memory_utilization_count;
    bool has_samples; /* the driver can tell how much processes use, and was asked */
    bool has_processes; /* somebody was listed the last time, or the list could not be had */
};

struct nvml_helper {
    struct nvml *nvml;
    struct card *cards;
    size_t count;
    bool wants_lists;
    uint32_t turn;
    uint64_t usage_cards; /* of which usage is wanted, a bit each */
    int64_t lead_ns;
    int64_t polled_ns, poll_cost_ns; /* when usage was asked for, and the CPU time of that */
    bool is_over; /* nobody is there to send to */
    struct nvml_wire_message message;
    struct nvml_processes processes;
    struct nvml_samples samples;
};

bool nvml_helper_is_meant(int argc, char **argv)
{
    int kind;
    socklen_t kind_bytes = sizeof(kind);
    return argc == NVML_HELPER_ARGUMENTS && strcmp(argv[NVML_HELPER_FLAG_AT], NVML_HELPER_FLAG) == 0 &&
           getsockopt(HELPER_CHANNEL_FD, SOL_SOCKET, SO_TYPE, &kind, &kind_bytes) == 0;
}

static int64_t now(enum clock_kind kind)
{
    return clock_read(&clock_system, kind);
}

/* A full socket means that nobody reads just now: this message is lost, and so is its whole reading. */
static void send_message(struct nvml_helper *helper)
{
    ssize_t n;
    do {
        n = send(HELPER_CHANNEL_FD, &helper->message, nvml_wire_bytes(&helper->message), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != ENOBUFS)
        helper->is_over = true;
}

static void begin_message(struct nvml_helper *helper, enum nvml_wire_kind kind, size_t card)
{
    memset(&helper->message, 0, offsetof(struct nvml_wire_message, reading.processes));
    helper->message.kind = kind;
    helper->message.card = (uint32_t)card;
    helper->message.card_count = (uint32_t)helper->count;
    helper->message.turn = helper->turn;
}

static void tell_failure(struct nvml_helper *helper, const struct err *err)
{
    begin_message(helper, NVML_WIRE_FAILED, 0);
    helper->message.failed.code = err->code;
    (void)str_copy(str_of(err->msg), helper->message.failed.text, sizeof(helper->message.failed.text));
    send_message(helper);
}

static void send_facts(struct nvml_helper *helper)
{
    for (size_t i = 0; i < helper->count; i++) {
        struct nvml_facts facts;
        nvml_get_facts(helper->nvml, i, &facts);
        begin_message(helper, NVML_WIRE_FACTS, i);
        nvml_wire_put_facts(&facts, &helper->message);
        send_message(helper);
    }
}

static void send_energy(struct nvml_helper *helper)
{
    for (size_t i = 0; i < helper->count; i++) {
        struct opt_f64 energy = nvml_energy(helper->nvml, i);
        if (!energy.has)
            continue;
        begin_message(helper, NVML_WIRE_ENERGY, i);
        helper->message.energy_joules = energy.v;
        send_message(helper);
    }
    /* So that whoever waits for it knows that there is no more to come. */
    begin_message(helper, NVML_WIRE_ENERGY, 0);
    helper->message.turn = UINT32_MAX;
    send_message(helper);
}

static bool is_poll_due(const struct nvml_helper *helper, int64_t now_ns)
{
    int64_t pause_ns = helper->poll_cost_ns * POLL_SHARE;
    if (pause_ns < POLL_LEAST_NS)
        pause_ns = POLL_LEAST_NS;
    return now_ns - helper->polled_ns >= (pause_ns < POLL_MOST_NS ? pause_ns : POLL_MOST_NS);
}

/* How much each process ran since this was last asked, on the cards of which that is wanted. */
static void poll_samples(struct nvml_helper *helper)
{
    int64_t now_ns = now(CLOCK_KIND_MONOTONIC), begin_ns = now(CLOCK_KIND_OWN_CPU);
    if (helper->usage_cards == 0 || !is_poll_due(helper, now_ns))
        return;
    uint64_t poll_us = (uint64_t)(now_ns - helper->polled_ns) / 1000;
    uint64_t now_us = (uint64_t)now(CLOCK_KIND_REALTIME) / 1000;
    for (size_t i = 0; i < helper->count; i++) {
        struct card *card = &helper->cards[i];
        if (!(helper->usage_cards >> i & 1))
            continue;
        /* Where nobody is, nobody uses anything: the time passes all the same. */
        helper->samples.is_known = true;
        helper->samples.count = 0;
        if (card->has_processes)
            nvml_list_samples(helper->nvml, i, card->usage.seen_us, &helper->samples);
        card->has_samples = helper->samples.is_known;
        if (card->has_samples)
            nvml_usage_add(&card->usage, &helper->samples, now_us, poll_us);
    }
    helper->polled_ns = now_ns;
    helper->poll_cost_ns = now(CLOCK_KIND_OWN_CPU) - begin_ns;
}

static struct opt_f64 mean(struct opt_f64 value, double *sum, unsigned *count)
{
    if (value.has) {
        *sum += value.v;
        (*count)++;
    }
    return *count > 0 ? some_f64(*sum / *count) : (struct opt_f64){0};
}

static void put_process(struct nvml_wire_reading *wire, uint32_t pid, struct opt_u64 vram_bytes, struct opt_f64 usage)
{
    wire->processes[wire->process_count++] = (struct nvml_wire_process){
        .pid = pid,
        .known = (vram_bytes.has ? NVML_WIRE_HAS_VRAM : 0) | (usage.has ? NVML_WIRE_HAS_USAGE : 0),
        .vram_bytes = vram_bytes.has ? (double)vram_bytes.v : 0,
        .usage = usage.has ? usage.v : 0,
    };
}

static bool is_listed(const struct nvml_processes *list, uint32_t pid)
{
    for (size_t i = 0; i < list->count; i++) {
        if (list->items[i].pid == pid)
            return true;
    }
    return false;
}

/* Those that have ended in this period are not listed any more, but the driver still tells what they used. */
static void put_ended(struct nvml_helper *helper, const struct card *card)
{
    struct nvml_wire_reading *wire = &helper->message.reading;
    for (size_t i = 0; card->has_samples && i < card->usage.count; i++) {
        uint32_t pid = card->usage.shares[i].pid;
        if (wire->process_count < NVML_PROCESSES_MAX && !is_listed(&helper->processes, pid))
            put_process(wire, pid, some_u64(0), nvml_usage_of(&card->usage, pid));
    }
}

static void put_processes(struct nvml_helper *helper, size_t i)
{
    struct nvml_wire_reading *wire = &helper->message.reading;
    const struct card *card = &helper->cards[i];
    const struct nvml_processes *list = &helper->processes;
    nvml_list_processes(helper->nvml, i, &helper->processes);
    helper->cards[i].has_processes = !list->is_known || list->count > 0;
    if (!list->is_known || list->is_cut)
        return;
    wire->has_processes = 1;
    for (size_t p = 0; p < list->count; p++) {
        struct opt_f64 usage = {0};
        if (card->has_samples)
            usage = nvml_usage_of(&card->usage, list->items[p].pid);
        put_process(wire, list->items[p].pid, list->items[p].vram_bytes, usage);
    }
    put_ended(helper, card);
}

/* Reads one card and sends what it found, where that is wanted. Returns false where the device is lost. */
static bool send_reading(struct nvml_helper *helper, size_t i, bool is_place, bool is_sent)
{
    struct card *card = &helper->cards[i];
    struct nvml_reading reading;
    nvml_read(helper->nvml, i, &reading);
    reading.utilization_pct = mean(reading.utilization_pct, &card->utilization_sum, &card->utilization_count);
    reading.memory_utilization_pct =
        mean(reading.memory_utilization_pct, &card->memory_utilization_sum, &card->memory_utilization_count);
    begin_message(helper, NVML_WIRE_READING, i);
    nvml_wire_put_reading(&reading, &helper->message.reading);
    if (helper->wants_lists)
        put_processes(helper, i);
    if (is_sent)
        send_message(helper);
    if (is_place) {
        card->utilization_sum = card->memory_utilization_sum = 0;
        card->utilization_count = card->memory_utilization_count = 0;
        nvml_usage_close(&card->usage);
    }
    return !reading.is_lost;
}

/* Is what was sent before still to be read? Then nobody is in a hurry for more. */
static bool is_channel_full(void)
{
    int bytes = 0;
    return ioctl(HELPER_CHANNEL_FD, TIOCOUTQ, &bytes) == 0 && bytes > 0;
}

/* Only a new start of the library finds devices that were lost. */
static void tell_loss(struct nvml_helper *helper)
{
    struct err err = {0};
    (void)err_set(&err, -ENODEV, "no GPU answers any more");
    tell_failure(helper, &err);
    helper->is_over = true;
}

/*
 * Readings between the places of a wide grid are for a sample that may come at any time; but where they pile up they
 * would take the room of the newer ones.
 */
static void read_all(struct nvml_helper *helper, bool is_place)
{
    int64_t begin_ns = now(CLOCK_KIND_MONOTONIC);
    bool is_sent = is_place || !is_channel_full();
    size_t answering = 0;
    helper->turn = helper->turn + 1 == UINT32_MAX ? 1 : helper->turn + 1;
    for (size_t i = 0; i < helper->count && !helper->is_over; i++)
        answering += send_reading(helper, i, is_place, is_sent);
    if (answering == 0) {
        tell_loss(helper);
        return;
    }
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    begin_message(helper, NVML_WIRE_DONE, 0);
    helper->message.done.read_ns = now(CLOCK_KIND_MONOTONIC);
    helper->message.done.cpu_ns = (uint64_t)now(CLOCK_KIND_OWN_CPU);
    helper->message.done.rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    if (is_sent)
        send_message(helper);
    int64_t lead_ns = (helper->message.done.read_ns - begin_ns) * 3 / 2 + LEAD_LEAST_NS;
    helper->lead_ns = lead_ns < LEAD_MOST_NS ? lead_ns : LEAD_MOST_NS;
}

static void set_usage_cards(struct nvml_helper *helper, uint64_t cards)
{
    for (size_t i = 0; i < helper->count; i++) {
        if (helper->usage_cards >> i & cards >> i & 1)
            continue;
        nvml_usage_init(&helper->cards[i].usage);
        helper->cards[i].has_samples = false;
    }
    helper->usage_cards = cards;
    helper->polled_ns = now(CLOCK_KIND_MONOTONIC) - POLL_MOST_NS;
    poll_samples(helper);
}

static void take_request(struct nvml_helper *helper)
{
    struct nvml_helper_request request;
    ssize_t n = recv(HELPER_CHANNEL_FD, &request, sizeof(request), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        helper->is_over = true;
    else if (n == sizeof(request) && request.wish == NVML_HELPER_ENERGY)
        send_energy(helper);
    else if (n == sizeof(request) && request.wish == NVML_HELPER_USAGE)
        set_usage_cards(helper, request.cards);
}

/* Until it is time, or the other end wants something or is closed. True: it is time. */
static bool wait_until(struct nvml_helper *helper, int64_t due_ns)
{
    int64_t left_ns = due_ns - now(CLOCK_KIND_MONOTONIC);
    struct timespec timeout = {0};
    if (left_ns > 0)
        timeout = (struct timespec){.tv_sec = left_ns / NS_PER_SEC, .tv_nsec = left_ns % NS_PER_SEC};
    struct pollfd channel = {.fd = HELPER_CHANNEL_FD, .events = POLLIN};
    int n = ppoll(&channel, 1, &timeout, NULL);
    if (n > 0)
        take_request(helper);
    return n == 0;
}

static void run(struct nvml_helper *helper, int64_t start_ns, int64_t interval_ns)
{
    struct nvml_pace pace;
    send_facts(helper);
    read_all(helper, false);
    send_energy(helper);
    nvml_pace_init(&pace, start_ns, interval_ns, now(CLOCK_KIND_MONOTONIC));
    /* A command may be over before the first place of the grid: until then there are more readings. */
    int64_t early_ns = now(CLOCK_KIND_MONOTONIC) + NVML_PACE_LEAST_NS;
    while (!helper->is_over) {
        struct nvml_step step = nvml_pace_next(&pace, helper->lead_ns);
        bool is_early = early_ns < step.due_ns - NVML_PACE_LEAST_NS / 2;
        if (!wait_until(helper, is_early ? early_ns : step.due_ns))
            continue;
        poll_samples(helper);
        read_all(helper, step.is_place && !is_early);
        early_ns = is_early ? early_ns + NVML_PACE_LEAST_NS : INT64_MAX;
        if (!is_early)
            nvml_pace_advance(&pace, now(CLOCK_KIND_MONOTONIC) + helper->lead_ns);
    }
}

/* A process that nobody notices: no core dump, no descriptor of others, gone with the tracker. */
static void make_modest(void)
{
    struct rlimit none = {0};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    (void)prctl(PR_SET_NAME, "tracker-nvml", 0, 0, 0);
    /* The tracker may have put itself ahead of others, for its samples' sake; the library has no such need. */
    errno = 0;
    if (getpriority(PRIO_PROCESS, 0) < 0 && errno == 0)
        (void)setpriority(PRIO_PROCESS, 0, 0);
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)syscall(SYS_close_range, HELPER_CHANNEL_FD + 1, ~0U, 0);
    (void)fcntl(HELPER_CHANNEL_FD, F_SETFD, FD_CLOEXEC);
    /* The tracker may have gone before we asked to go with it. */
    struct pollfd channel = {.fd = HELPER_CHANNEL_FD};
    if (poll(&channel, 1, 0) > 0)
        _exit(EXIT_SUCCESS);
}

static int open_cards(struct nvml_helper *helper, const char *library)
{
    struct err err = {0};
    if (nvml_open(library, &helper->nvml, &err) < 0) {
        tell_failure(helper, &err);
        return -1;
    }
    helper->count = nvml_card_count(helper->nvml);
    helper->cards = calloc(helper->count, sizeof(*helper->cards));
    if (!helper->cards && helper->count > 0) {
        (void)err_set(&err, -ENOMEM, "no memory");
        tell_failure(helper, &err);
        return -1;
    }
    for (size_t i = 0; i < helper->count; i++)
        nvml_usage_init(&helper->cards[i].usage);
    return 0;
}

int nvml_helper_main(char **argv)
{
    int64_t start_ns, interval_ns;
    if (num_parse_i64(str_of(argv[NVML_HELPER_START_AT]), &start_ns) < 0 ||
        num_parse_i64(str_of(argv[NVML_HELPER_INTERVAL_AT]), &interval_ns) < 0 || interval_ns <= 0 ||
        interval_ns > INTERVAL_MOST_NS || start_ns < 0 || start_ns > now(CLOCK_KIND_MONOTONIC) + INTERVAL_MOST_NS)
        return EXIT_FAILURE;
    struct nvml_helper *helper = calloc(1, sizeof(*helper));
    if (!helper)
        return EXIT_FAILURE;
    make_modest();
    helper->wants_lists = strcmp(argv[NVML_HELPER_LISTS_AT], "1") == 0;
    int r = open_cards(helper, argv[NVML_HELPER_LIBRARY_AT]);
    /* The library may have been named relative to the folder we were started in, which must not be kept busy. */
    if (r == 0 && chdir("/") == 0)
        run(helper, start_ns, interval_ns);
    /* What the library would do at the end of the process can hang. */
    _exit(EXIT_SUCCESS);
}
