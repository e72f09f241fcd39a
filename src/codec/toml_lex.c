/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lowest layer of the TOML parser: which bytes may stand in a document at all, where we are, how a complaint looks
 * ("3:17: expected a value after '='"), blanks, newlines and comments.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/utf8.h"

#include "codec/toml_internal.h"

struct toml_place toml_lex_here(const struct toml_parser *parser)
{
    return (struct toml_place){parser->line, (unsigned)(parser->p - parser->line_start) + 1};
}

int toml_lex_fail(struct toml_parser *parser, struct toml_place at, int code, const char *fmt, ...)
{
    char words[sizeof(parser->err->msg)];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(words, sizeof(words), fmt, args);
    va_end(args);
    return err_set(parser->err, code, "%u:%u: %s", at.line, at.column, words);
}

static bool is_control(unsigned char c)
{
    return c < 0x20 || c == 0x7f;
}

static bool is_continuation(unsigned char c)
{
    return (c & 0xc0) == 0x80;
}

void toml_lex_show(struct str text, char ret_shown[static TOML_SHOWN_MAX])
{
    static const char dots[] = "...";
    size_t n = text.n;
    if (n >= TOML_SHOWN_MAX) {
        n = TOML_SHOWN_MAX - sizeof(dots);
        while (n > 0 && is_continuation((unsigned char)text.p[n]))
            n--;
    }
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.p[i];
        /* U+0080 to U+009F, C2 80 to C2 9F in UTF-8, are control characters too. */
        bool high_control = c == 0xc2 && i + 1 < n && (unsigned char)text.p[i + 1] < 0xa0;
        ret_shown[i] = is_control(c) || high_control ? '?' : (char)c;
        if (high_control)
            ret_shown[++i] = '?';
    }
    memcpy(ret_shown + n, n < text.n ? dots : "", n < text.n ? sizeof(dots) : 1);
}

/* The character whose well-formed sequence has this length. */
static unsigned utf8_decode(const char *p, size_t length)
{
    static const unsigned char lead_bits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
    unsigned c = (unsigned char)p[0] & lead_bits[length];
    for (size_t i = 1; i < length; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3f);
    return c;
}

int toml_lex_expected(struct toml_parser *parser, const char *what)
{
    struct toml_place at = toml_lex_here(parser);
    if (parser->p == parser->end)
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found the end of the file", what);
    if (toml_lex_at_newline(parser))
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found the end of the line", what);
    if (*parser->p == '\'')
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found a single quote", what);
    if (*parser->p == '\t')
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found a tab", what);
    /* Checked before: well-formed, and no control character but the tab. */
    unsigned c = utf8_decode(parser->p, utf8_length((struct str){parser->p, (size_t)(parser->end - parser->p)}));
    if (c < 0x80)
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found '%c'", what, (int)c);
    return toml_lex_fail(parser, at, -EINVAL, "expected %s, found the character U+%04X", what, c);
}

int toml_lex_check(struct toml_parser *parser)
{
    struct toml_parser scan = *parser;
    while (scan.p < scan.end) {
        unsigned char c = (unsigned char)*scan.p;
        if (toml_lex_at_newline(&scan)) {
            toml_lex_skip_newline(&scan);
            continue;
        }
        if (c == '\r')
            return toml_lex_fail(
                &scan, toml_lex_here(&scan), -EINVAL, "a carriage return without a line feed is not allowed");
        if (is_control(c) && c != '\t')
            return toml_lex_fail(
                &scan, toml_lex_here(&scan), -EINVAL, "the control character 0x%02x is not allowed", (unsigned)c);
        size_t n = utf8_length((struct str){scan.p, (size_t)(scan.end - scan.p)});
        if (n == 0)
            return toml_lex_fail(
                &scan, toml_lex_here(&scan), -EINVAL, "the byte 0x%02x is not valid UTF-8 here", (unsigned)c);
        scan.p += n;
    }
    return 0;
}

bool toml_lex_at_newline(const struct toml_parser *parser)
{
    const char *p = parser->p;
    return p < parser->end && (*p == '\n' || (*p == '\r' && p + 1 < parser->end && p[1] == '\n'));
}

void toml_lex_skip_newline(struct toml_parser *parser)
{
    parser->p += *parser->p == '\r' ? 2 : 1;
    parser->line_start = parser->p;
    parser->line++;
}

void toml_lex_skip_blanks(struct toml_parser *parser)
{
    while (parser->p < parser->end && (*parser->p == ' ' || *parser->p == '\t'))
        parser->p++;
}

void toml_lex_skip_comment(struct toml_parser *parser)
{
    if (parser->p == parser->end || *parser->p != '#')
        return;
    while (parser->p < parser->end && !toml_lex_at_newline(parser))
        parser->p++;
}

void toml_lex_skip_lines(struct toml_parser *parser)
{
    for (;;) {
        toml_lex_skip_blanks(parser);
        toml_lex_skip_comment(parser);
        if (!toml_lex_at_newline(parser))
            return;
        toml_lex_skip_newline(parser);
    }
}

bool toml_lex_take(struct toml_parser *parser, char c)
{
    if (parser->p == parser->end || *parser->p != c)
        return false;
    parser->p++;
    return true;
}
