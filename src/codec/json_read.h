/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON answers (RFC 8259), strictly: the whole text must be one valid document in UTF-8, bounded in depth and number of
 * values. Nothing is copied until a string is asked for.
 */
#ifndef CODEC_JSON_READ_H
#define CODEC_JSON_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/str.h"

enum { JSON_DEPTH_MAX = 32, JSON_VALUES_MAX = 32768, JSON_BYTES_MAX = 16 * 1024 * 1024 };

enum json_type { JSON_NULL, JSON_FALSE, JSON_TRUE, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

/* One value: where it stands, and how many values (of any depth) follow that belong to it. Keys are strings. */
struct json_value {
    enum json_type type;
    struct str text; /* strings: between the quotes, escapes not decoded; numbers: as written; else the source */
    uint32_t inside; /* values below it, keys included */
};

struct json_doc {
    struct json_value *items; /* the first is the whole document */
    size_t count, cap;
};

/*
 * Returns 0, -EBADMSG (no valid JSON), -E2BIG (too deep, too many values, too long) or -ENOMEM. The text must outlive
 * the document; free with json_doc_fini (after a failure it is empty). A key that occurs twice in an object is
 * -EBADMSG, a surrogate without its partner and a byte order mark as well. Keys count as values.
 */
int json_doc_parse(struct str text, struct json_doc *ret_doc);
void json_doc_fini(struct json_doc *doc);

/* The member of an object, by the decoded key; NULL where there is none, or the object is NULL or something else. */
const struct json_value *json_get(const struct json_value *object, const char *key);

/*
 * The i-th element of an array or, of an object, the i-th value; NULL behind the last and for anything else. ret_key
 * (NULL allowed): its key, not decoded; n = 0 and p = NULL in an array. Walks there from the first.
 */
const struct json_value *json_at(const struct json_value *container, size_t i, struct str *ret_key);

/*
 * Appends the decoded string. False, and nothing appended, where value is NULL, no string, holds a NUL character, or
 * the buffer is full.
 */
bool json_string(const struct json_value *value, struct buf *buf);

/* The same into an array of size bytes, with a NUL; false (and "") also where it does not fit. */
bool json_string_copy(const struct json_value *value, char *out, size_t size);

bool json_integer(const struct json_value *value, int64_t *ret_number); /* no fraction, no exponent */

/*
 * Takes the next character off the front of a text that is not empty, decoded into UTF-8. Returns its bytes, or 0 for
 * what cannot stand in a string: control bytes, broken UTF-8, unknown escapes, a surrogate without its partner.
 */
size_t json_text_next(struct str *rest, char ret_bytes[static 4]);

#endif
