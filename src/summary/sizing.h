/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Right-sizing: what to ask for next time, by a plain rule with its reason. vCPUs: P95 of cores + 25 %, rounded up, at
 * least 1. Memory: peak + 20 %, up to the next of 128, 256, 512 MiB, 1, 2 GiB, then whole GiB. GPUs: those the tree
 * used. A value is withheld where the run was too short or the peak is uncertain, and the reason says so.
 */
#ifndef SUMMARY_SIZING_H
#define SUMMARY_SIZING_H

#include "summary/summary.h"

enum { SIZING_TEXT_BYTES = 200 };

/* Room for the texts of a summary_sizing. */
struct sizing_texts {
    char vcpus[SIZING_TEXT_BYTES], memory[SIZING_TEXT_BYTES], gpus[SIZING_TEXT_BYTES], vram[SIZING_TEXT_BYTES],
        slurm[SIZING_TEXT_BYTES], kubernetes[SIZING_TEXT_BYTES], docker[SIZING_TEXT_BYTES], metaflow[SIZING_TEXT_BYTES];
};

/* Fills summary->sizing from the rest of the summary. */
void sizing_fill(struct summary *summary, struct sizing_texts *texts);

/*
 * Was the run (one alone) killed for want of memory, or by SIGKILL with its memory at the highest? Then it may have
 * wanted more than its peak.
 */
bool sizing_peak_is_uncertain(const struct summary *summary);

/* The ready lines for what is recommended. */
void sizing_put_lines(struct summary_sizing *sizing, struct sizing_texts *texts);

/* The next size at or above that much memory. */
uint64_t sizing_ladder_mib(double mib);

#endif
