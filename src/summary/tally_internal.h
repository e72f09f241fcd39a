/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the tally share. A quantity of the sample goes into a meter, which keeps whatever may be asked of
 * it later: sum, maximum with its time, mean over time, newest. Values are whole ten-thousandths ("e4") of what JSON
 * shows, counts are kept as they are.
 */
#ifndef SUMMARY_TALLY_INTERNAL_H
#define SUMMARY_TALLY_INTERNAL_H

#include "model/shown.h"
#include "summary/sizing.h"
#include "summary/sketch.h"
#include "summary/summary.h"
#include "summary/tally.h"

enum tally_meter_id {
    METER_CORES,
    METER_HOST_CORES,
    METER_GPU_USAGE,
    METERS_SKETCHED, /* those above have a sketch */
    METER_GPU_HOST_USAGE = METERS_SKETCHED,
    METERS_OF_INTERVAL, /* those above are shares of an interval: one that was too short makes no peak */
    METER_RSS = METERS_OF_INTERVAL,
    METER_PSS,
    METER_PEAK_RSS,
    METER_RSS_BESIDE_PSS, /* RSS of samples that know PSS too */
    METER_RSS_ALONE, /* and of those that do not */
    METER_USER,
    METER_SYSTEM,
    METER_PROCESSES,
    METER_THREADS,
    METER_FAULTS,
    METER_READ,
    METER_WRITTEN,
    METER_VRAM,
    METER_GPUS_UTILIZED,
    METER_HOST_USED,
    METER_HOST_TOTAL,
    METER_HOST_SWAP,
    METER_HOST_READ,
    METER_HOST_WRITTEN,
    METER_HOST_RECEIVED,
    METER_HOST_SENT,
    METER_GPUS,
    METER_GPU_HOST_VRAM,
    METER_GPU_VRAM_TOTAL,
    METER_GPU_ENERGY,
    METER_THROTTLED,
    METER_CGROUP_USED,
    METER_CGROUP_PEAK,
    METER_CPU_PRESSURE,
    METER_MEMORY_PRESSURE,
    METER_MEMORY_FULL_PRESSURE,
    METER_IO_PRESSURE,
    METER_IO_FULL_PRESSURE,
    METER_TRACKER_CPU,
    METER_TRACKER_RSS,
    METER_TRACKER_LATE,
    METER_MISSED,
    METERS,
};

struct tally_meter {
    uint64_t seen; /* samples that knew it */
    int64_t sum, max, max_at_e4, newest;
    bool is_max_short; /* only intervals that were too short have made the maximum so far */
    double weighted;
    uint64_t weight; /* milliseconds */
};

/* Where a sample stands in its run. */
struct tally_turn {
    int64_t elapsed_e4; /* seconds */
    uint64_t weight_ms; /* length of its interval */
    bool is_short;
};

enum { TALLY_NAME_BYTES = 48 }; /* 15 bytes of any kind, each of which may have become U+FFFD on its way */

struct tally_processes {
    size_t count;
    int64_t at_e4;
    struct sample_process items[SUMMARY_PROCESSES_MAX];
    char names[SUMMARY_PROCESSES_MAX][TALLY_NAME_BYTES];
};

struct tally_run {
    struct tally_meter meters[METERS];
    struct sketch sketches[METERS_SKETCHED];
    uint64_t samples, memory_unknown;
    bool has_start; /* the recording tells beginnings, so it should tell the end too */
    struct opt_u64 tracked_pid;
    struct opt_i64 started_ms, finished_ms;
    struct opt_i64 elapsed_e4, interval_e4; /* interval: as set */
    int64_t longest_e4; /* interval so far, seconds */
    struct opt_u64 cpus_allowed, cpus_online;
    struct opt_f64 cpu_limit_cores, memory_limit_mib; /* of the cgroup */
    struct sample_end end;
    struct opt_i64 first_cgroup_peak_e4;
    struct opt_i64 largest_process_e4; /* RSS of one process, the highest that a sample names */
    struct tally_processes processes;
};

enum { TALLY_ARGUMENTS_MAX = SAMPLE_ARGUMENTS_MAX + 1, TALLY_COMMAND_BYTES = 3 * SAMPLE_COMMAND_BYTES };
enum { TALLY_GPU_NAMES_MAX = 8, TALLY_DETAIL_BYTES = 240 };
enum { TALLY_NOTES_MAX = 8, TALLY_NOTE_BYTES = 160, TALLY_ROWS_MAX = 64 };

/* Copies of what is valid during tally_add only. */
struct tally_identity {
    char job_name[256], hostname[256], kernel[128], version[64];
    bool has_job_name, has_hostname, has_kernel, has_version, has_command;
    size_t argument_count;
    const char *arguments[TALLY_ARGUMENTS_MAX + 1];
    char command[TALLY_COMMAND_BYTES];
};

struct tally_gpu_names {
    size_t count;
    const char *items[TALLY_GPU_NAMES_MAX];
    char texts[TALLY_GPU_NAMES_MAX][64];
};

/* An amount of which the mean over the runs is told. */
struct tally_amount {
    uint64_t runs, count;
    double sum;
};

struct tally {
    struct tally_run run; /* the one that samples belong to */
    struct tally_identity identity; /* of that one */
    struct tally_gpu_names gpu_names;
    struct summary total; /* of the runs before it */
    struct tally_amount amounts[TALLY_ROWS_MAX];
    struct tally_processes processes; /* of the run with the highest peak */
    int64_t processes_peak_e4;
    uint64_t left_running, without_end;
    bool has_other_names; /* not all runs are of one job */
    bool has_missed_peak; /* one process had more memory than the tree in any sample, and it was not alone */
    char detail[TALLY_DETAIL_BYTES];
    size_t note_count;
    const char *notes[TALLY_NOTES_MAX];
    char note_texts[TALLY_NOTES_MAX][TALLY_NOTE_BYTES];
    struct sizing_texts sizing;
};

/* A tenth more than this, which is not below 0. */
static inline int64_t tally_tenth_more(int64_t value)
{
    int64_t more;
    return __builtin_add_overflow(value, value / 10, &more) ? INT64_MAX : more;
}

void tally_meters_add(struct tally_run *run, const struct sample *sample, const struct tally_turn *turn);
void tally_meter_add(struct tally_run *run, unsigned id, int64_t value, const struct tally_turn *turn);

/* Disks, network interfaces and GPUs of a sample, each list as one number. */
void tally_lists_add(struct tally_run *run, const struct sample *sample, const struct tally_turn *turn);

/* Copies of texts: cut where they are too long, between characters. */
void tally_text_copy(const char *text, char *out, size_t size);
void tally_identity_take(struct tally_identity *identity, const struct sample *sample, bool is_first);
void tally_identity_tell(const struct tally_identity *identity, struct summary *summary);
void tally_processes_take(struct tally_processes *processes, const struct sample_list *list, int64_t at_e4);
void tally_gpu_names_take(struct tally_gpu_names *names, const struct sample_list *list);

/* How the run ended; the detail is written to TALLY_DETAIL_BYTES. */
void tally_result_tell(const struct tally_run *run, char *detail, struct summary_result *ret_result);

/* Is this a verdict of a run that went wrong? One that is unknown is not. */
bool tally_result_is_bad(const struct summary_result *result);

/* The numbers that come from one meter alone. */
void tally_rows_fill(const struct tally_run *run, struct summary *summary);
void tally_rows_merge(struct tally *tally, const struct summary *run);

/* All numbers of a run whose result is there already. */
void tally_run_tell(const struct tally_run *run, struct summary *summary);

/* The run that samples belong to becomes part of the total. */
void tally_merge_run(struct tally *tally);

/* What is missing or uncertain, once all runs are in. */
void tally_notes_tell(struct tally *tally);

#endif
