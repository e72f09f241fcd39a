/* SPDX-License-Identifier: Apache-2.0 */
#include "run/people.h"

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
#include "run/file_name.h"
#include "summary/report_file.h"
#include "summary/write.h"

enum { TEXT_BYTES_MAX = 256 * 1024, PATIENCE_MS = 5000 };

/* Are these two the same regular file? */
static bool is_same_file(int a, int b)
{
    struct stat sa, sb;
    return a >= 0 && b >= 0 && fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && S_ISREG(sa.st_mode) &&
           file_is_same(&sa, &sb);
}

static int open_file(
    struct people *people, enum people_file file, const char *path, const char *job_name, struct err *err)
{
    if (!path)
        return 0;
    struct sink *sink = &people->files[file];
    char *name = people->names[file];
    if (strcmp(path, "-") == 0) {
        (void)str_copy(STR("stdout"), name, sizeof(people->names[file]));
        int r = sink_open_fd(sink, STDOUT_FILENO);
        return r < 0 ? err_sys(err, r, "cannot write to stdout") : 0;
    }
    char expanded[FILE_NAME_BYTES];
    int r = file_name_expand(path, job_name, expanded, sizeof(expanded), err);
    if (r < 0)
        return r;
    (void)str_copy(str_of(expanded), name, sizeof(people->names[file]));
    struct sink_head unused;
    struct stat before;
    bool is_new = lstat(expanded, &before) < 0 && errno == ENOENT;
    r = sink_open_file(sink, expanded, true, &unused, err);
    people->is_ours[file] = r == 0 && !is_same_file(sink->fd, STDIN_FILENO) && !is_same_file(sink->fd, STDOUT_FILENO) &&
                            !is_same_file(sink->fd, STDERR_FILENO);
    if (r == 0 && is_new)
        people->made[file] = strdup(expanded);
    return r;
}

/* Is the file that samples are to go to, if there is one yet, this one? */
static bool takes_samples(int fd, const struct settings *settings)
{
    char path[FILE_NAME_BYTES];
    struct stat samples, st;
    return !settings->quiet && settings->output && strcmp(settings->output, "-") != 0 &&
           file_name_expand(settings->output, settings->job_name, path, sizeof(path), NULL) == 0 &&
           stat(path, &samples) == 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && file_is_same(&st, &samples);
}

int people_check_files(const struct people *people, const struct settings *settings, struct err *err)
{
    for (int i = 0; i < PEOPLE_FILES; i++) {
        int fd = people->files[i].fd;
        bool is_taken = fd >= 0 && takes_samples(fd, settings);
        for (int k = 0; fd >= 0 && k < i; k++)
            is_taken |= (people->is_ours[i] || people->is_ours[k]) && is_same_file(fd, people->files[k].fd);
        if (is_taken)
            return err_set(err, -EEXIST, "%s is given for two outputs: choose another file for one", people->names[i]);
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

static int open_live(struct people *people, const struct settings *settings, struct err *err)
{
    const struct live_terminal terminal = {
        .fd = STDERR_FILENO, .term = settings->term, .locale = settings->locale, .has_colour = settings->has_colour};
    int r = live_new(&terminal, title_of(settings), &people->live);
    if (r == 0 && !people->live && isatty(STDERR_FILENO))
        log_warning("this terminal cannot show a live view (TERM=%s)", settings->term ? settings->term : "");
    return r < 0 ? err_sys(err, r, "cannot show a live view") : 0;
}

static bool wants_summary(const struct settings *settings, bool shows_samples, bool must_show)
{
    if (settings->summary != WHEN_AUTO)
        return settings->summary == WHEN_ALWAYS;
    return must_show || (!shows_samples && isatty(STDERR_FILENO));
}

int people_open(
    struct people *people, const struct settings *settings, bool shows_samples, bool must_show, struct err *err)
{
    *people = (struct people)PEOPLE_CLOSED;
    const char *const paths[PEOPLE_FILES] = {settings->summary_json, settings->summary_markdown, settings->report};
    bool has_files = false;
    for (int i = 0; i < PEOPLE_FILES; i++) {
        int r = open_file(people, (enum people_file)i, paths[i], settings->job_name, err);
        if (r < 0)
            return r;
        has_files |= paths[i] != NULL;
    }
    people->prints_summary = wants_summary(settings, shows_samples, must_show && !has_files);
    people->has_colour = settings->has_colour && isatty(STDERR_FILENO);
    int r = people->prints_summary || has_files ? tally_new(&people->tally) : 0;
    if (r == 0 && settings->report)
        r = series_new(&people->series);
    if (r < 0)
        return err_sys(err, r, "no memory for the summary");
    return settings->live && !settings->from ? open_live(people, settings, err) : 0;
}

void people_sample(struct people *people, const struct sample *sample)
{
    if (people->tally)
        tally_add(people->tally, sample);
    if (people->series)
        series_add(people->series, sample);
    if (people->live)
        live_sample(people->live, sample);
}

void people_next_run(struct people *people)
{
    if (people->tally)
        tally_next_run(people->tally);
    if (people->series)
        series_next_run(people->series);
}

void people_hide(struct people *people)
{
    if (people->live)
        live_hide(people->live);
}

void people_resized(struct people *people)
{
    if (people->live)
        live_resized(people->live);
}

static int64_t now_ms(void)
{
    return clock_read(&clock_system, CLOCK_KIND_MONOTONIC) / NS_PER_MS;
}

static bool write_file(struct people *people, enum people_file file, const struct buf *text)
{
    struct sink *sink = &people->files[file];
    if (file != PEOPLE_MARKDOWN && people->is_ours[file])
        sink_empty(sink);
    people->is_written[file] = true;
    /* What others have written meanwhile may end inside a line. */
    struct stat st;
    if (file == PEOPLE_MARKDOWN && fstat(sink->fd, &st) == 0 && st.st_size > 0)
        (void)sink_write(sink, STR("\n"));
    int r = buf_ok(text) ? sink_write(sink, (struct str){text->data, text->len}) : -ENOMEM;
    int64_t left_ms = people->deadline_ms - now_ms();
    if (r == -EAGAIN)
        r = sink_flush(sink, left_ms > 0 ? (int)left_ms : 0);
    if (r < 0)
        log_warning("cannot write %s: %s", people->names[file], r == -EAGAIN ? "nobody reads it" : strerror(-r));
    return r == 0;
}

static bool write_report(struct people *people, const struct summary *summary)
{
    AUTO_BUF struct buf page;
    buf_init(&page, REPORT_FILE_BYTES_MAX);
    int r = report_file_put(&page, summary, people->series);
    if (r == 0)
        return write_file(people, PEOPLE_REPORT, &page);
    log_warning("cannot make %s: %s", people->names[PEOPLE_REPORT], strerror(-r));
    return false;
}

static bool print_summary(const struct people *people, const struct summary *summary)
{
    AUTO_BUF struct buf text;
    buf_init(&text, TEXT_BYTES_MAX);
    struct winsize window = {0};
    bool has_window = isatty(STDERR_FILENO) && ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0;
    summary_put_text(&text, summary,
        &(struct summary_style){.has_colour = people->has_colour, .columns = has_window ? window.ws_col : 0});
    return buf_ok(&text) && log_text((struct str){text.data, text.len});
}

bool people_finish(struct people *people)
{
    people_hide(people);
    if (!people->tally)
        return true;
    people->deadline_ms = now_ms() + PATIENCE_MS;
    const struct summary *summary = tally_finish(people->tally);
    bool is_good = !people->prints_summary || print_summary(people, summary);
    void (*const puts[])(struct buf *, const struct summary *) = {
        [PEOPLE_JSON] = summary_put_json, [PEOPLE_MARKDOWN] = summary_put_markdown};
    for (int i = 0; i < PEOPLE_REPORT; i++) {
        if (people->files[i].fd < 0)
            continue;
        AUTO_BUF struct buf text;
        buf_init(&text, TEXT_BYTES_MAX);
        puts[i](&text, summary);
        is_good &= write_file(people, (enum people_file)i, &text);
    }
    if (people->series)
        is_good &= write_report(people, summary);
    return is_good;
}

void people_close(struct people *people)
{
    live_free(people->live);
    tally_free(people->tally);
    series_free(people->series);
    for (int i = 0; i < PEOPLE_FILES; i++) {
        struct stat st;
        bool is_unused = people->made[i] && !people->is_written[i] && fstat(people->files[i].fd, &st) == 0 &&
                         S_ISREG(st.st_mode) && st.st_size == 0;
        if (is_unused)
            (void)unlink(people->made[i]);
        free(people->made[i]);
        if (people->files[i].fd >= 0)
            sink_close(&people->files[i]);
    }
    *people = (struct people)PEOPLE_CLOSED;
}
