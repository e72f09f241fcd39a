/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recommended, as lines to paste: options of sbatch(1), resources of a Kubernetes container, options of docker
 * run, and the decorator of Metaflow. What is withheld is left out.
 */
#include "base/num.h"
#include "summary/sizing.h"

struct line {
    struct buf text;
    const char *gap; /* what stands before the next part */
};

static struct line line_over(char *room, const char *opening)
{
    struct line line = {.text = {.data = room, .cap = SIZING_TEXT_BYTES - 1, .max = SIZING_TEXT_BYTES - 1}, .gap = ""};
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

static void put_number(struct line *line, const char *key, struct opt_u64 number, const char *next_gap)
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
    put_number(line, key, number, ", ");
    buf_putc(&line->text, '"');
}

/* Whole GiB where it is that. Units: the letters for MiB and GiB, and what follows them. */
static void put_memory(struct line *line, const char *key, struct opt_u64 mib, const char *units)
{
    if (!mib.has)
        return;
    bool is_gib = mib.v >= 1024 && mib.v % 1024 == 0;
    put_number(line, key, some_u64(is_gib ? mib.v / 1024 : mib.v), " ");
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
    put_number(&line, "--cpus-per-task=", sizing->vcpus, " ");
    put_memory(&line, "--mem=", sizing->memory_mib, "MG");
    put_number(&line, "--gpus=", sizing->gpus, " ");
    sizing->slurm = line_end(&line, "");
    line = line_over(texts->docker, "");
    put_number(&line, "--cpus=", sizing->vcpus, " ");
    put_memory(&line, "--memory=", sizing->memory_mib, "mg");
    put_number(&line, "--gpus=", sizing->gpus, " ");
    sizing->docker = line_end(&line, "");
    line = line_over(texts->metaflow, "@resources(");
    put_number(&line, "cpu=", sizing->vcpus, ", ");
    put_number(&line, "memory=", sizing->memory_mib, ", ");
    put_number(&line, "gpu=", sizing->gpus, ", ");
    sizing->metaflow = line_end(&line, ")");
    put_kubernetes(sizing, texts, &sizing->kubernetes);
}
