/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The option table: one row per setting, from which flags, environment, TOML keys, defaults, --help, --print-config
 * and docs/configuration.md are made. A new setting is a member of struct settings and a row in option_rows.h.
 */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"
#include "config/settings.h"

enum config_action {
    CONFIG_RUN,
    CONFIG_HELP,
    CONFIG_VERSION,
    CONFIG_PRINT,
    CONFIG_DOCTOR,
    CONFIG_UPLOAD_SPOOL,
    CONFIG_LICENSES,
    CONFIG_MARK,
};

enum option_type {
    OPTION_BOOL, /* bool */
    OPTION_INTEGER, /* int64_t */
    OPTION_OPT_INTEGER, /* struct opt_i64 */
    OPTION_DURATION, /* int64_t, nanoseconds */
    OPTION_CHOICE, /* int, the index into words */
    OPTION_STRING, /* char *, NULL = unset */
    OPTION_PAIRS, /* struct settings_pairs */
    OPTION_LIST, /* char *, known names joined with commas, NULL = none */
    OPTION_COUNT, /* int64_t, one more for every time the flag is given, up to max */
    OPTION_ACTION, /* no member: the program does this instead of tracking; with a metavar and no words it needs a
                      value */
};

enum option_props {
    OPTION_SECRET = 1, /* never shown; of pairs the values */
    OPTION_URL = 2, /* shown without user, password and query */
    OPTION_NONEMPTY = 4, /* an empty text is an error, not "unset" */
    OPTION_HEADERS = 8, /* of pairs: HTTP headers */
    OPTION_PER_KWH = 32, /* of durations: grams of CO2 per kWh, kept in nanograms */
    OPTION_NAMED_FILE = 16, /* names code to load: of files only one that was named (--config) may give it */
};

/* What a run does, as bits of option_row.modes. */
enum option_mode { MODE_COMMAND = 1, MODE_PID = 2, MODE_HOST = 4, MODE_REPLAY = 8 };

enum option_group {
    GROUP_TRACK,
    GROUP_OUTPUT,
    GROUP_SUMMARY,
    GROUP_WRAPPER,
    GROUP_MARK,
    GROUP_JOB,
    GROUP_COLLECT,
    GROUP_STREAM,
    GROUP_GENERAL,
    GROUP_COUNT,
};

/* Fewer headers than pairs: a request has room for 32, and some are ours. */
enum { SETTINGS_PAIRS_MAX = 256, SETTINGS_HEADERS_MAX = 24, SETTINGS_TEXT_MAX = 65536 };

/* What integers, counts and durations (nanoseconds) may be. */
enum option_range_name {
    RANGE_NONE,
    RANGE_PID,
    RANGE_DURATION,
    RANGE_INTERVAL,
    RANGE_NICENESS,
    RANGE_CARBON,
    RANGE_GRACE,
    RANGE_UPLOADS,
    RANGE_SPOOL,
    RANGE_VERBOSITY,
    RANGE_COUNT,
};
extern const struct option_range {
    int64_t min, max;
} option_ranges[RANGE_COUNT];

struct option_row {
    uint16_t texts; /* where they begin in option_texts: the flag without dashes, the default, the variables, what
                       option_part has; "" where there is none */
    uint16_t offset; /* into struct settings */
    enum option_type type : 8;
    enum option_group group : 8;
    enum config_action action : 8;
    enum option_range_name range : 8;
    uint8_t props;
    uint8_t modes; /* runs in which it has an effect; 0: in all */
    char letter;
};

/* Each with a NUL behind it. */
extern const char *const option_texts;

enum option_part {
    PART_KEY, /* dotted, of TOML */
    PART_METAVAR, /* see option_metavar; a boolean with one needs a value as a flag */
    PART_BARE, /* the value of the flag without one; see option_bare. Of an integer: the next word is the value where
                  it is one of its numbers, since --renice 5 is what one types */
    PART_WORDS, /* choices, or what may stand in a list; see option_word */
};
const char *option_part(const struct option_row *row, enum option_part part);

static inline const char *option_flag(const struct option_row *row)
{
    return option_texts + row->texts;
}

static inline const char *option_key(const struct option_row *row)
{
    return option_part(row, PART_KEY);
}

/* NULL: it needs a value. */
const char *option_bare(const struct option_row *row);

static inline bool option_has_metavar(const struct option_row *row)
{
    return option_part(row, PART_METAVAR)[0] != '\0';
}

/* What stands for its value in --help; "": nothing. */
static inline const char *option_metavar(const struct option_row *row)
{
    const char *metavar = option_part(row, PART_METAVAR);
    return metavar + (metavar[0] == '|');
}

/* The default as text; NULL: unset. */
const char *option_fallback(const struct option_row *row);

static inline const struct option_range *option_range(const struct option_row *row)
{
    return &option_ranges[row->range];
}

/* Of texts that stand one behind the other, each with a NUL: the one behind this. */
static inline const char *text_next(const char *text)
{
    return text + strlen(text) + 1;
}

/* The variables, of which the first that is set and not empty counts. */
const char *option_envs(const struct option_row *row);

/* For --help and docs, one per row; outside of OPTION_TEXTS a single one, without texts. */
struct option_help {
    const char *help; /* begins with a small letter, no full stop */
    const char *unset; /* what happens then; NULL: nothing to say */
};
extern const struct option_help option_helps[];

extern const struct option_row options[];

/* Where the row of a member is: ROW_pid. */
#define ROW(id, ...) ROW_##id,
#define ACTION ROW
enum option_index {
#include "config/option_rows.h"
    OPTIONS_COUNT
};

static inline const struct option_help *option_help(const struct option_row *row)
{
    return &option_helps[row - options];
}

/* The TOML tables in the order they are shown; NULL-terminated. */
enum { OPTION_TABLES = 7 };
extern const char option_tables[OPTION_TABLES][9];

/* Heading of a group in --help, and a line below it or NULL. */
struct option_heading {
    const char *title, *note;
};
extern const struct option_heading option_headings[GROUP_COUNT];

/* Where a value came from, the weakest first. */
enum option_source { SOURCE_DEFAULT, SOURCE_AUTO, SOURCE_FILE, SOURCE_ENV, SOURCE_FLAG };

struct option_origin {
    enum option_source source;
    bool negated; /* flag: --no-NAME */
    const char *env; /* environment, automatic: the variable */
    unsigned line, column; /* file */
};

/* The row with this key or letter; OPTIONS_COUNT where there is none. */
size_t options_by_key(struct str key);
size_t options_by_letter(char letter);

/* Is this the name of a TOML table that holds known keys ("tracker")? */
bool options_is_table(struct str name);

/* The known flag (without dashes, with "no-" where asked for) or TOML key or table nearest to what was typed. */
bool options_nearest_flag(struct str typed, struct buf *ret_flag);
bool options_nearest_key(struct str typed, bool table, struct buf *ret_key);

/* The known environment variable that is meant by this name; false where none is near. */
bool options_nearest_variable(struct str typed, struct buf *ret_variable);

/* Is this a variable of the table? */
bool options_has_variable(struct str name);

/*
 * What to write instead of a flag (without dashes) that other programs have and we do not: ", did you mean ...?" or
 * ": ...". False where there is nothing special to say about it. distance: edits in which it may differ from such a
 * flag.
 */
bool options_explain_flag(struct str typed, size_t distance, struct buf *ret_text);

/* The word of the row nearest to what was typed: whatever the distance, it shows what names look like.
 * False for a text that is too long to compare. */
bool options_nearest_word(const struct option_row *row, struct str typed, struct buf *ret_word);

/* The i-th of its words, or of its environment variables; NULL behind the last. */
const char *option_word(const struct option_row *row, size_t i);
const char *option_env(const struct option_row *row, size_t i);

/* A switch that is on unless its flag, --no-NAME, is given. */
bool option_is_on(const struct option_row *row);

/* May the flag stand without its value? */
bool option_is_value_optional(const struct option_row *row);

/* What messages call a setting: the last part of its TOML key, else its flag, else its variable. */
const char *option_name(const struct option_row *row);

static inline void *option_member(const struct option_row *row, struct settings *settings)
{
    return (char *)settings + row->offset;
}

static inline const void *option_member_const(const struct option_row *row, const struct settings *settings)
{
    return (const char *)settings + row->offset;
}

#endif
