/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary as a section of a page on GitHub (GitHub Flavored Markdown): heading, verdict, result, a small chart, a
 * table of the job and one of the host, what to ask for next time. Whatever has a meaning in Markdown or HTML becomes a
 * character reference, which never makes structure.
 */
#include "base/num.h"
#include "summary/rows.h"
#include "summary/units.h"
#include "summary/write.h"

struct section {
    struct summary_rows rows; /* the first member: put_row gets its address */
    struct buf *out;
};

/* A point after www and a colon before // would make a link. */
static bool is_special(const char *p, size_t i, size_t n)
{
    char next = i + 1 < n ? p[i + 1] : ' ';
    return strchr("\\`*_[]<>#|~&$@", p[i]) || (p[i] == '.' && i > 0 && (p[i - 1] | 0x20) == 'w') ||
           (p[i] == ':' && next == '/');
}

static void put_escaped(struct buf *out, const struct buf *text)
{
    for (size_t i = 0; i < text->len; i++) {
        char c = text->data[i];
        if (!is_special(text->data, i, text->len)) {
            buf_putc(out, c);
            continue;
        }
        units_put(out, "&#%u", (uint64_t)(unsigned char)c);
        buf_puts(out, c == '@' ? ";<!-- -->" : ";"); /* else an address would become a link all the same */
    }
}

static void put_row(struct summary_rows *rows, const char *label)
{
    struct buf *out = ((struct section *)rows)->out;
    units_put(out, "| %s | ", label);
    put_escaped(out, &rows->value);
    buf_puts(out, " | ");
    put_escaped(out, &rows->aside);
    put_escaped(out, &rows->tail);
    buf_puts(out, " |\n");
}

/* Puts what stands in the scratch between two texts, and empties it. */
static void put_scratch(struct section *section, const char *before, const char *behind)
{
    struct buf *scratch = &section->rows.value;
    if (scratch->len > 0) {
        buf_puts(section->out, before);
        put_escaped(section->out, scratch);
        buf_puts(section->out, behind);
    }
    buf_clear(scratch);
}

static void put_head(struct section *section, const struct summary *summary)
{
    struct buf *scratch = &section->rows.value;
    summary_put_name(scratch, summary);
    put_scratch(section, "### resource-tracker: ", "\n\n");
    if (summary->verdict.present)
        units_put_foreign(scratch, summary->verdict.text);
    put_scratch(section, "**", "**<br>\n");
    summary_put_result(&section->rows, summary);
    put_scratch(section, "result: ", "");
    if (section->rows.aside.len > 0)
        buf_puts(section->out, ", ");
    put_escaped(section->out, &section->rows.aside);
    buf_clear(&section->rows.aside);
    summary_put_command(scratch, summary);
    put_scratch(section, "<br>\n<code>", "</code>");
    buf_puts(section->out, "\n");
}

static void put_table_head(struct section *section, const char *of)
{
    units_put(section->out, "\n| %s | value | detail |\n|---|---|---|\n", of);
}

static void put_tables(struct section *section, const struct summary *summary)
{
    bool has_job = summary_has_job(summary);
    put_table_head(section, has_job ? "job" : "host");
    if (has_job)
        summary_rows_put_job(&section->rows, summary);
    else
        summary_rows_put_host(&section->rows, summary);
    summary_rows_put_run(&section->rows, summary);
    if (!has_job || !summary_has_host(summary))
        return;
    put_table_head(section, "host");
    summary_rows_put_host(&section->rows, summary);
}

static void put_phase(struct section *section, const struct summary *summary, size_t i)
{
    struct buf *scratch = &section->rows.value;
    buf_putc(section->out, '|');
    for (unsigned column = 0; column < SUMMARY_PHASE_COLUMNS; column++) {
        if (!summary_has_phase_column(summary, (enum summary_phase_column)column))
            continue;
        buf_puts(scratch, i == SUMMARY_PHASE_HEAD && column == 0 ? "phases, " : "");
        summary_put_phase(scratch, summary, i, (enum summary_phase_column)column);
        buf_putc(section->out, ' ');
        put_scratch(section, "", " ");
        buf_putc(section->out, '|');
    }
    buf_putc(section->out, '\n');
}

static void put_phases(struct section *section, const struct summary *summary)
{
    size_t count = summary->phases.present ? summary->phases.count : 0;
    size_t shown = count > SUMMARY_PHASES_SHOWN ? SUMMARY_PHASES_SHOWN : count;
    if (count == 0)
        return;
    buf_putc(section->out, '\n');
    put_phase(section, summary, SUMMARY_PHASE_HEAD);
    for (unsigned column = 0; column < SUMMARY_PHASE_COLUMNS; column++)
        buf_puts(section->out, !summary_has_phase_column(summary, (enum summary_phase_column)column) ? ""
                               : column == 0                                                         ? "|---|"
                                                                                                     : "---|");
    buf_putc(section->out, '\n');
    for (size_t i = 0; i < shown; i++)
        put_phase(section, summary, i);
    if (shown < count)
        buf_printf(section->out, "\nand %zu more phases\n", count - shown);
}

static void put_chart(struct buf *out, const struct spark *spark, const struct summary *summary)
{
    static const char opening[] = "\n```\n";
    size_t start = out->len;
    buf_puts(out, opening);
    size_t before = out->len;
    spark_put(out, spark, summary);
    if (out->len > before)
        buf_puts(out, "```\n");
    else
        out->len = start;
}

/* Lines of code as they are; only what could end the block is changed. */
static void put_code(struct buf *out, const char *text)
{
    if (!text)
        return;
    for (; *text; text++)
        buf_putc(out, *text == '`' || *text == '\r' ? '\'' : *text);
    buf_putc(out, '\n');
}

static void put_sizing(struct section *section, const struct summary *summary)
{
    const struct summary_sizing *sizing = &summary->sizing;
    struct buf *scratch = &section->rows.value;
    if (!summary_has_job(summary))
        return;
    summary_put_sizes(scratch, sizing);
    put_scratch(section, "\n**Next time:** ", "\n");
    if (sizing->slurm || sizing->docker || sizing->kubernetes || sizing->metaflow) {
        buf_puts(section->out, "\n```\n");
        put_code(section->out, sizing->slurm);
        put_code(section->out, sizing->docker);
        put_code(section->out, sizing->kubernetes);
        put_code(section->out, sizing->metaflow);
        buf_puts(section->out, "```\n");
    }
}

/* Why the sizes are what they are, and what is to be known of the numbers. */
static void put_list(struct section *section, const struct summary *summary)
{
    struct buf *scratch = &section->rows.value;
    const struct sample_list *notes = &summary->notes;
    const char *before = "\n- ";
    for (unsigned i = summary_has_job(summary) ? 0 : SUMMARY_REASONS; i < SUMMARY_REASONS;) {
        i = summary_put_reason(scratch, summary, i);
        if (scratch->len == 0)
            continue;
        put_scratch(section, before, "\n");
        before = "- ";
    }
    for (size_t i = 0; notes->present && i < notes->count; i++) {
        buf_puts(scratch, "note: "); /* a text at the start of an item could begin a list of its own */
        units_put_foreign(scratch, ((const char *const *)notes->items)[i]);
        put_scratch(section, before, "\n");
        before = "- ";
    }
}

void summary_put_markdown(struct buf *buf, const struct summary *summary, const struct spark *spark)
{
    struct section section = {.out = buf};
    summary_rows_init(&section.rows, put_row);
    put_head(&section, summary);
    if (spark)
        put_chart(buf, spark, summary);
    put_tables(&section, summary);
    put_phases(&section, summary);
    put_sizing(&section, summary);
    put_list(&section, summary);
    buf_putc(buf, '\n');
    summary_rows_fini(&section.rows);
}
