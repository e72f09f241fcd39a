/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML's four kinds of strings ("basic\n", 'literal', """multi-line""", '''multi-line literal''') and the parts of
 * keys. A line ending inside a multi-line string is always stored as LF.
 */
#include <errno.h>

#include "codec/toml_internal.h"

static bool starts_with(const struct toml_parser *parser, const char *text)
{
    return str_starts((struct str){parser->p, (size_t)(parser->end - parser->p)}, str_of(text));
}

static void put_char(struct toml_parser *parser, char c)
{
    *parser->out++ = c;
}

static void put_utf8(struct toml_parser *parser, uint32_t c)
{
    if (c < 0x80) {
        put_char(parser, (char)c);
        return;
    }
    unsigned shift = c < 0x800 ? 6 : c < 0x10000 ? 12 : 18;
    uint32_t mark = shift == 6 ? 0xc0 : shift == 12 ? 0xe0 : 0xf0;
    put_char(parser, (char)(mark | c >> shift));
    while (shift > 0) {
        shift -= 6;
        put_char(parser, (char)(0x80 | (c >> shift & 0x3f)));
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Stands behind \u (4 digits) or \U (8 digits). */
static int parse_unicode(struct toml_parser *parser, unsigned digits, struct toml_place at)
{
    uint32_t c = 0;
    for (unsigned i = 0; i < digits; i++) {
        int digit = parser->p < parser->end ? hex_digit(*parser->p) : -1;
        if (digit < 0)
            return toml_lex_fail(parser, at, -EINVAL, "this escape needs %u hexadecimal digits", digits);
        c = c << 4 | (uint32_t)digit;
        parser->p++;
    }
    if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
        return toml_lex_fail(parser, at, -EINVAL, "U+%04X is not a Unicode character", (unsigned)c);
    put_utf8(parser, c);
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
        toml_lex_skip_newline(&ahead);
        toml_lex_skip_blanks(&ahead);
    }
    *parser = ahead;
    return true;
}

static int parse_escape(struct toml_parser *parser, bool multi)
{
    static const char letters[] = "btnfr\"\\";
    static const char meanings[] = "\b\t\n\f\r\"\\";
    struct toml_place at = toml_lex_here(parser);
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
    struct toml_place start = toml_lex_here(parser);
    char quote = *parser->p;
    parser->p += 3;
    if (toml_lex_at_newline(parser))
        toml_lex_skip_newline(parser);
    while (parser->p < parser->end) {
        if (*parser->p == quote && take_multi_close(parser, quote))
            return 0;
        if (*parser->p == '\\' && quote == '"') {
            int r = parse_escape(parser, true);
            if (r < 0)
                return r;
        } else if (toml_lex_at_newline(parser)) {
            put_char(parser, '\n');
            toml_lex_skip_newline(parser);
        } else {
            put_char(parser, *parser->p++);
        }
    }
    return toml_lex_fail(parser, start, -EINVAL, "the multi-line string that starts here is not closed");
}

static int parse_single(struct toml_parser *parser)
{
    struct toml_place start = toml_lex_here(parser);
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

int toml_string_parse(struct toml_parser *parser, struct str *ret)
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
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
}

static int parse_key_part(struct toml_parser *parser, struct str *ret)
{
    if (starts_with(parser, "\"\"\"") || starts_with(parser, "'''"))
        return toml_lex_fail(parser, toml_lex_here(parser), -EINVAL, "a multi-line string cannot be a key");
    if (starts_with(parser, "\"") || starts_with(parser, "'"))
        return toml_string_parse(parser, ret);
    const char *start = parser->out;
    while (parser->p < parser->end && is_bare(*parser->p))
        put_char(parser, *parser->p++);
    if (parser->out == start)
        return toml_lex_expected(parser, "a key");
    *ret = finish(parser, start);
    return 0;
}

int toml_string_parse_key(struct toml_parser *parser, struct toml_key *ret, bool *ret_more)
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
