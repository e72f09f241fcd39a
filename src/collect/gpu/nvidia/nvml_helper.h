/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hidden mode of the program: a process of its own that loads the NVIDIA library, reads, and sends what it finds
 * through HELPER_CHANNEL_FD until the other end is closed.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_HELPER_H
#define COLLECT_GPU_NVIDIA_NVML_HELPER_H

#include <stdbool.h>
#include <stdint.h>

#define NVML_HELPER_FLAG "--nvml-helper"

/* What it is told on its command line. */
enum nvml_helper_argument {
    NVML_HELPER_FLAG_AT = 1,
    NVML_HELPER_LIBRARY_AT,
    NVML_HELPER_START_AT,
    NVML_HELPER_INTERVAL_AT,
    NVML_HELPER_LISTS_AT, /* 1: processes are wanted */
    NVML_HELPER_ARGUMENTS,
};

/* What it may be asked for while it runs. */
enum nvml_helper_wish {
    NVML_HELPER_ENERGY = 1, /* the energy counters, once */
    NVML_HELPER_USAGE, /* how much processes use of these cards, which costs milliseconds per card */
};

struct nvml_helper_request {
    uint64_t wish;
    uint64_t cards; /* a bit each */
};

/* The run_helper of struct gpu_vendor. */
bool nvml_helper_run(int argc, char **argv, int *ret_status);

#endif
