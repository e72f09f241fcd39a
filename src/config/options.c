/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table made from option_rows.h: texts in one piece, since an address is larger than most and needs work when the
 * program starts; and what asks for rows by name.
 */
#include "config/options.h"

#include <stdint.h>

#include "base/clock.h"

#define DAY_NS (24 * 3600 * NS_PER_SEC)
#define PID_LIMIT 4194304 /* PID_MAX_LIMIT of 64-bit kernels */

const struct option_heading option_headings[GROUP_COUNT] = {
    [GROUP_TRACK] = {"What to track", NULL},
    [GROUP_OUTPUT] = {"Sampling and output", NULL},
    [GROUP_SUMMARY] = {"Summary and report", NULL},
    [GROUP_WRAPPER] = {"Running a command", NULL},
    [GROUP_MARK] = {"Inside a tracked command",
        "Each is sent to the tracker of the command; without one nothing happens."},
    [GROUP_JOB] = {"About the job", "Recorded with the run, sent to streaming targets; the name is in every sample."},
    [GROUP_COLLECT] = {"Collectors", NULL},
    [GROUP_STREAM] = {"Streaming", "There is no network traffic unless one of the targets is set."},
    [GROUP_GENERAL] = {"General", NULL},
};

const char option_tables[OPTION_TABLES][9] = {"tracker", "job", "collect", "sentinel", "s3", "http", "otlp"};

const struct option_range option_ranges[RANGE_COUNT] = {
    [RANGE_PID] = {1, PID_LIMIT},
    [RANGE_DURATION] = {10 * NS_PER_MS, 365 * DAY_NS},
    [RANGE_INTERVAL] = {10 * NS_PER_MS, DAY_NS},
    [RANGE_NICENESS] = {-20, 19},
    [RANGE_CARBON] = {NS_PER_MS, 10000 * NS_PER_SEC},
    [RANGE_GRACE] = {0, 3600 * NS_PER_SEC},
    [RANGE_UPLOADS] = {NS_PER_SEC, DAY_NS},
    [RANGE_SPOOL] = {1, 1048576},
    [RANGE_VERBOSITY] = {0, 2},
};

#define ROW(id, texts, help_, unset_, ...) char id[sizeof(texts)];
#define ACTION ROW
struct texts {
#include "config/option_rows.h"
};

#define ROW(id, texts, help_, unset_, ...) .id = texts,
#define ACTION ROW
static const struct texts texts = {
#include "config/option_rows.h"
};
const char *const option_texts = (const char *)&texts;

#define ROW(id, texts_, help_, unset_, ...)                                                                            \
    {.texts = offsetof(struct texts, id), .offset = offsetof(struct settings, id), __VA_ARGS__},
#define ACTION(id, texts_, help_, unset_, ...)                                                                         \
    {.texts = offsetof(struct texts, id), .type = OPTION_ACTION, __VA_ARGS__},
const struct option_row options[] = {
#include "config/option_rows.h"
};

/* These are for documents and --help, which the build makes from here: see OPTION_TEXTS in meson.build. */
const struct option_help option_helps[] = {
#ifdef OPTION_TEXTS
#define ROW(id, texts, help_, unset_, ...) {help_, unset_},
#define ACTION ROW
#include "config/option_rows.h"
#else
    {NULL, NULL},
#endif
};

size_t options_by_key(struct str key)
{
    size_t i = 0;
    while (i < OPTIONS_COUNT && !(key.n > 0 && str_eq(str_of(option_key(&options[i])), key)))
        i++;
    return i;
}

size_t options_by_letter(char letter)
{
    size_t i = 0;
    while (i < OPTIONS_COUNT && !(letter != '\0' && options[i].letter == letter))
        i++;
    return i;
}

bool options_is_table(struct str name)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const char *key = option_key(&options[i]);
        if (str_starts(str_of(key), name) && key[name.n] == '.')
            return true;
    }
    return false;
}

/* A guess further away than this is no help. */
static size_t tolerance(struct str typed)
{
    return typed.n < 4 ? 1 : typed.n < 9 ? 2 : 3;
}

/* Distance of the typed word to a known one; an abbreviation of at least three letters is nearly there. */
static size_t word_distance(struct str typed, struct str known)
{
    if (typed.n >= 3 && str_starts(known, typed))
        return 1;
    return str_distance(typed, known);
}

bool options_nearest_flag(struct str typed, struct buf *ret_flag)
{
    bool negated = str_starts(typed, STR("no-"));
    struct str positive = negated ? (struct str){typed.p + 3, typed.n - 3} : typed;
    const struct option_row *best = NULL;
    size_t least = tolerance(typed) + 1;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (!option_flag(&options[i])[0])
            continue;
        size_t distance = word_distance(positive, str_of(option_flag(&options[i])));
        if (distance < least) {
            least = distance;
            best = &options[i];
        }
    }
    if (!best)
        return false;
    buf_printf(ret_flag, "%s%s", negated && best->type == OPTION_BOOL ? "no-" : "", option_flag(best));
    return true;
}

static struct str last_part(struct str key)
{
    const char *dot = memrchr(key.p, '.', key.n);
    if (!dot)
        return key;
    return (struct str){dot + 1, key.n - (size_t)(dot + 1 - key.p)};
}

static struct str table_part(const char *key)
{
    const char *dot = strchr(key, '.');
    return (struct str){key, dot ? (size_t)(dot - key) : 0};
}

bool options_nearest_key(struct str typed, bool table, struct buf *ret_key)
{
    struct str best = {0};
    size_t least = tolerance(typed) + 1;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (!option_key(&options[i])[0])
            continue;
        struct str known = table ? table_part(option_key(&options[i])) : str_of(option_key(&options[i]));
        size_t distance = str_distance(typed, known);
        /* "interval" for "interval_secs", and a table that is right. */
        if (!table && distance > 1 && str_starts(known, typed) && known.p[typed.n] == '_')
            distance = 1;
        /* The right key in the wrong table. */
        if (!table && distance > 1 && str_eq(last_part(typed), last_part(known)))
            distance = 1;
        if (distance < least) {
            least = distance;
            best = known;
        }
    }
    buf_append(ret_key, best.p, best.n);
    return best.n > 0;
}

bool options_has_variable(struct str name)
{
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        for (size_t k = 0; option_env(&options[i], k); k++) {
            if (str_eq(str_of(option_env(&options[i], k)), name))
                return true;
        }
    }
    return false;
}

bool options_nearest_variable(struct str typed, struct buf *ret_variable)
{
    const char *best = NULL;
    size_t prefix = sizeof("TRACKER_") - 1;
    size_t least = tolerance((struct str){typed.p, typed.n > prefix ? typed.n - prefix : 0}) + 1;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const char *known;
        for (size_t k = 0; (known = option_env(&options[i], k)); k++) {
            size_t distance = str_distance(typed, str_of(known));
            if (distance < least) {
                least = distance;
                best = known;
            }
        }
    }
    if (best)
        buf_puts(ret_variable, best);
    return best != NULL;
}

/* Is the key's last part what was typed, with dashes for underscores? */
static bool is_key_part(const char *key, struct str typed)
{
    struct str part = last_part(str_of(key));
    if (part.n != typed.n)
        return false;
    for (size_t i = 0; i < part.n; i++) {
        if (part.p[i] != (typed.p[i] == '-' ? '_' : typed.p[i]))
            return false;
    }
    return part.n > 0;
}

/* Settings without a flag are asked for as one: --no-gpu, --spool. */
static bool explain_setting(struct str typed, struct buf *ret_text)
{
    bool negated = str_starts(typed, STR("no-"));
    struct str name = negated ? (struct str){typed.p + 3, typed.n - 3} : typed;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_row *row = &options[i];
        if (option_flag(row)[0] || !is_key_part(option_key(row), name) || (negated && row->type != OPTION_BOOL))
            continue;
        buf_printf(ret_text, ": it has no flag, set %s=%s or %s in the file", option_envs(row),
            row->type == OPTION_BOOL ? negated ? "0" : "1" : option_metavar(row), option_key(row));
        return true;
    }
    return false;
}

bool options_explain_flag(struct str typed, size_t distance, struct buf *ret_text)
{
    static const char others[] = "compress\0--output FILE.gz\0"
                                 "csv\0--format csv\0"
                                 "gzip\0--output FILE.gz\0"
                                 "html\0--report FILE.html\0"
                                 "json\0--format json\0"
                                 "markdown\0--summary-markdown FILE\0"
                                 "name\0--job-name NAME\0"
                                 "pdf\0--report FILE.html\0" /* the page makes these */
                                 "png\0--report FILE.html\0"
                                 "stdout\0--output -\0"
                                 "svg\0--report FILE.svg\0"
                                 "timeout\0--duration TIME\0";
    for (const char *other = others, *instead; *other; other = text_next(instead)) {
        instead = text_next(other);
        if (str_distance(typed, str_of(other)) <= distance) {
            buf_printf(ret_text, ", did you mean \"%s\"?", instead);
            return true;
        }
    }
    struct str bare = str_starts(typed, STR("no-")) ? (struct str){typed.p + 3, typed.n - 3} : typed;
    if (str_eq(bare, STR("color")) || str_eq(bare, STR("colour"))) {
        buf_puts(ret_text, ": colours are for terminals only, and NO_COLOR=1 disables them");
        return true;
    }
    return explain_setting(typed, ret_text);
}

/* "hostname" is meant as "host_hostname". */
static bool ends_with_part(struct str known, struct str part)
{
    return part.n > 0 && known.n > part.n && known.p[known.n - part.n - 1] == '_' &&
           memcmp(known.p + known.n - part.n, part.p, part.n) == 0;
}

bool options_nearest_word(const struct option_row *row, struct str typed, struct buf *ret_word)
{
    enum { COMPARED_BYTES_MAX = 63 }; /* of str_distance */
    const char *best = NULL, *word;
    size_t least = COMPARED_BYTES_MAX + 1;
    for (size_t i = 0; (word = option_word(row, i)); i++) {
        struct str known = str_of(word);
        size_t distance = ends_with_part(known, typed) ? 1 : str_distance(typed, known);
        if (distance < least) {
            least = distance;
            best = word;
        }
    }
    if (best)
        buf_puts(ret_word, best);
    return best != NULL;
}

static const char *nth_word(const char *words, size_t i)
{
    while (*words && i-- > 0)
        words = text_next(words);
    return *words ? words : NULL;
}

static const char *text_or_null(const char *text)
{
    return *text ? text : NULL;
}

const char *option_fallback(const struct option_row *row)
{
    return text_or_null(text_next(option_flag(row)));
}

const char *option_envs(const struct option_row *row)
{
    return text_next(text_next(option_flag(row)));
}

const char *option_part(const struct option_row *row, enum option_part part)
{
    const char *text = option_envs(row);
    while (*text)
        text = text_next(text);
    for (text++; part > 0; part--)
        text = text_next(text);
    return text;
}

const char *option_bare(const struct option_row *row)
{
    return text_or_null(option_part(row, PART_BARE));
}

const char *option_word(const struct option_row *row, size_t i)
{
    return nth_word(option_part(row, PART_WORDS), i);
}

const char *option_env(const struct option_row *row, size_t i)
{
    return nth_word(option_envs(row), i);
}

bool option_is_on(const struct option_row *row)
{
    return row->type == OPTION_BOOL && !option_has_metavar(row) && strcmp(option_fallback(row), "true") == 0;
}

bool option_is_value_optional(const struct option_row *row)
{
    return option_bare(row) || (row->type == OPTION_ACTION && option_word(row, 0));
}

const char *option_name(const struct option_row *row)
{
    if (option_key(row)[0])
        return last_part(str_of(option_key(row))).p;
    return option_flag(row)[0] ? option_flag(row) : option_envs(row);
}
