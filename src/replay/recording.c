/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a recording on their way to the target: where runs begin, and what a sample lacks but can be known. */
#include "replay/replay_internal.h"

#include <errno.h>

#include "base/clock.h"
#include "base/num.h"

enum {
    JSON_SPACE_BYTES = 3 * REPLAY_LINE_BYTES_MAX,
    MS_PER_SEC = 1000,
    GAP_MIN_MS = 60 * 1000,
    GAP_INTERVALS = 10,
    STEP_MAX_MS = 600 * 1000,
};

static const double interval_max_ms = 366 * 86400e3;
static const int64_t timestamp_max_ms = 253402300799999; /* the end of the year 9999 */

int recording_init(struct recording *recording, const struct replay_target *target, struct replay_report *report)
{
    *recording = (struct recording){.target = target, .report = report};
    buf_init(&recording->waiting, REPLAY_LINE_BYTES_MAX);
    buf_init(&recording->second, REPLAY_LINE_BYTES_MAX);
    buf_init(&recording->job_name, REPLAY_LINE_BYTES_MAX);
    buf_init(&recording->version, REPLAY_LINE_BYTES_MAX);
    return json_line_init(&recording->json, JSON_SPACE_BYTES);
}

void recording_fini(struct recording *recording)
{
    json_line_fini(&recording->json);
    buf_fini(&recording->waiting);
    buf_fini(&recording->second);
    buf_fini(&recording->job_name);
    buf_fini(&recording->version);
}

static bool is_json(struct str line)
{
    return line.p[0] == '{';
}

/* Both timestamps from either, within the calendar. */
static bool complete_timestamps(struct sample *sample)
{
    struct opt_i64 *secs = &sample->timestamp_secs;
    struct opt_i64 *ms = &sample->timestamp_ms;
    if (!ms->has && secs->v <= timestamp_max_ms / MS_PER_SEC && secs->v >= 0)
        *ms = some_i64(secs->v * MS_PER_SEC);
    if (!ms->has || ms->v < 0 || ms->v > timestamp_max_ms)
        return false;
    if (!secs->has)
        *secs = some_i64(ms->v / MS_PER_SEC);
    return true;
}

static int parse(struct recording *recording, struct str line)
{
    struct sample *sample = &recording->sample;
    uint64_t mistyped = recording->json.mistyped + recording->csv.mistyped;
    int code =
        is_json(line) ? json_line_parse(&recording->json, line, sample) : csv_line_parse(&recording->csv, line, sample);
    if (code == 0 && !complete_timestamps(sample))
        code = -ENODATA;
    if (recording->first_mistyped == 0 && recording->json.mistyped + recording->csv.mistyped > mistyped)
        recording->first_mistyped = recording->line_number;
    return code;
}

static struct recording_times times_of(const struct sample *sample)
{
    return (struct recording_times){sample->timestamp_ms, sample->elapsed_secs, sample->actual_interval_ms,
        sample->tracker.late_ms, sample->tracker.missed_samples, sample->tracked_pid};
}

/* Time by the better of two clocks. */
static double ms_between(const struct recording_times *from, const struct recording_times *to)
{
    if (from->elapsed_secs.has && to->elapsed_secs.has)
        return (to->elapsed_secs.v - from->elapsed_secs.v) * 1e3;
    return (double)(to->timestamp_ms.v - from->timestamp_ms.v);
}

/* Time that only the wall clock has; 0 where there is a better one. */
static int64_t wall_ms_between(const struct recording_times *from, const struct recording_times *to)
{
    bool is_monotonic = from->elapsed_secs.has && to->elapsed_secs.has;
    return is_monotonic ? 0 : to->timestamp_ms.v - from->timestamp_ms.v;
}

/* Too long after the sample before to be of its run? One that has its interval is not the first of another. */
static bool is_gap(const struct recording_times *from, const struct recording_times *to, int64_t interval_ns)
{
    int64_t ms = wall_ms_between(from, to);
    return ms > GAP_MIN_MS && ms > interval_ns / NS_PER_MS * GAP_INTERVALS && !to->interval_ms.has;
}

/*
 * Was the wall clock set back a little while the same process was tracked? Only in JSON lines: rows of several CSV
 * files may have been put together in any order.
 */
static bool is_set_back(const struct recording *recording, const struct recording_times *times, struct str line)
{
    int64_t ms = wall_ms_between(&recording->seen, times);
    return ms < 0 && ms > -STEP_MAX_MS && is_json(line) && times->tracked_pid.has;
}

/* While a first sample waits, the interval is not known yet: no gap can be seen. */
static bool begins_run(const struct recording *recording, const struct recording_times *times, struct str line)
{
    const struct recording_times *seen = &recording->seen;
    return !recording->is_in_run || recording->sample.run.present || times->tracked_pid.has != seen->tracked_pid.has ||
           times->tracked_pid.v != seen->tracked_pid.v ||
           (ms_between(seen, times) < 0 && !is_set_back(recording, times, line)) ||
           (recording->waiting.len == 0 && is_gap(seen, times, recording->interval_ns));
}

/* To the millisecond; 0 for what can be no interval. */
static int64_t interval_of_ms(double ms)
{
    return ms > 0 && ms <= interval_max_ms ? (int64_t)(ms + 0.5) * NS_PER_MS : 0;
}

/*
 * Samples are due at whole multiples of the interval: the first one says it, less what it was late; otherwise the
 * second one's distance does.
 */
static int64_t infer_interval(const struct recording_times *first, const struct recording_times *second)
{
    if (first->elapsed_secs.has && first->late_ms.has && first->missed_samples.has && first->missed_samples.v == 0)
        return interval_of_ms(first->elapsed_secs.v * 1e3 - first->late_ms.v);
    static const double rounded_ms = 0.7; /* whole milliseconds, and a little for the clock */
    double distance_ms = ms_between(first, second);
    double beyond_ms = distance_ms - second->interval_ms.v;
    if (second->interval_ms.has && (beyond_ms > rounded_ms || beyond_ms < -rounded_ms))
        distance_ms = second->interval_ms.v;
    double late_ms = first->late_ms.has && second->late_ms.has ? second->late_ms.v - first->late_ms.v : 0;
    return interval_of_ms(distance_ms - late_ms);
}

static const char *keep_text(struct buf *buf, const char *text)
{
    buf_clear(buf);
    if (!text)
        return NULL;
    buf_puts(buf, text);
    return buf_cstr(buf);
}

/* Only the first sample of a run has its facts: one without them, of a process that was tracked before in this file,
 * goes on behind samples of others. */
static void note_pieces(struct recording *recording)
{
    const struct sample *sample = &recording->sample;
    if (!sample->tracked_pid.has)
        return;
    for (size_t i = 0; !sample->run.present && i < RECORDING_STARTS; i++) {
        if (recording->started[i] == sample->tracked_pid.v) {
            recording->pieces++;
            return;
        }
    }
    if (sample->run.present)
        recording->started[recording->starts++ % RECORDING_STARTS] = sample->tracked_pid.v;
}

static void begin_run(struct recording *recording, int64_t interval_ns)
{
    const struct sample *sample = &recording->sample;
    recording->interval_ns = interval_ns;
    recording->emitted = (struct recording_times){0};
    recording->run_samples = 0;
    recording->report->runs++;
    note_pieces(recording);
    previous_reset(&recording->previous);
    const struct run_info info = {.version = keep_text(&recording->version, sample->version),
        .job_name = keep_text(&recording->job_name, sample->job_name),
        .tracked_pid = sample->tracked_pid,
        .interval_ns = interval_ns};
    recording->target->begin(recording->target->context, &info);
}

/* Since the sample before; an interval as it should be in the first one, and where the clock was set back. */
static double passed_ms(const struct recording *recording, const struct recording_times *times)
{
    double ms = recording->run_samples > 0 ? ms_between(&recording->emitted, times) : -1;
    return ms >= 0 ? ms : (double)recording->interval_ns / NS_PER_MS;
}

/* Fills in what the sample lacks, and passes it on. */
static int emit(struct recording *recording, struct str line)
{
    struct sample *sample = &recording->sample;
    struct recording_times times = times_of(sample);
    double ms = passed_ms(recording, &times);
    bool is_first = recording->run_samples == 0;
    if (!sample->elapsed_secs.has && (!is_first || ms > 0))
        sample->elapsed_secs = some_f64(recording->emitted.elapsed_secs.v + ms / 1e3);
    if (!is_first && !sample->actual_interval_ms.has)
        sample->actual_interval_ms = some_f64(ms);
    struct opt_f64 secs = is_first ? sample->elapsed_secs : some_f64(sample->actual_interval_ms.v / 1e3);
    if (is_json(line))
        previous_complete(&recording->previous, &recording->json, line, secs, sample);
    if (sample->version)
        name_list_add(&recording->versions, str_of(sample->version));
    recording->emitted = times_of(sample);
    recording->run_samples++;
    recording->report->samples++;
    return recording->target->sample(recording->target->context, sample);
}

/* The line that waits is parsed once more and goes out. interval_ns: of the run that begins with it, NULL: none does.
 */
static int release(struct recording *recording, const int64_t *interval_ns)
{
    struct str line = buf_str(&recording->waiting);
    int code = parse(recording, line);
    if (code == 0 && interval_ns)
        begin_run(recording, *interval_ns);
    if (code == 0)
        code = emit(recording, line);
    /* The next one to wait, or none. */
    struct buf emptied = recording->waiting;
    buf_clear(&emptied);
    recording->waiting = recording->second;
    recording->second = emptied;
    return code;
}

/*
 * Passes on what waits, or the first of it. next: a sample of the same run as far as is known, or NULL. Two that wait
 * are of one run, unless the next one is much nearer than they are to each other, or there is none.
 */
static int release_some(struct recording *recording, const struct recording_times *next)
{
    bool are_two = recording->second.len > 0;
    int64_t interval_ns = next ? infer_interval(&recording->seen, next) : 0;
    bool is_alone = !are_two || is_gap(&recording->first, &recording->seen, interval_ns);
    if (are_two)
        interval_ns = is_alone ? 0 : infer_interval(&recording->first, &recording->seen);
    int code = release(recording, &interval_ns);
    return code < 0 || is_alone ? code : release(recording, NULL);
}

static int keep_line(struct buf *buf, struct str line)
{
    buf_append(buf, line.p, line.n);
    return buf_ok(buf) ? 0 : -ENOMEM;
}

static int add_sample(struct recording *recording, struct str line)
{
    struct recording_times times = times_of(&recording->sample);
    bool is_new = begins_run(recording, &times, line);
    while (recording->waiting.len > 0) {
        if (!is_new && recording->second.len == 0 && is_gap(&recording->seen, &times, 0)) {
            recording->first = recording->seen;
            recording->seen = times;
            return keep_line(&recording->second, line);
        }
        int code = release_some(recording, is_new ? NULL : &times);
        if (code == 0)
            code = parse(recording, line);
        if (code < 0)
            return code;
    }
    is_new = begins_run(recording, &times, line);
    recording->seen = times;
    recording->is_in_run = true;
    if (!is_new)
        return emit(recording, line);
    struct opt_f64 interval_secs = recording->sample.run.interval_secs;
    if (interval_secs.has) {
        bool is_sane = interval_secs.v > 0 && interval_secs.v * 1e3 <= interval_max_ms;
        begin_run(recording, is_sane ? (int64_t)(interval_secs.v * 1e9 + 0.5) : 0);
        return emit(recording, line);
    }
    return keep_line(&recording->waiting, line);
}

static int flush(struct recording *recording)
{
    int code = 0;
    while (code == 0 && recording->waiting.len > 0)
        code = release_some(recording, NULL);
    return code;
}

/* Notes the first line of CSV that cannot be used. */
static void note_odd(struct recording *recording, const struct csv_shape *shape, bool is_header)
{
    size_t columns = recording->csv.count;
    if (recording->odd_line > 0 || (!is_header && (!shape->is_row || shape->cells == columns)))
        return;
    struct buf odd = buf_over(recording->odd, sizeof(recording->odd));
    recording->odd_line = recording->line_number;
    if (is_header) {
        buf_puts(&odd, "a CSV header of other columns: the rows below it are left out");
    } else if (columns == 0) {
        buf_puts(&odd, "a CSV row without a header above it");
    } else {
        buf_puts(&odd, "a CSV row of ");
        num_put_u64(&odd, shape->cells);
        buf_puts(&odd, " columns below a header of ");
        num_put_u64(&odd, columns);
    }
    (void)buf_over_end(&odd);
}

/* Rows are read by the header above them: one that is not known ends what the one before it says. */
static int skip_line(struct recording *recording, struct str line, bool is_ended)
{
    recording->report->skipped++;
    if (!is_ended) {
        recording->is_cut = true;
        return 0;
    }
    if (recording->no_samples++ == 0)
        recording->first_no_sample = recording->line_number;
    struct csv_shape shape = is_json(line) ? (struct csv_shape){0} : csv_line_shape(line);
    size_t columns = recording->csv.count;
    bool is_header = shape.is_text && shape.cells > 1 && (shape.has_timestamp || shape.cells == columns);
    note_odd(recording, &shape, is_header);
    if (!is_header || columns == 0)
        return 0;
    int code = flush(recording);
    recording->csv.count = 0;
    recording->is_in_run = false;
    return code;
}

/* What is neither empty nor JSON: a header, a row after one, or something else. */
static int add_other(struct recording *recording, struct str line, bool is_ended)
{
    if (csv_line_is_header(line)) {
        /* It says what the rows after it are, so no row from before may wait any longer. */
        int code = flush(recording);
        (void)csv_line_set_header(&recording->csv, line);
        recording->is_in_run = false;
        return code;
    }
    if (recording->csv.count > 0 && parse(recording, line) == 0)
        return add_sample(recording, line);
    return skip_line(recording, line, is_ended);
}

int recording_add_line(struct recording *recording, struct str line, bool is_ended)
{
    static const struct str byte_order_mark = {"\xef\xbb\xbf", 3};
    recording->line_number++;
    if (recording->line_number == 1 && str_starts(line, byte_order_mark))
        str_skip(&line, byte_order_mark.n);
    line = str_trim(line);
    if (line.n == 0)
        return 0;
    if (!is_json(line))
        return add_other(recording, line, is_ended);
    int code = parse(recording, line);
    if (code == 0)
        return add_sample(recording, line);
    if (code != -E2BIG)
        return skip_line(recording, line, is_ended || code == -ENODATA);
    recording->too_long++;
    recording->report->skipped++;
    return 0;
}

void recording_add_long(struct recording *recording)
{
    recording->line_number++;
    recording->too_long++;
    recording->report->skipped++;
}

int recording_finish(struct recording *recording)
{
    return flush(recording);
}
