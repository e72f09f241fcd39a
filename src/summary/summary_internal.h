/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the summary share. A quantity of the sample goes into a meter, which keeps whatever may be asked of
 * it later: sum, maximum with its time, mean over time, newest. Values are whole ten-thousandths (fixed4) of what JSON
 * shows, counts are kept as they are.
 */
#ifndef SUMMARY_SUMMARY_INTERNAL_H
#define SUMMARY_SUMMARY_INTERNAL_H

#include "model/totals.h"
#include "summary/accumulate.h"
#include "summary/sketch.h"

enum meter_id {
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

struct meter {
    uint64_t seen; /* samples that knew it */
    int64_t sum, max, max_at_fixed4, newest;
    bool is_max_short; /* only intervals that were too short have made the maximum so far */
    double weighted;
    uint64_t weight; /* milliseconds */
};

/* Where a sample stands in its run. */
struct meter_tick {
    int64_t elapsed_fixed4; /* seconds */
    uint64_t weight_ms; /* length of its interval */
    bool is_short;
};

enum { KEPT_NAME_BYTES = 48 }; /* 15 bytes of any kind, each of which may have become U+FFFD on its way */

struct kept_processes {
    size_t count;
    int64_t at_fixed4;
    struct sample_process items[SUMMARY_PROCESSES_MAX];
    char names[SUMMARY_PROCESSES_MAX][KEPT_NAME_BYTES];
};

struct accumulated_run {
    struct meter meters[METERS];
    struct sketch sketches[METERS_SKETCHED];
    uint64_t samples, memory_unknown;
    bool has_start; /* the recording has its beginning, so it should have its end too */
    struct opt_u64 tracked_pid;
    struct opt_i64 started_ms, finished_ms;
    struct opt_i64 elapsed_fixed4, interval_fixed4; /* interval: as set */
    int64_t longest_fixed4; /* interval so far, seconds */
    struct opt_u64 cpus_allowed, cpus_online;
    struct opt_f64 cpu_limit_cores, memory_limit_mib; /* of the cgroup */
    struct sample_end end;
    struct opt_i64 first_cgroup_peak_fixed4;
    struct opt_i64 largest_process_fixed4; /* RSS of one process, the highest that a sample names */
    struct kept_processes processes;
};

enum { KEPT_ARGUMENTS_MAX = SAMPLE_ARGUMENTS_MAX + 1, KEPT_COMMAND_BYTES = 3 * SAMPLE_COMMAND_BYTES };
enum { KEPT_GPU_NAMES_MAX = 8, KEPT_DETAIL_BYTES = 240 };
enum { KEPT_NOTES_MAX = 8, KEPT_NOTE_BYTES = 160, DERIVED_ROWS_MAX = 64 };

/* Copies of what is valid during accumulate_add only. */
struct kept_identity {
    char job_name[256], hostname[256], kernel[128], version[64];
    bool has_job_name, has_hostname, has_kernel, has_version, has_command;
    size_t argument_count;
    const char *arguments[KEPT_ARGUMENTS_MAX + 1];
    char command[KEPT_COMMAND_BYTES];
};

struct kept_gpu_names {
    size_t count;
    const char *items[KEPT_GPU_NAMES_MAX];
    char texts[KEPT_GPU_NAMES_MAX][64];
};

/* An amount of which the mean over the runs is reported. */
struct run_amount {
    uint64_t runs, count;
    double sum;
};

enum { SIZING_TEXT_BYTES = 200 };

/* What the texts of a summary_sizing point at. */
struct sizing_texts {
    char vcpus[SIZING_TEXT_BYTES], memory[SIZING_TEXT_BYTES], gpus[SIZING_TEXT_BYTES], vram[SIZING_TEXT_BYTES],
        slurm[SIZING_TEXT_BYTES], kubernetes[SIZING_TEXT_BYTES], docker[SIZING_TEXT_BYTES], metaflow[SIZING_TEXT_BYTES];
};

struct accumulator {
    struct accumulated_run run; /* the one that samples belong to */
    struct kept_identity identity; /* of that one */
    struct kept_gpu_names gpu_names;
    struct summary total; /* of the runs before it */
    struct run_amount amounts[DERIVED_ROWS_MAX];
    struct kept_processes processes; /* of the run with the highest peak */
    int64_t processes_peak_fixed4;
    uint64_t left_running, without_end;
    bool has_other_names; /* not all runs are of one job */
    bool has_missed_peak; /* one process had more memory than the tree in any sample, and it was not alone */
    char detail[KEPT_DETAIL_BYTES];
    size_t note_count;
    const char *notes[KEPT_NOTES_MAX];
    char note_texts[KEPT_NOTES_MAX][KEPT_NOTE_BYTES];
    struct sizing_texts sizing;
};

/* value, which is not below 0, and a tenth more. */
static inline int64_t a_tenth_more(int64_t value)
{
    int64_t more;
    return __builtin_add_overflow(value, value / 10, &more) ? INT64_MAX : more;
}

/* Copies a text, cut between characters where it is too long; bytes that are no UTF-8 become U+FFFD, as in JSON. */
void keep_text(const char *text, char *out, size_t size);
void keep_processes(struct kept_processes *processes, const struct sample_list *list, int64_t at_fixed4);

/* The run that samples belong to becomes part of the total. */
void derive_merge_run(struct accumulator *acc);

/* How the run ended; the detail is written to KEPT_DETAIL_BYTES. */
void verdict_of_run(const struct accumulated_run *run, char *detail, struct summary_result *ret_result);

/* Is this a verdict of a run that went wrong? One that is unknown is not. */
bool verdict_is_bad(const struct summary_result *result);

/* What is missing or uncertain, once all runs are in. */
void verdict_put_notes(struct accumulator *acc);

/*
 * Right-sizing: what to ask for next time, by a plain rule with its reason. vCPUs: P95 of cores + 25 %, rounded up, at
 * least 1. Memory: peak + 20 %, up to the next of 128, 256, 512 MiB, 1, 2 GiB, then whole GiB. GPUs: those the tree
 * used. A value is withheld where the run was too short or the peak is uncertain, and the reason says so.
 * Fills summary->sizing from the other members.
 */
void sizing_fill(struct summary *summary, struct sizing_texts *texts);

/*
 * Was the run (one alone) killed by the kernel for lack of memory, or by SIGKILL with its memory at the highest? Then
 * it may have needed more than its peak.
 */
bool sizing_peak_is_uncertain(const struct summary *summary);

/* The ready lines for what is recommended. */
void sizing_put_lines(struct summary_sizing *sizing, struct sizing_texts *texts);

/* The next size at or above that much memory. */
uint64_t sizing_ladder_mib(double mib);

/* The page of src/summary/page as tools/embed-page made it at build time: a gzip file. */
extern const unsigned char report_page_gz[];
extern const size_t report_page_gz_bytes;
extern const size_t report_page_data_at; /* where the data belongs in the unpacked page */

#endif
