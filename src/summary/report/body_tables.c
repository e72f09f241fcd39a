/* SPDX-License-Identifier: Apache-2.0 */
/* The lower part of the page of the report: what to ask for next time, GPUs, processes, every row of the summary. */
#include "base/num.h"
#include "summary/report/body_internal.h"
#include "summary/rows.h"
#include "summary/units.h"

static void put_size(struct markup *m, const char *label, const char *reason)
{
    bool is_known = m->text.len > 0;
    if (!is_known && !reason)
        return;
    buf_puts(m->out, "<div><b class=\"label\">");
    buf_puts(m->out, label);
    buf_puts(m->out, "</b> <span class=\"big\">");
    buf_puts(m->out, is_known ? "" : "withheld");
    markup_tag(m, "</span><div class=\"dim\">");
    units_put_foreign(&m->text, reason);
    markup_tag(m, "</div></div>\n");
}

static void put_ready(struct markup *m, const char *label, const char *line)
{
    if (!line)
        return;
    buf_puts(m->out, "<div><span class=\"dim\">");
    buf_puts(m->out, label);
    buf_puts(&m->text, line);
    markup_wrap(m, "</span> <code>", "</code></div>\n");
}

void body_put_sizing(struct markup *m, const struct summary *summary)
{
    const struct summary_sizing *sizing = &summary->sizing;
    if (!sizing->present)
        return;
    markup_tag(m, "<h2>What to ask for next time</h2>\n<div class=\"card\">\n<div class=\"size\">\n");
    if (sizing->vcpus.has)
        num_put_u64(&m->text, sizing->vcpus.v);
    put_size(m, "vCPUs", sizing->vcpus_reason);
    if (sizing->memory_mib.has)
        units_put_mib(&m->text, (double)sizing->memory_mib.v);
    put_size(m, "Memory", sizing->memory_reason);
    if (sizing->gpus.has)
        num_put_u64(&m->text, sizing->gpus.v);
    put_size(m, "GPUs", summary->gpu.present ? sizing->gpus_reason : NULL);
    if (sizing->vram_mib.has)
        units_put_mib(&m->text, (double)sizing->vram_mib.v);
    put_size(m, "Memory of each GPU", summary->gpu.present ? sizing->vram_reason : NULL);
    markup_tag(m, "</div>\n");
    if (sizing->slurm || sizing->kubernetes || sizing->docker || sizing->metaflow) {
        markup_tag(m, "<div class=\"ready\">\n");
        put_ready(m, "Slurm", sizing->slurm);
        put_ready(m, "Kubernetes", sizing->kubernetes);
        put_ready(m, "Docker", sizing->docker);
        put_ready(m, "Metaflow", sizing->metaflow);
        markup_tag(m, "</div>\n");
    }
    markup_tag(m, "</div>\n");
}

#define TABLE_OF(look) "<div class=\"card " look "\"><table border=\"1\" cellpadding=\"4\">"
#define TABLE_END "</table></div>\n"

/* Column heads; those behind the first `texts` are of numbers. */
static void put_heads(struct markup *m, const char *table, const char *const *heads, size_t count, size_t texts)
{
    markup_tag(m, table);
    markup_tag(m, "<thead><tr>");
    for (size_t i = 0; i < count; i++) {
        markup_tag(m, i < texts ? "<th scope=\"col\">" : "<th scope=\"col\" class=\"n\">");
        buf_puts(&m->text, heads[i]);
        markup_tag(m, "</th>");
    }
    markup_tag(m, "</tr></thead>\n<tbody>\n");
}

static void put_cell(struct markup *m, void (*put_value)(struct buf *, double), struct opt_f64 value)
{
    markup_tag(m, "<td class=\"n\">");
    if (value.has)
        put_value(&m->text, value.v);
    else
        buf_puts(&m->text, "–");
    markup_tag(m, "</td>");
}

static void put_text_cell(struct markup *m, const char *text)
{
    markup_tag(m, "<td class=\"c\">");
    if (text && *text)
        units_put_foreign(&m->text, text);
    else
        buf_puts(&m->text, "–");
    markup_tag(m, "</td>");
}

static void put_gpus(struct markup *m, const struct summary *summary)
{
    static const char *const heads[] = {"GPU", "Name", "Job: mean", "Job: peak", "Job: memory", "Host: mean", "Memory",
        "Mean power", "Peak power", "Hottest"};
    const struct sample_list *list = &summary->gpu.devices;
    const struct summary_gpu_device *gpu = list->items;
    if (!summary->gpu.present || !list->present || list->count == 0)
        return;
    markup_tag(m, "<h2>Each GPU</h2>\n");
    put_heads(m, TABLE_OF("wide"), heads, sizeof(heads) / sizeof(heads[0]), 2);
    for (size_t i = 0; i < list->count; i++, gpu++) {
        markup_tag(m, "<tr><th scope=\"row\">");
        num_put_u64(&m->text, i);
        if (gpu->host_id) {
            buf_puts(&m->text, " (");
            units_put_foreign(&m->text, gpu->host_id);
            buf_puts(&m->text, ")");
        }
        markup_tag(m, "</th>");
        put_text_cell(m, gpu->name);
        put_cell(m, units_put_pct, gpu->usage_mean_pct);
        put_cell(m, units_put_pct, gpu->usage_peak_pct);
        put_cell(m, units_put_mib, gpu->vram_peak_mib);
        put_cell(m, units_put_pct, gpu->host_usage_mean_pct);
        put_cell(m, units_put_mib, gpu->vram_total_mib);
        put_cell(m, units_put_watts, gpu->power_mean_watts);
        put_cell(m, units_put_watts, gpu->power_peak_watts);
        put_cell(m, units_put_celsius, gpu->temperature_peak_celsius);
        markup_tag(m, "</tr>\n");
    }
    markup_tag(m, "</tbody>" TABLE_END);
}

static void put_processes(struct markup *m, const struct sample_list *list, const char *heading, struct opt_f64 at_secs)
{
    static const char *const heads[] = {"PID", "Name", "Command", "RSS", "CPU time"};
    const struct sample_process *process = list->items;
    if (!list->present || list->count == 0)
        return;
    markup_tag(m, "<h2>");
    buf_puts(&m->text, heading);
    markup_tag(m, "");
    if (at_secs.has) {
        buf_puts(&m->text, " · after ");
        units_put_secs(&m->text, at_secs.v);
        markup_wrap(m, "<small>", "</small>");
    }
    markup_tag(m, "</h2>\n");
    put_heads(m, TABLE_OF("wide processes"), heads, sizeof(heads) / sizeof(heads[0]), 3);
    for (size_t i = 0; i < list->count; i++, process++) {
        markup_tag(m, "<tr><td>");
        if (process->pid.has)
            num_put_u64(&m->text, process->pid.v);
        markup_tag(m, "</td><th scope=\"row\">");
        units_put_foreign(&m->text, process->name ? process->name : "?");
        markup_tag(m, "</th>");
        markup_tag(m, "<td class=\"c\">");
        if (process->command && *process->command)
            summary_put_process(&m->text, process);
        else
            buf_puts(&m->text, "–");
        markup_tag(m, "</td>");
        put_cell(m, units_put_mib, process->rss_mib);
        put_cell(m, units_put_secs, process->cpu_secs);
        markup_tag(m, "</tr>\n");
    }
    markup_tag(m, "</tbody>" TABLE_END);
}

struct row_writer {
    struct summary_rows rows; /* the first member: put_row gets its address */
    struct markup *m;
};

static void put_row(struct summary_rows *rows, const char *label)
{
    struct markup *m = ((struct row_writer *)rows)->m;
    markup_tag(m, "<tr><th scope=\"row\">");
    buf_puts(&m->text, label);
    markup_tag(m, "</th><td>");
    buf_append(&m->text, rows->value.data, rows->value.len);
    markup_tag(m, "</td><td>");
    buf_append(&m->text, rows->aside.data, rows->aside.len);
    buf_append(&m->text, rows->tail.data, rows->tail.len);
    markup_tag(m, "</td></tr>\n");
}

/* Also what stands in for the charts where they cannot be seen. */
static void put_numbers(struct markup *m, const struct summary *summary)
{
    struct row_writer writer = {.m = m};
    bool has_job = summary_has_job(summary);
    markup_tag(m, "<h2>All numbers</h2>\n" TABLE_OF("wide rows") "<tbody>\n");
    summary_rows_init(&writer.rows, put_row);
    summary_put_result(&writer.rows, summary);
    summary_rows_end(&writer.rows, "result");
    if (has_job)
        summary_rows_put_job(&writer.rows, summary);
    else
        summary_rows_put_host(&writer.rows, summary);
    summary_rows_put_run(&writer.rows, summary);
    if (has_job && summary_has_host(summary)) {
        markup_tag(m, "</tbody>" TABLE_END "<h2>All numbers of the host</h2>\n" TABLE_OF("wide rows") "<tbody>\n");
        summary_rows_put_host(&writer.rows, summary);
    }
    summary_rows_fini(&writer.rows);
    markup_tag(m, "</tbody>" TABLE_END);
}

void body_put_tables(struct markup *m, const struct summary *summary)
{
    const char *const *notes = summary->notes.items;
    put_gpus(m, summary);
    if (summary->memory.present)
        put_processes(
            m, &summary->memory.processes, "Largest processes at the memory peak", summary->memory.processes_at_secs);
    if (summary->cpu.present)
        put_processes(m, &summary->cpu.processes, "Processes with the most CPU time", (struct opt_f64){0});
    put_numbers(m, summary);
    if (!summary->notes.present || summary->notes.count == 0)
        return;
    markup_tag(m, "<h2>Notes</h2>\n<ul class=\"card notes\">\n");
    for (size_t i = 0; i < summary->notes.count; i++) {
        markup_tag(m, "<li>");
        units_put_foreign(&m->text, notes[i]);
        markup_tag(m, "</li>\n");
    }
    markup_tag(m, "</ul>\n");
}
