/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live view as text, here at 80 columns:
 *   ── 1 min 23 s, 4 processes: python train.py ─────────────────────────────────
 *   MEM  [#---------] 512 MiB of 4 GiB      PSS 12.5 %      ▁▁▂▃▄▄▅▆▇█
 * Histories grow from the left until the line is full, and are scaled to the highest value that is shown.
 */
#include "live/live.h"

#include <strings.h>

#include "base/num.h"
#include "base/text.h"
#include "summary/units.h"

enum {
    LABEL_COLUMNS = 5,
    BAR_CELLS = 10,
    BAR_COLUMNS = BAR_CELLS + 3, /* brackets, and a blank behind it */
    VALUE_COLUMNS = 22,
    NOTE_COLUMNS = 16,
    LONG_NOTE_COLUMNS = 26,
    COLUMNS_FOR_BARS = 40,
    COLUMNS_FOR_HISTORY = 60,
    COLUMNS_FOR_NOTES = 80,
    COLUMNS_FOR_LONG_NOTES = 100,
    LEVELS = 8,
    COLUMNS_FOR_COUNT = 40, /* of processes */
    RULE_COLUMNS = 2, /* in front of the headline */
    NAME_COLUMNS_MAX = 48,
};

/* More is not true, and would not fit. */
#define NUMBER_MAX 1e5
#define MIB_MAX (1e4 * 1048576)
#define RATE_MAX 1e18
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

static struct opt_f64 rate_of(const struct sample_flow *flow)
{
    return (struct opt_f64){flow->rate.has, fixed4_value(flow->rate.v)};
}

/* Both directions together. */
static struct opt_f64 sum_of(const struct live_rates *rates)
{
    struct opt_f64 sum = rates->in;
    add_f64(&sum, rates->out);
    return sum;
}

static struct live_rates tree_disk_rates(const struct sample *sample)
{
    struct opt_f64 secs = sample->elapsed_secs;
    if (sample->actual_interval_ms.has)
        secs = some_f64(sample->actual_interval_ms.v / 1e3);
    if (!secs.has || secs.v <= 0)
        return (struct live_rates){0};
    return (struct live_rates){opt_scaled(sample->cpu.process_disk_read_bytes, secs.v),
        opt_scaled(sample->cpu.process_disk_write_bytes, secs.v)};
}

static struct opt_f64 count_of(const struct sample_list *list)
{
    return (struct opt_f64){list->present && list->count > 0, (double)list->count};
}

static void add_of_tree(struct live_block *block, const struct sample *sample, struct opt_f64 *ret_values)
{
    const struct sample_cpu *cpu = &sample->cpu;
    block->is_pss = cpu->process_pss_mib.has;
    block->vram_mib = cpu->process_gpu_vram_mib;
    block->processes = cpu->process_child_count;
    block->processes.v += !block->is_root_gone;
    if (sample->run.present)
        block->cpus_allowed = opt_scaled(sample->run.cpus_allowed, 1);
    struct opt_f64 cpus = opt_lower(block->cpus_allowed, count_of(&cpu->per_core_pct));
    block->limits[LIVE_CORES] = opt_lower(cpus, sample->cgroup.cpu_limit_cores);
    block->limits[LIVE_MEMORY] = opt_lower(sample->cgroup.memory_limit_mib, sample->memory.total_mib);
    block->disk = tree_disk_rates(sample);
    ret_values[LIVE_CORES] = cpu->process_cores_used;
    ret_values[LIVE_MEMORY] = block->is_pss ? cpu->process_pss_mib : cpu->process_rss_mib;
    ret_values[LIVE_GPUS] = cpu->process_gpu_usage;
}

static void add_of_host(struct live_block *block, const struct sample *sample, const struct sample_totals *totals,
    struct opt_f64 *ret_values)
{
    block->vram_mib = opt_scaled(totals->vram_used_bytes, BYTES_PER_MIB);
    block->is_pss = false;
    block->processes = sample->cpu.process_count;
    block->limits[LIVE_CORES] = count_of(&sample->cpu.per_core_pct);
    block->limits[LIVE_MEMORY] = sample->memory.total_mib;
    block->disk = (struct live_rates){rate_of(&totals->disk_read), rate_of(&totals->disk_write)};
    ret_values[LIVE_CORES] = sample->cpu.utilization_pct;
    ret_values[LIVE_MEMORY] = sample->memory.used_mib;
    ret_values[LIVE_GPUS] = totals->gpu_usage;
}

void live_block_add(struct live_block *block, const struct sample *sample, const struct sample_totals *totals)
{
    struct opt_f64 values[LIVE_HISTORIES] = {0};
    block->has_gpu |= sample->gpu.present && sample->gpu.count > 0;
    block->elapsed_secs = sample->elapsed_secs;
    block->is_tree = sample->tracked_pid.has;
    block->host_cores = sample->cpu.utilization_pct;
    block->limits[LIVE_GPUS] = count_of(&sample->gpu);
    if (block->is_tree)
        add_of_tree(block, sample, values);
    else
        add_of_host(block, sample, totals, values);
    block->network = (struct live_rates){rate_of(&totals->received), rate_of(&totals->sent)};
    values[LIVE_DISK] = sum_of(&block->disk);
    values[LIVE_NETWORK] = sum_of(&block->network);
    block->newest = (block->newest + 1) % LIVE_BLOCK_HISTORY;
    block->count += block->count < LIVE_BLOCK_HISTORY;
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

static void put_mib(struct buf *buf, double mib)
{
    put_sane(buf, units_put_mib, mib, MIB_MAX);
}

static void put_number(struct buf *buf, double number)
{
    put_sane(buf, units_put_figure, number, NUMBER_MAX);
}

static void put_rate(struct buf *buf, struct opt_f64 rate)
{
    if (!rate.has) {
        buf_putc(buf, '-');
        return;
    }
    put_sane(buf, units_put_bytes, rate.v, RATE_MAX);
    buf_puts(buf, "/s");
}

static const char nouns[LIVE_HISTORIES][5] = {[LIVE_CORES] = "core", [LIVE_GPUS] = "GPU"};

/* "1.02 of 2 cores", "512 MiB of 4 GiB", "0.5 cores" where there is nothing to compare it with. */
static void put_value(struct buf *buf, enum live_value history, struct opt_f64 value, struct opt_f64 limit)
{
    void (*put)(struct buf *, double) = history == LIVE_MEMORY ? put_mib : put_number;
    if (!value.has) {
        buf_putc(buf, '-');
        return;
    }
    put(buf, value.v);
    double last = value.v;
    if (limit.has && limit.v > 0) {
        buf_puts(buf, " of ");
        put(buf, limit.v);
        last = limit.v;
    }
    if (nouns[history][0])
        buf_printf(buf, " %s%s", nouns[history], last >= 1 && last <= 1 ? "" : "s");
}

static const struct live_rates *rates_of(const struct live_block *block, enum live_value history)
{
    return history == LIVE_DISK ? &block->disk : history == LIVE_NETWORK ? &block->network : NULL;
}

/* The network is the host's, whatever is tracked. */
static void put_rates(struct buf *buf, const struct live_block *block, enum live_value history, bool is_short)
{
    static const char labels[][2][9] = {{"read ", ", write "}, {"in ", ", out "}};
    const struct live_rates *rates = rates_of(block, history);
    struct opt_f64 sum = sum_of(rates);
    bool is_network = history == LIVE_NETWORK;
    if (is_network && block->is_tree && sum.has)
        buf_puts(buf, "host ");
    if (is_short || !sum.has) {
        put_rate(buf, sum);
        return;
    }
    buf_puts(buf, labels[is_network][0]);
    put_rate(buf, rates->in);
    buf_puts(buf, labels[is_network][1]);
    put_rate(buf, rates->out);
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

static struct opt_f64 share_of(const struct live_block *block, enum live_value history)
{
    struct opt_f64 value = block->histories[history][block->newest], limit = block->limits[history];
    if (!value.has || !limit.has || !(limit.v > 0) || !(value.v >= 0))
        return (struct opt_f64){0};
    return some_f64(value.v / limit.v);
}

static void put_max(struct buf *buf, const struct live_block *block, enum live_value history)
{
    struct opt_f64 max = highest(block->histories[history]);
    if (!max.has)
        return;
    buf_puts(buf, "max ");
    if (rates_of(block, history))
        put_rate(buf, max);
    else if (history == LIVE_MEMORY)
        put_mib(buf, max.v);
    else
        put_number(buf, max.v);
}

static void put_memory_note(struct buf *buf, const struct live_block *block, bool is_long)
{
    struct opt_f64 share = share_of(block, LIVE_MEMORY);
    if (block->is_tree)
        buf_puts(buf, block->is_pss ? "PSS " : "RSS ");
    if (share.has) {
        put_number(buf, share.v * 100);
        buf_puts(buf, is_long ? " %, " : " %");
    }
    if (share.has && is_long)
        put_max(buf, block, LIVE_MEMORY);
}

static void put_cores_note(struct buf *buf, const struct live_block *block, bool is_long)
{
    bool has_host = block->is_tree && block->host_cores.has;
    if (is_long || !has_host)
        put_max(buf, block, LIVE_CORES);
    if (is_long && has_host)
        buf_puts(buf, ", ");
    if (has_host) {
        buf_puts(buf, "host ");
        put_number(buf, block->host_cores.v);
    }
}

static void put_note(struct buf *buf, const struct live_block *block, enum live_value history, bool is_long)
{
    if (!block->histories[history][block->newest].has)
        return;
    if (history == LIVE_MEMORY) {
        put_memory_note(buf, block, is_long);
    } else if (history == LIVE_CORES) {
        put_cores_note(buf, block, is_long);
    } else if (history != LIVE_GPUS) {
        put_max(buf, block, history);
    } else if (block->vram_mib.has) {
        put_mib(buf, block->vram_mib.v);
        buf_puts(buf, " VRAM");
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

static void put_bar(struct buf *buf, struct opt_f64 share)
{
    if (!share.has) {
        pad(buf, buf->len, BAR_COLUMNS);
        return;
    }
    unsigned filled = share.v < 1 ? (unsigned)(share.v * BAR_CELLS + 0.5) : BAR_CELLS;
    buf_putc(buf, '[');
    for (unsigned i = 0; i < BAR_CELLS; i++)
        buf_putc(buf, i < filled ? '#' : '-');
    buf_puts(buf, "] ");
}

static unsigned note_columns(unsigned columns)
{
    return columns >= COLUMNS_FOR_LONG_NOTES ? LONG_NOTE_COLUMNS : columns >= COLUMNS_FOR_NOTES ? NOTE_COLUMNS : 0;
}

/* The first column (from 0) behind values and notes. */
static unsigned history_column(unsigned columns)
{
    if (columns < COLUMNS_FOR_HISTORY)
        return columns - 1;
    return LABEL_COLUMNS + BAR_COLUMNS + VALUE_COLUMNS + note_columns(columns);
}

/* The first column behind everything: the last one of the terminal stays free. */
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

/* A piece of what reaches from one column to another: how many columns it has, and where it begins. */
static unsigned piece_of(unsigned piece, unsigned *from, unsigned end)
{
    *from += piece * LIVE_BLOCK_PIECE_COLUMNS;
    unsigned left = *from < end ? end - *from : 0;
    return left < LIVE_BLOCK_PIECE_COLUMNS ? left : LIVE_BLOCK_PIECE_COLUMNS;
}

static void put_history(
    struct buf *buf, const struct live_block *block, enum live_value history, unsigned piece, unsigned columns)
{
    double scale = highest(block->histories[history]).v;
    if ((history == LIVE_CORES || history == LIVE_GPUS) && scale < 1)
        scale = 1;
    unsigned first = history_column(columns), from = first, end = end_column(columns);
    unsigned n = piece_of(piece, &from, end);
    if (n == 0)
        return;
    put_move(buf, from);
    size_t shown = block->count < end - first ? block->count : end - first;
    for (size_t i = from - first; i < from - first + n; i++) {
        size_t slot = (block->newest + LIVE_BLOCK_HISTORY + i + 1 - shown) % LIVE_BLOCK_HISTORY;
        put_level(buf, block, i < shown ? block->histories[history][slot] : (struct opt_f64){0}, scale);
    }
}

static void put_values(struct buf *buf, const struct live_block *block, enum live_value history, unsigned columns)
{
    static const char labels[LIVE_HISTORIES][LABEL_COLUMNS] = {"CPU", "MEM", "GPU", "DISK", "NET"};
    size_t from = buf->len;
    bool has_bar = columns >= COLUMNS_FOR_BARS;
    buf_puts(buf, labels[history]);
    pad(buf, from, LABEL_COLUMNS);
    if (rates_of(block, history)) {
        put_rates(buf, block, history, !has_bar);
    } else {
        struct opt_f64 value = block->histories[history][block->newest];
        if (has_bar && value.has)
            put_bar(buf, share_of(block, history));
        put_value(buf, history, value, block->limits[history]);
    }
    unsigned note = note_columns(columns);
    if (note > 0) {
        pad(buf, from, LABEL_COLUMNS + BAR_COLUMNS + VALUE_COLUMNS);
        put_note(buf, block, history, note == LONG_NOTE_COLUMNS);
    }
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

/* What runs, and for how long. */
static void put_state(struct buf *buf, const struct live_block *block, unsigned columns)
{
    if (block->count > 0 && !block->is_tree)
        buf_puts(buf, "host, ");
    if (block->elapsed_secs.has)
        units_put_secs(buf, whole_secs(block->elapsed_secs.v));
    if (columns < COLUMNS_FOR_COUNT)
        return;
    if (block->count == 0 && block->interval_secs > 0) {
        buf_puts(buf, block->elapsed_secs.has ? ", first sample at " : "first sample at ");
        units_put_secs(buf, block->interval_secs);
    } else if (block->processes.has && block->processes.v < COUNT_MAX) {
        buf_puts(buf, ", ");
        num_put_u64(buf, block->processes.v);
        buf_puts(buf, block->processes.v == 1 ? " process" : " processes");
    }
}

/* Returns the column behind it. */
static unsigned put_headline(struct buf *buf, const struct live_block *block, unsigned columns)
{
    put_rule(buf, block, RULE_COLUMNS);
    size_t from = buf->len;
    buf_putc(buf, ' ');
    put_state(buf, block, columns);
    buf_puts(buf, block->name[0] ? ": " : " ");
    unsigned used = RULE_COLUMNS + (unsigned)(buf->len - from), end = end_column(columns);
    unsigned left = used < end ? end - used : 0;
    used += put_name(buf, block, left < NAME_COLUMNS_MAX ? left : NAME_COLUMNS_MAX);
    buf_puts(buf, WIPE_RIGHT);
    return used + (block->name[0] != '\0');
}

/* Where the headline ends is known when it is put. */
static void put_rest_of_headline(struct buf *buf, const struct live_block *block, unsigned piece, unsigned columns)
{
    size_t before = buf->len;
    unsigned from = put_headline(buf, block, columns), end = end_column(columns);
    if (buf_ok(buf))
        buf->len = before;
    unsigned n = piece_of(piece, &from, end);
    if (n == 0)
        return;
    put_move(buf, from);
    put_rule(buf, block, n);
}

static void put_part(struct buf *buf, const struct live_block *block, unsigned line, unsigned part, unsigned columns)
{
    unsigned history = line - 1;
    history += history >= LIVE_GPUS && !block->has_gpu;
    if (line == 0 && part == LIVE_TEXT)
        (void)put_headline(buf, block, columns);
    else if (line == 0)
        put_rest_of_headline(buf, block, part - LIVE_PIECES, columns);
    else if (part == LIVE_TEXT)
        put_values(buf, block, (enum live_value)history, columns);
    else
        put_history(buf, block, (enum live_value)history, part - LIVE_PIECES, columns);
}

void live_block_put(struct buf *buf, const struct live_block *block, unsigned line, unsigned part, unsigned columns)
{
    if (columns < LIVE_BLOCK_COLUMNS_MIN || line >= live_block_lines(block) || part >= LIVE_PARTS)
        return;
    bool has_colour = block->style.has_colour && (line == 0 || part != LIVE_TEXT);
    size_t start = buf->len;
    if (has_colour)
        buf_puts(buf, line == 0 ? COLOUR_RULE : COLOUR_HISTORY);
    size_t before = buf->len;
    put_part(buf, block, line, part, columns);
    if (buf->len == before && buf_ok(buf))
        buf->len = start;
    else if (has_colour)
        buf_puts(buf, COLOUR_OFF);
}
