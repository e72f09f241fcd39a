/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Well-formed UTF-8 as in table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
 * And the one rule for foreign text on a terminal: which characters are shown as they are.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>

#include "base/str.h"

/* Length of the well-formed sequence at the start of text, 0 where there is none. */
size_t utf8_length(struct str text);

/*
 * Must this one well-formed character not reach a terminal? Control characters (C0, DEL, C1: U+009B begins an escape
 * sequence), separators of lines, and what is invisible or changes the direction of writing.
 */
bool utf8_is_unsafe(struct str character);

#endif
