/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values given as text (flags, environment, defaults), the checks that every source shares, and the way back to text.
 */
#include "config/value.h"

#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/opt.h"
#include "config/duration.h"
#include "config/show.h"

static bool same_word(struct str text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.p, word, text.n) == 0;
}

static void put_number(struct buf *buf, const struct option_row *row, int64_t number)
{
    if (row->type == OPTION_DURATION)
        duration_put(buf, number);
    else
        num_put_i64(buf, number);
}

static int refuse_range(const struct option_row *row, const char *words, int64_t limit, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    put_number(&text, row, limit);
    return err_set(err, -ERANGE, "must be at %s %s", words, buf_cstr(&text));
}

int value_refuse_low(const struct option_row *row, struct err *err)
{
    return refuse_range(row, "least", row->min, err);
}

int value_refuse_high(const struct option_row *row, struct err *err)
{
    return refuse_range(row, "most", row->max, err);
}

int value_set_number(const struct option_row *row, int64_t number, const struct value_place *place, struct err *err)
{
    if (number < row->min)
        return value_refuse_low(row, err);
    if (number > row->max)
        return value_refuse_high(row, err);
    void *member = option_member(row, place->settings);
    if (row->type == OPTION_OPT_INTEGER)
        *(struct opt_i64 *)member = some_i64(number);
    else
        *(int64_t *)member = number;
    return 0;
}

int value_set_bool(const struct option_row *row, bool on, const struct value_place *place)
{
    *(bool *)option_member(row, place->settings) = on;
    return 0;
}

char *value_copy(struct str text)
{
    char *copy = malloc(text.n + 1);
    if (copy)
        (void)str_copy(text, copy, text.n + 1);
    return copy;
}

int value_check_text(struct str text, struct err *err)
{
    if (text.n > SETTINGS_TEXT_MAX)
        return err_set(err, -E2BIG, "is longer than %d bytes", SETTINGS_TEXT_MAX);
    if (text.n > 0 && memchr(text.p, '\0', text.n))
        return err_set(err, -EINVAL, "must not hold a NUL byte");
    return 0;
}

int value_set_string(const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    int r = value_check_text(text, err);
    if (r < 0)
        return r;
    if (text.n == 0 && (row->props & OPTION_NONEMPTY))
        return err_set(err, -EINVAL, "must not be empty");
    char *copy = text.n > 0 ? value_copy(text) : NULL;
    if (text.n > 0 && !copy)
        return err_set(err, -ENOMEM, "out of memory");
    value_free(row, place->settings);
    *(char **)option_member(row, place->settings) = copy;
    return 0;
}

static int set_bool_text(
    const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    static const char *const words[2][4] = {{"0", "false", "no", "off"}, {"1", "true", "yes", "on"}};
    for (size_t i = 0; i < 4; i++) {
        if (same_word(text, words[0][i]))
            return value_set_bool(row, false, place);
        if (same_word(text, words[1][i]))
            return value_set_bool(row, true, place);
    }
    return err_set(err, -EINVAL, "must be true or false (or 1/0, yes/no, on/off)");
}

static int set_choice(const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    int count = 0;
    for (; option_word(row, (size_t)count); count++) {
        if (same_word(text, option_word(row, (size_t)count))) {
            *(int *)option_member(row, place->settings) = count;
            return 0;
        }
    }
    AUTO_BUF struct buf list;
    buf_init(&list, 128);
    for (int i = 0; i < count; i++)
        buf_printf(&list, "%s%s", i == 0 ? "" : i == count - 1 ? " or " : ", ", option_word(row, (size_t)i));
    return err_set(err, -EINVAL, "must be %s", buf_cstr(&list));
}

static int set_integer_text(
    const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    int64_t number;
    int r = num_parse_i64(text, &number);
    if (r == -EINVAL)
        return err_set(err, r, "not a whole number");
    if (r == -ERANGE)
        return text.p[0] == '-' ? value_refuse_low(row, err) : value_refuse_high(row, err);
    return value_set_number(row, number, place, err);
}

static int set_duration_text(
    const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    int64_t ns;
    int r = duration_parse(text, &ns);
    if (r == -EINVAL)
        return err_set(err, r, "not a duration; use seconds or a unit, for example 0.5, 250ms, 2s, 1m");
    if (r == -EDOM)
        return value_refuse_low(row, err);
    if (r == -ERANGE)
        return value_refuse_high(row, err);
    return value_set_number(row, ns, place, err);
}

int value_set_text(const struct option_row *row, struct str text, const struct value_place *place, struct err *err)
{
    switch (row->type) {
    case OPTION_BOOL:
        return set_bool_text(row, text, place, err);
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
    case OPTION_COUNT:
        return set_integer_text(row, text, place, err);
    case OPTION_DURATION:
        return set_duration_text(row, text, place, err);
    case OPTION_CHOICE:
        return set_choice(row, text, place, err);
    case OPTION_STRING:
        return value_set_string(row, text, place, err);
    case OPTION_PAIRS:
        return place->origin.source == SOURCE_FLAG ? value_set_pair_text(row, text, place, err)
                                                   : value_set_pair_list(row, text, place, err);
    case OPTION_LIST:
        return value_set_list_text(row, text, place, err);
    case OPTION_ACTION:
        break;
    }
    return err_set(err, -EINVAL, "takes no value");
}

bool value_is_unset(const struct option_row *row, const struct settings *settings)
{
    const void *member = option_member_const(row, settings);
    if (row->type == OPTION_OPT_INTEGER)
        return !((const struct opt_i64 *)member)->has;
    if (row->type == OPTION_STRING || row->type == OPTION_LIST)
        return !*(char *const *)member;
    if (row->type == OPTION_PAIRS)
        return ((const struct settings_pairs *)member)->count == 0;
    if (row->type == OPTION_DURATION && !row->fallback)
        return *(const int64_t *)member == 0;
    return row->type == OPTION_ACTION;
}

void value_put(struct buf *buf, const struct option_row *row, const struct settings *settings)
{
    if (value_is_unset(row, settings) || (row->props & OPTION_SECRET))
        return;
    const void *member = option_member_const(row, settings);
    switch (row->type) {
    case OPTION_BOOL:
        buf_puts(buf, *(const bool *)member ? "true" : "false");
        break;
    case OPTION_INTEGER:
    case OPTION_COUNT:
    case OPTION_DURATION:
        put_number(buf, row, *(const int64_t *)member);
        break;
    case OPTION_OPT_INTEGER:
        num_put_i64(buf, ((const struct opt_i64 *)member)->v);
        break;
    case OPTION_CHOICE:
        buf_puts(buf, option_word(row, (size_t) * (const int *)member));
        break;
    case OPTION_STRING:
        if (row->props & OPTION_URL)
            show_url(buf, str_of(*(char *const *)member));
        else
            buf_puts(buf, *(char *const *)member);
        break;
    case OPTION_LIST:
        value_put_list(buf, *(char *const *)member);
        break;
    case OPTION_PAIRS:
    case OPTION_ACTION:
        break;
    }
}

static void free_text(char *text, bool secret)
{
    if (text && secret)
        str_wipe(text, strlen(text));
    free(text);
}

void value_free(const struct option_row *row, struct settings *settings)
{
    bool secret = (row->props & (OPTION_SECRET | OPTION_URL)) != 0;
    if (row->type == OPTION_STRING || row->type == OPTION_LIST) {
        char **text = option_member(row, settings);
        free_text(*text, secret);
        *text = NULL;
    }
    if (row->type == OPTION_PAIRS) {
        struct settings_pairs *pairs = option_member(row, settings);
        for (size_t i = 0; i < pairs->count; i++) {
            free(pairs->items[i].key);
            free_text(pairs->items[i].value, secret);
        }
        free(pairs->items);
        *pairs = (struct settings_pairs){0};
    }
}
