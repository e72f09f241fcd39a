/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvidia/nvml_helper.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/str.h"
#include "collect/gpu/nvidia/nvml_pace.h"
#include "collect/gpu/nvidia/nvml_report.h"
#include "collect/helper.h"

/* A command line that nobody but us writes is checked all the same. */
#define INTERVAL_MOST_NS (48 * 3600 * NS_PER_SEC)

static bool is_meant(int argc, char **argv)
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

static void take_request(struct nvml_report *report)
{
    struct nvml_helper_request request;
    ssize_t n = recv(HELPER_CHANNEL_FD, &request, sizeof(request), MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
        report->is_over = true;
    else if (n == sizeof(request) && request.wish == NVML_HELPER_ENERGY)
        nvml_report_energy(report);
    else if (n == sizeof(request) && request.wish == NVML_HELPER_USAGE)
        nvml_report_usage_of(report, request.cards);
}

/* Until it is time, or the other end wants something or is closed. True: it is time. */
static bool wait_until(struct nvml_report *report, int64_t due_ns)
{
    int64_t left_ns = due_ns - now(CLOCK_KIND_MONOTONIC);
    struct timespec timeout = {0};
    if (left_ns > 0)
        timeout = (struct timespec){.tv_sec = left_ns / NS_PER_SEC, .tv_nsec = left_ns % NS_PER_SEC};
    struct pollfd channel = {.fd = HELPER_CHANNEL_FD, .events = POLLIN};
    int n = ppoll(&channel, 1, &timeout, NULL);
    if (n > 0)
        take_request(report);
    return n == 0;
}

static void run(struct nvml_report *report, int64_t start_ns, int64_t interval_ns)
{
    struct nvml_pace pace;
    nvml_report_facts(report);
    report->began_ns = now(CLOCK_KIND_MONOTONIC) - NS_PER_MS; /* the first reading counts next to nothing */
    nvml_report_reading(report, false);
    nvml_report_energy(report);
    nvml_pace_init(&pace, start_ns, interval_ns, now(CLOCK_KIND_MONOTONIC));
    /* A command may be over before the first place of the grid: until then there are more readings. */
    int64_t early_ns = now(CLOCK_KIND_MONOTONIC) + NVML_PACE_LEAST_NS;
    while (!report->is_over) {
        struct nvml_step step = nvml_pace_next(&pace, report->lead_ns);
        bool is_early = early_ns < step.due_ns - NVML_PACE_LEAST_NS / 2;
        if (!wait_until(report, is_early ? early_ns : step.due_ns))
            continue;
        nvml_report_poll(report);
        nvml_report_reading(report, step.is_place && !is_early);
        early_ns = is_early ? early_ns + NVML_PACE_LEAST_NS : INT64_MAX;
        if (!is_early)
            nvml_pace_advance(&pace, now(CLOCK_KIND_MONOTONIC) + report->lead_ns);
    }
}

static int run_helper(char **argv)
{
    int64_t start_ns, interval_ns;
    if (num_parse_i64(str_of(argv[NVML_HELPER_START_AT]), &start_ns) < 0 ||
        num_parse_i64(str_of(argv[NVML_HELPER_INTERVAL_AT]), &interval_ns) < 0 || interval_ns <= 0 ||
        interval_ns > INTERVAL_MOST_NS || start_ns < 0 || start_ns > now(CLOCK_KIND_MONOTONIC) + INTERVAL_MOST_NS)
        return EXIT_FAILURE;
    struct nvml_report *report = calloc(1, sizeof(*report));
    if (!report)
        return EXIT_FAILURE;
    helper_restrict_self("tracker-nvml");
    report->wants_lists = strcmp(argv[NVML_HELPER_LISTS_AT], "1") == 0;
    int r = nvml_report_open(report, argv[NVML_HELPER_LIBRARY_AT]);
    /* The library may have been named relative to the folder we were started in, which must not be kept busy. */
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
