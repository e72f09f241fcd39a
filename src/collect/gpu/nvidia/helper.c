/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hidden mode of the program: a process of its own that loads the NVIDIA library, reads, keeps means and shares
 * between the slots of the grid of samples, and sends what it finds through HELPER_CHANNEL_FD until the other end is
 * closed.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/gpu/nvidia/nvidia_internal.h"
#include "collect/gpu/nvidia/sampling.h"
#include "collect/helper.h"

struct report_card {
    struct nvml_usage usage;
    struct nvml_mean {
        double sum, weight; /* since the last slot of the grid */
    } utilization, memory_utilization;
    bool has_samples; /* the driver can report how much processes use, and was asked */
    bool has_processes; /* a process was listed the last time, or the list could not be had */
};

struct report {
    struct nvml *nvml;
    struct report_card *cards;
    size_t count;
    bool wants_lists;
    uint32_t cycle;
    uint64_t usage_cards; /* of which usage is wanted, a bit each */
    int64_t lead_ns;
    int64_t began_ns, began_before_ns; /* the last two readings */
    int64_t polled_ns, poll_cost_ns; /* when usage was asked for, and the CPU time of that */
    bool is_over; /* the other end is closed */
    struct nvml_wire_message message;
    struct nvml_processes processes;
    struct nvml_samples samples;
};

/* How early a reading is begun: its own time and half of that again, within limits. */
#define LEAD_LEAST_NS (6 * NS_PER_MS) /* the kernel may wake us 5 ms late after a second, where we are niced */
#define LEAD_MOST_NS (50 * NS_PER_MS)

enum { WAITING_BYTES_MOST = 60000 };

/* Asking how much processes use took 2 to 3 ms of CPU time per card on an H200: it may take this share of a core, but
 * neither is it asked more often than the first of these, nor put off for longer than the second. */
#define POLL_SHARE 300
#define POLL_LEAST_NS (800 * NS_PER_MS)
#define POLL_MOST_NS (2 * NS_PER_SEC)

/* A full socket means that it is not read just now: this message is lost, and so is its whole reading. */
static void send_message(struct report *report)
{
    ssize_t n;
    do {
        n = send(HELPER_CHANNEL_FD, &report->message, nvml_wire_bytes(&report->message), MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (n < 0 && errno == EINTR);
    if (n < 0 && errno != EAGAIN && errno != ENOBUFS)
        report->is_over = true;
}

static void begin_message(struct report *report, enum nvml_wire_kind kind, size_t card)
{
    memset(&report->message, 0, offsetof(struct nvml_wire_message, reading.processes));
    report->message.kind = kind;
    report->message.card = (uint32_t)card;
    report->message.card_count = (uint32_t)report->count;
    report->message.cycle = report->cycle;
}

static void send_failure(struct report *report, const struct err *err)
{
    begin_message(report, NVML_WIRE_FAILED, 0);
    report->message.failed.code = err->code;
    (void)str_copy(str_of(err->msg), report->message.failed.text, sizeof(report->message.failed.text));
    send_message(report);
}

static void send_facts(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        struct nvml_facts facts;
        nvml_get_facts(report->nvml, i, &facts);
        begin_message(report, NVML_WIRE_FACTS, i);
        nvml_wire_put_facts(&facts, &report->message);
        send_message(report);
    }
}

static void send_energy(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        struct opt_f64 energy = nvml_energy(report->nvml, i);
        if (!energy.has)
            continue;
        begin_message(report, NVML_WIRE_ENERGY, i);
        report->message.energy_joules = energy.v;
        send_message(report);
    }
    /* So that the other end, which may wait for it, knows that there is no more to come. */
    begin_message(report, NVML_WIRE_ENERGY, 0);
    report->message.cycle = UINT32_MAX;
    send_message(report);
}

static bool is_poll_due(const struct report *report, int64_t now_ns)
{
    int64_t pause_ns = report->poll_cost_ns * POLL_SHARE;
    if (pause_ns < POLL_LEAST_NS)
        pause_ns = POLL_LEAST_NS;
    return now_ns - report->polled_ns >= (pause_ns < POLL_MOST_NS ? pause_ns : POLL_MOST_NS);
}

/* How much each process ran since this was last asked, on the cards of which that is wanted. */
static void poll_usage(struct report *report)
{
    int64_t now_ns = clock_now(), begin_ns = clock_read(&clock_system, CLOCK_KIND_OWN_CPU);
    if (report->usage_cards == 0 || !is_poll_due(report, now_ns))
        return;
    uint64_t poll_us = (uint64_t)(now_ns - report->polled_ns) / 1000;
    uint64_t now_us = (uint64_t)clock_read(&clock_system, CLOCK_KIND_REALTIME) / 1000;
    for (size_t i = 0; i < report->count; i++) {
        struct report_card *card = &report->cards[i];
        if (!(report->usage_cards >> i & 1))
            continue;
        /* Where there is no process, none uses anything: the time passes all the same. */
        report->samples.is_known = true;
        report->samples.count = 0;
        if (card->has_processes)
            nvml_list_samples(report->nvml, i, card->usage.seen_us, &report->samples);
        card->has_samples = report->samples.is_known;
        if (card->has_samples)
            nvml_usage_add(&card->usage, &report->samples, now_us, poll_us);
    }
    report->polled_ns = now_ns;
    report->poll_cost_ns = clock_read(&clock_system, CLOCK_KIND_OWN_CPU) - begin_ns;
}

/* Readings do not come at even distances, so each counts for the time since the one before. */
static struct opt_f64 add_to_mean(struct nvml_mean *mean, struct opt_f64 value, double weight)
{
    if (value.has) {
        mean->sum += value.v * weight;
        mean->weight += weight;
    }
    return mean->weight > 0 ? some_f64(mean->sum / mean->weight) : (struct opt_f64){0};
}

static void put_process(struct nvml_wire_reading *wire, uint32_t pid, struct opt_u64 vram_bytes, struct opt_f64 usage)
{
    wire->processes[wire->process_count++] = (struct nvml_wire_process){
        .pid = pid,
        .known = (vram_bytes.has ? NVML_WIRE_HAS_VRAM : 0) | (usage.has ? NVML_WIRE_HAS_USAGE : 0),
        .vram_bytes = vram_bytes.has ? num_to_f64(vram_bytes.v) : 0,
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

/* Those that have ended in this period are not listed any more, but the driver still reports what they used. */
static void put_ended(struct report *report, const struct report_card *card)
{
    struct nvml_wire_reading *wire = &report->message.reading;
    for (size_t i = 0; card->has_samples && i < card->usage.count; i++) {
        uint32_t pid = card->usage.shares[i].pid;
        if (wire->process_count < NVML_PROCESSES_MAX && !is_listed(&report->processes, pid))
            put_process(wire, pid, some_u64(0), nvml_usage_of(&card->usage, pid));
    }
}

static void put_processes(struct report *report, size_t i)
{
    struct nvml_wire_reading *wire = &report->message.reading;
    const struct report_card *card = &report->cards[i];
    const struct nvml_processes *list = &report->processes;
    nvml_list_processes(report->nvml, i, &report->processes);
    report->cards[i].has_processes = !list->is_known || list->count > 0;
    if (!list->is_known || list->is_cut)
        return;
    wire->has_processes = 1;
    for (size_t p = 0; p < list->count; p++) {
        struct opt_f64 usage = {0};
        if (card->has_samples)
            usage = nvml_usage_of(&card->usage, list->items[p].pid);
        put_process(wire, list->items[p].pid, list->items[p].vram_bytes, usage);
    }
    put_ended(report, card);
}

/* Reads one card and sends what it found, where that is wanted. Returns false where the device is lost. */
static bool send_card(struct report *report, size_t i, bool is_slot, bool is_sent)
{
    struct report_card *card = &report->cards[i];
    struct nvml_reading reading;
    nvml_read(report->nvml, i, &reading);
    double weight = (double)(report->began_ns - report->began_before_ns);
    reading.utilization_pct = add_to_mean(&card->utilization, reading.utilization_pct, weight);
    reading.memory_utilization_pct = add_to_mean(&card->memory_utilization, reading.memory_utilization_pct, weight);
    begin_message(report, NVML_WIRE_READING, i);
    nvml_wire_put_reading(&reading, &report->message.reading);
    if (report->wants_lists)
        put_processes(report, i);
    if (is_sent)
        send_message(report);
    if (is_slot) {
        card->utilization = card->memory_utilization = (struct nvml_mean){0};
        nvml_usage_close(&card->usage);
    }
    return !reading.is_lost;
}

/* Does much of what was sent before still wait to be read? The channel holds 200 KB as a rule. */
static bool is_channel_full(void)
{
    int bytes = 0;
    return ioctl(HELPER_CHANNEL_FD, TIOCOUTQ, &bytes) == 0 && bytes > WAITING_BYTES_MOST;
}

/* Only a new start of the library finds devices that were lost. */
static void send_loss(struct report *report)
{
    struct err err = {0};
    (void)err_set(&err, -ENODEV, "no GPU responds any more");
    send_failure(report, &err);
    report->is_over = true;
}

/*
 * Readings between the slots of a wide grid are for a sample that may come at any time; but where they pile up they
 * would take the space of the newer ones.
 */
static void send_readings(struct report *report, bool is_slot)
{
    report->began_before_ns = report->began_ns;
    report->began_ns = clock_now();
    bool is_sent = is_slot || !is_channel_full();
    size_t answering = 0;
    report->cycle = report->cycle + 1 == UINT32_MAX ? 1 : report->cycle + 1;
    for (size_t i = 0; i < report->count && !report->is_over; i++)
        answering += send_card(report, i, is_slot, is_sent);
    if (answering == 0) {
        send_loss(report);
        return;
    }
    struct rusage usage = {0};
    (void)getrusage(RUSAGE_SELF, &usage);
    begin_message(report, NVML_WIRE_DONE, 0);
    report->message.done.read_ns = clock_now();
    report->message.done.cpu_ns = (uint64_t)clock_read(&clock_system, CLOCK_KIND_OWN_CPU);
    report->message.done.rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
    if (is_sent)
        send_message(report);
    int64_t lead_ns = (report->message.done.read_ns - report->began_ns) * 3 / 2 + LEAD_LEAST_NS;
    report->lead_ns = lead_ns < LEAD_MOST_NS ? lead_ns : LEAD_MOST_NS;
}

static void set_usage_cards(struct report *report, uint64_t cards)
{
    for (size_t i = 0; i < report->count; i++) {
        if (report->usage_cards >> i & cards >> i & 1)
            continue;
        nvml_usage_init(&report->cards[i].usage);
        report->cards[i].has_samples = false;
    }
    report->usage_cards = cards;
    report->polled_ns = clock_now() - POLL_MOST_NS;
    poll_usage(report);
}

static int open_report(struct report *report, const char *library)
{
    struct err err = {0};
    if (nvml_open(library, &report->nvml, &err) < 0) {
        send_failure(report, &err);
        return -1;
    }
    report->count = nvml_card_count(report->nvml);
    report->cards = calloc(report->count, sizeof(*report->cards));
    if (!report->cards && report->count > 0) {
        (void)err_set(&err, -ENOMEM, "out of memory");
        send_failure(report, &err);
        return -1;
    }
    for (size_t i = 0; i < report->count; i++)
        nvml_usage_init(&report->cards[i].usage);
    return 0;
}

/* Only we write this command line; it is checked all the same. */
#define INTERVAL_MOST_NS (48 * 3600 * NS_PER_SEC)

static bool is_meant(int argc, char **argv)
{
    return argc == NVML_HELPER_ARGUMENTS && helper_is_meant(argv[NVML_HELPER_FLAG_AT], NVML_HELPER_FLAG);
}

static void handle_request(struct report *report)
{
    struct nvml_helper_request request;
    ssize_t n = recv(HELPER_CHANNEL_FD, &request, sizeof(request), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        report->is_over = true;
    else if (n == sizeof(request) && request.wish == NVML_HELPER_ENERGY)
        send_energy(report);
    else if (n == sizeof(request) && request.wish == NVML_HELPER_USAGE)
        set_usage_cards(report, request.cards);
}

/* Until it is time, or the other end wants something or is closed. True: it is time. */
static bool wait_until(struct report *report, int64_t due_ns)
{
    int64_t left_ns = due_ns - clock_now();
    struct timespec timeout = {0};
    if (left_ns > 0)
        timeout = (struct timespec){.tv_sec = left_ns / NS_PER_SEC, .tv_nsec = left_ns % NS_PER_SEC};
    struct pollfd channel = {.fd = HELPER_CHANNEL_FD, .events = POLLIN};
    int n = ppoll(&channel, 1, &timeout, NULL);
    if (n > 0)
        handle_request(report);
    return n == 0;
}

static void run(struct report *report, int64_t start_ns, int64_t interval_ns)
{
    struct nvml_pace pace;
    send_facts(report);
    report->began_ns = clock_now() - NS_PER_MS; /* the first reading counts next to nothing */
    send_readings(report, false);
    send_energy(report);
    nvml_pace_init(&pace, start_ns, interval_ns, clock_now());
    /* A command may be over before the first slot of the grid: until then there are more readings. */
    int64_t early_ns = clock_now() + NVML_PACE_LEAST_NS;
    while (!report->is_over) {
        struct nvml_step step = nvml_pace_next(&pace, report->lead_ns);
        bool is_early = early_ns < step.due_ns - NVML_PACE_LEAST_NS / 2;
        if (!wait_until(report, is_early ? early_ns : step.due_ns))
            continue;
        poll_usage(report);
        send_readings(report, step.is_slot && !is_early);
        early_ns = is_early ? early_ns + NVML_PACE_LEAST_NS : INT64_MAX;
        if (!is_early)
            nvml_pace_advance(&pace, clock_now() + report->lead_ns);
    }
}

static int run_helper(char **argv)
{
    int64_t start_ns, interval_ns;
    if (num_parse_i64(str_of(argv[NVML_HELPER_START_AT]), &start_ns) < 0 ||
        num_parse_i64(str_of(argv[NVML_HELPER_INTERVAL_AT]), &interval_ns) < 0 || interval_ns <= 0 ||
        interval_ns > INTERVAL_MOST_NS || start_ns < 0 || start_ns > clock_now() + INTERVAL_MOST_NS)
        return EXIT_FAILURE;
    struct report *report = calloc(1, sizeof(*report));
    if (!report)
        return EXIT_FAILURE;
    helper_restrict_self("tracker-nvml");
    report->wants_lists = strcmp(argv[NVML_HELPER_LISTS_AT], "1") == 0;
    int r = open_report(report, argv[NVML_HELPER_LIBRARY_AT]);
    /* The library may have been named relative to the directory we were started in, which must not be kept busy. */
    if (r == 0 && chdir("/") == 0)
        run(report, start_ns, interval_ns);
    /* What the library would do at the end of the process can hang. */
    _exit(EXIT_SUCCESS);
}

bool nvml_helper_run(int argc, char **argv, int *ret_status)
{
    if (!is_meant(argc, argv))
        return false;
    *ret_status = run_helper(argv);
    return true;
}
