/* SPDX-License-Identifier: Apache-2.0 */
/* What to ask for next time: amounts with their reasons, and ready lines for schedulers. */
#include <signal.h>
#include <string.h>

#include "base/num.h"
#include "summary/summary_internal.h"

enum { MIB_PER_GIB = 1024, SAMPLES_MIN = 3, SHELL_KILLED = 128 + SIGKILL };

#define WALL_MIN_SECS 2.0

static struct buf text_over(char *text)
{
    return (struct buf){.data = text, .cap = SIZING_TEXT_BYTES - 1, .max = SIZING_TEXT_BYTES - 1};
}

static const char *text_end(struct buf *text)
{
    text->data[text->len] = '\0';
    return text->data;
}

/* At most so many decimals, without zeros at the end. */
static void put_number(struct buf *text, double value, unsigned decimals)
{
    if (!num_put_fixed(text, value, decimals) || decimals == 0)
        return;
    while (text->len > 0 && text->data[text->len - 1] == '0')
        text->len--;
    if (text->len > 0 && text->data[text->len - 1] == '.')
        text->len--;
}

static void put_mib(struct buf *text, double mib)
{
    put_number(text, mib, mib < 10 ? 1 : 0);
    buf_puts(text, " MiB");
}

static uint64_t round_up(double value)
{
    static const double limit = 1e15;
    if (!(value > 0))
        return 0;
    uint64_t whole = (uint64_t)(value < limit ? value : limit);
    return whole + ((double)whole < value && value < limit);
}

uint64_t sizing_ladder_mib(double mib)
{
    for (uint64_t size = 128; size <= 2 * (uint64_t)MIB_PER_GIB; size *= 2) {
        if (!(mib > (double)size))
            return size;
    }
    return round_up(mib / MIB_PER_GIB) * MIB_PER_GIB;
}

static bool was_killed(const struct summary_result *result)
{
    if (result->signal.has)
        return result->signal.v == SIGKILL;
    return result->exit_code.has && result->exit_code.v == SHELL_KILLED;
}

static bool is_verdict(const struct summary_result *result, const char *verdict)
{
    return result->verdict && strcmp(result->verdict, verdict) == 0;
}

/* Did memory run out, for it or for another process of its cgroup? */
static bool ran_out(const struct summary_result *result)
{
    return is_verdict(result, SUMMARY_OUT_OF_MEMORY) || is_verdict(result, SUMMARY_MAYBE_OUT_OF_MEMORY) ||
           (result->oom_kills.has && result->oom_kills.v > 0);
}

bool sizing_peak_is_uncertain(const struct summary *summary)
{
    const struct summary_memory *memory = &summary->memory;
    struct opt_f64 at = memory->pss_peak_at_secs.has ? memory->pss_peak_at_secs : memory->rss_peak_at_secs;
    if (ran_out(&summary->result))
        return true;
    if (!was_killed(&summary->result) || !at.has || !summary->wall_secs.has)
        return false;
    /* The last tenth, or the last two intervals: nothing was seen after the kill. */
    double late = summary->wall_secs.v / 10;
    if (summary->interval_secs.has && late < summary->interval_secs.v * 2)
        late = summary->interval_secs.v * 2;
    return at.v >= summary->wall_secs.v - late;
}

static bool is_tracked(const struct summary *summary)
{
    return summary->tracked_pid.has || summary->cpu.cores_p95.has || summary_memory_need(summary).has;
}

/* Why nothing at all can be recommended; false where something can. */
static bool put_obstacle(const struct summary *summary, struct buf *text)
{
    uint64_t samples = summary->samples.has ? summary->samples.v : 0;
    double wall = summary->wall_secs.has ? summary->wall_secs.v : 0;
    if (!is_tracked(summary)) {
        buf_puts(text, "no job was tracked, only the host");
        return true;
    }
    double runs = summary->runs.v > 1 ? (double)summary->runs.v : 1;
    if (samples >= SAMPLES_MIN && wall * runs >= WALL_MIN_SECS)
        return false;
    buf_puts(text, wall < WALL_MIN_SECS ? "the run was too short (" : "there are too few samples (");
    put_number(text, wall, wall < 1 ? 3 : wall < 10 ? 2 : 0);
    buf_puts(text, " s, ");
    num_put_u64(text, samples);
    buf_puts(text, samples == 1 ? " sample)" : " samples)");
    return true;
}

static void size_cpu(const struct summary *summary, struct buf *text, struct opt_u64 *ret_vcpus)
{
    struct opt_f64 p95 = summary->cpu.cores_p95;
    if (put_obstacle(summary, text))
        return;
    if (!p95.has) {
        buf_puts(text, "the cores the job used are not known");
        return;
    }
    uint64_t vcpus = round_up(p95.v * 1.25 - 0.01);
    *ret_vcpus = some_u64(vcpus > 0 ? vcpus : 1);
    buf_puts(text, "P95 of ");
    size_t before = text->len;
    put_number(text, p95.v, p95.v < 0.1 ? 4 : 2);
    bool is_one = text->len - before == 1 && text->data[before] == '1';
    buf_puts(text, is_one ? " core + 25 %" : " cores + 25 %");
}

/* Why the peak is not what the job needs; false where it is. */
static bool put_memory_doubt(const struct summary *summary, double need, struct buf *text)
{
    const struct summary_memory *memory = &summary->memory;
    const struct summary_result *result = &summary->result;
    if (summary->runs.has && summary->runs.v > 1) {
        if (!memory->uncertain_mib.has || memory->uncertain_mib.v < need)
            return false;
        buf_puts(text, "the run that needed most was killed at ");
        put_mib(text, need);
        buf_puts(text, ": it may have wanted more");
        return true;
    }
    if (!sizing_peak_is_uncertain(summary))
        return false;
    if (!ran_out(result)) {
        buf_puts(text, "it was killed while its memory was at the highest");
        return true;
    }
    buf_puts(text, was_killed(result) ? "it was" : result->oom_kills.v == 1 ? "a process was" : "processes were");
    buf_puts(text, " killed by the OOM killer at ");
    put_mib(text, need);
    buf_puts(text, ": ask for more");
    if (memory->limit_mib.has) {
        buf_puts(text, " than the limit of ");
        put_mib(text, memory->limit_mib.v);
    }
    return true;
}

static const char *kind_of_need(const struct summary *summary, double need)
{
    const struct summary_memory *memory = &summary->memory;
    if (memory->pss_peak_mib.has && !(memory->pss_peak_mib.v < need))
        return " (PSS)";
    if (memory->largest_process_mib.has && !(memory->largest_process_mib.v < need))
        return " (largest process)";
    /* An upper bound, where processes share memory. */
    bool is_shared = summary->cpu.processes_peak.has && summary->cpu.processes_peak.v > 1;
    return is_shared ? " (RSS, which counts shared memory in every process)" : " (RSS)";
}

static void size_memory(const struct summary *summary, struct buf *text, struct opt_u64 *ret_mib)
{
    const struct summary_memory *memory = &summary->memory;
    struct opt_f64 need = summary_memory_need(summary);
    uint64_t unknown = memory->unknown_samples.has ? memory->unknown_samples.v : 0;
    if (put_obstacle(summary, text))
        return;
    if (!need.has || unknown > summary->samples.v / 5) {
        buf_puts(text, "the memory of the job was ");
        buf_puts(text, need.has ? "not known in too many samples" : "never known");
        return;
    }
    if (put_memory_doubt(summary, need.v, text))
        return;
    *ret_mib = some_u64(sizing_ladder_mib(need.v * 1.2));
    buf_puts(text, "peak of ");
    put_mib(text, need.v);
    buf_puts(text, kind_of_need(summary, need.v));
    buf_puts(text, " + 20 %, next size");
}

static void size_gpus(const struct summary *summary, struct buf *text, struct opt_u64 *ret_gpus)
{
    const struct summary_gpu *gpu = &summary->gpu;
    if (put_obstacle(summary, text))
        return;
    if (!gpu->utilized_peak.has && !gpu->usage_p95.has && !gpu->vram_peak_mib.has) {
        buf_puts(text, "what the job used of the GPUs is not known");
        return;
    }
    uint64_t used = gpu->utilized_peak.has ? gpu->utilized_peak.v : 0;
    bool by_memory = used == 0 && gpu->vram_peak_mib.has && gpu->vram_peak_mib.v > 0;
    if (used == 0 && gpu->usage_p95.has)
        used = round_up(gpu->usage_p95.v - 0.01);
    if (used == 0 && by_memory)
        used = 1;
    if (used == 0) {
        buf_puts(text, "the GPUs were not used");
        return;
    }
    *ret_gpus = some_u64(used);
    num_put_u64(text, used);
    if (gpu->count.has) {
        buf_puts(text, " of ");
        num_put_u64(text, gpu->count.v);
    }
    buf_puts(text, " used");
}

static void size_vram(const struct summary *summary, struct buf *text, struct opt_u64 *ret_mib)
{
    struct opt_u64 gpus = summary->sizing.gpus;
    struct opt_f64 peak = summary->gpu.vram_peak_mib;
    if (!gpus.has || gpus.v == 0) {
        buf_puts(text, summary->sizing.gpus_reason);
        return;
    }
    if (!peak.has || !(peak.v > 0)) {
        buf_puts(text, "the GPU memory of the job is not known");
        return;
    }
    *ret_mib = some_u64(round_up(peak.v / (double)gpus.v * 1.2 / MIB_PER_GIB) * MIB_PER_GIB);
    buf_puts(text, "peak of ");
    put_mib(text, peak.v);
    if (gpus.v > 1) {
        buf_puts(text, " on ");
        num_put_u64(text, gpus.v);
        buf_puts(text, " GPUs");
    }
    buf_puts(text, " + 20 %, next GiB");
}

/*
 * What is recommended, as lines to paste: options of sbatch(1), resources of a Kubernetes container, options of docker
 * run, and the decorator of Metaflow. What is withheld is left out.
 */
struct line {
    struct buf text;
    const char *gap; /* what stands before the next part */
};

static struct line line_over(char *text, const char *opening)
{
    struct line line = {.text = {.data = text, .cap = SIZING_TEXT_BYTES - 1, .max = SIZING_TEXT_BYTES - 1}, .gap = ""};
    buf_puts(&line.text, opening);
    return line;
}

static const char *line_end(struct line *line, const char *closing)
{
    buf_puts(&line->text, closing);
    line->text.data[line->text.len] = '\0';
    return line->text.data;
}

static void put_key(struct line *line, const char *key, const char *next_gap)
{
    buf_puts(&line->text, line->gap);
    buf_puts(&line->text, key);
    line->gap = next_gap;
}

static void put_count(struct line *line, const char *key, struct opt_u64 number, const char *next_gap)
{
    if (!number.has)
        return;
    put_key(line, key, next_gap);
    num_put_u64(&line->text, number.v);
}

static void put_quoted(struct line *line, const char *key, struct opt_u64 number)
{
    if (!number.has)
        return;
    put_count(line, key, number, ", ");
    buf_putc(&line->text, '"');
}

/* Whole GiB where it is that. Units: the letters for MiB and GiB, and what follows them. */
static void put_memory(struct line *line, const char *key, struct opt_u64 mib, const char *units)
{
    if (!mib.has)
        return;
    bool is_gib = mib.v >= 1024 && mib.v % 1024 == 0;
    put_count(line, key, some_u64(is_gib ? mib.v / 1024 : mib.v), " ");
    buf_putc(&line->text, units[is_gib]);
    buf_puts(&line->text, units + 2);
}

/* "requests: {…}" of a container: CPUs and memory are asked for, memory and GPUs are held to. */
static void put_kubernetes(const struct summary_sizing *sizing, struct sizing_texts *texts, const char **ret_line)
{
    static const char units[] = "MGi";
    struct line line = line_over(texts->kubernetes, "resources: {");
    bool has_requests = sizing->vcpus.has || sizing->memory_mib.has;
    bool has_limits = sizing->memory_mib.has || sizing->gpus.has;
    if (has_requests) {
        buf_puts(&line.text, "requests: {");
        put_quoted(&line, "cpu: \"", sizing->vcpus);
        put_memory(&line, "memory: ", sizing->memory_mib, units);
        buf_puts(&line.text, has_limits ? "}, " : "}");
    }
    if (has_limits) {
        buf_puts(&line.text, "limits: {");
        line.gap = "";
        put_memory(&line, "memory: ", sizing->memory_mib, units);
        line.gap = sizing->memory_mib.has ? ", " : "";
        put_quoted(&line, "nvidia.com/gpu: \"", sizing->gpus);
        buf_putc(&line.text, '}');
    }
    *ret_line = line_end(&line, "}");
}

void sizing_put_lines(struct summary_sizing *sizing, struct sizing_texts *texts)
{
    if (!sizing->vcpus.has && !sizing->memory_mib.has && !sizing->gpus.has)
        return;
    struct line line = line_over(texts->slurm, "#SBATCH ");
    put_count(&line, "--cpus-per-task=", sizing->vcpus, " ");
    put_memory(&line, "--mem=", sizing->memory_mib, "MG");
    put_count(&line, "--gpus=", sizing->gpus, " ");
    sizing->slurm = line_end(&line, "");
    line = line_over(texts->docker, "");
    put_count(&line, "--cpus=", sizing->vcpus, " ");
    put_memory(&line, "--memory=", sizing->memory_mib, "mg");
    put_count(&line, "--gpus=", sizing->gpus, " ");
    sizing->docker = line_end(&line, "");
    line = line_over(texts->metaflow, "@resources(");
    put_count(&line, "cpu=", sizing->vcpus, ", ");
    put_count(&line, "memory=", sizing->memory_mib, ", ");
    put_count(&line, "gpu=", sizing->gpus, ", ");
    sizing->metaflow = line_end(&line, ")");
    put_kubernetes(sizing, texts, &sizing->kubernetes);
}

void sizing_fill(struct summary *summary, struct sizing_texts *texts)
{
    struct summary_sizing *sizing = &summary->sizing;
    *sizing = (struct summary_sizing){.present = true};
    struct buf text = text_over(texts->vcpus);
    size_cpu(summary, &text, &sizing->vcpus);
    sizing->vcpus_reason = text_end(&text);
    text = text_over(texts->memory);
    size_memory(summary, &text, &sizing->memory_mib);
    sizing->memory_reason = text_end(&text);
    if (summary->gpu.present) {
        text = text_over(texts->gpus);
        size_gpus(summary, &text, &sizing->gpus);
        sizing->gpus_reason = text_end(&text);
        text = text_over(texts->vram);
        size_vram(summary, &text, &sizing->vram_mib);
        sizing->vram_reason = text_end(&text);
    }
    sizing_put_lines(sizing, texts);
}
