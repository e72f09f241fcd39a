/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the TOML parser share: toml_lex.c (characters, positions, errors, strings and keys), toml_scalar.c
 * (bare values), toml.c (grammar, nodes and what may define them).
 */
#ifndef CODEC_TOML_INTERNAL_H
#define CODEC_TOML_INTERNAL_H

#include "codec/toml.h"

struct toml_position {
    unsigned line, column;
};

struct toml_item;

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
    struct toml_position at;
};

enum { TOML_SHOWN_MAX = 64 }; /* room for a piece of the source in a message, NUL included */

/* toml_lex.c */

struct toml_position toml_lex_here(const struct toml_parser *parser);
__attribute__((format(printf, 4, 5))) int toml_lex_fail(
    struct toml_parser *parser, struct toml_position at, int code, const char *fmt, ...);

/* Text fit for a terminal: control characters replaced, long text cut. */
void toml_lex_show(struct str text, char ret_shown[static TOML_SHOWN_MAX]);

/* Fails here with "expected WHAT, found …". */
int toml_lex_expected(struct toml_parser *parser, const char *what);

/* Refuses what is allowed nowhere: invalid UTF-8, control characters, a CR without LF. Moves nothing on success. */
int toml_lex_check(struct toml_parser *parser);

bool toml_lex_at_newline(const struct toml_parser *parser); /* LF or CR LF */
void toml_lex_skip_blanks(struct toml_parser *parser);
void toml_lex_skip_comment(struct toml_parser *parser);
void toml_lex_skip_lines(struct toml_parser *parser); /* blanks, comments and newlines */

/* Steps over the character if it stands here. */
bool toml_lex_take(struct toml_parser *parser, char c);

int toml_lex_string(struct toml_parser *parser, struct str *ret); /* stands at a quote */

/* One part of a dotted key with the blanks around it: *ret_more says whether a dot followed (and was taken). */
int toml_lex_key(struct toml_parser *parser, struct toml_key *ret, bool *ret_more);

/* toml_scalar.c */

int toml_scalar_parse(struct toml_parser *parser, struct toml_node *node); /* boolean, number or date-time */

#endif
