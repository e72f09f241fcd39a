/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of the manual that follow from the option table, in mdoc(7): flags, variables without a flag, and the keys
 * of the configuration file. Everything else of a page is written by hand and kept as it is.
 */
#include "docs.h"

#include <errno.h>

#include "base/auto.h"
#include "base/str.h"
#include "config/value.h"

#define BEGIN ".\\\" begin "
#define END ".\\\" end"

/*
 * Running text: flags get minus signs that can be copied, a backslash is escaped. No text of the table begins with a
 * dot or an apostrophe, which would be a request.
 */
static void put_text(struct buf *buf, const char *text)
{
    bool starts_word = true;
    for (; *text; text++) {
        if (*text == '\\')
            buf_puts(buf, "\\e");
        else if (*text == '-' && (starts_word || text[1] == '-'))
            buf_puts(buf, "\\-");
        else
            buf_putc(buf, *text);
        starts_word = strchr(" (-", *text) != NULL;
    }
}

/* A flag says what it does, a variable or key what is so. */
static void put_sentence(struct buf *buf, const struct option_row *row, bool is_flag)
{
    const char *help = option_help(row)->help;
    char first[2] = {help[0], '\0'};
    if (docs_negation(row)[0] && is_flag) {
        buf_puts(buf, "Do not ");
    } else if (first[0] >= 'a' && first[0] <= 'z') {
        first[0] = (char)(first[0] - 'a' + 'A');
    }
    buf_puts(buf, first);
    put_text(buf, help + 1);
    buf_puts(buf, ".\n");
}

static void put_range(struct buf *buf, const struct option_row *row)
{
    if (row->type == OPTION_DURATION) {
        buf_puts(buf, "From ");
        duration_put(buf, option_range(row)->min);
        buf_puts(buf, " to ");
        duration_put(buf, option_range(row)->max);
        buf_puts(buf, row->props & OPTION_PER_KWH ? " g/kWh.\n" : " seconds.\n");
    } else if (row->type == OPTION_INTEGER) {
        buf_printf(buf, "From %lld to %lld.\n", (long long)option_range(row)->min, (long long)option_range(row)->max);
    }
    if (row->type != OPTION_LIST)
        return;
    buf_puts(buf, "Names:\n");
    for (size_t i = 0; option_word(row, i); i++)
        buf_printf(buf, ".Cm %s%s\n", option_word(row, i), option_word(row, i + 1) ? " ," : " .");
}

/* Flags of switches say by themselves what is so without them. */
static void put_default(struct buf *buf, const struct option_row *row, bool is_flag)
{
    bool is_plain = is_flag && ((row->type == OPTION_BOOL && !option_has_metavar(row)) || row->type == OPTION_COUNT);
    if (option_fallback(row) && !is_plain)
        buf_printf(buf, "Default:\n.Ql %s .\n", option_fallback(row));
    if (!option_help(row)->unset)
        return;
    buf_puts(buf, "Default: ");
    put_text(buf, option_help(row)->unset);
    buf_puts(buf, ".\n");
}

static void put_flag(struct buf *buf, const struct option_row *row)
{
    buf_puts(buf, ".It");
    if (row->letter)
        buf_printf(buf, " Fl %c ,", row->letter);
    buf_printf(buf, " Fl \\-%s%s", docs_negation(row), option_flag(row));
    enum docs_value value = docs_value(row);
    const char *macro = row->type == OPTION_ACTION ? "Cm" : "Ar";
    if (value == DOCS_REQUIRED)
        buf_printf(buf, " Ar %s", option_metavar(row));
    else if (value == DOCS_OPTIONAL && row->type == OPTION_OPT_INTEGER)
        buf_printf(buf, " Op Ar %s", option_metavar(row));
    else if (value == DOCS_OPTIONAL)
        buf_printf(buf, " Ns Op = Ns %s %s", macro, option_metavar(row));
    buf_putc(buf, '\n');
}

static void put_envs(struct buf *buf, const struct option_row *row)
{
    buf_printf(buf, ".Ev %s%s\n", option_envs(row), option_env(row, 1) ? "" : " .");
    if (option_env(row, 1))
        buf_printf(buf, "or\n.Ev %s .\n", option_env(row, 1));
}

static void put_key(struct buf *buf, const struct option_row *row)
{
    if (option_key(row)[0])
        buf_printf(buf, "Key:\n.Ql %s .\n", option_key(row));
}

static void put_options(struct buf *buf)
{
    for (int group = 0; group < GROUP_COUNT; group++) {
        bool is_open = false;
        for (size_t i = 0; i < OPTIONS_COUNT; i++) {
            const struct option_row *row = &options[i];
            if (row->group != (enum option_group)group || !option_flag(row)[0])
                continue;
            if (!is_open)
                buf_printf(buf, ".Ss %s\n.Bl -tag -width Ds\n", option_headings[group].title);
            is_open = true;
            put_flag(buf, row);
            put_sentence(buf, row, true);
            put_range(buf, row);
            put_default(buf, row, true);
            if (option_envs(row)[0] != '\0')
                buf_puts(buf, "Variable:\n");
            if (option_envs(row)[0] != '\0')
                put_envs(buf, row);
            put_key(buf, row);
        }
        buf_puts(buf, is_open ? ".El\n" : "");
    }
}

static void put_variables(struct buf *buf)
{
    buf_puts(buf, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < OPTIONS_COUNT; i++) {
        const struct option_row *row = &options[i];
        if (option_flag(row)[0])
            continue;
        buf_printf(buf, ".It Ev %s\n", option_envs(row));
        if (option_env(row, 1))
            buf_printf(buf, ".It Ev %s\n", option_env(row, 1));
        put_sentence(buf, row, false);
        put_range(buf, row);
        put_default(buf, row, false);
        put_key(buf, row);
    }
    buf_puts(buf, ".El\n");
}

static const char *toml_type(const struct option_row *row)
{
    switch (row->type) {
    case OPTION_BOOL:
        return "boolean";
    case OPTION_INTEGER:
    case OPTION_OPT_INTEGER:
    case OPTION_COUNT:
        return "integer";
    case OPTION_DURATION:
        return row->props & OPTION_PER_KWH ? "number" : "duration";
    case OPTION_PAIRS:
        return "table of strings";
    case OPTION_LIST:
        return "array of strings";
    case OPTION_CHOICE:
    case OPTION_STRING:
    case OPTION_ACTION:
        break;
    }
    return "string";
}

static void put_choices(struct buf *buf, const struct option_row *row)
{
    if (row->type != OPTION_CHOICE)
        return;
    buf_puts(buf, "One of\n");
    for (size_t i = 0; option_word(row, i); i++) {
        bool is_last = !option_word(row, i + 1);
        buf_printf(buf, ".Ql %s%s\n", option_word(row, i), is_last ? " ." : " ,");
    }
}

static void put_keys(struct buf *buf)
{
    for (size_t t = 0; t < OPTION_TABLES; t++) {
        struct str table = str_of(option_tables[t]);
        buf_printf(buf, ".Ss [%s] table\n.Bl -tag -width Ds\n", option_tables[t]);
        for (size_t i = 0; i < OPTIONS_COUNT; i++) {
            const struct option_row *row = &options[i];
            if (!option_key(row)[0] || !str_eq((struct str){option_key(row), strcspn(option_key(row), ".")}, table))
                continue;
            buf_printf(buf, ".It Ic %s Pq %s\n", option_key(row) + table.n + 1, toml_type(row));
            put_sentence(buf, row, false);
            put_choices(buf, row);
            put_range(buf, row);
            put_default(buf, row, false);
            buf_puts(buf, "Variable:\n");
            put_envs(buf, row);
            if (option_flag(row)[0])
                buf_printf(buf, "Flag:\n.Fl \\-%s%s .\n", docs_negation(row), option_flag(row));
        }
        buf_puts(buf, ".El\n");
    }
}

static int put_part(struct buf *buf, struct str name)
{
    static const struct {
        const char *name;
        void (*put)(struct buf *buf);
    } parts[] = {{"options", put_options}, {"variables", put_variables}, {"keys", put_keys}};
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (!str_eq(name, str_of(parts[i].name)))
            continue;
        parts[i].put(buf);
        return 0;
    }
    return -EINVAL;
}

static void put_line(struct buf *buf, struct str line)
{
    buf_append(buf, line.p, line.n);
    buf_putc(buf, '\n');
}

/* Running text in lines of at most 80 bytes; a line must not begin as a request does. */
static void put_wrapped(struct buf *buf, struct str line)
{
    enum { WIDTH = 80 };
    struct str word;
    size_t at = 0;
    while (str_word(&line, &word)) {
        bool breaks = at > 0 && at + 1 + word.n > WIDTH && word.p[0] != '.' && word.p[0] != '\'';
        if (at > 0)
            buf_putc(buf, breaks ? '\n' : ' ');
        at = breaks ? word.n : at + (at > 0) + word.n;
        buf_append(buf, word.p, word.n);
    }
    buf_putc(buf, '\n');
}

/* Displays are kept as they are, and so are requests and empty lines. */
static void wrap_page(struct buf *buf, struct str page)
{
    struct str line;
    bool is_display = false;
    while (str_line(&page, &line)) {
        is_display |= str_starts(line, STR(".Bd"));
        is_display &= !str_starts(line, STR(".Ed"));
        if (is_display || line.n <= 80 || line.p[0] == '.' || line.p[0] == '\'')
            put_line(buf, line);
        else
            put_wrapped(buf, line);
    }
}

static int fill_page(struct buf *buf, struct str page)
{
    struct str line;
    bool is_inside = false;
    while (str_line(&page, &line)) {
        if (str_starts(line, STR(BEGIN))) {
            put_line(buf, line);
            str_skip(&line, sizeof(BEGIN) - 1);
            if (is_inside || put_part(buf, line) < 0)
                return -EINVAL;
            is_inside = true;
        } else if (str_eq(line, STR(END))) {
            if (!is_inside)
                return -EINVAL;
            is_inside = false;
        }
        if (!is_inside)
            put_line(buf, line);
    }
    return is_inside ? -EINVAL : 0;
}

int docs_man(struct buf *buf, struct str page)
{
    AUTO_BUF struct buf filled;
    buf_init(&filled, buf->max);
    int r = fill_page(&filled, page);
    wrap_page(buf, (struct str){filled.data, filled.len});
    return r;
}
