/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The script of the fake NVIDIA library: what its devices show and how its calls go wrong. See fake_nvml.c for the
 * keys.
 */
#ifndef TESTS_FAKE_NVML_SCRIPT_H
#define TESTS_FAKE_NVML_SCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FAKE_GPUS_MAX = 64, FAKE_ROWS_MAX = 64, FAKE_FAULTS_MAX = 32, FAKE_TEXT_BYTES = 160 };

#define FAKE_NONE UINT64_MAX /* no MIG mode, no amount reported, no particular GPU */

struct fake_gpu {
    char name[FAKE_TEXT_BYTES], uuid[FAKE_TEXT_BYTES], bus[FAKE_TEXT_BYTES];
    uint64_t index, util, memutil, used, total, reserved, temp, power, clock, throttle, cores, energy, energy_step, mig;
    uint64_t crowd, sample_crowd;
};

/* A process, or a sample of one. */
struct fake_row {
    uint64_t gpu, instance; /* instance FAKE_NONE: on the whole GPU */
    char pid[FAKE_TEXT_BYTES]; /* a number or pidfile:/path */
    uint64_t vram, sm, age_ms;
    char kind[FAKE_TEXT_BYTES];
};

struct fake_fault {
    char kind[FAKE_TEXT_BYTES], call[FAKE_TEXT_BYTES];
    uint64_t value, gpu;
};

struct fake_script {
    uint64_t gpus, cuda, init_error, garbage, partial, wipe, row_bytes;
    char driver[FAKE_TEXT_BYTES], count_file[FAKE_TEXT_BYTES];
    struct fake_gpu gpu[FAKE_GPUS_MAX];
    struct fake_row processes[FAKE_ROWS_MAX], samples[FAKE_ROWS_MAX];
    size_t process_count, sample_count;
    struct fake_fault faults[FAKE_FAULTS_MAX];
    size_t fault_count;
};

/* Reads the script that FAKE_NVML names or holds; aborts with a message over a line that it does not understand. */
void fake_script_load(struct fake_script *script);

/* The PID that a row names, 0 where its file does not say (yet). */
uint32_t fake_row_pid(const struct fake_row *row);

/* A call that ends in '*' stands for all that begin so. */
bool fake_fault_is_for(const struct fake_fault *fault, const char *call, uint64_t gpu);

#endif
