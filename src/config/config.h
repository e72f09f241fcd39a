/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Configuration from the outside: load it once at the start, print it. Texts go into a struct buf, which main
 * prints.
 */
#ifndef CONFIG_CONFIG_H
#define CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/options.h"
#include "config/settings.h"

enum { CONFIG_WARNINGS_MAX = 16, CONFIG_TEXT_MAX = 320, CONFIG_MARKS_MAX = 16 };

struct config {
    struct settings settings;
    enum config_action action;
    bool doctor_online; /* --doctor=online */
    struct config_marks {
        struct {
            const char *kind, *name; /* kind: the flag */
        } items[CONFIG_MARKS_MAX];
        size_t count;
        const char *socket; /* of the tracker of this command; NULL: there is none */
    } marks; /* --mark, --begin, --end, in their order */
    bool is_help_short; /* -h */
    bool file_found; /* settings.config_path exists and was read */
    bool file_refused; /* it exists, but was not named and cannot be trusted */
    struct option_origin origins[OPTIONS_COUNT]; /* by row of the option table */
    struct option_origin *pair_origins[2]; /* of tags and of headers, by pair; NULL where there is none */
    char *warnings[CONFIG_WARNINGS_MAX];
    size_t warning_count;
    size_t warnings_dropped; /* those that did not fit */
};

/*
 * Flags over environment over TOML file over metadata of the surroundings over defaults; every value is checked, also
 * one that is overridden.
 * environ_ is NULL-terminated; nothing but the configuration file is read. With CONFIG_HELP and CONFIG_VERSION neither
 * environment nor file is read, with CONFIG_MARK nothing but the path of the socket. Returns 0 or a negative errno with
 * a message of one line; On success *ret_config keeps pointers into argv and environ_, and is freed with config_fini.
 */
int config_load(int argc, char **argv, char *const *environ_, struct config *ret_config, struct err *err);
void config_fini(struct config *config);

/* Logs what is odd about the settings, one line each. */
void config_log_warnings(const struct config *config);

void config_help(struct buf *buf);
void config_short_help(struct buf *buf); /* fits a screen */
void config_print(const struct config *config, struct buf *buf);
void config_docs(struct buf *buf); /* docs/configuration.md */

/* Which element of pair_origins belongs to a row of pairs. */
static inline size_t config_pairs_index(const struct option_row *row)
{
    return row->offset == offsetof(struct settings, tags) ? 0 : 1;
}

#endif
