/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every key of the sample: name, kind, unit, meaning, member. The order is the output order and part of the contract.
 * Read several times by field_rows.h.
 */

/* clang-format off */

#define TABLE sample_cpu
#define NAME cpu
ROWS
    ROW(F64, NULLABLE, "utilization_pct", utilization_pct, "cores", "CPU in use on the host, in cores from 0 to the number of CPUs (the name is historic).")
    ROW(F64_LIST, NULLABLE, "per_core_pct", per_core_pct, "%", "Busy share of each CPU; the place in the list is the CPU number, null where it is offline.")
    ROW(F64, NULLABLE, "utime_secs", utime_secs, "s", "User and nice CPU time of the host in this interval.")
    ROW(F64, NULLABLE, "stime_secs", stime_secs, "s", "System CPU time of the host in this interval.")
    ROW(F64, NULLABLE, "iowait_secs", iowait_secs, "s", "Time CPUs of the host were idle while I/O was pending, in this interval.")
    ROW(F64, NULLABLE, "irq_secs", irq_secs, "s", "CPU time of the host spent in interrupts and soft interrupts in this interval.")
    ROW(F64, NULLABLE, "steal_time_secs", steal_secs, "s", "CPU time the hypervisor gave to others in this interval.")
    ROW(F64, NULLABLE, "steal_secs", steal_secs, "s", "The same as steal_time_secs.")
    ROW(F64, NULLABLE, "steal_time_pct", steal_pct, "%", "CPU time the hypervisor gave to others as a share of all CPU time, idle time included.")
    ROW(F64_LIST, NULLABLE, "per_core_steal_time_pct", per_core_steal_pct, "%", "The same of each CPU by its number; empty unless aggregate_cpu_steal is off.")
    ROW(F64, NULLABLE, "cgroup_usage_secs", cgroup_usage_secs, "s", "CPU time of the control group in this interval (the same as cgroup.cpu_usage_secs).")
    ROW(F64, NULLABLE, "cgroup_utilization_pct", cgroup_cores, "cores", "CPU in use by the control group, in cores (the name is historic).")
    ROW(U64, NULLABLE, "process_count", process_count, "", "Processes on the host (numeric entries of /proc).")
    ROW(U64, NULLABLE, "procs_running", procs_running, "", "Threads that run or are ready to run.")
    ROW(U64, NULLABLE, "procs_blocked", procs_blocked, "", "Threads waiting for I/O.")
    ROW(U64, NULLABLE, "context_switches", context_switches, "", "Context switches on the host in this interval.")
    ROW(F64, NULLABLE, "load1", load1, "", "Load average over 1 minute.")
    ROW(F64, NULLABLE, "load5", load5, "", "Load average over 5 minutes.")
    ROW(F64, NULLABLE, "load15", load15, "", "Load average over 15 minutes.")
    ROW(F64, NULLABLE, "process_cores_used", process_cores_used, "cores", "CPU in use by the tracked tree, in cores; what would be more than the machine has counts in the samples that follow.")
    ROW(F64, NULLABLE, "process_cores_wanted", process_cores_wanted, "cores", "The same and what it would have used more if no thread of it had waited for a CPU; an estimate from the threads that were ready to run when samples were made where less than half of the CPU time could be read (process_wait_secs is then null), and where less than four fifths could and those waited for more than a tenth of it (process_wait_secs is then scaled up), no more than the CPU pressure of the machine allows; null where it is not known.")
    ROW(F64, NULLABLE, "process_busiest_cores", process_busiest_cores, "cores", "CPU in use by the process of the tracked tree that used most, in cores; null where none was read, and where one that was not read may have used more.")
    ROW(U64, NULLABLE, "process_child_count", process_child_count, "", "Live descendants of the tracked process, itself not counted.")
    ROW(U64, NULLABLE, "process_thread_count", process_thread_count, "", "Threads of the tracked tree.")
    ROW(F64, NULLABLE, "process_utime_secs", process_utime_secs, "s", "User CPU time of the tracked tree in this interval.")
    ROW(F64, NULLABLE, "process_stime_secs", process_stime_secs, "s", "System CPU time of the tracked tree in this interval.")
    ROW(F64, NULLABLE, "process_wait_secs", process_wait_secs, "s", "Time threads of the tracked tree were ready to run and waited for a CPU in this interval, time throttled by a CPU limit included; null where it is not known.")
    ROW(MIB, NULLABLE, "process_rss_mib", process_rss_mib, "MiB", "Resident memory of the tracked tree, shared pages counted in every process, an address space that several have (vfork) once.")
    ROW(MIB_BYTES, NULLABLE, "process_rss_bytes", process_rss_mib, "bytes", "process_rss_mib to the byte.")
    ROW(MIB, NULLABLE, "process_pss_mib", process_pss_mib, "MiB", "Proportional memory of the tracked tree, shared pages divided among their users; estimated from RSS between readings.")
    ROW(MIB_BYTES, NULLABLE, "process_pss_bytes", process_pss_mib, "bytes", "process_pss_mib to the byte.")
    ROW(MIB, NULLABLE, "process_peak_rss_mib", process_peak_rss_mib, "MiB", "Highest resident memory of the tracked tree seen so far, or of its largest single process where that was more.")
    ROW(MIB_BYTES, NULLABLE, "process_peak_rss_bytes", process_peak_rss_mib, "bytes", "process_peak_rss_mib to the byte.")
    ROW(U64, NULLABLE, "process_disk_read_bytes", process_disk_read_bytes, "bytes", "Bytes the tracked tree read from storage in this interval; null while a process of it may not be read, and reported in full later.")
    ROW(U64, NULLABLE, "process_disk_write_bytes", process_disk_write_bytes, "bytes", "Bytes the tracked tree wrote to storage in this interval; null while a process of it may not be read, and reported in full later.")
    ROW(U64, NULLABLE, "process_net_recv_bytes", process_net_recv_bytes, "bytes", "Bytes the tracked tree received in this interval, traffic between its own processes not counted; process_net_source says how they are known.")
    ROW(U64, NULLABLE, "process_net_sent_bytes", process_net_sent_bytes, "bytes", "Bytes the tracked tree sent in this interval, in the same way.")
    ROW(STRING, NULLABLE, "process_net_source", process_net_source, "", "namespace: exact, counted by the interfaces of network namespaces that only the tree is in; tcp: at least so many, the data of its TCP connections as far as they were seen; null: unknown.")
    ROW(U64, NULLABLE, "process_major_faults", process_major_faults, "", "Page faults of the tracked tree that needed I/O, in this interval.")
    ROW(F64, NULLABLE, "process_gpu_usage", process_gpu_usage, "GPUs", "GPU use of the tracked tree over this interval (on NVIDIA over the last 0.8 to 2 s), in whole GPUs.")
    ROW(MIB, NULLABLE, "process_gpu_vram_mib", process_gpu_vram_mib, "MiB", "GPU memory of the tracked tree.")
    ROW(MIB_BYTES, NULLABLE, "process_gpu_vram_bytes", process_gpu_vram_mib, "bytes", "process_gpu_vram_mib to the byte.")
    ROW(U64, NULLABLE, "process_gpu_utilized", process_gpu_utilized, "", "GPUs of which the tracked tree used anything in this interval.")
END
#undef NAME
#undef TABLE

#define TABLE sample_memory
#define NAME memory
ROWS
    ROW(MIB, NULLABLE, "total_mib", total_mib, "MiB", "Memory the kernel manages (MemTotal).")
    ROW(MIB, NULLABLE, "free_mib", free_mib, "MiB", "Memory that is not in use (MemFree).")
    ROW(MIB, NULLABLE, "available_mib", available_mib, "MiB", "What new work could get without swapping (MemAvailable; null before Linux 3.14).")
    ROW(MIB, NULLABLE, "unavailable_mib", unavailable_mib, "MiB", "total - available: what other trackers and the full CSV columns call used.")
    ROW(MIB, NULLABLE, "used_mib", used_mib, "MiB", "total - free - buffers - cached.")
    ROW(F64, NULLABLE, "used_pct", used_pct, "%", "used_mib as a share of total_mib.")
    ROW(MIB, NULLABLE, "buffers_mib", buffers_mib, "MiB", "Raw block cache (Buffers).")
    ROW(MIB, NULLABLE, "cached_mib", cached_mib, "MiB", "Page cache and reclaimable slab (Cached + SReclaimable).")
    ROW(MIB, NULLABLE, "active_mib", active_mib, "MiB", "Memory used recently (Active).")
    ROW(MIB, NULLABLE, "inactive_mib", inactive_mib, "MiB", "Memory first in line to be reclaimed (Inactive).")
    ROW(MIB, NULLABLE, "swap_total_mib", swap_total_mib, "MiB", "Swap space (SwapTotal).")
    ROW(MIB, NULLABLE, "swap_used_mib", swap_used_mib, "MiB", "Swap space in use (SwapTotal - SwapFree).")
    ROW(F64, NULLABLE, "swap_used_pct", swap_used_pct, "%", "swap_used_mib as a share of swap_total_mib; 0 without swap.")
    ROW(MIB, NULLABLE, "shmem_mib", shmem_mib, "MiB", "Shared memory and tmpfs (Shmem).")
    ROW(MIB, NULLABLE, "dirty_mib", dirty_mib, "MiB", "Memory waiting to be written to storage (Dirty).")
END
#undef NAME
#undef TABLE

#define TABLE sample_network
#define NAME network
ROWS
    ROW(STRING, ALWAYS, "interface", interface, "", "Name of the interface; lo is left out.")
    ROW(STRING, NULLABLE, "mac_address", mac_address, "", "Hardware address.")
    ROW(STRING, NULLABLE, "driver", driver, "", "Kernel driver.")
    ROW(STRING, NULLABLE, "operstate", operstate, "", "Link state: up, down, unknown and so on.")
    ROW(I64, NULLABLE, "speed_mbps", speed_mbps, "Mbit/s", "Link speed; -1 where the interface does not report one; null until its driver has answered.")
    ROW(U64, NULLABLE, "mtu", mtu, "bytes", "Largest packet.")
    ROW(F64, NULLABLE, "rx_bytes_per_sec", rx_bytes_per_sec, "bytes/s", "Bytes received per second in this interval.")
    ROW(F64, NULLABLE, "tx_bytes_per_sec", tx_bytes_per_sec, "bytes/s", "Bytes sent per second in this interval.")
    ROW(U64, NULLABLE, "rx_bytes", rx_bytes_delta, "bytes", "Bytes received in this interval.")
    ROW(U64, NULLABLE, "tx_bytes", tx_bytes_delta, "bytes", "Bytes sent in this interval.")
    ROW(U64, NULLABLE, "rx_bytes_total", rx_bytes_total, "bytes", "Bytes received since the interface exists.")
    ROW(U64, NULLABLE, "tx_bytes_total", tx_bytes_total, "bytes", "Bytes sent since the interface exists.")
    ROW(U64, NULLABLE, "rx_errors", rx_errors, "", "Receive errors, total.")
    ROW(U64, NULLABLE, "tx_errors", tx_errors, "", "Send errors, total.")
    ROW(U64, NULLABLE, "rx_dropped", rx_dropped, "", "Received packets dropped, total.")
    ROW(U64, NULLABLE, "tx_dropped", tx_dropped, "", "Packets to send dropped, total.")
    ROW(BOOL, NULLABLE, "virtual", is_virtual, "", "True where there is no hardware below the interface (bridge, veth, tunnel).")
END
#undef NAME
#undef TABLE

#define TABLE sample_mount
#define NAME mount
ROWS
    ROW(STRING, NULLABLE, "mount_point", mount_point, "", "Where the filesystem is mounted (one place of several).")
    ROW(STRING, NULLABLE, "filesystem", filesystem, "", "Filesystem type.")
    ROW(U64, NULLABLE, "total_bytes", total_bytes, "bytes", "Size of the filesystem.")
    ROW(U64, NULLABLE, "used_bytes", used_bytes, "bytes", "Space in use.")
    ROW(U64, NULLABLE, "available_bytes", available_bytes, "bytes", "Space ordinary users can still fill.")
    ROW(F64, NULLABLE, "used_pct", used_pct, "%", "used_bytes as a share of total_bytes.")
END
#undef NAME
#undef TABLE

#define TABLE sample_disk
#define NAME disk
ROWS
    ROW(STRING, ALWAYS, "device", device, "", "Name of the whole device; zfs:POOL for ZFS pools.")
    ROW(STRING, NULLABLE, "model", model, "", "Model name.")
    ROW(STRING, NULLABLE, "vendor", vendor, "", "Vendor name.")
    ROW(STRING, NULLABLE, "serial", serial, "", "Serial number; the WWID where there is none.")
    ROW(STRING, NULLABLE, "device_type", device_type, "", "nvme, ssd or hdd.")
    ROW(U64, NULLABLE, "capacity_bytes", capacity_bytes, "bytes", "Size of the device; null where it has none (a loop device without a file, a reader without a card).")
    ROW(U64, NULLABLE, "sector_bytes", sector_bytes, "bytes", "Hardware sector size (counters are in 512-byte units whatever it is).")
    NEST(OBJECT_LIST, "mounts", mounts, mount, "Filesystems on the device and its partitions, each once.")
    ROW(F64, NULLABLE, "read_bytes_per_sec", read_bytes_per_sec, "bytes/s", "Bytes read per second in this interval.")
    ROW(F64, NULLABLE, "write_bytes_per_sec", write_bytes_per_sec, "bytes/s", "Bytes written per second in this interval.")
    ROW(U64, NULLABLE, "read_bytes", read_bytes_delta, "bytes", "Bytes read in this interval.")
    ROW(U64, NULLABLE, "write_bytes", write_bytes_delta, "bytes", "Bytes written in this interval.")
    ROW(U64, NULLABLE, "read_bytes_total", read_bytes_total, "bytes", "Bytes read since boot.")
    ROW(U64, NULLABLE, "write_bytes_total", write_bytes_total, "bytes", "Bytes written since boot.")
    ROW(F64, NULLABLE, "reads_per_sec", reads_per_sec, "1/s", "Reads completed per second in this interval.")
    ROW(F64, NULLABLE, "writes_per_sec", writes_per_sec, "1/s", "Writes completed per second in this interval.")
    ROW(F64, NULLABLE, "busy_pct", busy_pct, "%", "Share of this interval with I/O in flight.")
    ROW(BOOL, NULLABLE, "stacked", stacked, "", "True where the device sits on other devices of the list (dm, md, loop), whose I/O is the same again.")
END
#undef NAME
#undef TABLE

#define TABLE sample_gpu
#define NAME gpu
ROWS
    ROW(STRING, NULLABLE, "uuid", uuid, "", "Identity of the device.")
    ROW(STRING, NULLABLE, "name", name, "", "Product name.")
    ROW(STRING, NULLABLE, "device_type", device_type, "", "GPU, MIG (an instance of a GPU) or NPU.")
    ROW(STRING, NULLABLE, "host_id", host_id, "", "Number or address of the device on this host.")
    ROW(STRING_MAP, NULLABLE, "detail", detail, "", "More facts: driver version, PCI address and so on.")
    ROW(F64, NULLABLE, "utilization_pct", utilization_pct, "%", "Share of this interval in which the device was busy.")
    ROW(U64, NULLABLE, "vram_total_bytes", vram_total_bytes, "bytes", "Device memory.")
    ROW(U64, NULLABLE, "vram_used_bytes", vram_used_bytes, "bytes", "Device memory in use, without what the driver keeps for itself.")
    ROW(F64, NULLABLE, "vram_used_pct", vram_used_pct, "%", "vram_used_bytes as a share of vram_total_bytes.")
    ROW(WHOLE, NULLABLE, "temperature_celsius", temperature_celsius, "C", "Temperature.")
    ROW(F64, NULLABLE, "power_watts", power_watts, "W", "Power draw.")
    ROW(WHOLE, NULLABLE, "frequency_mhz", frequency_mhz, "MHz", "Clock.")
    ROW(U64, NULLABLE, "core_count", core_count, "", "Cores of the device.")
    ROW(F64, NULLABLE, "memory_utilization_pct", memory_utilization_pct, "%", "Share of this interval in which device memory was read or written.")
    ROW(STRING_LIST, NULLABLE, "throttle_reasons", throttle_reasons, "", "Why the device runs slower than it could.")
    ROW(U64, NULLABLE, "process_vram_bytes", process_vram_bytes, "bytes", "Memory of this device that the tracked tree holds.")
    ROW(F64, NULLABLE, "process_utilization_pct", process_utilization_pct, "%", "Share of this interval in which the tracked tree kept the device busy.")
END
#undef NAME
#undef TABLE

#define TABLE sample_pressure
#define NAME pressure
ROWS
    ROW(F64, NULLABLE, "cpu_some_secs", cpu_some_secs, "s", "Time in this interval in which some task waited for a CPU.")
    ROW(F64, NULLABLE, "memory_some_secs", memory_some_secs, "s", "Time in this interval in which some task waited for memory.")
    ROW(F64, NULLABLE, "memory_full_secs", memory_full_secs, "s", "Time in this interval in which all tasks waited for memory.")
    ROW(F64, NULLABLE, "io_some_secs", io_some_secs, "s", "Time in this interval in which some task waited for I/O.")
    ROW(F64, NULLABLE, "io_full_secs", io_full_secs, "s", "Time in this interval in which all tasks waited for I/O.")
END
#undef NAME
#undef TABLE

#define TABLE sample_cgroup
#define NAME cgroup
ROWS
    ROW(F64, NULLABLE, "cpu_limit_cores", cpu_limit_cores, "cores", "Lowest CPU limit on the way to the root; null where there is none.")
    ROW(F64, NULLABLE, "cpu_usage_secs", cpu_usage_secs, "s", "CPU time of the cgroup in this interval.")
    ROW(F64, NULLABLE, "throttled_secs", throttled_secs, "s", "Time in this interval in which the cgroup was held back by its CPU limit.")
    ROW(MIB, NULLABLE, "memory_limit_mib", memory_limit_mib, "MiB", "Lowest memory limit on the way to the root; null where there is none.")
    ROW(MIB, NULLABLE, "memory_used_mib", memory_used_mib, "MiB", "Memory charged to the cgroup, page cache included.")
    ROW(MIB, NULLABLE, "memory_peak_mib", memory_peak_mib, "MiB", "Highest memory charged to the cgroup.")
    ROW(MIB, OMITTED, "shmem_unmapped_mib", shmem_unmapped_mib, "MiB", "Shared memory (tmpfs, memfd, SysV) of the cgroup beyond what its processes map, at least that: without swap it cannot be reclaimed. Where the cgroup is the job's own or has a limit, read when memory_used_mib has grown by a sixteenth, and every ten seconds.")
    ROW(U64, NULLABLE, "oom_kills", oom_kills, "", "Processes of the cgroup killed by the OOM killer, total.")
END
#undef NAME
#undef TABLE

#define TABLE sample_energy
#define NAME energy
ROWS
    ROW(F64, NULLABLE, "package_joules", package_joules, "J", "Energy of the CPU packages of the host in this interval.")
    ROW(F64, NULLABLE, "dram_joules", dram_joules, "J", "Energy of its memory in this interval, which is not in package_joules.")
    ROW(F64, NULLABLE, "platform_joules", platform_joules, "J", "Energy of the whole machine in this interval, CPUs and memory included (psys, pm_counters; of a battery while it discharges, about every 10 s what it has lost since).")
    ROW(F64, NULLABLE, "idle_joules", idle_joules, "J", "The part of package_joules and dram_joules that idle CPU time is charged with, as much as the same time of a busy CPU.")
    ROW(F64, NULLABLE, "process_joules", process_joules, "J", "The part of them that the CPU time of the tracked tree is charged with: at least this is due to it.")
    ROW(STRING, NULLABLE, "source", source, "", "Where package_joules comes from, or else platform_joules: rapl, hwmon, cray, battery or estimate (nothing was measured).")
END
#undef NAME
#undef TABLE

#define TABLE sample_tracker
#define NAME tracker
ROWS
    ROW(F64, NULLABLE, "cpu_secs", cpu_secs, "s", "CPU time the tracker and its helper used in this interval.")
    ROW(MIB, NULLABLE, "rss_mib", rss_mib, "MiB", "Resident memory of the tracker and its helper.")
    ROW(MIB_BYTES, NULLABLE, "rss_bytes", rss_mib, "bytes", "rss_mib to the byte.")
    ROW(F64, NULLABLE, "late_ms", late_ms, "ms", "How far behind its time this sample was taken.")
    ROW(U64, NULLABLE, "missed_samples", missed_samples, "", "Samples skipped since the previous one because their time had passed.")
END
#undef NAME
#undef TABLE

#define TABLE sample_process
#define NAME process
ROWS
    ROW(U64, NULLABLE, "pid", pid, "", "PID.")
    ROW(STRING, NULLABLE, "name", name, "", "Name of the process, as the kernel has it: cut to 15 bytes.")
    ROW(STRING, NULLABLE, "command", command, "", "Its command line with secrets masked; null where it is not known or not recorded.")
    ROW(MIB, NULLABLE, "rss_mib", rss_mib, "MiB", "Resident memory.")
    ROW(MIB_BYTES, NULLABLE, "rss_bytes", rss_mib, "bytes", "rss_mib to the byte.")
    ROW(F64, NULLABLE, "cpu_secs", cpu_secs, "s", "CPU time of the process in its life so far.")
END
#undef NAME
#undef TABLE

#define TABLE sample_mark
#define NAME mark
ROWS
    ROW(F64, NULLABLE, "elapsed_secs", elapsed_secs, "s", "When it came, since the start.")
    ROW(STRING, NULLABLE, "kind", kind, "", "mark (a moment; a phase begins that ends with the next one), begin or end (of a phase).")
    ROW(STRING, NULLABLE, "name", name, "", "As the job has named it.")
END
#undef NAME
#undef TABLE

#define TABLE sample_run
#define NAME run
ROWS
    ROW(F64, NULLABLE, "interval_secs", interval_secs, "s", "Time between two samples, as set.")
    ROW(STRING, NULLABLE, "hostname", hostname, "", "Name of the host.")
    ROW(STRING, NULLABLE, "kernel", kernel, "", "Release of the kernel.")
    ROW(U64, NULLABLE, "cpus_allowed", cpus_allowed, "", "CPUs the tracker and its command may run on (affinity).")
    ROW(MIB, NULLABLE, "cgroup_peak_mib", cgroup_peak_mib, "MiB", "Highest memory of the cgroup before the run: a higher memory_peak_mib is the run's.")
    ROW(STRING_LIST, NULLABLE, "command", command, "", "The command and its arguments; null where none was run.")
    ROW(STRING, NULLABLE, "cpu_model", cpu_model, "", "Model of the CPUs.")
    ROW(STRING, NULLABLE, "cgroup_path", cgroup_path, "", "Control group of the tracked tree.")
    ROW(BOOL, NULLABLE, "cgroup_is_own", cgroup_is_own, "", "True where the control group holds nothing but the job: made with --cgroup, or that of a container of which the tracker is the first process.")
    ROW(STRING_MAP, NULLABLE, "metadata", metadata, "", "What was given or found of the job: project_name, stage_name, executor and so on.")
    ROW(STRING_MAP, NULLABLE, "tags", tags, "", "Tags of the job, as given.")
END
#undef NAME
#undef TABLE

#define TABLE sample_history
#define NAME history
ROWS
    ROW(STRING_LIST, ALWAYS, "programs", programs, "", "Names of the processes, each once.")
    ROW(STRING_LIST, ALWAYS, "commands", commands, "", "Command lines with secrets masked, of processes that were seen for longer or used more CPU time.")
    ROW(STRING, NULLABLE, "records", records, "", "One record for each process, by when it was first seen, with a semicolon behind it: 12 whole numbers, or - where one is not known. PID; parent (number of another record, counted from 1, 0: none); start and length in ms (-: it still ran); program (number in the list, counted from 1, 0: unknown); CPU time of its own, and of processes it waited for as far as they were not seen, in 0.1 ms; highest resident memory in KiB; bytes read and written; exit status; command line (as program). PID 0: the sum of as many processes as parent says.")
END
KNOWN_AS(field_history)
#undef NAME
#undef TABLE

#define TABLE sample_end
#define NAME end
ROWS
    ROW(I64, NULLABLE, "exit_code", exit_code, "", "Exit status of the command as a shell has it (128+n for signal n); null where no command was run.")
    ROW(I64, NULLABLE, "signal", signal, "", "Signal that ended the command; null where none did.")
    ROW(U64, NULLABLE, "oom_kills", oom_kills, "", "Processes of the cgroup killed by the OOM killer during the run.")
    ROW(U64, NULLABLE, "host_oom_kills", host_oom_kills, "", "Processes of the host killed by the OOM killer during the run.")
    ROW(F64, NULLABLE, "gpu_energy_joules", gpu_energy_joules, "J", "Energy of all GPUs over the run, other work on them included.")
    ROW(BOOL, NULLABLE, "cpu_is_lower_bound", cpu_is_lower_bound, "", "True where CPU time may be missing because a process was not waited for: its parent ignored SIGCHLD, its PID namespace ended with it, or its parent ended and no subreaper was set.")
    ROW(MIB, NULLABLE, "largest_process_mib", largest_process_mib, "MiB", "Highest resident memory of a single process, in a sample or as the kernel reports it for those that were waited for.")
    ROW(MIB_BYTES, NULLABLE, "largest_process_bytes", largest_process_mib, "bytes", "largest_process_mib to the byte.")
    ROW(U64, NULLABLE, "cpus_allowed", cpus_allowed, "", "CPUs that the processes which used CPU time might run on (affinity); null where it is not known.")
    ROW(U64, NULLABLE, "left_running", left_running, "", "Processes of the tree that were still running.")
    ROW(BOOL, NULLABLE, "target_is_running", target_is_running, "", "With --pid: true where tracking was stopped before the process ended; null where a command was run.")
    ROW(U64, NULLABLE, "minor_faults", minor_faults, "", "Page faults without I/O of the command and of all processes that were waited for.")
    ROW(U64, NULLABLE, "major_faults", major_faults, "", "Page faults with I/O of the same.")
    ROW(U64, NULLABLE, "voluntary_switches", voluntary_switches, "", "Context switches of the same because they waited for something.")
    ROW(U64, NULLABLE, "involuntary_switches", involuntary_switches, "", "Context switches of the same because their time slice was over or another task came first.")
    ROW(U64, NULLABLE, "marks_dropped", marks_dropped, "", "Marks that came and are not recorded: more than 256 for one sample, or 100,000 in the run.")
    ROW(U64, NULLABLE, "processes_seen", processes_seen, "", "Processes of the tree seen in samples, the first one included.")
    ROW(U64, NULLABLE, "processes_unseen", processes_unseen, "", "Processes of the tree that lived between two samples; null without exact_processes, since nothing else counts them, and where messages of the kernel were lost.")
    NEST(OBJECT_LIST, "processes_by_cpu", processes_by_cpu, process, "Those of them with the most CPU time of their own; here cpu_secs is that of the run, not of their lives.")
    NEST_OMITTED(OBJECT, "history", history, history, "Every process of the tree that was seen.")
END
#undef NAME
#undef TABLE

#define TABLE sample
#define NAME sample
ROWS
    ROW(I64, ALWAYS, "timestamp_secs", timestamp_secs, "s", "Unix time, whole seconds.")
    ROW(I64, ALWAYS, "timestamp_ms", timestamp_ms, "ms", "Unix time in milliseconds.")
    ROW(F64, NULLABLE, "elapsed_secs", elapsed_secs, "s", "Time since the start, monotonic.")
    ROW(WHOLE, OMITTED, "actual_interval_ms", actual_interval_ms, "ms", "Time since the previous sample; absent in the first.")
    ROW(STRING, NULLABLE, "job_name", job_name, "", "Name of the job, as given.")
    ROW(U64, NULLABLE, "tracked_pid", tracked_pid, "", "PID of the tracked process; null when only the host is tracked.")
    NEST(OBJECT, "cpu", cpu, cpu, "CPU of the host and of the tracked tree.")
    NEST(OBJECT, "memory", memory, memory, "Memory of the host.")
    NEST(OBJECT_LIST, "network", network, network, "Network interfaces, by name.")
    NEST(OBJECT_LIST, "disk", disk, disk, "Whole block devices and ZFS pools, by name.")
    NEST(OBJECT_LIST, "gpu", gpu, gpu, "GPUs and other accelerators.")
    NEST(OBJECT, "pressure", pressure, pressure, "Pressure stall information of the host; null where the kernel has none.")
    NEST(OBJECT, "cgroup", cgroup, cgroup, "The control group of the tracked tree (of the tracker in host mode), v1 or v2; null where none.")
    NEST(OBJECT, "energy", energy, energy, "Energy of the host; null where no counter of it can be read.")
    NEST(OBJECT, "tracker", tracker, tracker, "What the tracker itself costs.")
    NEST_OMITTED(OBJECT_LIST, "processes", processes, process, "The largest processes of the tree; only where its memory was higher than in all samples before, or one of them is known to have had more between two samples: it comes first, with that as rss_mib.")
    NEST_OMITTED(OBJECT_LIST, "marks", marks, mark, "Moments and phases that the job has named since the sample before; only where there are some.")
    NEST_OMITTED(OBJECT, "run", run, run, "What does not change during a run; only in the first sample.")
    NEST_OMITTED(OBJECT, "end", end, end, "How the run ended; only in the last sample.")
    ROW(STRING, ALWAYS, "resource-tracker-version", version, "", "Version of the tracker.")
END
KNOWN_AS(field_sample)
#undef NAME
#undef TABLE
