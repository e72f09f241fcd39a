/* SPDX-License-Identifier: Apache-2.0 */
/* The macros with which field tables are written; for the files that hold one. TABLE names the struct. */
#ifndef MODEL_FIELD_ROWS_H
#define MODEL_FIELD_ROWS_H

#include "model/field.h"

/* Units and meanings are for documents only: generate-docs builds these files once more, with FIELD_TEXTS. */
#ifdef FIELD_TEXTS
#define FIELD_TEXT(text) text
#else
#define FIELD_TEXT(text) NULL
#endif

/* clang-format off */
#define KEY(name) ",\"" name "\":"
#define ROW_AS(kind, rule, name, member, unit, help, table) \
    {KEY(name), sizeof(KEY(name)) - 1, FIELD_##kind, FIELD_##rule, offsetof(struct TABLE, member), table, FIELD_TEXT(unit "\0" help)},
#define ROW(kind, rule, name, member, unit, help) ROW_AS(kind, rule, name, member, unit, help, NULL)
#define NEST_AS(kind, rule, name, member, child, help) ROW_AS(kind, rule, name, member, "", help, &child##_table)
#define NEST(kind, name, member, child, help) NEST_AS(kind, NULLABLE, name, member, child, help)
#define NEST_OMITTED(kind, name, member, child, help) NEST_AS(kind, OMITTED, name, member, child, help)
#define TABLE_OF(name) \
    static const struct field_table name##_table = { \
        name##_rows, sizeof(name##_rows) / sizeof(name##_rows[0]), sizeof(struct TABLE)}
/* clang-format on */

#endif
