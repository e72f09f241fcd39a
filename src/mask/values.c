/* SPDX-License-Identifier: Apache-2.0 */
/* What a piece of text looks like: a path, a version, a name, or something that a generator made. */
#include <stdint.h>

#include "mask/mask_internal.h"

const char *const mark_placeholders[MARK_COUNT] = {
    [MARK_NONE] = "",
    [MARK_SECRET] = "[SECRET]",
    [MARK_KEY] = "[KEY]",
    [MARK_EMAIL] = "[EMAIL]",
    [MARK_IP] = "[IP]",
    [MARK_PHONE] = "[PHONE]",
    [MARK_CARD] = "[CC]",
    [MARK_SSN] = "[SSN]",
};

bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_alnum(char c)
{
    return is_upper(c) || is_lower(c) || is_digit(c);
}

bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

bool is_name_char(char c)
{
    return is_alnum(c) || c == '_' || c == '-' || c == '.';
}

char to_lower(char c)
{
    return is_upper(c) ? (char)(c + ('a' - 'A')) : c;
}

struct str str_from(struct str text, size_t at)
{
    return at >= text.n ? (struct str){text.p + text.n, 0} : (struct str){text.p + at, text.n - at};
}

bool str_has(struct str text, char c)
{
    return text.n > 0 && memchr(text.p, c, text.n);
}

/* The prefix ends at its NUL or at a blank (a word of a list). */
bool has_prefix_nocase(struct str text, const char *prefix)
{
    size_t i = 0;
    for (; prefix[i] && prefix[i] != ' '; i++) {
        if (i >= text.n || to_lower(text.p[i]) != prefix[i])
            return false;
    }
    return true;
}

void mark(struct element *element, struct str piece, enum mark kind)
{
    if (piece.n > 0)
        memset(element->marks + (piece.p - element->text.p), (int)kind, piece.n);
}

bool is_marked(const struct element *element, struct str piece)
{
    const unsigned char *marks = element->marks + (piece.p - element->text.p);
    for (size_t i = 0; i < piece.n; i++) {
        if (marks[i] != MARK_NONE)
            return true;
    }
    return false;
}

size_t placeholder_length(struct str text)
{
    for (int i = MARK_SECRET; i < MARK_COUNT && text.n > 0 && text.p[0] == '['; i++) {
        struct str placeholder = str_of(mark_placeholders[i]);
        if (str_starts(text, placeholder))
            return placeholder.n;
    }
    return 0;
}

static bool is_all(struct str text, bool (*is_member)(char))
{
    for (size_t i = 0; i < text.n; i++) {
        if (!is_member(text.p[i]))
            return false;
    }
    return text.n > 0;
}

static bool is_cover(char c)
{
    return c == '*' || c == '.' || c == 'x' || c == 'X' || c == '#';
}

bool value_is_trivial(struct str value)
{
    if (value.n == 0 || placeholder_length(value) == value.n)
        return true;
    if (value.n == 1)
        return value.p[0] == '-' || is_digit(value.p[0]) || is_quote(value.p[0]) || is_cover(value.p[0]);
    bool says_where =
        has_prefix_nocase(value, "env:") || has_prefix_nocase(value, "file:") || has_prefix_nocase(value, "fd:");
    if (says_where && value.n < 256)
        return true;
    /* ..., ****, xxxx; also the ellipsis of a cut */
    return is_all(value, is_cover) || str_eq(value, STR("\xe2\x80\xa6")) || rule_lists(rule_trivial_values, value) ||
           (value.p[0] == '<' && value.p[value.n - 1] == '>'); /* <pad>, <your token> */
}

bool value_is_path(struct str value)
{
    bool begins = str_starts(value, STR("/")) || str_starts(value, STR("./")) || str_starts(value, STR("../")) ||
                  str_starts(value, STR("~")) || str_starts(value, STR("@")) || str_starts(value, STR("$HOME/"));
    if (begins)
        return !value_is_random_base64(value);
    return !str_has(value, ' ') && value.n <= 255 && rule_ends(rule_file_endings, value);
}

/* $(echo SECRET): the secret itself, unless it is made of other references */
static bool is_echo(struct str command)
{
    size_t n = 0, from = 0;
    while (from < command.n && is_white(command.p[from]))
        from++;
    while (from + n < command.n && is_lower(command.p[from + n]))
        n++;
    return rule_lists(rule_echoes, (struct str){command.p + from, n}) && !str_has(command, '$') &&
           !str_has(command, '`');
}

bool value_is_reference(struct str value)
{
    if (value.n < 2 || value.p[0] != '$')
        return value.n >= 2 && value.p[0] == '`' && value.p[value.n - 1] == '`' &&
               !is_echo((struct str){value.p + 1, value.n - 2});
    struct str name = str_from(value, 1);
    if (name.p[0] == '(')
        return name.n > 1 && name.p[name.n - 1] == ')' && !is_echo((struct str){name.p + 1, name.n - 2});
    if (name.p[0] == '{') {
        if (name.n < 3 || name.p[name.n - 1] != '}')
            return false;
        name = (struct str){name.p + 1, name.n - 2};
    }
    for (size_t i = 0; i < name.n; i++) {
        if (!is_alnum(name.p[i]) && name.p[i] != '_')
            return false;
    }
    return !is_digit(name.p[0]) || name.n == 1;
}

bool value_is_version(struct str value)
{
    size_t i = value.n > 1 && (value.p[0] == 'v' || value.p[0] == 'V');
    bool has_digit = false;
    if (i < value.n && !is_digit(value.p[i]))
        return false;
    for (; i < value.n; i++) {
        char c = value.p[i];
        bool is_tail = has_digit && (is_lower(c) || c == '-' || c == '+' || c == '_') && value.n <= 16;
        has_digit |= is_digit(c);
        if (!is_digit(c) && c != '.' && c != '-' && c != ':' && !is_tail)
            return false;
    }
    return has_digit;
}

static bool is_word_char(char c)
{
    return is_upper(c) || is_lower(c) || c == '-' || c == '_';
}

bool value_is_word(struct str value)
{
    return value.n <= 32 && is_all(value, is_word_char);
}

static bool is_hex_char(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') || c == '-';
}

struct census {
    unsigned upper, lower, digit, other, changes, pairs, longest_lower;
};

static int class_of(char c)
{
    return is_upper(c) ? 1 : is_lower(c) ? 2 : is_digit(c) ? 3 : 0;
}

/* Changes between capitals, small letters and digits, among neighbours of which both are one of them. */
static struct census census_of(struct str text)
{
    struct census census = {0};
    unsigned lower_run = 0;
    for (size_t i = 0; i < text.n; i++) {
        int class = class_of(text.p[i]), before = i > 0 ? class_of(text.p[i - 1]) : 0;
        census.upper += class == 1;
        census.lower += class == 2;
        census.digit += class == 3;
        census.other += class == 0;
        census.pairs += class != 0 && before != 0;
        census.changes += class != 0 && before != 0 && class != before;
        lower_run = class == 2 ? lower_run + 1 : 0;
        if (lower_run > census.longest_lower)
            census.longest_lower = lower_run;
    }
    return census;
}

static bool is_dense(const struct census *census, unsigned percent)
{
    return census->pairs > 0 && census->changes * 100 >= census->pairs * percent;
}

static bool is_token_char(char c)
{
    return is_alnum(c) || c == '_' || c == '-' || c == '+' || c == '/' || c == '=' || c == '.' || c == '~' || c == ':';
}

bool value_is_tokenish(struct str value)
{
    enum { LEAST = 12, LEAST_HEX = 16, DENSITY = 25 };
    if (value.n < LEAST || value.n > 4096 || !is_all(value, is_token_char) || value_is_path(value) ||
        value_is_version(value) || memmem(value.p, value.n, "://", 3))
        return false;
    struct census census = census_of(value);
    if (census.digit == 0)
        return census.upper > 2 && census.lower > 2 && value.n >= 20 && is_dense(&census, DENSITY);
    if (census.upper + census.lower == 0)
        return false;
    if (is_all(value, is_hex_char))
        return value.n >= LEAST_HEX;
    return census.digit >= 2 && is_dense(&census, DENSITY) && census.longest_lower < 8;
}

bool value_is_random(struct str value)
{
    enum { LEAST = 20, DENSITY = 43, LEAST_LOWER = 32, DENSITY_LOWER = 30, MOST = 4096, WORD = 7 };
    if (value.n < LEAST || value.n > MOST || is_all(value, is_hex_char))
        return false;
    struct census census = census_of(value);
    bool is_plain = census.longest_lower >= WORD + value.n / 64;
    if (census.digit < 2 || is_plain)
        return false;
    /* IPFS names what it stores so, OpenSSH its public keys. */
    if ((value.n == 46 && str_starts(value, STR("Qm"))) || str_starts(value, STR("baf")) ||
        str_starts(value, STR("AAAAB3NzaC1")) || str_starts(value, STR("AAAAC3NzaC1")) ||
        str_starts(value, STR("AAAAE2VjZHNh")))
        return false;
    if (census.upper > 1 && census.lower > 1)
        return census.other * 6 <= value.n && is_dense(&census, DENSITY);
    return census.other == 0 && value.n >= LEAST_LOWER && is_dense(&census, DENSITY_LOWER);
}

bool value_is_random_base64(struct str value)
{
    enum { LEAST = 32, DENSITY = 40, WORD = 6 };
    size_t padding = 0;
    while (padding < 2 && padding < value.n && value.p[value.n - 1 - padding] == '=')
        padding++;
    value.n -= padding;
    for (size_t i = 0; i < value.n; i++) {
        if (!is_alnum(value.p[i]) && value.p[i] != '+' && value.p[i] != '/')
            return false;
    }
    struct census census = census_of(value);
    /* An AWS secret key has 40 characters and no padding. */
    return (value.n == 40 || (padding > 0 && value.n >= LEAST)) && census.upper > 2 && census.lower > 2 &&
           census.digit > 0 && census.longest_lower < WORD + value.n / 64 && is_dense(&census, DENSITY);
}
