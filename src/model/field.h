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

/* Units and meanings are for documents only: generate-docs builds the files with tables once more, with FIELD_TEXTS.
 * Its tables have names of their own, for the rows are of another size. */
#ifdef FIELD_TEXTS
#define field_sample field_sample_with_texts
#define field_summary field_summary_with_texts
#define field_history field_history_with_texts
#endif

/* Nothing points anywhere in a row: addresses are what makes tables large in a program that the loader may put
 * anywhere.
 */
struct field {
    uint16_t key_at; /* how far behind the row its key is */
    uint8_t key_bytes;
    uint8_t kind; /* enum field_kind */
    uint8_t rule; /* enum field_rule */
    uint16_t offset;
#ifdef FIELD_TEXTS
    const char *text; /* the unit ("" for names, counts and flags), NUL, one sentence */
#endif
};

static inline bool field_has_table(const struct field *field)
{
    return field->kind == FIELD_OBJECT || field->kind == FIELD_OBJECT_LIST;
}

/* ,"name": ready to be written. FIELD_KEY_BYTES can be copied from there: a fixed size copies faster than a length. */
static inline const char *field_key(const struct field *field)
{
    return (const char *)field + field->key_at;
}

/* The name alone. */
static inline struct str field_name(const struct field *field)
{
    return (struct str){field_key(field) + 2, (size_t)field->key_bytes - 4};
}

/* Of FIELD_OBJECT and FIELD_OBJECT_LIST: how far before the key it is stands right before the key. */
static inline const struct field_table *field_table_of(const struct field *field)
{
    const char *key = field_key(field);
    return (const void *)(key - *(const uint16_t *)(const void *)(key - sizeof(uint16_t)));
}

struct field_table {
    uint16_t rows_at; /* how far before the table its rows begin */
    uint16_t count;
    uint16_t item_bytes;
};

static inline const struct field *field_rows(const struct field_table *table)
{
    return (const void *)((const char *)table - table->rows_at);
}

/* The whole sample, and what it has of all processes. */
extern const struct field_table *const field_sample, *const field_history;

#endif
