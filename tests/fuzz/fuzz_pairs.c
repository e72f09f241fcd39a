/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of KEY=VALUE for both rows that take them: keys are there and differ, nothing holds what its row forbids, and
 * each pair given again as one KEY=VALUE is the same pair.
 */
#include "fuzz.h"

#include <errno.h>

#include "config/value.h"

static void check_message(const struct err *err, int r)
{
    check(err->code == r && (r == 0) == (err->msg[0] == '\0'));
    check_printable(err->msg);
}

static void check_pairs(const struct settings_pairs *pairs, bool secret)
{
    check(pairs->count <= pairs->cap && pairs->cap <= SETTINGS_PAIRS_MAX);
    for (size_t i = 0; i < pairs->count; i++) {
        const struct settings_pair *pair = &pairs->items[i];
        check(pair->key[0] && strlen(pair->key) <= SETTINGS_TEXT_MAX && strlen(pair->value) <= SETTINGS_TEXT_MAX);
        check(!strchr(pair->key, '=') && str_eq(str_trim(str_of(pair->key)), str_of(pair->key)));
        check(!secret || (!strpbrk(pair->key, "\r\n") && !strpbrk(pair->value, "\r\n")));
        for (size_t k = 0; k < i; k++)
            check(strcmp(pairs->items[k].key, pair->key) != 0);
    }
}

static void check_same_again(const struct option_row *row, const struct settings_pairs *pairs)
{
    struct settings again = {0};
    struct value_target target = {.settings = &again};
    const struct settings_pairs *got = option_member_const(row, &again);
    struct buf text;
    buf_init(&text, 2 * SETTINGS_TEXT_MAX + 2);
    for (size_t i = 0; i < pairs->count; i++) {
        buf_clear(&text);
        buf_puts(&text, pairs->items[i].key);
        buf_putc(&text, '=');
        buf_puts(&text, pairs->items[i].value);
        check(value_set_pair_text(row, (struct str){text.data, text.len}, &target, NULL) == 0);
        check(strcmp(got->items[i].key, pairs->items[i].key) == 0);
        check(strcmp(got->items[i].value, pairs->items[i].value) == 0);
    }
    check(got->count == pairs->count);
    buf_fini(&text);
    value_free(row, &again);
}

static void play(const struct option_row *row, struct str text)
{
    struct settings settings = {0};
    struct option_origin origins[SETTINGS_PAIRS_MAX] = {0};
    struct value_target target = {.settings = &settings, .origin.source = SOURCE_ENV, .pair_origins = origins};
    struct err err = {0};
    int r = value_set_pair_list(row, text, &target, &err);
    check(r <= 0);
    check_message(&err, r);
    const struct settings_pairs *pairs = option_member_const(row, &settings);
    check_pairs(pairs, row->props & OPTION_SECRET);
    for (size_t k = 0; k < SETTINGS_PAIRS_MAX; k++)
        check((origins[k].source == SOURCE_ENV) == (k < pairs->count));
    check_same_again(row, pairs);
    value_free(row, &settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = fuzz_copy(data, size);
    if (!copy)
        return 0;
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        if (options[i].type == OPTION_PAIRS)
            play(&options[i], (struct str){copy, size});
    }
    free(copy);
    return 0;
}
