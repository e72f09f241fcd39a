/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schema as data: one row per key of the sample and of the summary, in output order. JSON in both directions, the
 * JSON Schemas and docs/metrics.md walk these tables, so a key is written down once.
 */
#ifndef MODEL_FIELD_H
#define MODEL_FIELD_H

#include <stddef.h>
#include <stdint.h>

#include "base/str.h"
#include "model/sample.h"

enum field_kind {
    FIELD_U64, /* struct opt_u64 */
    FIELD_I64, /* struct opt_i64 */
    FIELD_F64, /* struct opt_f64 */
    FIELD_WHOLE, /* struct opt_f64, the nearest integer in JSON */
    FIELD_MIB, /* struct opt_f64 in MiB, whole MiB in JSON: rounded down */
    FIELD_MIB_BYTES, /* struct opt_f64 in MiB, bytes in JSON; where a FIELD_MIB row has the same member, this one counts
                      */
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

/* Nothing points anywhere in a row of a plain value: addresses are what makes tables large in a program that the loader
 * may put anywhere. */
struct field {
    char key[FIELD_KEY_BYTES]; /* ,"name": ready to be written; a fixed size copies faster than a length */
    uint8_t key_bytes;
    uint8_t kind; /* enum field_kind */
    uint8_t rule; /* enum field_rule */
    uint16_t offset;
    const struct field_table *table; /* of FIELD_OBJECT and FIELD_OBJECT_LIST */
    const char *text; /* the unit ("" for names, counts and flags), NUL, one sentence; NULL outside of generate-docs */
};

/* The name alone. */
static inline struct str field_name(const struct field *field)
{
    return (struct str){field->key + 2, (size_t)field->key_bytes - 4};
}

struct field_table {
    const struct field *rows;
    size_t count;
    size_t item_bytes;
};

/* The whole sample. */
extern const struct field_table field_sample;

#endif
