/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shows by itself or by the word before it: tokens with a known prefix or form; secrets in statements of SQL,
 * lines of netrc and objects of qemu; and for MASK_STRICT e-mail and IPv4 addresses, numbers of telephones, cards and
 * US social security. Like the Rust tracker's rules, but a number inside a longer one is not taken for one of these.
 */
#include "mask/mask_internal.h"

/* What decides is near the beginning: a long text of many almost-tokens must not take long. */
enum { WINDOW = 256, WINDOW_JWT = 1024 };

static bool is_in_set(enum shape_set set, char c)
{
    switch (set) {
    case SET_ALNUM:
        return ascii_is_alnum(c);
    case SET_UPPER_DIGIT:
        return ascii_is_upper(c) || ascii_is_digit(c);
    case SET_HEX:
        return ascii_hex_value(c) >= 0;
    case SET_WORD:
        return is_alnum_or(c, "_-");
    case SET_DOTTED:
        return is_name_char(c);
    }
    return false;
}

/* How many characters of the set text begins with; at most `most`. */
static size_t run_of(enum shape_set set, struct str text, size_t most)
{
    size_t n = 0;
    while (n < text.n && n < most && is_in_set(set, text.p[n]))
        n++;
    return n;
}

static bool is_mixed(struct str text)
{
    bool has_upper = false, has_lower = false, has_digit = false;
    for (size_t i = 0; i < text.n; i++) {
        has_upper |= ascii_is_upper(text.p[i]);
        has_lower |= ascii_is_lower(text.p[i]);
        has_digit |= ascii_is_digit(text.p[i]);
    }
    return has_digit || (has_upper && has_lower);
}

/* Length of the token at the start of text; 0: none. */
static size_t match_rule(const struct shape_rule *rule, struct str prefix, struct str text)
{
    if (!str_starts(text, prefix))
        return 0;
    struct str rest = str_from(text, prefix.n);
    size_t n = run_of((enum shape_set)rule->set, rest, WINDOW);
    if (n < rule->least || (rule->most > 0 && n > rule->most) ||
        (rule->needs_mix && !is_mixed((struct str){rest.p, n})))
        return 0;
    return prefix.n + run_of((enum shape_set)rule->set, rest, rest.n);
}

/* eyJ….eyJ….signature; also the five parts of an encrypted one */
static size_t match_jwt(struct str text)
{
    enum { LEAST = 6 };
    if (!str_starts(text, STR("eyJ")))
        return 0;
    size_t n = run_of(SET_WORD, text, WINDOW_JWT);
    size_t parts = 1;
    while (n >= LEAST && n < text.n && text.p[n] == '.' && parts < 5) {
        n += 1 + run_of(SET_WORD, str_from(text, n + 1), text.n);
        parts++;
    }
    return parts >= 2 ? n : 0;
}

/* 123456789:AA… of a Telegram bot */
static size_t match_telegram(struct str text)
{
    size_t digits = skip_all(text, 0, ascii_is_digit);
    if (digits < 8 || digits > 10 || digits >= text.n || text.p[digits] != ':')
        return 0;
    size_t n = run_of(SET_WORD, str_from(text, digits + 1), WINDOW);
    return n >= 33 && n <= 40 ? digits + 1 + n : 0;
}

/* ID.TIME.HMAC of a Discord bot: 23 to 28, 6 to 7 and 27 or more characters */
static size_t match_discord(struct str text)
{
    if (text.p[0] != 'M' && text.p[0] != 'N' && text.p[0] != 'O')
        return 0;
    size_t a = run_of(SET_WORD, text, WINDOW);
    if (a < 23 || a > 28 || a >= text.n || text.p[a] != '.')
        return 0;
    size_t b = run_of(SET_WORD, str_from(text, a + 1), WINDOW);
    size_t at = a + 1 + b;
    if (b < 6 || b > 7 || at >= text.n || text.p[at] != '.')
        return 0;
    size_t c = run_of(SET_WORD, str_from(text, at + 1), text.n);
    return c >= 27 ? at + 1 + c : 0;
}

/* 32 hexadecimal digits and -us6: Mailchimp */
static size_t match_mailchimp(struct str text)
{
    size_t n = run_of(SET_HEX, text, WINDOW);
    struct str rest = str_from(text, n);
    bool is_key = n == 32 && str_starts(rest, STR("-us")) && rest.n > 3 && ascii_is_digit(rest.p[3]);
    return is_key ? n + 3 + run_of(SET_ALNUM, str_from(rest, 3), WINDOW) : 0;
}

static size_t match_shape(struct str text)
{
    size_t n = match_jwt(text);
    if (n == 0)
        n = match_discord(text);
    if (n == 0)
        n = match_mailchimp(text);
    const struct shape_rule *rule = rule_shapes;
    for (const char *prefix = rule_prefixes, *end; *prefix && n == 0; prefix = end + 1) {
        for (end = prefix; *end && *end != ' ';)
            end++;
        if (*prefix == text.p[0])
            n = match_rule(rule, (struct str){prefix, (size_t)(end - prefix)}, text);
        rule += *end == '\0';
    }
    return n;
}

void mark_shapes(struct element *element)
{
    struct str text = element->text;
    for (size_t i = 0; i < text.n;) {
        char before = i > 0 ? text.p[i - 1] : ' ';
        struct str rest = str_from(text, i);
        size_t n = 0;
        /* bot123:… in the path of a URL */
        if (ascii_is_digit(text.p[i]) && !ascii_is_digit(before))
            n = match_telegram(rest);
        if (n == 0 && ascii_is_alnum(text.p[i]) && !ascii_is_alnum(before))
            n = match_shape(rest);
        mark(element, (struct str){rest.p, n}, MARK_SECRET);
        i += n > 0 ? n : 1;
    }
}

static bool is_word_byte(char c)
{
    return is_alnum_or(c, "_");
}

static size_t word_length(struct str text, size_t at)
{
    return skip_all(text, at, is_word_byte) - at;
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
    size_t end = find_char(text, from, text.p[at]);
    if (end < text.n && !is_nested)
        end -= escapes;
    if (end < from)
        return from;
    struct str value = {text.p + from, end - from};
    if (!is_reference(element, value))
        (void)mark_value(element, value, &name_strong);
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
        if (is_password && value > end)
            (void)mark_value(element, (struct str){text.p + value, at - value}, &name_strong);
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
    size_t from = find_text((struct str){text.p, end}, at, ",data=") + 6, to = from;
    if (from > end)
        return;
    while (to < end && (text.p[to] != ',' || (to + 1 < end && text.p[to + 1] == ',')))
        to += text.p[to] == ',' ? 2 : 1;
    struct str value = {text.p + from, to - from};
    if (!value_is_trivial(value) && !is_reference(element, value))
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

static bool is_local_char(char c)
{
    return is_alnum_or(c, "._%+-");
}

static void mark_email(struct element *element, size_t at)
{
    struct str text = element->text;
    size_t start = at, end = at + 1, good = 0;
    while (start > 0 && is_local_char(text.p[start - 1]))
        start--;
    for (; end < text.n && is_alnum_or(text.p[end], ".-"); end++) {
        bool is_letter = ascii_is_alpha(text.p[end]);
        char before = text.p[end - 1], before2 = end >= 2 ? text.p[end - 2] : ' ';
        /* The top-level domain has two letters or more; those behind them belong to it. */
        if (is_letter && ((good == end && good > 0) || (before2 == '.' && end - 3 > at && (ascii_is_alpha(before)))))
            good = end + 1;
    }
    if (start < at && good > at && !is_marked(element, (struct str){text.p + start, good - start}))
        mark(element, (struct str){text.p + start, good - start}, MARK_EMAIL);
}

/* Four numbers up to 255 with dots between; 0: none. */
static size_t match_ip(struct str text)
{
    size_t i = 0;
    for (int octet = 0; octet < 4; octet++) {
        unsigned value = 0;
        size_t digits = 0;
        for (; i < text.n && ascii_is_digit(text.p[i]) && digits < 4; i++, digits++)
            value = value * 10 + (unsigned)(text.p[i] - '0');
        if (digits == 0 || digits > 3 || value > 255)
            return 0;
        if (octet < 3 && (i >= text.n || text.p[i++] != '.'))
            return 0;
    }
    bool goes_on = i < text.n && (ascii_is_alnum(text.p[i]) || text.p[i] == '_' ||
                                     (text.p[i] == '.' && i + 1 < text.n && ascii_is_digit(text.p[i + 1])));
    return goes_on ? 0 : i;
}

/* A number in groups: the pattern has one letter per digit, and '-' where a separator may be. */
static size_t match_groups(struct str text, const char *pattern, const char *separators, bool must_separate)
{
    size_t i = 0;
    for (; *pattern; pattern++) {
        bool is_here = i < text.n && text.p[i] && strchr(separators, text.p[i]);
        if (*pattern == '-') {
            if (!is_here && must_separate)
                return 0;
            i += is_here;
        } else if (i >= text.n || !ascii_is_digit(text.p[i++])) {
            return 0;
        }
    }
    return i < text.n && ascii_is_digit(text.p[i]) ? 0 : i;
}

static size_t match_card(struct str text)
{
    bool is_amex = text.n > 1 && text.p[0] == '3' && (text.p[1] == '4' || text.p[1] == '7');
    bool is_other = text.p[0] == '4' || str_starts(text, STR("6011")) ||
                    (text.n > 1 && text.p[0] == '5' && text.p[1] >= '1' && text.p[1] <= '5');
    size_t n = is_amex || is_other ? match_groups(text, "dddd-dddd-dddd-dddd", " -", false) : 0;
    return n == 0 && is_amex ? match_groups(text, "dddd-dddddd-ddddd", " -", false) : n;
}

/* (301) 555-0100, 301-555-0100, 3015550100; +36 30 555 0100 */
static size_t match_phone(struct str text)
{
    if (text.p[0] == '(') {
        if (text.n < 5 || text.p[4] != ')')
            return 0;
        size_t area = match_groups((struct str){text.p + 1, 3}, "ddd", "", false);
        size_t rest = match_groups(str_from(text, 5), "-ddd-dddd", " .-", false);
        return area == 3 && rest > 0 ? 5 + rest : 0;
    }
    if (text.p[0] != '+')
        return match_groups(text, "ddd-ddd-dddd", " .-", false);
    enum { LEAST = 8, MOST = 15 };
    size_t digits = 0, end = 0;
    for (size_t i = 1; i < text.n && digits <= MOST; i++) {
        if (ascii_is_digit(text.p[i])) {
            digits++;
            end = i + 1;
        } else if (!strchr(" .-()", text.p[i]) || !ascii_is_digit(text.p[i - 1])) {
            break;
        }
    }
    return digits >= LEAST && digits <= MOST ? end : 0;
}

void mark_personal(struct element *element)
{
    struct str text = element->text;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] == '@')
            mark_email(element, i);
    }
    for (size_t i = 0; i < text.n;) {
        char c = text.p[i], before = i > 0 ? text.p[i - 1] : ' ';
        struct str rest = str_from(text, i);
        bool is_start = (ascii_is_digit(c) && !ascii_is_digit(before)) || c == '(' || c == '+';
        bool is_word_start = is_start && !ascii_is_alnum(before) && before != '_';
        enum mark kind = MARK_NONE;
        size_t n = 0;
        if (is_word_start && ascii_is_digit(c) && (n = match_card(rest)) > 0)
            kind = MARK_CARD;
        else if (is_word_start && ascii_is_digit(c) && (n = match_groups(rest, "ddd-dd-dddd", "-", true)) > 0)
            kind = MARK_SSN;
        else if (is_word_start && before != '.' && ascii_is_digit(c) && (n = match_ip(rest)) > 0)
            kind = MARK_IP;
        else if (is_start && before != '.' && (n = match_phone(rest)) > 0)
            kind = MARK_PHONE;
        if (n > 0 && !is_marked(element, (struct str){rest.p, n}))
            mark(element, (struct str){rest.p, n}, kind);
        i += n > 0 ? n : 1;
    }
}
