/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands around the rows: the name of the job and its command as a shell reads it, how it ended, what to ask for
 * next time and why.
 */
#include <string.h>

#include "base/auto.h"
#include "base/num.h"
#include "base/text.h"
#include "summary/rows.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

static bool has_command(const struct summary *summary)
{
    return summary->command.present && summary->command.count > 0;
}

static bool is_of_several_runs(const struct summary *summary)
{
    return summary->runs.has && summary->runs.v > 1;
}

void summary_put_name(struct buf *buf, const struct summary *summary)
{
    const char *name = summary->job_name;
    if ((!name || !*name) && has_command(summary)) {
        name = *(const char *const *)summary->command.items;
        const char *slash = name ? strrchr(name, '/') : NULL;
        name = slash ? slash + 1 : name;
    }
    if (name && *name) {
        units_put_foreign(buf, name);
        return;
    }
    bool is_several = is_of_several_runs(summary);
    if (is_several)
        units_put_count(buf, (double)summary->runs.v, "run");
    else if (summary->tracked_pid.has) {
        units_put(buf, "process %u", summary->tracked_pid.v);
    }
    bool has_subject = is_several || summary->tracked_pid.has;
    if (summary->hostname) {
        units_put(buf, "%s%x", has_subject ? " on " : "host ", summary->hostname);
    } else if (!has_subject)
        buf_puts(buf, "unnamed");
}

/* As a shell reads it: quoted where a character needs it. */
static void put_argument(struct buf *buf, const char *argument)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (*argument && !argument[strspn(argument, plain)]) {
        units_put_foreign(buf, argument);
        return;
    }
    AUTO_BUF struct buf shown = {.max = UNITS_FOREIGN_BYTES + 16};
    units_put_foreign(&shown, argument);
    text_put_quoted(buf, buf_str(&shown));
}

void summary_put_command(struct buf *buf, const struct summary *summary)
{
    const char *const *arguments = summary->command.items;
    size_t start = buf->len;
    for (size_t i = 0; has_command(summary) && i < summary->command.count; i++) {
        buf_puts(buf, i > 0 ? " " : "");
        if (buf->len - start > UNITS_FOREIGN_BYTES) {
            buf_puts(buf, "...");
            return;
        }
        put_argument(buf, arguments[i] ? arguments[i] : "?");
    }
}

/* "5 runs (1 failed)" */
static void put_runs(struct buf *buf, const struct summary *summary)
{
    units_put_count(buf, (double)summary->runs.v, "run");
    if (!summary->runs_failed.has || summary->runs_failed.v == 0)
        return;
    units_put(buf, " (%u failed)", summary->runs_failed.v);
}

void summary_put_result(struct summary_rows *rows, const struct summary *summary)
{
    struct buf *value = &rows->value;
    const char *verdict = summary->result.verdict ? summary->result.verdict : SUMMARY_UNKNOWN;
    const char *before_wall = " after ";
    const char *behind_wall = "";
    if (is_of_several_runs(summary)) {
        put_runs(value, summary);
        before_wall = ", ";
        behind_wall = " on average";
    } else {
        units_put_foreign(value, verdict);
        if (strcmp(verdict, SUMMARY_UNKNOWN) == 0)
            before_wall = ", tracked for ";
    }
    if (summary->wall_secs.has)
        units_put(value, "%s%t%s", before_wall, summary->wall_secs.v, behind_wall);
    summary_put_evidence(&rows->aside, summary);
}

void summary_put_evidence(struct buf *buf, const struct summary *summary)
{
    const struct summary_result *result = &summary->result;
    bool is_several = is_of_several_runs(summary);
    /* Of runs that all went well there is nothing to say; else it is that of the last that did not. */
    if ((is_several && summary->runs_failed.v == 0) || (!result->detail && !result->exit_code.has))
        return;
    buf_puts(buf, is_several ? "last failure: " : "");
    if (result->detail)
        units_put_foreign(buf, result->detail);
    else {
        buf_puts(buf, "exit status ");
        num_put_i64(buf, result->exit_code.v);
    }
}

void summary_put_sizes(struct buf *buf, const struct summary_sizing *sizing)
{
    size_t start = buf->len;
    if (sizing->vcpus.has)
        units_put_count(buf, (double)sizing->vcpus.v, "vCPU");
    if (sizing->memory_mib.has)
        units_put(buf, "%s%m of memory", buf->len > start ? ", " : "", (double)sizing->memory_mib.v);
    if (!sizing->gpus.has)
        return;
    units_put(buf, "%s%G", buf->len > start ? ", " : "", (double)sizing->gpus.v);
    if (!sizing->vram_mib.has)
        return;
    units_put(buf, " with %m%s", (double)sizing->vram_mib.v, sizing->gpus.v > 1 ? " each" : "");
}

struct summary_reason summary_reason_at(const struct summary *summary, unsigned i)
{
    const struct summary_sizing *sizing = &summary->sizing;
    if (!sizing->present)
        return (struct summary_reason){0};
    if (i == 0)
        return (struct summary_reason){"vCPUs", sizing->vcpus_reason, !sizing->vcpus.has};
    if (i == 1)
        return (struct summary_reason){"memory", sizing->memory_reason, !sizing->memory_mib.has};
    if (i >= SUMMARY_REASONS || !summary->gpu.present)
        return (struct summary_reason){0};
    if (i == 2)
        return (struct summary_reason){"GPUs", sizing->gpus_reason, !sizing->gpus.has};
    return (struct summary_reason){"VRAM", sizing->vram_reason, !sizing->vram_mib.has};
}

unsigned summary_put_reason(struct buf *buf, const struct summary *summary, unsigned i)
{
    struct summary_reason reason = summary_reason_at(summary, i++);
    if (!reason.text)
        return i;
    buf_puts(buf, reason.need);
    for (; i < SUMMARY_REASONS; i++) {
        struct summary_reason next = summary_reason_at(summary, i);
        if (!next.text || next.is_withheld != reason.is_withheld || strcmp(next.text, reason.text) != 0)
            break;
        units_put(buf, ", %s", next.need);
    }
    units_put(buf, "%s%x", reason.is_withheld ? " withheld: " : ": ", reason.text);
    return i;
}

enum peak_kind summary_peak_kind(const struct summary *summary, double sampled_mib)
{
    static const double same = 1.001, near = 1.1;
    struct opt_f64 need = summary_memory_need(summary), rss = summary->memory.rss_sampled_mib;
    if (!need.has || need.v <= sampled_mib * same || summary_need_has_shmem(summary))
        return PEAK_IN_SAMPLE;
    if (need.v <= sampled_mib * near)
        return PEAK_NEAR_SAMPLE;
    return rss.has && need.v <= rss.v * same ? PEAK_OF_PROCESS : PEAK_BETWEEN;
}

const char *summary_peak_where(enum peak_kind kind)
{
    return kind == PEAK_BETWEEN ? " between samples" : kind == PEAK_OF_PROCESS ? " in the largest process" : "";
}

/* The row of the table in which this place is; NULL: it has no key. */
static const struct field *field_at(const struct field_table *table, size_t at)
{
    for (const struct field *row = field_rows(table); row < field_rows(table) + table->count; row++) {
        size_t bytes = row->kind == FIELD_OBJECT ? field_table_of(row)->item_bytes : 1;
        if (at >= row->offset && at < row->offset + bytes)
            return row;
    }
    return NULL;
}

void summary_put_key(struct buf *text, size_t at)
{
    const struct field *row = field_at(field_summary, at);
    while (row) {
        struct str name = field_name(row);
        buf_append(text, name.p, name.n);
        if (row->kind != FIELD_OBJECT)
            return;
        buf_putc(text, '.');
        at -= row->offset;
        row = field_at(field_table_of(row), at);
    }
}
