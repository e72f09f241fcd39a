/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is recommended, as lines to paste: options of sbatch(1), resources of a Kubernetes container, options of docker
 * run, and the decorator of Metaflow. What is withheld is left out. GPUs of a vendor whose names are not known are left
 * out of the lines that need them.
 */
#include <string.h>

#include "base/num.h"
#include "summary/summary_internal.h"
#include "summary/units.h"

/* How GPUs are asked for, by their kernel driver. */
struct vendor {
    char driver[8], kubernetes[24];
    const char *docker; /* one option, with their number behind it where it ends in '=' */
};

static const struct vendor vendors[] = {
    {"nvidia", "nvidia.com/gpu", "--gpus="},
    {"amdgpu", "amd.com/gpu", "--device=/dev/kfd --device=/dev/dri"},
    {"i915", "gpu.intel.com/i915", "--device=/dev/dri"},
    {"xe", "gpu.intel.com/xe", "--device=/dev/dri"},
};

/* NULL where it is not known. */
static const struct vendor *vendor_of(const char *driver)
{
    for (size_t i = 0; driver && i < sizeof(vendors) / sizeof(vendors[0]); i++) {
        if (strcmp(vendors[i].driver, driver) == 0)
            return &vendors[i];
    }
    return NULL;
}

struct line {
    struct buf text;
    const char *gap; /* what stands before the next part */
};

static struct line line_over(char *text, const char *opening)
{
    struct line line = {.text = buf_over(text, SIZING_TEXT_BYTES), .gap = ""};
    buf_puts(&line.text, opening);
    return line;
}

static const char *line_end(struct line *line, const char *closing)
{
    buf_puts(&line->text, closing);
    return buf_over_end(&line->text);
}

static void put_key(struct line *line, const char *key, const char *next_gap)
{
    units_put(&line->text, "%s%s", line->gap, key);
    line->gap = next_gap;
}

static void put_count(struct line *line, const char *key, struct opt_u64 number, const char *next_gap)
{
    if (!number.has)
        return;
    put_key(line, key, next_gap);
    num_put_u64(&line->text, number.v);
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

/* "requests: {...}" of a container: CPUs and memory are asked for, memory and GPUs are held to. */
static const char *put_kubernetes(const struct summary_sizing *sizing, const struct vendor *vendor, char *text)
{
    static const char units[] = "MGi";
    struct line line = line_over(text, "resources: {");
    bool has_gpus = sizing->gpus.has && vendor;
    bool has_requests = sizing->cpu_millicores.has || sizing->memory_mib.has;
    bool has_limits = sizing->memory_mib.has || has_gpus;
    if (!has_requests && !has_limits)
        return NULL;
    if (has_requests) {
        buf_puts(&line.text, "requests: {");
        put_count(&line, "cpu: ", sizing->cpu_millicores, "m, ");
        put_memory(&line, "memory: ", sizing->memory_mib, units);
        if (!sizing->memory_mib.has)
            buf_putc(&line.text, 'm');
        buf_puts(&line.text, has_limits ? "}, " : "}");
    }
    if (has_limits) {
        buf_puts(&line.text, "limits: {");
        line.gap = "";
        put_memory(&line, "memory: ", sizing->memory_mib, units);
        line.gap = sizing->memory_mib.has ? ", " : "";
        if (has_gpus) {
            put_key(&line, vendor->kubernetes, "");
            put_count(&line, ": ", sizing->gpus, "");
        }
        buf_putc(&line.text, '}');
    }
    return line_end(&line, "}");
}

static const char *put_docker(const struct summary_sizing *sizing, const struct vendor *vendor, char *text)
{
    struct line line = line_over(text, "");
    put_count(&line, "--cpus=", sizing->vcpus, " ");
    put_memory(&line, "--memory=", sizing->memory_mib, "mg");
    if (sizing->gpus.has && vendor) {
        bool is_counted = vendor->docker[strlen(vendor->docker) - 1] == '=';
        put_key(&line, vendor->docker, " ");
        if (is_counted)
            num_put_u64(&line.text, sizing->gpus.v);
    }
    return line.text.len > 0 ? line_end(&line, "") : NULL;
}

/* Metaflow hands its number to Kubernetes as megabytes and to AWS Batch as MiB: so many of the smaller unit. */
static struct opt_u64 megabytes(struct opt_u64 mib)
{
    uint64_t bytes;
    if (!mib.has || __builtin_mul_overflow(mib.v, UINT64_C(1) << 20, &bytes))
        return mib;
    return some_u64(bytes / 1000000 + (bytes % 1000000 > 0));
}

void sizing_put_lines(struct summary *summary, const char *driver, struct sizing_texts *texts)
{
    struct summary_sizing *sizing = &summary->sizing;
    const struct summary_parts *parts = &summary->parts;
    const struct vendor *vendor = vendor_of(driver);
    if (!sizing->vcpus.has && !sizing->memory_mib.has && !sizing->gpus.has)
        return;
    struct line line = line_over(texts->slurm, "#SBATCH ");
    if (parts->missing.v == 0) {
        put_count(&line, "--nodes=", parts->nodes, " ");
        put_count(&line, "--ntasks=", parts->count, " ");
    }
    put_count(&line, "--cpus-per-task=", parts->present ? parts->task_vcpus : sizing->vcpus, " ");
    put_memory(&line, "--mem=", parts->present ? parts->node_memory_mib : sizing->memory_mib, "MG");
    put_count(&line, "--gpus=", sizing->gpus, " ");
    sizing->slurm = line_end(&line, "");
    if (parts->nodes.v > 1)
        return; /* it fits no container */
    line = line_over(texts->metaflow, "@resources(");
    put_count(&line, "cpu=", sizing->vcpus, ", ");
    put_count(&line, "memory=", megabytes(sizing->memory_mib), ", ");
    put_count(&line, "gpu=", sizing->gpus, ", ");
    sizing->metaflow = line_end(&line, ")");
    sizing->docker = put_docker(sizing, vendor, texts->docker);
    sizing->kubernetes = put_kubernetes(sizing, vendor, texts->kubernetes);
}
