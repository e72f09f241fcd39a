/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Both ends of the helper that runs the NVIDIA library. Ours starts it, listens to it, and replaces it when it ends or
 * falls silent, each time after a longer pause. One that cannot even be killed is stuck in the driver and is left
 * alone. Nothing here waits.
 */
#ifndef COLLECT_GPU_NVIDIA_NVIDIA_INTERNAL_H
#define COLLECT_GPU_NVIDIA_NVIDIA_INTERNAL_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/collect.h"
#include "collect/gpu/gpu.h"
#include "collect/gpu/nvidia/wire.h"
#include "collect/helper.h"

#define NVIDIA_DRIVERS "nvidia"

#define NVIDIA_INIT_NS (60 * NS_PER_SEC) /* a machine with many sleeping GPUs takes its time */
#define NVIDIA_SILENCE_NS (5 * NS_PER_SEC)
#define NVIDIA_SPIN_NS (10 * NS_PER_SEC) /* of CPU time without an answer */
#define NVIDIA_ASLEEP_NS (4 * NS_PER_SEC) /* ticks are a second apart at most */
#define NVIDIA_PAUSE_NS NS_PER_SEC /* before the second start; doubles */
#define NVIDIA_PAUSE_MOST_NS (60 * NS_PER_SEC)

enum nvidia_phase {
    NVIDIA_WAITING, /* until due_ns */
    NVIDIA_RUNNING,
    NVIDIA_GIVEN_UP, /* there is no library, or too many helpers are stuck */
};

struct nvidia_link {
    const struct collect_env *env;
    enum nvidia_phase phase;
    int64_t due_ns, pause_ns;
    int64_t slot_ns; /* a slot of the grid of samples */
    int64_t now_ns; /* of this tick */
    int64_t started_ns, heard_ns;
    struct helper process;
    int channel_fd;
    bool is_broken; /* it has closed its end, or sends invalid messages */
    bool is_invalid;
    struct helper abandoned[HELPER_ABANDONED_MAX];
    struct err why; /* why there is nothing new; code 0: no reason to complain yet */
    struct nvidia_cards {
        struct nvidia_card {
            struct gpu_facts facts;
            struct opt_f64 first_joules, last_joules;
            struct nvml_wire_reading coming, current;
            uint32_t coming_cycle;
        } * items;
        size_t count, cap;
    } cards;
    bool has_facts; /* of all cards */
    bool is_empty; /* the driver has no device */
    bool has_worked; /* the present helper has sent a reading */
    struct opt_i64 read_ns; /* when `current` of all cards was read */
    bool has_all_energy; /* the counters were sent to the end */
    uint64_t usage_cards; /* of which it was asked how much processes use, a bit each */
    uint64_t cpu_ns, rss_bytes; /* of the present helper */
    uint64_t done_cpu_ns; /* of it, up to its last answer */
    uint64_t past_cpu_ns;
    struct nvml_wire_message message;
};

void nvidia_link_open(struct nvidia_link *link, const struct collect_env *env, int64_t due_ns);
void nvidia_link_close(struct nvidia_link *link);

/* One step: takes what has come, ends what is stuck, starts what is due. */
void nvidia_link_tick(struct nvidia_link *link, int64_t now_ns);

/* How much processes use is wanted of these cards from now on, a bit each; costs nothing where they are the same. */
void nvidia_link_want_usage(struct nvidia_link *link, uint64_t cards);

/* Asks for the energy counters and waits for them, for a little: only for a run that is over. */
void nvidia_link_ask_energy(struct nvidia_link *link);

/* The run_helper of struct gpu_vendor: the other end. */
bool nvml_helper_run(int argc, char **argv, int *ret_status);

/* A device file is in reach, or the user has named a library. False where NVIDIA is never to be asked. */
static inline bool nvidia_devices_are_there(const struct collect_env *env)
{
    const int root_fd = env->root->root_fd;
    if (!env->gpu.program)
        return false;
    if (env->gpu.nvml_library || faccessat(root_fd, "dev/nvidiactl", F_OK, 0) == 0)
        return true;
    /* In WSL the device file is the same for GPUs of all vendors, and only the library is NVIDIA's. */
    return faccessat(root_fd, "dev/dxg", F_OK, 0) == 0 &&
           faccessat(root_fd, "usr/lib/wsl/lib/libnvidia-ml.so.1", F_OK, 0) == 0;
}

#endif
