/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command line cut into flags with their values, and the command behind them. Values are not looked at here.
 */
#ifndef CONFIG_CLI_H
#define CONFIG_CLI_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "config/options.h"

enum { CLI_ITEMS_MAX = 4096 };

struct cli {
    struct cli_item {
        size_t row;
        const char *value; /* into argv; NULL: given without one */
        bool negated; /* --no-NAME */
    } * items;
    size_t count, cap;
    char *const *command; /* into argv; NULL: none */
    enum config_action action;
    bool doctor_online;
};

/*
 * Reads options up to the first word that is none, or "--"; stops early at --help and --version, so that they work
 * whatever else is wrong. Returns 0 or a negative errno; free with cli_fini after success only.
 */
int cli_parse(int argc, char **argv, struct cli *ret_cli, struct err *err);
void cli_fini(struct cli *cli);

#endif
