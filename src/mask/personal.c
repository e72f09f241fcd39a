/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MASK_STRICT: what is no secret but says who or where: e-mail and IPv4 addresses, numbers of telephones, cards and US
 * social security. Like the Rust tracker's rules, but a number inside a longer one is not taken for one of these.
 */
#include "mask/mask_internal.h"

static bool is_local_char(char c)
{
    return is_alnum(c) || c == '.' || c == '_' || c == '%' || c == '+' || c == '-';
}

static void mark_email(struct element *element, size_t at)
{
    struct str text = element->text;
    size_t start = at, end = at + 1, good = 0;
    while (start > 0 && is_local_char(text.p[start - 1]))
        start--;
    for (; end < text.n && (is_alnum(text.p[end]) || text.p[end] == '.' || text.p[end] == '-'); end++) {
        bool is_letter = is_upper(text.p[end]) || is_lower(text.p[end]);
        char before = text.p[end - 1], before2 = end >= 2 ? text.p[end - 2] : ' ';
        /* The top-level domain has two letters or more; those behind them belong to it. */
        if (is_letter &&
            ((good == end && good > 0) || (before2 == '.' && end - 3 > at && (is_upper(before) || is_lower(before)))))
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
        for (; i < text.n && is_digit(text.p[i]) && digits < 4; i++, digits++)
            value = value * 10 + (unsigned)(text.p[i] - '0');
        if (digits == 0 || digits > 3 || value > 255)
            return 0;
        if (octet < 3 && (i >= text.n || text.p[i++] != '.'))
            return 0;
    }
    bool goes_on = i < text.n && (is_alnum(text.p[i]) || text.p[i] == '_' ||
                                     (text.p[i] == '.' && i + 1 < text.n && is_digit(text.p[i + 1])));
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
        } else if (i >= text.n || !is_digit(text.p[i++])) {
            return 0;
        }
    }
    return i < text.n && is_digit(text.p[i]) ? 0 : i;
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
        if (is_digit(text.p[i])) {
            digits++;
            end = i + 1;
        } else if (!strchr(" .-()", text.p[i]) || !is_digit(text.p[i - 1])) {
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
        bool is_start = (is_digit(c) && !is_digit(before)) || c == '(' || c == '+';
        bool is_word_start = is_start && !is_alnum(before) && before != '_';
        enum mark kind = MARK_NONE;
        size_t n = 0;
        if (is_word_start && is_digit(c) && (n = match_card(rest)) > 0)
            kind = MARK_CARD;
        else if (is_word_start && is_digit(c) && (n = match_groups(rest, "ddd-dd-dddd", "-", true)) > 0)
            kind = MARK_SSN;
        else if (is_word_start && before != '.' && is_digit(c) && (n = match_ip(rest)) > 0)
            kind = MARK_IP;
        else if (is_start && before != '.' && (n = match_phone(rest)) > 0)
            kind = MARK_PHONE;
        if (n > 0 && !is_marked(element, (struct str){rest.p, n}))
            mark(element, (struct str){rest.p, n}, kind);
        i += n > 0 ? n : 1;
    }
}
