/* SPDX-License-Identifier: Apache-2.0 */
#include "base/str.h"

#include <stdint.h>

static bool is_space(char c)
{
    return ascii_is_blank(c) || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

bool str_cut(struct str *rest, char separator, struct str *ret_piece)
{
    if (rest->n == 0)
        return false;
    const char *end = memchr(rest->p, separator, rest->n);
    *ret_piece = (struct str){rest->p, end ? (size_t)(end - rest->p) : rest->n};
    str_skip(rest, ret_piece->n + (end != NULL));
    return true;
}

bool str_word(struct str *rest, struct str *ret_word)
{
    size_t i = 0;
    while (i < rest->n && ascii_is_blank(rest->p[i]))
        i++;
    size_t start = i;
    while (i < rest->n && !ascii_is_blank(rest->p[i]))
        i++;
    if (i == start)
        return false;
    *ret_word = (struct str){rest->p + start, i - start};
    str_skip(rest, i);
    return true;
}

bool str_is_listed(const char *word, const char *list)
{
    struct str rest = str_of(list), listed;
    while (str_word(&rest, &listed)) {
        if (str_eq(listed, str_of(word)))
            return true;
    }
    return false;
}

struct str str_trim(struct str text)
{
    while (text.n > 0 && is_space(text.p[0]))
        str_skip(&text, 1);
    while (text.n > 0 && is_space(text.p[text.n - 1]))
        text.n--;
    return text;
}

bool str_copy(struct str text, char *out, size_t size)
{
    size_t n = text.n < size ? text.n : size - 1;
    if (n > 0)
        memcpy(out, text.p, n);
    out[n] = '\0';
    return n == text.n;
}

void str_wipe(char *text, size_t n)
{
    volatile char *p = text;
    while (n-- > 0)
        *p++ = '\0';
}

const char *env_get(char *const *environment, const char *name)
{
    size_t n = strlen(name);
    for (; environment && *environment; environment++) {
        /* The first letter alone: hundreds of names are looked up before the command is started. */
        if (**environment == *name && strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
            return (*environment)[n + 1] ? *environment + n + 1 : NULL;
    }
    return NULL;
}

void env_put(char **environment, char *variable)
{
    size_t n = strcspn(variable, "=") + 1;
    while (*environment && strncmp(*environment, variable, n) != 0)
        environment++;
    *environment = variable;
}

__attribute__((cold)) size_t str_distance(struct str a, struct str b)
{
    enum { WORD_MAX = 64 };
    if (a.n >= WORD_MAX || b.n >= WORD_MAX)
        return SIZE_MAX;
    size_t row[WORD_MAX];
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t replace = diagonal + (a.p[i - 1] != b.p[j - 1]);
            size_t shift = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replace < shift ? replace : shift;
        }
    }
    return row[b.n];
}

bool str_path_below(const char *path, const char *dir)
{
    size_t n = strlen(dir);
    if (n == 1 && dir[0] == '/')
        return path[0] == '/';
    return strncmp(path, dir, n) == 0 && (path[n] == '\0' || path[n] == '/');
}
