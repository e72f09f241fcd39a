/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one policy for foreign text: names of processes, files and devices, answers of servers, recordings. UTF-8 is
 * well-formed as in table 3-7 of the Unicode standard: no overlong forms, no surrogates, nothing above U+10FFFF. Unsafe
 * characters do not reach a terminal or a message:
 *   C0, DEL, C1                                   controls; U+009B begins an escape sequence
 *   U+061C, U+200E/F, U+202A..E, U+2066..9        change the direction of writing
 *   U+2028, U+2029                                separators of lines and paragraphs
 *   U+00AD, U+200B..D, U+2060..F, U+FEFF,         have no width
 *   U+FFF9..B, U+E0000..FFF
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { UTF8_BYTES_MAX = 4 };

/* Length of the well-formed sequence at the start of text, 0 where there is none. */
size_t utf8_length(struct str text);

/* Length without a sequence at the end that was cut off. */
size_t utf8_whole(struct str text);

/* The code point of one well-formed character, and the reverse (returns the length). */
uint32_t utf8_decode(struct str character);
size_t utf8_encode(uint32_t point, char ret_bytes[static UTF8_BYTES_MAX]);

/* Is this one well-formed character a control (C0, DEL, C1), or any of the unsafe ones? */
bool text_is_control(struct str character);
bool text_is_unsafe(struct str character);

/* Printable ASCII without blanks, at least one character: what may stand in keys, tokens and headers. */
bool text_is_visible(struct str text);

/* Is it well-formed throughout, without controls? */
bool text_is_plain(struct str text);

/* What takes the position of an unsafe character, and of a byte that is not UTF-8. */
enum text_style {
    TEXT_MARK, /* '?' for both */
    TEXT_ASCII, /* '?' for both and for everything that is not ASCII */
    TEXT_ESCAPE, /* \xNN for both, '?' for an unsafe character of several bytes */
    TEXT_WORDS, /* a blank for the first, '?' for the second; blanks of any width joined to one, none at the ends */
    TEXT_NAME, /* like TEXT_WORDS, but bytes that are not UTF-8 are left out */
};

/* Appends the character at the start of text, which is not empty; returns the bytes it had. Joins no blanks. */
size_t text_put_char(struct buf *buf, struct str text, enum text_style style);

/* Appends all of it; more than max bytes of output are cut between characters and end with "...". */
void text_put(struct buf *buf, struct str text, enum text_style style, size_t max);

/*
 * Into out, which may be text.p itself, with a NUL: whole characters, at most size - 1 bytes. Where it has to cut, the
 * text ends with `dots` ("" for none). Returns the length. Not for TEXT_ESCAPE.
 */
size_t text_clean(struct str text, enum text_style style, const char *dots, char *out, size_t size);

/*
 * Foreign text as part of a file name: bytes other than letters, digits, '.', '_' and '-' become '_', and it never
 * begins with a dot or a dash. At most size - 1 bytes and a NUL.
 */
void text_file_name(const char *text, char *out, size_t size);

/* As one word of a shell: in single quotes, a single quote itself as '\''. */
void text_put_quoted(struct buf *buf, struct str text);

/* How much of a text goes into a line of this width: up to the last blank that fits, or as much as fits. */
size_t text_fit(struct str text, size_t width);

#endif
