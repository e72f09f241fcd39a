/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The registry of formats: one row each, in the order of --format. A row is the name of a constant, the word that users
 * write, and the stem of the function STEM_encoder in the format's own file. The option table, encoder_find and the
 * prototypes all come from these rows.
 */
#ifndef ENCODE_FORMATS_H
#define ENCODE_FORMATS_H

#define ENCODE_FORMATS(ROW)                                                                                            \
    ROW(JSON, "json", jsonl)                                                                                           \
    ROW(CSV, "csv", csv)

#define ENCODE_FORMAT_CONSTANT(constant, word, stem) FORMAT_##constant,
#define ENCODE_FORMAT_WORD(constant, word, stem) word "\0"
#define ENCODE_FORMAT_CHOICE(constant, word, stem) "|" word

enum encode_format { ENCODE_FORMATS(ENCODE_FORMAT_CONSTANT) FORMAT_COUNT };

/* For the option table: each word with a NUL behind it, and "|json|csv". */
#define ENCODE_FORMAT_WORDS ENCODE_FORMATS(ENCODE_FORMAT_WORD)
#define ENCODE_FORMAT_METAVAR ENCODE_FORMATS(ENCODE_FORMAT_CHOICE)

/* Which columns a format has that comes in several sets (CSV). */
enum encode_columns { CSV_COLUMNS_AUTO, CSV_COLUMNS_SYSTEM, CSV_COLUMNS_FULL, CSV_COLUMNS_PYTHON };

#endif
