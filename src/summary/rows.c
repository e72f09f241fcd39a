/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/rows.h"

#include <string.h>

#include "base/num.h"
#include "summary/units.h"

/* What stands at an offset of the summary, and how it is written; or what to do without one. */
enum kind {
    KIND_END, /* the row is complete, and this is its label */
    KIND_TEXT, /* the text as it is, where the row has a value */
    KIND_TAIL, /* the same, where the item before was put */
    KIND_UNKNOWN, /* the text as the value, where there is none */
    KIND_FLAG, /* the text where a struct opt_bool is true, behind a value */
    KIND_SOURCE, /* const char *, in brackets */
    KIND_PROCESSES,
    KIND_GPUS,
    KIND_COUNT, /* struct opt_u64 */
    KIND_BYTES, /* struct opt_u64 */
    KIND_FIGURE, /* struct opt_f64, as all below */
    KIND_CORES,
    KIND_PCT,
    KIND_SECS,
    KIND_MIB,
    KIND_JOULES,
};

enum rule {
    RULE_ASIDE = 1, /* stands beside the value */
    RULE_MAIN = 2, /* what the row is for: that of the tree */
    RULE_WITH = 4, /* only where something of that is known */
    RULE_ELSE = 8, /* only where nothing of it is */
    RULE_SOME = 16, /* only where it is not 0 */
};

struct item {
    char text[12]; /* before the amount; with a comma before it unless it begins with a blank */
    unsigned char kind, rule;
    unsigned short offset; /* in struct summary */
};

#define AT(member) (unsigned short)offsetof(struct summary, member)

static const struct item items[] = {
    {"", KIND_SECS, 0, AT(cpu.total_secs)},
    {" or more", KIND_FLAG, 0, AT(cpu.is_lower_bound)},
    {"user ", KIND_SECS, RULE_ASIDE, AT(cpu.user_secs)},
    {"system ", KIND_SECS, RULE_ASIDE, AT(cpu.system_secs)},
    {"CPU time", KIND_END, 0, 0},

    {"mean ", KIND_FIGURE, RULE_MAIN, AT(cpu.cores_mean)},
    {"P95 ", KIND_FIGURE, RULE_MAIN, AT(cpu.cores_p95)},
    {"peak ", KIND_FIGURE, RULE_MAIN, AT(cpu.cores_peak)},
    {"mean ", KIND_FIGURE, RULE_ELSE, AT(cpu.host_cores_mean)},
    {"P95 ", KIND_FIGURE, RULE_ELSE, AT(cpu.host_cores_p95)},
    {"peak ", KIND_FIGURE, RULE_ELSE, AT(cpu.host_cores_peak)},
    {"whole host", KIND_TEXT, RULE_ELSE | RULE_ASIDE, 0},
    {"unknown", KIND_UNKNOWN, 0, 0},
    {"", KIND_PCT, RULE_WITH | RULE_ASIDE, AT(cpu.limit_used_pct)},
    {" of ", KIND_CORES, RULE_WITH | RULE_ASIDE, AT(cpu.limit_cores)},
    {"", KIND_SOURCE, RULE_WITH | RULE_ASIDE, AT(cpu.limit_source)},
    {"throttled ", KIND_SECS, RULE_WITH | RULE_ASIDE | RULE_SOME, AT(cpu.throttled_secs)},
    {"cores", KIND_END, 0, 0},

    {"peak PSS ", KIND_MIB, RULE_MAIN, AT(memory.pss_peak_mib)},
    {"RSS ", KIND_MIB, RULE_WITH, AT(memory.rss_peak_mib)},
    {"peak RSS ", KIND_MIB, RULE_ELSE | RULE_MAIN, AT(memory.rss_peak_mib)},
    {"mean ", KIND_MIB, RULE_ELSE, AT(memory.host_used_mean_mib)},
    {"peak ", KIND_MIB, RULE_ELSE, AT(memory.host_used_peak_mib)},
    {" of ", KIND_MIB, RULE_ELSE, AT(memory.host_total_mib)},
    {"whole host", KIND_TEXT, RULE_ELSE | RULE_ASIDE, 0},
    {"swap ", KIND_MIB, RULE_ELSE | RULE_ASIDE | RULE_SOME, AT(memory.host_swap_used_peak_mib)},
    {"unknown", KIND_UNKNOWN, 0, 0},
    {"", KIND_PCT, RULE_WITH | RULE_ASIDE, AT(memory.limit_used_pct)},
    {" of ", KIND_MIB, RULE_WITH | RULE_ASIDE, AT(memory.limit_mib)},
    {"", KIND_SOURCE, RULE_WITH | RULE_ASIDE, AT(memory.limit_source)},
    {"host swap ", KIND_MIB, RULE_WITH | RULE_ASIDE | RULE_SOME, AT(memory.host_swap_used_peak_mib)},
    {"memory", KIND_END, 0, 0},

    {"", KIND_PROCESSES, 0, AT(memory.processes)},
    {"at ", KIND_SECS, RULE_ASIDE, AT(memory.processes_at_secs)},
    {"largest", KIND_END, 0, 0},

    {"peak ", KIND_MIB, 0, AT(memory.cgroup_peak_mib)},
    {"page cache", KIND_TEXT, RULE_ASIDE, 0},
    {" included", KIND_TEXT, RULE_ASIDE, 0},
    {"cgroup", KIND_END, 0, 0},

    {"read ", KIND_BYTES, RULE_MAIN, AT(disk.read_bytes)},
    {"written ", KIND_BYTES, RULE_MAIN, AT(disk.write_bytes)},
    {"read ", KIND_BYTES, RULE_ELSE, AT(disk.host_read_bytes)},
    {"written ", KIND_BYTES, RULE_ELSE, AT(disk.host_write_bytes)},
    {"whole host", KIND_TEXT, RULE_ELSE | RULE_ASIDE, 0},
    {"host: read ", KIND_BYTES, RULE_WITH | RULE_ASIDE, AT(disk.host_read_bytes)},
    {"written ", KIND_BYTES, RULE_WITH | RULE_ASIDE, AT(disk.host_write_bytes)},
    {"disk", KIND_END, 0, 0},

    {"received ", KIND_BYTES, 0, AT(network.host_received_bytes)},
    {"sent ", KIND_BYTES, 0, AT(network.host_sent_bytes)},
    {"whole host", KIND_TEXT, RULE_ASIDE, 0},
    {"network", KIND_END, 0, 0},

    {"mean ", KIND_FIGURE, RULE_MAIN, AT(gpu.usage_mean)},
    {"P95 ", KIND_FIGURE, RULE_MAIN, AT(gpu.usage_p95)},
    {"peak ", KIND_FIGURE, RULE_MAIN, AT(gpu.usage_peak)},
    {"mean ", KIND_FIGURE, RULE_ELSE, AT(gpu.host_usage_mean)},
    {"peak ", KIND_FIGURE, RULE_ELSE, AT(gpu.host_usage_peak)},
    {"whole host", KIND_TEXT, RULE_ELSE, 0},
    {"", KIND_GPUS, RULE_ASIDE, AT(gpu)},
    {"GPU", KIND_END, 0, 0},

    {"peak ", KIND_MIB, RULE_MAIN, AT(gpu.vram_peak_mib)},
    {"peak ", KIND_MIB, RULE_ELSE, AT(gpu.host_vram_peak_mib)},
    {" of ", KIND_MIB, 0, AT(gpu.vram_total_mib)},
    {"whole host", KIND_TEXT, RULE_ELSE | RULE_ASIDE, 0},
    {"VRAM", KIND_END, 0, 0},

    {"", KIND_JOULES, 0, AT(gpu.energy_joules)},
    {"all GPUs", KIND_TEXT, RULE_ASIDE, 0},
    {"", KIND_SOURCE, RULE_ASIDE, AT(gpu.energy_source)},
    {"energy", KIND_END, 0, 0},

    {"CPU ", KIND_SECS, 0, AT(pressure.cpu_some_secs)},
    {"memory ", KIND_SECS, 0, AT(pressure.memory_some_secs)},
    {"I/O ", KIND_SECS, 0, AT(pressure.io_some_secs)},
    {"whole host", KIND_TEXT, RULE_ASIDE, 0},
    {"waiting", KIND_END, 0, 0},

    {"", KIND_COUNT, 0, AT(samples)},
    {"", KIND_COUNT, 0, AT(missed_samples)},
    {" missed", KIND_TAIL, 0, 0},
    {"every ", KIND_SECS, RULE_ASIDE, AT(interval_secs)},
    {"samples", KIND_END, 0, 0},

    {"CPU ", KIND_SECS, 0, AT(tracker.cpu_secs)},
    {"memory ", KIND_MIB, 0, AT(tracker.rss_peak_mib)},
    {"", KIND_PCT, RULE_ASIDE, AT(tracker.cpu_pct)},
    {" of a core", KIND_TAIL, RULE_ASIDE, 0},
    {"tracker", KIND_END, 0, 0},
};

void summary_rows_init(struct summary_rows *rows, void (*put)(struct summary_rows *rows, const char *label))
{
    buf_init(&rows->value, SUMMARY_ROWS_BYTES_MAX);
    buf_init(&rows->aside, SUMMARY_ROWS_BYTES_MAX);
    rows->put = put;
}

void summary_rows_fini(struct summary_rows *rows)
{
    buf_fini(&rows->value);
    buf_fini(&rows->aside);
}

void summary_rows_end(struct summary_rows *rows, const char *label)
{
    if (rows->value.len > 0)
        rows->put(rows, label);
    buf_clear(&rows->value);
    buf_clear(&rows->aside);
}

static void put_part(struct buf *buf, const char *text)
{
    if (buf->len == 0)
        text += *text == ' ';
    else if (*text != ' ')
        buf_puts(buf, ", ");
    buf_puts(buf, text);
}

/* " (text)" */
static void put_in_brackets(struct buf *buf, const char *text)
{
    buf_puts(buf, " (");
    units_put_foreign(buf, text);
    buf_putc(buf, ')');
}

/* "python3 (4711) 1.37 GiB, sh (4710) 1.5 MiB" */
static void put_processes(struct buf *buf, const struct sample_list *list)
{
    enum { SHOWN = 3 };
    const struct sample_process *process = list->items;
    for (size_t i = 0; list->present && i < list->count && i < SHOWN; i++, process++) {
        put_part(buf, "");
        units_put_foreign(buf, process->name ? process->name : "?");
        if (process->pid.has) {
            char pid[NUM_TEXT_BYTES];
            *num_write_u64(pid, process->pid.v) = '\0';
            put_in_brackets(buf, pid);
        }
        if (process->rss_mib.has) {
            buf_putc(buf, ' ');
            units_put_mib(buf, process->rss_mib.v);
        }
    }
}

/* "2 x NVIDIA H200", or "3 GPUs: NVIDIA H200, NVIDIA L4" */
static void put_gpus(struct buf *buf, const struct summary_gpu *gpu)
{
    const char *const *names = gpu->names.items;
    size_t count = gpu->names.present ? gpu->names.count : 0;
    const char *between = ": ";
    if (gpu->present && gpu->count.has && count == 1) {
        num_put_u64(buf, gpu->count.v);
        between = " x ";
    } else if (gpu->present && gpu->count.has)
        units_put_count(buf, (double)gpu->count.v, "GPU");
    for (size_t i = 0; gpu->present && i < count && buf->len < UNITS_FOREIGN_BYTES; i++) {
        buf_puts(buf, buf->len > 0 ? between : "");
        units_put_foreign(buf, names[i]);
        between = ", ";
    }
}

static struct opt_f64 read_amount(enum kind kind, const void *at)
{
    return kind <= KIND_BYTES ? opt_scaled(*(const struct opt_u64 *)at, 1) : *(const struct opt_f64 *)at;
}

/* True where the amount is known, and now written. */
static bool put_amount(struct buf *buf, const struct item *item, const void *at)
{
    struct opt_f64 amount = read_amount((enum kind)item->kind, at);
    if (!amount.has || (item->rule & RULE_SOME && amount.v <= 0))
        return false;
    put_part(buf, item->text);
    if (item->kind == KIND_SECS)
        units_put_secs(buf, amount.v);
    else if (item->kind == KIND_MIB)
        units_put_mib(buf, amount.v);
    else if (item->kind == KIND_BYTES)
        units_put_bytes(buf, amount.v);
    else if (item->kind == KIND_CORES)
        units_put_count(buf, amount.v, "core");
    else if (item->kind == KIND_JOULES)
        units_put_joules(buf, amount.v);
    else
        units_put_figure(buf, amount.v);
    if (item->kind == KIND_PCT)
        buf_puts(buf, " %");
    return true;
}

/* True where something was put into `cell`, which is the value or what stands beside it. */
static bool put_item(struct summary_rows *rows, struct buf *cell, const struct item *item, const void *at)
{
    const char *source;
    switch (item->kind) {
    case KIND_TEXT:
        if (rows->value.len > 0)
            put_part(cell, item->text);
        break;
    case KIND_UNKNOWN:
        if (rows->value.len == 0)
            buf_puts(cell, item->text);
        break;
    case KIND_FLAG:
        if (rows->value.len > 0 && ((const struct opt_bool *)at)->v)
            buf_puts(cell, item->text);
        break;
    case KIND_SOURCE:
        source = *(const char *const *)at;
        if (source && cell->len > 0)
            put_in_brackets(cell, source);
        break;
    case KIND_PROCESSES:
        put_processes(cell, at);
        break;
    case KIND_GPUS:
        put_gpus(rows->value.len > 0 ? cell : &rows->value, at);
        break;
    default:
        return put_amount(cell, item, at);
    }
    return false;
}

void summary_rows_put(struct summary_rows *rows, const struct summary *summary)
{
    bool has_main = false;
    bool is_put = false;
    for (const struct item *item = items; item < items + sizeof(items) / sizeof(items[0]); item++) {
        struct buf *cell = item->rule & RULE_ASIDE ? &rows->aside : &rows->value;
        if (item->kind == KIND_END) {
            summary_rows_end(rows, item->text);
            has_main = false;
        } else if (item->kind == KIND_TAIL)
            buf_puts(cell, is_put ? item->text : "");
        else if (!(item->rule & (has_main ? RULE_ELSE : RULE_WITH))) {
            is_put = put_item(rows, cell, item, (const char *)summary + item->offset);
            has_main |= is_put && item->rule & RULE_MAIN;
        }
    }
}

static bool has_command(const struct summary *summary)
{
    return summary->command.present && summary->command.count > 0;
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
    if (summary->tracked_pid.has) {
        buf_puts(buf, "process ");
        num_put_u64(buf, summary->tracked_pid.v);
    }
    if (summary->hostname) {
        buf_puts(buf, summary->tracked_pid.has ? " on " : "host ");
        units_put_foreign(buf, summary->hostname);
    } else if (!summary->tracked_pid.has)
        buf_puts(buf, "unnamed");
}

/* As a shell reads it: in single quotes where a character needs them; a single quote itself becomes '\''. */
static void put_argument(struct buf *buf, const char *argument)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_@%+=:,./-";
    if (*argument && !argument[strspn(argument, plain)]) {
        units_put_foreign(buf, argument);
        return;
    }
    buf_putc(buf, '\'');
    size_t from = buf->len;
    units_put_foreign(buf, argument);
    for (size_t i = from; i < buf->len && buf_ok(buf); i++) {
        if (buf->data[i] != '\'' || !buf_reserve(buf, 3))
            continue;
        memmove(buf->data + i + 4, buf->data + i + 1, buf->len - i - 1);
        memcpy(buf->data + i, "'\\''", 4);
        buf->len += 3;
        i += 3;
    }
    buf_putc(buf, '\'');
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
    buf_puts(buf, " (");
    num_put_u64(buf, summary->runs_failed.v);
    buf_puts(buf, " failed)");
}

void summary_put_result(struct summary_rows *rows, const struct summary *summary)
{
    struct buf *value = &rows->value;
    const char *verdict = summary->result.verdict ? summary->result.verdict : SUMMARY_UNKNOWN;
    const char *before_wall = " after ";
    const char *behind_wall = "";
    if (summary->runs.has && summary->runs.v > 1) {
        put_runs(value, summary);
        before_wall = ", ";
        behind_wall = " on average";
    } else if (strcmp(verdict, SUMMARY_UNKNOWN) != 0)
        units_put_foreign(value, strcmp(verdict, SUMMARY_SIGNALED) == 0 ? "ended early" : verdict);
    else {
        buf_puts(value, "end unknown");
        before_wall = ", tracked for ";
    }
    if (summary->wall_secs.has) {
        buf_puts(value, before_wall);
        units_put_secs(value, summary->wall_secs.v);
        buf_puts(value, behind_wall);
    }
    if (summary->result.detail)
        units_put_foreign(&rows->aside, summary->result.detail);
    else if (summary->result.exit_code.has) {
        buf_puts(&rows->aside, "exit status ");
        num_put_i64(&rows->aside, summary->result.exit_code.v);
    }
}

void summary_put_sizes(struct buf *buf, const struct summary_sizing *sizing)
{
    size_t start = buf->len;
    if (sizing->vcpus.has)
        units_put_count(buf, (double)sizing->vcpus.v, "vCPU");
    if (sizing->memory_mib.has) {
        buf_puts(buf, buf->len > start ? ", " : "");
        units_put_mib(buf, (double)sizing->memory_mib.v);
        buf_puts(buf, " of memory");
    }
    if (!sizing->gpus.has)
        return;
    buf_puts(buf, buf->len > start ? ", " : "");
    if (sizing->gpus.v == 0) {
        buf_puts(buf, "no GPU");
        return;
    }
    units_put_count(buf, (double)sizing->gpus.v, "GPU");
    if (!sizing->vram_mib.has)
        return;
    buf_puts(buf, " with ");
    units_put_mib(buf, (double)sizing->vram_mib.v);
    buf_puts(buf, sizing->gpus.v > 1 ? " each" : "");
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
