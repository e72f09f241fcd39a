/* SPDX-License-Identifier: Apache-2.0 */
#include "run/start_facts.h"

#include <string.h>

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

void start_facts_init(
    struct start_facts *facts, const struct settings *settings, const struct sysroot *root, char *const *command)
{
    *facts = (struct start_facts){.settings = settings};
    (void)file_read_line_at(root->proc_fd, "sys/kernel/hostname", facts->hostname, sizeof(facts->hostname));
    (void)file_read_line_at(root->proc_fd, "sys/kernel/osrelease", facts->kernel, sizeof(facts->kernel));
    if (root->is_host)
        facts->cpus_allowed = host_count_usable_cpus();
    if (command)
        list_command(facts, command);
}

struct sample_run start_facts_of(const struct start_facts *facts)
{
    const struct settings *settings = facts->settings;
    if (!settings)
        return (struct sample_run){0};
    return (struct sample_run){
        .present = true,
        .interval_secs = some_f64((double)settings->interval_ns / 1e9),
        .hostname = facts->hostname[0] ? facts->hostname : NULL,
        .kernel = facts->kernel[0] ? facts->kernel : NULL,
        .cpus_allowed = facts->cpus_allowed,
        .command = {.present = facts->arguments > 0, .count = facts->arguments, .items = facts->command},
    };
}
