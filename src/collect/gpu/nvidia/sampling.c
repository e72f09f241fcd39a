/* SPDX-License-Identifier: Apache-2.0 */
#include "collect/gpu/nvidia/sampling.h"
#include "base/num.h"

#define WINDOW_LEAST_US UINT64_C(50000)
#define WINDOW_MOST_US UINT64_C(1000000)
#define PAUSE_MOST_US UINT64_C(10000000)
#define SLACK_US UINT64_C(100000) /* how late a window may be reported */

static int64_t divide_up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

void nvml_pace_init(struct nvml_pace *pace, int64_t start_ns, int64_t interval_ns, int64_t now_ns)
{
    int64_t slot_ns = interval_ns * divide_up(NVML_PACE_LEAST_NS, interval_ns);
    int64_t steps = divide_up(slot_ns, NVML_PACE_MOST_NS);
    *pace = (struct nvml_pace){
        .start_ns = start_ns, .slot_ns = slot_ns, .step_ns = slot_ns / steps, .steps_per_slot = steps};
    nvml_pace_advance(pace, now_ns);
}

/* Steps need not divide a slot evenly, so they are counted from the last one on. */
struct nvml_step nvml_pace_next(const struct nvml_pace *pace, int64_t lead_ns)
{
    int64_t slots = pace->next / pace->steps_per_slot, steps = pace->next % pace->steps_per_slot;
    return (struct nvml_step){
        .due_ns = pace->start_ns + slots * pace->slot_ns + steps * pace->step_ns - lead_ns,
        .is_slot = steps == 0,
    };
}

void nvml_pace_advance(struct nvml_pace *pace, int64_t now_ns)
{
    int64_t passed_ns = now_ns > pace->start_ns ? now_ns - pace->start_ns : 0;
    int64_t steps = passed_ns % pace->slot_ns / pace->step_ns;
    if (steps >= pace->steps_per_slot)
        steps = pace->steps_per_slot - 1;
    int64_t passed = passed_ns / pace->slot_ns * pace->steps_per_slot + steps;
    pace->next = passed > pace->next ? passed + 1 : pace->next + 1;
}

int64_t nvml_pace_patience(int64_t interval_ns)
{
    int64_t reading_ns = interval_ns < NVML_PACE_LEAST_NS ? NVML_PACE_LEAST_NS : interval_ns;
    return (reading_ns < NVML_PACE_MOST_NS ? reading_ns : NVML_PACE_MOST_NS) + NS_PER_SEC;
}

void nvml_usage_init(struct nvml_usage *usage)
{
    *usage = (struct nvml_usage){.window_us = WINDOW_MOST_US};
}

static struct nvml_share *find(struct nvml_usage *usage, uint32_t pid)
{
    for (size_t i = 0; i < usage->count; i++) {
        if (usage->shares[i].pid == pid)
            return &usage->shares[i];
    }
    if (usage->count == NVML_PROCESSES_MAX)
        return NULL;
    struct nvml_share *share = &usage->shares[usage->count++];
    *share = (struct nvml_share){.pid = pid};
    return share;
}

/* The driver sums up what it knows of a process in one row; where it returns several, they are averaged. */
static size_t count_rows(const struct nvml_samples *samples, uint32_t pid)
{
    size_t rows = 0;
    for (size_t i = 0; i < samples->count; i++)
        rows += samples->items[i].pid == pid;
    return rows;
}

/* No process is listed. That means idle time only once a window that would list one had to be there. */
static void add_idle(struct nvml_usage *usage, uint64_t now_us, uint64_t poll_us)
{
    if (now_us <= usage->until_us + usage->window_us + poll_us + SLACK_US)
        return;
    uint64_t until_us = now_us - usage->window_us;
    usage->period_us += until_us - usage->until_us;
    usage->until_us = until_us;
    usage->is_edge = false;
}

static uint64_t newest_of(const struct nvml_samples *samples)
{
    uint64_t newest_us = 0;
    for (size_t i = 0; i < samples->count; i++) {
        if (samples->items[i].time_us > newest_us)
            newest_us = samples->items[i].time_us;
    }
    return newest_us;
}

/* Time that the answer stands for: back to what was accounted for, but no further than the driver measures. */
static uint64_t cover(struct nvml_usage *usage, uint64_t newest_us, uint64_t poll_us)
{
    uint64_t gap_us = newest_us > usage->until_us ? newest_us - usage->until_us : 0;
    if (usage->is_edge && gap_us >= WINDOW_LEAST_US && gap_us < usage->window_us)
        usage->window_us = gap_us;
    usage->is_edge = true;
    uint64_t most_us = usage->window_us + poll_us;
    usage->period_us += gap_us;
    usage->until_us += gap_us;
    return gap_us < most_us ? gap_us : most_us;
}

void nvml_usage_add(struct nvml_usage *usage, const struct nvml_samples *samples, uint64_t now_us, uint64_t poll_us)
{
    uint64_t newest_us = newest_of(samples);
    if (newest_us > usage->seen_us)
        usage->seen_us = newest_us;
    /* The clock was set, or the machine slept: what lies between has no length that we know. */
    bool has_jumped = usage->until_us > now_us || now_us - usage->until_us > PAUSE_MOST_US;
    if (usage->until_us == 0 || has_jumped) {
        usage->until_us = now_us;
        usage->is_edge = false;
        usage->seen_us = newest_us > 0 && newest_us <= now_us ? newest_us : now_us;
        return;
    }
    if (samples->count == 0) {
        add_idle(usage, now_us, poll_us);
        return;
    }
    /* A time of the future would make all that comes until then invisible. */
    if (newest_us > now_us)
        newest_us = usage->seen_us = now_us;
    double covered_us = num_to_f64(cover(usage, newest_us, poll_us));
    add_idle(usage, now_us, 0);
    for (size_t i = 0; i < samples->count; i++) {
        const struct nvml_sample *sample = &samples->items[i];
        struct nvml_share *share = find(usage, sample->pid);
        if (share)
            share->busy_us += covered_us * sample->sm_pct / 100 / num_to_f64(count_rows(samples, sample->pid));
    }
}

static double share_of(const struct nvml_usage *usage, const struct nvml_share *share)
{
    double now = usage->period_us > 0 ? share->busy_us / num_to_f64(usage->period_us) : share->usage;
    return now < 1 ? now : 1;
}

struct opt_f64 nvml_usage_of(const struct nvml_usage *usage, uint32_t pid)
{
    if (usage->period_us == 0 && !usage->is_closed)
        return (struct opt_f64){0};
    for (size_t i = 0; i < usage->count; i++) {
        if (usage->shares[i].pid == pid)
            return some_f64(share_of(usage, &usage->shares[i]));
    }
    return some_f64(0);
}

void nvml_usage_close(struct nvml_usage *usage)
{
    if (usage->period_us == 0)
        return;
    size_t kept = 0;
    for (size_t i = 0; i < usage->count; i++) {
        struct nvml_share share = {.pid = usage->shares[i].pid, .usage = share_of(usage, &usage->shares[i])};
        if (share.usage > 0)
            usage->shares[kept++] = share;
    }
    usage->count = kept;
    usage->period_us = 0;
    usage->is_closed = true;
}
