/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page of the report as it is without its script, which adds charts and buttons to copy: heading, verdict, facts,
 * tiles, what to ask for next time, and tables. Reads as well where styles are forbidden too. Texts are those of the
 * summary on a terminal (units.c, rows.c); all of them are escaped by struct markup.
 */
#include <string.h>

#include "base/num.h"
#include "base/utc.h"
#include "summary/report/charts.h"
#include "summary/rows.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

enum { PICTURE_COLUMNS = 240, SHARE_HIGH_PCT = 90 };

static void put(struct markup *m, const char *text)
{
    buf_puts(&m->text, text);
}

static void put_in_brackets(struct markup *m, const char *text)
{
    if (!text)
        return;
    units_put(&m->text, " (%x)", text);
}

/* One fact of the list below the heading: what stands in the text, which may be nothing. */
static void end_fact(struct markup *m, const char *term)
{
    if (m->text.len == 0)
        return;
    units_put(m->out, "<div><dt>%s", term);
    markup_wrap(m, "</dt><dd>", "</dd></div>\n");
}

static void put_fact(struct markup *m, const char *term, const char *text)
{
    units_put_foreign(&m->text, text);
    end_fact(m, term);
}

static void put_time(struct markup *m, const char *term, struct opt_i64 unix_ms)
{
    char text[UTC_ISO_BYTES];
    if (!unix_ms.has)
        return;
    utc_format_iso(unix_ms.v / 1000, text);
    text[10] = ' ';
    text[19] = '\0';
    units_put(&m->text, "%s UTC", text);
    end_fact(m, term);
}

static void put_names(struct markup *m, const struct sample_list *list)
{
    const char *const *names = list->items;
    for (size_t i = 0; list->present && i < list->count; i++)
        units_put(&m->text, "%s%x", i > 0 ? ", " : "", names[i]);
}

static void put_pairs(struct markup *m, const char *term, const struct sample_list *list)
{
    const struct str_pair *pairs = list->items;
    for (size_t i = 0; list->present && i < list->count; i++)
        units_put(&m->text, "%s%x=%x", i > 0 ? ", " : "", pairs[i].key, pairs[i].value);
    end_fact(m, term);
}

static void put_limits(struct markup *m, const struct summary *summary)
{
    if (summary->cpu.limit_cores.has) {
        units_put_count(&m->text, summary->cpu.limit_cores.v, "core");
        put_in_brackets(m, summary->cpu.limit_source);
    }
    if (summary->memory.limit_mib.has) {
        units_put(&m->text, "%s%m", m->text.len > 0 ? ", " : "", summary->memory.limit_mib.v);
        put_in_brackets(m, summary->memory.limit_source);
    }
    end_fact(m, "Limits");
}

static void put_host_memory(struct markup *m, const struct summary *summary)
{
    const struct summary_machine *machine = &summary->machine;
    if (machine->memory_mib.has)
        units_put_mib(&m->text, machine->memory_mib.v);
    if (machine->swap_mib.has && machine->swap_mib.v > 0)
        units_put(&m->text, "%s%m of swap", m->text.len > 0 ? ", " : "", machine->swap_mib.v);
    end_fact(m, "Memory of the host");
}

static void put_machine(struct markup *m, const struct summary *summary)
{
    if (summary->machine.present) {
        summary_put_machine_cpus(&m->text, "", summary);
        end_fact(m, "CPUs");
        put_host_memory(m, summary);
        summary_put_machine_gpus(&m->text, "", summary);
        end_fact(m, "GPUs");
    }
    put_limits(m, summary);
}

static void put_facts(struct markup *m, const struct summary *summary)
{
    bool is_one = !summary->runs.has || summary->runs.v <= 1;
    markup_tag(m, "<dl class=\"facts\">\n");
    put_time(m, "Started", summary->started_ms);
    put_time(m, "Ended", summary->finished_ms);
    if (summary->wall_secs.has)
        units_put_secs(&m->text, summary->wall_secs.v);
    end_fact(m, is_one ? "Wall time" : "Mean wall time");
    if (summary->samples.has) {
        num_put_u64(&m->text, summary->samples.v);
        if (summary->samples.v > 1 && summary->interval_secs.has)
            units_put(&m->text, " every %t", summary->interval_secs.v);
        if (summary->missed_samples.has && summary->missed_samples.v > 0) {
            units_put(&m->text, ", %u missed", summary->missed_samples.v);
        }
    }
    end_fact(m, "Samples");
    put_fact(m, "Host", summary->hostname);
    put_fact(m, "Kernel", summary->kernel);
    put_machine(m, summary);
    put_pairs(m, "Tags", &summary->tags);
    put_pairs(m, "Metadata", &summary->metadata);
    markup_tag(m, "</dl>\n");
}

/* "✓ finished", "✕ 1 of 3 runs failed" */
static void put_badge(struct markup *m, const struct summary *summary)
{
    const char *verdict = summary->result.verdict;
    if (!summary->result.present || !verdict)
        return;
    bool is_bad = summary->runs_failed.has && summary->runs_failed.v > 0;
    bool is_several = summary->runs.has && summary->runs.v > 1;
    bool is_open = strcmp(verdict, SUMMARY_UNKNOWN) == 0 || strcmp(verdict, SUMMARY_STOPPED) == 0,
         is_doubtful = strcmp(verdict, SUMMARY_MAYBE_OUT_OF_MEMORY) == 0;
    if (!is_several)
        is_bad = outcome_is_bad(&summary->result);
    buf_puts(m->out, is_open       ? "<b class=\"badge dim\">? "
                     : is_doubtful ? "<b class=\"badge warn\">? "
                     : is_bad      ? "<b class=\"badge bad\">✕ "
                                   : "<b class=\"badge good\">✓ ");
    if (is_several) {
        num_put_u64(&m->text, is_bad ? summary->runs_failed.v : summary->runs.v);
        if (is_bad)
            units_put(&m->text, " of %u", summary->runs.v);
        put(m, is_bad ? " runs failed" : " runs");
    } else
        units_put_foreign(&m->text, verdict);
    markup_tag(m, "</b>\n");
}

static void put_header(struct markup *m, const struct summary *summary)
{
    markup_tag(m, "<header>\n<p class=\"brand\">Resource report</p>\n<div class=\"head\"><h1>");
    summary_put_name(&m->text, summary);
    markup_tag(m, "</h1>\n");
    put_badge(m, summary);
    markup_tag(m, "</div>\n");
    if (summary->verdict.present)
        units_put_foreign(&m->text, summary->verdict.text);
    markup_wrap(m, "<p class=\"verdict\">", "</p>\n");
    if (summary->result.present)
        summary_put_evidence(&m->text, summary);
    markup_wrap(m, "<p class=\"dim\">", "</p>\n");
    summary_put_command(&m->text, summary);
    markup_wrap(m, "<p class=\"command\"><code>", "</code></p>\n");
    put_facts(m, summary);
    markup_tag(m, "</header>\n");
}

/* A tile: label, value with its unit, a bar for a share of a limit, then lines of detail until its end. */
static void begin_tile(struct markup *m, const char *label, const char *of, struct opt_f64 share_pct)
{
    char unit[16] = "";
    const char *value = buf_cstr(&m->text), *blank = strchr(value, ' ');
    if (blank && !strchr(blank + 1, ' ') && str_copy(str_of(blank + 1), unit, sizeof(unit)))
        m->text.len = (size_t)(blank - value);
    units_put(m->out, "<div class=\"card\"><b class=\"label\">%s%s", label, of);
    markup_wrap(m, "</b> <span class=\"big\">", "");
    put(m, unit);
    markup_wrap(m, " <small>", "</small>");
    markup_tag(m, "</span>");
    if (!share_pct.has || !(share_pct.v >= 0))
        return;
    buf_printf(m->out, "<progress max=\"100\" value=\"%u\" aria-label=\"share of the limit\"%s></progress>",
        share_pct.v < 100 ? (unsigned)share_pct.v : 100U, share_pct.v > SHARE_HIGH_PCT ? " class=\"high\"" : "");
}

static void put_detail(struct markup *m)
{
    markup_wrap(m, "<div class=\"dim\">", "</div>");
}

static void end_tile(struct markup *m)
{
    markup_tag(m, "</div>\n");
}

static void put_cpu_tile(struct markup *m, const struct summary *summary)
{
    const struct summary_cpu *cpu = &summary->cpu;
    bool is_job = cpu->cores_mean.has;
    struct opt_f64 mean = is_job ? cpu->cores_mean : cpu->host_cores_mean;
    if (!cpu->present || !mean.has)
        return;
    units_put_count(&m->text, mean.v, "core");
    /* The bar is of the value above it, not of the P95 that limit_used_pct is. */
    bool has_share = is_job && cpu->limit_cores.has && cpu->limit_cores.v > 0;
    struct opt_f64 share = {has_share, has_share ? mean.v * 100 / cpu->limit_cores.v : 0};
    begin_tile(m, "Mean CPU", is_job ? " of the job" : " of the host", share);
    summary_put_amount(&m->text, "P95 ", 'f', is_job ? &cpu->cores_p95 : &cpu->host_cores_p95);
    summary_put_amount(&m->text, "peak ", 'f', is_job ? &cpu->cores_peak : &cpu->host_cores_peak);
    if (is_job && cpu->limit_cores.has)
        units_put(&m->text, " of %n", cpu->limit_cores.v);
    put_detail(m);
    summary_put_amount(&m->text, "wanted: P95 ", 'f', &cpu->wanted_p95);
    summary_put_amount(&m->text, "peak ", 'f', &cpu->wanted_peak);
    put_detail(m);
    summary_put_amount(&m->text, "", 't', &cpu->total_secs);
    if (m->text.len > 0)
        put(m, cpu->is_lower_bound.has && cpu->is_lower_bound.v ? " of CPU time or more" : " of CPU time");
    put_detail(m);
    if (cpu->throttled_secs.has && cpu->throttled_secs.v > 0)
        summary_put_amount(&m->text, "throttled for ", 't', &cpu->throttled_secs);
    put_detail(m);
    end_tile(m);
}

static void put_memory_tile(struct markup *m, const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    struct opt_f64 need = memory->present ? summary_memory_need(summary) : (struct opt_f64){0};
    bool is_job = summary_has_job(summary);
    struct opt_f64 most = is_job ? need : memory->host_used_peak_mib;
    if (!memory->present || !(is_job || most.has))
        return;
    /* 0: the job ended before it was seen. */
    if (most.has && most.v > 0)
        units_put_mib(&m->text, most.v);
    else
        put(m, "unknown");
    begin_tile(m, "Peak memory", is_job ? " of the job" : " of the host", memory->limit_used_pct);
    if (is_job)
        summary_put_memory_share(&m->text, summary);
    else
        summary_put_amount(&m->text, "of ", 'm', &memory->host_total_mib);
    put_detail(m);
    summary_put_amount(&m->text, "PSS ", 'm', &memory->pss_peak_mib);
    summary_put_amount(&m->text, "RSS ", 'm', &memory->rss_peak_mib);
    put_detail(m);
    if (summary_has_own_cgroup(summary))
        summary_put_amount(&m->text, "cgroup with page cache ", 'm', &memory->cgroup_peak_mib);
    put_detail(m);
    end_tile(m);
}

static struct opt_f64 sum_of(struct opt_u64 a, struct opt_u64 b)
{
    return (struct opt_f64){a.has || b.has, (double)(a.has ? a.v : 0) + (double)(b.has ? b.v : 0)};
}

static void put_flows(struct markup *m, const char *const names[2], const struct opt_u64 bytes[2])
{
    for (size_t i = 0; i < 2; i++) {
        struct opt_f64 value = opt_scaled(bytes[i], 1);
        summary_put_amount(&m->text, names[i], 'b', &value);
    }
}

static void put_flow_tile(struct markup *m, const char *label, const char *of, const char *const names[2],
    const struct opt_u64 own[2], const struct opt_u64 host[2])
{
    struct opt_f64 total = sum_of(own[0], own[1]);
    bool is_zero = !(total.v > 0) && !(host && sum_of(host[0], host[1]).v > 0);
    if (!total.has || is_zero)
        return;
    units_put_bytes(&m->text, total.v);
    begin_tile(m, label, of, (struct opt_f64){0});
    put_flows(m, names, own);
    put_detail(m);
    if (host && sum_of(host[0], host[1]).has) {
        put_flows(m, names, host);
        put(m, " by the host");
    }
    put_detail(m);
    end_tile(m);
}

static void put_flow_tiles(struct markup *m, const struct summary *summary)
{
    static const char *const disk_names[] = {"read ", "written "}, *const net_names[] = {"received ", "sent "};
    const struct summary_disk *disk = &summary->disk;
    const struct opt_u64 own[] = {disk->read_bytes, disk->write_bytes};
    const struct opt_u64 host[] = {disk->host_read_bytes, disk->host_write_bytes};
    const struct summary_network *network = &summary->network;
    const struct opt_u64 net[] = {network->received_bytes, network->sent_bytes};
    const struct opt_u64 host_net[] = {network->host_received_bytes, network->host_sent_bytes};
    if (disk->present && sum_of(own[0], own[1]).has)
        put_flow_tile(m, "Disk", " of the job", disk_names, own, host);
    else if (disk->present)
        put_flow_tile(m, "Disk", " of the host", disk_names, host, NULL);
    if (sum_of(net[0], net[1]).has)
        put_flow_tile(m, "Network", network->is_lower_bound.v ? " of the job, at least" : " of the job", net_names, net,
            host_net);
    else if (network->present)
        put_flow_tile(m, "Network", " of the host", net_names, host_net, NULL);
}

static void put_gpu_tiles(struct markup *m, const struct summary *summary)
{
    const struct summary_gpu *gpu = &summary->gpu;
    bool is_job = gpu->usage_mean.has;
    struct opt_f64 mean = is_job ? gpu->usage_mean : gpu->host_usage_mean;
    if (!gpu->present)
        return;
    if (mean.has) {
        units_put_count(&m->text, mean.v, "GPU");
        begin_tile(m, "Mean GPU", is_job ? " of the job" : " of the host", (struct opt_f64){0});
        summary_put_amount(&m->text, "peak ", 'f', is_job ? &gpu->usage_peak : &gpu->host_usage_peak);
        if (gpu->count.has && m->text.len > 0)
            units_put(&m->text, " of %u", gpu->count.v);
        put_detail(m);
        summary_put_amount(&m->text, "GPU memory ", 'm', is_job ? &gpu->vram_peak_mib : &gpu->host_vram_peak_mib);
        put_detail(m);
        put_names(m, &gpu->names);
        put_detail(m);
        end_tile(m);
    }
    if (gpu->energy_joules.has) {
        units_put_as(&m->text, 'j', gpu->energy_joules.v);
        begin_tile(m, "Energy", " of all GPUs", (struct opt_f64){0});
        put(m, "other work on them included");
        put_detail(m);
        end_tile(m);
    }
}

static void put_energy_tile(struct markup *m, const struct summary *summary)
{
    const struct summary_energy *energy = &summary->energy;
    bool is_job = energy->process_joules.has;
    struct opt_f64 shown = is_job ? energy->process_joules : energy->cpu_joules;
    if (!shown.has)
        return;
    units_put_as(&m->text, 'j', shown.v);
    begin_tile(m, "CPU energy", is_job ? " of the job" : " of the host", (struct opt_f64){0});
    if (is_job)
        summary_put_amount(&m->text, "of ", 'j', &energy->cpu_joules);
    summary_put_amount(&m->text, "idle ", 'j', &energy->idle_joules);
    summary_put_amount(&m->text, "mean ", 'w', &energy->mean_watts);
    if (energy->source)
        summary_put_in_brackets(&m->text, energy->source);
    put_detail(m);
    summary_put_amount(&m->text, "CO2 of the job ", 'g', &energy->carbon_grams);
    put_detail(m);
    end_tile(m);
}

/* The host's tasks that waited: the worst first. */
static void put_pressure_tile(struct markup *m, const struct summary *summary)
{
    const struct sample_pressure *pressure = &summary->pressure;
    static const char names[][8] = {"CPU ", "memory ", "I/O "};
    const struct opt_f64 secs[] = {pressure->cpu_some_secs, pressure->memory_some_secs, pressure->io_some_secs};
    double wall_secs = summary->wall_secs.has ? summary->wall_secs.v : 0;
    size_t worst = 3;
    for (size_t i = 0; i < 3; i++) {
        if (secs[i].has && secs[i].v > 0 && (worst == 3 || secs[i].v > secs[worst].v))
            worst = i;
    }
    if (!pressure->present || !(wall_secs > 0) || worst == 3)
        return;
    double share = secs[worst].v * 100 / wall_secs;
    units_put_pct(&m->text, share < 100 ? share : 100);
    begin_tile(m, "Waiting", " on the host", (struct opt_f64){0});
    put(m, "of the time a task waited for ");
    buf_append(&m->text, names[worst], strlen(names[worst]) - 1);
    put_detail(m);
    for (size_t i = 0; i < 3; i++) {
        if (i == worst || !secs[i].has)
            continue;
        share = secs[i].v * 100 / wall_secs;
        struct opt_f64 shown = some_f64(share < 100 ? share : 100);
        summary_put_amount(&m->text, names[i], 'p', &shown);
    }
    put_detail(m);
    end_tile(m);
}

static void put_tracker_tile(struct markup *m, const struct summary *summary)
{
    const struct summary_tracker *tracker = &summary->tracker;
    if (!tracker->present || !tracker->cpu_pct.has)
        return;
    bool is_short = summary_is_share_noise(summary);
    if (is_short)
        units_put_secs(&m->text, tracker->cpu_secs.v);
    else
        units_put_pct(&m->text, tracker->cpu_pct.v);
    begin_tile(m, "Cost of tracking", "", (struct opt_f64){0});
    put(m, is_short ? "of CPU time" : "of a core");
    if (!is_short)
        summary_put_amount(&m->text, "CPU time ", 't', &tracker->cpu_secs);
    summary_put_amount(&m->text, "memory ", 'm', &tracker->rss_peak_mib);
    put_detail(m);
    end_tile(m);
}

static void put_tiles(struct markup *m, const struct summary *summary)
{
    markup_tag(m, "<div class=\"tiles\">\n");
    m->binds_units = true;
    put_cpu_tile(m, summary);
    put_memory_tile(m, summary);
    put_flow_tiles(m, summary);
    put_gpu_tiles(m, summary);
    put_energy_tile(m, summary);
    put_pressure_tile(m, summary);
    put_tracker_tile(m, summary);
    markup_tag(m, "</div>\n");
    m->binds_units = false;
}

/* The picture goes when the script draws. */
static void put_charts(struct markup *m, const struct summary *summary, const struct series *series)
{
    struct chart_view view;
    chart_view_init(&view, summary, series, 1);
    if (view.run_count == 0)
        return;
    markup_tag(m, "<section id=\"over\">\n<h2>Over time</h2>\n");
    if (chart_view_has_history(&view)) {
        markup_tag(
            m, "<noscript><p class=\"dim\">Scripts are off: this is a picture of the main charts.</p></noscript>\n");
        markup_tag(m, "<div id=\"picture\" class=\"card\">");
        svg_put_element(m->out, summary, series, PICTURE_COLUMNS, "");
        markup_tag(m, "</div>\n");
    } else
        markup_tag(m, "<p class=\"dim\">A chart needs two samples: there is no history to draw.</p>\n");
    markup_tag(m, "</section>\n");
}

void body_put(struct buf *buf, const struct summary *summary, const struct series *series)
{
    struct markup m;
    markup_init(&m, buf);
    put_header(&m, summary);
    put_tiles(&m, summary);
    body_put_sizing(&m, summary);
    put_charts(&m, summary, series);
    body_put_tables(&m, summary);
    markup_tag(&m, "<footer>Made by resource-tracker ");
    units_put_foreign(&m.text, summary->version);
    markup_tag(&m, " · one file that loads nothing and opens offline</footer>\n");
    markup_fini(&m);
}

void body_put_title(struct buf *buf, const struct summary *summary)
{
    struct markup m;
    markup_init(&m, buf);
    summary_put_name(&m.text, summary);
    markup_tag(&m, " · resources");
    markup_fini(&m);
}
