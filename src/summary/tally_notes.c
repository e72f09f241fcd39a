/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader of the summary should know beside the numbers: what is missing or uncertain, and why. */
#include "base/buf.h"
#include "base/num.h"
#include "summary/tally_internal.h"

static struct buf begin(struct tally *tally)
{
    /* There are fewer kinds of notes than room for them. */
    return (struct buf){
        .data = tally->note_texts[tally->note_count], .cap = TALLY_NOTE_BYTES - 1, .max = TALLY_NOTE_BYTES - 1};
}

static void end(struct tally *tally, struct buf *out)
{
    out->data[out->len] = '\0';
    tally->notes[tally->note_count++] = out->data;
}

static void note(struct tally *tally, const char *text)
{
    struct buf out = begin(tally);
    buf_puts(&out, text);
    end(tally, &out);
}

static void note_number(struct tally *tally, uint64_t number, const char *one, const char *many)
{
    struct buf out = begin(tally);
    num_put_u64(&out, number);
    buf_puts(&out, number == 1 ? one : many);
    end(tally, &out);
}

static void note_unknown_memory(struct tally *tally)
{
    struct buf out = begin(tally);
    buf_puts(&out, "memory of the tree was not known in ");
    num_put_u64(&out, tally->total.memory.unknown_samples.v);
    buf_puts(&out, " of ");
    num_put_u64(&out, tally->total.samples.v);
    buf_puts(&out, " samples");
    end(tally, &out);
}

static bool has_tree(const struct summary *total)
{
    return total->cpu.total_secs.has || total->cpu.cores_p95.has || summary_memory_need(total).has;
}

static void note_runs(struct tally *tally)
{
    struct buf out = begin(tally);
    buf_puts(&out, "several runs: needs are maxima, amounts are means of ");
    num_put_u64(&out, tally->total.runs.v);
    buf_puts(&out, " runs");
    end(tally, &out);
}

void tally_notes_tell(struct tally *tally)
{
    const struct summary *total = &tally->total;
    if (total->samples.v == 0)
        note(tally, "there is no sample");
    if (total->runs.v > 1)
        note_runs(tally);
    if (tally->has_other_names)
        note(tally, "the runs are of jobs with different names: that of the last is shown");
    /* Of a single run the result says so. */
    if (tally->without_end > 0 && total->runs.v > 1)
        note(tally, "the recording has no end: the tracker was killed, or the file was cut");
    if (total->samples.v > 0 && !has_tree(total) && (total->tracked_pid.has || !total->version))
        note(tally, "the recording has no process values");
    else if (total->memory.unknown_samples.v > 0)
        note_unknown_memory(tally);
    const struct summary_memory *memory = &total->memory;
    if (memory->need_mib.has && !memory->pss_peak_mib.has && total->cpu.processes_peak.v > 1 &&
        memory->need_mib.v > memory->largest_process_mib.v)
        note(tally, "PSS was not known at the peak of memory: RSS counts what processes share in each of them");
    if (tally->has_missed_peak)
        note(tally, "the peak of memory fell between two samples: with several processes it may have been higher");
    if (total->cpu.is_lower_bound.v)
        note(tally, "CPU time is a lower bound: some processes were never waited for");
    if (tally->left_running > 0)
        note_number(tally, tally->left_running, " process of the job still ran when it ended",
            " processes of the job still ran when it ended");
    tally->total.notes = (struct sample_list){true, tally->note_count, tally->notes};
}
