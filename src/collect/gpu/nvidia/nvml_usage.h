/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a device each process used, from the driver's samples. The driver measures in windows of its own (200 ms
 * on an H200, up to a second elsewhere), averages over those since it was last asked, and leaves out who did not run:
 * so time in which nobody is told of is idle time. Pure.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_USAGE_H
#define COLLECT_GPU_NVIDIA_NVML_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/gpu/nvidia/nvml.h"

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

/* What the driver told, asked at now_us (Unix time), and poll_us after it was asked before. The first answer only says
 * where the time begins. */
void nvml_usage_add(struct nvml_usage *usage, const struct nvml_samples *samples, uint64_t now_us, uint64_t poll_us);

/* Of the period so far; of the one before where no time was accounted for since. 0 for a process that did not run,
 * absent before there was any time. */
struct opt_f64 nvml_usage_of(const struct nvml_usage *usage, uint32_t pid);

/* Begins a new period, unless no time was accounted for in this one. */
void nvml_usage_close(struct nvml_usage *usage);

#endif
