/* SPDX-License-Identifier: Apache-2.0 */
/* Well-formed UTF-8 as in table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/* Length of the well-formed sequence at the start of text, 0 where there is none. */
size_t utf8_length(struct str text);

#endif
