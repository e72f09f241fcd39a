/* SPDX-License-Identifier: Apache-2.0 */
/* The summary as a benchmark file of Snakemake: its columns, its units, its words for what is unknown. */
#include "base/num.h"
#include "summary/condition.h"
#include "summary/write.h"

#define MIB 1048576.0

/* In the order of the header. key "": the tracker does not measure it. */
static const struct column {
    char name[10], key[20];
    double unit;
} columns[] = {
    {"max_rss", "memory.rss_peak_mib", MIB},
    {"max_vms", "", 1},
    {"max_uss", "", 1},
    {"max_pss", "memory.pss_peak_mib", MIB},
    {"io_in", "disk.read_bytes", MIB},
    {"io_out", "disk.write_bytes", MIB},
    {"mean_load", "cpu.cores_mean", .01},
    {"cpu_time", "cpu.total_secs", 1},
};

enum { COLUMNS = sizeof(columns) / sizeof(columns[0]) };

static void put_secs(struct buf *buf, double secs)
{
    (void)num_put_fixed(buf, secs, 4);
}

static void put_time(struct buf *buf, double secs)
{
    unsigned long long all = (unsigned long long)secs, days = all / 86400;
    if (days > 0)
        buf_printf(buf, "%llu day%s, ", days, days > 1 ? "s" : "");
    buf_printf(buf, "%llu:%02llu:%02llu", all / 3600 % 24, all / 60 % 60, all % 60);
}

static void put_value(struct buf *buf, const struct column *column, const struct summary *summary, const char *unknown)
{
    struct opt_f64 value = column->key[0] ? condition_value(str_of(column->key), summary) : (struct opt_f64){0};
    if (value.has)
        (void)num_put_fixed(buf, value.v / column->unit, 2);
    else
        buf_puts(buf, unknown);
}

static void put_json(struct buf *buf, const struct summary *summary, double secs)
{
    buf_puts(buf, "{\"s\": ");
    put_secs(buf, secs);
    buf_puts(buf, ", \"h:m:s\": \"");
    put_time(buf, secs);
    buf_putc(buf, '"');
    for (int i = 0; i < COLUMNS; i++) {
        buf_printf(buf, ", \"%s\": ", columns[i].name);
        put_value(buf, &columns[i], summary, "\"NA\"");
    }
    buf_puts(buf, "}\n");
}

void summary_put_snakemake(struct buf *buf, const struct summary *summary, bool is_json)
{
    struct opt_f64 wall = condition_value(STR("wall_secs"), summary);
    double secs = wall.has ? wall.v : 0;
    if (is_json) {
        put_json(buf, summary, secs);
        return;
    }
    buf_puts(buf, "s\th:m:s");
    for (int i = 0; i < COLUMNS; i++)
        buf_printf(buf, "\t%s", columns[i].name);
    buf_putc(buf, '\n');
    put_secs(buf, secs);
    buf_putc(buf, '\t');
    put_time(buf, secs);
    for (int i = 0; i < COLUMNS; i++) {
        buf_putc(buf, '\t');
        put_value(buf, &columns[i], summary, "NA");
    }
    buf_putc(buf, '\n');
}
