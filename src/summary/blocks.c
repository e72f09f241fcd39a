/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The blocks of a summary: the rows of the job, of the host and of the run in their order, and those of them that no
 * table describes: processes, devices, the cgroup, the machine, tags.
 */
#include "base/num.h"
#include "summary/rows.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

/* ", and 17 more", " (at 52 min)" */
static void put_more(struct buf *buf, uint64_t more, struct opt_f64 at_secs)
{
    if (more > 0) {
        buf_puts(buf, ", and ");
        units_put_whole(buf, more);
        buf_puts(buf, " more");
    }
    if (!at_secs.has)
        return;
    units_put(buf, " (at %t)", at_secs.v);
}

static struct opt_f64 amount_of(const struct sample_process *process, bool by_cpu)
{
    return by_cpu ? process->cpu_secs : process->rss_mib;
}

void summary_put_process(struct buf *buf, const struct sample_process *process)
{
    const char *command = process->command ? process->command : process->name ? process->name : "?";
    if (*command == '/') {
        const char *last = command;
        for (const char *at = command; *at && *at != ' '; at++)
            last = *at == '/' ? at : last;
        command = last[1] && last[1] != ' ' ? last + 1 : command;
    }
    units_put_foreign(buf, command);
}

/* A row for each of the first three: "1.37 GiB", beside it "PID 4711: python train.py". */
static void put_processes(struct summary_rows *rows, const struct summary *summary, bool by_cpu)
{
    enum { SHOWN_MAX = 3 };
    const struct sample_list *list = by_cpu ? &summary->cpu.processes : &summary->memory.processes;
    const struct sample_process *processes = list->items;
    const char *label = by_cpu ? "busiest" : "largest";
    size_t shown = 0;
    for (; list->present && shown < list->count && shown < SHOWN_MAX; shown++) {
        struct opt_f64 amount = amount_of(&processes[shown], by_cpu);
        if (!amount.has || !(amount.v > 0))
            break;
    }
    /* Of the whole run. How many there were at the moment of the largest is not known: the list has only the first. */
    struct opt_u64 seen = summary->cpu.processes_seen;
    uint64_t all = seen.has && seen.v > list->count ? seen.v : list->count, more = by_cpu ? all - shown : 0;
    for (size_t i = 0; i < shown; i++) {
        const struct sample_process *process = &processes[i];
        if (by_cpu)
            units_put_secs(&rows->value, process->cpu_secs.v);
        else
            units_put_mib(&rows->value, process->rss_mib.v);
        if (process->pid.has)
            units_put(&rows->aside, "PID %u: ", process->pid.v);
        summary_put_process(&rows->aside, process);
        if (i + 1 == shown)
            put_more(&rows->tail, more, by_cpu ? (struct opt_f64){0} : summary->memory.processes_at_secs);
        rows->shape = SUMMARY_ROW_CUT;
        summary_rows_end(rows, i == 0 ? label : "");
    }
}

bool summary_has_own_cgroup(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    return (memory->cgroup_is_own.has && memory->cgroup_is_own.v) || summary_is_of_cgroup(memory->limit_source);
}

static bool is_some(struct opt_f64 value)
{
    return value.has && value.v > 0;
}

void summary_put_memory_share(struct buf *buf, const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    if (!memory->limit_used_pct.has || !memory->limit_mib.has)
        return;
    bool is_limit = summary_is_of_cgroup(memory->limit_source);
    units_put(buf, "%p%s%m%s", memory->limit_used_pct.v, is_limit ? " of the limit " : " of ", memory->limit_mib.v,
        is_limit ? "" : " of RAM");
}

static bool is_same(struct opt_f64 a, struct opt_f64 b)
{
    return a.has && b.has && a.v == b.v;
}

/* The peak, and beside it which of its values is so much of the limit: the one that the job needs. */
static void put_memory(struct summary_rows *rows, const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    struct opt_f64 need = summary_memory_need(summary), pss = memory->pss_peak_mib, rss = memory->rss_peak_mib;
    struct buf *value = &rows->value, *aside = &rows->aside;
    /* No job has none: it ended before it was seen. */
    pss.has = is_some(pss);
    rss.has = is_some(rss);
    if (is_same(need, rss) && memory->rss_sampled_mib.has &&
        summary_peak_kind(summary, memory->rss_sampled_mib.v) == PEAK_BETWEEN) {
        /* PSS is of another moment, at which there may have been nearly nothing. */
        summary_put_amount(value, "peak RSS ", 'm', &rss);
        buf_puts(value, " between samples");
    } else {
        summary_put_amount(value, "peak PSS ", 'm', &pss);
        summary_put_amount(value, pss.has ? "RSS " : "peak RSS ", 'm', &rss);
    }
    if (value->len == 0)
        buf_puts(value, "unknown");
    else if (memory->limit_used_pct.has && memory->limit_mib.has) {
        buf_puts(aside, summary_need_kind(summary));
        if (!is_same(need, pss) && !is_same(need, rss))
            units_put(aside, " %m", need.v);
        buf_puts(aside, " is ");
        summary_put_memory_share(aside, summary);
    }
    summary_rows_end(rows, "memory");
}

static void put_cgroup(struct summary_rows *rows, const struct summary *summary, bool is_own)
{
    const struct summary_memory *memory = &summary->memory;
    if (!memory->cgroup_peak_mib.has || !(memory->cgroup_peak_mib.v > 0) || summary_has_own_cgroup(summary) != is_own)
        return;
    units_put(&rows->value, "peak %m", memory->cgroup_peak_mib.v);
    if (!is_own)
        units_put(&rows->aside, "all of %x", memory->cgroup_path ? memory->cgroup_path : "the job's cgroup");
    summary_put_part(&rows->aside, "page cache included");
    summary_rows_end(rows, "cgroup");
}

/* "GPU 0: mean 98 %, VRAM 80 GiB", beside it what else is known of the device. */
static void put_device(
    struct summary_rows *rows, const struct summary_gpu *gpu, const struct summary_gpu_device *device, bool of_job)
{
    struct buf *value = &rows->value, *aside = &rows->aside;
    const struct summary_gpu_device *first = gpu->devices.items;
    buf_puts(value, "GPU ");
    if (device->host_id)
        units_put_foreign(value, device->host_id);
    else
        num_put_u64(value, (uint64_t)(device - first));
    buf_putc(value, ':');
    summary_put_amount(value, " mean ", 'p', of_job ? &device->usage_mean_pct : &device->host_usage_mean_pct);
    if (of_job && device->vram_peak_mib.has) {
        bool is_first = !device->usage_mean_pct.has;
        summary_put_part(value, is_first ? " VRAM " : "VRAM ");
        units_put_mib(value, device->vram_peak_mib.v);
    }
    if (of_job)
        summary_put_amount(aside, "peak ", 'p', &device->usage_peak_pct);
    summary_put_amount(aside, "", 'w', &device->power_mean_watts);
    summary_put_amount(aside, "up to ", 'd', &device->temperature_peak_celsius);
    if (gpu->names.present && gpu->names.count > 1 && device->name) {
        summary_put_part(aside, "");
        units_put_foreign(aside, device->name);
    }
    summary_rows_end(rows, "");
}

/* Of several GPUs each that was used has a row; "and 4 more, 3 not used". */
static void put_devices(struct summary_rows *rows, const struct summary *summary, bool of_job)
{
    enum { SHOWN_MAX = 8 };
    const struct summary_gpu *gpu = &summary->gpu;
    const struct summary_gpu_device *devices = gpu->devices.items;
    size_t count = gpu->devices.present ? gpu->devices.count : 0;
    uint64_t shown = 0, unused = 0;
    for (size_t i = 0; count > 1 && i < count; i++) {
        const struct summary_gpu_device *device = &devices[i];
        struct opt_f64 mean = of_job ? device->usage_mean_pct : device->host_usage_mean_pct;
        bool is_used = is_some(mean) || (of_job && (is_some(device->usage_peak_pct) || is_some(device->vram_peak_mib)));
        unused += !is_used && mean.has;
        if (!is_used || shown == SHOWN_MAX)
            continue;
        put_device(rows, gpu, device, of_job);
        shown++;
    }
    uint64_t all = gpu->count.has && gpu->count.v > count ? gpu->count.v : count;
    if (shown == 0 || shown == all)
        return;
    if (all > shown + unused) {
        buf_puts(&rows->value, "and ");
        units_put_whole(&rows->value, all - shown - unused);
        buf_puts(&rows->value, " more");
    }
    if (unused > 0) {
        summary_put_part(&rows->value, "");
        units_put_whole(&rows->value, unused);
        buf_puts(&rows->value, " not used");
    }
    summary_rows_end(rows, "");
}

bool summary_has_used_gpu(const struct summary_gpu *gpu)
{
    return is_some(gpu->usage_peak) || is_some(gpu->vram_peak_mib) || gpu->utilized_peak.v > 0;
}

/* Did it want clearly more than it used? */
static bool has_wanted_more(const struct summary_cpu *cpu)
{
    static const double least_cores = 0.05, least_share = 1.05;
    return cpu->wanted_p95.has && cpu->wanted_p95.v > cpu->cores_p95.v + least_cores &&
           cpu->wanted_p95.v > cpu->cores_p95.v * least_share;
}

void summary_put_rank(struct buf *buf, const struct summary_rank *rank)
{
    if (rank->rank.has)
        units_put(buf, "rank %u", rank->rank.v);
    else
        units_put_foreign(buf, rank->file);
}

static void put_need(struct summary_rows *rows, struct opt_u64 vcpus, struct opt_u64 memory_mib, const char *label)
{
    const struct summary_sizing sizing = {.vcpus = vcpus, .memory_mib = memory_mib};
    summary_put_sizes(&rows->value, &sizing);
    summary_rows_end(rows, label);
}

static void put_parts(struct summary_rows *rows, const struct summary_parts *parts)
{
    if (!parts->present)
        return;
    units_put(&rows->value, "%c", (double)parts->count.v, "part");
    if (parts->nodes.has)
        units_put(&rows->value, " on %c", (double)parts->nodes.v, "node");
    units_put(&rows->aside, "%u failed", parts->failed.v);
    if (parts->missing.has)
        units_put(&rows->aside, ", %u missing", parts->missing.v);
    summary_rows_end(rows, "parts");
    if (parts->cpu_imbalance.has) {
        summary_put_rank(&rows->value, &parts->busiest);
        units_put(&rows->value, " used %f times the mean CPU time", parts->cpu_imbalance.v);
    }
    summary_put_rank(&rows->aside, &parts->slowest);
    units_put(&rows->aside, " took longest: %t", parts->slowest.wall_secs.v);
    summary_rows_end(rows, "balance");
    put_need(rows, parts->task_vcpus, parts->task_memory_mib, "each part");
    put_need(rows, parts->node_vcpus, parts->node_memory_mib, "each node");
}

void summary_rows_put_job(struct summary_rows *rows, const struct summary *summary)
{
    const struct summary_gpu *gpu = &summary->gpu;
    put_parts(rows, &summary->parts);
    summary_rows_put_table(rows, summary, SUMMARY_JOB_CPU);
    if (has_wanted_more(&summary->cpu))
        summary_rows_put_table(rows, summary, SUMMARY_JOB_WANTED);
    summary_rows_put_table(rows, summary, SUMMARY_JOB_THROTTLED);
    put_memory(rows, summary);
    put_cgroup(rows, summary, true);
    put_processes(rows, summary, false);
    /* The one process there was is the largest, and has all of the CPU time. */
    if (!summary->cpu.processes_seen.has || summary->cpu.processes_seen.v > 1)
        put_processes(rows, summary, true);
    summary_rows_put_table(rows, summary, SUMMARY_JOB_IO);
    summary_rows_put_table(rows, summary, SUMMARY_JOB_ENERGY);
    if (!gpu->present)
        return;
    summary_rows_put_table(rows, summary, SUMMARY_JOB_GPU);
    put_devices(rows, summary, true);
    summary_rows_put_table(rows, summary, SUMMARY_JOB_VRAM);
    if (summary_has_used_gpu(gpu))
        summary_rows_put_table(rows, summary, SUMMARY_GPU_ENERGY);
}

bool summary_has_host(const struct summary *summary)
{
    return summary->machine.present || summary->pressure.present || summary->cpu.host_cores_mean.has ||
           summary->memory.host_used_peak_mib.has || summary->disk.host_read_bytes.has ||
           summary->network.host_received_bytes.has || summary->gpu.present || summary->energy.mean_watts.has;
}

void summary_put_machine_cpus(struct buf *buf, const char *before, const struct summary *summary)
{
    const struct summary_machine *machine = &summary->machine;
    if (machine->cpu_model) {
        summary_put_part(buf, before);
        units_put_foreign(buf, machine->cpu_model);
        before = "";
    }
    if (!machine->cpus.has)
        return;
    summary_put_part(buf, before);
    units_put_count(buf, (double)machine->cpus.v, "core");
}

void summary_put_machine_memory(struct buf *buf, const char *before, const struct summary *summary)
{
    const struct summary_machine *machine = &summary->machine;
    if (machine->memory_mib.has) {
        summary_put_part(buf, before);
        units_put(buf, "%m of memory", machine->memory_mib.v);
        before = "";
    }
    if (!is_some(machine->swap_mib))
        return;
    summary_put_part(buf, before);
    units_put(buf, "%m of swap", machine->swap_mib.v);
}

void summary_put_machine_gpus(struct buf *buf, const char *before, const struct summary *summary)
{
    const struct summary_machine *machine = &summary->machine;
    bool has_names = summary->gpu.names.present && summary->gpu.names.count > 0;
    size_t start = buf->len;
    summary_put_gpus(buf, before, summary->gpu.count, has_names ? &summary->gpu.names : &machine->gpus);
    if (!machine->gpu_driver || buf->len == start)
        return;
    units_put(buf, " (driver %x)", machine->gpu_driver);
}

static void put_machine(struct summary_rows *rows, const struct summary *summary)
{
    struct buf *value = &rows->value;
    const char *first = "";
    if (summary->hostname && summary_has_job(summary)) {
        units_put(value, "%x:", summary->hostname);
        first = " ";
    }
    size_t before = value->len;
    summary_put_machine_cpus(value, first, summary);
    summary_put_machine_memory(value, value->len > before ? "" : first, summary);
    summary_put_machine_gpus(value, value->len > before ? "" : first, summary);
    if (value->len == before && before > 0)
        value->len--; /* the colon */
    /* The rows below it need a head. */
    if (value->len == 0 && summary_has_job(summary))
        buf_puts(value, "all processes");
    summary_rows_end(rows, rows->machine_label);
}

/* Is there something of all processes to say that the rows of the job do not say? */
static bool has_other_gpu_use(const struct summary_gpu *gpu)
{
    static const double least_gpus = 0.05;
    return gpu->host_usage_mean.has && gpu->host_usage_mean.v > gpu->usage_mean.v + least_gpus;
}

void summary_rows_put_host(struct summary_rows *rows, const struct summary *summary)
{
    bool has_job = summary_has_job(summary);
    if (!summary_has_host(summary))
        return;
    put_machine(rows, summary);
    rows->is_of_host = has_job;
    summary_rows_put_table(rows, summary, SUMMARY_HOST);
    if (has_job)
        put_cgroup(rows, summary, false);
    if (!has_job || has_other_gpu_use(&summary->gpu))
        summary_rows_put_table(rows, summary, SUMMARY_HOST_GPU);
    if (!has_job)
        put_devices(rows, summary, false);
    summary_rows_put_table(rows, summary, SUMMARY_HOST_ENERGY);
    if (!summary_has_used_gpu(&summary->gpu))
        summary_rows_put_table(rows, summary, SUMMARY_GPU_ENERGY);
    rows->is_of_host = false;
}

/* "key=value, key=value", and how many there are beyond what is read at one go. */
static void put_pairs(struct summary_rows *rows, const struct sample_list *list, const char *label)
{
    const struct str_pair *pairs = list->items;
    size_t count = list->present ? list->count : 0;
    size_t i = 0;
    for (; i < count && rows->value.len < UNITS_FOREIGN_BYTES; i++) {
        summary_put_part(&rows->value, "");
        units_put(&rows->value, "%x=%x", pairs[i].key ? pairs[i].key : "?", pairs[i].value ? pairs[i].value : "");
    }
    put_more(&rows->value, count - i, (struct opt_f64){0});
    summary_rows_end(rows, label);
}

bool summary_is_share_noise(const struct summary *summary)
{
    return summary->wall_secs.has && summary->wall_secs.v < 1;
}

void summary_rows_put_run(struct summary_rows *rows, const struct summary *summary)
{
    summary_rows_put_table(
        rows, summary, summary_is_share_noise(summary) ? SUMMARY_TRACKER_SECS : SUMMARY_TRACKER_SHARE);
    summary_rows_put_table(rows, summary, SUMMARY_TRACKER);
    put_pairs(rows, &summary->metadata, "metadata");
    put_pairs(rows, &summary->tags, "tags");
}
