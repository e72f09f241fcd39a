/* SPDX-License-Identifier: Apache-2.0 */
#include "summary/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "summary/tally_internal.h"

int tally_new(struct tally **ret_tally)
{
    struct tally *tally = calloc(1, sizeof(*tally));
    if (!tally)
        return -ENOMEM;
    *ret_tally = tally;
    return 0;
}

void tally_free(struct tally *tally)
{
    free(tally);
}

/* Absent too where a recording has a time that no clock shows. */
static struct opt_i64 time_of(const struct sample *sample)
{
    static const int64_t year_10000_ms = INT64_C(253402300800000);
    struct opt_i64 time = sample->timestamp_ms;
    if (!time.has && sample->timestamp_secs.has) {
        time = sample->timestamp_secs;
        time.has = !__builtin_mul_overflow(time.v, 1000, &time.v);
    }
    return time.has && time.v >= 0 && time.v < year_10000_ms ? time : (struct opt_i64){0};
}

static void keep_largest(struct tally_run *run, const struct sample_list *processes)
{
    const struct sample_process *items = processes->items;
    if (!processes->present || processes->count == 0)
        return;
    struct opt_i64 rss = shown_e4(items[0].rss_mib);
    if (rss.has && !(run->largest_process_e4.has && run->largest_process_e4.v >= rss.v))
        run->largest_process_e4 = rss;
}

static void keep_times(struct tally_run *run, const struct sample *sample, int64_t elapsed_e4)
{
    struct opt_i64 now = time_of(sample);
    int64_t started;
    if (!now.has)
        return;
    /* A start before 1970 is not one. */
    if (run->samples == 1 && !__builtin_sub_overflow(now.v, elapsed_e4 / (SHOWN_E4 / 1000), &started) && started >= 0)
        run->started_ms = some_i64(started);
    run->finished_ms = now;
}

/* Its place in the run, and the length of its interval. */
static struct tally_turn turn_of(struct tally_run *run, const struct sample *sample)
{
    struct opt_i64 elapsed = shown_e4(sample->elapsed_secs);
    if (elapsed.v < 0)
        elapsed = (struct opt_i64){0};
    struct tally_turn turn = {.elapsed_e4 = elapsed.v};
    int64_t length_e4 = shown_interval_e4(sample, run->elapsed_e4);
    int64_t ms = length_e4 / (SHOWN_E4 / 1000);
    turn.weight_ms = ms > 0 ? (uint64_t)ms : 1;
    if (elapsed.has)
        run->elapsed_e4 = elapsed;
    if (length_e4 > run->longest_e4)
        run->longest_e4 = length_e4;
    int64_t usual_e4 = run->interval_e4.has ? run->interval_e4.v : run->longest_e4;
    turn.is_short = length_e4 < usual_e4 / 10;
    return turn;
}

static void keep_start(struct tally_run *run, const struct sample_run *start)
{
    if (!start->present)
        return;
    run->has_start = true;
    run->interval_e4 = shown_e4(start->interval_secs);
    run->cpus_allowed = start->cpus_allowed;
    run->first_cgroup_peak_e4 = shown_e4(start->cgroup_peak_mib);
}

static void keep_limits(struct tally_run *run, const struct sample *sample)
{
    const struct sample_list *cores = &sample->cpu.per_core_pct;
    if (sample->cgroup.present) {
        run->cpu_limit_cores = shown_f64(sample->cgroup.cpu_limit_cores);
        run->memory_limit_mib = shown_f64(sample->cgroup.memory_limit_mib);
        if (!run->first_cgroup_peak_e4.has)
            run->first_cgroup_peak_e4 = shown_e4(sample->cgroup.memory_peak_mib);
    }
    if (!sample->cpu.present || !cores->present)
        return;
    uint64_t online = 0;
    for (size_t i = 0; i < cores->count; i++)
        online += ((const struct opt_f64 *)cores->items)[i].has;
    /* A CPU whose share is not known in a short interval is there all the same. */
    if (online > run->cpus_online.v)
        run->cpus_online = some_u64(online);
}

static void keep_memory(struct tally_run *run, const struct sample *sample, const struct tally_turn *turn)
{
    const struct sample_cpu *cpu = &sample->cpu;
    struct opt_i64 rss = shown_e4(cpu->process_rss_mib);
    if (cpu->present && rss.has)
        tally_meter_add(run, cpu->process_pss_mib.has ? METER_RSS_BESIDE_PSS : METER_RSS_ALONE, rss.v, turn);
    else if (!cpu->present || !cpu->process_pss_mib.has)
        run->memory_unknown += sample->tracked_pid.has;
}

/* Is this run of the same job as the one before it, whose name is still there? */
static bool is_same_job(const struct tally_identity *before, const char *name)
{
    char copy[sizeof(before->job_name)] = "";
    if (name)
        tally_text_copy(name, copy, sizeof(copy));
    return before->has_job_name == (name != NULL) && (!name || strcmp(before->job_name, copy) == 0);
}

void tally_add(struct tally *tally, const struct sample *sample)
{
    struct tally_run *run = &tally->run;
    bool is_first = run->samples++ == 0;
    if (is_first && tally->total.runs.v > 0)
        tally->has_other_names |= !is_same_job(&tally->identity, sample->job_name);
    if (is_first || sample->run.present)
        tally_identity_take(&tally->identity, sample, is_first);
    keep_start(run, &sample->run);
    struct tally_turn turn = turn_of(run, sample);
    keep_times(run, sample, turn.elapsed_e4);
    if (sample->tracked_pid.has)
        run->tracked_pid = sample->tracked_pid;
    keep_limits(run, sample);
    tally_meters_add(run, sample, &turn);
    tally_lists_add(run, sample, &turn);
    keep_largest(run, &sample->processes);
    tally_processes_take(&run->processes, &sample->processes, turn.elapsed_e4);
    tally_gpu_names_take(&tally->gpu_names, &sample->gpu);
    keep_memory(run, sample, &turn);
    run->end = sample->end;
}

void tally_next_run(struct tally *tally)
{
    if (tally->run.samples == 0)
        return;
    tally_merge_run(tally);
    memset(&tally->run, 0, sizeof(tally->run));
}

static struct opt_f64 share_pct(struct opt_f64 part, struct opt_f64 whole)
{
    if (!part.has || !whole.has || !(whole.v > 0))
        return (struct opt_f64){0};
    return some_f64(part.v * 100 / whole.v);
}

const struct summary *tally_finish(struct tally *tally)
{
    struct summary *total = &tally->total;
    tally_next_run(tally);
    tally_identity_tell(&tally->identity, total);
    total->schema_version = some_u64(SUMMARY_SCHEMA_VERSION);
    if (!total->runs.has)
        total->runs = total->runs_failed = total->samples = some_u64(0);
    if (total->cpu.total_secs.has && total->wall_secs.v > 0)
        total->cpu.cores_mean = some_f64(total->cpu.total_secs.v / total->wall_secs.v);
    total->cpu.limit_used_pct = share_pct(total->cpu.cores_p95, total->cpu.limit_cores);
    total->memory.limit_used_pct = share_pct(summary_memory_need(total), total->memory.limit_mib);
    total->tracker.cpu_pct = share_pct(total->tracker.cpu_secs, total->wall_secs);
    total->gpu.names = (struct sample_list){total->gpu.present, tally->gpu_names.count, tally->gpu_names.items};
    tally_notes_tell(tally);
    sizing_fill(total, &tally->sizing);
    return total;
}
