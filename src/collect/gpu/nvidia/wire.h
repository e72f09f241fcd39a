/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes between us and the helper that runs the NVIDIA library: its command line, our requests, and what it sends
 * through HELPER_CHANNEL_FD, one message per packet, until our end is closed. Both ends are the same program, but a
 * library that writes where it should not may have spoilt the helper's memory: nothing is believed unchecked.
 */
#ifndef COLLECT_GPU_NVIDIA_WIRE_H
#define COLLECT_GPU_NVIDIA_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "collect/gpu/gpu.h"
#include "collect/gpu/nvidia/nvml.h"

#define NVML_HELPER_FLAG "--nvml-helper"

/* Its command line. */
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

enum nvml_wire_kind {
    NVML_WIRE_FAILED = 1, /* the library cannot be used; the helper ends */
    NVML_WIRE_FACTS, /* of one card */
    NVML_WIRE_READING, /* of one card */
    NVML_WIRE_DONE, /* the readings of all cards are sent */
    NVML_WIRE_ENERGY, /* of one card, in joules */
};

/* Slots in nvml_wire_reading.values; a bit of `known` each. */
enum nvml_wire_value {
    NVML_WIRE_UTILIZATION_PCT,
    NVML_WIRE_MEMORY_UTILIZATION_PCT,
    NVML_WIRE_VRAM_TOTAL_BYTES,
    NVML_WIRE_VRAM_USED_BYTES,
    NVML_WIRE_TEMPERATURE_CELSIUS,
    NVML_WIRE_POWER_WATTS,
    NVML_WIRE_FREQUENCY_MHZ,
    NVML_WIRE_THROTTLE_MASK,
    NVML_WIRE_VALUES,
};

/* Bits of nvml_wire_process.known. */
enum { NVML_WIRE_HAS_VRAM = 1, NVML_WIRE_HAS_USAGE = 2 };

struct nvml_wire_process {
    uint32_t pid;
    uint32_t known;
    double vram_bytes;
    double usage; /* 0 to 1 */
};

struct nvml_wire_message {
    uint32_t kind;
    uint32_t card, card_count;
    uint32_t cycle; /* the same in all messages of one reading */
    union {
        struct {
            int32_t code; /* negative errno */
            char text[200];
        } failed;
        struct {
            char uuid[NVML_TEXT_BYTES], name[NVML_TEXT_BYTES], pci_bus[NVML_TEXT_BYTES];
            char driver_version[NVML_TEXT_BYTES], cuda_version[NVML_TEXT_BYTES], parent_uuid[NVML_TEXT_BYTES];
            int64_t index, core_count; /* negative: unknown */
        } facts;
        struct {
            int64_t read_ns; /* monotonic */
            uint64_t cpu_ns; /* of the helper so far */
            uint64_t rss_bytes; /* of the helper, at most so far */
        } done;
        double energy_joules;
        struct nvml_wire_reading {
            double values[NVML_WIRE_VALUES];
            uint32_t known;
            uint32_t has_processes; /* 1: what follows are all there are */
            uint32_t process_count;
            uint32_t is_lost; /* 1: the device says that it is not there any more */
            struct nvml_wire_process processes[NVML_PROCESSES_MAX];
        } reading;
    };
};

/* How many bytes of it are to be sent. */
size_t nvml_wire_bytes(const struct nvml_wire_message *message);

/* 0 where n bytes are a message as it should be, else -EBADMSG. Texts are made to end. */
int nvml_wire_check(struct nvml_wire_message *message, size_t n);

/* The two ends of a card's facts and of a reading. */
void nvml_wire_put_facts(const struct nvml_facts *facts, struct nvml_wire_message *message);
void nvml_wire_get_facts(const struct nvml_wire_message *message, struct gpu_facts *ret_facts);
void nvml_wire_put_reading(const struct nvml_reading *reading, struct nvml_wire_reading *wire);
void nvml_wire_get_reading(const struct nvml_wire_reading *wire, struct gpu_reading *ret_reading);

#endif
