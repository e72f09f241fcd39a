/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lower layers of the TOML parser: which bytes may occur in a document at all, the position, error messages
 * ("3:17: expected a value after '='"), blanks, newlines and comments; the four kinds of strings ("basic\n", 'literal',
 * """multi-line""", '''multi-line literal''') and the parts of keys. A line ending inside a multi-line string is
 * always stored as LF.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/text.h"
#include "codec/toml_internal.h"

struct toml_position toml_lex_here(const struct toml_parser *parser)
{
    return (struct toml_position){parser->line, (unsigned)(parser->p - parser->line_start) + 1};
}

int toml_lex_fail(struct toml_parser *parser, struct toml_position at, int code, const char *fmt, ...)
{
    char message[sizeof(parser->err->msg)];
    va_list args;
    va_start(args, fmt);
    (void)vsnprintf(message, sizeof(message), fmt, args);
    va_end(args);
    return err_set(parser->err, code, "%u:%u: %s", at.line, at.column, message);
}

void toml_lex_show(struct str text, char ret_shown[static TOML_SHOWN_MAX])
{
    (void)text_clean(text, TEXT_MARK, "...", ret_shown, TOML_SHOWN_MAX);
}

int toml_lex_expected(struct toml_parser *parser, const char *what)
{
    struct toml_position at = toml_lex_here(parser);
    if (parser->p == parser->end)
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found the end of the file", what);
    if (toml_lex_at_newline(parser))
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found the end of the line", what);
    if (*parser->p == '\'')
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found a single quote", what);
    if (*parser->p == '\t')
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found a tab", what);
    /* Checked before: well-formed, and no control character but the tab. */
    size_t n = utf8_length((struct str){parser->p, (size_t)(parser->end - parser->p)});
    unsigned c = utf8_decode((struct str){parser->p, n});
    if (c < 0x80)
        return toml_lex_fail(parser, at, -EINVAL, "expected %s, found '%c'", what, (int)c);
    return toml_lex_fail(parser, at, -EINVAL, "expected %s, found the character U+%04X", what, c);
}

/* Only where toml_lex_at_newline. */
static void skip_newline(struct toml_parser *parser)
{
    parser->p += *parser->p == '\r' ? 2 : 1;
    parser->line_start = parser->p;
    parser->line++;
}

int toml_lex_check(struct toml_parser *parser)
{
    struct toml_parser scan = *parser;
    while (scan.p < scan.end) {
        unsigned char c = (unsigned char)*scan.p;
        if (toml_lex_at_newline(&scan)) {
            skip_newline(&scan);
            continue;
        }
        if (c == '\r')
            return toml_lex_fail(
                &scan, toml_lex_here(&scan), -EINVAL, "a carriage return without a line feed is not allowed");
        if ((c < 0x20 || c == 0x7f) && c != '\t')
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
        skip_newline(parser);
    }
}

bool toml_lex_take(struct toml_parser *parser, char c)
{
    if (parser->p == parser->end || *parser->p != c)
        return false;
    parser->p++;
    return true;
}

static bool starts_with(const struct toml_parser *parser, const char *text)
{
    return str_starts((struct str){parser->p, (size_t)(parser->end - parser->p)}, str_of(text));
}

static void put_char(struct toml_parser *parser, char c)
{
    *parser->out++ = c;
}

/* Stands behind \u (4 digits) or \U (8 digits). */
static int parse_unicode(struct toml_parser *parser, unsigned digits, struct toml_position at)
{
    uint32_t c = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = parser->p < parser->end ? ascii_hex_value(*parser->p) : -1;
        if (digit < 0)
            return toml_lex_fail(parser, at, -EINVAL, "this escape needs %u hexadecimal digits", digits);
        c = c << 4 | (uint32_t)digit;
        parser->p++;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return toml_lex_fail(parser, at, -EINVAL, "U+%04X is not a Unicode character", (unsigned)c);
    parser->out += utf8_encode(c, parser->out);
    return 0;
}

/* A backslash at the end of a line swallows the newline and all white space after it. */
static bool take_line_continuation(struct toml_parser *parser)
{
    struct toml_parser ahead = *parser;
    toml_lex_skip_blanks(&ahead);
    if (!toml_lex_at_newline(&ahead))
        return false;
    while (toml_lex_at_newline(&ahead)) {
        skip_newline(&ahead);
        toml_lex_skip_blanks(&ahead);
    }
    *parser = ahead;
    return true;
}

static int parse_escape(struct toml_parser *parser, bool multi)
{
    static const char letters[] = "btnfr\"\\";
    static const char meanings[] = "\b\t\n\f\r\"\\";
    struct toml_position at = toml_lex_here(parser);
    parser->p++;
    if (multi && take_line_continuation(parser))
        return 0;
    char c = parser->p < parser->end ? *parser->p : '\n';
    const char *letter = strchr(letters, c);
    if (letter)
        put_char(parser, meanings[letter - letters]);
    else if (c != 'u' && c != 'U')
        return toml_lex_fail(parser, at, -EINVAL,
            "unknown escape; write \\\\ for a backslash, or use a literal string in single quotes");
    parser->p++;
    return letter ? 0 : parse_unicode(parser, c == 'u' ? 4 : 8, at);
}

/* Up to two quotes may stand right before the three that close; false where fewer than three stand here. */
static bool take_multi_close(struct toml_parser *parser, char quote)
{
    size_t n = 0;
    while (n < 5 && parser->p + n < parser->end && parser->p[n] == quote)
        n++;
    if (n < 3)
        return false;
    for (size_t i = 3; i < n; i++)
        put_char(parser, quote);
    parser->p += n;
    return true;
}

static int parse_multi(struct toml_parser *parser)
{
    struct toml_position start = toml_lex_here(parser);
    char quote = *parser->p;
    parser->p += 3;
    if (toml_lex_at_newline(parser))
        skip_newline(parser);
    while (parser->p < parser->end) {
        if (*parser->p == quote && take_multi_close(parser, quote))
            return 0;
        if (*parser->p == '\\' && quote == '"') {
            int r = parse_escape(parser, true);
            if (r < 0)
                return r;
        } else if (toml_lex_at_newline(parser)) {
            put_char(parser, '\n');
            skip_newline(parser);
        } else {
            put_char(parser, *parser->p++);
        }
    }
    return toml_lex_fail(parser, start, -EINVAL, "the multi-line string that starts here is not closed");
}

static int parse_single(struct toml_parser *parser)
{
    struct toml_position start = toml_lex_here(parser);
    char quote = *parser->p++;
    while (parser->p < parser->end && !toml_lex_at_newline(parser)) {
        if (toml_lex_take(parser, quote))
            return 0;
        if (*parser->p == '\\' && quote == '"') {
            int r = parse_escape(parser, false);
            if (r < 0)
                return r;
        } else {
            put_char(parser, *parser->p++);
        }
    }
    return toml_lex_fail(parser, start, -EINVAL, "the string that starts here is not closed on the same line");
}

static struct str finish(struct toml_parser *parser, const char *start)
{
    struct str text = {start, (size_t)(parser->out - start)};
    put_char(parser, '\0');
    return text;
}

int toml_lex_string(struct toml_parser *parser, struct str *ret)
{
    const char *start = parser->out;
    bool multi = starts_with(parser, "\"\"\"") || starts_with(parser, "'''");
    int r = multi ? parse_multi(parser) : parse_single(parser);
    if (r == 0)
        *ret = finish(parser, start);
    return r;
}

static bool is_bare(char c)
{
    return ascii_is_alnum(c) || c == '_' || c == '-';
}

static int parse_key_part(struct toml_parser *parser, struct str *ret)
{
    if (starts_with(parser, "\"\"\"") || starts_with(parser, "'''"))
        return toml_lex_fail(parser, toml_lex_here(parser), -EINVAL, "a multi-line string cannot be a key");
    if (starts_with(parser, "\"") || starts_with(parser, "'"))
        return toml_lex_string(parser, ret);
    const char *start = parser->out;
    while (parser->p < parser->end && is_bare(*parser->p))
        put_char(parser, *parser->p++);
    if (parser->out == start)
        return toml_lex_expected(parser, "a key");
    *ret = finish(parser, start);
    return 0;
}

int toml_lex_key(struct toml_parser *parser, struct toml_key *ret, bool *ret_more)
{
    toml_lex_skip_blanks(parser);
    ret->at = toml_lex_here(parser);
    int r = parse_key_part(parser, &ret->text);
    if (r < 0)
        return r;
    toml_lex_skip_blanks(parser);
    *ret_more = toml_lex_take(parser, '.');
    return 0;
}
