/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Automatic metadata: what was not given about the job is taken from well-known variables of schedulers, workflow
 * engines and CI systems, by an allow-list and never more.
 */
#ifndef CONFIG_METADATA_H
#define CONFIG_METADATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "config/config.h"

enum { METADATA_SIGNS = 2, METADATA_VALUE_MAX = 1024 };

/* One setting and where its value is. */
struct metadata_fact {
    uint16_t offset; /* of a text in struct settings */
    uint8_t part; /* from 1: that piece of A/B/C/D; 0: the whole value */
    bool is_constant;
    char text[26]; /* a constant, or the name of a variable; empty: end of the facts */
    const char *second; /* a variable that makes it VALUE_SECOND, where both are set; NULL: none */
};

struct metadata_system {
    char name[16];
    char signs[METADATA_SIGNS][24]; /* one of them set (not "false", not "0") means: this is it; empty: none */
    char also[20]; /* and this one must be set, too; empty: none */
    const struct metadata_fact *facts; /* an earlier one wins over a later one for the same setting */
};

/* Workflow engines, then CI systems, then what runs the job: the first that offers a value wins, setting by setting. */
extern const struct metadata_system metadata_systems[];
extern const size_t metadata_system_count;

/*
 * Fills texts that no flag, variable or file has set (not even to nothing), unless job.auto_metadata is off. Values
 * that are empty, longer than METADATA_VALUE_MAX, no UTF-8 or hold control characters are passed over. Returns 0 or
 * -ENOMEM.
 */
int metadata_fill(struct config *config, char *const *environ_, struct err *err);

/* The list of systems for docs/configuration.md. */
void metadata_docs(struct buf *buf);

#endif
