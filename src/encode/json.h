/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text: strings from any bytes (invalid UTF-8 becomes U+FFFD), and structs through their field tables.
 */
#ifndef ENCODE_JSON_H
#define ENCODE_JSON_H

#include "base/buf.h"
#include "base/str.h"
#include "model/field.h"

/* A quoted string; control bytes, '"' and '\' escaped, invalid UTF-8 replaced. */
void json_put_string(struct buf *buf, struct str text);

/* Members of an object, with a comma before all but the first: the buffer is empty then, or ends in '{'. */
void json_put_key(struct buf *buf, const char *key);
void json_put_text(struct buf *buf, const char *key, const char *text); /* NULL: null */
void json_put_bool(struct buf *buf, const char *key, bool value);
void json_put_time(struct buf *buf, const char *key, int64_t unix_secs); /* ISO 8601, UTC */

/* {"name":value,…} of the struct at `base` as `table` describes it. */
void json_put_object(struct buf *buf, const struct field_table *table, const void *base);

#endif
