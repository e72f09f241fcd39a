/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says about a refusal, made fit for a terminal and free of our secrets. */
#ifndef STREAM_TARGETS_SENTINEL_WORDS_H
#define STREAM_TARGETS_SENTINEL_WORDS_H

#include "base/str.h"

enum { SENTINEL_WORDS_BYTES = 301 };

/*
 * The "detail", "message", "error" or "title" of JSON (else its first text), the title of HTML, or plain text; "" where
 * nothing of that is there. At most 300 bytes of whole UTF-8 characters, no control characters, no runs of blanks; the
 * token, and what looks like another one behind "Bearer", are replaced by "***".
 */
void sentinel_words_read(struct str body, struct str token, char ret_words[static SENTINEL_WORDS_BYTES]);

#endif
