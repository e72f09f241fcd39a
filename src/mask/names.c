/* SPDX-License-Identifier: Apache-2.0 */
/* Names by their words: api-key, api_key, apiKey, API_KEY and wandb.api_key end in the same two. */
#include "mask/mask_internal.h"

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
    if (!is_alnum(before) || !is_alnum(c) || is_digit(before) != is_digit(c))
        return true;
    bool ends_capitals = is_upper(before) && is_upper(c) && i + 1 < name.n && is_lower(name.p[i + 1]);
    return (is_lower(before) && is_upper(c)) || ends_capitals;
}

static void split_name(struct str name, struct name_words *out)
{
    if (name.n > NAME_BYTES_MAX)
        name = str_from(name, name.n - NAME_BYTES_MAX);
    out->count = 0;
    for (size_t i = 0; i < name.n; i++) {
        out->text[i] = to_lower(name.p[i]);
        if (!is_alnum(name.p[i]))
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
           (is_digit(out->words[out->count - 1].p[0]) || rule_lists(rule_contents, out->words[out->count - 1])))
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
    if (str_eq(last, STR("key")) || str_eq(last, STR("keys")))
        return name->has_data ? NAME_STRONG : classify_key(kind);
    if (str_eq(last, STR("token")) && rule_lists(rule_plain_tokens, kind))
        return NAME_PLAIN;
    if (str_eq(last, STR("tokens")))
        return rule_lists(rule_token_kinds, kind) ? NAME_STRONG : NAME_WEAK;
    if (str_eq(last, STR("string")) || str_eq(last, STR("str")))
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
        bool is_key = str_eq(word, STR("key")) && rule_lists(rule_strong_keys, word_at(name, i + 1));
        bool is_token = str_eq(word, STR("token")) && !rule_lists(rule_plain_tokens, word_at(name, i + 1));
        if (is_key || is_token || rule_lists(" secret apikey credential credentials ", word))
            level = NAME_WEAK;
    }
    return level;
}

struct name_class name_classify(struct str name)
{
    struct name_words words;
    split_name(name, &words);
    struct str last = word_at(&words, 0);
    /* AWS_ACCESS_KEY_ID is half of a secret. */
    bool is_key_id =
        str_eq(last, STR("id")) && str_eq(word_at(&words, 1), STR("key")) && str_eq(word_at(&words, 2), STR("access"));
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
        .is_secret = str_eq(last, STR("secret")),
        .is_token = str_eq(last, STR("token")),
        .is_pass = str_eq(last, STR("pass")) || str_eq(last, STR("pw")),
    };
    if (class.level < NAME_STRONG && words.count > 1 && classify_inside(&words) > class.level)
        class.level = classify_inside(&words);
    return class;
}

static bool is_number(struct str value, size_t most)
{
    for (size_t i = 0; i < value.n; i++) {
        if (!is_digit(value.p[i]))
            return false;
    }
    return value.n > 0 && value.n <= most;
}

/* Words of a sentence */
static bool is_prose(struct str value)
{
    bool has_blank = false;
    for (size_t i = 0; i < value.n; i++) {
        has_blank |= value.p[i] == ' ';
        if (is_digit(value.p[i]) || value.p[i] == ':' || value.p[i] == '=')
            return false;
    }
    return has_blank;
}

static bool is_plain_mild(struct str value)
{
    return value_is_word(value) || is_prose(value) || is_number(value, 3) || value.n < 4 || value_is_path(value) ||
           rule_lists(rule_auth_kinds, value) || memmem(value.p, value.n, "://", 3);
}

/* To be expanded by a shell; within single quotes it is what it is. */
static bool is_expanded(const struct element *element, struct str value)
{
    bool is_literal = value.p > element->text.p && value.p[-1] == '\'';
    return element->is_shell && !is_literal && value_is_reference(value);
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
    if (name->is_secret && (has_prefix_nocase(value, "id=") || has_prefix_nocase(value, "type=")))
        return false;
    /* --token 12, two-pass encoding */
    return !(name->is_token && is_number(value, 7)) && !(name->is_pass && is_number(value, 2));
}

/* Behind the scheme of "Bearer TOKEN"; the whole where there is none. */
static struct str credentials_of(struct str value)
{
    size_t n = 0;
    while (n < value.n && (is_alnum(value.p[n]) || value.p[n] == '-'))
        n++;
    if (n == 0 || !rule_lists(rule_auth_schemes, (struct str){value.p, n}))
        return value;
    size_t at = n;
    while (at < value.n && is_white(value.p[at]))
        at++;
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
