/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that a word before them announces inside a text: statements of SQL, lines of netrc, objects of qemu. */
#include "mask/mask_internal.h"

static bool is_word_byte(char c)
{
    return is_alnum(c) || c == '_';
}

static size_t word_length(struct str text, size_t at)
{
    size_t n = 0;
    while (at + n < text.n && is_word_byte(text.p[at + n]))
        n++;
    return n;
}

struct statement {
    bool is_definition; /* CREATE, ALTER, SET, GRANT */
    bool is_identified; /* IDENTIFIED ... BY */
    bool is_set; /* SET PASSWORD ... = */
    bool is_armed; /* a literal that comes next is the password */
};

static void take_sql_word(struct statement *statement, struct str word)
{
    bool is_password = rule_lists(" password ", word);
    statement->is_set |= is_password && statement->is_definition;
    statement->is_definition |= rule_lists(" create alter set grant ", word);
    statement->is_identified |= rule_lists(" identified ", word);
    statement->is_armed = (is_password && (statement->is_definition || statement->is_identified)) ||
                          (statement->is_identified && rule_lists(" by as using values ", word));
}

/* The literal that begins with this quote; returns where the search goes on. */
static size_t take_literal(struct element *element, size_t at)
{
    struct str text = element->text;
    size_t escapes = 0;
    while (escapes < at && escapes < 7 && text.p[at - 1 - escapes] == '\\')
        escapes++;
    /* '\'' is a quote within quotes of the shell. */
    bool is_nested = str_starts(str_from(text, at), STR("'\\''"));
    size_t from = at + (is_nested ? 4 : 1);
    const char *quote = memchr(text.p + from, text.p[at], text.n - from);
    size_t end = quote ? (size_t)(quote - text.p) - (is_nested ? 0 : escapes) : text.n;
    if (end < from)
        return from;
    struct str value = {text.p + from, end - from};
    static const struct name_class strong = {.level = NAME_STRONG};
    if (!(element->is_shell && value_is_reference(value)))
        (void)mark_value(element, value, &strong);
    return end + (end < text.n);
}

/* PASSWORD 'x', IDENTIFIED BY 'x', SET PASSWORD FOR u = 'x' */
static void mark_sql(struct element *element)
{
    struct str text = element->text;
    struct statement statement = {0};
    for (size_t i = 0; i < text.n;) {
        char c = text.p[i];
        size_t n = word_length(text, i);
        if (n > 0) {
            take_sql_word(&statement, (struct str){text.p + i, n});
            i += n;
            continue;
        }
        if (statement.is_armed && (c == '\'' || c == '"')) {
            i = take_literal(element, i);
            statement.is_armed = false;
            continue;
        }
        if (c == ';')
            statement = (struct statement){0};
        else if (c == '=')
            statement.is_armed |= statement.is_set;
        else if (!is_white(c) && c != '(' && c != '\\')
            statement.is_armed = false;
        i++;
    }
}

/* Behind blanks and what printf makes blanks of. */
static size_t skip_gap(struct str text, size_t at)
{
    for (; at < text.n; at++) {
        bool is_escape = text.p[at] == '\\' && at + 1 < text.n && (text.p[at + 1] == 'n' || text.p[at + 1] == 't');
        if (!is_escape && !is_white(text.p[at]))
            break;
        at += is_escape;
    }
    return at;
}

static size_t token_end(struct str text, size_t at)
{
    while (at < text.n && skip_gap(text, at) == at && !is_quote(text.p[at]))
        at++;
    return at;
}

/* login NAME password SECRET, behind machine HOST; returns where the search goes on. */
static size_t take_netrc(struct element *element, size_t at)
{
    struct str text = element->text;
    for (;;) {
        size_t from = skip_gap(text, at), end = token_end(text, from);
        struct str word = {text.p + from, end - from};
        bool is_password = rule_lists(" password ", word);
        if (!is_password && !rule_lists(" login account ", word))
            return at;
        size_t value = skip_gap(text, end);
        at = token_end(text, value);
        static const struct name_class strong = {.level = NAME_STRONG};
        if (is_password && value > end)
            (void)mark_value(element, (struct str){text.p + value, at - value}, &strong);
        if (at == value)
            return at;
    }
}

/* secret,id=NAME,data=SECRET */
static void take_object(struct element *element, size_t at)
{
    struct str text = element->text;
    size_t end = at;
    while (end < text.n && !is_white(text.p[end]) && !is_quote(text.p[end]))
        end++;
    const char *data = memmem(text.p + at, end - at, ",data=", 6);
    if (!data)
        return;
    size_t from = (size_t)(data - text.p) + 6, to = from;
    while (to < end && (text.p[to] != ',' || (to + 1 < end && text.p[to + 1] == ',')))
        to += text.p[to] == ',' ? 2 : 1;
    struct str value = {text.p + from, to - from};
    if (!value_is_trivial(value) && !(element->is_shell && value_is_reference(value)))
        mark(element, value, MARK_SECRET);
}

void mark_phrases(struct element *element)
{
    struct str text = element->text;
    mark_sql(element);
    size_t objects = 0;
    for (size_t i = 0; i < text.n;) {
        size_t n = word_length(text, i);
        struct str word = {text.p + i, n};
        char before = i > 0 ? text.p[i - 1] : ' ', behind = i + n < text.n ? text.p[i + n] : ' ';
        bool is_first = is_white(before) || is_quote(before) || before == '=';
        if (behind == ',' && is_first && rule_lists(" secret ", word) && objects++ < 8)
            take_object(element, i);
        if (rule_lists(" default ", word))
            i = take_netrc(element, i + n);
        else if (rule_lists(" machine ", word))
            i = take_netrc(element, token_end(text, skip_gap(text, i + n)));
        else
            i += n > 0 ? n : 1;
    }
}
