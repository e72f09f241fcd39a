/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The characters of a JSON string (RFC 8259, 7) between its quotes: plain UTF-8 and escapes like \n, \u00e9 and
 * \ud83d\ude00.
 */
#ifndef CODEC_JSON_TEXT_H
#define CODEC_JSON_TEXT_H

#include "base/str.h"

/*
 * Takes the next character off the front of a text that is not empty, decoded into UTF-8. Returns its bytes, or 0 for
 * what cannot stand in a string: control bytes, broken UTF-8, unknown escapes, a surrogate without its partner.
 */
size_t json_text_next(struct str *rest, char ret_bytes[static 4]);

#endif
