/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies of what is valid during accumulate_add only: texts, processes, names and pairs of a sample, each in bounded
 * space.
 */
#include <string.h>

#include "base/str.h"
#include "base/text.h"
#include "summary/summary_internal.h"

/* Bytes that are no UTF-8 become U+FFFD, as in JSON, so that a recording has the same text. */
static size_t copy_valid(const char *text, char *out, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd";
    struct str left = str_of(text);
    size_t used = 0;
    while (left.n > 0) {
        size_t valid = utf8_length(left);
        struct str piece = valid > 0 ? (struct str){left.p, valid} : (struct str){replacement, 3};
        if (piece.n >= size - used)
            break;
        memcpy(out + used, piece.p, piece.n);
        used += piece.n;
        str_skip(&left, valid > 0 ? valid : 1);
    }
    out[used] = '\0';
    return left.n > 0 ? SIZE_MAX : used;
}

void keep_text(const char *text, char *out, size_t size)
{
    (void)copy_valid(text, out, size);
}

static bool keep_known(const char *text, char *out, size_t size)
{
    if (text)
        keep_text(text, out, size);
    return text;
}

static void keep_command(struct kept_identity *identity, const struct sample_list *list)
{
    static const char cut[] = "...";
    const char *const *arguments = list->items;
    identity->has_command = list->present;
    identity->argument_count = 0;
    size_t used = 0;
    for (size_t i = 0; list->present && i < list->count; i++) {
        char *copy = identity->command + used;
        size_t left = KEPT_COMMAND_BYTES - used, bytes = SIZE_MAX;
        if (identity->argument_count < KEPT_ARGUMENTS_MAX && left > 0)
            bytes = copy_valid(arguments[i] ? arguments[i] : "", copy, left);
        identity->arguments[identity->argument_count++] = bytes == SIZE_MAX ? cut : copy;
        if (bytes == SIZE_MAX)
            return;
        used += bytes + 1;
    }
}

/* Keys that are too long for their space would be others; values are cut. */
static void keep_pairs(struct kept_pairs *pairs, const struct sample_list *list)
{
    const struct str_pair *given = list->items;
    size_t used = 0;
    pairs->is_known = list->present;
    pairs->count = 0;
    for (size_t i = 0; list->present && i < list->count && pairs->count < KEPT_PAIRS_MAX; i++) {
        char *key = pairs->text + used;
        size_t left = sizeof(pairs->text) - used;
        if (left < 2)
            return;
        size_t key_bytes =
            given[i].key ? copy_valid(given[i].key, key, left < KEPT_KEY_BYTES ? left : KEPT_KEY_BYTES) : SIZE_MAX;
        if (key_bytes == SIZE_MAX || key_bytes + 2 > left)
            continue;
        char *value = key + key_bytes + 1;
        left -= key_bytes + 1;
        keep_text(given[i].value ? given[i].value : "", value, left < KEPT_VALUE_BYTES ? left : KEPT_VALUE_BYTES);
        pairs->items[pairs->count++] = (struct str_pair){key, value};
        used += key_bytes + strlen(value) + 2;
    }
}

void keep_identity(struct kept_identity *identity, const struct sample *sample, bool is_first)
{
    const struct sample_run *run = &sample->run;
    if (is_first) {
        identity->has_job_name = keep_known(sample->job_name, identity->job_name, sizeof(identity->job_name));
        identity->has_version = keep_known(sample->version, identity->version, sizeof(identity->version));
        identity->has_hostname = identity->has_kernel = identity->has_command = false;
        identity->has_cpu_model = identity->has_cgroup_path = false;
        identity->metadata.is_known = identity->tags.is_known = false;
    }
    if (!run->present)
        return;
    identity->has_hostname = keep_known(run->hostname, identity->hostname, sizeof(identity->hostname));
    identity->has_kernel = keep_known(run->kernel, identity->kernel, sizeof(identity->kernel));
    identity->has_cpu_model = keep_known(run->cpu_model, identity->cpu_model, sizeof(identity->cpu_model));
    identity->has_cgroup_path = keep_known(run->cgroup_path, identity->cgroup_path, sizeof(identity->cgroup_path));
    keep_command(identity, &run->command);
    keep_pairs(&identity->metadata, &run->metadata);
    keep_pairs(&identity->tags, &run->tags);
}

void keep_processes(struct kept_processes *processes, const struct sample_list *list, int64_t at_fixed4)
{
    const struct sample_process *items = list->items;
    if (!list->present || list->count == 0)
        return;
    size_t count = list->count < SUMMARY_PROCESSES_MAX ? list->count : SUMMARY_PROCESSES_MAX;
    for (size_t i = 0; i < count; i++) {
        struct sample_process *kept = &processes->items[i];
        *kept = items[i];
        kept->rss_mib = fixed4_rounded(items[i].rss_mib);
        kept->cpu_secs = fixed4_rounded(items[i].cpu_secs);
        keep_text(items[i].name ? items[i].name : "", processes->names[i], KEPT_NAME_BYTES);
        kept->name = items[i].name ? processes->names[i] : NULL;
        keep_text(items[i].command ? items[i].command : "", processes->commands[i], KEPT_COMMAND_LINE_BYTES);
        kept->command = items[i].command ? processes->commands[i] : NULL;
    }
    processes->count = count;
    processes->at_fixed4 = at_fixed4;
}

static void keep_gpu_name(struct kept_gpu_names *names, const char *name)
{
    size_t i = names->count;
    if (i == KEPT_GPU_NAMES_MAX)
        return;
    keep_text(name, names->texts[i], sizeof(names->texts[i]));
    for (size_t known = 0; known < i; known++) {
        if (strcmp(names->texts[known], names->texts[i]) == 0)
            return;
    }
    names->items[i] = names->texts[i];
    names->count++;
}

void keep_gpu_names(struct kept_gpu_names *names, const struct sample_list *list)
{
    const struct sample_gpu *gpus = list->items;
    for (size_t i = 0; list->present && i < list->count; i++) {
        if (gpus[i].name)
            keep_gpu_name(names, gpus[i].name);
    }
}
