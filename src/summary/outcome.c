/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a run ended, in a word and a sentence with its evidence, and notes on what is missing or uncertain. Memory is
 * blamed only for a kill: by its own cgroup for certain, by the host perhaps (another process may have been the
 * victim).
 */
#include <signal.h>
#include <string.h>

#include "base/buf.h"
#include "base/num.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

static void put_signal(struct buf *out, int64_t number)
{
    static const char names[][7] = {
        [SIGHUP] = "HUP",
        [SIGINT] = "INT",
        [SIGQUIT] = "QUIT",
        [SIGILL] = "ILL",
        [SIGTRAP] = "TRAP",
        [SIGABRT] = "ABRT",
        [SIGBUS] = "BUS",
        [SIGFPE] = "FPE",
        [SIGKILL] = "KILL",
        [SIGUSR1] = "USR1",
        [SIGSEGV] = "SEGV",
        [SIGUSR2] = "USR2",
        [SIGPIPE] = "PIPE",
        [SIGALRM] = "ALRM",
        [SIGTERM] = "TERM",
        [SIGVTALRM] = "VTALRM",
        [SIGPROF] = "PROF",
        [SIGXCPU] = "XCPU",
        [SIGXFSZ] = "XFSZ",
        [SIGSYS] = "SYS",
    };
    buf_puts(out, "signal ");
    num_put_i64(out, number);
    if (number <= 0 || number >= (int64_t)(sizeof(names) / sizeof(names[0])) || names[number][0] == '\0')
        return;
    units_put(out, " (SIG%s)", names[number]);
}

static void put_processes(struct buf *out, uint64_t count)
{
    units_put(out, "%u%s", count, count == 1 ? " process" : " processes");
}

static uint64_t known(struct opt_u64 count)
{
    return count.has ? count.v : 0;
}

static const char *put_no_end(const struct accumulated_run *run, struct buf *out)
{
    buf_puts(out, run->has_start ? "the recording has no end: the tracker was killed, or the file was cut"
                                 : "the recording does not say how the run ended");
    return SUMMARY_UNKNOWN;
}

static void put_killed(const struct sample_end *end, struct buf *out)
{
    if (!end->signal.has)
        buf_puts(out, "exit status 137, as after ");
    else
        buf_puts(out, "killed by ");
    put_signal(out, SIGKILL);
}

static const char *put_kill_verdict(const struct accumulated_run *run, struct buf *out)
{
    const struct sample_end *end = &run->end;
    if (known(end->oom_kills) > 0) {
        buf_puts(out, "killed by the OOM killer: ");
        if (run->memory_limit_mib.has) {
            buf_puts(out, "the cgroup limit of ");
            (void)num_put_fixed(out, run->memory_limit_mib.v, 0);
            buf_puts(out, " MiB was reached (");
        } else {
            buf_puts(out, "so its cgroup counted (");
        }
        put_processes(out, known(end->oom_kills));
        buf_puts(out, " killed)");
        return SUMMARY_OUT_OF_MEMORY;
    }
    put_killed(end, out);
    if (known(end->host_oom_kills) > 0) {
        buf_puts(out, "; meanwhile the OOM killer of the host killed ");
        put_processes(out, known(end->host_oom_kills));
        return SUMMARY_MAYBE_OUT_OF_MEMORY;
    }
    buf_puts(out, "; no sign that memory ran out");
    return end->signal.has ? SUMMARY_SIGNALED : SUMMARY_FAILED;
}

static const char *put_exit(const struct sample_end *end, struct buf *out)
{
    const char *verdict = end->exit_code.v == 0 ? SUMMARY_FINISHED : SUMMARY_FAILED;
    if (end->signal.has) {
        buf_puts(out, "ended by ");
        put_signal(out, end->signal.v);
        verdict = SUMMARY_SIGNALED;
    } else {
        buf_puts(out, "exit status ");
        num_put_i64(out, end->exit_code.v);
    }
    uint64_t kills = known(end->oom_kills);
    if (kills > 0) {
        buf_puts(out, "; ");
        put_processes(out, kills);
        units_put(out, "%s killed by the OOM killer", kills == 1 ? " of its cgroup was" : " of its cgroup were");
    }
    return verdict;
}

static const char *put_end(const struct accumulated_run *run, struct buf *out)
{
    const struct sample_end *end = &run->end;
    if (!end->present)
        return put_no_end(run, out);
    if (outcome_was_killed(end->exit_code, end->signal))
        return put_kill_verdict(run, out);
    if (end->exit_code.has || end->signal.has)
        return put_exit(end, out);
    if (end->target_is_running.v) {
        buf_puts(out, "tracking was stopped; the process still runs");
        return SUMMARY_STOPPED;
    }
    if (end->target_is_running.has) {
        buf_puts(out, "the tracked process ended");
        return SUMMARY_FINISHED;
    }
    if (run->tracked_pid.has)
        buf_puts(out, "the tracked process ended or ");
    buf_puts(out, "tracking was stopped");
    return SUMMARY_FINISHED;
}

void outcome_of_run(const struct accumulated_run *run, char *detail, struct summary_result *ret_result)
{
    const struct sample_end *end = &run->end;
    struct buf out = buf_over(detail, KEPT_DETAIL_BYTES);
    const char *verdict = put_end(run, &out);
    *ret_result = (struct summary_result){.present = true, .verdict = verdict, .detail = buf_over_end(&out)};
    if (!end->present)
        return;
    ret_result->exit_code = end->exit_code;
    ret_result->signal = end->signal;
    ret_result->oom_kills = end->oom_kills;
    ret_result->host_oom_kills = end->host_oom_kills;
}

bool outcome_was_killed(struct opt_i64 exit_code, struct opt_i64 signal)
{
    enum { SHELL_KILLED = 128 + SIGKILL };
    return signal.has ? signal.v == SIGKILL : exit_code.has && exit_code.v == SHELL_KILLED;
}

bool outcome_is_bad(const struct summary_result *result)
{
    static const char *const good[] = {SUMMARY_FINISHED, SUMMARY_STOPPED, SUMMARY_UNKNOWN};
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (strcmp(result->verdict, good[i]) == 0)
            return false;
    }
    return true;
}

static struct buf note_begin(struct accumulator *acc)
{
    /* There are fewer kinds of notes than KEPT_NOTES_MAX. */
    return buf_over(acc->note_texts[acc->note_count], KEPT_NOTE_BYTES);
}

static void note_end(struct accumulator *acc, struct buf *out)
{
    acc->notes[acc->note_count++] = buf_over_end(out);
}

static void note(struct accumulator *acc, const char *text)
{
    struct buf out = note_begin(acc);
    buf_puts(&out, text);
    note_end(acc, &out);
}

static void note_number(struct accumulator *acc, uint64_t number, const char *one, const char *many)
{
    struct buf out = note_begin(acc);
    units_put(&out, "%u%s", number, number == 1 ? one : many);
    note_end(acc, &out);
}

static void note_unknown_memory(struct accumulator *acc)
{
    struct buf out = note_begin(acc);
    units_put(&out, "memory of the tree was not known in %u of %u samples", acc->total.memory.unknown_samples.v,
        acc->total.samples.v);
    note_end(acc, &out);
}

static void note_runs(struct accumulator *acc)
{
    struct buf out = note_begin(acc);
    units_put(&out, "several runs: needs are maxima, amounts are means of %u runs", acc->total.runs.v);
    if (acc->total.runs_too_short > 0 && !summary_is_too_short(&acc->total))
        units_put(&out, ", of which %u%s", acc->total.runs_too_short,
            acc->total.runs_too_short > 1 ? " are too short for P95" : " is too short for P95");
    note_end(acc, &out);
}

void outcome_put_notes(struct accumulator *acc)
{
    const struct summary *total = &acc->total;
    if (total->samples.v == 0)
        note(acc, "there is no sample");
    if (total->runs.v > 1)
        note_runs(acc);
    if (acc->has_other_names)
        note(acc, "the runs are of jobs with different names: that of the last is shown");
    if (acc->has_other_commands)
        note(acc, "the runs are of different commands: none is shown");
    /* Of a single run the result says so. */
    if (acc->without_end > 0 && total->runs.v > 1)
        note_number(acc, acc->without_end,
            " run has no end in its recording: the tracker was killed, or the file was cut",
            " runs have no end in their recordings: the tracker was killed, or the file was cut");
    if (total->samples.v > 0 && !summary_has_tree(total) && (total->tracked_pid.has || !total->version))
        note(acc, "the recording has no process values");
    else if (total->memory.unknown_samples.v > 0)
        note_unknown_memory(acc);
    const struct summary_memory *memory = &total->memory;
    if (memory->need_mib.has && !memory->pss_peak_mib.has && total->cpu.processes_peak.v > 1 &&
        memory->need_mib.v > memory->largest_process_mib.v)
        note(acc, "PSS was not known at the peak of memory: RSS counts what processes share in each of them");
    if (acc->has_missed_peak)
        note(acc, "the peak of memory fell between two samples: with several processes it may have been higher");
    if (total->cpu.is_lower_bound.v)
        note(acc, "CPU time is a lower bound: some processes were never waited for");
    bool has_sizes = summary_has_job(total) && !summary_is_too_short(total);
    if (has_sizes && total->runs.v > 1 && total->runs_failed.v == total->runs.v)
        note(acc, "all runs failed: sizes are of what they did until then");
    else if (has_sizes && total->runs.v == 1 && outcome_is_bad(&total->result))
        note(acc, total->result.signal.has ? "the run was ended by a signal: sizes are of what it did until then"
                                           : "the run failed: sizes are of what it did until then");
    if (acc->carbon_g_per_kwh.has && !total->energy.carbon_grams.has)
        note(acc, "the energy of the job is not known, so its CO2 is not either");
    if (acc->left_running > 0)
        note_number(acc, acc->left_running, " process of the job still ran when it ended",
            " processes of the job still ran when it ended");
    if (acc->other_oom_kills > 0 && summary_has_job(total))
        note_number(acc, acc->other_oom_kills,
            " process was killed by the OOM killer on this machine meanwhile, perhaps of the job",
            " processes were killed by the OOM killer on this machine meanwhile, perhaps of the job");
    if (acc->phases.unmatched > 0)
        note_number(acc, acc->phases.unmatched, " end of a phase has no begin: it is ignored",
            " ends of phases have no begin: they are ignored");
    if (total->marks_dropped.v > 0)
        note_number(acc, total->marks_dropped.v,
            " mark was dropped: there were more than 256 at once, or 100,000 in all",
            " marks were dropped: there were more than 256 at once, or 100,000 in all");
    if (acc->phases.slot_count > PHASES_MAX + 1)
        note(acc, "there are more than 64 names of phases: the further ones are summed as others");
    acc->total.notes = (struct sample_list){true, acc->note_count, acc->notes};
}
