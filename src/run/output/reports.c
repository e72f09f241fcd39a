/* SPDX-License-Identifier: Apache-2.0 */
#include "run/output/reports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/auto.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "run/output/file_name.h"
#include "run/output/output.h"
#include "stream/delivery.h"
#include "stream/stream.h"

enum { TEXT_BYTES_MAX = 1024 * 1024, PATIENCE_MS = 5000, METRICS_MS = 15000 };

/* Are these two the same regular file? */
static bool is_same_file(int a, int b)
{
    struct stat sa, sb;
    return a >= 0 && b >= 0 && fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && S_ISREG(sa.st_mode) &&
           file_is_same(&sa, &sb);
}

/* How the name ends, with its point; "" where it has no ending. */
static const char *ending_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *point = strrchr(slash ? slash : path, '.');
    return point ? point : "";
}

/* A page in a file that is named as something else is found out only when it is opened. */
static int check_ending(const char *path, struct err *err)
{
    /* Each with a NUL behind it: endings, and a hint. */
    static const char others[] = ".png .jpg .jpeg .gif .webp\0"
                                 "the page makes a PNG by its button \"Save as PNG\"\0"
                                 ".pdf\0"
                                 "a browser makes a PDF when it prints the page\0"
                                 ".json\0"
                                 "JSON is written by --summary-json FILE\0"
                                 ".md\0"
                                 "Markdown is written by --summary-markdown FILE\0"
                                 ".jsonl .csv\0"
                                 "samples are written by --output FILE\0"
                                 ".gz\0"
                                 "it is not compressed\0";
    char ending[8] = "";
    (void)str_copy(str_of(ending_of(path)), ending, sizeof(ending));
    for (size_t i = 0; ending[i]; i++)
        ending[i] = ascii_to_lower(ending[i]);
    for (const char *endings = others, *hint; ending[0] && *endings; endings = hint + strlen(hint) + 1) {
        hint = endings + strlen(endings) + 1;
        if (str_is_listed(ending, endings))
            return err_set(
                err, -EINVAL, "cannot write the report %s: a report is HTML (.html) or SVG (.svg); %s", path, hint);
    }
    return 0;
}

static int open_file(
    struct reports *reports, enum report_file file, const char *path, const struct settings *settings, struct err *err)
{
    if (!path)
        return 0;
    struct sink *sink = &reports->files[file];
    char *name = reports->names[file];
    if (strcmp(path, "-") == 0) {
        (void)str_copy(STR("stdout"), name, sizeof(reports->names[file]));
        int r = sink_open_fd(sink, STDOUT_FILENO);
        return r < 0 ? err_sys(err, r, "cannot write to stdout") : 0;
    }
    char expanded[FILE_NAME_BYTES];
    int r = file_name_expand(path, settings, expanded, sizeof(expanded), err);
    if (r == 0 && file == REPORTS_REPORT)
        r = check_ending(expanded, err);
    if (r < 0)
        return r;
    reports->is_svg |= file == REPORTS_REPORT && str_is_nocase(ending_of(expanded), ".svg");
    (void)str_copy(str_of(expanded), name, sizeof(reports->names[file]));
    struct sink_head unused;
    struct stat before;
    bool is_new = lstat(expanded, &before) < 0 && errno == ENOENT;
    r = sink_open_file(sink, expanded, SINK_APPEND, &unused, err);
    reports->is_ours[file] = r == 0 && !is_same_file(sink->fd, STDIN_FILENO) &&
                             !is_same_file(sink->fd, STDOUT_FILENO) && !is_same_file(sink->fd, STDERR_FILENO);
    reports->is_made[file] = r == 0 && is_new;
    if (r == 0)
        reports->paths[file] = strdup(expanded);
    return r;
}

/* The file that samples are to go to; false where there is none yet. */
static bool find_samples(const struct settings *settings, struct stat *ret_samples)
{
    char path[FILE_NAME_BYTES];
    return !settings->quiet && settings->output && strcmp(settings->output, "-") != 0 &&
           file_name_expand(settings->output, settings, path, sizeof(path), NULL) == 0 &&
           stat(path, ret_samples) == 0 && S_ISREG(ret_samples->st_mode);
}

static bool is_this(int fd, bool is_there, const struct stat *file)
{
    struct stat st;
    return is_there && fd >= 0 && fstat(fd, &st) == 0 && file_is_same(&st, file);
}

/* Files that are renamed into place are never open: their names are what other outputs must not have. */
static int check_replaced(const struct reports *reports, const struct replaced_file *file, const struct stat *samples,
    const struct stat *config, struct err *err)
{
    struct stat st, other;
    if (!file->path || stat(file->path, &st) < 0)
        return 0;
    bool is_taken = (samples && file_is_same(&st, samples)) || (config && file_is_same(&st, config));
    for (int i = 0; i < REPORTS_FILES; i++)
        is_taken |= is_this(reports->files[i].fd, true, &st);
    const struct replaced_file *second = file == &reports->metrics ? &reports->snakemake : &reports->metrics;
    is_taken |= second->path && stat(second->path, &other) == 0 && file_is_same(&st, &other);
    return is_taken ? err_set(err, -EEXIST, "%s has another use: choose another file", file->path) : 0;
}

int reports_check_files(const struct reports *reports, const struct settings *settings, struct err *err)
{
    struct stat samples, config;
    bool has_samples = find_samples(settings, &samples);
    bool has_config = settings->config_path && stat(settings->config_path, &config) == 0 && S_ISREG(config.st_mode);
    if (has_samples && has_config && file_is_same(&samples, &config))
        return err_set(
            err, -EEXIST, "%s is the configuration file: choose another file for the samples", settings->output);
    const struct replaced_file *replaced[] = {&reports->metrics, &reports->snakemake};
    for (int i = 0; i < 2; i++) {
        int r = check_replaced(reports, replaced[i], has_samples ? &samples : NULL, has_config ? &config : NULL, err);
        if (r < 0)
            return r;
    }
    for (int i = 0; i < REPORTS_FILES; i++) {
        int fd = reports->files[i].fd;
        if (is_this(fd, has_config, &config))
            return err_set(err, -EEXIST, "%s is the configuration file: choose another one", reports->names[i]);
        bool is_taken = is_this(fd, has_samples, &samples);
        for (int k = 0; fd >= 0 && k < i; k++)
            is_taken |= (reports->is_ours[i] || reports->is_ours[k]) && is_same_file(fd, reports->files[k].fd);
        if (is_taken)
            return err_set(err, -EEXIST, "%s is given for two outputs: choose another file for one", reports->names[i]);
    }
    return 0;
}

/* What stands at the head of the live view. */
static const char *title_of(const struct settings *settings)
{
    if (settings->job_name)
        return settings->job_name;
    if (!settings->command || !settings->record_command)
        return "";
    const char *slash = strrchr(settings->command[0], '/');
    return slash ? slash + 1 : settings->command[0];
}

static int open_live(struct reports *reports, const struct settings *settings, struct helpers *helpers, struct err *err)
{
    if (!isatty(STDERR_FILENO)) {
        log_warning("--live needs a terminal on stderr: there is no live view%s%s",
            settings->quiet || output_writes_samples(settings) ? "" : ", and samples are only written with -o FILE",
            reports->prints_summary ? "; the summary comes at the end" : "");
        return 0;
    }
    reports->guard.helpers = helpers;
    reports->guard.environment = settings->environment;
    const struct live_terminal terminal = {.fd = STDERR_FILENO,
        .term = settings->term,
        .locale = settings->locale,
        .has_colour = settings->has_colour,
        .guard = terminal_guard_set,
        .guard_context = &reports->guard};
    const struct live_job job = {.name = title_of(settings), .interval_ns = settings->interval_ns};
    int r = live_new(&terminal, &job, &reports->live);
    if (r == 0 && !reports->live)
        log_warning("this terminal cannot show a live view (TERM=%s)", settings->term ? settings->term : "");
    return r < 0 ? err_sys(err, r, "cannot show a live view") : 0;
}

static bool wants_summary(const struct settings *settings, bool shows_samples, bool must_show)
{
    if (settings->summary != WHEN_AUTO)
        return settings->summary == WHEN_ALWAYS;
    return must_show || (!shows_samples && (isatty(STDERR_FILENO) || settings->live));
}

void reports_init(struct reports *reports)
{
    *reports = (struct reports){.guard = TERMINAL_GUARD_NONE, .files = {{.fd = -1}, {.fd = -1}, {.fd = -1}}};
}

int reports_open(struct reports *reports, const struct settings *settings, struct helpers *helpers, bool shows_samples,
    bool must_show, struct err *err)
{
    reports_init(reports);
    const char *const paths[REPORTS_FILES] = {settings->summary_json, settings->summary_markdown, settings->report};
    bool has_files = false;
    for (int i = 0; i < REPORTS_FILES; i++) {
        int r = open_file(reports, (enum report_file)i, paths[i], settings, err);
        if (r < 0)
            return r;
        has_files |= paths[i] != NULL;
    }
    int r = replaced_file_open(&reports->metrics, settings->metrics_file, settings, err);
    if (r == 0)
        r = replaced_file_open(&reports->snakemake, settings->snakemake_benchmark, settings, err);
    if (r == 0 && reports->metrics.path && reports->snakemake.path &&
        strcmp(reports->metrics.path, reports->snakemake.path) == 0)
        r = err_set(err, -EEXIST, "%s is given for two outputs: choose another file for one", reports->metrics.path);
    if (r < 0)
        return r;
    has_files |= reports->metrics.path || reports->snakemake.path;
    /* A recording has one moment of interest: its end. */
    reports->metrics_ms = reports->metrics.path && settings->source_count == 0 ? 0 : INT64_MAX;
    reports->prints_summary = wants_summary(settings, shows_samples, must_show && !has_files);
    bool is_terminal = isatty(STDERR_FILENO);
    reports->has_colour = settings->has_colour && is_terminal;
    reports->begins_line = settings->command && is_terminal && isatty(STDOUT_FILENO);
    buf_init(&reports->metrics_text, TEXT_BYTES_MAX);
    buf_init(&reports->short_json, RUN_STATE_SUMMARY_MAX);
    reports->settings = settings;
    reports->has_push = stream_takes_metrics(settings) && settings->source_count == 0;
    reports->has_short_json = stream_takes_summary(settings) && settings->source_count == 0;
    if (reports->prints_summary || has_files || settings->on_count > 0 || reports->has_push || reports->has_short_json)
        r = accumulate_new(&reports->accumulator);
    if (r == 0 && settings->report)
        r = series_new(&reports->series);
    if (r < 0)
        return err_sys(err, r, "cannot make the summary");
    if (reports->accumulator && settings->carbon_ng_per_kwh > 0)
        accumulate_set_carbon(reports->accumulator, (double)settings->carbon_ng_per_kwh / 1e9);
    return settings->live && helpers ? open_live(reports, settings, helpers, err) : 0;
}

void reports_set_samples_path(struct reports *reports, const char *path)
{
    free(reports->samples_path);
    reports->samples_path = path ? strdup(path) : NULL;
}

void reports_set_root_gone(struct reports *reports, bool is_root_gone)
{
    if (reports->live)
        live_set_root_gone(reports->live, is_root_gone);
}

void reports_sample(struct reports *reports, const struct sample *sample, const struct sample_totals *totals)
{
    if (reports->accumulator)
        accumulate_add(reports->accumulator, sample, totals);
    if (reports->files[REPORTS_MARKDOWN].fd >= 0)
        spark_add(&reports->spark, sample);
    if (reports->series)
        series_add(reports->series, sample, totals);
    if (reports->live)
        live_sample(reports->live, sample, totals);
    int64_t now_ms = reports->metrics_ms < INT64_MAX ? clock_now_ms() : 0;
    if (reports->metrics_ms <= now_ms) {
        AUTO_BUF struct buf text = {.max = TEXT_BYTES_MAX};
        struct summary summary;
        accumulate_now(reports->accumulator, &summary);
        summary_put_metrics(&text, &summary);
        (void)replaced_file_write(&reports->metrics, &text);
        reports->metrics_ms = now_ms + METRICS_MS;
    }
}

void reports_next_run(struct reports *reports)
{
    if (reports->accumulator)
        accumulate_next_run(reports->accumulator);
    spark_next_run(&reports->spark);
    if (reports->series)
        series_next_run(reports->series);
}

void reports_tick(struct reports *reports)
{
    if (reports->live)
        live_tick(reports->live);
}

void reports_hide(struct reports *reports)
{
    if (reports->live)
        live_hide(reports->live);
}

void reports_resized(struct reports *reports)
{
    if (reports->live)
        live_resized(reports->live);
}

static bool write_file(struct reports *reports, enum report_file file, const struct buf *text)
{
    struct sink *sink = &reports->files[file];
    if (file != REPORTS_MARKDOWN && reports->is_ours[file])
        sink_empty(sink);
    reports->is_written[file] = true;
    /* What other processes have written meanwhile may end inside a line. */
    struct stat st;
    if (file == REPORTS_MARKDOWN && fstat(sink->fd, &st) == 0 && st.st_size > 0)
        (void)sink_write(sink, STR("\n"));
    int r = buf_ok(text) ? sink_write(sink, (struct str){text->data, text->len}) : -ENOMEM;
    int64_t left_ms = reports->deadline_ms - clock_now_ms();
    if (r == -EAGAIN)
        r = sink_flush(sink, left_ms > 0 ? (int)left_ms : 0);
    if (r < 0)
        log_warning("cannot write %s: %s", reports->names[file], r == -EAGAIN ? "it is not being read" : strerror(-r));
    reports->is_whole[file] = r == 0;
    return r == 0;
}

static bool write_report(struct reports *reports, const struct summary *summary)
{
    AUTO_BUF struct buf page;
    buf_init(&page, REPORT_BYTES_MAX);
    int r = (reports->is_svg ? report_put_svg : report_put_page)(&page, summary, reports->series);
    if (r == 0)
        return write_file(reports, REPORTS_REPORT, &page);
    log_warning("cannot make %s: %s", reports->names[REPORTS_REPORT], strerror(-r));
    return false;
}

/* Paths of regular files that were written. */
static size_t list_files(const struct reports *reports, const char *ret_paths[static REPORTS_FILES + 1])
{
    size_t count = 0;
    struct stat st;
    if (reports->samples_path)
        ret_paths[count++] = reports->samples_path;
    for (int i = 0; i < REPORTS_FILES; i++) {
        bool is_file = reports->paths[i] && reports->is_whole[i] && fstat(reports->files[i].fd, &st) == 0;
        if (is_file && S_ISREG(st.st_mode))
            ret_paths[count++] = reports->paths[i];
    }
    return count;
}

static bool print_summary(const struct reports *reports, const struct summary *summary)
{
    const char *paths[REPORTS_FILES + 1];
    struct summary_style style = {.has_colour = reports->has_colour, .files = paths};
    style.file_count = list_files(reports, paths);
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    struct winsize window = {0};
    if (reports->begins_line)
        buf_putc(&text, '\n');
    bool has_window = isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0;
    style.columns = has_window ? window.ws_col : 0;
    summary_put_text(&text, summary, &style);
    return buf_ok(&text) && log_text((struct str){text.data, text.len});
}

static bool write_snakemake(struct reports *reports, const struct summary *summary)
{
    AUTO_BUF struct buf text = {.max = TEXT_BYTES_MAX};
    summary_put_snakemake(&text, summary, str_is_nocase(ending_of(reports->snakemake.path), ".jsonl"));
    return replaced_file_write(&reports->snakemake, &text);
}

bool reports_finish(struct reports *reports)
{
    reports_hide(reports);
    if (!reports->accumulator)
        return true;
    reports->deadline_ms = clock_now_ms() + PATIENCE_MS;
    const struct summary *summary = accumulate_finish(reports->accumulator);
    bool is_good = true;
    for (int i = 0; i < REPORTS_REPORT; i++) {
        if (reports->files[i].fd < 0)
            continue;
        AUTO_BUF struct buf text;
        buf_init(&text, TEXT_BYTES_MAX);
        if (i == REPORTS_JSON)
            summary_put_json(&text, summary);
        else
            summary_put_markdown(&text, summary, &reports->spark);
        is_good &= write_file(reports, (enum report_file)i, &text);
    }
    if (reports->series)
        is_good &= write_report(reports, summary);
    if (reports->metrics.path || reports->has_push)
        summary_put_metrics(&reports->metrics_text, summary);
    if (reports->has_short_json)
        payload_summary(&reports->short_json, summary, reports->settings);
    if (reports->metrics.path)
        is_good &= replaced_file_write(&reports->metrics, &reports->metrics_text);
    if (reports->snakemake.path)
        is_good &= write_snakemake(reports, summary);
    /* Last, since it names the files that were written. */
    return (!reports->prints_summary || print_summary(reports, summary)) && is_good;
}

void reports_close(struct reports *reports)
{
    live_free(reports->live);
    terminal_guard_end(&reports->guard);
    replaced_file_close(&reports->metrics);
    replaced_file_close(&reports->snakemake);
    buf_fini(&reports->metrics_text);
    buf_fini(&reports->short_json);
    accumulate_free(reports->accumulator);
    series_free(reports->series);
    free(reports->samples_path);
    for (int i = 0; i < REPORTS_FILES; i++) {
        struct stat st;
        bool is_unused = reports->is_made[i] && reports->paths[i] && !reports->is_written[i] &&
                         fstat(reports->files[i].fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size == 0;
        if (is_unused)
            (void)unlink(reports->paths[i]);
        free(reports->paths[i]);
        if (reports->files[i].fd >= 0)
            sink_close(&reports->files[i]);
    }
    reports_init(reports);
}
