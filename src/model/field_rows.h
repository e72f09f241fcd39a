/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the field tables of the file FIELDS, in which a table is ROWS, lines of ROW and NEST, and END; NAME is its name
 * there, TABLE its struct, and KNOWN_AS what it is called elsewhere. Rows, keys and tables know only how far they are
 * from each other, so all of them are members of one object: the file is read for the types of rows and tables and then
 * of keys, for what is known elsewhere, and for the values of both. The line of a row is in the names of its members.
 */
#include "model/field.h"

#ifdef FIELD_TEXTS
#define FIELD_TEXT(text) , text
#else
#define FIELD_TEXT(text)
#endif

/* clang-format off */
#define JOIN_NOW(a, b) a##b
#define JOIN(a, b) JOIN_NOW(a, b)
#define ROW_HERE JOIN(row_, __LINE__)
#define KEY_HERE JOIN(key_, __LINE__)
#define TABLE_HERE JOIN(NAME, _table)
#define KEY(name) ",\"" name "\":"
#define NEST(kind, name, member, child, help) NEST_AS(kind, NULLABLE, name, member, child, help)
#define NEST_OMITTED(kind, name, member, child, help) NEST_AS(kind, OMITTED, name, member, child, help)
#define DISTANCE(from, to) (offsetof(struct all, to) - offsetof(struct all, from))

struct all {
#define ROWS struct {
#define ROW(kind, rule, name, member, unit, help) struct field ROW_HERE;
#define NEST_AS(kind, rule, name, member, child, help) struct field ROW_HERE;
#define END } NAME; struct field_table TABLE_HERE;
#define KNOWN_AS(symbol)
#include FIELDS
#undef ROWS
#undef ROW
#undef NEST_AS
#undef END
#define ROWS
#define ROW(kind, rule, name, member, unit, help) char KEY_HERE[sizeof(KEY(name)) - 1];
#define NEST_AS(kind, rule, name, member, child, help) \
    struct { uint16_t table_at; char key[sizeof(KEY(name)) - 1]; } KEY_HERE;
#define END
#include FIELDS
    char beyond[FIELD_KEY_BYTES]; /* so that as much can be read from every key on */
};

static const struct all all;

#undef ROW
#undef NEST_AS
#undef KNOWN_AS
#define ROW(kind, rule, name, member, unit, help)
#define NEST_AS(kind, rule, name, member, child, help)
#define KNOWN_AS(symbol) const struct field_table *const symbol = &all.TABLE_HERE;
#include FIELDS

#undef ROWS
#undef ROW
#undef NEST_AS
#undef END
#undef KNOWN_AS
static const struct all all = {
#define ROWS .NAME = {
#define ROW_TO(at, kind, rule, name, member, unit, help) \
    {DISTANCE(NAME.ROW_HERE, at), sizeof(KEY(name)) - 1, FIELD_##kind, FIELD_##rule, \
        offsetof(struct TABLE, member) FIELD_TEXT(unit "\0" help)},
#define ROW(kind, rule, name, member, unit, help) ROW_TO(KEY_HERE, kind, rule, name, member, unit, help)
#define NEST_AS(kind, rule, name, member, child, help) ROW_TO(KEY_HERE.key, kind, rule, name, member, "", help)
#define END }, .TABLE_HERE = {DISTANCE(NAME, TABLE_HERE), \
    sizeof(((struct all *)0)->NAME) / sizeof(struct field), sizeof(struct TABLE)},
#define KNOWN_AS(symbol)
#include FIELDS
#undef ROWS
#undef ROW
#undef NEST_AS
#undef END
#define ROWS
#define ROW(kind, rule, name, member, unit, help) .KEY_HERE = KEY(name),
#define NEST_AS(kind, rule, name, member, child, help) .KEY_HERE = {DISTANCE(child##_table, KEY_HERE.key), KEY(name)},
#define END
#include FIELDS
};
/* clang-format on */
