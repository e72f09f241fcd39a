/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of one run, in three passes: the first sample of each says where it belongs, then all are added up, node by
 * node, and at last what came of it goes out as one run, with the facts of the first part.
 */
#include "replay/parts.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/num.h"
#include "base/thread.h"
#include "base/vec.h"
#include "replay/replay_internal.h"
#include "replay/slots_internal.h"
#include "summary/accumulate.h"

enum { FIXED4_PER_MS = FIXED4 / 1000, NS_PER_FIXED4 = 100000, CORES_MAX = 1 << 20, GPUS_MAX = 64 };
enum { PAIRS_MAX = 32, THREADS = 4, STACK_BYTES = 1024 * 1024 };

/* A part that is read, beside others. */
struct reading {
    struct merging *all;
    struct summary_rank *rank;
    int (*add)(struct reading *reading, const struct sample *sample);
    struct slots slots;
    struct accumulator *acc;
    struct opt_i64 before; /* elapsed, of the sample before */
    uint64_t runs; /* in this file */
    struct sample_end end;
    struct slot_values values;
    struct replay_report report;
    struct err err;
    pthread_t thread;
};

#define MERGED_KEY "merged"

struct merging {
    const struct replay_target *target;
    struct replay_report *report;
    struct summary_parts *parts;
    struct reading readings[THREADS];
    int64_t origin, end; /* origin: Unix time; end: since then, as all times are in ten-thousandths of a second */
    int64_t first_end, last_start;
    struct slots node, total; /* of the parts of a node, of the nodes before it */
    struct accumulator *acc; /* of the node */
    bool is_ended; /* is it known how the run ended? */
    struct sample_end end_facts; /* how it ended, without what adds up */
    struct summary_sizing sizing; /* of the newest part */
    int64_t failed_end; /* of the part that failed first */
    bool has_other_groups; /* parts on one node, each in a control group of its own: nothing is known of all of them */
    bool has_no_node; /* it is not known where a part was */
    bool has_rank[PARTS_MAX];
    uint64_t on_node, ended, others, doubles, world_size;
    double cpu_secs, wall_secs; /* of all */
    uint64_t job; /* hash of the name and the number of the first */
    struct slot_values values; /* a merged sample, and what its lists point at */
    struct {
        struct opt_f64 *items;
        size_t cap;
    } cores;
    struct sample_disk disk;
    struct sample_network network;
    struct sample_gpu gpu, gpus[GPUS_MAX];
};

static const char *find(const struct sample_list *pairs, const char *key)
{
    const struct str_pair *pair = pairs->items;
    for (size_t i = 0; pairs->present && i < pairs->count; i++, pair++) {
        if (strcmp(pair->key, key) == 0 && pair->value)
            return pair->value;
    }
    return "";
}

/* FNV-1a, of several texts one after the other. */
static uint64_t hash(uint64_t hash, const char *text)
{
    do
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    while (*text++);
    return hash;
}

static int64_t elapsed_of(const struct sample *sample)
{
    static const int64_t most = INT64_C(1000000000000000);
    struct opt_i64 elapsed = fixed4_of(sample->elapsed_secs);
    return elapsed.v < 0 ? 0 : elapsed.v < most ? elapsed.v : most;
}

/* The first sample of a part: which one is it? */
static int add_first(struct reading *reading, const struct sample *sample)
{
    struct merging *merging = reading->all;
    struct summary_rank *rank = reading->rank;
    const struct sample_list *metadata = &sample->run.metadata;
    const char *node = find(metadata, "node");
    if (!*node && sample->run.hostname)
        node = sample->run.hostname;
    (void)str_copy(str_of(node), rank->node_text, sizeof(rank->node_text));
    rank->rank.has = num_parse_u64(str_of(find(metadata, "rank")), &rank->rank.v) == 0;
    rank->group = hash(0, sample->run.cgroup_path ? sample->run.cgroup_path : "");
    uint64_t world_size;
    if (num_parse_u64(str_of(find(metadata, "world_size")), &world_size) == 0 && merging->world_size < world_size)
        merging->world_size = world_size;
    if (rank->rank.has && rank->rank.v < PARTS_MAX) {
        merging->doubles += merging->has_rank[rank->rank.v];
        merging->has_rank[rank->rank.v] = true;
    }
    rank->start = sample->timestamp_ms.v * FIXED4_PER_MS - elapsed_of(sample);
    if (merging->origin > rank->start)
        merging->origin = rank->start;
    if (merging->last_start < rank->start)
        merging->last_start = rank->start;
    uint64_t job = hash(hash(0, sample->job_name ? sample->job_name : ""), find(metadata, "external_run_id"));
    if (rank == merging->parts->items)
        merging->job = job;
    merging->others += merging->job != job || *find(metadata, MERGED_KEY);
    return -ECANCELED;
}

static void begin(void *context, const struct run_info *info)
{
    struct reading *reading = context;
    int64_t interval = info->interval_ns > 0 ? info->interval_ns / NS_PER_FIXED4 : FIXED4;
    reading->runs++;
    if (reading->add == add_first && reading->all->total.width < interval)
        reading->all->total.width = interval;
}

static int add(void *context, const struct sample *sample)
{
    struct reading *reading = context;
    return reading->add(reading, sample);
}

/* Of the files that are read at once, the first shows how far they are. */
static void show(void *context, uint64_t bytes, uint64_t size)
{
    struct reading *reading = context;
    const struct replay_target *target = reading->all->target;
    if (target->progress && reading == reading->all->readings)
        target->progress(target->context, bytes, size);
}

static int add_sample(struct reading *reading, const struct sample *sample)
{
    struct slot_values *values = &reading->values;
    if (reading->runs > 1)
        return 0;
    values->sample = *sample;
    values->totals = sample_totals_of(sample, false);
    accumulate_add(reading->acc, sample, &values->totals);
    values->sample.cpu.process_child_count.v++; /* and the first of its tree */
    int64_t start = reading->rank->start - reading->all->origin, to = start + elapsed_of(sample);
    int64_t from = to - fixed4_interval(sample, reading->before);
    reading->rank->end = to;
    reading->before = some_i64(to - start);
    reading->end = sample->end;
    return slots_add(&reading->slots, values, from > 0 ? from : 0, to);
}

/* The lists of a merged sample: as many CPUs and GPUs as there are, each with the mean of all. */
static int put_lists(struct merging *merging)
{
    struct sample *sample = &merging->values.sample;
    const struct sample_totals *totals = &merging->values.totals;
    struct sample_list *cores = &sample->cpu.per_core_pct, *gpus = &sample->gpu;
    double cpus = (double)cores->count, devices = (double)gpus->count;
    int r = VEC_GROW(&merging->cores, cores->count, CORES_MAX);
    for (size_t i = 0; r == 0 && i < cores->count; i++)
        merging->cores.items[i] = some_f64(sample->cpu.utilization_pct.v * 100 / cpus);
    cores->items = merging->cores.items;
    cores->present &= sample->cpu.utilization_pct.has;
    merging->disk.read_bytes_delta = totals->disk_read.bytes;
    merging->disk.write_bytes_delta = totals->disk_write.bytes;
    merging->network.rx_bytes_delta = totals->received.bytes;
    merging->network.tx_bytes_delta = totals->sent.bytes;
    gpus->count = gpus->count < GPUS_MAX ? gpus->count : GPUS_MAX;
    gpus->items = merging->gpus;
    if (gpus->count > 0) {
        merging->gpu.utilization_pct = (struct opt_f64){totals->gpu_usage.has, totals->gpu_usage.v * 100 / devices};
        merging->gpu.power_watts =
            (struct opt_f64){totals->gpu_power_watts.has, fixed4_value(totals->gpu_power_watts.v) / devices};
        merging->gpu.vram_used_bytes = totals->vram_used_bytes;
        merging->gpu.vram_used_bytes.v /= gpus->count;
        merging->gpu.vram_total_bytes = totals->vram_total_bytes;
        merging->gpu.vram_total_bytes.v /= gpus->count;
    }
    for (size_t i = 0; i < gpus->count; i++)
        merging->gpus[i] = merging->gpu;
    return r;
}

/* All slots as samples, with the facts of the one that is there; for the accumulator of a node, or for all. */
static int emit(struct merging *merging, const struct slots *slots, bool is_all)
{
    struct sample *sample = &merging->values.sample;
    double peak = 0;
    uint64_t cpus = 0;
    int r = 0;
    sample->cpu.present = sample->memory.present = sample->pressure.present = sample->energy.present =
        sample->tracker.present = true;
    sample->cgroup.present = !merging->has_other_groups;
    sample->disk = (struct sample_list){true, 1, &merging->disk};
    sample->network = (struct sample_list){true, 1, &merging->network};
    for (size_t i = 0; r == 0 && i < slots->count; i++) {
        int64_t from = (int64_t)i * slots->width, to = from + slots->width;
        bool is_last = i + 1 == slots->count;
        if (!slots->items[i].is_covered)
            continue;
        if (is_last && merging->end < to)
            to = merging->end;
        slots_get(slots, i, to - from, &merging->values);
        sample->timestamp_ms = some_i64((merging->origin + to) / FIXED4_PER_MS);
        sample->timestamp_secs = some_i64(sample->timestamp_ms.v / 1000);
        sample->elapsed_secs = some_f64(fixed4_value(to));
        /* Without it all the time since the start is meant. */
        sample->actual_interval_ms = (struct opt_f64){i > 0, (double)(to - from) / FIXED4_PER_MS};
        sample->cpu.process_child_count.v--;
        struct opt_f64 *highest = &sample->cpu.process_peak_rss_mib;
        peak = highest->v > peak ? highest->v : peak;
        peak = sample->cpu.process_rss_mib.v > peak ? sample->cpu.process_rss_mib.v : peak;
        highest->v = peak;
        cpus = sample->cpu.per_core_pct.count > cpus ? sample->cpu.per_core_pct.count : cpus;
        sample->end.present = is_last && is_all && merging->is_ended;
        /* Groups of several nodes have peaks that were not at the same time. */
        sample->cgroup.memory_peak_mib.has &= !is_all || merging->parts->nodes.v == 1;
        /* Parts can share a GPU. */
        if (sample->gpu.present && sample->cpu.process_gpu_utilized.v > sample->gpu.count)
            sample->cpu.process_gpu_utilized.v = sample->gpu.count;
        if (cpus > 0 && sample->end.cpus_allowed.v > cpus)
            sample->end.cpus_allowed.v = cpus;
        r = put_lists(merging);
        if (r == 0 && is_all) {
            r = merging->target->sample(merging->target->context, sample);
        } else if (r == 0) {
            const struct sample_totals totals = sample_totals_of(sample, false);
            accumulate_add(merging->acc, sample, &totals);
        }
        memset(&sample->run, 0, sizeof(sample->run));
    }
    return r;
}

/* The facts of one part are those of all, but for what is of it alone. */
static int add_facts(struct reading *reading, const struct sample *sample)
{
    struct merging *merging = reading->all;
    struct sample *facts = &merging->values.sample;
    enum { NUMBERS_AT = offsetof(struct sample, cpu), NUMBERS_END = offsetof(struct sample, run) };
    struct str_pair pairs[PAIRS_MAX + 1];
    struct sample_list *metadata = &facts->run.metadata;
    size_t count = 0;
    *facts = *sample;
    memset((char *)facts + NUMBERS_AT, 0, NUMBERS_END - NUMBERS_AT);
    for (size_t i = 0; i < metadata->count && count < PAIRS_MAX; i++) {
        pairs[count] = ((const struct str_pair *)metadata->items)[i];
        count += strcmp(pairs[count].key, "rank") != 0 && strcmp(pairs[count].key, "node") != 0;
    }
    /* What is put together is no part of anything. */
    pairs[count++] = (struct str_pair){.key = MERGED_KEY, .value = "yes"};
    metadata->present = true;
    metadata->items = pairs;
    metadata->count = count;
    if (sample->gpu.count > 0) {
        const struct sample_gpu *gpu = sample->gpu.items;
        merging->gpu.name = gpu->name;
        merging->gpu.detail = gpu->detail;
    }
    facts->energy.source = sample->energy.source;
    facts->cpu.process_net_source = sample->cpu.process_net_source;
    facts->end = merging->end_facts;
    facts->run.present = true;
    facts->run.interval_secs = some_f64(fixed4_value(merging->total.width));
    facts->run.cpus_allowed.has = facts->run.cgroup_is_own.has = false;
    if (merging->parts->nodes.v > 1)
        facts->run.hostname = facts->run.cgroup_path = NULL;
    const struct run_info info = {
        .tracked_pid = facts->tracked_pid, .interval_ns = merging->total.width * NS_PER_FIXED4};
    merging->target->begin(merging->target->context, &info);
    int r = emit(merging, &merging->total, true);
    return r < 0 ? r : -ECANCELED;
}

/* By node, then by rank; what has neither in the order given. */
static int compare(const void *a, const void *b)
{
    const struct summary_rank *x = a, *y = b;
    int nodes = strcmp(x->node_text, y->node_text);
    if (nodes != 0)
        return nodes;
    if (x->rank.v != y->rank.v)
        return x->rank.v < y->rank.v ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* The highest of all; unknown where one of them is. */
static void raise_to(struct opt_u64 *highest, struct opt_u64 value, bool is_first)
{
    bool has = value.has && (is_first || highest->has);
    if (is_first || highest->v < value.v)
        *highest = value;
    highest->has = has;
}

static void end_rank(struct merging *merging, struct reading *reading)
{
    struct summary_rank *rank = reading->rank;
    struct summary_parts *parts = merging->parts;
    const struct summary *summary = accumulate_finish(reading->acc);
    struct sample_end *all = &merging->end_facts;
    bool is_bad = summary->runs_failed.v > 0;
    int64_t start = rank->start - merging->origin;
    rank->node = rank->node_text[0] ? rank->node_text : NULL;
    rank->wall_secs = some_f64(fixed4_value(rank->end - start));
    rank->cpu_secs = summary->cpu.total_secs;
    rank->cores_mean = summary->cpu.cores_mean;
    rank->wanted_p95 = summary->cpu.wanted_p95;
    rank->memory_peak_mib = summary_memory_need(summary);
    rank->vram_peak_mib = summary->gpu.vram_peak_mib;
    rank->exit_code = summary->result.exit_code;
    rank->signal = summary->result.signal;
    merging->sizing = summary->sizing;
    merging->ended += reading->end.present;
    all->cpu_is_lower_bound.has |= reading->end.cpu_is_lower_bound.has;
    all->cpu_is_lower_bound.v |= reading->end.cpu_is_lower_bound.v;
    merging->has_no_node |= !rank->node;
    if (rank == parts->items || (is_bad && (parts->failed.v == 0 || rank->end < merging->failed_end))) {
        merging->failed_end = rank->end;
        all->exit_code = rank->exit_code;
        all->signal = rank->signal;
        all->target_is_running = reading->end.target_is_running;
    }
    parts->failed = some_u64(parts->failed.v + is_bad);
    merging->is_ended = parts->failed.v > 0 || merging->ended == parts->count.v;
    raise_to(&parts->task_vcpus, summary->sizing.vcpus, rank == parts->items);
    raise_to(&parts->task_memory_mib, summary->sizing.memory_mib, rank == parts->items);
    merging->cpu_secs += rank->cpu_secs.v;
    merging->wall_secs += rank->wall_secs.v;
    if (!parts->slowest.present || parts->slowest.wall_secs.v < rank->wall_secs.v)
        parts->slowest = *rank;
    if (!parts->busiest.present || parts->busiest.cpu_secs.v < rank->cpu_secs.v)
        parts->busiest = *rank;
    if (rank == parts->items || merging->first_end > rank->end)
        merging->first_end = rank->end;
    if (merging->end < rank->end)
        merging->end = rank->end;
}

static int renew(struct accumulator **acc)
{
    accumulate_free(*acc);
    *acc = NULL;
    return accumulate_new(acc);
}

/* What the parts of a node needed together; of one part that is known. */
static int end_node(struct merging *merging)
{
    struct summary_parts *parts = merging->parts;
    int r = 0;
    if (merging->on_node > 1) {
        memset(&merging->values, 0, sizeof(merging->values));
        merging->values.sample.tracked_pid = some_u64(1);
        r = renew(&merging->acc);
        if (r == 0)
            r = emit(merging, &merging->node, false);
        if (r < 0)
            return r;
        merging->sizing = accumulate_finish(merging->acc)->sizing;
    }
    /* Where it is not known what a part needed, it is not known of its node. */
    merging->sizing.vcpus.has &= parts->task_vcpus.has;
    merging->sizing.memory_mib.has &= parts->task_memory_mib.has;
    raise_to(&parts->node_vcpus, merging->sizing.vcpus, parts->nodes.v == 0);
    raise_to(&parts->node_memory_mib, merging->sizing.memory_mib, parts->nodes.v == 0);
    parts->nodes = some_u64(parts->nodes.v + 1);
    merging->on_node = 0;
    return slots_merge(&merging->total, &merging->node, SLOTS_OF_NODE);
}

static void *read_part(void *context)
{
    struct reading *reading = context;
    const struct replay_target target = {.context = reading, .begin = begin, .sample = add, .progress = show};
    reading->runs = 0;
    reading->before.has = reading->end.present = false;
    if (reading->err.code == 0 &&
        replay_file(reading->rank->file, &target, &reading->report, &reading->err) == -ECANCELED)
        err_clear(&reading->err);
    return NULL;
}

/* One pass over one part. */
static int read_one(struct merging *merging, struct summary_rank *rank,
    int (*add_it)(struct reading *reading, const struct sample *sample), struct err *err)
{
    struct reading *reading = merging->readings;
    reading->rank = rank;
    reading->add = add_it;
    (void)read_part(reading);
    *err = reading->err;
    return err->code;
}

/* What was read becomes a part of its node, and this one of all behind its last part. */
static int add_part(struct merging *merging, struct reading *reading, bool is_last)
{
    const struct summary_rank *rank = reading->rank;
    if (reading->runs > 1)
        replay_note(merging->report, "%s: holds several runs, of which the first is used", rank->file);
    /* There is room left for what is to be noted of all. */
    for (unsigned i = 0; i < reading->report.note_count && merging->report->note_count < REPLAY_NOTES_MAX - 4; i++)
        replay_note(merging->report, "%s: %s", rank->file, reading->report.notes[i]);
    merging->report->samples += reading->report.samples;
    merging->on_node++;
    is_last = is_last || strcmp(rank->node_text, rank[1].node_text) != 0;
    merging->has_other_groups |= !is_last && rank->group != rank[1].group;
    end_rank(merging, reading);
    int r = slots_merge(&merging->node, &reading->slots, SLOTS_OF_PART);
    return r == 0 && is_last ? end_node(merging) : r;
}

/* Several at once, from there on; they are added in their order. */
static int read_some(struct merging *merging, size_t at, struct err *err)
{
    bool is_thread[THREADS] = {false};
    size_t left = merging->parts->count.v - at, count = left < THREADS ? left : THREADS;
    int r = 0;
    for (size_t i = count; i-- > 0;) {
        struct reading *reading = &merging->readings[i];
        reading->rank = &merging->parts->items[at + i];
        reading->add = add_sample;
        reading->slots.width = merging->total.width;
        reading->err.code = renew(&reading->acc);
        is_thread[i] = i > 0 && thread_start(read_part, reading, STACK_BYTES, &reading->thread) == 0;
        if (!is_thread[i])
            (void)read_part(reading);
    }
    for (size_t i = 0; i < count; i++) {
        struct reading *reading = &merging->readings[i];
        if (is_thread[i])
            (void)pthread_join(reading->thread, NULL);
        if (r == 0 && reading->err.code < 0)
            *err = reading->err;
        if (r == 0)
            r = reading->err.code;
        if (r == 0)
            r = add_part(merging, reading, at + i + 1 == merging->parts->count.v);
    }
    return r;
}

static int merge_all(struct merging *merging, struct err *err)
{
    struct summary_parts *parts = merging->parts;
    size_t count = parts->count.v;
    int r = 0;
    for (size_t i = 0; r == 0 && i < count;) {
        r = read_one(merging, &parts->items[i], add_first, err);
        /* What has no samples is left out, unless all are. */
        if (r == -EBADMSG && count > 1) {
            replay_note(merging->report, "%s", err->msg);
            parts->items[i] = parts->items[--count];
            err_clear(&merging->readings->err);
            err_clear(err);
            r = 0;
        } else {
            i++;
        }
    }
    parts->count.v = count;
    qsort(parts->items, count, sizeof(parts->items[0]), compare);
    merging->node.width = merging->total.width;
    for (size_t i = 0; r == 0 && i < count; i += THREADS)
        r = read_some(merging, i, err);
    return r;
}

static struct opt_f64 over_mean(double highest, double sum, uint64_t count)
{
    return (struct opt_f64){sum > 0, highest * (double)count / sum};
}

static void finish(struct merging *merging)
{
    struct summary_parts *parts = merging->parts;
    struct replay_report *report = merging->report;
    uint64_t count = parts->count.v;
    enum { RANKS_MAX = 1024 };
    parts->present = true;
    uint64_t ranks = count - merging->doubles;
    parts->missing =
        (struct opt_u64){merging->world_size > 0, merging->world_size > ranks ? merging->world_size - ranks : 0};
    if (parts->node_memory_mib.v < parts->task_memory_mib.v)
        parts->node_memory_mib.v = parts->task_memory_mib.v;
    if (merging->has_no_node)
        parts->nodes.has = parts->node_vcpus.has = parts->node_memory_mib.has = false;
    parts->cpu_imbalance = over_mean(parts->busiest.cpu_secs.v, merging->cpu_secs, count);
    parts->wall_imbalance = over_mean(parts->slowest.wall_secs.v, merging->wall_secs, count);
    parts->ranks = (struct sample_list){true, count < RANKS_MAX ? count : RANKS_MAX, parts->items};
    if (merging->others > 0)
        replay_note(
            report, "parts of another job than the first, or themselves put together: %u", (unsigned)merging->others);
    if (merging->doubles > 0)
        replay_note(report, "parts that have the rank of another: %u", (unsigned)merging->doubles);
    if (merging->last_start - merging->origin > merging->first_end)
        replay_note(report, "not all parts ran at the same time, or the clocks of their nodes differ");
}

int parts_replay(const char *const *paths, size_t count, const struct replay_target *target,
    struct replay_report *ret_report, struct summary_parts *ret_parts, struct err *err)
{
    *ret_report = (struct replay_report){0};
    *ret_parts = (struct summary_parts){.count = some_u64(count), .items = calloc(count, sizeof(struct summary_rank))};
    struct merging *merging = calloc(1, sizeof(*merging));
    int r = merging && ret_parts->items ? 0 : -ENOMEM;
    if (r == 0) {
        merging->target = target;
        merging->report = ret_report;
        merging->parts = ret_parts;
        merging->origin = INT64_MAX;
        for (size_t i = 0; i < THREADS; i++)
            merging->readings[i].all = merging;
        merging->disk.device = merging->network.interface = "all";
        for (size_t i = 0; r == 0 && i < count; i++) {
            struct stat st;
            ret_parts->items[i] = (struct summary_rank){.present = true, .file = paths[i], .number = i};
            if (strcmp(paths[i], "-") == 0 || (stat(paths[i], &st) == 0 && !S_ISREG(st.st_mode)))
                r = err_set(err, -ESPIPE, "%s: parts must be files, since they are read twice", paths[i]);
        }
        if (r == 0)
            r = merge_all(merging, err);
    }
    if (r == 0) {
        finish(merging);
        ret_report->runs = 1;
        r = read_one(merging, ret_parts->items, add_facts, err);
    }
    if (r < 0 && err->msg[0] == '\0')
        r = err_sys(err, r, "cannot put the parts together");
    for (size_t i = 0; merging && i < THREADS; i++) {
        accumulate_free(merging->readings[i].acc);
        free(merging->readings[i].slots.items);
    }
    if (merging) {
        accumulate_free(merging->acc);
        free(merging->node.items);
        free(merging->total.items);
        free(merging->cores.items);
    }
    free(merging);
    return r;
}

void parts_free(struct summary_parts *parts)
{
    free(parts->items);
}
