/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary for a terminal: a headline, then rows of a label, a value and what it is to be held against. The rows are
 * gone through twice: first they are counted, so that the lines that are left may go to rows that are too wide for one.
 * No line begins with a brace or a digit, so that it is not mistaken for a sample.
 */
#include "base/str.h"
#include "summary/rows.h"
#include "summary/units.h"
#include "summary/write.h"

enum {
    LINES_MAX = 25,
    LINES_OF_ROW_MAX = 3,
    NOTES_MAX = 4,
    COLUMNS_MIN = 40,
    COLUMNS_USUAL = 80,
    INDENT = 2,
    VALUE_AT = 13, /* column of the values */
    ALIGNED_MAX = 31, /* values wider than this do not move the column beside them */
    GAP = 2,
};

/* Colours of a terminal: ESC [ … m. */
#define BOLD "1"
#define DIM "2"
#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define PLAIN ""

struct page {
    struct summary_rows rows; /* the first member: put_row gets its address */
    struct buf *out; /* NULL: rows are only counted */
    bool has_colour;
    size_t columns;
    unsigned lines; /* of the rows so far, if each has one */
    unsigned reserve; /* lines that rows may use beyond that */
    size_t aside_at; /* width of the values, where asides stand aligned */
    const char *colour; /* of the current value */
};

/* Columns of a character by its first byte, 0 within one. All from U+1000 on count as wide: better too many. */
static size_t byte_columns(unsigned char byte)
{
    return (byte & 0xc0) == 0x80 ? 0 : byte >= 0xe1 ? 2 : 1;
}

/* Bytes of the longest beginning in at most so many columns. */
static size_t fit(struct str text, size_t columns, size_t *ret_columns)
{
    size_t used = 0;
    size_t i = 0;
    for (; i < text.n; i++) {
        size_t more = byte_columns((unsigned char)text.p[i]);
        if (used + more > columns)
            break;
        used += more;
    }
    *ret_columns = used;
    return i;
}

static size_t width(struct str text)
{
    size_t columns;
    (void)fit(text, SIZE_MAX / 2, &columns);
    return columns;
}

/* Without blanks at its ends: a name may have them. */
static struct str text_of(const struct buf *buf)
{
    return str_trim((struct str){buf->data, buf->len});
}

static void put_blanks(struct buf *buf, size_t n)
{
    while (n-- > 0)
        buf_putc(buf, ' ');
}

static void put_painted(const struct page *page, const char *colour, struct str text)
{
    bool is_painted = page->has_colour && *colour && text.n > 0;
    if (is_painted) {
        buf_puts(page->out, "\033[");
        buf_puts(page->out, colour);
        buf_putc(page->out, 'm');
    }
    buf_append(page->out, text.p, text.n);
    if (is_painted)
        buf_puts(page->out, "\033[0m");
}

/* Text that is cut at so many columns, with three dots where something is lost. */
static void put_cut(const struct page *page, const char *colour, struct str text, size_t columns)
{
    size_t used;
    if (fit(text, columns, &used) == text.n) {
        put_painted(page, colour, text);
        return;
    }
    text.n = fit(text, columns - 3, &used);
    put_painted(page, colour, text);
    buf_puts(page->out, "...");
}

/* Cuts a line off *text: at a blank where there is one, else wherever it is full. */
static struct str cut_line(struct str *text, size_t columns)
{
    size_t used;
    struct str line = {text->p, fit(*text, columns, &used)};
    if (line.n < text->n && text->p[line.n] != ' ') {
        size_t blank = line.n;
        while (blank > 0 && text->p[blank - 1] != ' ')
            blank--;
        line.n = blank > 0 ? blank : line.n;
    }
    str_skip(text, line.n);
    while (str_take(text, ' ')) {
    }
    return line;
}

static void put_label(const struct page *page, const char *label)
{
    put_blanks(page->out, INDENT);
    put_painted(page, BOLD, str_of(label));
    put_blanks(page->out, VALUE_AT - INDENT - strlen(label));
}

/* Over as many lines as the row may have. */
static void put_wrapped(struct page *page, const char *label, const char *colour, struct str text)
{
    size_t space = page->columns - VALUE_AT;
    for (unsigned line = 1;; line++) {
        put_label(page, label);
        label = "";
        if (line == LINES_OF_ROW_MAX || page->reserve == 0 || width(text) <= space)
            break;
        put_painted(page, colour, str_trim(cut_line(&text, space)));
        buf_putc(page->out, '\n');
        page->reserve--;
    }
    put_cut(page, colour, text, space);
    buf_putc(page->out, '\n');
}

/* Value and aside where they do not stand beside each other. */
static void put_stacked(struct page *page, const char *label, struct str value, struct str aside)
{
    if (aside.n > 0 && page->reserve > 0) {
        page->reserve--;
        put_wrapped(page, label, page->colour, value);
        put_wrapped(page, "", DIM, aside);
        return;
    }
    size_t left = page->columns - VALUE_AT;
    enum { WORTH_CUTTING = 12 };
    if (aside.n == 0 || width(value) + GAP + WORTH_CUTTING > left) {
        put_wrapped(page, label, page->colour, value);
        return;
    }
    put_label(page, label);
    put_painted(page, page->colour, value);
    put_blanks(page->out, GAP);
    put_cut(page, DIM, aside, left - width(value) - GAP);
    buf_putc(page->out, '\n');
}

static void put_row(struct summary_rows *rows, const char *label)
{
    struct page *page = (struct page *)rows;
    struct str value = text_of(&rows->value);
    struct str aside = text_of(&rows->aside);
    size_t value_width = width(value);
    if (value.n == 0)
        return;
    page->lines++;
    if (!page->out) {
        if (aside.n > 0 && value_width > page->aside_at && value_width <= ALIGNED_MAX)
            page->aside_at = value_width;
        return;
    }
    size_t space = page->columns - VALUE_AT;
    size_t beside = aside.n > 0 ? GAP + width(aside) : 0;
    if (value_width + beside > space) {
        put_stacked(page, label, value, aside);
        return;
    }
    put_label(page, label);
    put_painted(page, page->colour, value);
    if (aside.n > 0) {
        bool is_aligned = value_width < page->aside_at && page->aside_at + beside <= space;
        put_blanks(page->out, GAP + (is_aligned ? page->aside_at - value_width : 0));
        put_painted(page, DIM, aside);
    }
    buf_putc(page->out, '\n');
}

static void put_headline(struct page *page, const struct summary *summary)
{
    static const char program[] = "resource-tracker: ";
    struct buf *name = &page->rows.value, *command = &page->rows.aside;
    page->lines++;
    if (!page->out)
        return;
    buf_puts(name, program);
    summary_put_name(name, summary);
    buf_putc(command, '(');
    summary_put_command(command, summary);
    size_t left = page->columns;
    put_cut(page, BOLD, text_of(name), left);
    size_t used = width(text_of(name));
    enum { WORTH_CUTTING = 8 };
    if (command->len > 1 && used + WORTH_CUTTING <= left) {
        buf_putc(page->out, ' ');
        buf_putc(command, ')');
        put_cut(page, DIM, text_of(command), left - used - 1);
    }
    buf_putc(page->out, '\n');
    buf_clear(name);
    buf_clear(command);
}

static void put_result(struct page *page, const struct summary *summary)
{
    const char *verdict = summary->result.verdict;
    bool has_failures = summary->runs_failed.has && summary->runs_failed.v > 0;
    if (summary->runs.has && summary->runs.v > 1 && summary->runs_failed.has)
        verdict = has_failures ? SUMMARY_FAILED : SUMMARY_FINISHED;
    page->colour = RED;
    if (!verdict || strcmp(verdict, SUMMARY_UNKNOWN) == 0)
        page->colour = YELLOW;
    else if (strcmp(verdict, SUMMARY_FINISHED) == 0)
        page->colour = GREEN;
    summary_put_result(&page->rows, summary);
    summary_rows_end(&page->rows, "result");
    page->colour = PLAIN;
}

/* "vCPUs, memory withheld: the run was too short": needs that follow each other with one reason share a row. */
static void put_withheld(struct page *page, const struct summary *summary, const char *label)
{
    struct buf *value = &page->rows.value;
    for (unsigned i = 0; i < SUMMARY_REASONS; i++) {
        struct summary_reason reason = summary_reason_at(summary, i);
        struct summary_reason next = summary_reason_at(summary, i + 1);
        if (!reason.text || !reason.is_withheld)
            continue;
        buf_puts(value, reason.need);
        if (next.text && next.is_withheld && strcmp(next.text, reason.text) == 0) {
            buf_puts(value, ", ");
            continue;
        }
        buf_puts(value, " withheld: ");
        units_put_foreign(value, reason.text);
        summary_rows_end(&page->rows, label);
        label = "";
    }
}

static void put_sizing(struct page *page, const struct summary *summary)
{
    const struct summary_sizing *sizing = &summary->sizing;
    struct buf *value = &page->rows.value;
    if (!sizing->present)
        return;
    summary_put_sizes(value, sizing);
    bool has_sizes = value->len > 0;
    summary_rows_end(&page->rows, "next time");
    units_put_foreign(value, sizing->slurm);
    summary_rows_end(&page->rows, "  Slurm");
    units_put_foreign(value, sizing->docker);
    summary_rows_end(&page->rows, "  Docker");
    put_withheld(page, summary, has_sizes ? "" : "next time");
}

static void put_notes(struct page *page, const struct sample_list *notes)
{
    size_t count = notes->present ? notes->count : 0;
    size_t shown = count > NOTES_MAX ? NOTES_MAX - 1 : count;
    struct buf *value = &page->rows.value;
    for (size_t i = 0; i < shown; i++) {
        units_put_foreign(value, ((const char *const *)notes->items)[i]);
        summary_rows_end(&page->rows, "note");
    }
    if (shown < count) {
        units_put_count(value, (double)(count - shown), "further note");
        summary_rows_end(&page->rows, "");
    }
}

static void put_page(struct page *page, const struct summary *summary)
{
    put_headline(page, summary);
    put_result(page, summary);
    summary_rows_put(&page->rows, summary);
    put_sizing(page, summary);
    put_notes(page, &summary->notes);
}

void summary_put_text(struct buf *buf, const struct summary *summary, const struct summary_style *style)
{
    struct page page = {
        .has_colour = style->has_colour,
        .columns = style->columns == 0            ? COLUMNS_USUAL
                   : style->columns < COLUMNS_MIN ? COLUMNS_MIN
                                                  : style->columns,
        .colour = PLAIN,
    };
    summary_rows_init(&page.rows, put_row);
    put_page(&page, summary);
    page.reserve = page.lines < LINES_MAX ? LINES_MAX - page.lines : 0;
    page.out = buf;
    put_page(&page, summary);
    summary_rows_fini(&page.rows);
}
