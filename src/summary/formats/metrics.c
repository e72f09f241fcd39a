/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The summary as metrics of Prometheus: the text format 0.0.4, as node_exporter's textfile collector, the Pushgateway
 * and GitLab read it. No timestamps, and nothing that only OpenMetrics has, which the first two refuse.
 */
#include <math.h>
#include <string.h>

#include "base/num.h"
#include "base/text.h"
#include "summary/condition.h"
#include "summary/write.h"

#define PREFIX "resource_tracker_"

enum { LABEL_BYTES_MAX = 256 };

/* One line: rows of one name follow each other. What ends in _total only grows during a run, and is a counter. */
static const struct metric {
    char name[28], label[22], key[28], help[72];
} metrics[] = {
    {"cpu_seconds_total", "mode=\"user\"", "cpu.user_secs", "CPU time of the process tree."},
    {"cpu_seconds_total", "mode=\"system\"", "cpu.system_secs", ""},
    {"cpu_wait_seconds_total", "", "cpu.wait_secs", "Time threads were ready to run and waited for a CPU."},
    {"throttled_seconds_total", "", "cpu.throttled_secs", "Time the cgroup was held back by its CPU limit."},
    {"cores_mean", "", "cpu.cores_mean", "Cores used by the process tree, mean over the run."},
    {"cores_p95", "", "cpu.cores_p95", "Cores the process tree stayed at or below for 95 % of the run."},
    {"cores_peak", "", "cpu.cores_peak", "Most cores used in an interval."},
    {"cores_wanted_p95", "", "cpu.wanted_p95", "Cores it would have used without waiting, 95th percentile."},
    {"cores_limit", "", "cpu.limit_cores", "Cores the process tree may use."},
    {"memory_rss_peak_bytes", "", "memory.rss_peak_mib", "Highest resident memory of the process tree."},
    {"memory_pss_peak_bytes", "", "memory.pss_peak_mib", "The same, shared pages counted once."},
    {"memory_need_bytes", "", "memory.need_mib", "Highest memory that counts for limits and sizes."},
    {"memory_limit_bytes", "", "memory.limit_mib", "Memory the process tree may use."},
    {"disk_bytes_total", "direction=\"read\"", "disk.read_bytes", "Bytes read from and written to storage."},
    {"disk_bytes_total", "direction=\"write\"", "disk.write_bytes", ""},
    {"network_bytes_total", "direction=\"receive\"", "network.received_bytes", "Bytes received and sent."},
    {"network_bytes_total", "direction=\"transmit\"", "network.sent_bytes", ""},
    {"processes_peak", "", "cpu.processes_peak", "Most processes of the tree in a sample."},
    {"gpu_usage_mean", "", "gpu.usage_mean", "GPUs used by the process tree, mean over the run."},
    {"gpu_memory_peak_bytes", "", "gpu.vram_peak_mib", "Highest GPU memory of the process tree."},
    {"energy_joules_total", "", "energy.job_joules", "Energy that the job used, as far as it is known."},
    {"oom_kills_total", "", "result.oom_kills", "Processes of the cgroup killed by the OOM killer."},
    {"wall_seconds", "", "wall_secs", "How long the run took, or has taken so far."},
    {"exit_code", "", "result.exit_code", "Exit status of the command; not there while it runs."},
    {"last_run_timestamp_seconds", "", "finished_ms", "When the run ended, or was last looked at (Unix time)."},
};

/* In quotes: backslash, quote and LF are escaped, all else is harmless already. */
static void put_label(struct buf *buf, const char *name, const char *value)
{
    char clean[LABEL_BYTES_MAX];
    (void)text_clean(str_of(value), TEXT_WORDS, "...", clean, sizeof(clean));
    buf_printf(buf, "%s=\"", name);
    for (const char *p = clean; *p; p++) {
        if (*p == '"' || *p == '\\')
            buf_putc(buf, '\\');
        buf_putc(buf, *p);
    }
    buf_putc(buf, '"');
}

static void put_row(struct buf *buf, const struct metric *row, const char *job_name, double value)
{
    bool has_both = row->label[0] && job_name;
    buf_printf(
        buf, PREFIX "%s%s%s%s", row->name, row->label[0] || job_name ? "{" : "", row->label, has_both ? "," : "");
    if (job_name)
        put_label(buf, "job_name", job_name);
    buf_puts(buf, row->label[0] || job_name ? "} " : " ");
    bool is_whole = strstr(row->name, "_bytes") || (value < 1e15 && (double)(int64_t)value >= value);
    (void)(is_whole ? num_put_fixed(buf, value, 0) : num_put_short(buf, value));
    buf_putc(buf, '\n');
}

void summary_put_metrics(struct buf *buf, const struct summary *summary)
{
    const char *described = "";
    for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
        const struct metric *row = &metrics[i];
        struct opt_f64 value = condition_value(str_of(row->key), summary);
        if (!value.has || !isfinite(value.v))
            continue;
        if (strcmp(described, row->name) != 0) {
            const struct metric *first = row;
            while (!first->help[0])
                first--;
            bool is_counter = strcmp(row->name + strlen(row->name) - 6, "_total") == 0;
            buf_printf(buf, "# HELP " PREFIX "%s %s\n# TYPE " PREFIX "%s %s\n", row->name, first->help, row->name,
                is_counter ? "counter" : "gauge");
            described = row->name;
        }
        put_row(buf, row, summary->job_name, value.v);
    }
    buf_puts(buf, "# EOF\n");
}
