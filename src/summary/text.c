/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary for a terminal: a headline, the verdict, then rows of a label, a value and what it is to be compared
 * with. The rows are gone through twice: first their values are measured, so that what stands beside them is aligned.
 * No line begins with a brace or a digit, so that it is not mistaken for a sample. Lines that are to be copied are
 * never wrapped nor cut, whatever the width.
 */
#include "base/str.h"
#include "summary/rows.h"
#include "summary/units.h"
#include "summary/write.h"

enum {
    NOTES_MAX = 16,
    COLUMNS_MIN = 20,
    COLUMNS_BESIDE = 40, /* from here on values stand beside their labels, else below */
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
    struct buf *out; /* NULL: values are only measured */
    bool has_colour;
    size_t columns;
    size_t aside_at; /* width of the values, where asides stand aligned */
    size_t process_at; /* the same of rows with an aside that is shortened */
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
    if (is_painted)
        units_put(page->out, "\033[%sm", colour);
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

/* The last blank of the first n bytes (or the one behind them) at which a line may end; 0 where there is none. */
static size_t find_break(struct str text, size_t n, enum summary_row_shape shape)
{
    size_t blank = 0, between_words = 0, behind_comma = 0;
    for (size_t i = 1; i <= n && i < text.n; i++) {
        if (text.p[i] != ' ')
            continue;
        blank = i;
        /* A number stays with its unit. */
        between_words = ascii_is_digit(text.p[i - 1]) ? between_words : i;
        behind_comma = text.p[i - 1] == ',' && i > n / 3 ? i : behind_comma;
    }
    if (shape == SUMMARY_ROW_LIST && behind_comma > 0)
        return behind_comma;
    return between_words > 0 ? between_words : blank;
}

/* Cuts a line off *text: at a blank where there is one, else wherever it is full; a path has no end but its own. */
static struct str cut_line(struct str *text, size_t columns, enum summary_row_shape shape)
{
    size_t used;
    struct str line = {text->p, fit(*text, columns, &used)};
    size_t blank = find_break(*text, line.n, shape);
    if (blank > 0)
        line.n = blank;
    while (blank == 0 && shape == SUMMARY_ROW_WORDS && line.n < text->n && text->p[line.n] != ' ')
        line.n++;
    str_skip(text, line.n);
    while (str_take(text, ' ')) {
    }
    return line;
}

static size_t value_at(const struct page *page)
{
    return page->columns < COLUMNS_BESIDE ? (page->rows.is_of_host ? 3 * INDENT : 2 * INDENT) : VALUE_AT;
}

static void put_label(const struct page *page, const char *label)
{
    size_t indent = INDENT + (page->rows.is_of_host && *label ? INDENT : 0);
    size_t used = indent + strlen(label), at = value_at(page);
    put_blanks(page->out, indent);
    put_painted(page, BOLD, str_of(label));
    if (page->columns < COLUMNS_BESIDE && *label && page->rows.shape != SUMMARY_ROW_WHOLE) {
        buf_putc(page->out, '\n');
        used = 0;
    }
    put_blanks(page->out, used < at ? at - used : 1);
}

/* Over as many lines as it takes. */
static void put_wrapped(struct page *page, const char *label, const char *colour, struct str text)
{
    size_t space = page->columns - value_at(page);
    do {
        put_label(page, label);
        label = "";
        struct str line = text;
        if (width(text) > space)
            line = cut_line(&text, space, page->rows.shape);
        else
            text.n = 0;
        put_painted(page, colour, str_trim(line));
        buf_putc(page->out, '\n');
    } while (text.n > 0);
}

/* The value, the aside as far as it goes, and the tail; on lines of their own where the terminal is narrow. */
static void put_shortened(struct page *page, const char *label, struct str value, struct str aside)
{
    enum { WORTH_CUTTING = 24 };
    struct str tail = {page->rows.tail.data, page->rows.tail.len};
    size_t space = page->columns - value_at(page);
    bool is_wide = page->process_at + GAP + WORTH_CUTTING + tail.n <= space;
    if (is_wide) {
        put_label(page, label);
        put_painted(page, page->colour, value);
        size_t used = width(value) > page->process_at ? width(value) : page->process_at;
        put_blanks(page->out, GAP + used - width(value));
        put_cut(page, DIM, aside, space - used - GAP - tail.n);
        put_painted(page, DIM, tail);
        buf_putc(page->out, '\n');
        return;
    }
    put_wrapped(page, label, page->colour, value);
    put_label(page, "");
    put_cut(page, DIM, aside, space);
    buf_putc(page->out, '\n');
    (void)str_take(&tail, ',');
    if (tail.n > 0)
        put_wrapped(page, "", DIM, str_trim(tail));
}

static void measure(struct page *page, size_t value_width, bool has_aside)
{
    size_t *at = page->rows.shape == SUMMARY_ROW_CUT ? &page->process_at : &page->aside_at;
    if (has_aside && value_width > *at && value_width <= ALIGNED_MAX)
        *at = value_width;
}

static void put_row(struct summary_rows *rows, const char *label)
{
    struct page *page = (struct page *)rows;
    struct str value = text_of(&rows->value);
    struct str aside = text_of(&rows->aside);
    size_t value_width = width(value);
    if (value.n == 0)
        return;
    if (!page->out) {
        measure(page, value_width, aside.n > 0);
        return;
    }
    if (rows->shape == SUMMARY_ROW_CUT) {
        put_shortened(page, label, value, aside);
        return;
    }
    size_t space = page->columns - value_at(page);
    size_t beside = aside.n > 0 ? GAP + width(aside) : 0;
    bool is_whole = rows->shape == SUMMARY_ROW_WHOLE;
    if (!is_whole && value_width + beside > space) {
        put_wrapped(page, label, page->colour, value);
        if (aside.n > 0)
            put_wrapped(page, "", DIM, aside);
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
    if (!page->out)
        return;
    bool is_narrow = page->columns < COLUMNS_BESIDE;
    buf_puts(name, is_narrow ? "" : program);
    summary_put_name(name, summary);
    buf_putc(command, '(');
    summary_put_command(command, summary);
    size_t left = page->columns;
    if (is_narrow) {
        put_painted(page, BOLD, str_trim(STR(program)));
        buf_putc(page->out, '\n');
        put_label(page, "");
        left -= value_at(page);
    }
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

static void put_verdict(struct page *page, const struct summary_verdict *verdict)
{
    if (!verdict->present)
        return;
    units_put_foreign(&page->rows.value, verdict->text);
    page->rows.shape = SUMMARY_ROW_PROSE;
    page->colour = BOLD;
    summary_rows_end(&page->rows, "verdict");
    page->colour = PLAIN;
}

static void put_result(struct page *page, const struct summary *summary)
{
    const char *verdict = summary->result.verdict;
    bool has_failures = summary->runs_failed.has && summary->runs_failed.v > 0;
    if (summary->runs.has && summary->runs.v > 1 && summary->runs_failed.has)
        verdict = has_failures ? SUMMARY_FAILED : SUMMARY_FINISHED;
    page->colour = RED;
    if (!verdict || strcmp(verdict, SUMMARY_UNKNOWN) == 0 || strcmp(verdict, SUMMARY_STOPPED) == 0)
        page->colour = YELLOW;
    else if (strcmp(verdict, SUMMARY_FINISHED) == 0)
        page->colour = GREEN;
    summary_put_result(&page->rows, summary);
    page->rows.shape = SUMMARY_ROW_PROSE;
    summary_rows_end(&page->rows, "result");
    page->colour = PLAIN;
}

/* One line of the table of phases; widths of 0 are left out. */
static void put_phase(struct page *page, const struct summary *summary, size_t i, const size_t *widths)
{
    const char *colour = i == SUMMARY_PHASE_HEAD ? DIM : PLAIN;
    struct buf *cell = &page->rows.value;
    size_t pending = 0; /* blanks behind the name, where something follows */
    put_label(page, i == SUMMARY_PHASE_HEAD ? "phases" : "");
    for (unsigned column = 0; column < SUMMARY_PHASE_SIZES; column++) {
        if (widths[column] == 0)
            continue;
        summary_put_phase(cell, summary, i, (enum summary_phase_column)column);
        size_t used = width(text_of(cell)), wide = widths[column];
        size_t blanks = used < wide ? wide - used : 0;
        put_blanks(page->out, column > 0 ? pending + GAP + blanks : 0);
        put_cut(page, colour, text_of(cell), wide);
        pending = column > 0 ? 0 : blanks;
        buf_clear(cell);
    }
    buf_putc(page->out, '\n');
}

/* The widths of the columns; on a narrow terminal the last are left out, and names are cut. */
static void measure_phases(struct page *page, const struct summary *summary, size_t shown, size_t *widths)
{
    enum { NAME_MIN = 14 };
    struct buf *cell = &page->rows.value;
    size_t left = page->columns - value_at(page);
    for (unsigned column = 0; column < SUMMARY_PHASE_SIZES; column++) {
        for (size_t i = 0; i <= shown && summary_has_phase_column(summary, (enum summary_phase_column)column); i++) {
            summary_put_phase(cell, summary, i < shown ? i : SUMMARY_PHASE_HEAD, (enum summary_phase_column)column);
            size_t used = width(text_of(cell));
            widths[column] = used > widths[column] ? used : widths[column];
            buf_clear(cell);
        }
        if (column > 0 && widths[column] + GAP + NAME_MIN > left)
            widths[column] = 0;
        left -= column > 0 && widths[column] > 0 ? widths[column] + GAP : 0;
    }
    widths[0] = widths[0] < left ? widths[0] : left;
}

static void put_phases(struct page *page, const struct summary *summary)
{
    size_t widths[SUMMARY_PHASE_COLUMNS] = {0}, count = summary->phases.present ? summary->phases.count : 0;
    size_t shown = count > SUMMARY_PHASES_SHOWN ? SUMMARY_PHASES_SHOWN : count;
    if (!page->out || count == 0)
        return;
    measure_phases(page, summary, shown, widths);
    put_phase(page, summary, SUMMARY_PHASE_HEAD, widths);
    for (size_t i = 0; i < shown; i++)
        put_phase(page, summary, i, widths);
    if (shown == count)
        return;
    buf_printf(&page->rows.value, "and %zu more", count - shown);
    summary_rows_end(&page->rows, "");
}

static void put_ready_line(struct page *page, const char *label, const char *line)
{
    units_put_foreign(&page->rows.value, line);
    page->rows.shape = SUMMARY_ROW_WHOLE;
    summary_rows_end(&page->rows, label);
}

static void put_prose(struct page *page, const char *label)
{
    page->rows.shape = SUMMARY_ROW_PROSE;
    summary_rows_end(&page->rows, label);
}

/* What is withheld has rows of its own; the reasons for what is not are one text. */
static void put_reasons(struct page *page, const struct summary *summary, const char *label)
{
    struct buf *value = &page->rows.value;
    for (unsigned i = 0; i < SUMMARY_REASONS;) {
        bool is_withheld = summary_reason_at(summary, i).is_withheld;
        i = summary_put_reason(value, summary, i);
        if (!is_withheld || value->len == 0) {
            buf_clear(value);
            continue;
        }
        put_prose(page, label);
        label = "";
    }
    for (unsigned i = 0; i < SUMMARY_REASONS;) {
        struct summary_reason reason = summary_reason_at(summary, i);
        if (!reason.text || reason.is_withheld) {
            i++;
            continue;
        }
        buf_puts(value, value->len > 0 ? "; " : "");
        i = summary_put_reason(value, summary, i);
    }
    put_prose(page, "why");
}

static void put_sizing(struct page *page, const struct summary *summary)
{
    const struct summary_sizing *sizing = &summary->sizing;
    struct buf *value = &page->rows.value;
    if (!sizing->present || !summary_has_job(summary))
        return;
    summary_put_sizes(value, sizing);
    bool has_sizes = value->len > 0;
    summary_rows_end(&page->rows, "next time");
    put_reasons(page, summary, has_sizes ? "" : "next time");
    put_ready_line(page, "Slurm", sizing->slurm);
    put_ready_line(page, "Kubernetes", sizing->kubernetes);
    put_ready_line(page, "Docker", sizing->docker);
    put_ready_line(page, "Metaflow", sizing->metaflow);
}

static void put_files(struct page *page, const struct summary_style *style)
{
    struct buf *value = &page->rows.value;
    for (size_t i = 0; i < style->file_count; i++)
        units_put(value, "%s%x", i > 0 ? ", " : "", style->files[i]);
    page->rows.shape = SUMMARY_ROW_WORDS;
    summary_rows_end(&page->rows, "files");
}

static void put_notes(struct page *page, const struct sample_list *notes)
{
    size_t count = notes->present ? notes->count : 0;
    size_t shown = count > NOTES_MAX ? NOTES_MAX - 1 : count;
    struct buf *value = &page->rows.value;
    for (size_t i = 0; i < shown; i++) {
        units_put_foreign(value, ((const char *const *)notes->items)[i]);
        put_prose(page, "note");
    }
    if (shown < count) {
        units_put_count(value, (double)(count - shown), "further note");
        put_prose(page, "");
    }
}

static void put_page(struct page *page, const struct summary *summary, const struct summary_style *style)
{
    put_headline(page, summary);
    put_verdict(page, &summary->verdict);
    put_result(page, summary);
    if (summary_has_job(summary)) {
        page->rows.machine_label = "host";
        summary_rows_put_job(&page->rows, summary);
        put_phases(page, summary);
    }
    summary_rows_put_host(&page->rows, summary);
    summary_rows_put_run(&page->rows, summary);
    put_files(page, style);
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
    put_page(&page, summary, style);
    page.out = buf;
    put_page(&page, summary, style);
    summary_rows_fini(&page.rows);
}
