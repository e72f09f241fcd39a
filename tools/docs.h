/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What generate-docs is made of: one file per kind of document, each writing into a buffer from the tables of the
 * program. Build tools; nothing of it is in the shipped program.
 */
#ifndef TOOLS_DOCS_H
#define TOOLS_DOCS_H

#include <stdbool.h>

#include "base/buf.h"
#include "config/options.h"
#include "model/field.h"

/* docs/schema/ and docs/metrics.md */
void docs_schema_sample(struct buf *buf);
void docs_schema_summary(struct buf *buf);
void docs_metrics(struct buf *buf);

/* completions/ */
void docs_completion_bash(struct buf *buf);
void docs_completion_zsh(struct buf *buf);
void docs_completion_fish(struct buf *buf);

/*
 * A page of the manual anew: what stands between a line `.\" begin NAME` and the next `.\" end` is replaced by what the
 * option table says. Returns 0, or -EINVAL where a mark is unknown or has no end.
 */
int docs_man(struct buf *buf, struct str page);

/* The name of a key, and what it means. */
struct docs_name {
    char text[FIELD_KEY_BYTES];
};
struct docs_name docs_name(const struct field *field);
const char *docs_meaning(const struct field *field);

enum docs_value { DOCS_NONE, DOCS_OPTIONAL, DOCS_REQUIRED };

/* Does the flag take a value? Of switches, --append=no is not worth showing. */
enum docs_value docs_value(const struct option_row *row);

/* "no-" where the switch is on by default: then that is the form to show. */
const char *docs_negation(const struct option_row *row);

/* What a value is, for completion. */
enum docs_words { DOCS_WORDS_ANY, DOCS_WORDS_CHOICE, DOCS_WORDS_FILE, DOCS_WORDS_DIR, DOCS_WORDS_PID };
enum docs_words docs_words(const struct option_row *row);

/* The choices of a row, with a blank between them. */
void docs_put_choices(struct buf *buf, const struct option_row *row);

/* A text with every `mark` in it written as `instead`. */
void docs_put_replaced(struct buf *buf, const char *text, char mark, const char *instead);

#endif
