/* SPDX-License-Identifier: Apache-2.0 */
/* What does not change during a run, as it is reported with the first sample: the command, the job and the machine. */
#ifndef RUN_START_FACTS_H
#define RUN_START_FACTS_H

#include "config/settings.h"
#include "kernel/sysroot.h"
#include "mask/mask.h"
#include "model/sample.h"

enum { START_METADATA_MAX = 13 };

struct start_facts {
    const struct settings *settings; /* NULL: no facts */
    char hostname[256], kernel[128], cpu_model[160]; /* "": unknown */
    bool has_cpu_model; /* was read, whatever came of it */
    struct str_pair metadata[START_METADATA_MAX];
    size_t metadata_count;
    struct str_pair *tags; /* owned; the texts are the settings' */
    const char *command[SAMPLE_ARGUMENTS_MAX + 1]; /* not owned, but for a last "..." */
    size_t arguments;
    struct opt_u64 cpus_allowed;
};

/* Takes a moment: after the command was started. command: as it may be shown (masked), NULL: it may not; not owned. */
void start_facts_init(
    struct start_facts *facts, const struct settings *settings, const struct sysroot *root, char *const *command);

void start_facts_fini(struct start_facts *facts);

/* A little later: on some kernels this takes 10 ms. Reads once. */
void start_facts_read_cpu_model(struct start_facts *facts, const struct sysroot *root);

/* How command lines are to be masked. */
enum mask_mode start_facts_mask(const struct settings *settings);

/* All but what collectors have filled in. Points into facts and settings. */
void start_facts_fill(const struct start_facts *facts, struct sample_run *run);

#endif
