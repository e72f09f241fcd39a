# SPDX-License-Identifier: Apache-2.0
"""Recordings of plausible runs, for tests of sizing and verdict through `resource-tracker --from FILE`.

A Recording is a machine, a run of so many seconds with a sample after each, and a last sample in which the tree has
ended. Amounts are numbers, functions of the second (1 is the first sample), or lists with an item per second; None is
unknown. Keys come from docs/schema/sample.schema.json, so that a key that no sample has is an error and one that the
test does not care about is null. The totals of the tree over its GPUs follow from the devices.

    run = Recording(30, cpus=8, gpus=[nvidia(0), nvidia(1)])
    run.tree(cores=1.0, rss_mib=lambda second: 500 + 20 * second)
    run.gpu(0, busy_pct=90, vram_gib=40)
    run.set("pressure.cpu_some_secs", 0.5, first=10, last=20)
    run.to_file(place / "run.jsonl")
"""

import copy
import functools
import json
import pathlib

SCHEMA_PATH = pathlib.Path(__file__).resolve().parents[3] / "docs" / "schema" / "sample.schema.json"
MIB = 1 << 20
GIB = 1 << 30
START_MS = 1767225600000  # 2026-01-01
LAST_SECS = 0.25  # from the last whole second to the end
PID = 4242


@functools.cache
def schema():
    return json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))


def shape_of(path):
    """The part of the schema that describes a path, "" the whole; a KeyError where no sample has it. A number stands
    for the items of a list: "gpu.0.name"."""
    shape = schema()
    for name in path.split(".") if path else []:
        shape = shape["items"] if name.isdigit() else shape["properties"][name]
    return shape


def empty(path, **values):
    """An object with every key of its kind, null but for the values."""
    shape = shape_of(path)
    unknown = set(values) - set(shape["properties"])
    if unknown:
        raise KeyError(f"{path} has no {sorted(unknown)}")
    return {key: values.get(key) for key in shape["properties"] if key in shape["required"] or key in values}


def at(value, second):
    """An amount in one second."""
    if callable(value):
        return value(second)
    if isinstance(value, (list, tuple)):
        return value[second - 1]
    return value


def whole(value, scale=1):
    return None if value is None else int(value * scale)


def four(value):
    return None if value is None else round(value, 4)


def mib_pair(name, mib):
    """The key in whole MiB and the one in bytes."""
    return {f"{name}_mib": whole(mib), f"{name}_bytes": whole(mib, MIB)}


def process(pid=PID, name="python3", rss_mib=None, cpu_secs=None, command=None):
    """For `processes` and `end.processes_by_cpu`."""
    return empty("processes.0", pid=pid, name=name, command=command, cpu_secs=four(cpu_secs),
                 **mib_pair("rss", rss_mib))


def device(name, uuid, host_id, detail, total_gib, idle_watts, busy_watts):
    return {"facts": {"name": name, "uuid": uuid, "device_type": "GPU", "host_id": host_id, "detail": detail,
                      "vram_total_bytes": None if total_gib is None else int(total_gib * GIB)},
            "watts": (idle_watts, busy_watts)}


def pci_detail(address, **more):
    return {"pci_bus": address, "pci_bus_id": address, **more}


def nvidia(index=0, name="NVIDIA H100 80GB HBM3", total_gib=80):
    return device(name, f"GPU-00000000-0000-0000-0000-{index:012x}", str(index),
                  pci_detail(f"00000000:{index + 1:02X}:00.0", driver="nvidia", driver_version="580.159.04",
                             cuda_version="13.0"), total_gib, 70, 630)


def amd(index=0, name="AMD Instinct MI300X", total_gib=192):
    address = f"0000:{index + 3:02x}:00.0"
    return device(name, address, address, pci_detail(address, driver="amdgpu", unique_id=f"{index + 0xa1b2c3d4:016x}",
                                                     rocm_version="6.4.1"), total_gib, 140, 560)


def intel(index=0, name="Intel GPU 0x0bd5", total_gib=64):
    address = f"0000:{index + 0x4d:02x}:00.0"
    return device(name, address, address, pci_detail(address, driver="xe"), total_gib, 90, 420)


class Recording:
    """See the top of this file. own_cgroup: the control group holds nothing but the job."""

    def __init__(self, secs=60, *, cpus=8, memory_mib=65536, gpus=(), command=("python3", "train.py"), job_name=None,
                 cpu_limit=None, memory_limit_mib=None, own_cgroup=None, exit_code=0, signal=None):
        self.secs, self.cpus, self.memory_mib, self.gpus = secs, cpus, memory_mib, list(gpus)
        self.job_name, self.cpu_limit, self.memory_limit_mib = job_name, cpu_limit, memory_limit_mib
        self.sets = []
        self.is_own = bool(own_cgroup)
        self.peak_mib = None  # of the tree, in the samples so far
        self.of_tree = {"cores": 0.0, "system_pct": 5, "wait_secs": 0.0, "rss_mib": 200.0, "pss_pct": 95,
                        "children": 0, "threads": 1, "read_bytes": 0, "written_bytes": 0, "faults": 0}
        self.of_host = {"other_cores": 0.05, "other_memory_mib": 2000.0, "iowait_secs": 0.0, "swap_used_mib": 0.0,
                        "swap_total_mib": 0.0, "throttled_secs": 0.0, "oom_kills": 0}
        self.of_gpus = [{"busy_pct": 0.0, "vram_gib": 0.0, "other_busy_pct": 0.0, "other_vram_gib": 0.5}
                        for _ in self.gpus]
        path = "/system.slice/job" if own_cgroup else "/user.slice"
        self.run = empty("run", interval_secs=1.0, hostname="host", kernel="6.12.0", cpus_allowed=cpus,
                         cgroup_peak_mib=0 if own_cgroup else 300, command=list(command), cpu_model="Test CPU",
                         cgroup_path=path, cgroup_is_own=own_cgroup)
        self.end = empty("end", exit_code=exit_code, signal=signal, oom_kills=0, host_oom_kills=0,
                         cpu_is_lower_bound=False, left_running=0, minor_faults=20000, major_faults=0,
                         voluntary_switches=1000, involuntary_switches=100, processes_seen=1)

    def tree(self, **amounts):
        """cores, wait_secs (both per second), system_pct (of the cores), rss_mib, pss_pct (of it; None: unknown),
        children, threads, read_bytes, written_bytes, faults."""
        self._change(self.of_tree, amounts)

    def host(self, **amounts):
        """other_cores, other_memory_mib (of what is not the tree), iowait_secs, swap_total_mib, swap_used_mib;
        throttled_secs and oom_kills of the control group."""
        self._change(self.of_host, amounts)

    def gpu(self, index, **amounts):
        """busy_pct and vram_gib of the tree (None: unknown), other_busy_pct and other_vram_gib of other processes."""
        self._change(self.of_gpus[index], amounts)

    @staticmethod
    def _change(known, amounts):
        if set(amounts) - set(known):
            raise KeyError(f"no such amounts: {sorted(set(amounts) - set(known))}")
        known.update(amounts)

    def set(self, path, value, first=1, last=None):
        """Any key in the samples of these seconds; the last sample is that of secs + 1, and "run" and "end" are set
        where they stand. value: the value itself, also where it is a list, or a function of the second."""
        shape_of(path)
        self.sets.append((path.split("."), value, first, self.secs + 1 if last is None else last))

    def _tree(self, second, span, is_last):
        amounts = {name: at(value, min(second, self.secs)) for name, value in self.of_tree.items()}
        cores, wait = amounts["cores"], amounts["wait_secs"]
        rss = 0.0 if is_last else amounts["rss_mib"]
        pss = None if amounts["pss_pct"] is None or rss is None else rss * amounts["pss_pct"] / 100
        if rss is not None:
            self.peak_mib = max(rss, self.peak_mib or 0.0)
        system = None if cores is None else cores * span * amounts["system_pct"] / 100
        return {"process_cores_used": four(cores), "process_stime_secs": four(system),
                "process_utime_secs": None if cores is None else four(cores * span - system),
                "process_wait_secs": None if wait is None else four(wait * span),
                "process_child_count": 0 if is_last else amounts["children"],
                "process_thread_count": 0 if is_last else amounts["threads"],
                "process_disk_read_bytes": whole(amounts["read_bytes"], span),
                "process_disk_write_bytes": whole(amounts["written_bytes"], span),
                "process_major_faults": whole(amounts["faults"], span),
                **mib_pair("process_rss", rss), **mib_pair("process_pss", pss),
                **mib_pair("process_peak_rss", self.peak_mib)}

    def _cpu(self, second, span, is_last):
        tree = self._tree(second, span, is_last)
        other, iowait = (at(self.of_host[name], min(second, self.secs)) for name in ("other_cores", "iowait_secs"))
        cores = tree["process_cores_used"] or 0
        busy = min(cores + other, self.cpus)
        cgroup_secs = four((cores if self.is_own else busy) * span)
        waiting = (tree["process_wait_secs"] or 0) / span
        return empty("cpu", utilization_pct=four(busy), per_core_pct=[four(100 * busy / self.cpus)] * self.cpus,
                     utime_secs=four(busy * span * 0.95), stime_secs=four(busy * span * 0.05), irq_secs=0.0,
                     iowait_secs=four(iowait * span), steal_time_secs=0.0, steal_secs=0.0, steal_time_pct=0.0,
                     per_core_steal_time_pct=[], cgroup_usage_secs=cgroup_secs,
                     cgroup_utilization_pct=four(cgroup_secs / span), process_count=100, procs_blocked=0,
                     procs_running=round(busy + waiting), context_switches=int(1000 * span), load1=four(busy + waiting),
                     load5=four(busy), load15=four(busy), **tree)

    def _memory(self, second, rss_mib):
        other, total, used = (at(self.of_host[name], min(second, self.secs))
                              for name in ("other_memory_mib", "swap_total_mib", "swap_used_mib"))
        taken = min(other + (rss_mib or 0), self.memory_mib)
        cached = min(1024, self.memory_mib - taken)
        return empty("memory", total_mib=whole(self.memory_mib), free_mib=whole(self.memory_mib - taken - cached),
                     available_mib=whole(self.memory_mib - taken), unavailable_mib=whole(taken), used_mib=whole(taken),
                     used_pct=four(100 * taken / self.memory_mib), buffers_mib=0, cached_mib=whole(cached),
                     active_mib=whole(taken), inactive_mib=whole(cached), swap_total_mib=whole(total),
                     swap_used_mib=whole(used), swap_used_pct=four(100 * used / total) if total else 0.0, shmem_mib=0,
                     dirty_mib=0)

    def _gpu(self, index, second, is_last):
        amounts = {name: at(value, min(second, self.secs)) for name, value in self.of_gpus[index].items()}
        facts, (idle, full) = self.gpus[index]["facts"], self.gpus[index]["watts"]
        # What a tree did last on a GPU is not known, and that it has no memory any more is.
        busy, held = (None, 0.0) if is_last else (amounts["busy_pct"], amounts["vram_gib"])
        used = (held or 0) + amounts["other_vram_gib"]
        total = facts["vram_total_bytes"]
        all_busy = min((busy or 0) + amounts["other_busy_pct"], 100)
        return empty("gpu.0", utilization_pct=four(all_busy), memory_utilization_pct=four(all_busy / 2),
                     vram_used_bytes=None if total is None else int(used * GIB),
                     vram_used_pct=four(100 * used * GIB / total) if total else None,
                     temperature_celsius=int(35 + all_busy * 0.35), frequency_mhz=1980 if all_busy else 345,
                     power_watts=four(idle + (full - idle) * all_busy / 100), throttle_reasons=[],
                     process_vram_bytes=None if held is None else int(held * GIB), process_utilization_pct=four(busy),
                     **facts)

    def _cgroup(self, second, span, sample):
        throttled, kills = (at(self.of_host[name], min(second, self.secs)) for name in ("throttled_secs", "oom_kills"))
        cpu = sample["cpu"]
        # A group that is not the job's own has other processes in it, and had more of them before.
        used, peak = (None if mib is None else mib + more for mib, more in (
            (cpu["process_rss_mib"], 0 if self.is_own else 500),
            (cpu["process_peak_rss_mib"], 0 if self.is_own else 800)))
        return empty("cgroup", cpu_limit_cores=self.cpu_limit, cpu_usage_secs=cpu["cgroup_usage_secs"],
                     throttled_secs=four(throttled * span), memory_limit_mib=whole(self.memory_limit_mib),
                     memory_used_mib=used, memory_peak_mib=peak, oom_kills=kills)

    def _put(self, sample, words, value):
        """Sets a key; of an amount that stands there in MiB and in bytes, both."""
        target = sample
        for word in words[:-1]:
            target = target[int(word) if word.isdigit() else word]
        if target is None or (isinstance(target, dict) and words[-1] not in target and len(words) > 1):
            raise KeyError(f"{'.'.join(words)} is not in this sample")
        twin = words[-1].removesuffix("_mib") + "_bytes"
        if isinstance(target, dict) and words[-1].endswith("_mib") and twin in target:
            target.update(mib_pair(words[-1].removesuffix("_mib"), value))
        else:
            target[int(words[-1]) if words[-1].isdigit() else words[-1]] = value

    def _sum_gpus(self, sample, overridden):
        """The totals of the tree, unless they were set: unknown while a device is."""
        totals, gpus, cpu = {}, sample["gpu"] or [], sample["cpu"]
        memory, percent = ([gpu[key] for gpu in gpus] for key in ("process_vram_bytes", "process_utilization_pct"))
        known = None if None in memory else sum(memory)
        totals.update(process_gpu_vram_mib=None if known is None else known // MIB, process_gpu_vram_bytes=known)
        known = None if None in percent else percent
        totals.update(process_gpu_usage=None if known is None else four(sum(known) / 100),
                      process_gpu_utilized=None if known is None else sum(value > 0 for value in known))
        cpu.update({key: value for key, value in totals.items() if f"cpu.{key}" not in overridden})

    def _sample(self, second):
        is_last = second > self.secs
        span = LAST_SECS if is_last else 1.0
        elapsed = self.secs + LAST_SECS if is_last else float(second)
        now_ms = START_MS + int(elapsed * 1000)
        sample = empty("", timestamp_secs=now_ms // 1000, timestamp_ms=now_ms, elapsed_secs=elapsed,
                       actual_interval_ms=int(span * 1000), job_name=self.job_name, tracked_pid=PID,
                       cpu=self._cpu(second, span, is_last), network=[], disk=[],
                       gpu=[self._gpu(index, second, is_last) for index in range(len(self.gpus))],
                       pressure=empty("pressure", cpu_some_secs=0.0, memory_some_secs=0.0, memory_full_secs=0.0,
                                      io_some_secs=0.0, io_full_secs=0.0),
                       tracker=empty("tracker", cpu_secs=0.0005, late_ms=0.05, missed_samples=0,
                                     **mib_pair("rss", 2.25)),
                       **({"run": copy.deepcopy(self.run)} if second == 1 else {}),
                       **({"end": copy.deepcopy(self.end)} if is_last else {}), **{"resource-tracker-version": "0.2.0"})
        if second == 1:
            del sample["actual_interval_ms"]
        sample["memory"] = self._memory(second, sample["cpu"]["process_rss_mib"])
        sample["cgroup"] = self._cgroup(second, span, sample)
        return sample

    def samples(self):
        """Every sample as a dictionary, in the order of the schema's keys."""
        self.peak_mib = None
        made = [self._sample(second) for second in range(1, self.secs + 2)]
        made[-1]["end"].update(mib_pair("largest_process", self.peak_mib))
        for second, sample in enumerate(made, 1):
            wanted = [(words, value(min(second, self.secs)) if callable(value) else value)
                      for words, value, first, last in self.sets
                      if first <= second <= last and (words[0] not in ("run", "end") or words[0] in sample)]
            for words, value in wanted:
                self._put(sample, words, copy.deepcopy(value))
            self._sum_gpus(sample, {".".join(words) for words, _ in wanted})
        return [{key: sample[key] for key in schema()["properties"] if key in sample} for sample in made]

    def to_file(self, path):
        """Writes the recording, a line per sample, and returns the path."""
        lines = [json.dumps(sample, separators=(",", ":"), allow_nan=False) + "\n" for sample in self.samples()]
        pathlib.Path(path).write_text("".join(lines), encoding="utf-8")
        return path


def uneven_gpus(secs=60):
    """80 GiB on the first GPU and 10 GiB on each of seven others."""
    run = Recording(secs, cpus=64, memory_mib=1 << 20, gpus=[nvidia(i, "NVIDIA H200", 141) for i in range(8)])
    run.tree(cores=4.0, rss_mib=20000, children=8, threads=64)
    for index in range(8):
        run.gpu(index, busy_pct=90 if index == 0 else 40,
                vram_gib=lambda second, most=80 if index == 0 else 10: min(most, most * second / 10))
    return run


def gpu_bound(secs=60):
    """The GPU is busy almost all the time, one core feeds it."""
    run = Recording(secs, gpus=[nvidia()])
    run.tree(cores=1.0, rss_mib=4000, threads=12)
    run.gpu(0, busy_pct=98, vram_gib=lambda second: min(30, 5 + second))
    return run


def gpu_starved(secs=60):
    """One thread prepares data as fast as it can, and the GPU waits for it."""
    run = Recording(secs, gpus=[nvidia()])
    run.tree(cores=1.0, rss_mib=4000, threads=12)
    run.gpu(0, busy_pct=lambda second: 14 + second % 3, vram_gib=lambda second: min(12, 2 + second))
    return run


def vram_at_once(secs=60):
    """A framework takes 75 % of the memory of the GPU at once and never gives any of it back."""
    run = Recording(secs, gpus=[nvidia()])
    run.tree(cores=1.5, rss_mib=5000, threads=20)
    run.gpu(0, busy_pct=60, vram_gib=60)
    return run


def cpu_throttled(secs=60):
    """Two busy processes under a quota of 0.3 cores."""
    run = Recording(secs, cpus=4, cpu_limit=0.3, own_cgroup=True)
    run.tree(cores=0.3, wait_secs=1.7, rss_mib=50, children=2, threads=3)
    run.host(throttled_secs=1.4)
    run.set("pressure.cpu_some_secs", 0.95, last=secs)
    return run


def starved_by_others(secs=60):
    """A single thread beside six busy processes on two CPUs: it gets two sevenths of one."""
    run = Recording(secs, cpus=2, memory_mib=8192)
    run.tree(cores=0.2857, wait_secs=0.7143, rss_mib=50)
    run.host(other_cores=1.7143)
    run.set("pressure.cpu_some_secs", 0.98, last=secs)
    run.set("cpu.procs_running", 7, last=secs)
    return run


def growing_memory(secs=60):
    """50 MiB more in every second, to the end."""
    run = Recording(secs)
    run.tree(cores=0.8, rss_mib=lambda second: 500 + 50 * second)
    return run


def amd_gpus(secs=60):
    run = Recording(secs, cpus=32, memory_mib=1 << 19, gpus=[amd(0), amd(1)])
    run.tree(cores=2.0, rss_mib=9000, children=2, threads=40)
    run.gpu(0, busy_pct=85, vram_gib=lambda second: min(100, 10 * second))
    run.gpu(1, busy_pct=80, vram_gib=lambda second: min(60, 6 * second))
    return run


def intel_gpus(secs=60):
    """A discrete card that is used, and an integrated one without memory of its own."""
    run = Recording(secs, cpus=16, gpus=[intel(0), intel(1, "Intel GPU 0x46a6", None)])
    run.tree(cores=1.2, rss_mib=3000, threads=10)
    run.gpu(0, busy_pct=70, vram_gib=lambda second: min(40, 4 * second))
    run.gpu(1, other_vram_gib=0.0)
    return run


BUILDERS = {function.__name__: function for function in (
    uneven_gpus, gpu_bound, gpu_starved, vram_at_once, cpu_throttled, starved_by_others, growing_memory, amd_gpus,
    intel_gpus)}
