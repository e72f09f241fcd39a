/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What load.c, load_file.c and metadata.c share: applying one value, and the message when it is refused.
 */
#ifndef CONFIG_LOAD_H
#define CONFIG_LOAD_H

#include "base/err.h"
#include "config/config.h"
#include "config/value.h"

/* Reads settings.config_path, if it exists, into the settings. Unknown keys become warnings. */
int load_file(struct config *config, struct err *err);

/* Keeps a warning about the settings; those that find no room are counted. */
void load_warn(struct config *config, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The value of a variable; NULL where it is not set or empty. */
const char *load_env_value(char *const *environ_, const char *name);

/* Where values of row i from this origin go. */
struct value_place load_place(struct config *config, size_t i, const struct option_origin *origin);

/*
 * Puts "name = value (from origin)" before the reason in err; returns err->code. name and value are cut where needed,
 * and the value of a secret is left out.
 */
int load_refuse(const struct config *config, const struct option_row *row, struct str name, struct str value,
    const struct option_origin *origin, struct err *err);

#endif
