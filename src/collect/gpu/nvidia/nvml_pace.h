/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When the helper asks the NVIDIA library. It reads shortly before each place of the grid of samples, so that the
 * sample finds an answer that is only milliseconds old; between the places of a wide grid it reads every second, and on
 * a narrow one not more often than every 200 ms, for the driver has nothing new by then. Pure.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_PACE_H
#define COLLECT_GPU_NVIDIA_NVML_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

#define NVML_PACE_LEAST_NS (200 * NS_PER_MS)
#define NVML_PACE_MOST_NS NS_PER_SEC

struct nvml_pace {
    int64_t start_ns; /* a place of the grid */
    int64_t place_ns; /* from one place that is read for to the next */
    int64_t step_ns; /* from one reading to the next */
    int64_t steps_per_place;
    int64_t next; /* the number of the next step */
};

struct nvml_step {
    int64_t due_ns; /* monotonic */
    bool is_place; /* the reading belongs to a sample */
};

/* now_ns: the first step comes after it. */
void nvml_pace_init(struct nvml_pace *pace, int64_t start_ns, int64_t interval_ns, int64_t now_ns);

/* The next step, lead_ns early. */
struct nvml_step nvml_pace_next(const struct nvml_pace *pace, int64_t lead_ns);

/* It is done; steps whose time has passed by now_ns are left out. */
void nvml_pace_advance(struct nvml_pace *pace, int64_t now_ns);

/* How old the newest reading may be before it is of no use any more. */
int64_t nvml_pace_patience(int64_t interval_ns);

#endif
