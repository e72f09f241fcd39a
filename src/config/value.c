/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values from text and from TOML: of TOML the type is checked first, then the text or number takes the way of every
 * other source. Durations are exact: no floating point is involved.
 */
#include "config/value.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/num.h"
#include "base/opt.h"
#include "config/config_internal.h"

static size_t count_digits(struct str text)
{
    size_t n = 0;
    while (n < text.n && ascii_is_digit(text.p[n]))
        n++;
    return n;
}

static bool unit_ns(struct str unit, int64_t *ret_ns)
{
    static const struct {
        char name[3];
        int64_t ns;
    } units[] = {
        {"", NS_PER_SEC},
        {"s", NS_PER_SEC},
        {"ms", NS_PER_MS},
        {"m", 60 * NS_PER_SEC},
        {"h", 3600 * NS_PER_SEC},
    };
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (str_eq(unit, str_of(units[i].name))) {
            *ret_ns = units[i].ns;
            return true;
        }
    }
    return false;
}

/*
 * 0.DIGITS of a unit in nanoseconds, rounded half up. Going from the last digit to the first, cutting after every
 * division by ten gives the same as cutting once at the end; half nanoseconds are counted to round.
 */
static int64_t fraction_ns(struct str digits, int64_t unit)
{
    int64_t halves = 0;
    for (size_t i = digits.n; i-- > 0;)
        halves = (halves + (digits.p[i] - '0') * unit * 2) / 10;
    return (halves + 1) / 2;
}

int duration_parse(struct str text, int64_t *ret_ns)
{
    bool negative = text.n > 0 && text.p[0] == '-';
    str_skip(&text, negative);
    struct str whole = {text.p, count_digits(text)};
    str_skip(&text, whole.n);
    struct str fraction = {0};
    if (str_take(&text, '.')) {
        fraction = (struct str){text.p, count_digits(text)};
        str_skip(&text, fraction.n);
        if (fraction.n == 0)
            return -EINVAL;
    }
    int64_t unit;
    if (whole.n + fraction.n == 0 || !unit_ns(text, &unit))
        return -EINVAL;
    if (negative)
        return -EDOM;
    int64_t count = 0;
    if (whole.n > 0 && num_parse_i64(whole, &count) < 0)
        return -ERANGE;
    int64_t rest = fraction_ns(fraction, unit);
    if (count > (INT64_MAX - rest) / unit)
        return -ERANGE;
    *ret_ns = count * unit + rest;
    return 0;
}

void duration_put(struct buf *buf, int64_t ns)
{
    num_put_i64(buf, ns / NS_PER_SEC);
    int64_t fraction = ns % NS_PER_SEC;
    if (fraction == 0)
        return;
    char digits[10] = ".";
    size_t n = sizeof(digits);
    for (size_t i = n - 1; i > 0; i--) {
        digits[i] = (char)('0' + fraction % 10);
        fraction /= 10;
    }
    while (digits[n - 1] == '0')
        n--;
    buf_append(buf, digits, n);
}

static void put_number(struct buf *buf, const struct option_row *row, int64_t number)
{
    if (row->type == OPTION_DURATION)
        duration_put(buf, number);
    else
        num_put_i64(buf, number);
}

static int refuse_range(const struct option_row *row, const char *side, int64_t limit, struct err *err)
{
    AUTO_BUF struct buf text;
    buf_init(&text, 64);
    put_number(&text, row, limit);
    return err_set(err, -ERANGE, "must be at %s %s", side, buf_cstr(&text));
}

static int refuse_low(const struct option_row *row, struct err *err)
{
    return refuse_range(row, "least", option_range(row)->min, err);
}

static int refuse_high(const struct option_row *row, struct err *err)
{
    return refuse_range(row, "most", option_range(row)->max, err);
}

static int set_number(const struct option_row *row, int64_t number, const struct value_target *target, struct err *err)
{
    if (number < option_range(row)->min)
        return refuse_low(row, err);
    if (number > option_range(row)->max)
        return refuse_high(row, err);
    void *member = option_member(row, target->settings);
    if (row->type == OPTION_OPT_INTEGER)
        *(struct opt_i64 *)member = some_i64(number);
    else
        *(int64_t *)member = number;
    return 0;
}

static int set_bool(const struct option_row *row, bool on, const struct value_target *target)
{
    *(bool *)option_member(row, target->settings) = on;
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
        return err_set(err, -EINVAL, "must not contain a NUL byte");
    return 0;
}

int value_set_string(const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    int r = value_check_text(text, err);
    if (r < 0)
        return r;
    if (text.n == 0 && (row->props & OPTION_NONEMPTY))
        return err_set(err, -EINVAL, "must not be empty");
    char *copy = text.n > 0 ? value_copy(text) : NULL;
    if (text.n > 0 && !copy)
        return err_set(err, -ENOMEM, "out of memory");
    value_free(row, target->settings);
    *(char **)option_member(row, target->settings) = copy;
    return 0;
}

static int set_bool_text(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    static const char words[2][4][6] = {{"0", "false", "no", "off"}, {"1", "true", "yes", "on"}};
    for (size_t i = 0; i < 4; i++) {
        if (str_eq_nocase(text, str_of(words[0][i])))
            return set_bool(row, false, target);
        if (str_eq_nocase(text, str_of(words[1][i])))
            return set_bool(row, true, target);
    }
    return err_set(err, -EINVAL, "must be true or false (or 1/0, yes/no, on/off)");
}

static int set_choice(const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    int count = 0;
    for (; option_word(row, (size_t)count); count++) {
        if (str_eq_nocase(text, str_of(option_word(row, (size_t)count)))) {
            *(int *)option_member(row, target->settings) = count;
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
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    int64_t number;
    int r = num_parse_i64(text, &number);
    if (r == -EINVAL)
        return err_set(err, r, "not a whole number");
    if (r == -ERANGE)
        return text.p[0] == '-' ? refuse_low(row, err) : refuse_high(row, err);
    return set_number(row, number, target, err);
}

/* What stands before a unit g/kWh. */
static struct str cut_per_kwh(struct str text)
{
    const struct str unit = STR("g/kWh");
    bool has_unit = text.n > unit.n && str_eq_nocase((struct str){text.p + text.n - unit.n, unit.n}, unit);
    return has_unit ? str_trim((struct str){text.p, text.n - unit.n}) : text;
}

static int set_duration_text(
    const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    int64_t ns;
    bool is_per_kwh = row->props & OPTION_PER_KWH;
    if (is_per_kwh)
        text = cut_per_kwh(text);
    int r = duration_parse(text, &ns);
    if (is_per_kwh && (r == -EINVAL || text.p[text.n - 1] > '9'))
        return err_set(err, -EINVAL, "not grams per kWh, for example 320 or 320g/kWh");
    if (r == -EINVAL)
        return err_set(err, r, "not a duration; use seconds or a unit, for example 0.5, 250ms, 2s, 1m");
    if (r == -EDOM)
        return refuse_low(row, err);
    if (r == -ERANGE)
        return refuse_high(row, err);
    return set_number(row, ns, target, err);
}

int value_set_text(const struct option_row *row, struct str text, const struct value_target *target, struct err *err)
{
    switch (row->type) {
    case OPTION_BOOL:
        return set_bool_text(row, text, target, err);
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
    case OPTION_COUNT:
        return set_integer_text(row, text, target, err);
    case OPTION_DURATION:
        return set_duration_text(row, text, target, err);
    case OPTION_CHOICE:
        return set_choice(row, text, target, err);
    case OPTION_STRING:
        return value_set_string(row, text, target, err);
    case OPTION_PAIRS:
        return target->origin.source == SOURCE_FLAG ? value_set_pair_text(row, text, target, err)
                                                    : value_set_pair_list(row, text, target, err);
    case OPTION_LIST:
        return value_set_list_text(row, text, target, err);
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
    if (row->type == OPTION_DURATION && !option_fallback(row))
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

int value_refuse_type(const struct toml_node *node, const char *wanted, struct err *err)
{
    const char *found = toml_type_name(node->type);
    const char *article = node->type == TOML_INTEGER || node->type == TOML_ARRAY ? "an" : "a";
    return err_set(err, -EINVAL, "is %s %s, must be %s", article, found, wanted);
}

static int set_duration(
    const struct option_row *row, const struct toml_node *node, const struct value_target *target, struct err *err)
{
    if (node->type == TOML_STRING)
        return value_set_text(row, node->value.string, target, err);
    if (node->type == TOML_INTEGER) {
        if (node->value.integer < 0)
            return refuse_low(row, err);
        if (node->value.integer > option_range(row)->max / NS_PER_SEC)
            return refuse_high(row, err);
        return set_number(row, node->value.integer * NS_PER_SEC, target, err);
    }
    if (node->type != TOML_FLOAT)
        return value_refuse_type(node,
            row->props & OPTION_PER_KWH ? "a number of grams" : "a number of seconds or a string such as \"250ms\"",
            err);
    double secs = node->value.real;
    if (secs != secs)
        return err_set(err, -EINVAL, "is not a number");
    if (secs < 0)
        return refuse_low(row, err);
    if (secs > (double)option_range(row)->max / 1e9)
        return refuse_high(row, err);
    return set_number(row, (int64_t)(secs * 1e9 + 0.5), target, err);
}

static void put_float(struct buf *buf, double value)
{
    if (value != value) {
        buf_puts(buf, "nan");
        return;
    }
    char text[40];
    int digits = 1;
    do {
        (void)snprintf(text, sizeof(text), "%.*g", digits, value);
    } while (digits++ < 17 && strtod(text, NULL) != value);
    buf_puts(buf, text);
    if (text[strspn(text, "-0123456789")] == '\0')
        buf_puts(buf, ".0");
}

void value_put_node(struct buf *buf, const struct toml_node *node, bool quoted)
{
    switch (node->type) {
    case TOML_STRING:
        buf_puts(buf, quoted ? "\"" : "");
        buf_append(buf, node->value.string.p, node->value.string.n);
        buf_puts(buf, quoted ? "\"" : "");
        break;
    case TOML_INTEGER:
        num_put_i64(buf, node->value.integer);
        break;
    case TOML_FLOAT:
        put_float(buf, node->value.real);
        break;
    case TOML_BOOLEAN:
        buf_puts(buf, node->value.boolean ? "true" : "false");
        break;
    case TOML_DATETIME:
        buf_append(buf, node->value.datetime.text.p, node->value.datetime.text.n);
        break;
    case TOML_ARRAY:
        buf_puts(buf, "[...]");
        break;
    case TOML_TABLE:
        buf_puts(buf, "{...}");
        break;
    }
}

static int set_pair(
    const struct option_row *row, const struct toml_node *entry, const struct value_target *target, struct err *err)
{
    if (entry->type == TOML_ARRAY || entry->type == TOML_TABLE)
        return value_refuse_type(entry, "a string", err);
    AUTO_BUF struct buf text;
    buf_init(&text, TOML_BYTES_MAX + 1);
    value_put_node(&text, entry, false);
    if (!buf_ok(&text))
        return err_set(err, -ENOMEM, "out of memory");
    return value_set_pair(row, entry->key, buf_str(&text), target, err);
}

int value_set_toml(
    const struct option_row *row, const struct toml_node *node, const struct value_target *target, struct err *err)
{
    switch (row->type) {
    case OPTION_BOOL:
        if (node->type != TOML_BOOLEAN)
            return value_refuse_type(node, "a boolean (true or false)", err);
        return set_bool(row, node->value.boolean, target);
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
    case OPTION_COUNT:
        if (node->type != TOML_INTEGER)
            return value_refuse_type(node, "an integer", err);
        return set_number(row, node->value.integer, target, err);
    case OPTION_DURATION:
        return set_duration(row, node, target, err);
    case OPTION_CHOICE:
    case OPTION_STRING:
        if (node->type != TOML_STRING)
            return value_refuse_type(node, "a string", err);
        return value_set_text(row, node->value.string, target, err);
    case OPTION_PAIRS:
        return set_pair(row, node, target, err);
    case OPTION_LIST:
        return value_set_list_toml(row, node, target, err);
    case OPTION_ACTION:
        break;
    }
    return err_set(err, -EINVAL, "cannot be set in a file");
}
