/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One sample as plain data. Collectors fill it, encoders read it, and model/fields.c names every member once. Lists
 * and strings belong to the collector that put them there and are valid until its next collect or close.
 * A section whose `present` is false is unknown on this host and becomes null.
 * Amounts of memory (_mib) are exact: a number of bytes divided by 2^20 loses nothing in a double. Those that JSON has
 * in whole MiB only (memory, cgroup) are whole already when a collector puts them here.
 */
#ifndef MODEL_SAMPLE_H
#define MODEL_SAMPLE_H

#include <stddef.h>

#include "base/opt.h"

#define BYTES_PER_MIB 1048576.0

/* A list of structs (or of struct opt_f64, of strings), described by the field table that points at it. */
struct sample_list {
    bool present;
    size_t count;
    const void *items;
};

struct str_pair {
    const char *key;
    const char *value;
};

struct sample_cpu {
    bool present;
    /* the host */
    struct opt_f64 utilization_pct;
    struct sample_list per_core_pct; /* struct opt_f64, index = CPU number */
    struct opt_f64 utime_secs, stime_secs, iowait_secs, irq_secs, steal_secs, steal_pct;
    struct sample_list per_core_steal_pct; /* struct opt_f64, index = CPU number; empty while aggregated */
    struct opt_f64 cgroup_usage_secs, cgroup_cores; /* of the control group in `cgroup` */
    struct opt_u64 process_count, procs_running, procs_blocked, context_switches;
    struct opt_f64 load1, load5, load15;
    /* the tracked tree */
    struct opt_f64 process_cores_used;
    struct opt_f64 process_cores_wanted; /* and those it waited for; an estimate where process_wait_secs is absent */
    struct opt_f64 process_busiest_cores; /* of the one process that used most */
    struct opt_u64 process_child_count, process_thread_count;
    struct opt_f64 process_utime_secs, process_stime_secs, process_wait_secs; /* wait: ready to run, without a CPU */
    struct opt_f64 process_rss_mib, process_pss_mib, process_peak_rss_mib;
    struct opt_u64 process_disk_read_bytes, process_disk_write_bytes, process_net_recv_bytes, process_net_sent_bytes;
    const char *process_net_source; /* "namespace": exact, "tcp": at least, NULL: unknown */
    struct opt_u64 process_major_faults;
    struct opt_f64 process_gpu_usage, process_gpu_vram_mib;
    struct opt_u64 process_gpu_utilized;
};

struct sample_memory {
    bool present;
    struct opt_f64 total_mib, free_mib, available_mib, unavailable_mib, used_mib, used_pct, buffers_mib, cached_mib,
        active_mib, inactive_mib, swap_total_mib, swap_used_mib, swap_used_pct, shmem_mib, dirty_mib;
};

struct sample_network {
    const char *interface, *mac_address, *driver, *operstate;
    struct opt_i64 speed_mbps; /* -1: the interface does not report one */
    struct opt_u64 mtu;
    struct opt_f64 rx_bytes_per_sec, tx_bytes_per_sec;
    struct opt_u64 rx_bytes_total, tx_bytes_total, rx_errors, tx_errors, rx_dropped, tx_dropped;
    struct opt_bool is_virtual;
    struct opt_u64 rx_bytes_delta, tx_bytes_delta; /* this interval */
};

struct sample_mount {
    const char *mount_point, *filesystem;
    struct opt_u64 total_bytes, used_bytes, available_bytes;
    struct opt_f64 used_pct;
};

struct sample_disk {
    const char *device, *model, *vendor, *serial, *device_type;
    struct opt_u64 capacity_bytes, sector_bytes;
    struct sample_list mounts; /* struct sample_mount, one per filesystem, sorted by mount point */
    struct opt_f64 read_bytes_per_sec, write_bytes_per_sec;
    struct opt_u64 read_bytes_total, write_bytes_total;
    struct opt_f64 reads_per_sec, writes_per_sec, busy_pct;
    struct opt_bool stacked;
    struct opt_u64 read_bytes_delta, write_bytes_delta; /* this interval */
};

struct sample_gpu {
    const char *uuid, *name, *device_type, *host_id;
    struct sample_list detail; /* struct str_pair */
    struct opt_f64 utilization_pct;
    struct opt_u64 vram_total_bytes, vram_used_bytes;
    struct opt_f64 vram_used_pct, temperature_celsius, power_watts, frequency_mhz;
    struct opt_u64 core_count;
    struct opt_f64 memory_utilization_pct;
    struct sample_list throttle_reasons; /* const char * */
    struct opt_u64 process_vram_bytes; /* of the tracked tree, on this device */
    struct opt_f64 process_utilization_pct;
};

struct sample_pressure {
    bool present;
    struct opt_f64 cpu_some_secs, memory_some_secs, memory_full_secs, io_some_secs, io_full_secs;
};

struct sample_cgroup {
    bool present;
    struct opt_f64 cpu_limit_cores, cpu_usage_secs, throttled_secs, memory_limit_mib, memory_used_mib, memory_peak_mib;
    struct opt_f64 shmem_unmapped_mib; /* shared memory beyond what processes map, at least; read seldom */
    struct opt_u64 oom_kills;
};

/* Of this interval, the whole machine. */
struct sample_energy {
    bool present;
    struct opt_f64 package_joules, dram_joules, platform_joules; /* platform: the other two included */
    struct opt_f64 idle_joules; /* of package and memory: what CPUs that were idle are charged with */
    struct opt_f64 process_joules; /* and the tracked tree */
    const char *source; /* "rapl", "hwmon", "cray", "battery", "estimate" */
};

struct sample_tracker {
    bool present;
    struct opt_f64 cpu_secs, rss_mib, late_ms;
    struct opt_u64 missed_samples;
};

/* A process of the tree. */
struct sample_process {
    struct opt_u64 pid;
    const char *name; /* as the kernel has it: at most 15 bytes, any of them */
    const char *command; /* its command line, masked, arguments separated by blanks; NULL: unknown or not recorded */
    struct opt_f64 rss_mib, cpu_secs; /* cpu_secs: of its life so far */
};

/* Of a command that is longer, what fits is kept, and "...". SAMPLE_PROCESS_BYTES: that of a process, with its NUL. */
enum { SAMPLE_ARGUMENTS_MAX = 64, SAMPLE_COMMAND_BYTES = 4096, SAMPLE_PROCESS_BYTES = 257 };

/* A moment that the job has named. */
struct sample_mark {
    struct opt_f64 elapsed_secs; /* as that of the samples, but to the moment */
    const char *kind; /* "mark", "begin" or "end" */
    const char *name;
};

/* SAMPLE_MARK_BYTES: of a name, with its NUL; what is longer is cut. SAMPLE_MARKS_MAX: in one sample. */
enum { SAMPLE_MARK_BYTES = 128, SAMPLE_MARKS_MAX = 256 };

/* What does not change during a run; part of the first sample. */
struct sample_run {
    bool present;
    struct opt_f64 interval_secs; /* as set */
    const char *hostname, *kernel;
    struct opt_u64 cpus_allowed; /* CPUs the job may run on (affinity) */
    struct opt_f64 cgroup_peak_mib; /* of the cgroup before the run: what memory_peak_mib was a sample earlier */
    struct sample_list command; /* const char *; absent: no command */
    const char *cpu_model;
    const char *cgroup_path; /* of the tree, below the mount of its hierarchy */
    struct opt_bool cgroup_is_own; /* nothing but the job is in it */
    struct sample_list metadata, tags; /* struct str_pair */
};

/* Every process of the tree that was seen, compact: one run may have ten thousand. */
struct sample_history {
    bool present;
    const char *records; /* see docs/metrics.md */
    struct sample_list programs, commands; /* const char *: names and command lines, masked */
};

/* How a run ended; part of the last sample. */
struct sample_end {
    bool present;
    struct opt_i64 exit_code; /* as a shell has it; absent where no command was run */
    struct opt_i64 signal; /* that ended the command */
    struct opt_u64 oom_kills, host_oom_kills; /* OOM kills during the run: cgroup, host */
    struct opt_f64 gpu_energy_joules; /* all GPUs, other work on them included */
    struct opt_bool cpu_is_lower_bound; /* CPU time of processes that were not waited for may be lost */
    struct opt_f64 largest_process_mib; /* RSS of one process, as sampled or as wait4 has it */
    struct opt_u64 cpus_allowed; /* CPUs that the processes which used CPU time might run on (affinity) */
    struct opt_u64 left_running; /* processes of the tree that still ran */
    struct opt_bool target_is_running; /* --pid: tracking was stopped before the process ended */
    /* of the command and what it waited for, as wait4 has them; absent where no command was run */
    struct opt_u64 minor_faults, major_faults, voluntary_switches, involuntary_switches;
    struct opt_u64 processes_seen; /* of the tree, in all samples */
    struct opt_u64 processes_unseen; /* of the tree, that lived between two samples; known in exact mode */
    struct opt_u64 marks_dropped; /* more than are kept */
    struct sample_list processes_by_cpu; /* struct sample_process, most CPU time first */
    struct sample_history history;
};

struct sample {
    struct opt_i64 timestamp_secs, timestamp_ms;
    struct opt_f64 elapsed_secs;
    struct opt_f64 actual_interval_ms; /* absent in the first sample */
    const char *job_name;
    struct opt_u64 tracked_pid;
    struct sample_cpu cpu;
    struct sample_memory memory;
    struct sample_list network; /* struct sample_network, sorted by name */
    struct sample_list disk; /* struct sample_disk, sorted by name */
    struct sample_list gpu; /* struct sample_gpu */
    struct sample_pressure pressure;
    struct sample_cgroup cgroup;
    struct sample_energy energy;
    struct sample_tracker tracker;
    struct sample_list
        processes; /* struct sample_process, the largest first; only where memory was higher than before */
    struct sample_list marks; /* struct sample_mark, by time; only where there are some since the sample before */
    struct sample_run run; /* only in the first */
    struct sample_end end; /* only in the last */
    const char *version;
};

#endif
