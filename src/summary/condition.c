/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/condition.h"

#include <errno.h>
#include <string.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "model/field.h"
#include "summary/units.h"

enum { NAME_BYTES = 48, SHOWN_BYTES = 40, DEPTH_MAX = 8 };

/* Short names, and the key that each stands for. */
static const struct {
    char name[20], key[28];
} short_names[] = {
    {"wall", "wall_secs"},
    {"cpu.time", "cpu.total_secs"},
    {"cpu.user", "cpu.user_secs"},
    {"cpu.system", "cpu.system_secs"},
    {"cpu.wait", "cpu.wait_secs"},
    {"cpu.limit", "cpu.limit_cores"},
    {"cpu.limit_used", "cpu.limit_used_pct"},
    {"cores.mean", "cpu.cores_mean"},
    {"cores.p95", "cpu.cores_p95"},
    {"cores.peak", "cpu.cores_peak"},
    {"cores.wanted", "cpu.wanted_p95"},
    {"throttled", "cpu.throttled_secs"},
    {"processes.peak", "cpu.processes_peak"},
    {"threads.peak", "cpu.threads_peak"},
    {"memory.peak", "memory.need_mib"},
    {"memory.rss", "memory.rss_peak_mib"},
    {"memory.pss", "memory.pss_peak_mib"},
    {"memory.cgroup", "memory.cgroup_peak_mib"},
    {"memory.limit", "memory.limit_mib"},
    {"memory.limit_used", "memory.limit_used_pct"},
    {"disk.read", "disk.read_bytes"},
    {"disk.written", "disk.write_bytes"},
    {"gpu.mean", "gpu.usage_mean"},
    {"gpu.peak", "gpu.usage_peak"},
    {"gpu.vram", "gpu.vram_peak_mib"},
    {"pressure.cpu", "pressure.cpu_some_secs"},
    {"pressure.memory", "pressure.memory_some_secs"},
    {"pressure.io", "pressure.io_some_secs"},
};

/* What may follow a number, and how a key of the summary ends that counts it. */
static const struct {
    char name[8];
    uint8_t unit;
    double factor;
} units[] =
    {
        {"B", CONDITION_BYTES, 1},
        {"kB", CONDITION_BYTES, 1e3},
        {"MB", CONDITION_BYTES, 1e6},
        {"GB", CONDITION_BYTES, 1e9},
        {"TB", CONDITION_BYTES, 1e12},
        {"KiB", CONDITION_BYTES, 0x1p10},
        {"MiB", CONDITION_BYTES, 0x1p20},
        {"GiB", CONDITION_BYTES, 0x1p30},
        {"TiB", CONDITION_BYTES, 0x1p40},
        {"ms", CONDITION_SECS, 1e-3},
        {"s", CONDITION_SECS, 1},
        {"m", CONDITION_SECS, 60},
        {"min", CONDITION_SECS, 60},
        {"h", CONDITION_SECS, 3600},
        {"d", CONDITION_SECS, 86400},
        {"core", CONDITION_CORES, 1},
        {"cores", CONDITION_CORES, 1},
        {"%", CONDITION_PCT, 1},
        {"J", CONDITION_JOULES, 1},
        {"kJ", CONDITION_JOULES, 1e3},
        {"Wh", CONDITION_JOULES, 3600},
        {"kWh", CONDITION_JOULES, 3.6e6},
        {"W", CONDITION_WATTS, 1},
        {"GPU", CONDITION_GPUS, 1},
        {"GPUs", CONDITION_GPUS, 1},
},
  endings[] = {
      {"_mib", CONDITION_BYTES, 0x1p20},
      {"_bytes", CONDITION_BYTES, 1},
      {"_secs", CONDITION_SECS, 1},
      {"_ms", CONDITION_SECS, 1e-3},
      {"_pct", CONDITION_PCT, 1},
      {"_joules", CONDITION_JOULES, 1},
      {"_watts", CONDITION_WATTS, 1},
};

static const char unit_names[][28] = {"a plain number", "bytes (such as 4GiB)", "time (such as 90s)",
    "cores (such as 1.5)", "a percentage (such as 80%)", "energy (such as 5kJ)", "power (such as 60W)",
    "GPUs (such as 1.5)"};

struct reader {
    struct str rest;
    struct condition *condition;
    int depth;
    struct err *err;
};

static int refuse(struct reader *reader, const char *what, struct str text)
{
    AUTO_BUF struct buf shown = {.max = 256};
    text_put(&shown, text, TEXT_ESCAPE, SHOWN_BYTES);
    return err_set(reader->err, -EINVAL, "%s \"%s\"", what, buf_cstr(&shown));
}

static void skip_blanks(struct reader *reader)
{
    while (str_take(&reader->rest, ' ') || str_take(&reader->rest, '\t')) {
    }
}

static bool is_word(char c)
{
    return ascii_is_alpha(c) || ascii_is_digit(c) || c == '_' || c == '.';
}

static struct str pop_word(struct reader *reader)
{
    struct str word = {reader->rest.p, 0};
    while (word.n < reader->rest.n && is_word(reader->rest.p[word.n]))
        word.n++;
    str_skip(&reader->rest, word.n);
    return word;
}

static bool is_numeric(const struct field *field)
{
    return field->kind == FIELD_U64 || field->kind == FIELD_I64 || field->kind == FIELD_F64;
}

static const struct field *find_row(const struct field_table *table, struct str name)
{
    for (size_t i = 0; i < table->count; i++) {
        if (str_eq(field_name(&field_rows(table)[i]), name))
            return &field_rows(table)[i];
    }
    return NULL;
}

static bool find_value(struct str key, struct condition_item *ret_item, struct str *ret_last)
{
    const char *dot = memchr(key.p, '.', key.n);
    struct str first = {key.p, dot ? (size_t)(dot - key.p) : key.n};
    const struct field *row = find_row(field_summary, first);
    *ret_item = (struct condition_item){.kind = '.', .number = 1};
    *ret_last = first;
    if (row && dot && row->kind == FIELD_OBJECT) {
        ret_item->offset = row->offset;
        *ret_last = (struct str){dot + 1, key.n - first.n - 1};
        row = find_row(field_table_of(row), *ret_last);
    } else if (dot)
        return false;
    if (!row || !is_numeric(row))
        return false;
    ret_item->field_kind = row->kind;
    ret_item->offset = (uint16_t)(ret_item->offset + row->offset);
    return true;
}

static enum condition_unit unit_of_key(struct str key, struct condition_item *item)
{
    for (size_t i = 0; i < sizeof(endings) / sizeof(endings[0]); i++) {
        struct str ending = str_of(endings[i].name);
        if (key.n > ending.n && memcmp(key.p + key.n - ending.n, ending.p, ending.n) == 0) {
            item->number = endings[i].factor;
            return (enum condition_unit)endings[i].unit;
        }
    }
    if (str_starts(key, STR("usage")) || str_starts(key, STR("active_usage")) || str_starts(key, STR("host_usage")))
        return CONDITION_GPUS;
    bool is_cores =
        memmem(key.p, key.n, "cores", 5) || str_starts(key, STR("wanted")) || str_starts(key, STR("busiest"));
    return is_cores ? CONDITION_CORES : CONDITION_NUMBER;
}

/* The nearest of all names. */
static void put_nearest(struct buf *buf, struct str typed)
{
    size_t least = typed.n / 2 + 1;
    char best[NAME_BYTES] = "";
    for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
        size_t distance = str_distance(typed, str_of(short_names[i].name));
        if (distance < least) {
            least = distance;
            (void)str_copy(str_of(short_names[i].name), best, sizeof(best));
        }
    }
    for (size_t i = 0; i < field_summary->count; i++) {
        const struct field *row = &field_rows(field_summary)[i];
        size_t count = row->kind == FIELD_OBJECT ? field_table_of(row)->count : is_numeric(row);
        for (size_t k = 0; k < count; k++) {
            const struct field *inner = row->kind == FIELD_OBJECT ? &field_rows(field_table_of(row))[k] : NULL;
            if (inner && !is_numeric(inner))
                continue;
            AUTO_BUF struct buf name = {.max = NAME_BYTES};
            buf_append(&name, field_name(row).p, field_name(row).n);
            if (inner) {
                buf_putc(&name, '.');
                buf_append(&name, field_name(inner).p, field_name(inner).n);
            }
            size_t distance = str_distance(typed, buf_str(&name));
            if (distance >= least)
                continue;
            least = distance;
            (void)str_copy(buf_str(&name), best, sizeof(best));
        }
    }
    if (best[0])
        buf_printf(buf, ", did you mean \"%s\"?", best);
    else
        buf_puts(buf, "; names are the keys of --summary-json, such as memory.need_mib");
}

static int push(struct reader *reader, struct condition_item item)
{
    struct condition *condition = reader->condition;
    if (condition->count == CONDITION_ITEMS_MAX)
        return err_set(reader->err, -EINVAL, "more than %d numbers and operators", CONDITION_ITEMS_MAX);
    condition->items[condition->count++] = item;
    return 0;
}

static int read_name(struct reader *reader, enum condition_unit *ret_unit)
{
    struct str name = pop_word(reader), key = name, last;
    for (size_t i = 0; i < sizeof(short_names) / sizeof(short_names[0]); i++) {
        if (str_eq(name, str_of(short_names[i].name)))
            key = str_of(short_names[i].key);
    }
    struct condition_item item;
    if (!find_value(key, &item, &last)) {
        AUTO_BUF struct buf hint = {.max = 256};
        AUTO_BUF struct buf shown = {.max = 256};
        text_put(&shown, name, TEXT_ESCAPE, SHOWN_BYTES);
        put_nearest(&hint, name);
        return err_set(reader->err, -EINVAL, "unknown name \"%s\"%s", buf_cstr(&shown), buf_cstr(&hint));
    }
    *ret_unit = unit_of_key(last, &item);
    return push(reader, item);
}

static int read_number(struct reader *reader, enum condition_unit *ret_unit)
{
    struct str word = {reader->rest.p, 0};
    while (word.n < reader->rest.n && (ascii_is_digit(reader->rest.p[word.n]) || reader->rest.p[word.n] == '.'))
        word.n++;
    str_skip(&reader->rest, word.n);
    struct condition_item item = {.kind = '#'};
    if (num_parse_f64(word, &item.number) < 0)
        return refuse(reader, "not a number:", word);
    skip_blanks(reader);
    struct str unit = {reader->rest.p, 0};
    while (unit.n < reader->rest.n && (ascii_is_alpha(reader->rest.p[unit.n]) || reader->rest.p[unit.n] == '%'))
        unit.n++;
    str_skip(&reader->rest, unit.n);
    *ret_unit = CONDITION_NUMBER;
    size_t i = 0;
    while (unit.n > 0 && i < sizeof(units) / sizeof(units[0]) && !str_eq(unit, str_of(units[i].name)))
        i++;
    if (unit.n > 0 && i == sizeof(units) / sizeof(units[0]))
        return refuse(reader, "unknown unit", unit);
    if (unit.n > 0) {
        item.number *= units[i].factor;
        *ret_unit = (enum condition_unit)units[i].unit;
    }
    return push(reader, item);
}

static int read_sum(struct reader *reader, enum condition_unit *ret_unit);

static int read_operand(struct reader *reader, enum condition_unit *ret_unit)
{
    skip_blanks(reader);
    if (reader->rest.n == 0)
        return err_set(reader->err, -EINVAL, "a number or a name is missing at the end");
    if (str_take(&reader->rest, '(')) {
        if (++reader->depth > DEPTH_MAX)
            return err_set(reader->err, -EINVAL, "too many brackets");
        int r = read_sum(reader, ret_unit);
        reader->depth--;
        if (r == 0 && !str_take(&reader->rest, ')'))
            return refuse(reader, "a \")\" is missing before", reader->rest);
        return r;
    }
    if (ascii_is_digit(reader->rest.p[0]) || reader->rest.p[0] == '.')
        return read_number(reader, ret_unit);
    if (!is_word(reader->rest.p[0]))
        return refuse(reader, "a number or a name is missing before", reader->rest);
    return read_name(reader, ret_unit);
}

/* Counts and cores may be written without a unit. */
static bool may_be_plain(enum condition_unit unit)
{
    return unit == CONDITION_NUMBER || unit == CONDITION_CORES || unit == CONDITION_PCT || unit == CONDITION_GPUS;
}

/* Of a sum, or of both sides; CONDITION_NUMBER fits what may be written without a unit. */
static int join_units(struct reader *reader, enum condition_unit *unit, enum condition_unit other)
{
    enum condition_unit have = *unit;
    if (have == CONDITION_NUMBER)
        *unit = other;
    if (have == other || (have == CONDITION_NUMBER && may_be_plain(other)) ||
        (other == CONDITION_NUMBER && may_be_plain(have)))
        return 0;
    return err_set(reader->err, -EINVAL, "%s cannot be compared with %s", unit_names[have], unit_names[other]);
}

static int read_product(struct reader *reader, enum condition_unit *ret_unit)
{
    int r = read_operand(reader, ret_unit);
    while (r == 0) {
        skip_blanks(reader);
        char sign = reader->rest.n > 0 ? reader->rest.p[0] : '\0';
        if (sign != '*' && sign != '/')
            break;
        str_skip(&reader->rest, 1);
        enum condition_unit other = CONDITION_NUMBER;
        r = read_operand(reader, &other);
        if (r < 0)
            break;
        if (sign == '/' && other == *ret_unit)
            *ret_unit = CONDITION_NUMBER;
        else if (other != CONDITION_NUMBER && (sign == '/' || *ret_unit != CONDITION_NUMBER))
            return err_set(reader->err, -EINVAL, "%s cannot be %s %s", unit_names[*ret_unit],
                sign == '*' ? "multiplied with" : "divided by", unit_names[other]);
        else if (other != CONDITION_NUMBER)
            *ret_unit = other;
        r = push(reader, (struct condition_item){.kind = sign});
    }
    return r;
}

static int read_sum(struct reader *reader, enum condition_unit *ret_unit)
{
    int r = read_product(reader, ret_unit);
    while (r == 0) {
        char sign = reader->rest.n > 0 ? reader->rest.p[0] : '\0';
        if (sign != '+' && sign != '-')
            break;
        str_skip(&reader->rest, 1);
        enum condition_unit other = CONDITION_NUMBER;
        r = read_product(reader, &other);
        if (r == 0)
            r = join_units(reader, ret_unit, other);
        if (r == 0)
            r = push(reader, (struct condition_item){.kind = sign});
    }
    return r;
}

static int read_comparison(struct reader *reader)
{
    char *out = reader->condition->comparison;
    size_t n = 0;
    while (n < 2 && reader->rest.n > 0 && reader->rest.p[0] && strchr("<>=!", reader->rest.p[0])) {
        out[n++] = reader->rest.p[0];
        str_skip(&reader->rest, 1);
    }
    out[n] = '\0';
    bool is_known = strcmp(out, "=") != 0 && strcmp(out, "!") != 0 && n > 0 && (n == 1 || out[1] == '=');
    return is_known ? 0 : err_set(reader->err, -EINVAL, "one of < <= > >= == != is missing between two numbers");
}

int condition_parse(struct str text, struct condition *ret_condition, struct err *err)
{
    struct condition condition = {0};
    struct reader reader = {.rest = text, .condition = &condition, .err = err};
    enum condition_unit unit = CONDITION_NUMBER, other = CONDITION_NUMBER;
    int r = read_sum(&reader, &unit);
    condition.left_count = condition.count;
    if (r == 0)
        r = read_comparison(&reader);
    if (r == 0)
        r = read_sum(&reader, &other);
    if (r == 0)
        r = join_units(&reader, &unit, other);
    skip_blanks(&reader);
    if (r == 0 && reader.rest.n > 0)
        r = refuse(&reader, "not understood:", reader.rest);
    if (r < 0)
        return r;
    condition.unit = (uint8_t)unit;
    *ret_condition = condition;
    return 0;
}

int condition_parse_number(struct str text, enum condition_unit unit, double *ret_number, struct err *err)
{
    struct condition scratch = {0};
    struct reader reader = {.rest = text, .condition = &scratch, .err = err};
    enum condition_unit found = CONDITION_NUMBER;
    int r = text.n > 0 ? read_number(&reader, &found) : -EINVAL;
    if (r < 0 || found != unit || reader.rest.n > 0)
        return r < 0 ? r : refuse(&reader, "not understood:", text);
    *ret_number = scratch.items[0].number;
    return 0;
}

static struct opt_f64 value_of(const struct condition_item *item, const struct summary *summary)
{
    const void *member = (const char *)summary + item->offset;
    const struct opt_u64 *count = member;
    const struct opt_i64 *number = member;
    const struct opt_f64 *value = member;
    struct opt_f64 result = item->field_kind == FIELD_U64   ? (struct opt_f64){count->has, (double)count->v}
                            : item->field_kind == FIELD_I64 ? (struct opt_f64){number->has, (double)number->v}
                                                            : *value;
    result.v *= item->number;
    return result;
}

struct opt_f64 condition_value(struct str key, const struct summary *summary)
{
    struct condition_item item;
    struct str last;
    if (!find_value(key, &item, &last))
        return (struct opt_f64){0};
    (void)unit_of_key(last, &item);
    return value_of(&item, summary);
}

static struct opt_f64 apply(char sign, struct opt_f64 a, struct opt_f64 b)
{
    if (!a.has || !b.has || (sign == '/' && b.v <= 0))
        return (struct opt_f64){0};
    return some_f64(sign == '+' ? a.v + b.v : sign == '-' ? a.v - b.v : sign == '*' ? a.v * b.v : a.v / b.v);
}

static struct opt_f64 side_of(const struct condition_item *items, size_t count, const struct summary *summary)
{
    struct opt_f64 stack[CONDITION_ITEMS_MAX + 1] = {{0}};
    size_t depth = 0;
    for (size_t i = 0; i < count; i++) {
        if (items[i].kind == '#') {
            stack[depth++] = some_f64(items[i].number);
        } else if (items[i].kind == '.') {
            stack[depth++] = value_of(&items[i], summary);
        } else {
            depth--;
            stack[depth - 1] = apply(items[i].kind, stack[depth - 1], stack[depth]);
        }
    }
    return stack[0];
}

struct opt_bool condition_holds(
    const struct condition *condition, const struct summary *summary, struct opt_f64 *ret_left)
{
    size_t left_count = condition->left_count;
    struct opt_f64 left = side_of(condition->items, left_count, summary);
    struct opt_f64 right = side_of(condition->items + left_count, condition->count - left_count, summary);
    *ret_left = left;
    if (!left.has || !right.has)
        return (struct opt_bool){0};
    const char *comparison = condition->comparison;
    bool is_equal = left.v >= right.v && left.v <= right.v;
    bool holds = comparison[0] == '<' ? left.v < right.v : comparison[0] == '>' ? left.v > right.v : false;
    if (comparison[1] == '=')
        holds = comparison[0] == '!' ? !is_equal : holds || is_equal;
    return (struct opt_bool){true, holds};
}

void condition_put_value(struct buf *buf, enum condition_unit unit, double value)
{
    static const char letters[] = {[CONDITION_NUMBER] = 'f',
        [CONDITION_BYTES] = 'm',
        [CONDITION_SECS] = 't',
        [CONDITION_CORES] = 'n',
        [CONDITION_PCT] = 'p',
        [CONDITION_JOULES] = 'j',
        [CONDITION_WATTS] = 'w',
        [CONDITION_GPUS] = 'G'};
    units_put_as(buf, letters[unit], unit == CONDITION_BYTES ? value / BYTES_PER_MIB : value);
}
