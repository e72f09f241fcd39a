/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key of --summary-json: name, kind, unit, meaning, place. The order is the output order and part of the
 * contract. "The tree" is the tracked process with all its descendants. Read several
 * times by field_rows.h.
 */

/* clang-format off */

#define TABLE summary_result
#define NAME result
ROWS
    ROW(STRING, ALWAYS, "verdict", verdict, "", "finished, failed, signaled, stopped (--pid: no longer tracked, the process still runs), out of memory, maybe out of memory or unknown.")
    ROW(STRING, ALWAYS, "detail", detail, "", "The verdict in a sentence, with its evidence.")
    ROW(I64, NULLABLE, "exit_code", exit_code, "", "Exit status of the command as a shell has it (128+n for signal n); null where no command was run.")
    ROW(I64, NULLABLE, "signal", signal, "", "Signal that ended the command; null where none did.")
    ROW(U64, NULLABLE, "oom_kills", oom_kills, "", "Processes of the cgroup killed by the OOM killer during the run.")
    ROW(U64, NULLABLE, "host_oom_kills", host_oom_kills, "", "Processes of the host killed by the OOM killer during the run.")
END
#undef NAME
#undef TABLE

#define TABLE summary_verdict
#define NAME verdict
ROWS
    ROW(STRING, ALWAYS, "kind", kind, "", "What held the run back, in a word; docs/guide/sizing.md lists them.")
    ROW(STRING, ALWAYS, "text", text, "", "The same in one sentence, with its figures.")
    ROW(STRING_LIST, ALWAYS, "evidence", evidence, "", "Keys of this document that it rests on.")
END
#undef NAME
#undef TABLE

#define TABLE summary_machine
#define NAME machine
ROWS
    ROW(STRING, NULLABLE, "cpu_model", cpu_model, "", "Model of the CPUs.")
    ROW(U64, NULLABLE, "cpus", cpus, "", "CPUs online.")
    ROW(F64, NULLABLE, "memory_mib", memory_mib, "MiB", "Memory of the machine.")
    ROW(F64, NULLABLE, "swap_mib", swap_mib, "MiB", "Swap space of the machine.")
    ROW(STRING_LIST, NULLABLE, "gpus", gpus, "", "Names of its GPUs, each once; null where there is none.")
    ROW(STRING, NULLABLE, "gpu_driver", gpu_driver, "", "Version of their driver; its name where it has none.")
END
#undef NAME
#undef TABLE

#define TABLE sample_process
#define NAME process
ROWS
    ROW(U64, NULLABLE, "pid", pid, "", "PID.")
    ROW(STRING, NULLABLE, "name", name, "", "Name of the process, as the kernel has it.")
    ROW(STRING, NULLABLE, "command", command, "", "Its command line with secrets masked; null where it is not known or not recorded.")
    ROW(F64, NULLABLE, "rss_mib", rss_mib, "MiB", "Resident memory.")
    ROW(F64, NULLABLE, "cpu_secs", cpu_secs, "s", "CPU time of the process in its life so far.")
END
#undef NAME
#undef TABLE

#define TABLE summary_cpu
#define NAME cpu
ROWS
    ROW(F64, NULLABLE, "user_secs", user_secs, "s", "User CPU time of the tree.")
    ROW(F64, NULLABLE, "system_secs", system_secs, "s", "System CPU time of the tree.")
    ROW(F64, NULLABLE, "total_secs", total_secs, "s", "User and system CPU time of the tree.")
    ROW(BOOL, NULLABLE, "is_lower_bound", is_lower_bound, "", "True where CPU time may be missing because a process was not waited for: its parent ignored SIGCHLD, its PID namespace ended with it, or its parent ended and no subreaper was set.")
    ROW(F64, NULLABLE, "cores_mean", cores_mean, "cores", "total_secs over wall_secs.")
    ROW(F64, NULLABLE, "cores_p95", cores_p95, "cores", "Cores the tree stayed at or below for 95 % of the time.")
    ROW(F64, NULLABLE, "cores_peak", cores_peak, "cores", "Most cores the tree used in an interval.")
    ROW(F64, NULLABLE, "cores_peak_at_secs", cores_peak_at_secs, "s", "When that was, since the start.")
    ROW(F64, NULLABLE, "wait_secs", wait_secs, "s", "Time threads of the tree were ready to run and waited for a CPU; null where it is not known for four fifths of the run.")
    ROW(F64, NULLABLE, "wanted_mean", wanted_mean, "cores", "Cores the tree would have used had no thread of it waited for a CPU, mean over time: a thread that runs for u and waits for w of t seconds wants u / (t - w). An estimate where wait_secs is null, and in samples in which more than a fifth of the CPU time could not be read and the rest waited; null where it is not known.")
    ROW(F64, NULLABLE, "wanted_p95", wanted_p95, "cores", "The same: what it stayed at or below for 95 % of the time.")
    ROW(F64, NULLABLE, "wanted_peak", wanted_peak, "cores", "The same: most in an interval.")
    ROW(BOOL, NULLABLE, "wanted_is_estimate", wanted_is_estimate, "", "True where the three are estimates for more than a fifth of the run: too many processes of the tree lived between two samples, so that their waiting could not be read.")
    ROW(F64, NULLABLE, "busiest_mean", busiest_mean, "cores", "Cores used by the process that used most in each sample, mean over time; null where it is not known.")
    ROW(F64, NULLABLE, "saturated_pct", saturated_pct, "%", "Share of the run in which at least 95 % of limit_cores was used.")
    ROW(F64, NULLABLE, "limit_cores", limit_cores, "cores", "Lowest of the CPU limit of the cgroup, the CPUs allowed (to the job where that is known, else to the tracker) and those online.")
    ROW(STRING, NULLABLE, "limit_source", limit_source, "", "Which of them it is: cgroup, affinity or machine.")
    ROW(F64, NULLABLE, "limit_used_pct", limit_used_pct, "%", "cores_p95 as a share of limit_cores.")
    ROW(F64, NULLABLE, "throttled_secs", throttled_secs, "s", "Time the cgroup was held back by its CPU limit.")
    ROW(F64, NULLABLE, "host_cores_mean", host_cores_mean, "cores", "Cores in use on the host, mean over time.")
    ROW(F64, NULLABLE, "host_cores_p95", host_cores_p95, "cores", "Cores the host stayed at or below for 95 % of the time.")
    ROW(F64, NULLABLE, "host_cores_peak", host_cores_peak, "cores", "Most cores in use on the host in an interval.")
    ROW(U64, NULLABLE, "processes_peak", processes_peak, "", "Most processes of the tree in a sample.")
    ROW(U64, NULLABLE, "threads_peak", threads_peak, "", "Most threads of the tree in a sample.")
    ROW(U64, NULLABLE, "voluntary_switches", voluntary_switches, "", "Context switches because the command, or what it waited for, had to wait for something.")
    ROW(U64, NULLABLE, "involuntary_switches", involuntary_switches, "", "Context switches because a time slice was over or another task came first.")
    ROW(U64, NULLABLE, "processes_seen", processes_seen, "", "Processes of the tree seen in samples, the first one included.")
    ROW(U64, NULLABLE, "processes_unseen", processes_unseen, "", "Processes of the tree that lived between two samples; null without exact_processes, since nothing else counts them, and where messages of the kernel were lost.")
    NEST(OBJECT_LIST, "processes", processes, process, "Processes of the tree with the most CPU time of their own.")
END
#undef NAME
#undef TABLE

#define TABLE summary_memory
#define NAME memory
ROWS
    ROW(F64, NULLABLE, "rss_peak_mib", rss_peak_mib, "MiB", "Highest resident memory of the tree in a sample, or of its largest single process where that was more.")
    ROW(F64, NULLABLE, "rss_peak_at_secs", rss_peak_at_secs, "s", "When the highest sample was, since the start.")
    ROW(F64, NULLABLE, "rss_mean_mib", rss_mean_mib, "MiB", "Resident memory of the tree, mean over time.")
    ROW(F64, NULLABLE, "pss_peak_mib", pss_peak_mib, "MiB", "Highest proportional memory of the tree, shared pages divided among their users.")
    ROW(F64, NULLABLE, "pss_peak_at_secs", pss_peak_at_secs, "s", "When that was, since the start.")
    ROW(F64, NULLABLE, "pss_mean_mib", pss_mean_mib, "MiB", "Proportional memory of the tree, mean over time.")
    ROW(F64, NULLABLE, "need_mib", need_mib, "MiB", "Memory that counts for limits and sizes: PSS where it was known at the peak, else RSS, with tmpfs and other shared memory of the cgroup; at least the largest process.")
    ROW(F64, NULLABLE, "cgroup_peak_mib", cgroup_peak_mib, "MiB", "Highest memory charged to the cgroup, page cache included.")
    ROW(F64, NULLABLE, "cgroup_shmem_mib", cgroup_shmem_mib, "MiB", "Most shared memory (tmpfs, memfd, SysV) of the cgroup beyond what its processes map; null where there was none, or others may have made it.")
    ROW(BOOL, NULLABLE, "cgroup_is_own", cgroup_is_own, "", "True where the cgroup holds nothing but the job.")
    ROW(STRING, NULLABLE, "cgroup_path", cgroup_path, "", "The cgroup of the tree.")
    ROW(F64, NULLABLE, "limit_mib", limit_mib, "MiB", "The lower of the memory limit of the cgroup and the memory of the machine.")
    ROW(STRING, NULLABLE, "limit_source", limit_source, "", "Which of them it is: cgroup or machine.")
    ROW(F64, NULLABLE, "limit_used_pct", limit_used_pct, "%", "need_mib as a share of limit_mib.")
    ROW(U64, NULLABLE, "major_faults", major_faults, "", "Page faults of the tree that needed I/O.")
    ROW(U64, NULLABLE, "minor_faults", minor_faults, "", "Page faults without I/O of the command and of all processes that were waited for.")
    ROW(F64, NULLABLE, "host_used_mean_mib", host_used_mean_mib, "MiB", "Memory in use on the host, mean over time.")
    ROW(F64, NULLABLE, "host_used_peak_mib", host_used_peak_mib, "MiB", "Most memory in use on the host in a sample.")
    ROW(F64, NULLABLE, "host_total_mib", host_total_mib, "MiB", "Memory of the host.")
    ROW(F64, NULLABLE, "host_swap_used_peak_mib", host_swap_used_peak_mib, "MiB", "Most swap space in use on the host in a sample.")
    NEST(OBJECT_LIST, "processes", processes, process, "The largest processes of the tree when its memory was highest; first one that had more between two samples, with its peak, where it is known which.")
    ROW(F64, NULLABLE, "processes_at_secs", processes_at_secs, "s", "When that was, since the start.")
END
#undef NAME
#undef TABLE

#define TABLE summary_disk
#define NAME disk
ROWS
    ROW(U64, NULLABLE, "read_bytes", read_bytes, "bytes", "Bytes the tree read from storage.")
    ROW(U64, NULLABLE, "write_bytes", write_bytes, "bytes", "Bytes the tree wrote to storage.")
    ROW(U64, NULLABLE, "host_read_bytes", host_read_bytes, "bytes", "Bytes read from all devices that do not sit on others.")
    ROW(U64, NULLABLE, "host_write_bytes", host_write_bytes, "bytes", "Bytes written to all devices that do not sit on others.")
END
#undef NAME
#undef TABLE

#define TABLE summary_network
#define NAME network
ROWS
    ROW(U64, NULLABLE, "received_bytes", received_bytes, "bytes", "Bytes the tree received, traffic between its own processes not counted; null where it is not known.")
    ROW(U64, NULLABLE, "sent_bytes", sent_bytes, "bytes", "Bytes the tree sent, in the same way.")
    ROW(STRING, NULLABLE, "source", source, "", "How they are known: namespace (exact: counted by interfaces of network namespaces that only the tree was in) or tcp (at least so many: the data of its TCP connections as far as they were seen).")
    ROW(BOOL, NULLABLE, "is_lower_bound", is_lower_bound, "", "True where there may have been more.")
    ROW(U64, NULLABLE, "host_received_bytes", host_received_bytes, "bytes", "Bytes received by interfaces with hardware, by all where there is none.")
    ROW(U64, NULLABLE, "host_sent_bytes", host_sent_bytes, "bytes", "Bytes sent by interfaces with hardware, by all where there is none.")
END
#undef NAME
#undef TABLE

#define TABLE summary_gpu_device
#define NAME gpu_device
ROWS
    ROW(STRING, NULLABLE, "name", name, "", "Product name.")
    ROW(STRING, NULLABLE, "host_id", host_id, "", "Number or address of the device on the host.")
    ROW(F64, NULLABLE, "usage_mean_pct", usage_mean_pct, "%", "Use of the device by the tree, mean over time.")
    ROW(F64, NULLABLE, "usage_peak_pct", usage_peak_pct, "%", "Highest use of the device by the tree in an interval.")
    ROW(F64, NULLABLE, "vram_peak_mib", vram_peak_mib, "MiB", "Most memory of the device that the tree held.")
    ROW(F64, NULLABLE, "host_usage_mean_pct", host_usage_mean_pct, "%", "Use of the device by all processes, mean over time.")
    ROW(F64, NULLABLE, "vram_total_mib", vram_total_mib, "MiB", "Memory of the device.")
    ROW(F64, NULLABLE, "power_mean_watts", power_mean_watts, "W", "Power draw, mean over time.")
    ROW(F64, NULLABLE, "power_peak_watts", power_peak_watts, "W", "Highest power draw in a sample.")
    ROW(F64, NULLABLE, "temperature_peak_celsius", temperature_peak_celsius, "C", "Highest temperature in a sample.")
END
#undef NAME
#undef TABLE

#define TABLE summary_gpu
#define NAME gpu
ROWS
    ROW(U64, NULLABLE, "count", count, "", "GPUs of the host.")
    ROW(STRING_LIST, NULLABLE, "names", names, "", "Their product names, each once.")
    ROW(F64, NULLABLE, "usage_mean", usage_mean, "GPUs", "GPU use of the tree, mean over time.")
    ROW(F64, NULLABLE, "active_usage_mean", active_usage_mean, "GPUs", "The same over the time in which the tree held GPU memory.")
    ROW(F64, NULLABLE, "usage_p95", usage_p95, "GPUs", "GPU use the tree stayed at or below for 95 % of the time.")
    ROW(F64, NULLABLE, "usage_peak", usage_peak, "GPUs", "Highest GPU use of the tree in an interval.")
    ROW(U64, NULLABLE, "utilized_peak", utilized_peak, "", "Most GPUs of which the tree used anything in an interval.")
    ROW(F64, NULLABLE, "vram_peak_mib", vram_peak_mib, "MiB", "Most GPU memory of the tree, on all GPUs together.")
    ROW(F64, NULLABLE, "host_usage_mean", host_usage_mean, "GPUs", "Use of all GPUs by all processes of the host, mean over time.")
    ROW(F64, NULLABLE, "host_usage_peak", host_usage_peak, "GPUs", "Highest use of all GPUs by all processes of the host in an interval.")
    ROW(F64, NULLABLE, "host_vram_peak_mib", host_vram_peak_mib, "MiB", "Most GPU memory in use by all processes of the host, on all GPUs together.")
    ROW(F64, NULLABLE, "vram_total_mib", vram_total_mib, "MiB", "Memory of all GPUs together.")
    ROW(F64, NULLABLE, "energy_joules", energy_joules, "J", "Energy of all GPUs, other work on them included.")
    ROW(STRING, NULLABLE, "energy_source", energy_source, "", "counter (of the devices) or power (power of the samples over time).")
    NEST(OBJECT_LIST, "devices", devices, gpu_device, "Each device.")
END
#undef NAME
#undef TABLE

#define TABLE summary_energy
#define NAME energy
ROWS
    ROW(F64, NULLABLE, "package_joules", package_joules, "J", "Energy of the CPU packages of the host.")
    ROW(F64, NULLABLE, "dram_joules", dram_joules, "J", "Energy of its memory, which is not in package_joules.")
    ROW(F64, NULLABLE, "platform_joules", platform_joules, "J", "Energy of the whole machine, CPUs and memory included; of a battery while it discharged.")
    ROW(F64, NULLABLE, "idle_joules", idle_joules, "J", "The part of package_joules and dram_joules that idle CPU time is charged with.")
    ROW(F64, NULLABLE, "mean_watts", mean_watts, "W", "Mean power of packages and memory, or else of the whole machine, for as long as it was known.")
    ROW(F64, NULLABLE, "process_joules", process_joules, "J", "The part of package_joules and dram_joules that the CPU time of the tree is charged with: at least this is due to it.")
    ROW(F64, NULLABLE, "gpu_joules", gpu_joules, "J", "Energy of all GPUs, other work on them included; null where the tree used none.")
    ROW(F64, NULLABLE, "job_joules", job_joules, "J", "process_joules and gpu_joules together, or the one that is known.")
    ROW(F64, NULLABLE, "job_wh", job_wh, "Wh", "The same in Wh.")
    ROW(F64, NULLABLE, "carbon_g_per_kwh", carbon_g_per_kwh, "g/kWh", "CO2 for a kWh, as given (--carbon).")
    ROW(F64, NULLABLE, "carbon_grams", carbon_grams, "g", "CO2 of job_joules; null where nothing was given.")
    ROW(STRING, NULLABLE, "source", source, "", "Where package_joules comes from, or else platform_joules: rapl, hwmon, cray, battery, estimate (nothing was measured), or several.")
END
#undef NAME
#undef TABLE

#define TABLE sample_pressure
#define NAME pressure
ROWS
    ROW(F64, NULLABLE, "cpu_some_secs", cpu_some_secs, "s", "Time in which some task waited for a CPU.")
    ROW(F64, NULLABLE, "memory_some_secs", memory_some_secs, "s", "Time in which some task waited for memory.")
    ROW(F64, NULLABLE, "memory_full_secs", memory_full_secs, "s", "Time in which all tasks waited for memory.")
    ROW(F64, NULLABLE, "io_some_secs", io_some_secs, "s", "Time in which some task waited for I/O.")
    ROW(F64, NULLABLE, "io_full_secs", io_full_secs, "s", "Time in which all tasks waited for I/O.")
END
#undef NAME
#undef TABLE

#define TABLE summary_tracker
#define NAME tracker
ROWS
    ROW(F64, NULLABLE, "cpu_secs", cpu_secs, "s", "CPU time of the tracker and its helper.")
    ROW(F64, NULLABLE, "cpu_pct", cpu_pct, "%", "cpu_secs as a share of wall_secs: of one core.")
    ROW(F64, NULLABLE, "rss_peak_mib", rss_peak_mib, "MiB", "Highest resident memory of the tracker and its helper.")
    ROW(F64, NULLABLE, "late_max_ms", late_max_ms, "ms", "How far behind its time the latest sample was taken.")
END
#undef NAME
#undef TABLE

#define TABLE summary_sizing
#define NAME sizing
ROWS
    ROW(U64, NULLABLE, "vcpus", vcpus, "", "CPUs to ask for; null where that is unknown.")
    ROW(U64, NULLABLE, "cpu_millicores", cpu_millicores, "", "The same in thousandths of a CPU, as Kubernetes takes it, not rounded up to a whole CPU.")
    ROW(STRING, NULLABLE, "vcpus_reason", vcpus_reason, "", "Where the number comes from, or why there is none.")
    ROW(U64, NULLABLE, "memory_mib", memory_mib, "MiB", "Memory to ask for; null where that is unknown.")
    ROW(STRING, NULLABLE, "memory_reason", memory_reason, "", "Where the number comes from, or why there is none.")
    ROW(U64, NULLABLE, "gpus", gpus, "", "GPUs to ask for; null where none was used or that is unknown.")
    ROW(STRING, NULLABLE, "gpus_reason", gpus_reason, "", "Where the number comes from, or why there is none; null where there is no GPU.")
    ROW(U64, NULLABLE, "vram_mib", vram_mib, "MiB", "Memory each of these GPUs should have.")
    ROW(STRING, NULLABLE, "vram_reason", vram_reason, "", "Where the number comes from, or why there is none; null where there is no GPU.")
    ROW(STRING, NULLABLE, "slurm", slurm, "", "The same as a line for a Slurm batch script.")
    ROW(STRING, NULLABLE, "kubernetes", kubernetes, "", "The same as resources of a Kubernetes container.")
    ROW(STRING, NULLABLE, "docker", docker, "", "The same as options of docker run.")
    ROW(STRING, NULLABLE, "metaflow", metaflow, "", "The same as a decorator of a Metaflow step.")
END
#undef NAME
#undef TABLE

#define TABLE summary_phase
#define NAME phase
ROWS
    ROW(STRING, ALWAYS, "name", name, "", "As the job named it, or what dominates it.")
    ROW(U64, ALWAYS, "times", times, "", "How often it began; what follows is of all times together.")
    ROW(F64, NULLABLE, "start_secs", start_secs, "s", "Its (first) start, since that of the run; null over several runs.")
    ROW(F64, NULLABLE, "end_secs", end_secs, "s", "Its (last) end, since the start of the run; null over several runs.")
    ROW(F64, ALWAYS, "wall_secs", wall_secs, "s", "How long it lasted.")
    ROW(F64, NULLABLE, "cpu_secs", cpu_secs, "s", "CPU time of the tree.")
    ROW(F64, NULLABLE, "cores_mean", cores_mean, "cores", "cpu_secs / wall_secs.")
    ROW(F64, NULLABLE, "cores_peak", cores_peak, "cores", "Most cores in use in an interval.")
    ROW(F64, NULLABLE, "wanted_p95", wanted_p95, "cores", "Cores the tree wanted (used, where that is unknown) or less for 95 % of the time.")
    ROW(F64, NULLABLE, "memory_peak_mib", memory_peak_mib, "MiB", "Most memory of the tree: PSS where known, else RSS; null where no sample lies in it.")
    ROW(U64, NULLABLE, "read_bytes", read_bytes, "bytes", "Bytes the tree read from storage.")
    ROW(U64, NULLABLE, "write_bytes", write_bytes, "bytes", "Bytes the tree wrote to storage.")
    ROW(U64, NULLABLE, "received_bytes", received_bytes, "bytes", "Bytes the tree received, as network.received_bytes.")
    ROW(U64, NULLABLE, "sent_bytes", sent_bytes, "bytes", "Bytes the tree sent.")
    ROW(F64, NULLABLE, "process_joules", process_joules, "J", "Energy of the tree, as energy.process_joules.")
    ROW(F64, NULLABLE, "gpu_usage_mean", gpu_usage_mean, "GPUs", "GPU use of the tree, mean over time.")
    ROW(F64, NULLABLE, "vram_peak_mib", vram_peak_mib, "MiB", "Most GPU memory of the tree.")
    ROW(U64, NULLABLE, "vcpus", vcpus, "", "CPUs that this phase alone would need; null where that is unknown.")
    ROW(U64, NULLABLE, "memory_mib", memory_mib, "MiB", "Memory that this phase alone would need; null where that is unknown.")
END
#undef NAME
#undef TABLE

#define TABLE summary_process
#define NAME history
ROWS
    ROW(WHOLE, NULLABLE, "pid", values[PROCESS_PID], "", "PID.")
    ROW(WHOLE, NULLABLE, "parent_pid", values[PROCESS_PARENT], "", "PID of its parent when it was first seen; null where that is not of the tree.")
    ROW(STRING, NULLABLE, "name", name, "", "Name of the process, as the kernel has it.")
    ROW(STRING, NULLABLE, "command", command, "", "Its command line with secrets masked; null where it is not known or not recorded.")
    ROW(F64, NULLABLE, "start_secs", values[PROCESS_START], "s", "Its start, since that of the run.")
    ROW(F64, NULLABLE, "end_secs", values[PROCESS_END], "s", "The first sample that found it gone, since the start of the run: it ended after the sample before; null where it still ran.")
    ROW(WHOLE, NULLABLE, "exit_code", values[PROCESS_STATUS], "", "Its exit status as a shell has it; null where it is not known.")
    ROW(F64, NULLABLE, "cpu_secs", values[PROCESS_CPU], "s", "CPU time of its own in the run, as last seen.")
    ROW(F64, NULLABLE, "reaped_cpu_secs", values[PROCESS_REAPED_CPU], "s", "CPU time of processes that it waited for, as far as it was not seen of them: they lived between two samples, or ended after the last one that had them.")
    ROW(F64, NULLABLE, "rss_peak_mib", values[PROCESS_RSS], "MiB", "Highest resident memory in a sample; of the command the highest, where it had no children.")
    ROW(WHOLE, NULLABLE, "read_bytes", values[PROCESS_READ], "bytes", "Bytes read from storage, by such processes as well.")
    ROW(WHOLE, NULLABLE, "write_bytes", values[PROCESS_WRITTEN], "bytes", "Bytes written to storage, in the same way.")
END
#undef NAME

#define NAME program
ROWS
    ROW(STRING, NULLABLE, "name", name, "", "Name of the processes; null of all programs beyond those listed, and where it is not known.")
    ROW(WHOLE, NULLABLE, "count", values[PROCESS_COUNT], "", "How many were seen.")
    ROW(F64, NULLABLE, "cpu_secs", values[PROCESS_CPU], "s", "CPU time of their own.")
    ROW(F64, NULLABLE, "reaped_cpu_secs", values[PROCESS_REAPED_CPU], "s", "CPU time of processes that they waited for, as far as it was not seen of them.")
    ROW(F64, NULLABLE, "rss_peak_mib", values[PROCESS_RSS], "MiB", "Highest resident memory of one of them.")
    ROW(F64, NULLABLE, "wall_secs", values[PROCESS_END], "s", "Sum of their lives, of those that have ended.")
    ROW(WHOLE, NULLABLE, "read_bytes", values[PROCESS_READ], "bytes", "Bytes read from storage.")
    ROW(WHOLE, NULLABLE, "write_bytes", values[PROCESS_WRITTEN], "bytes", "Bytes written to storage.")
END
#undef NAME
#undef TABLE

#define TABLE summary_rank
#define NAME rank
ROWS
    ROW(STRING, ALWAYS, "file", file, "", "Its recording.")
    ROW(U64, NULLABLE, "rank", rank, "", "Its number within the run; null where that is unknown.")
    ROW(STRING, NULLABLE, "node", node, "", "Its machine: node of its metadata, or else the name of the host.")
    ROW(F64, NULLABLE, "wall_secs", wall_secs, "s", "Time from its start to its last sample.")
    ROW(F64, NULLABLE, "cpu_secs", cpu_secs, "s", "CPU time of its tree.")
    ROW(F64, NULLABLE, "cores_mean", cores_mean, "cores", "cpu_secs / wall_secs.")
    ROW(F64, NULLABLE, "wanted_p95", wanted_p95, "cores", "Cores it wanted or less for 95 % of the time.")
    ROW(F64, NULLABLE, "memory_peak_mib", memory_peak_mib, "MiB", "Most memory of its tree, as memory.need_mib.")
    ROW(F64, NULLABLE, "vram_peak_mib", vram_peak_mib, "MiB", "Most GPU memory of its tree.")
    ROW(I64, NULLABLE, "exit_code", exit_code, "", "Exit status of its command, as a shell has it.")
    ROW(I64, NULLABLE, "signal", signal, "", "Signal that ended its command; null where none did.")
END
#undef NAME
#undef TABLE

#define TABLE summary_parts
#define NAME parts
ROWS
    ROW(U64, ALWAYS, "count", count, "", "Parts of the run that were read.")
    ROW(U64, NULLABLE, "nodes", nodes, "", "Machines they were on; null where a part does not say.")
    ROW(U64, ALWAYS, "failed", failed, "", "Parts that failed or were killed.")
    ROW(U64, NULLABLE, "missing", missing, "", "Parts that there were and that were not read; null where no world size is known.")
    ROW(F64, NULLABLE, "cpu_imbalance", cpu_imbalance, "", "Most CPU time of a part, as a multiple of their mean.")
    ROW(F64, NULLABLE, "wall_imbalance", wall_imbalance, "", "Longest time of a part, as a multiple of their mean.")
    NEST(OBJECT, "slowest", slowest, rank, "The part that took longest.")
    ROW(U64, NULLABLE, "task_vcpus", task_vcpus, "", "CPUs to ask for for each part: the largest need of any.")
    ROW(U64, NULLABLE, "task_memory_mib", task_memory_mib, "MiB", "Memory to ask for for each part.")
    ROW(U64, NULLABLE, "node_vcpus", node_vcpus, "", "CPUs to ask for on each node, for all its parts together.")
    ROW(U64, NULLABLE, "node_memory_mib", node_memory_mib, "MiB", "Memory to ask for on each node.")
    NEST(OBJECT_LIST, "ranks", ranks, rank, "The parts, by node and rank; at most 1,024 of them.")
END
#undef NAME
#undef TABLE

#define TABLE summary
#define NAME summary
ROWS
    ROW(U64, ALWAYS, "schema_version", schema_version, "", "Grows when a key changes its meaning.")
    ROW(STRING, NULLABLE, "job_name", job_name, "", "Name of the job, as given.")
    ROW(STRING, NULLABLE, "hostname", hostname, "", "Name of the host.")
    ROW(STRING, NULLABLE, "kernel", kernel, "", "Release of the kernel.")
    ROW(U64, NULLABLE, "tracked_pid", tracked_pid, "", "PID of the tracked process; null when only the host was tracked.")
    ROW(STRING_LIST, NULLABLE, "command", command, "", "The command and its arguments; null where none was run.")
    ROW(U64, ALWAYS, "runs", runs, "", "Runs in this summary; of several, needs are maxima and amounts are means.")
    ROW(U64, ALWAYS, "runs_failed", runs_failed, "", "Those among them that failed or were killed.")
    ROW(I64, NULLABLE, "started_ms", started_ms, "ms", "Unix time of the start.")
    ROW(I64, NULLABLE, "finished_ms", finished_ms, "ms", "Unix time of the last sample.")
    ROW(F64, NULLABLE, "wall_secs", wall_secs, "s", "Time from the start to the last sample.")
    ROW(F64, NULLABLE, "interval_secs", interval_secs, "s", "Time between two samples, as set.")
    ROW(U64, ALWAYS, "samples", samples, "", "Samples taken.")
    ROW(U64, NULLABLE, "missed_samples", missed_samples, "", "Samples skipped because their time had passed.")
    NEST(OBJECT, "verdict", verdict, verdict, "What held the run back.")
    NEST(OBJECT, "result", result, result, "How the run ended; of several, the last one that went wrong.")
    NEST(OBJECT, "machine", machine, machine, "The machine the run was on.")
    ROW(STRING_MAP, NULLABLE, "metadata", metadata, "", "What was given or found of the job: project_name, stage_name, executor and so on.")
    ROW(STRING_MAP, NULLABLE, "tags", tags, "", "Tags of the job, as given.")
    NEST(OBJECT, "cpu", cpu, cpu, "CPU of the tree and of the host.")
    NEST(OBJECT, "memory", memory, memory, "Memory of the tree and of the host.")
    NEST(OBJECT, "disk", disk, disk, "Storage.")
    NEST(OBJECT, "network", network, network, "Network of the tree and of the host.")
    NEST(OBJECT, "gpu", gpu, gpu, "GPUs; null where there is none.")
    NEST(OBJECT, "energy", energy, energy, "Energy; of several runs that of all of them. Null where no counter of it could be read.")
    NEST(OBJECT, "pressure", pressure, pressure, "Pressure stall information of the host, over the run; null where the kernel has none.")
    NEST(OBJECT, "tracker", tracker, tracker, "What the tracker itself cost.")
    NEST(OBJECT, "sizing", sizing, sizing, "What to ask for next time.")
    ROW(U64, NULLABLE, "marks_dropped", marks_dropped, "", "Marks of the job that came and were not recorded, as there were too many.")
    NEST_OMITTED(OBJECT, "parts", parts, parts, "The parts of the run, with --parts; amounts and peaks above are those of all together.")
    ROW(STRING, NULLABLE, "phases_source", phases_source, "", "marks (the job named its phases) or changes (they were found in what it used); null where there are none.")
    NEST(OBJECT_LIST, "phases", phases, phase, "Phases of the run, by their start; they may overlap. Null where there are none.")
    NEST(OBJECT_LIST, "processes", processes, history, "Processes of the tree with the most CPU time and those with the most memory, by when they were first seen; null over several runs, and where they were not recorded.")
    NEST(OBJECT_LIST, "programs", programs, program, "All processes that were seen, by program, most CPU time first.")
    ROW(F64, NULLABLE, "processes_unseen_cpu_secs", processes_unseen_cpu_secs, "s", "CPU time of the tree that was not seen as that of a process: cpu.total_secs less all cpu_secs of programs.")
    ROW(STRING_LIST, ALWAYS, "notes", notes, "", "What is missing or uncertain, and why.")
    ROW(STRING, NULLABLE, "resource-tracker-version", version, "", "Version of the tracker that made the samples.")
END
KNOWN_AS(field_summary)
#undef NAME
#undef TABLE
