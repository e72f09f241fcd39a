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

const char *option_name(const struct option_row *row)
{
    if (row->key)
        return last_part(str_of(row->key)).p;
    return row->flag ? row->flag : row->envs[0];
}
