/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pieces of text that are not copied and not NUL-terminated, and the few ways we cut them.
 */
#ifndef BASE_STR_H
#define BASE_STR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

struct str {
    const char *p;
    size_t n;
};

#define STR(literal) ((struct str){(literal), sizeof(literal) - 1})

static inline struct str str_of(const char *cstr)
{
    return (struct str){cstr, strlen(cstr)};
}

static inline bool str_eq(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* ASCII letters in any case. */
static inline bool str_eq_nocase(struct str a, struct str b)
{
    return a.n == b.n && (a.n == 0 || strncasecmp(a.p, b.p, a.n) == 0);
}

static inline bool str_is_nocase(const char *a, const char *b)
{
    return strncasecmp(a, b, INT_MAX) == 0;
}

static inline bool str_starts(struct str text, struct str prefix)
{
    return text.n >= prefix.n && (prefix.n == 0 || memcmp(text.p, prefix.p, prefix.n) == 0);
}

/* ASCII letters in any case. */
static inline bool str_starts_nocase(struct str text, struct str prefix)
{
    return text.n >= prefix.n && (prefix.n == 0 || strncasecmp(text.p, prefix.p, prefix.n) == 0);
}

/* ASCII whatever the locale. */
static inline bool ascii_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static inline bool ascii_is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static inline bool ascii_is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static inline bool ascii_is_alpha(char c)
{
    return ascii_is_lower(c) || ascii_is_upper(c);
}

static inline bool ascii_is_alnum(char c)
{
    return ascii_is_alpha(c) || ascii_is_digit(c);
}

static inline char ascii_to_lower(char c)
{
    return ascii_is_upper(c) ? (char)(c - 'A' + 'a') : c;
}

/* Between words of a line. */
static inline bool ascii_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* 0 to 15, or -1 for what is no hexadecimal digit. */
static inline int ascii_hex_value(char c)
{
    char lower = ascii_to_lower(c);
    if (ascii_is_digit(c))
        return c - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Drops the first n bytes, of which there must be so many. */
static inline void str_skip(struct str *rest, size_t n)
{
    rest->p += n;
    rest->n -= n;
}

/* Drops the first byte where it is c. */
static inline bool str_take(struct str *rest, char c)
{
    if (rest->n == 0 || rest->p[0] != c)
        return false;
    str_skip(rest, 1);
    return true;
}

/* Cuts off *rest what stands before the next separator, which goes too; false when nothing is left. */
bool str_cut(struct str *rest, char separator, struct str *ret_piece);

/* The next line, without its LF. A last line without LF counts. */
static inline bool str_line(struct str *rest, struct str *ret_line)
{
    return str_cut(rest, '\n', ret_line);
}

/* The same for text whose last line is not trusted without its LF: one stands behind every line. */
static inline bool str_whole_line(struct str *rest, struct str *ret_line)
{
    const char *lf = rest->n > 0 ? memchr(rest->p, '\n', rest->n) : NULL;
    if (!lf)
        return false;
    *ret_line = (struct str){rest->p, (size_t)(lf - rest->p)};
    *rest = (struct str){lf + 1, rest->n - ret_line->n - 1};
    return true;
}

/* Cuts the next word off *rest, words being separated by blanks and tabs; false when none is left. */
bool str_word(struct str *rest, struct str *ret_word);

/* Is it one of the words of a list that are separated by blanks? */
bool str_is_listed(const char *word, const char *list);

/* Without ASCII white space at both ends. */
struct str str_trim(struct str text);

/* Copies at most size - 1 bytes and a NUL; returns false where it had to cut. */
bool str_copy(struct str text, char *out, size_t size);

/* Overwrites a secret so that no compiler leaves it out. */
void str_wipe(char *text, size_t n);

/* The value of a variable in an environment (NULL: there is none); NULL where it is not set, or empty. */
const char *env_get(char *const *environment, const char *name);

/* Puts "NAME=VALUE" in the place of NAME, or behind the last variable, where there must be room. */
void env_put(char **environment, char *variable);

/* Edits (insert, delete, replace) between two short words; a large number when either is over 63 bytes. */
size_t str_distance(struct str a, struct str b);

/* Is `path` the same as or below the directory `dir` (both absolute, "/" included)? */
bool str_path_below(const char *path, const char *dir);

#endif
