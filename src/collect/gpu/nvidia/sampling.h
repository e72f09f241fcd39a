/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the helper asks the NVIDIA library, and what the driver's samples say of processes. Pure.
 */
#ifndef COLLECT_GPU_NVIDIA_SAMPLING_H
#define COLLECT_GPU_NVIDIA_SAMPLING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"
#include "collect/gpu/nvidia/nvml.h"

#define NVML_PACE_LEAST_NS (200 * NS_PER_MS)
#define NVML_PACE_MOST_NS NS_PER_SEC

/*
 * When to read: shortly before each slot of the grid of samples, so that the sample finds an answer that is only
 * milliseconds old; between the slots of a wide grid every second, and on a narrow one not more often than every
 * 200 ms, for the driver has nothing new by then.
 */
struct nvml_pace {
    int64_t start_ns; /* a slot of the grid */
    int64_t slot_ns; /* from one slot that is read for to the next */
    int64_t step_ns; /* from one reading to the next */
    int64_t steps_per_slot;
    int64_t next; /* the number of the next step */
};

struct nvml_step {
    int64_t due_ns; /* monotonic */
    bool is_slot; /* the reading belongs to a sample */
};

/* now_ns: the first step comes after it. */
void nvml_pace_init(struct nvml_pace *pace, int64_t start_ns, int64_t interval_ns, int64_t now_ns);

/* The next step, lead_ns early. */
struct nvml_step nvml_pace_next(const struct nvml_pace *pace, int64_t lead_ns);

/* It is done; steps whose time has passed by now_ns are left out. */
void nvml_pace_advance(struct nvml_pace *pace, int64_t now_ns);

/* How old the newest reading may be before it is of no use any more. */
int64_t nvml_pace_patience(int64_t interval_ns);

/*
 * How much of a device each process used. The driver measures in windows of its own (200 ms on an H200, up to a second
 * elsewhere), averages over those since it was last asked, and leaves out processes that did not run: so time for which
 * none is listed is idle time.
 */
struct nvml_usage {
    uint64_t seen_us; /* the newest sample so far: what to ask the driver for */
    uint64_t until_us; /* up to here the time is accounted for; 0: not begun */
    bool is_edge; /* that is the end of a window of the driver */
    uint64_t window_us; /* the driver's, as far as can be seen */
    uint64_t period_us; /* accounted for since the last nvml_usage_close */
    bool is_closed; /* a period was ended already */
    struct nvml_share {
        uint32_t pid;
        double busy_us; /* since then */
        double usage; /* of the period before */
    } shares[NVML_PROCESSES_MAX];
    size_t count;
};

void nvml_usage_init(struct nvml_usage *usage);

/* What the driver answered, asked at now_us (Unix time), and poll_us after it was asked before. The first answer only
 * says where the time begins. */
void nvml_usage_add(struct nvml_usage *usage, const struct nvml_samples *samples, uint64_t now_us, uint64_t poll_us);

/* Of the period so far; of the one before where no time was accounted for since. 0 for a process that did not run,
 * absent before there was any time. */
struct opt_f64 nvml_usage_of(const struct nvml_usage *usage, uint32_t pid);

/* Begins a new period, unless no time was accounted for in this one. */
void nvml_usage_close(struct nvml_usage *usage);

#endif
