/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a piece of text looks like: a path, a version, a name, or something that a generator made. And names by their
 * words: api-key, api_key, apiKey, API_KEY and wandb.api_key end in the same two.
 */
#include <stdint.h>

#include "mask/mask_internal.h"

const char mark_placeholders[MARK_COUNT][9] = {
    [MARK_NONE] = "",
    [MARK_SECRET] = "[SECRET]",
    [MARK_KEY] = "[KEY]",
    [MARK_EMAIL] = "[EMAIL]",
    [MARK_IP] = "[IP]",
    [MARK_PHONE] = "[PHONE]",
    [MARK_CARD] = "[CC]",
    [MARK_SSN] = "[SSN]",
};

bool is_white(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

bool is_alnum_or(char c, const char *others)
{
    return ascii_is_alnum(c) || (c && strchr(others, c));
}

bool is_name_char(char c)
{
    return is_alnum_or(c, "_-.");
}

struct str str_from(struct str text, size_t at)
{
    return at >= text.n ? (struct str){text.p + text.n, 0} : (struct str){text.p + at, text.n - at};
}

size_t find_char(struct str text, size_t from, char c)
{
    const char *at = from < text.n ? memchr(text.p + from, c, text.n - from) : NULL;
    return at ? (size_t)(at - text.p) : text.n;
}

size_t find_text(struct str text, size_t from, const char *part)
{
    const char *at = from < text.n ? memmem(text.p + from, text.n - from, part, strlen(part)) : NULL;
    return at ? (size_t)(at - text.p) : text.n;
}

bool str_has(struct str text, char c)
{
    return find_char(text, 0, c) < text.n;
}

bool has_text(struct str text, const char *part)
{
    return find_text(text, 0, part) < text.n;
}

size_t skip_all(struct str text, size_t at, bool (*is_member)(char c))
{
    while (at < text.n && is_member(text.p[at]))
        at++;
    return at;
}

bool is_all(struct str text, bool (*is_member)(char c))
{
    return text.n > 0 && skip_all(text, 0, is_member) == text.n;
}

bool has_white(struct str text)
{
    for (size_t i = 0; i < text.n; i++) {
        if (is_white(text.p[i]))
            return true;
    }
    return false;
}

struct str unquote(struct str text)
{
    bool is_quoted = text.n >= 2 && is_quote(text.p[0]) && text.p[text.n - 1] == text.p[0];
    return is_quoted ? (struct str){text.p + 1, text.n - 2} : text;
}

/* The prefix ends at its NUL or at a blank (a word of a list). */
bool has_prefix_nocase(struct str text, const char *prefix)
{
    size_t i = 0;
    for (; prefix[i] && prefix[i] != ' '; i++) {
        if (i >= text.n || ascii_to_lower(text.p[i]) != prefix[i])
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

static bool is_cover(char c)
{
    return c == '*' || c == '.' || c == 'x' || c == 'X' || c == '#';
}

bool value_is_trivial(struct str value)
{
    if (value.n == 0 || placeholder_length(value) == value.n)
        return true;
    if (value.n == 1)
        return value.p[0] == '-' || ascii_is_digit(value.p[0]) || is_quote(value.p[0]) || is_cover(value.p[0]);
    if (value.n < 256 && rule_begins(" env: file: fd: ", value))
        return true;
    /* ..., ****, xxxx; also the ellipsis of a cut */
    return is_all(value, is_cover) || str_eq(value, STR("\xe2\x80\xa6")) || rule_lists(rule_trivial_values, value) ||
           (value.p[0] == '<' && value.p[value.n - 1] == '>'); /* <pad>, <your token> */
}

/* With one of these texts, to the case? */
static bool begins_with(struct str value, const char *texts)
{
    bool begins = false;
    for (; *texts && !begins; texts = rule_next(texts))
        begins = str_starts(value, str_of(texts));
    return begins;
}

bool value_is_path(struct str value)
{
    if (begins_with(value, "/\0./\0../\0~\0@\0$HOME/\0"))
        return !value_is_random_base64(value);
    return !str_has(value, ' ') && value.n <= 255 && rule_ends(rule_file_endings, value);
}

/* $(echo SECRET): the secret itself, unless it is made of other references */
static bool is_echo(struct str command)
{
    size_t from = skip_all(command, 0, is_white), end = skip_all(command, from, ascii_is_lower);
    return rule_lists(rule_echoes, (struct str){command.p + from, end - from}) && !str_has(command, '$') &&
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
        if (!ascii_is_alnum(name.p[i]) && name.p[i] != '_')
            return false;
    }
    return !ascii_is_digit(name.p[0]) || name.n == 1;
}

bool value_is_version(struct str value)
{
    size_t i = value.n > 1 && (value.p[0] == 'v' || value.p[0] == 'V');
    bool has_digit = false;
    if (i < value.n && !ascii_is_digit(value.p[i]))
        return false;
    for (; i < value.n; i++) {
        char c = value.p[i];
        bool is_tail = has_digit && (ascii_is_lower(c) || c == '-' || c == '+' || c == '_') && value.n <= 16;
        has_digit |= ascii_is_digit(c);
        if (!ascii_is_digit(c) && c != '.' && c != '-' && c != ':' && !is_tail)
            return false;
    }
    return has_digit;
}

static bool is_word_char(char c)
{
    return ascii_is_alpha(c) || c == '-' || c == '_';
}

bool value_is_word(struct str value)
{
    return value.n <= 32 && is_all(value, is_word_char);
}

static bool is_hex_char(char c)
{
    return ascii_hex_value(c) >= 0 || c == '-';
}

struct census {
    unsigned upper, lower, digit, other, changes, pairs, longest_lower;
};

static int class_of(char c)
{
    return ascii_is_upper(c) ? 1 : ascii_is_lower(c) ? 2 : ascii_is_digit(c) ? 3 : 0;
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
    return is_alnum_or(c, "_-+/=.~:");
}

bool value_is_tokenish(struct str value)
{
    enum { LEAST = 12, LEAST_HEX = 16, DENSITY = 25 };
    if (value.n < LEAST || value.n > 4096 || !is_all(value, is_token_char) || value_is_path(value) ||
        value_is_version(value) || has_text(value, "://"))
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
    if ((value.n == 46 && str_starts(value, STR("Qm"))) ||
        begins_with(value, "baf\0AAAAB3NzaC1\0AAAAC3NzaC1\0AAAAE2VjZHNh\0"))
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
        if (!ascii_is_alnum(value.p[i]) && value.p[i] != '+' && value.p[i] != '/')
            return false;
    }
    struct census census = census_of(value);
    /* An AWS secret key has 40 characters and no padding. */
    return (value.n == 40 || (padding > 0 && value.n >= LEAST)) && census.upper > 2 && census.lower > 2 &&
           census.digit > 0 && census.longest_lower < WORD + value.n / 64 && is_dense(&census, DENSITY);
}

/* Of longer names the end counts. */
enum { NAME_BYTES_MAX = 96, NAME_WORDS_MAX = 16 };

struct name_words {
    char text[NAME_BYTES_MAX]; /* lower case */
    struct str words[NAME_WORDS_MAX];
    size_t count;
    bool has_data; /* ends in "data" */
};

/* Does a word begin here? */
static bool is_boundary(struct str name, size_t i)
{
    char before = name.p[i - 1], c = name.p[i];
    if (!ascii_is_alnum(before) || !ascii_is_alnum(c) || ascii_is_digit(before) != ascii_is_digit(c))
        return true;
    bool ends_capitals = ascii_is_upper(before) && ascii_is_upper(c) && i + 1 < name.n && ascii_is_lower(name.p[i + 1]);
    return (ascii_is_lower(before) && ascii_is_upper(c)) || ends_capitals;
}

static void split_name(struct str name, struct name_words *out)
{
    if (name.n > NAME_BYTES_MAX)
        name = str_from(name, name.n - NAME_BYTES_MAX);
    out->count = 0;
    for (size_t i = 0; i < name.n; i++) {
        out->text[i] = ascii_to_lower(name.p[i]);
        if (!ascii_is_alnum(name.p[i]))
            continue;
        if (i == 0 || is_boundary(name, i)) {
            if (out->count == NAME_WORDS_MAX) {
                memmove(out->words, out->words + 1, (NAME_WORDS_MAX - 1) * sizeof(out->words[0]));
                out->count--;
            }
            out->words[out->count++] = (struct str){out->text + i, 0};
        }
        if (out->count > 0)
            out->words[out->count - 1].n++;
    }
    out->has_data = out->count > 1 && str_eq(out->words[out->count - 1], STR("data"));
    /* PASSWORD_2, secret-value */
    while (out->count > 1 &&
           (ascii_is_digit(out->words[out->count - 1].p[0]) || rule_lists(rule_contents, out->words[out->count - 1])))
        out->count--;
}

static struct str word_at(const struct name_words *name, size_t from_end)
{
    return from_end < name->count ? name->words[name->count - 1 - from_end] : (struct str){"", 0};
}

static enum name_level classify_key(struct str kind)
{
    if (rule_lists(rule_strong_keys, kind))
        return NAME_STRONG;
    return rule_lists(rule_plain_keys, kind) ? NAME_PLAIN : NAME_WEAK;
}

/* By the last word, and the one before it. */
static enum name_level classify_end(const struct name_words *name)
{
    struct str last = word_at(name, 0), kind = word_at(name, 1);
    if (rule_lists(" key keys ", last))
        return name->has_data ? NAME_STRONG : classify_key(kind);
    if (rule_lists(" token ", last) && rule_lists(rule_plain_tokens, kind))
        return NAME_PLAIN;
    if (rule_lists(" tokens ", last))
        return rule_lists(rule_token_kinds, kind) ? NAME_STRONG : NAME_WEAK;
    if (rule_lists(" string str ", last))
        return rule_lists(rule_strings, kind) ? NAME_STRONG : NAME_PLAIN;
    if (rule_lists(rule_strong_words, last) || rule_ends(rule_strong_endings, last))
        return NAME_STRONG;
    if (rule_lists(rule_mild_words, last))
        return NAME_MILD;
    return rule_lists(rule_weak_words, last) ? NAME_WEAK : NAME_PLAIN;
}

/* By words before the last one: DB_PASSWORD_PROD, SECRET_KEY_BASE. */
static enum name_level classify_inside(const struct name_words *name)
{
    enum name_level level = NAME_PLAIN;
    for (size_t i = 1; i < name->count; i++) {
        struct str word = word_at(name, i);
        if (rule_ends(" password passwd passphrase ", word))
            return NAME_STRONG;
        bool is_key = rule_lists(" key ", word) && rule_lists(rule_strong_keys, word_at(name, i + 1));
        bool is_token = rule_lists(" token ", word) && !rule_lists(rule_plain_tokens, word_at(name, i + 1));
        if (is_key || is_token || rule_lists(" secret apikey credential credentials ", word))
            level = NAME_WEAK;
    }
    return level;
}

const struct name_class name_strong = {.level = NAME_STRONG};

struct name_class name_classify(struct str name)
{
    struct name_words words;
    split_name(name, &words);
    struct str last = word_at(&words, 0);
    /* AWS_ACCESS_KEY_ID is half of a secret. */
    bool is_key_id = rule_lists(" id ", last) && rule_lists(" key ", word_at(&words, 1)) &&
                     rule_lists(" access ", word_at(&words, 2));
    bool is_command = rule_ends(rule_commands, last);
    if (is_command && words.count > 1)
        words.count--;
    if (is_command)
        return (struct name_class){
            .is_command = classify_end(&words) == NAME_STRONG || rule_lists(rule_password_commands, last)};
    if (words.count == 0 || (rule_lists(rule_qualifiers, last) && !is_key_id))
        return (struct name_class){0};
    struct name_class class = {
        .level = is_key_id ? NAME_STRONG : classify_end(&words),
        .is_switch = words.count > 1 && rule_lists(rule_switches, words.words[0]),
        .keeps_path = rule_ends(rule_path_words, last),
        .is_header = rule_lists(rule_header_words, last),
        .is_secret = rule_lists(" secret ", last),
        .is_token = rule_lists(" token ", last),
        .is_pass = rule_lists(" pass pw ", last),
    };
    if (class.level < NAME_STRONG && words.count > 1 && classify_inside(&words) > class.level)
        class.level = classify_inside(&words);
    return class;
}

static bool is_number(struct str value, size_t most)
{
    return value.n <= most && is_all(value, ascii_is_digit);
}

/* Words of a sentence */
static bool is_prose(struct str value)
{
    bool has_blank = false;
    for (size_t i = 0; i < value.n; i++) {
        has_blank |= value.p[i] == ' ';
        if (ascii_is_digit(value.p[i]) || value.p[i] == ':' || value.p[i] == '=')
            return false;
    }
    return has_blank;
}

static bool is_plain_mild(struct str value)
{
    return value_is_word(value) || is_prose(value) || is_number(value, 3) || value.n < 4 || value_is_path(value) ||
           rule_lists(rule_auth_kinds, value) || has_text(value, "://");
}

bool is_reference(const struct element *element, struct str value)
{
    return element->is_shell && value_is_reference(value);
}

/* To be expanded by a shell; within single quotes it is what it is. */
static bool is_expanded(const struct element *element, struct str value)
{
    bool is_literal = value.p > element->text.p && value.p[-1] == '\'';
    return !is_literal && is_reference(element, value);
}

static bool is_secret(const struct element *element, struct str value, const struct name_class *name)
{
    if (value_is_trivial(value) || is_expanded(element, value))
        return false;
    enum name_level level = name->level;
    if (level == NAME_WEAK && element->mode == MASK_STRICT)
        level = NAME_MILD;
    if (level == NAME_WEAK)
        return value_is_tokenish(value);
    if (level == NAME_MILD)
        return !is_plain_mild(value);
    if (name->keeps_path && value_is_path(value))
        return false;
    /* docker build --secret id=NAME,src=FILE */
    if (name->is_secret && rule_begins(" id= type= ", value))
        return false;
    /* --token 12, two-pass encoding */
    return !(name->is_token && is_number(value, 7)) && !(name->is_pass && is_number(value, 2));
}

bool is_scheme_char(char c)
{
    return is_alnum_or(c, "-");
}

/* Behind the scheme of "Bearer TOKEN"; the whole where there is none. */
static struct str credentials_of(struct str value)
{
    size_t n = skip_all(value, 0, is_scheme_char);
    if (!rule_lists(rule_auth_schemes, (struct str){value.p, n}))
        return value;
    size_t at = skip_all(value, n, is_white);
    return at > n || at == value.n ? str_from(value, at) : value;
}

bool mark_value(struct element *element, struct str value, const struct name_class *name)
{
    while (value.n >= 2 && is_quote(value.p[0]) && value.p[value.n - 1] == value.p[0])
        value = (struct str){value.p + 1, value.n - 2};
    if (!is_secret(element, value, name))
        return false;
    value = credentials_of(value);
    if (!value_is_trivial(value) && !is_expanded(element, value))
        mark(element, value, MARK_SECRET);
    return true;
}
