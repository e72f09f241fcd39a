/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of nvml.h share: the cards, and which calls each of them refused for good.
 */
#ifndef COLLECT_GPU_NVIDIA_NVML_CARD_H
#define COLLECT_GPU_NVIDIA_NVML_CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/gpu/nvidia/nvml.h"
#include "collect/gpu/nvidia/nvml_load.h"

enum nvml_question {
    NVML_ASK_UTILIZATION,
    NVML_ASK_MEMORY_V2,
    NVML_ASK_MEMORY_V1,
    NVML_ASK_TEMPERATURE,
    NVML_ASK_POWER,
    NVML_ASK_CLOCK,
    NVML_ASK_REASONS,
    NVML_ASK_ENERGY,
    NVML_ASK_SAMPLES,
    NVML_ASK_LISTS, /* and one bit more for each further list */
    NVML_ASK_COUNT = NVML_ASK_LISTS + NVML_LIST_COUNT,
};

_Static_assert(NVML_ASK_COUNT <= 32, "a bit each");

struct nvml_card {
    struct nvml_device *device;
    struct nvml_device *board; /* whose sensors are read: the parent of a MIG instance, else device */
    uint32_t refused; /* bits of nvml_question that are not asked any more */
    bool is_lost; /* in this reading it said that it is not there any more */
    struct opt_u64 vram_total_bytes; /* as last read */
    struct nvml_facts facts;
};

/* More than is told: a list that is too long for the reader still gives its first part. */
enum { NVML_ROWS_MAX = 4 * NVML_PROCESSES_MAX };

/* Where the library writes its lists. One row more than it is told of shows where it stopped. */
union nvml_rows {
    struct nvml_process_v1 v1[NVML_ROWS_MAX + 1];
    struct nvml_process_v2 v2[NVML_ROWS_MAX + 1];
    struct nvml_process_v3 v3[NVML_ROWS_MAX + 1];
    struct nvml_process_sample samples[NVML_ROWS_MAX + 1];
    unsigned char bytes[(NVML_ROWS_MAX + 1) * sizeof(struct nvml_process_v3)];
};

/* What changes while reading. */
struct nvml_work {
    struct nvml_card cards[NVML_CARDS_MAX];
    union nvml_rows rows;
};

struct nvml {
    struct nvml_calls calls;
    size_t card_count;
    struct nvml_work *work;
};

/* NULL where there is no such card. */
static inline struct nvml_card *nvml_card_at(const struct nvml *nvml, size_t card)
{
    return card < nvml->card_count ? &nvml->work->cards[card] : NULL;
}

static inline void nvml_card_refuse(struct nvml_card *card, unsigned question)
{
    card->refused |= UINT32_C(1) << question;
}

static inline bool nvml_card_may_ask(const struct nvml_card *card, unsigned question)
{
    return (card->refused & UINT32_C(1) << question) == 0;
}

/* Was the answer a good one? An answer that will not change is remembered, so that it is not asked for again. */
static inline bool nvml_card_took(struct nvml_card *card, unsigned question, int code)
{
    if (code == NVML_NOT_SUPPORTED || code == NVML_FUNCTION_NOT_FOUND)
        nvml_card_refuse(card, question);
    if (code == NVML_UNINITIALIZED || code == NVML_DRIVER_NOT_LOADED || code == NVML_GPU_IS_LOST ||
        code == NVML_RESET_REQUIRED)
        card->is_lost = true;
    return code == NVML_OK;
}

/* Total and used, each absent where the driver does not say; in nvml_read.c. */
void nvml_card_read_memory(
    const struct nvml *nvml, struct nvml_card *card, struct opt_u64 *ret_total, struct opt_u64 *ret_used);

#endif
