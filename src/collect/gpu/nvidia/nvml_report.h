/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the helper tells: it asks the NVIDIA library, keeps means and shares between the places of the grid of samples,
 * and sends messages through HELPER_CHANNEL_FD.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_REPORT_H
#define COLLECT_GPU_NVIDIA_NVML_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/gpu/nvidia/nvml.h"
#include "collect/gpu/nvidia/nvml_usage.h"
#include "collect/gpu/nvidia/nvml_wire.h"

struct nvml_report_card {
    struct nvml_usage usage;
    struct nvml_mean {
        double sum, weight; /* since the last place of the grid */
    } utilization, memory_utilization;
    bool has_samples; /* the driver can tell how much processes use, and was asked */
    bool has_processes; /* somebody was listed the last time, or the list could not be had */
};

struct nvml_report {
    struct nvml *nvml;
    struct nvml_report_card *cards;
    size_t count;
    bool wants_lists;
    uint32_t turn;
    uint64_t usage_cards; /* of which usage is wanted, a bit each */
    int64_t lead_ns;
    int64_t began_ns, began_before_ns; /* the last two readings */
    int64_t polled_ns, poll_cost_ns; /* when usage was asked for, and the CPU time of that */
    bool is_over; /* nobody is there to send to */
    struct nvml_wire_message message;
    struct nvml_processes processes;
    struct nvml_samples samples;
};

/* Opens the library and finds the cards; where that fails, the other end is told why, and -1 is returned. */
int nvml_report_open(struct nvml_report *report, const char *library);

/* What does not change, and the counters of energy. */
void nvml_report_facts(struct nvml_report *report);
void nvml_report_energy(struct nvml_report *report);

/* A reading of all cards; is_place: it belongs to a sample, and means begin anew after it. */
void nvml_report_reading(struct nvml_report *report, bool is_place);

/* How much processes use is wanted of these cards from now on, a bit each. */
void nvml_report_usage_of(struct nvml_report *report, uint64_t cards);

/* Asks how much each process ran since this was last asked, where that is wanted and due. */
void nvml_report_poll(struct nvml_report *report);

#endif
