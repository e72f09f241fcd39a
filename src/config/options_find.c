/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking up rows by flag, key and letter, and guessing what was meant where nothing is found.
 */
#include "config/options.h"

#include <stdint.h>

size_t options_by_flag(struct str flag)
{
    size_t i = 0;
    while (i < options_count && !(options[i].flag && str_eq(str_of(options[i].flag), flag)))
        i++;
    return i;
}

size_t options_by_key(struct str key)
{
    size_t i = 0;
    while (i < options_count && !(options[i].key && str_eq(str_of(options[i].key), key)))
        i++;
    return i;
}

size_t options_by_letter(char letter)
{
    size_t i = 0;
    while (i < options_count && !(letter != '\0' && options[i].letter == letter))
        i++;
    return i;
}

bool options_is_table(struct str name)
{
    for (size_t i = 0; i < options_count; i++) {
        const char *key = options[i].key;
        if (key && str_starts(str_of(key), name) && key[name.n] == '.')
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
    for (size_t i = 0; i < options_count; i++) {
        if (!options[i].flag)
            continue;
        size_t distance = word_distance(positive, str_of(options[i].flag));
        if (distance < least) {
            least = distance;
            best = &options[i];
        }
    }
    if (!best)
        return false;
    buf_printf(ret_flag, "%s%s", negated && best->type == OPTION_BOOL ? "no-" : "", best->flag);
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
    for (size_t i = 0; i < options_count; i++) {
        if (!options[i].key)
            continue;
        struct str known = table ? table_part(options[i].key) : str_of(options[i].key);
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
    for (size_t i = 0; i < options_count; i++) {
        for (size_t k = 0; k < OPTION_ENVS && options[i].envs[k]; k++) {
            if (str_eq(str_of(options[i].envs[k]), name))
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
    for (size_t i = 0; i < options_count; i++) {
        for (size_t k = 0; k < OPTION_ENVS && options[i].envs[k]; k++) {
            size_t distance = str_distance(typed, str_of(options[i].envs[k]));
            if (distance < least) {
                least = distance;
                best = options[i].envs[k];
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
    struct str part = key ? last_part(str_of(key)) : (struct str){0};
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
    for (size_t i = 0; i < options_count; i++) {
        const struct option_row *row = &options[i];
        if (row->flag || !is_key_part(row->key, name) || (negated && row->type != OPTION_BOOL))
            continue;
        buf_printf(ret_text, ": it has no flag, set %s=%s or %s in the file", row->envs[0],
            row->type == OPTION_BOOL ? negated ? "0" : "1" : row->metavar, row->key);
        return true;
    }
    return false;
}

bool options_explain_flag(struct str typed, struct buf *ret_text)
{
    static const struct {
        char typed[12], instead[24];
    } others[] = {
        {"csv", "--format csv"},
        {"html", "--report FILE.html"},
        {"json", "--format json"},
        {"markdown", "--summary-markdown FILE"},
        {"name", "--job-name NAME"},
        {"timeout", "--duration TIME"},
    };
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (str_eq(typed, str_of(others[i].typed))) {
            buf_printf(ret_text, ", did you mean \"%s\"?", others[i].instead);
            return true;
        }
    }
    struct str bare = str_starts(typed, STR("no-")) ? (struct str){typed.p + 3, typed.n - 3} : typed;
    if (str_eq(bare, STR("color")) || str_eq(bare, STR("colour"))) {
        buf_puts(ret_text, ": colours are for terminals only, and NO_COLOR=1 turns them off");
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

const char *option_word(const struct option_row *row, size_t i)
{
    const char *word = row->words;
    while (word && *word && i-- > 0)
        word += strlen(word) + 1;
    return word && *word ? word : NULL;
}

bool option_is_on(const struct option_row *row)
{
    return row->type == OPTION_BOOL && !row->metavar && strcmp(row->fallback, "true") == 0;
}

const char *option_name(const struct option_row *row)
{
    if (row->key)
        return last_part(str_of(row->key)).p;
    return row->flag ? row->flag : row->envs[0];
}
