/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TOML 1.0 (toml.io/en/v1.0.0), complete: a document becomes a tree of nodes, each with its position. The
 * tree owns copies of everything and is freed as a whole. Depth, size and number of nodes are bounded.
 */
#ifndef CODEC_TOML_H
#define CODEC_TOML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum toml_type {
    TOML_STRING,
    TOML_INTEGER,
    TOML_FLOAT,
    TOML_BOOLEAN,
    TOML_DATETIME, /* offset date-time, local date-time, local date or local time: see datetime_kind */
    TOML_ARRAY,
    TOML_TABLE,
};

enum toml_datetime_kind { TOML_OFFSET_DATETIME, TOML_LOCAL_DATETIME, TOML_LOCAL_DATE, TOML_LOCAL_TIME };

struct toml_node {
    enum toml_type type;
    unsigned line, column; /* of the value (of the header for a [table]); from 1, columns count bytes */
    unsigned key_line, key_column;
    struct str key; /* decoded; empty in array elements */
    union {
        struct str string; /* decoded; may hold NUL bytes; always followed by a NUL byte */
        int64_t integer;
        double real; /* inf and nan are TOML floats */
        bool boolean;
        struct {
            enum toml_datetime_kind kind;
            struct str text; /* as written, checked */
        } datetime;
        struct {
            struct toml_node *first, *last; /* children in the order of the document */
            size_t count;
        } children;
    } value;
    struct toml_node *next; /* next sibling */
};

struct toml_doc; /* owns the nodes */

enum { TOML_BYTES_MAX = 1024 * 1024, TOML_DEPTH_MAX = 128, TOML_NODES_MAX = 65536 };

/*
 * Parses a whole document. On failure returns a negative errno (-EINVAL syntax, -E2BIG too large or deep, -ENOMEM) with
 * err->msg "LINE:COLUMN: what is wrong" (no file name) and leaves *ret_doc alone. Free with toml_free.
 */
int toml_parse(struct str text, struct toml_doc **ret_doc, struct err *err);
void toml_free(struct toml_doc *doc); /* NULL allowed */

const struct toml_node *toml_root(const struct toml_doc *doc); /* a TOML_TABLE */

/* The child of a table with this key, or NULL. */
const struct toml_node *toml_child(const struct toml_node *table, struct str key);

/* "string", "integer", "float", "boolean", "date-time", "array", "table". */
const char *toml_type_name(enum toml_type type);

#endif
