/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of the summary share. A quantity of the sample goes into a meter, which keeps whatever may be asked of
 * it later: sum, maximum with its time, mean over time, newest. Values are whole ten-thousandths (fixed4) of what JSON
 * shows, counts are kept as they are.
 */
#ifndef SUMMARY_SUMMARY_INTERNAL_H
#define SUMMARY_SUMMARY_INTERNAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/opt.h"
#include "model/totals.h"
#include "summary/accumulate.h"
#include "summary/phases/phases.h"

#define SUMMARY_SWAP_GROWTH_MIB 16.0 /* less says nothing of the run */

enum meter_id {
    METER_CORES,
    METER_WANTED, /* used and waited for, in cores */
    METER_HOST_CORES,
    METER_GPU_USAGE,
    METERS_SKETCHED, /* those above have a sketch */
    METER_GPU_HOST_USAGE = METERS_SKETCHED,
    METER_GPU_ACTIVE, /* METER_GPU_USAGE of samples in which the tree held GPU memory */
    METERS_OF_INTERVAL, /* those above are shares of an interval: one that was too short makes no peak */
    METER_RSS = METERS_OF_INTERVAL,
    METER_PSS,
    METER_PEAK_RSS,
    METER_RSS_BESIDE_PSS, /* RSS of samples that know PSS too */
    METER_RSS_ALONE, /* and of those that do not */
    METER_WAIT,
    METER_WAIT_READ, /* METER_WAIT of samples in which what was wanted rests on it */
    METER_LACKED, /* cores that were wanted and not used */
    METER_LACKED_IDLE, /* those of them that were idle meanwhile */
    METER_BUSIEST,
    METER_USER,
    METER_SYSTEM,
    METER_PROCESSES,
    METER_THREADS,
    METER_FAULTS,
    METER_READ,
    METER_WRITTEN,
    METER_RECEIVED,
    METER_SENT,
    METER_VRAM,
    METER_GPUS_UTILIZED,
    METER_HOST_USED,
    METER_HOST_TOTAL,
    METER_HOST_SWAP,
    METER_HOST_SWAP_TOTAL,
    METER_HOST_IOWAIT,
    METER_HOST_READ,
    METER_HOST_WRITTEN,
    METER_HOST_RECEIVED,
    METER_HOST_SENT,
    METER_GPUS,
    METER_GPU_HOST_VRAM,
    METER_GPU_VRAM_TOTAL,
    METER_GPU_ENERGY,
    METER_PACKAGE_ENERGY,
    METER_DRAM_ENERGY,
    METER_PLATFORM_ENERGY,
    METER_IDLE_ENERGY,
    METER_TREE_ENERGY,
    METER_THROTTLED,
    METER_CGROUP_USED,
    METER_CGROUP_PEAK,
    METER_SHMEM, /* of the cgroup, not mapped */
    METER_WITH_SHMEM, /* the same and the memory of the tree */
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

/*
 * Quantiles of values from 0 up in a fixed space (sketch.c): counts in buckets whose width is a fixed share of their
 * value, so that a quantile is off by at most SKETCH_ERROR of itself. Values below SKETCH_LEAST count as 0. Weights are
 * whole numbers (milliseconds, so that a short interval counts little).
 */

/* 64 buckets to every doubling, from 2^-10 to 2^14. */
enum { SKETCH_PARTS = 64, SKETCH_DOUBLINGS = 24, SKETCH_BUCKETS = SKETCH_PARTS * SKETCH_DOUBLINGS };
#define SKETCH_ERROR (1.0 / 128)
#define SKETCH_LEAST (1.0 / 1024)

struct sketch {
    uint64_t zeros, total;
    double max;
    uint64_t buckets[SKETCH_BUCKETS];
};

/* Negative values and weights of 0 are ignored; values above the range count as its end. */
void sketch_add(struct sketch *sketch, double value, uint64_t weight);

/* The value at or below which `share` (0 to 1) of the weight lies, at most the largest value. Absent while empty. */
struct opt_f64 sketch_quantile(const struct sketch *sketch, double share);

/* The share (0 to 1) of the weight of values from `least` on, give or take SKETCH_ERROR of it. Absent while empty. */
struct opt_f64 sketch_share_from(const struct sketch *sketch, double least);

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
    int64_t length_fixed4; /* of its interval, seconds */
    uint64_t weight_ms; /* the same, at least 1 */
    bool is_short;
};

enum { KEPT_NAME_BYTES = 48 }; /* 15 bytes of any kind, each of which may have become U+FFFD on its way */
enum { KEPT_COMMAND_LINE_BYTES = SAMPLE_PROCESS_BYTES };

struct kept_processes {
    size_t count;
    int64_t at_fixed4;
    struct sample_process items[SUMMARY_PROCESSES_MAX];
    char names[SUMMARY_PROCESSES_MAX][KEPT_NAME_BYTES];
    char commands[SUMMARY_PROCESSES_MAX][KEPT_COMMAND_LINE_BYTES];
};

enum { HISTORY_BYTES_MAX = 1000 * 1000 }; /* as JSON */

struct kept_texts {
    char name[KEPT_NAME_BYTES], command[KEPT_COMMAND_LINE_BYTES];
};

struct kept_history {
    size_t program_count, process_count; /* no program: nothing is known */
    double cpu_secs; /* of all processes that were seen, their own */
    struct summary_process programs[SUMMARY_PROGRAMS_MAX], processes[SUMMARY_HISTORY_MAX];
    struct kept_texts program_texts[SUMMARY_PROGRAMS_MAX], process_texts[SUMMARY_HISTORY_MAX];
    struct buf json;
};

/* The processes of a run, which are those of the newest call. */
void history_add(struct kept_history *history, const struct sample_history *given);

/* Into the summary of one run, whose CPU time and result are known. */
void history_fill(struct kept_history *history, struct summary *summary);

enum { GROWTH_POINTS = 32 };

/* The highest memory of every `step` samples, in at most GROWTH_POINTS points. */
struct growth {
    size_t count, step, open; /* open: samples in the newest point */
    int64_t points[GROWTH_POINTS];
};

enum { WANTED_POINTS = 16 };

/* What the newest samples wanted, for a mean over them. */
struct wanted_window {
    size_t count, newest;
    struct wanted_point {
        double demand; /* cores over its length, fixed4 */
        int64_t length_fixed4;
        uint64_t threads; /* 0: unknown */
    } points[WANTED_POINTS];
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
    struct opt_i64 first_swap_fixed4; /* swap space of the host in use */
    struct growth growth; /* of RSS */
    struct wanted_window wanted;
    struct opt_bool cgroup_is_own;
    uint64_t net_samples, net_exact_samples; /* that know what the tree received and sent, and exactly */
    struct kept_processes processes, by_cpu;
    struct listed_need {
        int64_t need_fixed4, rss_fixed4; /* need: PSS, where it is known */
        bool has_pss;
    } processes_need; /* memory of the tree when the former were listed */
};

enum { KEPT_ARGUMENTS_MAX = SAMPLE_ARGUMENTS_MAX + 1, KEPT_COMMAND_BYTES = 3 * SAMPLE_COMMAND_BYTES };
enum { KEPT_GPU_NAMES_MAX = 8, KEPT_DETAIL_BYTES = 240 };
enum { KEPT_NOTES_MAX = 16, KEPT_NOTE_BYTES = 160, DERIVED_ROWS_MAX = 92 };
enum { KEPT_PAIRS_MAX = 32, KEPT_PAIRS_BYTES = 4096, KEPT_KEY_BYTES = 128, KEPT_VALUE_BYTES = 512 };

struct kept_pairs {
    bool is_known;
    size_t count;
    struct str_pair items[KEPT_PAIRS_MAX];
    char text[KEPT_PAIRS_BYTES];
};

/* Copies of what is valid during accumulate_add only. */
struct kept_identity {
    char job_name[256], hostname[256], kernel[128], version[64];
    char cpu_model[160], cgroup_path[512];
    bool has_job_name, has_hostname, has_kernel, has_version, has_command, has_cpu_model, has_cgroup_path;
    struct kept_pairs metadata, tags;
    size_t argument_count;
    const char *arguments[KEPT_ARGUMENTS_MAX + 1];
    char command[KEPT_COMMAND_BYTES];
};

struct kept_gpu_names {
    size_t count;
    const char *items[KEPT_GPU_NAMES_MAX];
    char texts[KEPT_GPU_NAMES_MAX][64];
};

/* Mean over time and maximum of a quantity of one device. */
struct device_meter {
    bool is_known;
    int64_t max;
    double weighted;
    uint64_t weight; /* milliseconds */
};

struct kept_gpu {
    char uuid[96], name[64], host_id[32], driver[24], version[32];
    struct device_meter usage, host_usage, power, temperature; /* fixed4 */
    int64_t vram_max_fixed4, vram_total_fixed4; /* MiB */
    bool has_vram, has_vram_total;
    /* of the run: samples in which the tree held memory, the most in the first two, the least in those after */
    uint64_t held;
    int64_t held_first_fixed4, held_least_fixed4, held_most_fixed4;
    uint64_t runs_reserved, runs_held;
};

/* The devices of all runs, by UUID or else by their place in the sample. */
struct kept_gpus {
    size_t count;
    struct kept_gpu items[SUMMARY_GPUS_MAX];
    struct summary_gpu_device devices[SUMMARY_GPUS_MAX];
};

/* An amount of which the mean over the runs is reported. */
struct run_amount {
    uint64_t runs, count;
    double sum;
};

enum { SIZING_TEXT_BYTES = 240 };

/* What the texts of a summary_sizing point at. */
struct sizing_texts {
    char vcpus[SIZING_TEXT_BYTES], memory[SIZING_TEXT_BYTES], gpus[SIZING_TEXT_BYTES], vram[SIZING_TEXT_BYTES],
        slurm[SIZING_TEXT_BYTES], kubernetes[SIZING_TEXT_BYTES], docker[SIZING_TEXT_BYTES], metaflow[SIZING_TEXT_BYTES];
};

enum { VERDICT_TEXT_BYTES = 240, VERDICT_EVIDENCE_MAX = 6, VERDICT_KEY_BYTES = 48 };

/* What a summary_verdict points at. */
struct verdict_texts {
    char text[VERDICT_TEXT_BYTES];
    const char *evidence[VERDICT_EVIDENCE_MAX];
    char keys[VERDICT_EVIDENCE_MAX][VERDICT_KEY_BYTES];
};

struct accumulator {
    struct accumulated_run run; /* the one that samples belong to */
    struct kept_identity identity; /* of that one */
    struct kept_gpu_names gpu_names;
    struct summary total; /* of the runs before it */
    struct run_amount amounts[DERIVED_ROWS_MAX];
    struct kept_processes processes; /* of the run with the highest peak */
    int64_t processes_peak_fixed4;
    struct kept_processes by_cpu; /* of the run with the most CPU time */
    double by_cpu_secs;
    struct kept_gpus gpus;
    uint64_t left_running, without_end;
    uint64_t other_oom_kills; /* on the host, beside those that its cgroup counted */
    bool has_other_names; /* not all runs are of one job */
    bool has_other_commands; /* nor of one command */
    bool has_missed_peak; /* one process had more memory than the tree in any sample, and it was not alone */
    char energy_source[16];
    struct opt_f64 carbon_g_per_kwh;
    char detail[KEPT_DETAIL_BYTES];
    size_t note_count;
    const char *notes[KEPT_NOTES_MAX];
    char note_texts[KEPT_NOTES_MAX][KEPT_NOTE_BYTES];
    struct sizing_texts sizing;
    struct verdict_texts verdict;
    struct phases phases;
    struct kept_history history; /* of the newest run that has one */
};

/* value, which is not below 0, and a tenth more. */
static inline int64_t a_tenth_more(int64_t value)
{
    int64_t more;
    return __builtin_add_overflow(value, value / 10, &more) ? INT64_MAX : more;
}

/* Bytes as MiB, in ten-thousandths. */
static inline int64_t mib_fixed4(uint64_t bytes)
{
    enum { MIB_BITS = 20 };
    uint64_t below = bytes & ((UINT64_C(1) << MIB_BITS) - 1), half = UINT64_C(1) << (MIB_BITS - 1);
    return (int64_t)((bytes >> MIB_BITS) * FIXED4 + ((below * FIXED4 + half) >> MIB_BITS));
}

/* Cores that were wanted, as precisely as they are known: in tenths. */
static inline double wanted_about(double cores)
{
    static const double most = 1e9;
    return (double)(uint64_t)((cores < most ? cores : most) * 10 + 0.5) / 10;
}

/* Copies a text, cut between characters where it is too long; bytes that are no UTF-8 become U+FFFD, as in JSON. */
void keep_text(const char *text, char *out, size_t size);
void keep_processes(struct kept_processes *processes, const struct sample_list *list, int64_t at_fixed4);

void keep_identity(struct kept_identity *identity, const struct sample *sample, bool is_first);
void keep_gpu_names(struct kept_gpu_names *names, const struct sample_list *list);

/* Devices: those of one sample; the end of a run; and what became of them, in summary->gpu and summary->machine. */
void devices_add(struct kept_gpus *gpus, const struct sample_list *list, const struct meter_tick *tick);
void devices_end_run(struct kept_gpus *gpus);
void devices_fill(struct kept_gpus *gpus, struct summary *summary);

/* is_part: its interval is short beside the others (the last one, or one that a mark cut): it makes no point of its
 * own. */
void growth_add(struct growth *growth, int64_t value, bool is_part);

/* Fills growth_mib and late_growth_mib. */
void growth_fill(const struct growth *growth, struct summary_memory *memory);

/* Did the job use any GPU? */
bool summary_has_used_gpu(const struct summary_gpu *gpu);

/* The summary of one run; and its numbers as part of the total. */
void derive_run(const struct accumulated_run *run, struct summary *summary);
void derive_merge_rows(struct accumulator *acc, const struct summary *run);

/* The run that samples belong to becomes part of the total. */
void merge_run(struct accumulator *acc);

/* Values that are shares of others. */
void merge_fill_shares(struct summary *summary);

/* How the run ended; the detail is written to KEPT_DETAIL_BYTES. */
void outcome_of_run(const struct accumulated_run *run, char *detail, struct summary_result *ret_result);

/* By SIGKILL, which a shell reports as an exit status. */
bool outcome_was_killed(struct opt_i64 exit_code, struct opt_i64 signal);

/* Did the run go wrong? One whose end is unknown did not, nor one that was only no longer tracked. */
bool outcome_is_bad(const struct summary_result *result);

/* What is missing or uncertain, once all runs are in. */
void outcome_put_notes(struct accumulator *acc);

/* Too short, or too few samples, to say anything of; of several runs, each of them. */
bool summary_is_too_short(const struct summary *summary);

/* "0.4 s, 1 sample" with ", " in between; "3 runs of 0.4 s on average, 5 samples in all". */
void summary_put_length(struct buf *text, const struct summary *summary, const char *between);

/* The CPU limit of the cgroup held the tree back for at least a twentieth of the time. */
bool summary_is_throttled(const struct summary *summary);

/* Were all CPUs of the machine busy, and at least half a core with other work? Then what is ready to run waits. */
bool summary_is_host_full(const struct summary *summary);

/* Is the cgroup the source of a limit? */
bool summary_is_of_cgroup(const char *limit_source);

/* Did memory run out, for the job or for another process of its cgroup? */
bool summary_ran_out_of_memory(const struct summary *summary);

/* Is the limit that is known the one that it ran into? It may have been that of a cgroup which was not seen. */
bool summary_reached_limit(const struct summary *summary);

/*
 * Right-sizing: what to ask for next time, by the rules of docs/guide/sizing.md, each value with its reason. A value is
 * withheld where it cannot be known, and the reason says why. Fills summary->sizing from the other members.
 */
void sizing_fill(struct summary *summary, struct sizing_texts *texts);

/*
 * Was the run (one alone) killed by the kernel for lack of memory, or by SIGKILL while its memory was still growing?
 * Then it may have needed more than its peak.
 */
bool sizing_peak_is_uncertain(const struct summary *summary);

/* Is shared memory that no process maps a part of summary_memory_need? */
bool summary_need_has_shmem(const struct summary *summary);

/* Which memory summary_memory_need is: "PSS", "RSS", "largest process". */
const char *summary_need_kind(const struct summary *summary);

/* The next size that is asked for: steps of at most an eighth. */
uint64_t sizing_ladder_mib(double mib);

/* The ready lines for what is recommended; driver: of the GPUs that were used, NULL where it is unknown. */
void sizing_put_lines(struct summary *summary, const char *driver, struct sizing_texts *texts);

/* What held the run back, by the table of rules. Fills summary->verdict from the other members, sizing included. */
void verdict_fill(struct summary *summary, struct verdict_texts *texts);

/* The page of src/summary/report/page as tools/embed-page made it at build time: a gzip file. */
extern const unsigned char report_page_gz[];
extern const size_t report_page_gz_bytes;
enum report_mark { REPORT_TITLE, REPORT_BODY, REPORT_DATA, REPORT_MARKS };
extern const size_t report_page_marks[REPORT_MARKS]; /* where these belong in the unpacked page, in this order */

/* The key of what is in a summary at this place: "cpu.wanted_p95". */
void summary_put_key(struct buf *text, size_t at);

#endif
