/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as metrics of OpenTelemetry (semantic conventions 1.44; what those have no name for begins with
 * resource_tracker). A row of a batch is a sample as JSON, in which counters stand as their sums since the start of the
 * run, so that rows that are lost take nothing from those behind them.
 */
#include <string.h>

#include "base/num.h"
#include "encode/json.h"
#include "stream/targets/otlp_internal.h"

#define AT(member) offsetof(struct sample, member)

/* Counters of one interval; those of MiB and the like are no counters. */
static const uint16_t real_counters[] = {AT(cpu.utime_secs), AT(cpu.stime_secs), AT(cpu.iowait_secs), AT(cpu.irq_secs),
    AT(cpu.steal_secs), AT(cpu.process_utime_secs), AT(cpu.process_stime_secs), AT(cpu.process_wait_secs),
    AT(pressure.cpu_some_secs), AT(pressure.memory_some_secs), AT(pressure.memory_full_secs), AT(pressure.io_some_secs),
    AT(pressure.io_full_secs), AT(cgroup.cpu_usage_secs), AT(cgroup.throttled_secs), AT(energy.process_joules),
    AT(tracker.cpu_secs)};
static const uint16_t whole_counters[] = {AT(cpu.process_disk_read_bytes), AT(cpu.process_disk_write_bytes),
    AT(cpu.process_net_recv_bytes), AT(cpu.process_net_sent_bytes), AT(cpu.process_major_faults),
    AT(tracker.missed_samples)};

#define COUNT(items) (sizeof(items) / sizeof((items)[0]))
_Static_assert(COUNT(real_counters) + COUNT(whole_counters) <= OTLP_SUMS_MAX, "raise OTLP_SUMS_MAX");

/*
 * Each line is a metric: name (one that begins with a dot is our own, see otlp_name), unit, kind, where its values are
 * in a row, the keys of its attributes ("-": none), and the values: KEY or KEY=ATTRIBUTES. Kinds: counter, gauge, sum
 * (that falls, too), host (a counter since the boot); then integer or real. Values of keys in _mib are turned into
 * bytes, those in _pct into fractions.
 */
static const char metrics[] =
    "process.cpu.time s cr cpu cpu.mode process_utime_secs=user process_stime_secs=system\n"
    "process.cpu.utilization 1 gr cpu - process_cores_used\n"
    "process.memory.usage By si cpu - process_rss_bytes\n"
    "process.disk.io By ci cpu disk.io.direction process_disk_read_bytes=read process_disk_write_bytes=write\n"
    "process.network.io By ci cpu network.io.direction process_net_recv_bytes=receive "
    "process_net_sent_bytes=transmit\n"
    "process.thread.count {thread} si cpu - process_thread_count\n"
    "process.paging.faults {fault} ci cpu system.paging.fault.type process_major_faults=major\n"
    "process.uptime s gr - - elapsed_secs\n"
    ".process.child.count {process} si cpu - process_child_count\n"
    ".process.memory.pss By si cpu - process_pss_bytes\n"
    ".process.cpu.wait s cr cpu - process_wait_secs\n"
    ".process.cpu.wanted {cpu} gr cpu - process_cores_wanted\n"
    ".process.gpu.usage {gpu} gr cpu - process_gpu_usage\n"
    ".process.gpu.memory By si cpu - process_gpu_vram_mib\n"
    ".process.energy J cr energy - process_joules\n"
    ".pressure.time s cr pressure resource,kind cpu_some_secs=cpu,some memory_some_secs=memory,some "
    "memory_full_secs=memory,full io_some_secs=io,some io_full_secs=io,full\n"
    "container.cpu.time s cr cgroup - cpu_usage_secs\n"
    "container.memory.usage By si cgroup - memory_used_mib\n"
    ".cgroup.cpu.throttled_time s cr cgroup - throttled_secs\n"
    ".cgroup.memory.limit By si cgroup - memory_limit_mib\n"
    ".tracker.cpu.time s cr tracker - cpu_secs\n"
    ".tracker.missed_samples {sample} ci tracker - missed_samples\n"
    "hw.gpu.utilization 1 gr gpu - utilization_pct\n"
    "hw.gpu.memory.usage By si gpu - vram_used_bytes\n"
    "hw.gpu.memory.limit By si gpu - vram_total_bytes\n"
    "hw.power W gr gpu - power_watts\n"
    "hw.temperature Cel gr gpu - temperature_celsius\n"
    "system.cpu.time s cr cpu cpu.mode utime_secs=user stime_secs=system iowait_secs=iowait irq_secs=interrupt "
    "steal_secs=steal\n"
    "system.memory.usage By si memory system.memory.state used_mib=used free_mib=free buffers_mib=buffers "
    "cached_mib=cached\n"
    "system.memory.limit By si memory - total_mib\n"
    "system.memory.linux.available By si memory - available_mib\n"
    "system.paging.usage By si memory system.paging.state swap_used_mib=used\n"
    "system.disk.io By hi disk disk.io.direction read_bytes_total=read write_bytes_total=write\n"
    "system.filesystem.usage By si mounts system.filesystem.state used_bytes=used available_bytes=free\n"
    "system.filesystem.limit By si mounts - total_bytes\n"
    "system.network.io By hi network network.io.direction rx_bytes_total=receive tx_bytes_total=transmit\n"
    "system.network.errors {error} hi network network.io.direction rx_errors=receive tx_errors=transmit\n"
    "system.network.packet.dropped {packet} hi network network.io.direction rx_dropped=receive tx_dropped=transmit\n";

/* Attributes of what stands in a list: where it is, and KEY=ATTRIBUTE. A mount has those of its disk, too. */
static const char list_attributes[] =
    "gpu uuid=hw.id name=hw.name\n"
    "disk device=system.device\n"
    "mounts mount_point=system.filesystem.mountpoint filesystem=system.filesystem.type\n"
    "network interface=network.interface.name\n";

/* Of Metric, Sum, Gauge and NumberDataPoint. */
enum { METRIC = 2, NAME = 1, UNIT = 3, GAUGE = 5, SUM = 7, POINTS = 1, TEMPORALITY = 2, MONOTONIC = 3 };
enum { START = 2, TIME = 3, REAL = 4, INTEGER = 6, ATTRIBUTES = 7 };
enum { DELTA = 1, CUMULATIVE = 2 };
enum { MOMENTS_MS = 1000 }; /* so many samples of one moment may stand behind it */
#define WHOLE_MAX 9.2e18 /* below 2^63 */

bool otlp_is_delta(const struct settings *settings)
{
    const char *wish = env_get(settings->environment, "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE");
    return wish && (wish[0] == 'd' || wish[0] == 'D');
}

static void add_up(struct otlp_sums *sums, struct sample *sample)
{
    for (size_t i = 0; i < COUNT(real_counters); i++) {
        struct opt_f64 *value = (struct opt_f64 *)((char *)sample + real_counters[i]);
        if (value->has)
            value->v = sums->sums[i] += value->v;
    }
    for (size_t i = 0; i < COUNT(whole_counters); i++) {
        struct opt_u64 *value = (struct opt_u64 *)((char *)sample + whole_counters[i]);
        if (value->has)
            value->v = (uint64_t)(sums->sums[COUNT(real_counters) + i] += (double)value->v);
    }
}

void otlp_put_row(void *state, const struct settings *settings, const struct sample *sample, struct buf *buf)
{
    struct otlp_sums *sums = state;
    struct sample row = *sample;
    struct sample_cpu *cpu = &row.cpu;
    cpu->per_core_pct = cpu->per_core_steal_pct = (struct sample_list){0};
    row.processes = row.marks = (struct sample_list){0};
    row.run.present = row.end.present = false;
    if (!settings->otlp_host) {
        cpu->utime_secs = cpu->stime_secs = cpu->iowait_secs = cpu->irq_secs = cpu->steal_secs = (struct opt_f64){0};
        row.memory.present = false;
        row.network = row.disk = (struct sample_list){0};
    }
    /* It is the uptime of a tree that was started with the run. */
    if (!row.tracked_pid.has || settings->attaches)
        row.elapsed_secs.has = false;
    if (sample->run.present && sample->run.cpus_allowed.has)
        sums->cpus = (double)sample->run.cpus_allowed.v;
    cpu->process_cores_used = (struct opt_f64){
        cpu->process_cores_used.has && sums->cpus > 0, cpu->process_cores_used.v / (sums->cpus > 0 ? sums->cpus : 1)};
    /* Samples at marks and at the end may be of the same moment as those before: two values for it are refused. */
    if (row.timestamp_ms.v <= sums->last_ms && sums->last_ms - row.timestamp_ms.v < MOMENTS_MS)
        row.timestamp_ms.v = sums->last_ms + 1;
    sums->last_ms = row.timestamp_ms.v;
    if (!otlp_is_delta(settings))
        add_up(sums, &row);
    json_put_object(buf, field_sample, &row);
}

/* A metric on its way out. */
struct metric {
    const struct otlp_out *out;
    const struct otlp_run *run;
    int64_t start_ms; /* of the run */
    struct str name, unit, kind, group, keys, values;
    bool has_points;
};

/* The points of one row. */
struct point {
    int64_t start_ms, time_ms; /* start_ms 0: none is given */
    bool is_first; /* of the run */
    const struct json_value *owner, *parent; /* what the values and the attributes are of; parent NULL: none */
};

static bool is_counter(const struct metric *metric)
{
    return metric->kind.p[0] == 'c' || metric->kind.p[0] == 'h';
}

/* Attributes of the value: "resource,kind" and "cpu,some". */
static void put_value_attributes(const struct metric *metric, struct str texts)
{
    struct str keys = metric->keys, key, text;
    while (str_cut(&texts, ',', &text) && str_cut(&keys, ',', &key))
        otlp_put_attribute(metric->out, ATTRIBUTES, key, text);
}

static void put_list_attributes(const struct metric *metric, struct str group, const struct json_value *owner)
{
    struct str rest = STR(list_attributes), line, word, key;
    while (str_line(&rest, &line)) {
        if (!str_cut(&line, ' ', &word) || !str_eq(word, group))
            continue;
        while (str_cut(&line, ' ', &word) && str_cut(&word, '=', &key)) {
            char name[32];
            (void)str_copy(key, name, sizeof(name));
            otlp_put_attribute_json(metric->out, ATTRIBUTES, word, json_get(owner, name));
        }
    }
    if (str_eq(group, STR("gpu")))
        otlp_put_attribute(metric->out, ATTRIBUTES, STR("hw.type"), STR("gpu"));
}

static void put_point(const struct metric *metric, const struct point *point, double value, struct str attributes)
{
    const struct otlp_out *out = metric->out;
    size_t start = otlp_open(out, POINTS, NULL);
    if (point->start_ms > 0)
        otlp_put_time(out, START, "startTimeUnixNano", point->start_ms);
    otlp_put_time(out, TIME, "timeUnixNano", point->time_ms);
    if (metric->kind.p[1] == 'r')
        otlp_put_real(out, REAL, "asDouble", value);
    else
        otlp_put_integer(out, INTEGER, "asInt", value < WHOLE_MAX ? (int64_t)value : INT64_MAX);
    otlp_open_list(out, "attributes");
    if (point->parent)
        put_list_attributes(metric, STR("disk"), point->parent);
    put_list_attributes(metric, metric->group, point->owner);
    put_value_attributes(metric, attributes);
    otlp_close_list(out);
    otlp_close(out, start);
}

/* The number of a key, in the unit of its metric; false where there is none. */
static bool find_number(const struct json_value *owner, struct str key, double *ret_number)
{
    char name[40];
    const struct json_value *value = str_copy(key, name, sizeof(name)) ? json_get(owner, name) : NULL;
    if (!value || value->type != JSON_NUMBER || num_parse_f64(value->text, ret_number) < 0)
        return false;
    struct str unit = key.n > 4 ? (struct str){key.p + key.n - 4, 4} : key;
    *ret_number *= str_eq(unit, STR("_mib")) ? BYTES_PER_MIB : str_eq(unit, STR("_pct")) ? 0.01 : 1;
    return true;
}

static void put_points(struct metric *metric, const struct point *point)
{
    struct str values = metric->values, attributes, key;
    while (str_cut(&values, ' ', &attributes) && str_cut(&attributes, '=', &key)) {
        double number;
        if (!find_number(point->owner, key, &number))
            continue;
        metric->has_points = true;
        /* So that rates know the first interval, too. */
        if (point->is_first && metric->kind.p[0] == 'c' && !metric->run->is_delta) {
            struct point zero = *point;
            zero.time_ms = zero.start_ms;
            put_point(metric, &zero, 0, attributes);
        }
        put_point(metric, point, number, attributes);
    }
}

/* What a row has for a metric: a value itself, or one for each of a list. */
static void put_row(struct metric *metric, const struct json_value *row)
{
    int64_t interval_ms = 0;
    struct point point = {.owner = row};
    if (!json_integer(json_get(row, "timestamp_ms"), &point.time_ms))
        return;
    point.is_first = !json_integer(json_get(row, "actual_interval_ms"), &interval_ms);
    if (metric->kind.p[0] == 'c')
        point.start_ms = metric->run->is_delta && !point.is_first ? point.time_ms - interval_ms : metric->start_ms;
    bool is_mount = str_eq(metric->group, STR("mounts"));
    char group[16];
    (void)str_copy(metric->group, group, sizeof(group));
    if (group[0] != '-')
        point.owner = json_get(row, is_mount ? "disk" : group);
    if (!point.owner || point.owner->type != JSON_ARRAY) {
        put_points(metric, &point);
        return;
    }
    const struct json_value *list = point.owner, *item;
    for (size_t i = 0; (item = json_at(list, i, NULL)); i++) {
        point.owner = item;
        const struct json_value *mounts = is_mount ? json_get(item, group) : NULL;
        if (!is_mount)
            put_points(metric, &point);
        else
            point.parent = item;
        for (size_t k = 0; (point.owner = json_at(mounts, k, NULL)); k++)
            put_points(metric, &point);
    }
}

static void put_metric(struct metric *metric, const struct otlp_rows *rows)
{
    const struct otlp_out *out = metric->out;
    bool is_gauge = metric->kind.p[0] == 'g', is_delta = metric->run->is_delta;
    size_t before = out->buf->len;
    size_t start = otlp_open(out, METRIC, NULL);
    char name[OTLP_NAME_BYTES];
    otlp_put_text(out, NAME, "name", otlp_name(metric->name, name));
    otlp_put_text(out, UNIT, "unit", metric->unit);
    size_t data = otlp_open(out, is_gauge ? GAUGE : SUM, is_gauge ? "gauge" : "sum");
    otlp_open_list(out, "dataPoints");
    for (size_t i = 0; i < rows->count; i++)
        put_row(metric, rows->docs[i].items);
    otlp_close_list(out);
    if (!is_gauge) {
        otlp_put_enum(out, TEMPORALITY, "aggregationTemporality", is_delta && is_counter(metric) ? DELTA : CUMULATIVE);
        otlp_put_bool(out, MONOTONIC, "isMonotonic", is_counter(metric));
    }
    otlp_close(out, data);
    otlp_close(out, start);
    if (!metric->has_points && !out->buf->failed)
        out->buf->len = before;
}

void otlp_put_metrics(
    const struct otlp_out *out, struct otlp_run *run, const struct run_state *state, const struct otlp_rows *rows)
{
    if (run->pid == 0 && rows->count > 0)
        (void)json_integer(json_get(rows->docs[0].items, "tracked_pid"), &run->pid);
    struct otlp_frame frame = otlp_frame_open(out, run, state, false);
    struct str rest = STR(metrics), line;
    while (str_line(&rest, &line)) {
        struct metric metric = {.out = out, .run = run, .start_ms = run->start_ms};
        struct str *const parts[] = {&metric.name, &metric.unit, &metric.kind, &metric.group, &metric.keys};
        for (size_t i = 0; i < COUNT(parts); i++)
            (void)str_cut(&line, ' ', parts[i]);
        metric.values = line;
        /* What counts since the boot of the host has no differences. */
        if (metric.kind.p[0] != 'h' || !run->is_delta)
            put_metric(&metric, rows);
    }
    otlp_frame_close(out, &frame);
}
