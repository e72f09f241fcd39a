/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of the texts of samples, in bounded room. */
#include <string.h>

#include "base/str.h"
#include "base/utf8.h"
#include "summary/tally_internal.h"

/* Bytes that are no UTF-8 become U+FFFD, as in JSON, so that a recording has the same text. */
static size_t copy_valid(const char *text, char *out, size_t size)
{
    static const char replacement[] = "\xef\xbf\xbd";
    struct str rest = str_of(text);
    size_t used = 0;
    while (rest.n > 0) {
        size_t valid = utf8_length(rest);
        struct str piece = valid > 0 ? (struct str){rest.p, valid} : (struct str){replacement, 3};
        if (piece.n >= size - used)
            break;
        memcpy(out + used, piece.p, piece.n);
        used += piece.n;
        str_skip(&rest, valid > 0 ? valid : 1);
    }
    out[used] = '\0';
    return rest.n > 0 ? SIZE_MAX : used;
}

void tally_text_copy(const char *text, char *out, size_t size)
{
    (void)copy_valid(text, out, size);
}

static bool take(const char *text, char *out, size_t size)
{
    if (text)
        tally_text_copy(text, out, size);
    return text;
}

static void take_command(struct tally_identity *identity, const struct sample_list *list)
{
    static const char cut[] = "...";
    const char *const *arguments = list->items;
    identity->has_command = list->present;
    identity->argument_count = 0;
    size_t used = 0;
    for (size_t i = 0; list->present && i < list->count; i++) {
        char *copy = identity->command + used;
        size_t room = TALLY_COMMAND_BYTES - used, bytes = SIZE_MAX;
        if (identity->argument_count < TALLY_ARGUMENTS_MAX && room > 0)
            bytes = copy_valid(arguments[i] ? arguments[i] : "", copy, room);
        identity->arguments[identity->argument_count++] = bytes == SIZE_MAX ? cut : copy;
        if (bytes == SIZE_MAX)
            return;
        used += bytes + 1;
    }
}

void tally_identity_take(struct tally_identity *identity, const struct sample *sample, bool is_first)
{
    const struct sample_run *run = &sample->run;
    if (is_first) {
        identity->has_job_name = take(sample->job_name, identity->job_name, sizeof(identity->job_name));
        identity->has_version = take(sample->version, identity->version, sizeof(identity->version));
        identity->has_hostname = identity->has_kernel = identity->has_command = false;
    }
    if (!run->present)
        return;
    identity->has_hostname = take(run->hostname, identity->hostname, sizeof(identity->hostname));
    identity->has_kernel = take(run->kernel, identity->kernel, sizeof(identity->kernel));
    take_command(identity, &run->command);
}

void tally_identity_tell(const struct tally_identity *identity, struct summary *summary)
{
    summary->job_name = identity->has_job_name ? identity->job_name : NULL;
    summary->version = identity->has_version ? identity->version : NULL;
    summary->hostname = identity->has_hostname ? identity->hostname : NULL;
    summary->kernel = identity->has_kernel ? identity->kernel : NULL;
    summary->command = (struct sample_list){identity->has_command, identity->argument_count, identity->arguments};
}

void tally_processes_take(struct tally_processes *processes, const struct sample_list *list, int64_t at_e4)
{
    const struct sample_process *items = list->items;
    if (!list->present || list->count == 0)
        return;
    size_t count = list->count < SUMMARY_PROCESSES_MAX ? list->count : SUMMARY_PROCESSES_MAX;
    for (size_t i = 0; i < count; i++) {
        struct sample_process *kept = &processes->items[i];
        *kept = items[i];
        kept->rss_mib = shown_f64(items[i].rss_mib);
        kept->cpu_secs = shown_f64(items[i].cpu_secs);
        tally_text_copy(items[i].name ? items[i].name : "", processes->names[i], TALLY_NAME_BYTES);
        kept->name = items[i].name ? processes->names[i] : NULL;
    }
    processes->count = count;
    processes->at_e4 = at_e4;
}

static void take_gpu_name(struct tally_gpu_names *names, const char *name)
{
    size_t i = names->count;
    if (i == TALLY_GPU_NAMES_MAX)
        return;
    tally_text_copy(name, names->texts[i], sizeof(names->texts[i]));
    for (size_t known = 0; known < i; known++) {
        if (strcmp(names->texts[known], names->texts[i]) == 0)
            return;
    }
    names->items[i] = names->texts[i];
    names->count++;
}

void tally_gpu_names_take(struct tally_gpu_names *names, const struct sample_list *list)
{
    const struct sample_gpu *gpus = list->items;
    for (size_t i = 0; list->present && i < list->count; i++) {
        if (gpus[i].name)
            take_gpu_name(names, gpus[i].name);
    }
}
