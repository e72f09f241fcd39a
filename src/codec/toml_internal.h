/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the TOML parser share: toml_lex.c (characters, places, complaints), toml_string.c (strings and
 * keys), toml_scalar.c and toml_datetime.c (bare values), toml_tree.c (nodes and who may define what), toml.c
 * (grammar).
 */
#ifndef CODEC_TOML_INTERNAL_H
#define CODEC_TOML_INTERNAL_H

#include "codec/toml.h"

struct toml_place {
    unsigned line, column;
};

/* How a table or array came to be decides who may add to it later. */
enum toml_origin {
    TOML_BY_VALUE, /* scalars, static arrays, inline tables: complete as written */
    TOML_BY_SUPER, /* a table that only stands in the path of a header: still undefined */
    TOML_BY_HEADER, /* [table], one element of [[array]], the root */
    TOML_BY_DOTTED, /* a table in the path of a dotted key */
    TOML_BY_ELEMENTS, /* the array behind [[array]] headers */
};

struct toml_item {
    struct toml_node node; /* first, so that a node can be turned back into its item */
    enum toml_origin origin;
    unsigned depth;
    uint64_t hash; /* of parent and key, for table members only */
    const struct toml_item *parent;
    struct toml_item *hash_next;
};

struct toml_block; /* a run of items */

struct toml_doc {
    struct toml_item *root;
    struct toml_block *blocks; /* newest first */
    size_t node_count;
    /*
     * All decoded text, a NUL behind each piece. As large as the source plus one: quotes, escapes and separators take
     * more room in the source than the decoded piece and its NUL.
     */
    char *bytes;
};

struct toml_parser {
    const char *p, *end;
    const char *line_start;
    unsigned line;
    struct toml_doc *doc;
    char *out; /* next free byte of doc->bytes */
    struct toml_item **buckets;
    size_t bucket_mask;
    struct err *err;
};

struct toml_key {
    struct str text; /* decoded */
    struct toml_place at;
};

enum { TOML_SHOWN_MAX = 64 }; /* room for a piece of the source in a message, NUL included */

/* toml_lex.c */

struct toml_place toml_lex_here(const struct toml_parser *parser);
__attribute__((format(printf, 4, 5))) int toml_lex_fail(
    struct toml_parser *parser, struct toml_place at, int code, const char *fmt, ...);

/* Text fit for a terminal: control characters replaced, long text cut. */
void toml_lex_show(struct str text, char ret_shown[static TOML_SHOWN_MAX]);

/* Fails here with "expected WHAT, found …". */
int toml_lex_expected(struct toml_parser *parser, const char *what);

/* Refuses what may stand nowhere: invalid UTF-8, control characters, a CR without LF. Moves nothing on success. */
int toml_lex_check(struct toml_parser *parser);

bool toml_lex_at_newline(const struct toml_parser *parser); /* LF or CR LF */
void toml_lex_skip_newline(struct toml_parser *parser); /* only where toml_lex_at_newline */
void toml_lex_skip_blanks(struct toml_parser *parser);
void toml_lex_skip_comment(struct toml_parser *parser);
void toml_lex_skip_lines(struct toml_parser *parser); /* blanks, comments and newlines */

/* Steps over the character if it stands here. */
bool toml_lex_take(struct toml_parser *parser, char c);

/* toml_string.c */

int toml_string_parse(struct toml_parser *parser, struct str *ret); /* stands at a quote */

/* One part of a dotted key with the blanks around it; *ret_more tells whether a dot followed (and was taken). */
int toml_string_parse_key(struct toml_parser *parser, struct toml_key *ret, bool *ret_more);

/* toml_scalar.c */

int toml_scalar_parse(struct toml_parser *parser, struct toml_node *node); /* boolean, number or date-time */

/* toml_datetime.c */

bool toml_datetime_looks_like(struct str text);

/* Checks the whole text, which stands at `at`. */
int toml_datetime_check(
    struct toml_parser *parser, struct str text, struct toml_place at, enum toml_datetime_kind *ret_kind);

/* toml_tree.c */

int toml_tree_init(struct toml_parser *parser, size_t source_bytes);
void toml_tree_fini(struct toml_parser *parser); /* what only the parser needs; the document stays */

/* A new child at the end of a table (with key) or an array (key NULL). */
int toml_tree_add(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret);

/* One step down the path of a header, or of a dotted key: finds or makes the table. */
int toml_tree_enter_header(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret);
int toml_tree_enter_dotted(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret);

/* The last step: what the header or key itself defines. `header` is the place of the first bracket. */
int toml_tree_define_table(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    struct toml_place header, struct toml_item **ret);
int toml_tree_define_element(struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key,
    struct toml_place header, struct toml_item **ret);
int toml_tree_define_value(
    struct toml_parser *parser, struct toml_item *parent, const struct toml_key *key, struct toml_item **ret);

#endif
