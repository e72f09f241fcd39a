/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of documents ask about a row of the option table. */
#include "docs.h"

enum docs_value docs_value(const struct option_row *row)
{
    if (row->type == OPTION_ACTION)
        return option_word(row, 0) ? DOCS_OPTIONAL : DOCS_NONE;
    if ((row->type == OPTION_BOOL && !row->metavar) || row->type == OPTION_COUNT)
        return DOCS_NONE;
    return row->bare ? DOCS_OPTIONAL : DOCS_REQUIRED;
}

const char *docs_negation(const struct option_row *row)
{
    return option_is_on(row) ? "no-" : "";
}

enum docs_words docs_words(const struct option_row *row)
{
    if (option_word(row, 0))
        return DOCS_WORDS_CHOICE;
    if (!row->metavar)
        return DOCS_WORDS_ANY;
    if (strncmp(row->metavar, "FILE", 4) == 0)
        return DOCS_WORDS_FILE;
    if (strcmp(row->metavar, "DIR") == 0)
        return DOCS_WORDS_DIR;
    return strcmp(row->metavar, "PID") == 0 ? DOCS_WORDS_PID : DOCS_WORDS_ANY;
}

void docs_put_choices(struct buf *buf, const struct option_row *row)
{
    for (size_t i = 0; option_word(row, i); i++)
        buf_printf(buf, "%s%s", i > 0 ? " " : "", option_word(row, i));
}

void docs_put_replaced(struct buf *buf, const char *text, char mark, const char *instead)
{
    for (; *text; text++) {
        if (*text == mark)
            buf_puts(buf, instead);
        else
            buf_putc(buf, *text);
    }
}
