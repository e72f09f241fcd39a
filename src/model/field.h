/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema as data: one row per key of the sample, in output order. JSONL, the JSON Schema and docs/metrics.md walk
 * these tables, so a key is written down once.
 */
#ifndef MODEL_FIELD_H
#define MODEL_FIELD_H

#include <stddef.h>

#include "model/sample.h"

enum field_kind {
    FIELD_U64, /* struct opt_u64 */
    FIELD_I64, /* struct opt_i64 */
    FIELD_F64, /* struct opt_f64 */
    FIELD_BOOL, /* struct opt_bool */
    FIELD_STRING, /* const char *, NULL: unknown */
    FIELD_F64_LIST, /* struct sample_list of struct opt_f64 */
    FIELD_STRING_LIST, /* struct sample_list of const char * */
    FIELD_STRING_MAP, /* struct sample_list of struct str_pair */
    FIELD_OBJECT, /* an embedded struct whose first member is bool present */
    FIELD_OBJECT_LIST, /* struct sample_list of structs */
};

enum field_rule {
    FIELD_NULLABLE, /* null where unknown */
    FIELD_ALWAYS, /* never null */
    FIELD_OMITTED, /* left out where unknown */
};

struct field_table;

/* Room for the longest key as it stands in JSON, comma and colon included. */
enum { FIELD_KEY_BYTES = 32 };

struct field {
    const char *name;
    char key[FIELD_KEY_BYTES]; /* ,"name": ready to be written; a fixed size copies faster than a length */
    unsigned char key_bytes;
    enum field_kind kind;
    enum field_rule rule;
    const char *unit; /* "" for names, counts and flags */
    const char *help; /* one sentence */
    size_t offset;
    const struct field_table *table; /* of FIELD_OBJECT and FIELD_OBJECT_LIST */
};

struct field_table {
    const struct field *rows;
    size_t count;
    size_t item_bytes;
};

/* The whole sample. */
extern const struct field_table field_sample;

#endif
