/* SPDX-License-Identifier: Apache-2.0 */
/* What does not change during a run, as it is reported with the first sample. */
#ifndef RUN_START_FACTS_H
#define RUN_START_FACTS_H

#include "config/settings.h"
#include "kernel/sysroot.h"
#include "mask/mask.h"
#include "model/sample.h"

struct start_facts {
    const struct settings *settings;
    char hostname[256], kernel[128]; /* "": unknown */
    const char *command[SAMPLE_ARGUMENTS_MAX + 1]; /* not owned, but for a last "..." */
    size_t arguments;
    struct opt_u64 cpus_allowed;
};

/* Takes a moment: after the command was started. command: as it may be shown (masked), NULL: it may not; not owned. */
void start_facts_init(
    struct start_facts *facts, const struct settings *settings, const struct sysroot *root, char *const *command);

/* How command lines are to be masked. */
enum mask_mode start_facts_mask(const struct settings *settings);

/* Points into facts and settings. */
struct sample_run start_facts_of(const struct start_facts *facts);

#endif
