/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the replay share: the parsers of a line, and the recording they make up. */
#ifndef REPLAY_REPLAY_INTERNAL_H
#define REPLAY_REPLAY_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "base/str.h"
#include "model/sample.h"
#include "replay/replay.h"

/* The first few different names of something, for a note: "foo, bar and others". */

enum { NAME_LIST_MAX = 4, NAME_LIST_BYTES = 40 };

struct name_list {
    unsigned count;
    bool has_more;
    char names[NAME_LIST_MAX][NAME_LIST_BYTES]; /* cut where they are longer, and printable */
};

/* One more note, cut where it is too long; dropped where there are enough. */
__attribute__((format(printf, 2, 3))) void replay_note(struct replay_report *report, const char *fmt, ...);

/* Nothing happens where it is there already, or empty. */
void name_list_add(struct name_list *list, struct str name);

/*
 * The pieces of JSON (RFC 8259) within a line: blanks, numbers, strings, and values of which nothing is wanted. Every
 * function gets a position in the text and its end and returns the position behind what it read, NULL where the text is
 * broken there.
 */

/* A number as it stands there. */
struct json_number {
    uint64_t digits; /* before and behind the point, as one number; meaningless above 19 of them */
    size_t count, decimals; /* of the digits: all, and those behind the point */
    bool is_negative, has_exponent;
    struct str text;
};

static inline const char *json_scan_blanks(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\t' || *p == '\r' || *p == '\n'))
        p++;
    return p;
}

const char *json_scan_number(const char *p, const char *end, struct json_number *ret_number);

/* False where it does not fit, or (whole numbers) has a fraction that is not 0. */
bool json_number_f64(const struct json_number *number, double *ret_value);
bool json_number_u64(const struct json_number *number, uint64_t *ret_value);
bool json_number_i64(const struct json_number *number, int64_t *ret_value);

/* The most that is believed of a number with a fraction: sums have ten-thousandths of it in 64 bits. */
#define JSON_NUMBER_MAX 9e14

/* true, false, null: p must stand before that word. */
const char *json_scan_word(const char *p, const char *end, struct str word);

/* p stands behind the opening quote; *ret_text is what lies between the quotes, escapes as they are. */
const char *json_scan_string(const char *p, const char *end, struct str *ret_text);

/*
 * Decodes a string into `out` with a NUL behind it and advances *out beyond; what is not well-formed, and NUL, becomes
 * U+FFFD. Returns NULL also where it does not fit before out_end: *out is then NULL.
 */
const char *json_scan_text(const char *p, const char *end, char **out, const char *out_end);

/* Any value, nested no more than 32 deep. */
const char *json_scan_value(const char *p, const char *end);

/*
 * One line of JSON as a sample, through the field tables. Its memory is allocated once, when it is made: no line
 * allocates.
 */

struct json_line {
    char *space; /* open lists first, then texts and finished lists */
    char *open, *open_end; /* items of lists under way, one list upon the other */
    char *done, *done_end;
    const char *end; /* of the line */
    struct name_list unknown; /* keys of samples that no table has */
    uint64_t mistyped; /* values that their key cannot have, read as unknown */
    size_t space_bytes;
    bool is_full;
};

/* space_bytes bounds what one line can hold; memory is used only as far as lines need it. Returns 0 or -ENOMEM. */
int json_line_init(struct json_line *json, size_t space_bytes);
void json_line_fini(struct json_line *json);

/*
 * Texts and lists of the sample are valid until the next call. Returns 0, -EBADMSG (no JSON object), -ENODATA (an
 * object without timestamp_secs and timestamp_ms) or -E2BIG (more than there is space for); the sample is then
 * unspecified, and nothing of the line is counted.
 */
int json_line_parse(struct json_line *json, struct str line, struct sample *sample);

/* The items of a list of the sample just parsed, to be completed. */
void *json_line_items(const struct json_line *json, const struct sample_list *list);

/*
 * CSV as resource-trackers write it, in all column sets: the header says which column is which, a row becomes a sample.
 * Sums over devices come back as one device called "all"; GPUs as so many as were in use, each with its share. The CSV
 * encoders make the same row of it again.
 */

enum { CSV_LINE_COLUMNS_MAX = 256, CSV_LINE_GPUS_MAX = 64 };

struct csv_line {
    size_t count; /* columns of the header; 0: none yet */
    unsigned char columns[CSV_LINE_COLUMNS_MAX]; /* enum csv_column */
    struct name_list unknown; /* columns that are left out */
    uint64_t mistyped; /* cells that hold no number, or one that cannot be */
    bool has_process_memory; /* PSS or RSS: a row does not say which */
    /* what the lists of the sample point at */
    struct sample_disk disk;
    struct sample_mount mount;
    struct sample_network network;
    struct sample_gpu gpus[CSV_LINE_GPUS_MAX];
};

/* Does it name columns, a timestamp and a CPU usage among them, none that is known twice? */
bool csv_line_is_header(struct str line);

/* What a line is that is neither a header of ours nor a row of it. */
struct csv_shape {
    size_t cells; /* 0: its quotes are broken */
    bool is_row; /* several cells, the first a number */
    bool is_text; /* no cell is empty or a number */
    bool has_timestamp; /* as one of its cells */
};

struct csv_shape csv_line_shape(struct str line);

/* Reads the columns from a header. Returns 0, or -EBADMSG where it is none: nothing changes then. */
int csv_line_set_header(struct csv_line *csv, struct str line);

/*
 * A row after a header. Lists of the sample are valid until the next call. Returns 0 or -EBADMSG (other than the header
 * says, or without a timestamp); the sample is then unspecified. Times but timestamp_* are left to the caller.
 */
int csv_line_parse(struct csv_line *csv, struct str line, struct sample *sample);

/*
 * Bytes of an interval for recordings that have only totals and rates: our first versions and the Rust tool. They are
 * the growth of the totals since the sample before; in the first sample, what the rate says.
 */

enum { PREVIOUS_DEVICES_MAX = 256, PREVIOUS_NAME_BYTES = 48 };

/* The totals of a device: read and written, received and sent. */
struct previous_device {
    char name[PREVIOUS_NAME_BYTES];
    struct opt_u64 in, out;
};

struct previous_list {
    bool is_known; /* was there a sample before, with these devices? */
    size_t count;
    struct previous_device devices[PREVIOUS_DEVICES_MAX];
};

struct previous {
    struct previous_list disks, interfaces;
};

/* A run begins. */
void previous_reset(struct previous *previous);

/* Completes the disks and interfaces of the sample that was just parsed from the line. secs: of its interval. */
void previous_complete(struct previous *previous, const struct json_line *json, struct str line, struct opt_f64 secs,
    struct sample *sample);

/*
 * Lines of a recording on their way to the target: what each line is, where runs begin, and what a sample lacks but can
 * be known. The first sample of a run that does not have its interval waits for the second, and both for the third
 * where they are so far apart that they may be of two runs.
 */

/* Of one sample, what decides about runs and times. */
struct recording_times {
    struct opt_i64 timestamp_ms;
    struct opt_f64 elapsed_secs, interval_ms, late_ms;
    struct opt_u64 missed_samples, tracked_pid;
};

enum { RECORDING_STARTS = 16, RECORDING_ODD_BYTES = 96 };

struct recording {
    const struct replay_target *target;
    struct replay_report *report;
    struct json_line json;
    struct csv_line csv;
    struct previous previous;
    struct sample sample; /* the one under way */
    struct buf waiting, second; /* the lines of a first sample and the next one; empty: none */
    bool is_in_run; /* false: the next sample begins one */
    int64_t interval_ns; /* of the run; 0: unknown */
    uint64_t run_samples; /* passed on */
    struct recording_times first; /* with a second: of the one that waits */
    struct recording_times seen, emitted; /* the last sample that was read, and the last one passed on */
    struct buf job_name, version; /* of the run */
    struct name_list versions;
    /* for the notes */
    uint64_t line_number, no_samples, first_no_sample, too_long, first_mistyped;
    uint64_t odd_line; /* the first of them that is CSV; 0: none is */
    char odd[RECORDING_ODD_BYTES]; /* what is the matter with it */
    uint64_t started[RECORDING_STARTS]; /* tracked PIDs of the last runs that began with the facts of a start */
    size_t starts;
    uint64_t pieces; /* runs that go on behind samples of others */
    bool is_cut;
};

/* Returns 0 or -ENOMEM. The report must be empty; recording_fini is allowed after a failure. */
int recording_init(struct recording *recording, const struct replay_target *target, struct replay_report *report);
void recording_fini(struct recording *recording);

/* The next line, without its LF; is_ended: there was one. Returns 0, -ENOMEM, or what the target returned. */
int recording_add_line(struct recording *recording, struct str line, bool is_ended);

/* A line above REPLAY_LINE_BYTES_MAX, of which nothing is kept. */
void recording_add_long(struct recording *recording);

/* After the last line. */
int recording_finish(struct recording *recording);

#endif
