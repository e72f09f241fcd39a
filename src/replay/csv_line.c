/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns are found by name, in any order: system_x is x, and a unit _mib behind it makes no difference but for used
 * memory, which older files without the unit count otherwise. In a file of processes only, which the Python package
 * writes, x is process_x. Cells may be quoted, as other tools write them back.
 * 1767225601,88,1.910,0.090,1.9802,23527,161,11,405,256,163,8192,12599296,270.553174,185.065828,85.487346,0,0,,,
 */
#include "replay/replay_internal.h"

#include <errno.h>
#include <stddef.h>

enum cell_kind {
    CELL_REAL,
    CELL_WHOLE,
    CELL_CONVERTED, /* into bytes or shares: up to an amount whose bytes fit and whose shares add up again */
};

/* Those that are copied to a member of the sample, and those that need more than that. */
/* clang-format off */
#define COLUMNS(copied, other) \
    other(TIMESTAMP, "timestamp", CELL_REAL) \
    copied(PROCESSES, "processes", CELL_WHOLE, cpu.process_count) \
    copied(UTIME, "utime", CELL_REAL, cpu.utime_secs) \
    copied(STIME, "stime", CELL_REAL, cpu.stime_secs) \
    copied(CPU_USAGE, "cpu_usage", CELL_REAL, cpu.utilization_pct) \
    copied(MEMORY_FREE, "memory_free", CELL_REAL, memory.free_mib) \
    copied(MEMORY_USED, "memory_used", CELL_REAL, memory.used_mib) \
    copied(MEMORY_BUFFERS, "memory_buffers", CELL_REAL, memory.buffers_mib) \
    copied(MEMORY_CACHED, "memory_cached", CELL_REAL, memory.cached_mib) \
    copied(MEMORY_ACTIVE, "memory_active", CELL_REAL, memory.active_mib) \
    copied(MEMORY_INACTIVE, "memory_inactive", CELL_REAL, memory.inactive_mib) \
    other(DISK_READ, "disk_read_bytes", CELL_WHOLE) \
    other(DISK_WRITE, "disk_write_bytes", CELL_WHOLE) \
    other(SPACE_TOTAL, "disk_space_total_gb", CELL_CONVERTED) \
    other(SPACE_USED, "disk_space_used_gb", CELL_CONVERTED) \
    other(SPACE_FREE, "disk_space_free_gb", CELL_CONVERTED) \
    other(NET_RECV, "net_recv_bytes", CELL_WHOLE) \
    other(NET_SENT, "net_sent_bytes", CELL_WHOLE) \
    other(GPU_USAGE, "gpu_usage", CELL_CONVERTED) \
    other(GPU_VRAM, "gpu_vram", CELL_CONVERTED) \
    other(GPU_UTILIZED, "gpu_utilized", CELL_WHOLE) \
    copied(PROCESS_PID, "process_pid", CELL_WHOLE, tracked_pid) \
    copied(PROCESS_CHILDREN, "process_children", CELL_WHOLE, cpu.process_child_count) \
    copied(PROCESS_UTIME, "process_utime", CELL_REAL, cpu.process_utime_secs) \
    copied(PROCESS_STIME, "process_stime", CELL_REAL, cpu.process_stime_secs) \
    copied(PROCESS_CPU_USAGE, "process_cpu_usage", CELL_REAL, cpu.process_cores_used) \
    copied(PROCESS_MEMORY, "process_memory", CELL_REAL, cpu.process_pss_mib) \
    copied(PROCESS_DISK_READ, "process_disk_read_bytes", CELL_WHOLE, cpu.process_disk_read_bytes) \
    copied(PROCESS_DISK_WRITE, "process_disk_write_bytes", CELL_WHOLE, cpu.process_disk_write_bytes) \
    copied(PROCESS_GPU_USAGE, "process_gpu_usage", CELL_REAL, cpu.process_gpu_usage) \
    copied(PROCESS_GPU_VRAM, "process_gpu_vram", CELL_REAL, cpu.process_gpu_vram_mib) \
    copied(PROCESS_GPU_UTILIZED, "process_gpu_utilized", CELL_WHOLE, cpu.process_gpu_utilized) \
    copied(MEMORY_UNAVAILABLE, "memory_used_mib", CELL_REAL, memory.unavailable_mib) \
    copied(STEAL, "steal_time", CELL_REAL, cpu.steal_secs)
/* clang-format on */

#define COLUMN_ID(id, ...) COLUMN_##id,
#define COPIED_ROW(id, name, kind, member) {name, kind, offsetof(struct sample, member)},
#define OTHER_ROW(id, name, kind) {name, kind, 0},

enum csv_column {
    COLUMNS(COLUMN_ID, COLUMN_ID) COLUMN_COUNT, /* and the number of those that are not known */
};

static const struct {
    char name[25];
    unsigned char kind; /* enum cell_kind */
    unsigned short offset; /* 0: other */
} known_columns[COLUMN_COUNT] = {COLUMNS(COPIED_ROW, OTHER_ROW)};

static const double bytes_per_gb = 1e9, converted_max = 4e9;

enum { COLUMN_NAME_BYTES = 48 };

union cell {
    struct opt_u64 whole;
    struct opt_f64 real;
};

struct row {
    union cell cells[COLUMN_COUNT];
    uint64_t mistyped;
};

/*
 * Cuts the next cell off *rest, without its quotes; a quote inside stays doubled. *ret_is_last where nothing follows.
 * False where the quotes are broken.
 */
static bool next_cell(struct str *rest, struct str *ret_cell, bool *ret_is_last)
{
    bool is_quoted = str_take(rest, '"');
    size_t n = 0;
    if (is_quoted) {
        while (n < rest->n && (rest->p[n] != '"' || (n + 1 < rest->n && rest->p[n + 1] == '"')))
            n += rest->p[n] == '"' ? 2 : 1;
        if (n >= rest->n)
            return false;
    } else {
        const char *comma = memchr(rest->p, ',', rest->n);
        n = comma ? (size_t)(comma - rest->p) : rest->n;
    }
    *ret_cell = str_trim((struct str){rest->p, n});
    str_skip(rest, n + is_quoted);
    *ret_is_last = rest->n == 0;
    return *ret_is_last || str_take(rest, ',');
}

static unsigned char column_named(struct str name)
{
    unsigned char column = 0;
    while (column < COLUMN_COUNT && !str_eq(str_of(known_columns[column].name), name))
        column++;
    return column;
}

static unsigned char column_of(struct str name, bool is_of_processes)
{
    static const struct str unit = {"_mib", 4};
    static const struct str process = {"process_", 8};
    char longer[COLUMN_NAME_BYTES];
    if (is_of_processes && !str_eq(name, STR("timestamp")) && name.n <= sizeof(longer) - process.n) {
        memcpy(longer, process.p, process.n);
        memcpy(longer + process.n, name.p, name.n);
        name = (struct str){longer, process.n + name.n};
    }
    if (str_starts(name, STR("system_")))
        str_skip(&name, sizeof("system_") - 1);
    unsigned char column = column_named(name);
    if (column < COLUMN_COUNT || name.n <= unit.n || memcmp(name.p + name.n - unit.n, unit.p, unit.n) != 0)
        return column;
    return column_named((struct str){name.p, name.n - unit.n});
}

/* Does it hold a column of that name? */
static bool has_name(struct str rest, struct str wanted)
{
    struct str name = {NULL, 0};
    bool is_last = false;
    for (size_t i = 0; i < CSV_LINE_COLUMNS_MAX && !is_last; i++) {
        if (!next_cell(&rest, &name, &is_last))
            return false;
        if (str_eq(name, wanted))
            return true;
    }
    return false;
}

/* The columns of a header; 0 where it is none. */
static size_t read_header(struct str line, unsigned char ret_columns[static CSV_LINE_COLUMNS_MAX])
{
    bool has[COLUMN_COUNT + 1] = {false};
    struct str rest = str_trim(line);
    bool is_of_processes = has_name(rest, STR("pid"));
    bool is_last = false;
    size_t count = 0;
    for (; !is_last; count++) {
        struct str name;
        if (count == CSV_LINE_COLUMNS_MAX || !next_cell(&rest, &name, &is_last))
            return 0;
        unsigned char column = column_of(name, is_of_processes);
        if (column < COLUMN_COUNT && has[column])
            return 0;
        has[column] = true;
        ret_columns[count] = column;
    }
    return has[COLUMN_TIMESTAMP] && (has[COLUMN_CPU_USAGE] || has[COLUMN_PROCESS_CPU_USAGE]) ? count : 0;
}

bool csv_line_is_header(struct str line)
{
    static const struct str essential = {"cpu_usage", 9};
    unsigned char columns[CSV_LINE_COLUMNS_MAX];
    return memmem(line.p, line.n, essential.p, essential.n) && read_header(line, columns) > 0;
}

struct csv_shape csv_line_shape(struct str line)
{
    struct csv_shape shape = {.is_text = true};
    struct str rest = str_trim(line), cell;
    struct json_number number;
    for (bool is_last = false; !is_last; shape.cells++) {
        if (!next_cell(&rest, &cell, &is_last))
            return (struct csv_shape){0};
        bool is_number = cell.n > 0 && json_scan_number(cell.p, cell.p + cell.n, &number) == cell.p + cell.n;
        shape.is_row |= is_number && shape.cells == 0;
        shape.is_text &= cell.n > 0 && !is_number;
        shape.has_timestamp |= str_eq(cell, STR("timestamp"));
    }
    shape.is_row &= shape.cells > 1;
    return shape;
}

int csv_line_set_header(struct csv_line *csv, struct str line)
{
    unsigned char columns[CSV_LINE_COLUMNS_MAX];
    size_t count = read_header(line, columns);
    if (count == 0)
        return -EBADMSG;
    csv->count = count;
    memcpy(csv->columns, columns, count);
    struct str rest = str_trim(line);
    struct str name;
    bool is_last = false;
    for (size_t i = 0; i < count; i++) {
        (void)next_cell(&rest, &name, &is_last);
        if (columns[i] == COLUMN_COUNT)
            name_list_add(&csv->unknown, name);
    }
    return 0;
}

static void read_cell(struct row *row, unsigned char column, struct str text)
{
    struct json_number number;
    union cell *cell = &row->cells[column];
    unsigned char kind = known_columns[column].kind;
    double max = kind == CELL_CONVERTED ? converted_max : JSON_NUMBER_MAX;
    double real;
    if (text.n == 0)
        return;
    bool is_number = json_scan_number(text.p, text.p + text.n, &number) == text.p + text.n;
    if (kind == CELL_WHOLE)
        cell->whole.has = is_number && json_number_u64(&number, &cell->whole.v);
    else if (is_number && json_number_f64(&number, &real) && real >= 0 && real <= max)
        cell->real = some_f64(real);
    row->mistyped += !cell->whole.has;
}

static bool read_row(const struct csv_line *csv, struct str line, struct row *row)
{
    struct str rest = str_trim(line);
    bool is_last = false;
    size_t count = 0;
    for (; !is_last; count++) {
        struct str text;
        if (count == csv->count || !next_cell(&rest, &text, &is_last))
            return false;
        if (csv->columns[count] < COLUMN_COUNT)
            read_cell(row, csv->columns[count], text);
    }
    return count == csv->count;
}

/* Whole bytes of a larger unit. */
static struct opt_u64 bytes_of(const struct row *row, enum csv_column column, double unit)
{
    struct opt_f64 amount = row->cells[column].real;
    return amount.has ? some_u64((uint64_t)(amount.v * unit + 0.5)) : (struct opt_u64){0};
}

static void fill_members(const struct row *row, struct sample *sample)
{
    for (size_t i = 0; i < COLUMN_COUNT; i++) {
        if (known_columns[i].offset == 0)
            continue;
        memcpy((char *)sample + known_columns[i].offset, &row->cells[i], sizeof(row->cells[i]));
        if ((i >= COLUMN_MEMORY_FREE && i <= COLUMN_MEMORY_INACTIVE) || i == COLUMN_MEMORY_UNAVAILABLE)
            sample->memory.present |= row->cells[i].real.has;
    }
    sample->cpu.present = true;
}

/* Space is written to the 1000 bytes; where used is not total - free for that, both move a little to make it so. */
static void fill_mount(const struct row *row, struct sample_mount *mount)
{
    enum { STEP = 1000, SHIFT = 300 };
    struct opt_u64 total = bytes_of(row, COLUMN_SPACE_TOTAL, bytes_per_gb);
    struct opt_u64 used = bytes_of(row, COLUMN_SPACE_USED, bytes_per_gb);
    struct opt_u64 free = bytes_of(row, COLUMN_SPACE_FREE, bytes_per_gb);
    *mount =
        (struct sample_mount){.mount_point = "all", .total_bytes = total, .used_bytes = used, .available_bytes = free};
    if (!total.has || !used.has || !free.has || total.v < SHIFT || free.v < SHIFT)
        return;
    uint64_t sum = used.v + free.v;
    if (sum == total.v + STEP) {
        mount->total_bytes.v += SHIFT;
        mount->available_bytes.v -= SHIFT;
    } else if (sum + STEP == total.v) {
        mount->total_bytes.v -= SHIFT;
        mount->available_bytes.v += SHIFT;
    }
}

static void fill_disk(struct csv_line *csv, const struct row *row, struct sample_list *list)
{
    struct sample_disk *disk = &csv->disk;
    struct sample_mount *mount = &csv->mount;
    fill_mount(row, mount);
    *disk = (struct sample_disk){.device = "all",
        .read_bytes_delta = row->cells[COLUMN_DISK_READ].whole,
        .write_bytes_delta = row->cells[COLUMN_DISK_WRITE].whole};
    if (mount->total_bytes.has || mount->available_bytes.has)
        disk->mounts = (struct sample_list){.present = true, .count = 1, .items = mount};
    if (disk->mounts.present || disk->read_bytes_delta.has || disk->write_bytes_delta.has)
        *list = (struct sample_list){.present = true, .count = 1, .items = disk};
}

static void fill_network(struct csv_line *csv, const struct row *row, struct sample_list *list)
{
    struct sample_network *network = &csv->network;
    *network = (struct sample_network){.interface = "all",
        .rx_bytes_delta = row->cells[COLUMN_NET_RECV].whole,
        .tx_bytes_delta = row->cells[COLUMN_NET_SENT].whole};
    if (network->rx_bytes_delta.has || network->tx_bytes_delta.has)
        *list = (struct sample_list){.present = true, .count = 1, .items = network};
}

/* So many GPUs as were in use, at least one where anything is known; none at all where all is 0. */
static void fill_gpus(struct csv_line *csv, const struct row *row, struct sample_list *list)
{
    static const double hardly_any_pct = 1e-6; /* in use, and yet 0.0000 */
    struct opt_f64 usage = row->cells[COLUMN_GPU_USAGE].real;
    struct opt_u64 vram = bytes_of(row, COLUMN_GPU_VRAM, BYTES_PER_MIB);
    struct opt_u64 utilized = row->cells[COLUMN_GPU_UTILIZED].whole;
    if (!usage.has && !vram.has)
        return;
    *list = (struct sample_list){.present = true, .items = csv->gpus};
    if (usage.has && usage.v <= 0 && vram.has && vram.v == 0 && utilized.v == 0)
        return;
    list->count = utilized.v == 0 ? 1 : utilized.v < CSV_LINE_GPUS_MAX ? (size_t)utilized.v : CSV_LINE_GPUS_MAX;
    double share = usage.v * 100 / (double)list->count;
    if (utilized.v > 0 && share < hardly_any_pct)
        share = hardly_any_pct;
    for (size_t i = 0; i < list->count; i++) {
        struct sample_gpu *gpu = &csv->gpus[i];
        *gpu = (struct sample_gpu){0};
        if (usage.has)
            gpu->utilization_pct = some_f64(share);
        if (vram.has)
            gpu->vram_used_bytes = some_u64(vram.v / list->count + (i < vram.v % list->count));
    }
}

static bool fill_time(const struct row *row, struct sample *sample)
{
    static const double limit_secs = 253402300799.0; /* the end of the year 9999 */
    struct opt_f64 secs = row->cells[COLUMN_TIMESTAMP].real;
    if (!secs.has || secs.v < 0 || secs.v > limit_secs)
        return false;
    sample->timestamp_ms = some_i64((int64_t)(secs.v * 1e3 + 0.5));
    sample->timestamp_secs = some_i64(sample->timestamp_ms.v / 1000);
    return true;
}

int csv_line_parse(struct csv_line *csv, struct str line, struct sample *sample)
{
    struct row row = {0};
    *sample = (struct sample){0};
    if (!read_row(csv, line, &row) || !fill_time(&row, sample))
        return -EBADMSG;
    fill_members(&row, sample);
    fill_disk(csv, &row, &sample->disk);
    fill_network(csv, &row, &sample->network);
    fill_gpus(csv, &row, &sample->gpu);
    csv->mistyped += row.mistyped;
    csv->has_process_memory |= sample->cpu.process_pss_mib.has;
    return 0;
}
