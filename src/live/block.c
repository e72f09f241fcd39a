/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view as text, at 60 columns or more with a note between value and history:
 *   ── 1 min 23 s, 4 processes: python train.py ─────
 *   MEM  512 MiB     PSS 12.5 % of 4 GiB     ▁▁▂▃▄▄▅▆▇█
 * Histories are scaled to the highest value that is kept, the newest is at the right.
 */
#include "live/live.h"

#include <strings.h>

#include "base/num.h"
#include "base/text.h"
#include "summary/units.h"

enum {
    LABEL_COLUMNS = 5,
    VALUE_COLUMNS = 12,
    NOTE_COLUMNS = 24,
    COLUMNS_FOR_NOTES = 60,
    LEVELS = 8,
    COLUMNS_FOR_COUNT = 40, /* of processes */
    RULE_COLUMNS = 2, /* in front of the headline */
    NAME_COLUMNS_MAX = 48,
};

/* More is not true, and would not fit. */
#define NUMBER_MAX 1e5
#define MIB_MAX (1e5 * 1048576)
#define RATE_MAX 1e20
#define TINY 0.001
#define SECS_MAX 1e9
#define COUNT_MAX 10000000

#define COLOUR_RULE "\033[2m"
#define COLOUR_HISTORY "\033[36m"
#define COLOUR_OFF "\033[m"
#define WIPE_RIGHT "\033[K"

static void add_f64(struct opt_f64 *sum, struct opt_f64 value)
{
    if (value.has)
        *sum = some_f64((sum->has ? sum->v : 0) + value.v);
}

static struct opt_f64 lower(struct opt_f64 a, struct opt_f64 b)
{
    if (!a.has || !b.has)
        return a.has ? a : b;
    return a.v < b.v ? a : b;
}

/* Both directions together. */
static struct opt_f64 rate_of(const struct sample_flow *in, const struct sample_flow *out)
{
    return (struct opt_f64){in->rate.has || out->rate.has, fixed4_value(in->rate.v) + fixed4_value(out->rate.v)};
}

static struct opt_f64 tree_disk_rate(const struct sample *sample)
{
    struct opt_f64 bytes = opt_scaled(sample->cpu.process_disk_read_bytes, 1), secs = sample->elapsed_secs;
    add_f64(&bytes, opt_scaled(sample->cpu.process_disk_write_bytes, 1));
    if (sample->actual_interval_ms.has)
        secs = some_f64(sample->actual_interval_ms.v / 1e3);
    if (!bytes.has || !secs.has || secs.v <= 0)
        return (struct opt_f64){0};
    return some_f64(bytes.v / secs.v);
}

static void add_of_tree(struct live_block *block, const struct sample *sample, struct opt_f64 *ret_values)
{
    const struct sample_cpu *cpu = &sample->cpu;
    block->is_pss = cpu->process_pss_mib.has;
    block->vram_mib = cpu->process_gpu_vram_mib;
    block->processes = cpu->process_child_count;
    block->processes.v++; /* the first process itself */
    block->memory_limit_mib = lower(sample->cgroup.memory_limit_mib, sample->memory.total_mib);
    ret_values[LIVE_CORES] = cpu->process_cores_used;
    ret_values[LIVE_MEMORY] = block->is_pss ? cpu->process_pss_mib : cpu->process_rss_mib;
    ret_values[LIVE_GPUS] = cpu->process_gpu_usage;
    ret_values[LIVE_DISK] = tree_disk_rate(sample);
}

static void add_of_host(struct live_block *block, const struct sample *sample, const struct sample_totals *totals,
    struct opt_f64 *ret_values)
{
    block->vram_mib = opt_scaled(totals->vram_used_bytes, BYTES_PER_MIB);
    block->is_pss = false;
    block->processes = sample->cpu.process_count;
    block->memory_limit_mib = sample->memory.total_mib;
    ret_values[LIVE_CORES] = sample->cpu.utilization_pct;
    ret_values[LIVE_MEMORY] = sample->memory.used_mib;
    ret_values[LIVE_GPUS] = totals->gpu_usage;
    ret_values[LIVE_DISK] = rate_of(&totals->disk_read, &totals->disk_write);
}

void live_block_add(struct live_block *block, const struct sample *sample, const struct sample_totals *totals)
{
    struct opt_f64 values[LIVE_HISTORIES] = {0};
    block->has_gpu |= sample->gpu.present && sample->gpu.count > 0;
    block->elapsed_secs = sample->elapsed_secs;
    block->is_tree = sample->tracked_pid.has;
    if (block->is_tree)
        add_of_tree(block, sample, values);
    else
        add_of_host(block, sample, totals, values);
    values[LIVE_NETWORK] = rate_of(&totals->received, &totals->sent);
    block->newest = (block->newest + 1) % LIVE_BLOCK_HISTORY;
    for (size_t i = 0; i < LIVE_HISTORIES; i++)
        block->histories[i][block->newest] = values[i];
}

unsigned live_block_lines(const struct live_block *block)
{
    return block->has_gpu ? LIVE_BLOCK_LINES_MAX : LIVE_BLOCK_LINES_MIN;
}

bool live_block_locale_is_utf8(const char *locale)
{
    for (const char *p = locale; p && *p; p++) {
        if (strncasecmp(p, "utf-8", 5) == 0 || strncasecmp(p, "utf8", 4) == 0)
            return true;
    }
    return false;
}

/* A dash for what cannot be true, and would not fit. What is shown as nothing is 0. */
static void put_sane(struct buf *buf, void (*put)(struct buf *buf, double value), double value, double max)
{
    if (value >= 0 && value < max)
        put(buf, value < TINY ? 0 : value);
    else
        buf_putc(buf, '-');
}

static void put_cores(struct buf *buf, double cores)
{
    units_put_count(buf, cores, "core");
}

static void put_gpus(struct buf *buf, double gpus)
{
    units_put_count(buf, gpus, "GPU");
}

static void put_mib(struct buf *buf, double mib)
{
    put_sane(buf, units_put_mib, mib, MIB_MAX);
}

static void put_value(struct buf *buf, enum live_value history, struct opt_f64 value)
{
    if (!value.has) {
        buf_putc(buf, '-');
        return;
    }
    switch (history) {
    case LIVE_CORES:
        put_sane(buf, put_cores, value.v, NUMBER_MAX);
        break;
    case LIVE_GPUS:
        put_sane(buf, put_gpus, value.v, NUMBER_MAX);
        break;
    case LIVE_MEMORY:
        put_mib(buf, value.v);
        break;
    case LIVE_DISK:
    case LIVE_NETWORK:
        put_sane(buf, units_put_bytes, value.v, RATE_MAX);
        buf_puts(buf, "/s");
        break;
    case LIVE_HISTORIES:
        break;
    }
}

/* The highest that is kept. */
static struct opt_f64 highest(const struct opt_f64 *history)
{
    struct opt_f64 max = {0};
    for (size_t i = 0; i < LIVE_BLOCK_HISTORY; i++) {
        if (history[i].has && (!max.has || history[i].v > max.v))
            max = history[i];
    }
    return max;
}

static void put_share(struct buf *buf, const struct live_block *block)
{
    struct opt_f64 used = block->histories[LIVE_MEMORY][block->newest];
    if (!used.has || !block->memory_limit_mib.has || block->memory_limit_mib.v <= 0)
        return;
    put_sane(buf, units_put_figure, used.v * 100 / block->memory_limit_mib.v, NUMBER_MAX);
    buf_puts(buf, " % of ");
    put_mib(buf, block->memory_limit_mib.v);
}

static void put_note(struct buf *buf, const struct live_block *block, enum live_value history)
{
    struct opt_f64 max = highest(block->histories[history]);
    if (history == LIVE_MEMORY) {
        if (block->is_tree)
            buf_puts(buf, block->is_pss ? "PSS " : "RSS ");
        put_share(buf, block);
    } else if (history == LIVE_GPUS) {
        if (!block->vram_mib.has)
            return;
        put_mib(buf, block->vram_mib.v);
        buf_puts(buf, " VRAM");
    } else if (max.has) {
        buf_puts(buf, "max ");
        put_value(buf, history, max);
    }
}

/* Blanks up to this many bytes behind `from`; what is put there is ASCII. */
static void pad(struct buf *buf, size_t from, size_t columns)
{
    while (buf_ok(buf) && buf->len < from + columns)
        buf_putc(buf, ' ');
}

static unsigned level_of(double value, double scale)
{
    double level = scale > 0 && value > 0 ? value / scale * LEVELS : 0;
    return level < LEVELS - 1 ? (unsigned)level : LEVELS - 1;
}

/* The first column (from 0) behind the values and notes. */
static unsigned history_column(unsigned columns)
{
    return LABEL_COLUMNS + VALUE_COLUMNS + (columns >= COLUMNS_FOR_NOTES ? NOTE_COLUMNS : 0);
}

/* The first column behind everything: the last one of the terminal stays free, and no part becomes too long. */
static unsigned end_column(unsigned columns)
{
    unsigned longest = history_column(columns) + LIVE_BLOCK_HISTORY;
    return columns - 1 < longest ? columns - 1 : longest;
}

static void put_move(struct buf *buf, unsigned column)
{
    buf_puts(buf, "\033[");
    num_put_u64(buf, column + 1);
    buf_putc(buf, 'G');
}

static void put_level(struct buf *buf, const struct live_block *block, struct opt_f64 value, double scale)
{
    static const char plain[LEVELS + 1] = ".:-=+*#%";
    unsigned level = value.has ? level_of(value.v, scale) : 0;
    if (!value.has)
        buf_putc(buf, ' ');
    else if (block->style.is_utf8) /* U+2581 and on */
        buf_append(buf, (const char[]){'\xe2', '\x96', (char)(0x81 + level)}, 3);
    else
        buf_putc(buf, plain[level]);
}

static void put_history(struct buf *buf, const struct live_block *block, enum live_value history, unsigned columns)
{
    double scale = highest(block->histories[history]).v;
    if ((history == LIVE_CORES || history == LIVE_GPUS) && scale < 1)
        scale = 1;
    unsigned from = history_column(columns);
    put_move(buf, from);
    for (unsigned age = end_column(columns) - from; age-- > 0;) {
        size_t slot = (block->newest + LIVE_BLOCK_HISTORY - age) % LIVE_BLOCK_HISTORY;
        put_level(buf, block, block->histories[history][slot], scale);
    }
}

static void put_values(struct buf *buf, const struct live_block *block, enum live_value history, unsigned columns)
{
    static const char labels[LIVE_HISTORIES][LABEL_COLUMNS] = {"CPU", "MEM", "GPU", "DISK", "NET"};
    size_t from = buf->len;
    buf_puts(buf, labels[history]);
    pad(buf, from, LABEL_COLUMNS);
    put_value(buf, history, block->histories[history][block->newest]);
    pad(buf, from, LABEL_COLUMNS + VALUE_COLUMNS);
    if (columns >= COLUMNS_FOR_NOTES)
        put_note(buf, block, history);
    pad(buf, from, history_column(columns));
}

/* Any name in at most so many columns; what is not ASCII may need two. Returns the columns it may need. */
static unsigned put_name(struct buf *buf, const struct live_block *block, unsigned columns)
{
    unsigned used = 0;
    for (struct str left = str_of(block->name); left.n > 0;) {
        size_t from = buf->len;
        size_t n = text_put_char(buf, left, block->style.is_utf8 ? TEXT_MARK : TEXT_ASCII);
        unsigned wide = buf->len - from > 1 ? 2 : 1;
        if (used + wide > columns) {
            buf->len = from;
            break;
        }
        str_skip(&left, n);
        used += wide;
    }
    return used;
}

static void put_rule(struct buf *buf, const struct live_block *block, unsigned columns)
{
    for (unsigned i = 0; i < columns; i++)
        buf_puts(buf, block->style.is_utf8 ? "\xe2\x94\x80" : "-");
}

static double whole_secs(double secs)
{
    return secs > 0 && secs < SECS_MAX ? (double)(uint64_t)secs : 0;
}

/* Returns the column behind it. */
static unsigned put_headline(struct buf *buf, const struct live_block *block, unsigned columns)
{
    put_rule(buf, block, RULE_COLUMNS);
    size_t from = buf->len;
    buf_putc(buf, ' ');
    if (block->elapsed_secs.has)
        units_put_secs(buf, whole_secs(block->elapsed_secs.v));
    if (block->processes.has && block->processes.v < COUNT_MAX && columns >= COLUMNS_FOR_COUNT) {
        buf_puts(buf, ", ");
        num_put_u64(buf, block->processes.v);
        buf_puts(buf, block->processes.v == 1 ? " process" : " processes");
    }
    buf_puts(buf, block->name[0] ? ": " : " ");
    unsigned used = RULE_COLUMNS + (unsigned)(buf->len - from);
    unsigned left = end_column(columns) - used;
    used += put_name(buf, block, left < NAME_COLUMNS_MAX ? left : NAME_COLUMNS_MAX);
    buf_puts(buf, WIPE_RIGHT);
    return used + (block->name[0] != '\0');
}

/* Where the headline ends is known when it is put. */
static void put_rest_of_headline(struct buf *buf, const struct live_block *block, unsigned columns)
{
    size_t before = buf->len;
    unsigned from = put_headline(buf, block, columns), end = end_column(columns);
    if (buf_ok(buf))
        buf->len = before;
    unsigned left = from < end ? end - from : 0;
    put_move(buf, end - left);
    put_rule(buf, block, left < LIVE_BLOCK_HISTORY ? left : LIVE_BLOCK_HISTORY);
}

static void put_part(
    struct buf *buf, const struct live_block *block, unsigned line, enum live_part part, unsigned columns)
{
    unsigned history = line - 1;
    history += history >= LIVE_GPUS && !block->has_gpu;
    if (line == 0 && part == LIVE_TEXT)
        (void)put_headline(buf, block, columns);
    else if (line == 0)
        put_rest_of_headline(buf, block, columns);
    else if (part == LIVE_TEXT)
        put_values(buf, block, (enum live_value)history, columns);
    else
        put_history(buf, block, (enum live_value)history, columns);
}

void live_block_put(
    struct buf *buf, const struct live_block *block, unsigned line, enum live_part part, unsigned columns)
{
    if (columns < LIVE_BLOCK_COLUMNS_MIN || line >= live_block_lines(block))
        return;
    bool has_colour = block->style.has_colour && (line == 0 || part == LIVE_HISTORY);
    if (has_colour)
        buf_puts(buf, line == 0 ? COLOUR_RULE : COLOUR_HISTORY);
    put_part(buf, block, line, part, columns);
    if (has_colour)
        buf_puts(buf, COLOUR_OFF);
}
