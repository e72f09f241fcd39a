/* SPDX-License-Identifier: Apache-2.0 */
/* Warnings about settings that are each valid. */
#ifndef CONFIG_CHECK_H
#define CONFIG_CHECK_H

#include "config/cli.h"
#include "config/config.h"

/* Variables that begin as ours do and are none. Values are never shown. */
void check_variables(struct config *config, char *const *environ_);

/* Settings that contradict each other or have no effect in this run; of actions such as --print-config nothing. */
void check_effects(struct config *config, const struct cli *cli, char *const *environ_);

#endif
