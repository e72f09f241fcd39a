/* SPDX-License-Identifier: Apache-2.0 */
/* The lower part of the page of the report: what to ask for next time, GPUs, processes, every row of the summary. */
#include <stddef.h>

#include "base/num.h"
#include "summary/report/charts.h"
#include "summary/rows.h"
#include "summary/units.h"

static void put_size(struct markup *m, const char *label, const char *reason)
{
    bool is_known = m->text.len > 0;
    if (!is_known && !reason)
        return;
    units_put(m->out, "<div><b class=\"label\">%s</b> <span class=\"big\">%s", label, is_known ? "" : "withheld");
    markup_tag(m, "</span><div class=\"dim\">");
    units_put_foreign(&m->text, reason);
    markup_tag(m, "</div></div>\n");
}

static void put_ready(struct markup *m, const char *label, const char *line)
{
    if (!line)
        return;
    units_put(m->out, "<div><span class=\"dim\">%s", label);
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

/* A column: its head, and for numbers how they are written and where they are in an item. */
struct column {
    char head[19];
    char unit; /* units_put_as; 'u': bytes of a struct opt_u64; 0: a text, which is put by hand */
    unsigned short at;
};

static void put_heads(struct markup *m, const struct column *columns, size_t count)
{
    markup_tag(m, "<thead><tr>");
    for (size_t i = 0; i < count; i++) {
        markup_tag(m, columns[i].unit ? "<th scope=\"col\" class=\"n\">" : "<th scope=\"col\">");
        buf_puts(&m->text, columns[i].head);
        markup_tag(m, "</th>");
    }
    markup_tag(m, "</tr></thead>\n<tbody>\n");
}

static void end_cell(struct markup *m)
{
    markup_tag(m, "</td>");
}

static void put_cells(struct markup *m, const struct column *columns, size_t count, const void *item)
{
    for (size_t i = 0; i < count; i++) {
        const void *at = (const char *)item + columns[i].at;
        bool is_count = columns[i].unit == 'u';
        if (!columns[i].unit)
            continue;
        markup_tag(m, "<td class=\"n\">");
        /* Every opt begins with whether it is known. */
        if (!*(const bool *)at)
            buf_puts(&m->text, "–");
        else if (is_count)
            units_put_bytes(&m->text, (double)((const struct opt_u64 *)at)->v);
        else
            units_put_as(&m->text, columns[i].unit, ((const struct opt_f64 *)at)->v);
        end_cell(m);
    }
}

static void put_text_cell(struct markup *m, const char *text)
{
    markup_tag(m, "<td class=\"c\">");
    units_put_foreign(&m->text, text && *text ? text : "–");
    end_cell(m);
}

struct table {
    const char *opening;
    const struct column *columns;
    size_t count, item_bytes;
    void (*put_texts)(struct markup *m, const struct summary *summary, const void *item, size_t i);
};

/* Behind its heading. */
static void put_table(
    struct markup *m, const struct table *table, const struct summary *summary, const struct sample_list *list)
{
    markup_tag(m, "</h2>\n");
    markup_tag(m, table->opening);
    put_heads(m, table->columns, table->count);
    for (size_t i = 0; i < list->count; i++) {
        const void *item = (const char *)list->items + i * table->item_bytes;
        markup_tag(m, "<tr>");
        table->put_texts(m, summary, item, i);
        put_cells(m, table->columns, table->count, item);
        markup_tag(m, "</tr>\n");
    }
    markup_tag(m, "</tbody>" TABLE_END);
}

#define COLUMNS(columns) columns, sizeof(columns) / sizeof((columns)[0])
#define AT(type, member) offsetof(struct type, member)

static void put_gpu_texts(struct markup *m, const struct summary *summary, const void *item, size_t i)
{
    const struct summary_gpu_device *gpu = item;
    (void)summary;
    markup_tag(m, "<th scope=\"row\">");
    num_put_u64(&m->text, i);
    if (gpu->host_id)
        summary_put_in_brackets(&m->text, gpu->host_id);
    markup_tag(m, "</th>");
    put_text_cell(m, gpu->name);
}

static void put_gpus(struct markup *m, const struct summary *summary)
{
    static const struct column columns[] = {{"GPU", 0, 0}, {"Name", 0, 0},
        {"Job: mean", 'p', AT(summary_gpu_device, usage_mean_pct)},
        {"Job: peak", 'p', AT(summary_gpu_device, usage_peak_pct)},
        {"Job: memory", 'm', AT(summary_gpu_device, vram_peak_mib)},
        {"Host: mean", 'p', AT(summary_gpu_device, host_usage_mean_pct)},
        {"Memory", 'm', AT(summary_gpu_device, vram_total_mib)},
        {"Mean power", 'w', AT(summary_gpu_device, power_mean_watts)},
        {"Peak power", 'w', AT(summary_gpu_device, power_peak_watts)},
        {"Hottest", 'd', AT(summary_gpu_device, temperature_peak_celsius)}};
    const struct table table = {TABLE_OF("wide"), COLUMNS(columns), sizeof(struct summary_gpu_device), put_gpu_texts};
    const struct sample_list *list = &summary->gpu.devices;
    if (!summary->gpu.present || !list->present || list->count == 0)
        return;
    markup_tag(m, "<h2>Each GPU");
    put_table(m, &table, summary, list);
}

static void put_phase_texts(struct markup *m, const struct summary *summary, const void *item, size_t i)
{
    (void)item;
    markup_tag(m, "<th scope=\"row\">");
    summary_put_phase(&m->text, summary, i, SUMMARY_PHASE_NAME);
    markup_tag(m, "</th><td>");
    summary_put_phase(&m->text, summary, i, SUMMARY_PHASE_SIZES);
    end_cell(m);
}

static void put_phases(struct markup *m, const struct summary *summary)
{
    static const struct column columns[] = {{"Phase", 0, 0}, {"What it would need", 0, 0},
        {"Start", 't', AT(summary_phase, start_secs)}, {"Time", 't', AT(summary_phase, wall_secs)},
        {"CPU time", 't', AT(summary_phase, cpu_secs)}, {"Mean cores", 'f', AT(summary_phase, cores_mean)},
        {"Peak cores", 'f', AT(summary_phase, cores_peak)}, {"Memory", 'm', AT(summary_phase, memory_peak_mib)},
        {"Read", 'u', AT(summary_phase, read_bytes)}, {"Written", 'u', AT(summary_phase, write_bytes)},
        {"Mean GPUs", 'f', AT(summary_phase, gpu_usage_mean)}, {"GPU memory", 'm', AT(summary_phase, vram_peak_mib)}};
    struct table table = {TABLE_OF("wide"), COLUMNS(columns), sizeof(struct summary_phase), put_phase_texts};
    const struct sample_list *list = &summary->phases;
    if (!list->present || list->count == 0)
        return;
    markup_tag(m, "<h2>Phases <small>");
    summary_put_phase(&m->text, summary, SUMMARY_PHASE_HEAD, SUMMARY_PHASE_NAME);
    markup_tag(m, "</small>");
    if (!summary_has_phase_column(summary, SUMMARY_PHASE_GPUS))
        table.count -= 2;
    put_table(m, &table, summary, list);
}

static void put_process_texts(struct markup *m, const struct summary *summary, const void *item, size_t i)
{
    const struct sample_process *process = item;
    (void)summary;
    (void)i;
    markup_tag(m, "<td>");
    if (process->pid.has)
        num_put_u64(&m->text, process->pid.v);
    markup_tag(m, "</td><th scope=\"row\">");
    units_put_foreign(&m->text, process->name ? process->name : "?");
    markup_tag(m, "</th><td class=\"c\">");
    if (process->command && *process->command)
        summary_put_process(&m->text, process);
    else
        buf_puts(&m->text, "–");
    end_cell(m);
}

static void put_processes(struct markup *m, const struct sample_list *list, const char *heading, struct opt_f64 at_secs)
{
    static const struct column columns[] = {{"PID", 0, 0}, {"Name", 0, 0}, {"Command", 0, 0},
        {"RSS", 'm', AT(sample_process, rss_mib)}, {"CPU time", 't', AT(sample_process, cpu_secs)}};
    const struct table table = {
        TABLE_OF("wide processes"), COLUMNS(columns), sizeof(struct sample_process), put_process_texts};
    if (!list->present || list->count == 0)
        return;
    markup_tag(m, "<h2>");
    buf_puts(&m->text, heading);
    markup_tag(m, "");
    if (at_secs.has) {
        units_put(&m->text, " · after %t", at_secs.v);
        markup_wrap(m, "<small>", "</small>");
    }
    put_table(m, &table, NULL, list);
}

static void put_program_texts(struct markup *m, const struct summary *summary, const void *item, size_t i)
{
    const struct summary_process *program = item;
    (void)summary;
    (void)i;
    markup_tag(m, "<th scope=\"row\">");
    units_put_foreign(&m->text, program->name ? program->name : "others");
    markup_tag(m, "</th>");
}

static void put_programs(struct markup *m, const struct summary *summary)
{
    static const struct column columns[] = {{"Program", 0, 0},
        {"Processes", 'f', AT(summary_process, values[PROCESS_COUNT])},
        {"CPU time", 't', AT(summary_process, values[PROCESS_CPU])},
        {"Unseen children", 't', AT(summary_process, values[PROCESS_REAPED_CPU])},
        {"Peak RSS", 'm', AT(summary_process, values[PROCESS_RSS])},
        {"Time", 't', AT(summary_process, values[PROCESS_END])},
        {"Read", 'b', AT(summary_process, values[PROCESS_READ])},
        {"Written", 'b', AT(summary_process, values[PROCESS_WRITTEN])}};
    const struct table table = {TABLE_OF("wide"), COLUMNS(columns), sizeof(struct summary_process), put_program_texts};
    const struct sample_list *list = &summary->programs;
    if (!list->present || list->count == 0)
        return;
    markup_tag(m, "<h2>Programs");
    if (summary->processes_unseen_cpu_secs.has) {
        units_put(&m->text, "%t of CPU time that no sample saw", summary->processes_unseen_cpu_secs.v);
        markup_wrap(m, " <small>", "</small>");
    }
    put_table(m, &table, summary, list);
}

static void put_rank_texts(struct markup *m, const struct summary *summary, const void *item, size_t i)
{
    const struct summary_rank *rank = item;
    (void)summary;
    (void)i;
    markup_tag(m, "<th scope=\"row\">");
    summary_put_rank(&m->text, rank);
    markup_tag(m, "</th>");
    put_text_cell(m, rank->node);
    markup_tag(m, "<td>");
    if (rank->exit_code.has)
        num_put_i64(&m->text, rank->exit_code.v);
    end_cell(m);
}

static void put_ranks(struct markup *m, const struct summary *summary)
{
    static const struct column columns[] = {{"Part", 0, 0}, {"Node", 0, 0}, {"Exit status", 0, 0},
        {"Time", 't', AT(summary_rank, wall_secs)}, {"CPU time", 't', AT(summary_rank, cpu_secs)},
        {"Mean cores", 'f', AT(summary_rank, cores_mean)}, {"Wanted (P95)", 'f', AT(summary_rank, wanted_p95)},
        {"Memory", 'm', AT(summary_rank, memory_peak_mib)}, {"GPU memory", 'm', AT(summary_rank, vram_peak_mib)}};
    const struct table table = {TABLE_OF("wide"), COLUMNS(columns), sizeof(struct summary_rank), put_rank_texts};
    if (!summary->parts.present)
        return;
    markup_tag(m, "<h2>Parts");
    put_table(m, &table, summary, &summary->parts.ranks);
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
    put_ranks(m, summary);
    put_phases(m, summary);
    put_gpus(m, summary);
    if (summary->memory.present)
        put_processes(
            m, &summary->memory.processes, "Largest processes at the memory peak", summary->memory.processes_at_secs);
    if (summary->cpu.present)
        put_processes(m, &summary->cpu.processes, "Processes with the most CPU time", (struct opt_f64){0});
    put_programs(m, summary);
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
