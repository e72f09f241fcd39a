/* SPDX-License-Identifier: Apache-2.0 */
#include "run/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "run/output/file_name.h"

enum { CLOSE_TIMEOUT_MS = 1000 };

bool output_is_captured(void)
{
    struct stat st;
    return fstat(STDOUT_FILENO, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode));
}

static bool is_regular(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static int open_stream(struct output *output, int fd, struct err *err)
{
    const char *name = fd == STDOUT_FILENO ? "stdout" : "stderr";
    (void)str_copy(str_of(name), output->name, sizeof(output->name));
    int r = sink_open_fd(&output->sink, fd);
    if (r < 0)
        return err_sys(err, r, "cannot write samples to %s", name);
    /* /dev/null was opened in its place: no other descriptor survives an exec with this flag. */
    int flags = fcntl(fd, F_GETFD);
    if (flags >= 0 && (flags & FD_CLOEXEC))
        log_warning("%s is closed: samples are lost", name);
    return 0;
}

/* Are these two the same pipe, terminal or file? */
static bool is_same_file(int a, int b)
{
    struct stat sa, sb;
    return fstat(a, &sa) == 0 && fstat(b, &sb) == 0 && file_is_same(&sa, &sb);
}

static bool output_is_on_stderr(const struct output *output)
{
    return output->sink.fd >= 0 && is_same_file(output->sink.fd, STDERR_FILENO);
}

/* Why samples may not follow what the file begins with; NULL where they may, or it is empty. */
static const char *refusal(const struct output *output, const struct sink_head *head)
{
    return head->count == 0 ? NULL : output->encoder->may_append((struct str){head->bytes, head->count});
}

static int open_file(struct output *output, const struct settings *settings, struct err *err)
{
    char path[FILE_NAME_BYTES];
    int r = file_name_expand(settings->output, settings, path, sizeof(path), err);
    if (r < 0)
        return r;
    (void)str_copy(str_of(path), output->name, sizeof(output->name));
    struct sink_head head;
    bool is_compressed = compressed_is_meant(path);
    unsigned how = (settings->append ? SINK_APPEND : 0) | (is_compressed ? SINK_ALONE : 0);
    r = sink_open_file(&output->sink, path, how, &head, err);
    if (r < 0)
        return r;
    if (is_compressed && output_is_on_stderr(output))
        r = err_set(err, -EEXIST, "cannot write gzip to %s: stderr goes there as well", output->name);
    else if (is_compressed)
        r = compressed_open(&output->compressed, &output->sink, path, &head, err);
    const char *why = r == 0 ? refusal(output, &head) : NULL;
    if (why)
        r = err_set(err, -EEXIST, "cannot append to %s: %s", output->name, why);
    output->begun = head.count > 0; /* a header that is there already is not written again */
    output->is_shared = settings->append && !is_compressed;
    if (r < 0) {
        sink_close(&output->sink);
        compressed_close(&output->compressed);
    } else {
        output->path = strdup(path);
    }
    return r;
}

/* A line of the log on the way of the samples; only lost samples count as dropped. */
static bool write_diagnostic(void *context, struct str line)
{
    struct output *output = context;
    uint64_t dropped = output->sink.dropped;
    int result = sink_write_note(&output->sink, line);
    bool lost = result == -EPIPE || output->sink.dropped != dropped;
    output->reader_gone |= result == -EPIPE;
    output->sink.dropped = dropped;
    return !lost;
}

bool output_has_view(const struct settings *settings)
{
    return settings->live && isatty(STDERR_FILENO);
}

enum way { WAY_NONE, WAY_FILE, WAY_STDOUT, WAY_STDERR };

/* May samples go to stderr where no output was asked for? On a terminal they would bury what a job prints. */
static bool may_use_stderr(const struct settings *settings)
{
    if (settings->is_format_given)
        return !output_has_view(settings);
    bool has_job = settings->command || settings->attaches;
    return !settings->live && !(has_job && isatty(STDERR_FILENO));
}

static enum way choose_way(const struct settings *settings)
{
    if (settings->quiet)
        return WAY_NONE;
    if (settings->output)
        return strcmp(settings->output, "-") == 0 ? WAY_STDOUT : WAY_FILE;
    bool is_stderr_kept = !settings->from && is_regular(STDERR_FILENO) && !is_regular(STDOUT_FILENO);
    if (!settings->command && output_is_captured() && !is_stderr_kept)
        return WAY_STDOUT;
    return may_use_stderr(settings) ? WAY_STDERR : WAY_NONE;
}

bool output_writes_samples(const struct settings *settings)
{
    return choose_way(settings) != WAY_NONE;
}

bool output_shows_samples(const struct settings *settings)
{
    enum way way = choose_way(settings);
    return way == WAY_STDERR || (way == WAY_STDOUT && is_same_file(STDOUT_FILENO, STDERR_FILENO));
}

int output_open(
    struct output *ret_output, const struct settings *settings, const struct run_info *info, struct err *err)
{
    struct output *output = ret_output;
    *output = (struct output){.info = info, .sink = {.fd = -1}};
    enum way way = choose_way(settings);
    if (way == WAY_NONE)
        return 0;
    output->encoder = encoder_find((enum encode_format)settings->format, (enum encode_columns)settings->csv_columns,
        settings->command || info->tracked_pid.has);
    buf_init(&output->line, SINK_RECORD_BYTES_MAX);
    int r = way == WAY_FILE ? open_file(output, settings, err)
                            : open_stream(output, way == WAY_STDOUT ? STDOUT_FILENO : STDERR_FILENO, err);
    if (r == 0)
        log_info("samples go to %s as %s", output->name, output->encoder->name);
    if (r == 0 && output_is_on_stderr(output))
        log_divert(write_diagnostic, output);
    return r;
}

static void report_result(struct output *output, int result)
{
    uint64_t lost = output->sink.dropped - output->reported_lost;
    if (result == 0) {
        if (complaint_over(&output->complaint, "%s accepts samples again (%" PRIu64 " lost)", output->name, lost))
            output->reported_lost += lost;
    } else if (result == -EAGAIN) {
        complaint_say(&output->complaint, "%s is not being read: samples wait, and are lost once %d KiB do",
            output->name, SINK_BACKLOG_BYTES / 1024);
    } else {
        complaint_say(&output->complaint,
            "cannot write samples to %s: %s; tracking continues, and the next sample tries again", output->name,
            strerror(-result));
    }
}

/*
 * The header, unless another tracker that appends to the same new file has written it in the meantime. False where that
 * one writes something else: the file is left to it.
 */
static bool put_header(struct output *output)
{
    struct sink_head head;
    if (output->begun || !output->encoder->begin)
        return true;
    if (output->is_shared && !sink_claim(&output->sink, &head)) {
        const char *why = refusal(output, &head);
        if (!why)
            return true;
        log_warning("cannot append to %s: %s; samples are not written", output->name, why);
        log_divert(NULL, NULL);
        sink_close(&output->sink);
        buf_fini(&output->line);
        output->encoder = NULL;
        return false;
    }
    output->encoder->begin(output->info, &output->line);
    return true;
}

static int write_line(struct output *output)
{
    struct str line = {output->line.data, output->line.len};
    return output->compressed.gzip ? compressed_write(&output->compressed, &output->sink, line)
                                   : sink_write(&output->sink, line);
}

int output_sample(struct output *output, const struct sample *sample, const struct sample_totals *totals)
{
    if (!output->encoder)
        return 0;
    if (output->reader_gone)
        return -EPIPE;
    buf_clear(&output->line);
    if (!put_header(output))
        return 0;
    output->encoder->sample(output->info, sample, totals, &output->line);
    if (!buf_ok(&output->line)) {
        sink_release(&output->sink);
        complaint_say(&output->complaint, "out of memory: a sample is lost");
        return 0;
    }
    /* A record that does not go out at once is normal; one that still waits when the next is due is worth a message. */
    bool waited = output->sink.backlog.len > 0;
    uint64_t dropped = output->sink.dropped;
    int result = write_line(output);
    sink_release(&output->sink);
    output->begun |= output->sink.dropped == dropped;
    output->last_result = result;
    output->has_written |= result == 0;
    output->reader_gone = result == -EPIPE;
    if (!output->reader_gone && (waited || result != -EAGAIN))
        report_result(output, result);
    return output->reader_gone ? -EPIPE : 0;
}

bool output_waits(const struct output *output)
{
    return output->encoder && output->sink.backlog.len > 0 && output->last_result == -EAGAIN;
}

int output_drain(struct output *output, int timeout_ms)
{
    bool waited = output->sink.backlog.len > 0;
    int result = sink_flush(&output->sink, timeout_ms);
    output->last_result = result;
    output->has_written |= waited && result == 0;
    output->reader_gone = result == -EPIPE;
    if (result != -EAGAIN && result != -EPIPE)
        report_result(output, result);
    return output->reader_gone ? -EPIPE : 0;
}

int output_watch_fd(const struct output *output)
{
    struct stat st;
    if (output->sink.fd < 0 || fstat(output->sink.fd, &st) < 0)
        return -1;
    /* EIO: a terminal that is gone already. */
    bool is_terminal = S_ISCHR(st.st_mode) && (isatty(output->sink.fd) || errno == EIO);
    bool has_reader = S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || is_terminal;
    return has_reader ? output->sink.fd : -1;
}

/* What the stream did not accept to the end, and was not reported yet. */
static void report_lost(const struct output *output)
{
    bool is_cut;
    uint64_t lost = output->sink.dropped - output->reported_lost + sink_waiting(&output->sink, &is_cut);
    if (lost > 0)
        log_warning("%s did not accept everything: %" PRIu64 " sample%s lost%s", output->name, lost,
            lost == 1 ? " is" : "s are",
            is_cut && lost > 1 ? ", the first of them is cut"
            : is_cut           ? ": it is cut"
                               : "");
    else if (output->sink.backlog.len > 0)
        log_warning("%s did not accept everything: its end is missing", output->name);
}

const char *output_written_file(const struct output *output)
{
    struct stat ours, named;
    int fd = output->sink.fd;
    /* The command may have removed or replaced it. */
    bool is_file = output->has_written && output->path && fd >= 0 && fstat(fd, &ours) == 0 && S_ISREG(ours.st_mode) &&
                   stat(output->path, &named) == 0 && file_is_same(&ours, &named);
    return is_file && !is_same_file(fd, STDOUT_FILENO) && !is_same_file(fd, STDERR_FILENO) ? output->path : NULL;
}

bool output_close(struct output *output)
{
    free(output->path);
    output->path = NULL;
    if (!output->encoder)
        return true;
    if (output->begun && output->encoder->end && !output->reader_gone) {
        buf_clear(&output->line);
        output->encoder->end(output->info, &output->line);
        (void)write_line(output);
    }
    if (output->compressed.gzip && !output->reader_gone)
        compressed_end(&output->compressed, &output->sink);
    int result = sink_flush(&output->sink, CLOSE_TIMEOUT_MS);
    log_divert(NULL, NULL);
    bool is_whole = output->sink.backlog.len == 0 && output->sink.dropped == 0;
    bool half_out = output->sink.backlog.len > 0 && output_is_on_stderr(output);
    if (!output->reader_gone && !half_out && result != -EPIPE)
        report_lost(output);
    sink_close(&output->sink);
    compressed_close(&output->compressed);
    buf_fini(&output->line);
    return is_whole;
}
