/* SPDX-License-Identifier: Apache-2.0 */
/* --from: recorded samples instead of new ones, through the same outputs. */
#include "run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/file.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/vec.h"
#include "encode/encode.h"
#include "replay/parts.h"
#include "replay/replay.h"
#include "run/command_text.h"
#include "run/output/file_name.h"
#include "run/output/output.h"
#include "run/output/reports.h"
#include "run/start_facts.h"
#include "summary/units.h"

/* A reader is waited for as long as it takes, as cat does; a second at a time. */
enum {
    READER_MS = 1000,
    PROCESSES_MAX = 16,
    WHAT_BYTES = 256,
    HISTORY_MAX = 65536,
    HISTORY_BYTES_MAX = 1024 * 1024,
    PATTERN_BYTES_MAX = 16384
};

/* Processes of a sample with their command lines as they may be shown. */
struct shown_processes {
    struct sample_process items[PROCESSES_MAX];
    char commands[PROCESSES_MAX][SAMPLE_PROCESS_BYTES];
};

struct replaying {
    const struct settings *settings;
    struct run_info info; /* of the newest run */
    struct output output;
    struct reports reports;
    bool writes_samples, is_open, has_run;
    bool has_warned; /* of columns that are not written */
    struct err last_error; /* why it cannot go on */
    struct mask_command command; /* of the newest sample that has one */
    struct shown_processes largest, by_cpu; /* the same */
    struct buf history; /* command lines of the same, each with a NUL */
    struct {
        const char **items;
        size_t count, cap;
    } commands; /* each of them */
    struct progress progress;
    char what[WHAT_BYTES]; /* that is read */
    struct summary_parts parts;
};

static bool wants_reports(const struct settings *settings)
{
    return settings->summary == WHEN_ALWAYS || settings->summary_json || settings->summary_markdown ||
           settings->report || settings->metrics_file || settings->snakemake_benchmark;
}

static bool wants_samples(const struct settings *settings)
{
    if (settings->quiet)
        return false;
    return settings->output || settings->is_format_given || (!wants_reports(settings) && output_is_captured());
}

/* The columns of CSV follow from the recording, so this waits for its first run. */
static int open_output(struct replaying *replaying)
{
    replaying->is_open = true;
    if (!replaying->writes_samples)
        return 0;
    int r = output_open(&replaying->output, replaying->settings, &replaying->info, &replaying->last_error);
    return r;
}

/* The columns are those of the first run, which may have been of the host alone. */
static void warn_of_columns(struct replaying *replaying, bool has_process)
{
    const struct settings *settings = replaying->settings;
    const struct encoder *now = replaying->output.encoder;
    if (!now || !has_process || replaying->has_warned ||
        encoder_find((enum encode_format)settings->format, (enum encode_columns)settings->csv_columns, true) == now)
        return;
    replaying->has_warned = true;
    log_warning("a run of a process follows one of the host alone: its values are not in the columns of this CSV "
                "(--csv-columns full)");
}

static void begin_run(void *context, const struct run_info *info)
{
    struct replaying *replaying = context;
    if (replaying->has_run)
        reports_next_run(&replaying->reports);
    replaying->has_run = true;
    warn_of_columns(replaying, info->tracked_pid.has);
    int64_t interval_ns = info->interval_ns > 0 ? info->interval_ns : replaying->settings->interval_ns;
    /* Texts of the recording do not live as long. */
    replaying->info =
        (struct run_info){.version = RT_VERSION, .tracked_pid = info->tracked_pid, .interval_ns = interval_ns};
}

/* A recording may be older than masking, or made without it. */
static void mask_recorded(struct replaying *replaying, struct sample *sample)
{
    struct sample_list *list = &sample->run.command;
    const struct settings *settings = replaying->settings;
    mask_command_fini(&replaying->command);
    if (!list->present || !settings->record_command) {
        list->present = false;
        return;
    }
    char *argv[SAMPLE_ARGUMENTS_MAX + 2];
    size_t count = list->count < SAMPLE_ARGUMENTS_MAX + 1 ? list->count : SAMPLE_ARGUMENTS_MAX + 1;
    if (count > 0)
        memcpy(argv, list->items, count * sizeof(argv[0]));
    argv[count] = NULL;
    list->present = mask_command(argv, start_facts_mask(settings), &replaying->command) == 0;
    list->items = replaying->command.items;
    list->count = replaying->command.count;
}

static void mask_processes(const struct settings *settings, struct shown_processes *shown, struct sample_list *list)
{
    if (!list->present)
        return;
    const struct sample_process *recorded = list->items;
    list->count = list->count < PROCESSES_MAX ? list->count : PROCESSES_MAX;
    for (size_t i = 0; i < list->count; i++) {
        struct sample_process *process = &shown->items[i];
        *process = recorded[i];
        bool is_shown = process->command && settings->record_command &&
                        command_text_mask_again(process->command, start_facts_mask(settings), shown->commands[i],
                            sizeof(shown->commands[i])) == 0;
        process->command = is_shown ? shown->commands[i] : NULL;
    }
    list->items = shown->items;
}

/* All command lines that are not shown are empty: processes name them by their number. */
static void mask_history(struct replaying *replaying, struct sample_list *list)
{
    const struct settings *settings = replaying->settings;
    const char *const *recorded = list->items;
    size_t count = list->present ? list->count : 0;
    if (count == 0)
        return;
    list->present = settings->record_command && VEC_GROW(&replaying->commands, count, HISTORY_MAX) == 0;
    buf_clear(&replaying->history);
    for (size_t i = 0; list->present && i < count; i++) {
        char shown[SAMPLE_PROCESS_BYTES] = "";
        if (command_text_mask_again(recorded[i], start_facts_mask(settings), shown, sizeof(shown)) < 0)
            shown[0] = '\0';
        buf_append(&replaying->history, shown, strlen(shown) + 1);
    }
    list->present &= buf_ok(&replaying->history);
    const char *next = replaying->history.data;
    for (size_t i = 0; list->present && i < count; i++, next += strlen(next) + 1)
        replaying->commands.items[i] = next;
    list->items = replaying->commands.items;
}

static int add_sample(void *context, const struct sample *sample)
{
    struct replaying *replaying = context;
    int r = replaying->is_open ? 0 : open_output(replaying);
    if (r < 0)
        return r;
    struct sample named = *sample;
    if (!named.job_name || replaying->settings->is_job_name_given)
        named.job_name = replaying->settings->job_name;
    mask_recorded(replaying, &named);
    mask_processes(replaying->settings, &replaying->largest, &named.processes);
    mask_processes(replaying->settings, &replaying->by_cpu, &named.end.processes_by_cpu);
    mask_history(replaying, &named.end.history.commands);
    if (!named.version)
        named.version = RT_VERSION;
    const struct sample_totals totals = sample_totals_of(&named, reports_want_rates(&replaying->reports));
    reports_sample(&replaying->reports, &named, &totals);
    if (!replaying->writes_samples)
        return 0;
    r = output_sample(&replaying->output, &named, &totals);
    while (r == 0 && output_waits(&replaying->output))
        r = output_drain(&replaying->output, READER_MS);
    /* The reader of the samples is gone; a summary still needs them all. */
    if (r == -EPIPE && replaying->reports.accumulator) {
        replaying->writes_samples = false;
        return 0;
    }
    return r;
}

static bool is_recording(const struct stat *written, const char *source)
{
    struct stat read;
    bool is_there = strcmp(source, "-") == 0 ? fstat(STDIN_FILENO, &read) == 0 : stat(source, &read) == 0;
    return is_there && file_is_same(written, &read) && S_ISREG(read.st_mode);
}

/* An output that is one of the recordings would be emptied before it is read, or be read for ever. */
static int check_output(const struct settings *settings, const char *output, struct err *err)
{
    char path[FILE_NAME_BYTES];
    struct stat written;
    if (!output || file_name_expand(output, settings, path, sizeof(path), NULL) < 0)
        return 0;
    bool to_stdout = strcmp(output, "-") == 0;
    if ((to_stdout ? fstat(STDOUT_FILENO, &written) : stat(path, &written)) < 0)
        return 0;
    for (size_t i = 0; i < settings->source_count; i++) {
        if (is_recording(&written, settings->sources[i]))
            return err_set(err, -EEXIST, "%s is the recording itself: choose another file for the output",
                to_stdout ? "stdout" : path);
    }
    return 0;
}

static int check_outputs(const struct settings *settings, struct err *err)
{
    const char *const outputs[] = {settings->output, settings->summary_json, settings->summary_markdown,
        settings->report, settings->metrics_file, settings->snakemake_benchmark, "-"};
    int r = 0;
    for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]) && r == 0; i++)
        r = check_output(settings, outputs[i], err);
    return r;
}

static void show_progress(void *context, uint64_t bytes, uint64_t size)
{
    struct replaying *replaying = context;
    if (progress_is_due(&replaying->progress))
        progress_show(&replaying->progress, bytes, size);
}

/* Where samples go to a pipe, its reader may have the terminal (less), and where they go to a terminal, they have. */
static void begin_progress(struct replaying *replaying)
{
    const struct settings *settings = replaying->settings;
    struct stat st;
    bool has_file = settings->output && strcmp(settings->output, "-") != 0;
    bool has_way = replaying->writes_samples && !has_file;
    bool is_wanted = !has_way || (fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode));
    progress_begin(&replaying->progress, units_put_bytes, is_wanted);
}

static int replay_all(struct replaying *replaying, struct err *err)
{
    const struct settings *settings = replaying->settings;
    const struct replay_target target = {
        .context = replaying, .begin = begin_run, .sample = add_sample, .progress = show_progress};
    begin_progress(replaying);
    size_t step = settings->parts ? settings->source_count : 1;
    for (size_t i = 0; i < settings->source_count; i += step) {
        struct replay_report report = {0};
        const char *source = settings->sources[i];
        const char *name = strcmp(source, "-") == 0 ? "standard input" : settings->parts ? "parts" : source;
        (void)snprintf(replaying->what, sizeof(replaying->what), "reading %s", name);
        progress_part(&replaying->progress, replaying->what);
        int r = settings->parts ? parts_replay(settings->sources, step, &target, &report, &replaying->parts, err)
                                : replay_file(source, &target, &report, err);
        progress_clear(&replaying->progress);
        for (unsigned k = 0; k < report.note_count; k++)
            log_warning("%s: %s", name, report.notes[k]);
        if (r < 0 && replaying->last_error.code < 0)
            *err = replaying->last_error;
        if (r < 0)
            return r;
        log_info(
            "%s: %llu samples in %llu runs", name, (unsigned long long)report.samples, (unsigned long long)report.runs);
    }
    if (replaying->reports.accumulator)
        accumulate_set_parts(replaying->reports.accumulator, &replaying->parts);
    return 0;
}

/* Where there is no file of a name, names are patterns; one that matches nothing is that of a file that is not there.
 */
static int expand(struct settings *settings, glob_t *found, struct err *err)
{
    bool are_there = true, is_there;
    int r = 0;
    for (size_t i = 0; i < settings->source_count; i++)
        are_there &= faccessat(AT_FDCWD, settings->sources[i], F_OK, 0) == 0;
    if (are_there)
        return 0;
    for (size_t i = 0; r == 0 && i < settings->source_count; i++) {
        const char *at = settings->sources[i];
        AUTO_BUF struct buf pattern = {.max = PATTERN_BYTES_MAX};
        is_there = faccessat(AT_FDCWD, at, F_OK, 0) == 0;
        for (; *at; at++) {
            if (is_there && strchr("*?[\\", *at))
                buf_putc(&pattern, '\\');
            buf_putc(&pattern, *at);
        }
        r = glob(buf_cstr(&pattern), i > 0 ? GLOB_NOCHECK | GLOB_APPEND : GLOB_NOCHECK, NULL, found);
    }
    settings->sources = (const char **)(void *)found->gl_pathv;
    settings->source_count = found->gl_pathc;
    if (r != 0 || found->gl_pathc > PARTS_MAX)
        return err_set(err, -E2BIG, "cannot read more than %d files", PARTS_MAX);
    return 0;
}

static int replay(const struct settings *settings, struct err *err)
{
    struct replaying replaying = {
        .settings = settings,
        .writes_samples = wants_samples(settings),
        .output = {.sink = {.fd = -1}},
        .history = {.max = HISTORY_BYTES_MAX},
    };
    bool to_stderr = replaying.writes_samples && output_shows_samples(settings);
    int r = check_outputs(settings, err);
    if (r < 0)
        return r;
    r = reports_open(&replaying.reports, settings, NULL, to_stderr, !replaying.writes_samples, err);
    if (r == 0)
        r = reports_check_files(&replaying.reports, settings, err);
    if (r == 0)
        r = replay_all(&replaying, err);
    /* A reader that went away is no error. */
    bool is_left = r == -EPIPE && replaying.output.reader_gone;
    if (is_left) {
        r = 0;
        err_clear(err);
    }
    reports_set_samples_path(&replaying.reports, output_written_file(&replaying.output));
    bool is_whole = output_close(&replaying.output) || is_left;
    bool is_good = r < 0 || reports_finish(&replaying.reports);
    reports_close(&replaying.reports);
    mask_command_fini(&replaying.command);
    buf_fini(&replaying.history);
    free(replaying.commands.items);
    parts_free(&replaying.parts);
    if (r == 0 && (!is_whole || !is_good))
        r = -EIO; /* logged already */
    return r;
}

int replaying_run(const struct settings *settings, struct err *err)
{
    glob_t found = {0};
    struct settings expanded = *settings;
    int r = expand(&expanded, &found, err);
    if (r == 0)
        r = replay(&expanded, err);
    globfree(&found);
    return r;
}
