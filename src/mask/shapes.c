/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens that show by themselves what they are: a known prefix, or a known form. */
#include "mask/mask_internal.h"

/* What decides is near the beginning: a long text of many almost-tokens must not take long. */
enum { WINDOW = 256, WINDOW_JWT = 1024 };

static bool is_in_set(enum shape_set set, char c)
{
    switch (set) {
    case SET_ALNUM:
        return is_alnum(c);
    case SET_UPPER_DIGIT:
        return is_upper(c) || is_digit(c);
    case SET_HEX:
        return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
    case SET_WORD:
        return is_alnum(c) || c == '_' || c == '-';
    case SET_DOTTED:
        return is_alnum(c) || c == '_' || c == '-' || c == '.';
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
        has_upper |= is_upper(text.p[i]);
        has_lower |= is_lower(text.p[i]);
        has_digit |= is_digit(text.p[i]);
    }
    return has_digit || (has_upper && has_lower);
}

/* Length of the token at the start of text; 0: none. */
static size_t match_rule(const struct shape_rule *rule, struct str text)
{
    struct str prefix = str_of(rule->prefix);
    if (!str_starts(text, prefix))
        return 0;
    struct str rest = str_from(text, prefix.n);
    size_t n = run_of(rule->set, rest, WINDOW);
    if (n < rule->least || (rule->most > 0 && n > rule->most) ||
        (rule->needs_mix && !is_mixed((struct str){rest.p, n})))
        return 0;
    return prefix.n + run_of(rule->set, rest, rest.n);
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
    size_t digits = 0;
    while (digits < text.n && is_digit(text.p[digits]))
        digits++;
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
    bool is_key = n == 32 && str_starts(rest, STR("-us")) && rest.n > 3 && is_digit(rest.p[3]);
    return is_key ? n + 3 + run_of(SET_ALNUM, str_from(rest, 3), WINDOW) : 0;
}

static size_t match_shape(struct str text)
{
    size_t n = match_jwt(text);
    if (n == 0)
        n = match_discord(text);
    if (n == 0)
        n = match_mailchimp(text);
    for (size_t i = 0; i < rule_shape_count && n == 0; i++) {
        if (rule_shapes[i].prefix[0] == text.p[0])
            n = match_rule(&rule_shapes[i], text);
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
        if (is_digit(text.p[i]) && !is_digit(before))
            n = match_telegram(rest);
        if (n == 0 && is_alnum(text.p[i]) && !is_alnum(before))
            n = match_shape(rest);
        mark(element, (struct str){rest.p, n}, MARK_SECRET);
        i += n > 0 ? n : 1;
    }
}
