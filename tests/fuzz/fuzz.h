/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every target needs: the function that libFuzzer and replay.c call, a check that holds without assert(), and
 * blocks of exactly the size of their text, which let the sanitizer see a read behind the end.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void check(bool holds)
{
    if (!holds)
        abort();
}

/* A name in an array of this size: ended, not empty and free of blanks. */
static inline void check_name(const char *name, size_t size)
{
    check(memchr(name, '\0', size) && name[0] && !strpbrk(name, " \t\n"));
}

/* Words for a terminal: no control characters. */
static inline void check_printable(const char *text)
{
    for (; *text; text++)
        check((unsigned char)*text >= 0x20 && *text != 0x7f);
}

/* One behind the other, to be freed; NULL without memory. */
static inline char *fuzz_join(struct str first, struct str second)
{
    char *both = malloc(first.n + second.n);
    if (!both)
        return NULL;
    if (first.n > 0)
        memcpy(both, first.p, first.n);
    if (second.n > 0)
        memcpy(both + first.n, second.p, second.n);
    return both;
}

static inline char *fuzz_copy(const uint8_t *data, size_t size)
{
    return fuzz_join((struct str){(const char *)data, size}, STR(""));
}

/* The same with a NUL behind it. */
static inline char *fuzz_copy_string(const uint8_t *data, size_t size)
{
    return fuzz_join((struct str){(const char *)data, size}, (struct str){"", 1});
}

#endif
