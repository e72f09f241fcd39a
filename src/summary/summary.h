/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a run needed, finished: plain data that text, Markdown, JSON and the report show. summary/fields.c names
 * every member once, and is the shape of --summary-json. Numbers of the tree are absent where only the host was
 * tracked. Texts and lists belong to the accumulator that filled it. Of several runs, needs (peaks, P95) are the
 * maximum and amounts (CPU time, bytes, wall time, means) are means per run.
 */
#ifndef SUMMARY_SUMMARY_H
#define SUMMARY_SUMMARY_H

#include "model/field.h"
#include "model/sample.h"

enum { SUMMARY_SCHEMA_VERSION = 1, SUMMARY_PROCESSES_MAX = 8, SUMMARY_GPUS_MAX = 16 };
enum { SUMMARY_HISTORY_MAX = 64, SUMMARY_PROGRAMS_MAX = 64 };

/* Values of summary_result.verdict. */
#define SUMMARY_FINISHED "finished" /* exit status 0; or no command was run and tracking came to its end */
#define SUMMARY_FAILED "failed" /* any other exit status */
#define SUMMARY_SIGNALED "signaled" /* ended by a signal, no sign that memory ran out */
#define SUMMARY_STOPPED "stopped" /* --pid: tracking was stopped, the process still runs */
#define SUMMARY_OUT_OF_MEMORY "out of memory" /* killed, and its cgroup counted an OOM kill */
#define SUMMARY_MAYBE_OUT_OF_MEMORY "maybe out of memory" /* killed, and only the host counted one */
#define SUMMARY_UNKNOWN "unknown" /* no end was recorded */

struct summary_result {
    bool present;
    const char *verdict; /* one of the above */
    const char *detail; /* one sentence with its evidence: "killed by signal 9 (SIGKILL) ..." */
    struct opt_i64 exit_code, signal;
    struct opt_u64 oom_kills, host_oom_kills;
};

/* What held the run back, in one sentence. */
struct summary_verdict {
    bool present;
    const char *kind; /* one of those in docs/guide/sizing.md: "cpu-bound", "throttled", ... */
    const char *text; /* "CPU-bound: used 1.98 of 2 cores" */
    struct sample_list evidence; /* const char *: keys of this summary that it rests on, "cpu.wanted_p95" */
};

struct summary_cpu {
    bool present;
    struct opt_f64 user_secs, system_secs, total_secs; /* of the tree */
    struct opt_bool is_lower_bound;
    struct opt_f64 cores_mean, cores_p95, cores_peak, cores_peak_at_secs; /* mean: total_secs / wall; at: elapsed */
    struct opt_f64 wait_secs; /* ready to run, without a CPU; absent where it was not known for a fifth of the time */
    struct opt_f64 wanted_mean, wanted_p95, wanted_peak; /* what it would have used without waiting, in cores */
    struct opt_f64 lacked_idle_mean; /* without a key: cores that were wanted and not used although they were idle */
    struct opt_bool wanted_is_estimate; /* wait_secs is absent; absent itself where wanted_* are */
    struct opt_f64 busiest_mean; /* cores of the process that used most, in each sample */
    struct opt_f64 saturated_pct; /* share of the run in which at least 95 % of limit_cores was used */
    struct opt_f64 limit_cores; /* the lowest of cgroup limit, affinity (of the job, else ours) and online CPUs */
    const char *limit_source; /* "cgroup", "affinity" or "machine" */
    struct opt_f64 limit_used_pct; /* cores_p95 of limit_cores */
    struct opt_f64 throttled_secs;
    struct opt_f64 host_cores_mean, host_cores_p95, host_cores_peak;
    struct opt_u64 processes_peak, threads_peak; /* of the tree, the root included */
    struct opt_u64 voluntary_switches, involuntary_switches;
    struct opt_u64 processes_seen, processes_unseen;
    struct sample_list processes; /* struct sample_process, most CPU time first */
};

struct summary_memory {
    bool present;
    struct opt_f64 rss_peak_mib, rss_peak_at_secs; /* peak: process_peak_rss_mib, at: the highest sample */
    struct opt_f64 rss_mean_mib;
    struct opt_f64 pss_peak_mib, pss_peak_at_secs, pss_mean_mib;
    struct opt_f64 cgroup_peak_mib; /* page cache included */
    struct opt_f64 cgroup_shmem_mib; /* tmpfs and other shared memory that no process maps */
    struct opt_bool cgroup_is_own;
    const char *cgroup_path;
    struct opt_f64 limit_mib; /* the lower of cgroup limit and memory of the machine */
    const char *limit_source; /* "cgroup" or "machine" */
    struct opt_f64 limit_used_pct; /* the peak (PSS where known, else RSS; at least the largest process) of limit_mib */
    struct opt_u64 major_faults, minor_faults;
    struct opt_f64 host_used_mean_mib, host_used_peak_mib, host_total_mib, host_swap_used_peak_mib;
    struct sample_list processes; /* struct sample_process at the highest sample, the largest first */
    struct opt_f64 processes_at_secs;
    struct opt_f64 need_mib; /* summary_memory_need of the run that needed most; absent: derived from the peaks */
    /* without a key: what sizes and notes are derived from */
    struct opt_f64 largest_process_mib; /* rss_peak_mib where no sample was so high: that of one process */
    struct opt_f64 rss_sampled_mib; /* the highest sample, of which rss_peak_mib may be more */
    struct opt_f64 uncertain_mib; /* the highest need of a run that was killed before it had all it needed */
    struct opt_u64 unknown_samples; /* in which the memory of the tree was not known */
    struct opt_f64 growth_mib; /* RSS over the second half of a run in which it grew to the end; absent: it did not */
    struct opt_f64 late_growth_mib; /* RSS of the last quarter above all before it, 0 where it is not */
    struct opt_f64 host_swap_growth_mib; /* the highest use of swap space above that of the first sample */
};

struct summary_disk {
    bool present;
    struct opt_u64 read_bytes, write_bytes; /* of the tree */
    struct opt_u64 host_read_bytes, host_write_bytes; /* whole devices that are not stacked */
    struct opt_f64 host_iowait_secs; /* without a key: CPUs idle while I/O was pending, summed over CPUs */
};

struct summary_network {
    bool present;
    struct opt_u64 received_bytes, sent_bytes; /* by the tree */
    const char *source; /* "namespace", or "tcp": then there may have been more; NULL: unknown */
    struct opt_bool is_lower_bound;
    struct opt_u64 host_received_bytes, host_sent_bytes; /* interfaces with hardware, all where there is none */
};

struct summary_gpu_device {
    const char *name, *host_id;
    struct opt_f64 usage_mean_pct, usage_peak_pct, vram_peak_mib; /* of the tree */
    struct opt_f64 host_usage_mean_pct, vram_total_mib, power_mean_watts, power_peak_watts, temperature_peak_celsius;
    /* without a key: what sizes and ready lines are derived from */
    const char *driver; /* "nvidia", "amdgpu", "i915", "xe", ...; NULL: unknown */
    bool is_reserved; /* vram_peak_mib was taken at once and never changed */
};

struct summary_gpu {
    bool present; /* false: no GPU, or none was sampled */
    struct opt_u64 count;
    struct sample_list names; /* const char *, each once */
    struct opt_f64 usage_mean, usage_p95, usage_peak; /* of the tree, in GPUs */
    struct opt_f64 active_usage_mean; /* while it held GPU memory */
    struct opt_u64 utilized_peak; /* most GPUs of which the tree used anything */
    struct opt_f64 vram_peak_mib; /* of the tree, all its GPUs */
    struct opt_f64 host_usage_mean, host_usage_peak, host_vram_peak_mib, vram_total_mib; /* all GPUs */
    struct opt_f64 energy_joules; /* all GPUs, other work included */
    const char *energy_source; /* "counter" (of the devices) or "power" (power of the samples over time) */
    struct sample_list devices; /* struct summary_gpu_device, in the order of the samples; at most SUMMARY_GPUS_MAX */
};

/* Of several runs that of all of them. Domains are of the machine, whatever ran on it. */
struct summary_energy {
    bool present;
    struct opt_f64 package_joules, dram_joules, platform_joules, idle_joules;
    struct opt_f64 mean_watts; /* of package and memory, else of the platform, for as long as it was known */
    struct opt_f64 process_joules; /* of the tree, of package and memory */
    struct opt_f64 gpu_joules; /* of all GPUs; absent where the tree used none */
    struct opt_f64 job_joules, job_wh; /* what is known of these two */
    struct opt_f64 carbon_g_per_kwh, carbon_grams; /* as given, and of job_wh */
    const char *source; /* of the samples; "several" where they differ */
    /* without a key */
    struct opt_f64 cpu_joules; /* package and memory */
    struct opt_f64 cpu_measured_secs, platform_measured_secs; /* for which it was known */
};

struct summary_tracker {
    bool present;
    struct opt_f64 cpu_secs, cpu_pct, rss_peak_mib, late_max_ms; /* cpu_pct: of one core over the run */
};

/* What to ask for next time. An absent value is withheld, and its reason says why. */
struct summary_sizing {
    bool present;
    struct opt_u64 vcpus, cpu_millicores;
    const char *vcpus_reason;
    struct opt_u64 memory_mib;
    const char *memory_reason;
    struct opt_u64 gpus;
    const char *gpus_reason;
    struct opt_u64 vram_mib; /* of one GPU */
    const char *vram_reason;
    const char *slurm, *kubernetes, *docker, *metaflow; /* ready lines; NULL where nothing is recommended */
};

/* The machine the run was on. */
struct summary_machine {
    bool present;
    const char *cpu_model;
    struct opt_u64 cpus; /* online */
    struct opt_f64 memory_mib, swap_mib;
    struct sample_list gpus; /* const char *: names, each once */
    const char *gpu_driver;
};

/* Values of summary.phases_source. */
#define SUMMARY_PHASES_MARKS "marks" /* the job named them */
#define SUMMARY_PHASES_CHANGES "changes" /* they were found in what it used */

/* A part of the run; of a name that was used several times, all of them together. Numbers are those of the tree. */
struct summary_phase {
    const char *name;
    struct opt_u64 times;
    struct opt_f64 start_secs, end_secs; /* elapsed: of the first, of the last; absent over several runs */
    struct opt_f64 wall_secs, cpu_secs, cores_mean, cores_peak, wanted_p95; /* wanted: cores used where it is unknown */
    struct opt_f64 memory_peak_mib;
    struct opt_u64 read_bytes, write_bytes;
    struct opt_u64 received_bytes, sent_bytes;
    struct opt_f64 process_joules;
    struct opt_f64 gpu_usage_mean, vram_peak_mib;
    struct opt_u64 vcpus, memory_mib; /* to ask for, by the rules of sizing */
};

/* One time of a phase, for charts. */
struct summary_phase_span {
    size_t phase; /* index of summary.phases */
    double from_secs, to_secs; /* elapsed */
};

/* What is known of a process, in the order of its record in the sample. */
enum process_column {
    PROCESS_PID,
    PROCESS_PARENT, /* its PID */
    PROCESS_START, /* seconds since the start of the run, as the next */
    PROCESS_END, /* when it was found gone; of a program: how long its processes lived, together */
    PROCESS_PROGRAM,
    PROCESS_CPU, /* seconds of its own */
    PROCESS_REAPED_CPU, /* seconds of what it waited for and was not seen */
    PROCESS_RSS, /* MiB, the highest */
    PROCESS_READ, /* bytes, as the next */
    PROCESS_WRITTEN,
    PROCESS_STATUS,
    PROCESS_COMMAND,
    PROCESS_COLUMNS,
    PROCESS_COUNT = PROCESS_PID, /* of a program */
};

/* A process that was seen, or all of one program. */
struct summary_process {
    const char *name; /* NULL: unknown, or of all programs that are not listed */
    const char *command; /* as in struct sample_process */
    struct opt_f64 values[PROCESS_COLUMNS];
};

/* A part of a run on many machines, or in many processes. */
struct summary_rank {
    bool present;
    const char *file;
    struct opt_u64 rank;
    const char *node;
    struct opt_f64 wall_secs, cpu_secs, cores_mean, wanted_p95, memory_peak_mib, vram_peak_mib;
    struct opt_i64 exit_code, signal;
    /* without a key: where it is put together */
    char node_text[64];
    uint64_t number; /* in the order given */
    uint64_t group; /* another for every control group */
    int64_t start, end; /* Unix time, and since the first start, in ten-thousandths of a second */
};

/* The parts that were put together to this run. */
struct summary_parts {
    bool present;
    struct opt_u64 count, nodes, failed, missing;
    struct opt_f64 cpu_imbalance, wall_imbalance; /* largest / mean */
    struct summary_rank slowest, busiest; /* the latter without a key */
    struct opt_u64 task_vcpus, task_memory_mib, node_vcpus, node_memory_mib; /* to ask for, by the rules of sizing */
    struct sample_list ranks; /* struct summary_rank: the first of them, by node and rank */
    struct summary_rank *items; /* without a key: all of them */
};

struct summary {
    struct opt_u64 schema_version;
    const char *version; /* of the tracker that made the samples, the newest */
    const char *job_name, *hostname, *kernel;
    struct opt_u64 tracked_pid;
    struct sample_list command; /* const char * */
    struct opt_u64 runs, runs_failed; /* failed: outcome_is_bad */
    struct opt_i64 started_ms, finished_ms; /* Unix */
    struct opt_f64 wall_secs, interval_secs;
    struct opt_u64 samples, missed_samples;
    uint64_t runs_too_short; /* without a key: of several runs, those too short to say anything of alone */
    struct summary_verdict verdict;
    struct summary_result result;
    struct summary_machine machine;
    struct sample_list metadata, tags; /* struct str_pair */
    struct summary_cpu cpu;
    struct summary_memory memory;
    struct summary_disk disk;
    struct summary_network network;
    struct summary_gpu gpu;
    struct summary_energy energy;
    struct sample_pressure pressure; /* sums over the run */
    struct summary_tracker tracker;
    struct summary_sizing sizing;
    struct opt_u64 marks_dropped; /* of all runs */
    struct summary_parts parts; /* only where several recordings are the parts of one run */
    const char *phases_source;
    struct sample_list phases; /* struct summary_phase, by their start; absent where there are none */
    struct sample_list phase_spans; /* struct summary_phase_span; without a key, absent over several runs */
    /* of one run; absent over several */
    struct opt_f64 processes_unseen_cpu_secs; /* that is no process's own */
    struct sample_list programs; /* struct summary_process, most CPU time first */
    struct sample_list processes; /* struct summary_process, by when they were first seen */
    struct str history; /* without a key: all that were seen, as JSON; empty where there are none or too many */
    struct sample_list notes; /* const char *: what is missing or uncertain, and why */
};

extern const struct field_table *const field_summary;

/* The memory that counts for sizes and limits: PSS peak, else RSS peak, at least that of the largest process. */
struct opt_f64 summary_memory_need(const struct summary *summary);

/* Is anything known of a tree? */
bool summary_has_tree(const struct summary *summary);

/* Was there a job, or only the host? */
bool summary_has_job(const struct summary *summary);

/* How the memory that the job needed lies to the highest sample of a line. */
enum peak_kind {
    PEAK_IN_SAMPLE, /* it is that sample */
    PEAK_NEAR_SAMPLE, /* up to a tenth higher: when it was is not known, but a mark at that sample does not mislead */
    PEAK_OF_PROCESS, /* one process had more than the PSS of all comes to; not more than their RSS */
    PEAK_BETWEEN, /* a process that ended had more than any sample shows */
};

enum peak_kind summary_peak_kind(const struct summary *summary, double sampled_mib);

/* Has it no sample? Then it is marked across the chart. */
static inline bool summary_peak_is_apart(enum peak_kind kind)
{
    return kind >= PEAK_OF_PROCESS;
}

/* " between samples", " in the largest process"; "" of the others. */
const char *summary_peak_where(enum peak_kind kind);

#endif
