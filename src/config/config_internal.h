/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of config share: the command line (cli.c), text for messages and TOML (show.c), applying values
 * (load.c, load_file.c), automatic metadata (metadata.c) and warnings about settings that are each valid (check.c).
 */
#ifndef CONFIG_CONFIG_INTERNAL_H
#define CONFIG_CONFIG_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "config/options.h"
#include "config/value.h"

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
    bool is_help_short; /* it came as a letter */
    struct config_marks marks;
};

/*
 * Reads options up to the first word that is none, or "--"; stops early at --help and --version, so that they work
 * whatever else is wrong. Returns 0 or a negative errno; free with cli_fini after success only.
 */
int cli_parse(int argc, char **argv, struct cli *ret_cli, struct err *err);
void cli_fini(struct cli *cli);

enum { SHOW_VALUE_MAX = 48, SHOW_PATH_MAX = 48 };

/* Like text_put with TEXT_ESCAPE, but cut at the front: the end of a path says more. */
void show_path(struct buf *buf, struct str path, size_t max);

/* "--interval", "TRACKER_INTERVAL", "resource-tracker.toml:2:17" (without the column where it is 0), "SLURM_JOB_NAME
 * (automatic)", "default". */
void show_origin(
    struct buf *buf, const struct option_row *row, const struct option_origin *origin, const char *config_path);

/* A TOML basic string with its quotes; bytes that are not UTF-8 become U+FFFD. */
void show_toml_string(struct buf *buf, struct str text);

/* A TOML key: bare where that is allowed, else quoted. */
void show_toml_key(struct buf *buf, struct str key);

/*
 * The URL without what may be secret: user:password@ (up to the last @ of the authority, RFC 3986), and the query and
 * fragment, which become "?...".
 */
void show_url(struct buf *buf, struct str url);

/* Reads settings.config_path, if it exists, into the settings. Unknown keys become warnings. */
int load_file(struct config *config, struct err *err);

/* Keeps a warning about the settings; those that do not fit are counted. */
void load_warn(struct config *config, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where values of row i from this origin go. */
struct value_target load_target(struct config *config, size_t i, const struct option_origin *origin);

/*
 * Puts "name = value (from origin)" before the reason in err; returns err->code. name and value are cut where needed,
 * and the value of a secret is left out.
 */
int load_refuse(const struct config *config, const struct option_row *row, struct str name, struct str value,
    const struct option_origin *origin, struct err *err);

enum { METADATA_VALUE_MAX = 1024 };

/* What a row of metadata says with its text. */
enum metadata_kind {
    METADATA_SYSTEM, /* a name: the rows that follow are about it */
    METADATA_SIGN, /* a variable: one of them set (not "false", not "0") means that this is it */
    METADATA_ALSO, /* a variable that must be set, too */
    METADATA_SECOND, /* of METADATA_JOINED */
    /* facts: what the value of a setting is; an earlier one wins over a later one */
    METADATA_CONSTANT,
    METADATA_VARIABLE,
    METADATA_JOINED, /* VALUE_SECOND, where both are set */
    METADATA_PART_1, /* that piece of A/B/C/D */
    METADATA_PART_2,
    METADATA_PART_3,
    METADATA_PART_4,
};

struct metadata_row {
    uint16_t offset; /* of facts: of a text in struct settings */
    uint8_t kind; /* enum metadata_kind */
};

/* Workflow engines, then CI systems, then what runs the job: the first that offers a value wins, setting by setting. */
extern const struct metadata_row metadata_rows[];
extern const size_t metadata_row_count;
extern const char metadata_texts[]; /* of each row, with a NUL behind it */

/*
 * Fills texts that no flag, variable or file has set (not even to nothing), unless job.auto_metadata is off. Values
 * that are empty, longer than METADATA_VALUE_MAX, no UTF-8 or hold control characters are passed over. Returns 0 or
 * -ENOMEM.
 */
int metadata_fill(struct config *config, char *const *environ_, struct err *err);

/* The list of systems for docs/configuration.md. */
void metadata_docs(struct buf *buf);

/* What -h and --help print: tools/embed-text makes it from what tools/docs_help.c wrote. */
extern const unsigned char help_packed[];
extern const size_t help_packed_bytes;

/* Variables that begin as ours do and are none. Values are never shown. */
void check_variables(struct config *config, char *const *environ_);

/* Settings that contradict each other or have no effect in this run; of actions such as --print-config nothing. */
void check_effects(struct config *config, const struct cli *cli, char *const *environ_);

#endif
