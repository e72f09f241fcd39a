/* SPDX-License-Identifier: Apache-2.0 */
#include "run/start_facts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "collect/host/host.h"

enum mask_mode start_facts_mask(const struct settings *settings)
{
    static const enum mask_mode modes[] = {
        [MASK_COMMAND_AUTO] = MASK_AUTO, [MASK_COMMAND_STRICT] = MASK_STRICT, [MASK_COMMAND_OFF] = MASK_OFF};
    return modes[settings->mask_command];
}

/* A sample is not as long as a list of files may be. */
static void list_command(struct start_facts *facts, char *const *command)
{
    size_t room = SAMPLE_COMMAND_BYTES;
    for (; *command; command++) {
        size_t bytes = strlen(*command) + 1;
        bool fits = facts->arguments < SAMPLE_ARGUMENTS_MAX && bytes <= room;
        facts->command[facts->arguments++] = fits ? *command : "...";
        if (!fits)
            return;
        room -= bytes;
    }
}

/* By the names of their settings, as far as they are set. */
static void list_metadata(struct start_facts *facts, const struct settings *settings)
{
    const struct str_pair all[START_METADATA_MAX] = {
        {"project_name", settings->project_name},
        {"stage_name", settings->stage_name},
        {"task_name", settings->task_name},
        {"team", settings->team},
        {"env", settings->env},
        {"language", settings->language},
        {"orchestrator", settings->orchestrator},
        {"executor", settings->executor},
        {"external_run_id", settings->external_run_id},
        {"container_image", settings->container_image},
        {"node", settings->node},
        {"rank", settings->rank},
        {"world_size", settings->world_size},
    };
    for (size_t i = 0; i < START_METADATA_MAX; i++) {
        if (all[i].value && all[i].value[0])
            facts->metadata[facts->metadata_count++] = all[i];
    }
}

/* Without memory there are none. */
static void list_tags(struct start_facts *facts, const struct settings_pairs *tags)
{
    facts->tags = tags->count > 0 ? calloc(tags->count, sizeof(*facts->tags)) : NULL;
    for (size_t i = 0; facts->tags && i < tags->count; i++)
        facts->tags[i] = (struct str_pair){.key = tags->items[i].key, .value = tags->items[i].value};
}

/* One call for what is in two files. Below UNAME26 (setarch --uname-2.6) it has another version than they have. */
static bool ask_kernel(struct start_facts *facts)
{
    struct utsname names;
    if (uname(&names) < 0 || strncmp(names.release, "2.6.", 4) == 0)
        return false;
    (void)str_copy(str_of(names.nodename), facts->hostname, sizeof(facts->hostname));
    (void)str_copy(str_of(names.release), facts->kernel, sizeof(facts->kernel));
    return true;
}

void start_facts_init(
    struct start_facts *facts, const struct settings *settings, const struct sysroot *root, char *const *command)
{
    *facts = (struct start_facts){.settings = settings};
    if (root->is_host)
        facts->cpus_allowed = host_count_usable_cpus();
    if (!root->is_host || !ask_kernel(facts)) {
        (void)file_read_line_at(root->proc_fd, "sys/kernel/hostname", facts->hostname, sizeof(facts->hostname));
        (void)file_read_line_at(root->proc_fd, "sys/kernel/osrelease", facts->kernel, sizeof(facts->kernel));
    }
    if (command)
        list_command(facts, command);
    list_metadata(facts, settings);
    list_tags(facts, &settings->tags);
}

void start_facts_fini(struct start_facts *facts)
{
    free(facts->tags);
    *facts = (struct start_facts){0};
}

void start_facts_read_cpu_model(struct start_facts *facts, const struct sysroot *root)
{
    if (!facts->settings || facts->has_cpu_model)
        return;
    facts->has_cpu_model = true;
    host_read_cpu_model(root, facts->cpu_model, sizeof(facts->cpu_model));
}

static struct sample_list list_of(const void *items, size_t count)
{
    return (struct sample_list){.present = count > 0, .count = count, .items = items};
}

void start_facts_fill(const struct start_facts *facts, struct sample_run *run)
{
    const struct settings *settings = facts->settings;
    run->present = settings;
    if (!settings)
        return;
    run->interval_secs = some_f64((double)settings->interval_ns / 1e9);
    run->hostname = facts->hostname[0] ? facts->hostname : NULL;
    run->kernel = facts->kernel[0] ? facts->kernel : NULL;
    run->cpu_model = facts->cpu_model[0] ? facts->cpu_model : NULL;
    run->cpus_allowed = facts->cpus_allowed;
    run->command = list_of(facts->command, facts->arguments);
    run->metadata = list_of(facts->metadata, facts->metadata_count);
    run->tags = list_of(facts->tags, facts->tags ? settings->tags.count : 0);
}
