/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows as tables: an item says which member of the summary is written in which unit, and where in the row. What
 * takes more than that (processes, devices, the machine, tags) is in blocks.c.
 */
#include "summary/rows.h"

#include <string.h>

#include "base/num.h"
#include "summary/units.h"

/* What stands at an offset of the summary, and how it is written; or what to do without one. */
enum kind {
    KIND_END, /* the row is complete, and this is its label */
    KIND_TEXT, /* the text as it is */
    KIND_TAIL, /* the same, where the item before was put */
    KIND_FLAG, /* the same, where a struct opt_bool is true */
    KIND_SOURCE, /* const char *, in brackets */
    KIND_GPUS, /* struct summary_gpu */
    KIND_COUNT, /* struct opt_u64, as the next three */
    KIND_NOUN, /* the text is what is counted */
    KIND_CPUS,
    KIND_BYTES,
    KIND_FIGURE, /* struct opt_f64, as all below */
    KIND_CORES,
    KIND_PCT,
    KIND_SECS,
    KIND_MIB,
    KIND_JOULES,
    KIND_WATTS,
    KIND_GRAMS,
};

enum rule {
    RULE_ASIDE = 1, /* stands beside the value; of a KIND_END: the aside may stand alone */
    RULE_WITH = 2, /* only where there is a value already */
    RULE_ELSE = 4, /* only where there is none yet */
    RULE_SOME = 8, /* only where it is not 0; of a KIND_END: the row is left out where all its amounts are 0 */
};

struct item {
    char text[20]; /* before the amount; with a comma before it unless it begins with a blank */
    unsigned char kind, rule;
    unsigned short offset; /* in struct summary */
};

#define AT(member) (unsigned short)offsetof(struct summary, member)

static const struct item job_cpu[] = {
    {"", KIND_SECS, 0, AT(cpu.total_secs)},
    {" or more", KIND_FLAG, RULE_WITH, AT(cpu.is_lower_bound)},
    {"user ", KIND_SECS, RULE_ASIDE, AT(cpu.user_secs)},
    {"system ", KIND_SECS, RULE_ASIDE, AT(cpu.system_secs)},
    {"CPU time", KIND_END, 0, 0},

    {"mean ", KIND_FIGURE, 0, AT(cpu.cores_mean)},
    {"P95 ", KIND_FIGURE, 0, AT(cpu.cores_p95)},
    {"peak ", KIND_FIGURE, 0, AT(cpu.cores_peak)},
    {"unknown", KIND_TEXT, RULE_ELSE, 0},
    {"P95 is ", KIND_PCT, RULE_ASIDE, AT(cpu.limit_used_pct)},
    {" of ", KIND_CORES, RULE_ASIDE, AT(cpu.limit_cores)},
    {"", KIND_SOURCE, RULE_ASIDE, AT(cpu.limit_source)},
    {"cores", KIND_END, 0, 0},
};

static const struct item job_wanted[] = {
    {"mean ", KIND_FIGURE, 0, AT(cpu.wanted_mean)},
    {"P95 ", KIND_FIGURE, 0, AT(cpu.wanted_p95)},
    {"peak ", KIND_FIGURE, 0, AT(cpu.wanted_peak)},
    {"waited ", KIND_SECS, RULE_ASIDE | RULE_SOME, AT(cpu.wait_secs)},
    {" for a CPU", KIND_TAIL, RULE_ASIDE, 0},
    {"wanted", KIND_END, 0, 0},
};

static const struct item job_throttled[] = {
    {"", KIND_SECS, RULE_SOME, AT(cpu.throttled_secs)},
    {"by the CPU limit", KIND_TEXT, RULE_ASIDE | RULE_WITH, 0},
    {"throttled", KIND_END, 0, 0},
};

static const struct item job_io[] = {
    {"", KIND_COUNT, RULE_SOME, AT(memory.minor_faults)},
    {" minor", KIND_TAIL, 0, 0},
    {"", KIND_COUNT, RULE_SOME, AT(memory.major_faults)},
    {" major", KIND_TAIL, 0, 0},
    {"switches ", KIND_COUNT, RULE_ASIDE | RULE_SOME, AT(cpu.voluntary_switches)},
    {" voluntary", KIND_TAIL, RULE_ASIDE, 0},
    {"", KIND_COUNT, RULE_ASIDE | RULE_SOME, AT(cpu.involuntary_switches)},
    {" involuntary", KIND_TAIL, RULE_ASIDE, 0},
    {"faults", KIND_END, 0, 0},

    {"read ", KIND_BYTES, 0, AT(disk.read_bytes)},
    {"written ", KIND_BYTES, 0, AT(disk.write_bytes)},
    {"disk", KIND_END, RULE_SOME, 0},

    {"received ", KIND_BYTES, 0, AT(network.received_bytes)},
    {"sent ", KIND_BYTES, 0, AT(network.sent_bytes)},
    {"at least: TCP only", KIND_FLAG, RULE_ASIDE, AT(network.is_lower_bound)},
    {"network", KIND_END, RULE_SOME, 0},
};

static const struct item job_energy[] = {
    {"", KIND_JOULES, 0, AT(energy.process_joules)},
    {"of ", KIND_JOULES, RULE_ASIDE, AT(energy.cpu_joules)},
    {"idle ", KIND_JOULES, RULE_ASIDE | RULE_SOME, AT(energy.idle_joules)},
    {"", KIND_SOURCE, RULE_ASIDE, AT(energy.source)},
    {"CPU energy", KIND_END, RULE_SOME, 0},

    {"", KIND_GRAMS, 0, AT(energy.carbon_grams)},
    {" of CO2", KIND_TAIL, 0, 0},
    {"for ", KIND_JOULES, RULE_ASIDE, AT(energy.job_joules)},
    {" at ", KIND_FIGURE, RULE_ASIDE, AT(energy.carbon_g_per_kwh)},
    {" g/kWh", KIND_TAIL, RULE_ASIDE, 0},
    {"carbon", KIND_END, 0, 0},
};

static const struct item job_gpu[] = {
    {"mean ", KIND_FIGURE, 0, AT(gpu.usage_mean)},
    {"P95 ", KIND_FIGURE, 0, AT(gpu.usage_p95)},
    {"peak ", KIND_FIGURE, 0, AT(gpu.usage_peak)},
    {"unknown", KIND_TEXT, RULE_ELSE, 0},
    {"of ", KIND_GPUS, RULE_ASIDE, AT(gpu)},
    {"GPU", KIND_END, RULE_SOME, 0},
};

static const struct item job_vram[] = {
    {"peak ", KIND_MIB, 0, AT(gpu.vram_peak_mib)},
    {" of ", KIND_MIB, RULE_WITH, AT(gpu.vram_total_mib)},
    {"VRAM", KIND_END, RULE_SOME, 0},
};

static const struct item gpu_energy[] = {
    {"", KIND_JOULES, RULE_SOME, AT(gpu.energy_joules)},
    {"of all GPUs", KIND_TEXT, RULE_ASIDE | RULE_WITH, 0},
    {"", KIND_SOURCE, RULE_ASIDE, AT(gpu.energy_source)},
    {"energy", KIND_END, 0, 0},
};

static const struct item host_rows[] = {
    {"mean ", KIND_FIGURE, 0, AT(cpu.host_cores_mean)},
    {"P95 ", KIND_FIGURE, 0, AT(cpu.host_cores_p95)},
    {"peak ", KIND_FIGURE, 0, AT(cpu.host_cores_peak)},
    {"of ", KIND_CPUS, RULE_ASIDE, AT(machine.cpus)},
    {"cores", KIND_END, 0, 0},

    {"mean ", KIND_MIB, 0, AT(memory.host_used_mean_mib)},
    {"peak ", KIND_MIB, 0, AT(memory.host_used_peak_mib)},
    {"of ", KIND_MIB, RULE_ASIDE, AT(memory.host_total_mib)},
    {"swap ", KIND_MIB, RULE_ASIDE | RULE_SOME, AT(memory.host_swap_used_peak_mib)},
    {"memory", KIND_END, 0, 0},

    {"read ", KIND_BYTES, 0, AT(disk.host_read_bytes)},
    {"written ", KIND_BYTES, 0, AT(disk.host_write_bytes)},
    {"disk", KIND_END, RULE_SOME, 0},

    {"received ", KIND_BYTES, 0, AT(network.host_received_bytes)},
    {"sent ", KIND_BYTES, 0, AT(network.host_sent_bytes)},
    {"network", KIND_END, RULE_SOME, 0},

    {"CPU ", KIND_SECS, RULE_SOME, AT(pressure.cpu_some_secs)},
    {"memory ", KIND_SECS, RULE_SOME, AT(pressure.memory_some_secs)},
    {"I/O ", KIND_SECS, RULE_SOME, AT(pressure.io_some_secs)},
    {"time in which a", KIND_TEXT, RULE_ASIDE | RULE_WITH, 0},
    {" process waited", KIND_TEXT, RULE_ASIDE | RULE_WITH, 0},
    {"pressure", KIND_END, 0, 0},
};

static const struct item host_gpu[] = {
    {"mean ", KIND_FIGURE, 0, AT(gpu.host_usage_mean)},
    {"peak ", KIND_FIGURE, 0, AT(gpu.host_usage_peak)},
    {"GPU", KIND_END, RULE_SOME, 0},

    {"peak ", KIND_MIB, 0, AT(gpu.host_vram_peak_mib)},
    {" of ", KIND_MIB, RULE_WITH, AT(gpu.vram_total_mib)},
    {"VRAM", KIND_END, RULE_SOME, 0},
};

static const struct item host_energy[] = {
    {"CPUs ", KIND_JOULES, 0, AT(energy.cpu_joules)},
    {"machine ", KIND_JOULES, 0, AT(energy.platform_joules)},
    {"mean ", KIND_WATTS, RULE_ASIDE, AT(energy.mean_watts)},
    {"", KIND_SOURCE, RULE_ASIDE, AT(energy.source)},
    {"energy", KIND_END, RULE_SOME, 0},
};

/* One of the two begins the row of the tracker. */
static const struct item tracker_share[] = {
    {"", KIND_PCT, 0, AT(tracker.cpu_pct)},
    {" of a core", KIND_TAIL, 0, 0},
};

static const struct item tracker_secs[] = {
    {"CPU ", KIND_SECS, 0, AT(tracker.cpu_secs)},
};

static const struct item tracker_rest[] = {
    {"", KIND_MIB, 0, AT(tracker.rss_peak_mib)},
    {"sample", KIND_NOUN, RULE_ASIDE, AT(samples)},
    {"every ", KIND_SECS, RULE_ASIDE, AT(interval_secs)},
    {"", KIND_COUNT, RULE_ASIDE | RULE_SOME, AT(missed_samples)},
    {" missed", KIND_TAIL, RULE_ASIDE, 0},
    {"tracker", KIND_END, RULE_ASIDE, 0},
};

void summary_rows_init(struct summary_rows *rows, void (*put)(struct summary_rows *rows, const char *label))
{
    *rows = (struct summary_rows){.machine_label = "machine", .put = put};
    buf_init(&rows->value, SUMMARY_ROWS_BYTES_MAX);
    buf_init(&rows->aside, SUMMARY_ROWS_BYTES_MAX);
    buf_init(&rows->tail, SUMMARY_ROWS_BYTES_MAX);
}

void summary_rows_fini(struct summary_rows *rows)
{
    buf_fini(&rows->value);
    buf_fini(&rows->aside);
    buf_fini(&rows->tail);
}

void summary_rows_end(struct summary_rows *rows, const char *label)
{
    if (rows->value.len > 0)
        rows->put(rows, label);
    buf_clear(&rows->value);
    buf_clear(&rows->aside);
    buf_clear(&rows->tail);
    rows->shape = SUMMARY_ROW_LIST;
}

void summary_put_part(struct buf *buf, const char *text)
{
    if (buf->len == 0)
        text += *text == ' ';
    else if (*text != ' ')
        buf_puts(buf, ", ");
    buf_puts(buf, text);
}

void summary_put_in_brackets(struct buf *buf, const char *text)
{
    units_put(buf, " (%x)", text);
}

void summary_put_gpus(struct buf *buf, const char *before, struct opt_u64 count, const struct sample_list *list)
{
    const char *const *names = list->items;
    size_t kinds = list->present ? list->count : 0;
    const char *between = ": ";
    if (!count.has && kinds == 0)
        return;
    summary_put_part(buf, before);
    size_t start = buf->len;
    if (count.has && kinds == 1) {
        units_put_whole(buf, count.v);
        between = " x ";
    } else if (count.has)
        units_put_count(buf, (double)count.v, "GPU");
    for (size_t i = 0; i < kinds && buf->len - start < UNITS_FOREIGN_BYTES; i++) {
        units_put(buf, "%s%x", buf->len > start ? between : "", names[i]);
        between = ", ";
    }
}

static struct opt_f64 read_amount(enum kind kind, const void *at)
{
    return kind <= KIND_BYTES ? opt_scaled(*(const struct opt_u64 *)at, 1) : *(const struct opt_f64 *)at;
}

static void put_unit(struct buf *buf, const struct item *item, double amount)
{
    static const char units[] = {[KIND_COUNT] = 'f',
        [KIND_CPUS] = 'n',
        [KIND_BYTES] = 'b',
        [KIND_FIGURE] = 'f',
        [KIND_CORES] = 'n',
        [KIND_PCT] = 'p',
        [KIND_SECS] = 't',
        [KIND_MIB] = 'm',
        [KIND_JOULES] = 'j',
        [KIND_WATTS] = 'w',
        [KIND_GRAMS] = 'g'};
    if (item->kind == KIND_NOUN)
        units_put_count(buf, amount, item->text);
    else
        units_put_as(buf, units[item->kind], amount);
}

void summary_put_amount(struct buf *buf, const char *before, char unit, const struct opt_f64 *value)
{
    if (!value->has)
        return;
    summary_put_part(buf, before);
    units_put_as(buf, unit, value->v);
}

/* True where something was put into `cell`, which is the value or the aside. */
static bool put_item(struct buf *cell, const struct item *item, const void *at)
{
    const char *source;
    const struct summary_gpu *gpu;
    size_t before = cell->len;
    struct opt_f64 amount;
    switch (item->kind) {
    case KIND_TEXT:
        summary_put_part(cell, item->text);
        break;
    case KIND_FLAG:
        if (((const struct opt_bool *)at)->v)
            buf_puts(cell, item->text);
        break;
    case KIND_SOURCE:
        source = *(const char *const *)at;
        if (source && cell->len > 0)
            summary_put_in_brackets(cell, source);
        break;
    case KIND_GPUS:
        gpu = at;
        summary_put_gpus(cell, item->text, gpu->count, &gpu->names);
        break;
    default:
        amount = read_amount((enum kind)item->kind, at);
        if (!amount.has || (item->rule & RULE_SOME && !(amount.v > 0)))
            break;
        summary_put_part(cell, item->kind == KIND_NOUN ? "" : item->text);
        put_unit(cell, item, amount.v);
    }
    return cell->len > before;
}

static void end_row(struct summary_rows *rows, const struct item *end, bool is_zero)
{
    if (rows->value.len == 0 && end->rule & RULE_ASIDE) {
        buf_append(&rows->value, rows->aside.data, rows->aside.len);
        buf_clear(&rows->aside);
    }
    if (is_zero && end->rule & RULE_SOME)
        buf_clear(&rows->value);
    summary_rows_end(rows, end->text);
}

struct table {
    const struct item *items;
    size_t count;
};

#define TABLE(items)                                                                                                   \
    {                                                                                                                  \
        (items), sizeof(items) / sizeof((items)[0])                                                                    \
    }

static const struct table tables[] = {
    [SUMMARY_JOB_CPU] = TABLE(job_cpu),
    [SUMMARY_JOB_WANTED] = TABLE(job_wanted),
    [SUMMARY_JOB_THROTTLED] = TABLE(job_throttled),
    [SUMMARY_JOB_IO] = TABLE(job_io),
    [SUMMARY_JOB_ENERGY] = TABLE(job_energy),
    [SUMMARY_JOB_GPU] = TABLE(job_gpu),
    [SUMMARY_JOB_VRAM] = TABLE(job_vram),
    [SUMMARY_GPU_ENERGY] = TABLE(gpu_energy),
    [SUMMARY_HOST] = TABLE(host_rows),
    [SUMMARY_HOST_GPU] = TABLE(host_gpu),
    [SUMMARY_HOST_ENERGY] = TABLE(host_energy),
    [SUMMARY_TRACKER_SHARE] = TABLE(tracker_share),
    [SUMMARY_TRACKER_SECS] = TABLE(tracker_secs),
    [SUMMARY_TRACKER] = TABLE(tracker_rest),
};

void summary_rows_put_table(struct summary_rows *rows, const struct summary *summary, enum summary_table which)
{
    const struct table *table = &tables[which];
    bool is_put = false;
    unsigned zeros = 0, others = 0; /* amounts of the value */
    for (const struct item *item = table->items; item < table->items + table->count; item++) {
        struct buf *cell = item->rule & RULE_ASIDE ? &rows->aside : &rows->value;
        const void *at = (const char *)summary + item->offset;
        if (item->kind == KIND_END) {
            end_row(rows, item, zeros > 0 && others == 0);
            zeros = others = 0;
        } else if (item->kind == KIND_TAIL)
            buf_puts(cell, is_put ? item->text : "");
        else if (!(item->rule & (rows->value.len > 0 ? RULE_ELSE : RULE_WITH))) {
            is_put = put_item(cell, item, at);
            bool counts = is_put && item->kind >= KIND_COUNT && !(item->rule & (RULE_ASIDE | RULE_WITH));
            bool is_zero = counts && !(read_amount((enum kind)item->kind, at).v > 0);
            zeros += counts && is_zero;
            others += counts && !is_zero;
        } else
            is_put = false;
    }
}
