#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What to ask for next time, and what held the run back: real workloads, and recordings for what a machine may lack.

Other work on the machine changes what a job gets, not what it wants. Where what it waited for is not measured here,
only that is checked which holds without it, and the test says so.
"""

import contextlib
import errno
import json
import mmap
import os
import pathlib
import signal
import subprocess
import tempfile

import lib  # noqa: F401, finds those that follow
import tap
from job import python
from tap import Skip, diag, equal, expect, test
from tracker import BINARY, SANITIZED, SLOW, Tracker, clean_env, directory, remove_group, run

BUSY_SECS = 3
# So many processes, each busy for so long.
BUSY = """
import os, sys, time
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        break
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    pass
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
"""
# Memory that is written to, so many MiB at a time, so many times, with a pause behind each.
EAT = """
import os, signal, sys, time
step, times, pause, hold, end = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), float(sys.argv[4]), sys.argv[5]
kept = []
for _ in range(times):
    block = bytearray(step << 20)
    for page in range(0, len(block), 4096):
        block[page] = 1
    kept.append(block)
    time.sleep(pause)
if end == "release":
    kept.clear()
time.sleep(hold)
if end == "kill":
    os.kill(os.getpid(), signal.SIGKILL)
"""


def measure(command, interval="200ms", cpus=None, group=None, status=0, flags=(), timeout=20):
    """The summary of a run."""
    def enter():
        if cpus:
            os.sched_setaffinity(0, cpus)
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()), encoding="ascii")

    with directory() as place:
        done = subprocess.run([BINARY, "-q", "-i", interval, "--summary-json", "s.json", *flags, "--", *command],
                              cwd=place, env=clean_env(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              preexec_fn=enter, timeout=timeout, check=False)
        equal(done.returncode, status, f"exit status ({done.stderr})")
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
    diag(summary["verdict"]["text"])
    diag({key: value for key, value in (summary["sizing"] or {}).items() if value is not None})
    expect(summary["verdict"]["text"].endswith("."), summary["verdict"])
    for key in summary["verdict"]["evidence"]:
        value = summary
        for part in key.split("."):
            value = value[part]
        expect(value is not None, f"{key} is evidence and not known")
    return summary


def need_wanted(summary):
    """What follows rests on the time that was waited for a CPU."""
    if summary["cpu"]["wanted_p95"] is None:
        raise Skip("the time waited for a CPU is not measured here")


def allowed_cpus(count):
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < count:
        raise Skip(f"{count} CPUs are needed")
    return set(cpus[:count])


@contextlib.contextmanager
def made_group(controller, settings):
    """A control group of ours, v1 or v2, with the first of each pair of settings that is there."""
    for base in (f"/sys/fs/cgroup/{controller}", "/sys/fs/cgroup"):
        if not os.path.exists(os.path.join(base, "cgroup.procs")):
            continue
        try:
            group = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-", dir=base))
        except OSError as error:
            raise Skip(f"no control group can be made: {error.strerror}") from error
        try:
            found = [name for name in settings if (group / name).exists()]
            if not found:
                raise Skip(f"there is no {controller} controller here")
            for name in found:
                with contextlib.suppress(OSError):
                    (group / name).write_text(str(settings[name]), encoding="ascii")
            yield group
        finally:
            remove_group(group)
        return
    raise Skip(f"there is no {controller} controller here")


def cpu_group(cores):
    return made_group("cpu", {"cpu.cfs_quota_us": int(cores * 100000), "cpu.max": f"{int(cores * 100000)} 100000"})


def memory_group(mib):
    limit = mib << 20
    return made_group("memory", {"memory.limit_in_bytes": limit, "memory.memsw.limit_in_bytes": limit,
                                 "memory.max": limit, "memory.swap.max": 0})


@test(limit=40)
def one_thread_gets_one_cpu():
    summary = measure(python(BUSY, 1, BUSY_SECS))
    equal(summary["sizing"]["vcpus"], 1, summary["sizing"])
    cpu = summary["cpu"]
    if cpu["limit_cores"] >= 2 and cpu["cores_mean"] >= 0.9 and not SLOW:
        equal(summary["verdict"]["kind"], "single-threaded", cpu)
    need_wanted(summary)
    expect(0.9 < cpu["wanted_mean"] < 1.1, cpu)
    expect(summary["verdict"]["kind"] in ("single-threaded", "starved", "cpu-bound"), summary["verdict"])


@test(limit=60)
def one_thread_beside_six_others_gets_one_cpu():
    with contextlib.ExitStack() as stack:
        for _ in range(6):
            other = subprocess.Popen(python(BUSY, 1, 30), stdin=subprocess.DEVNULL)
            stack.callback(other.wait)
            stack.callback(other.kill)
        summary = measure(python(BUSY, 1, BUSY_SECS))
    equal(summary["sizing"]["vcpus"], 1, summary["sizing"])
    need_wanted(summary)
    expect(0.9 < summary["cpu"]["wanted_mean"] < 1.1, summary["cpu"])
    if summary["cpu"]["cores_mean"] < 0.8:
        equal(summary["verdict"]["kind"], "starved", summary["cpu"])


@test(limit=40)
def two_busy_processes_get_two_cpus():
    cpus = allowed_cpus(2)
    summary = measure(python(BUSY, 2, BUSY_SECS), cpus=cpus)
    expect(summary["sizing"]["vcpus"] <= 2, summary["sizing"])
    equal(summary["cpu"]["limit_cores"], 2, summary["cpu"])
    if summary["cpu"]["cores_mean"] >= 1.8:
        equal(summary["verdict"]["kind"], "cpu-bound", summary["cpu"])
    need_wanted(summary)
    equal(summary["sizing"]["vcpus"], 2, summary["sizing"])
    expect(1500 < summary["sizing"]["cpu_millicores"] <= 2050, summary["sizing"])


@test(limit=40)
def four_busy_processes_on_two_cpus_want_four():
    cpus = allowed_cpus(2)
    summary = measure(python(BUSY, 4, BUSY_SECS), interval="500ms", cpus=cpus)
    reason = summary["sizing"]["vcpus_reason"]
    if (summary["cpu"]["saturated_pct"] or 0) > 10:
        expect("used all 2 cores" in reason, reason)
    need_wanted(summary)
    equal(summary["sizing"]["vcpus"], 4, summary["sizing"])
    if summary["machine"]["cpus"] < 4:
        expect("more than the" in reason, reason)
    expect(summary["verdict"]["kind"] in ("cpu-bound", "starved"), summary["verdict"])


# So many processes, each busy for so long of every 100 ms.
BURSTS = """
import os, sys, time
for i in range(int(sys.argv[1]) - 1):
    if os.fork() == 0:
        time.sleep(0.1 * (i + 1) / int(sys.argv[1]))
        break
busy, end = float(sys.argv[2]), time.monotonic() + float(sys.argv[3])
while time.monotonic() < end:
    until = time.thread_time() + busy
    while time.thread_time() < until:
        pass
    time.sleep(0.1 - busy)
try:
    while True:
        os.wait()
except ChildProcessError:
    pass
"""
# Four at a time, each busy for 100 ms.
SHORT = "seq {} | xargs -P 4 -n 1 {} -c 'import time\nwhile time.process_time() < 0.1: pass' > /dev/null"


@contextlib.contextmanager
def others(count, cpus=None):
    """Busy processes that are not of the job, on these CPUs."""
    bind = f"import os; os.sched_setaffinity(0, {set(cpus)})\n" if cpus else ""
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            other = subprocess.Popen(python(bind + BUSY, 1, 60), stdin=subprocess.DEVNULL)
            stack.callback(other.wait)
            stack.callback(other.kill)
        yield


def threads_that_sleep_want_the_same(count):
    """Two that are busy 40 % of the time: 0.8 cores, whatever else runs."""
    with others(count):
        summary = measure(python(BURSTS, 2, 0.04, 5), interval="1s")
    need_wanted(summary)
    expect(0.6 < summary["cpu"]["wanted_mean"] < 1.1, summary["cpu"])
    # On an idle host all of the little it waits can be in one sample.
    most = summary["cpu"]["cores_p95"] + max(summary["cpu"]["wait_secs"] / 4, 0.05)
    expect(summary["cpu"]["wanted_p95"] < most, summary["cpu"])
    expect(summary["sizing"]["cpu_millicores"] <= 1300, summary["sizing"])


tap.add("two that sleep most of the time, idle host", threads_that_sleep_want_the_same, 0, limit=40)
tap.add("two that sleep most of the time, beside six others", threads_that_sleep_want_the_same, 6, limit=60)


def short_processes_want_the_same(count):
    cpus = allowed_cpus(2)
    python3 = python("")[0]
    with others(count, cpus):
        summary = measure(["sh", "-c", SHORT.format(60 if count else 100, python3)], interval="500ms", cpus=cpus,
                          timeout=60)
    need_wanted(summary)
    expect(3 < summary["cpu"]["wanted_mean"] < 5, summary["cpu"])
    expect(4 <= summary["sizing"]["vcpus"] <= 6, summary["sizing"])
    expect("no single resource held it back" not in summary["verdict"]["text"], summary["verdict"])
    kinds = ("starved",) if count else ("cpu-bound", "starved")
    expect(summary["verdict"]["kind"] in kinds, summary["verdict"])
    if summary["cpu"]["wait_secs"] is None:
        expect(summary["cpu"]["wanted_is_estimate"], summary["cpu"])


tap.add("many short processes, idle host", short_processes_want_the_same, 0, limit=60)
tap.add("many short processes, beside six others", short_processes_want_the_same, 6, limit=90)


@test(limit=40)
def a_limit_that_the_command_enters_by_itself_counts():
    with cpu_group(0.2) as group, others(2):
        enter = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        summary = measure(["sh", "-c", enter, "sh", *python(BUSY, 1, BUSY_SECS)])
    cpu = summary["cpu"]
    equal([cpu["limit_cores"], cpu["limit_source"]], [0.2, "cgroup"], cpu)
    equal(summary["verdict"]["kind"], "throttled", summary["verdict"])


@test(limit=40)
def ten_processes_of_a_tenth_are_no_single_thread():
    allowed_cpus(2)
    summary = measure(python(BURSTS, 10, 0.009, 4), interval="1s")
    expect(summary["verdict"]["kind"] != "single-threaded", summary["verdict"], summary["cpu"])
    expect(summary["cpu"]["busiest_mean"] is None or summary["cpu"]["busiest_mean"] < 0.5, summary["cpu"])


@test(limit=40)
def a_command_that_binds_itself_has_that_limit():
    cpu = min(allowed_cpus(2))
    bind = f"import os; os.sched_setaffinity(0, {{{cpu}}})\n"
    summary = measure(python(bind + BUSY, 2, BUSY_SECS))
    equal((summary["cpu"]["limit_cores"], summary["cpu"]["limit_source"]), (1, "affinity"), summary["cpu"])
    if (summary["cpu"]["saturated_pct"] or 0) > 10:
        expect("used all of 1 core" in summary["sizing"]["vcpus_reason"], summary["sizing"])
    need_wanted(summary)
    equal(summary["sizing"]["vcpus"], 2, summary["sizing"])


@test(limit=40)
def a_quota_is_named():
    with cpu_group(0.3) as group:
        summary = measure(python(BUSY, 2, BUSY_SECS), group=group)
        equal(summary["cpu"]["limit_cores"], 0.3, summary["cpu"])
        expect(summary["cpu"]["throttled_secs"] > 0.2, summary["cpu"])
        equal(summary["verdict"]["kind"], "throttled", summary["verdict"])
        # On a busy host it cannot use up its quota in every interval.
        expect("used all of 0.3 cores" in summary["sizing"]["vcpus_reason"] or
               "held back by the limit of 0.3 cores" in summary["sizing"]["vcpus_reason"], summary["sizing"])
        need_wanted(summary)
        equal(summary["sizing"]["vcpus"], 2, summary["sizing"])


@test(limit=40)
def bursts_that_are_held_back_ask_for_no_less_than_the_quota():
    with cpu_group(0.5) as group:
        summary = measure(python(BURSTS, 4, 0.03, BUSY_SECS), group=group)
        if summary["cpu"]["throttled_secs"] < 0.5:
            raise Skip("it was not held back for long enough")
        equal(summary["verdict"]["kind"], "throttled", summary["verdict"])
        expect(summary["sizing"]["cpu_millicores"] >= 500, summary["sizing"])


@test(limit=40)
def a_quota_that_is_wide_enough_is_not():
    with cpu_group(1.5) as group:
        summary = measure(python(BUSY, 1, BUSY_SECS), group=group)
        expect(summary["verdict"]["kind"] != "throttled", summary["verdict"])
        equal(summary["sizing"]["vcpus"], 1, summary["sizing"])


@test
def a_sleeping_job_is_idle():
    summary = measure(["sleep", "2.3"])
    expect(summary["verdict"]["kind"] in ("idle", "swapping"), summary["verdict"])
    equal((summary["sizing"]["vcpus"], summary["sizing"]["memory_mib"]), (1, 32), summary["sizing"])


@test
def a_short_run_says_so():
    summary = measure(["sleep", "0.3"])
    equal(summary["verdict"]["kind"], "too-short", summary["verdict"])
    equal(summary["sizing"]["vcpus"], None, summary["sizing"])
    expect("too short" in summary["sizing"]["vcpus_reason"], summary["sizing"])


@test
def a_failed_run_is_sized_with_that_word():
    summary = measure(["sh", "-c", "sleep 2.3; exit 3"], status=3)
    equal(summary["result"]["verdict"], "failed", summary["result"])
    equal(summary["sizing"]["vcpus"], 1, summary["sizing"])
    texts = [summary["sizing"]["vcpus_reason"], summary["sizing"]["memory_reason"], *summary["notes"]]
    equal(sum("the run failed" in text for text in texts), 1, texts)
    expect("the run failed: sizes are of what it did until then" in summary["notes"], summary["notes"])


@test
def a_kill_of_constant_memory_leaves_no_doubt():
    summary = measure(python(EAT, 50, 1, 0, 2.5, "kill"), interval="500ms", status=137)
    equal(summary["result"]["verdict"], "signaled", summary["result"])
    expect(summary["sizing"]["memory_mib"] is not None, summary["sizing"])
    expect("growing" not in summary["sizing"]["memory_reason"], summary["sizing"])


@test
def a_kill_of_growing_memory_does():
    summary = measure(python(EAT, 8, 25, 0.1, 0, "kill"), status=137)
    equal(summary["sizing"]["memory_mib"], None, summary["sizing"])
    expect("still growing" in summary["sizing"]["memory_reason"], summary["sizing"])


@test
def memory_that_grows_to_the_end_is_named():
    summary = measure(python(EAT, 8, 30, 0.08, 0, ""))
    kinds = ("memory-growing", "starved", "swapping")
    expect(summary["verdict"]["kind"] in kinds, summary["verdict"], summary["memory"])
    expect("it grew to the end" in summary["sizing"]["memory_reason"], summary["sizing"])


@test
def a_short_spike_of_memory_counts():
    """300 MiB for 200 ms in the middle, with a sample each second."""
    summary = measure(python("import time; time.sleep(1.2)\n" + EAT, 300, 1, 0.2, 1.5, "release"), interval="1s")
    need = summary["memory"]["need_mib"]
    expect(need >= 300, summary["memory"])
    largest = summary["memory"]["processes"][0]
    expect(largest["rss_mib"] >= 300 and "python" in largest["name"], "the process that had it", largest)
    size = summary["sizing"]["memory_mib"]
    expect(need * 1.2 <= size <= (need * 1.2 + 1) * 1.125, summary["sizing"])
    expect(summary["verdict"]["kind"] != "memory-growing", summary["verdict"])


def out_of_memory(steps):
    if SANITIZED:
        raise Skip("a sanitizer's own memory does not fit")
    with memory_group(100) as group:
        summary = measure(python(EAT, 8, steps, 3.0 / steps, 5, ""), interval="250ms", group=group, status=137)
        equal(summary["result"]["verdict"], "out of memory", summary["result"])
        equal(summary["verdict"]["kind"], "out-of-memory", summary["verdict"])
        expect("more than the limit of 100 MiB" in summary["verdict"]["text"], summary["verdict"])
        equal(summary["sizing"]["memory_mib"], None, summary["sizing"])
        expect("ask for more than the limit of 100 MiB" in summary["sizing"]["memory_reason"], summary["sizing"])
        equal(summary["sizing"]["vcpus"] is None, summary["wall_secs"] < 2, summary["sizing"])


tap.add("out of memory after half a second", out_of_memory, 80)
tap.add("out of memory after three seconds", out_of_memory, 14)


@test
def memory_close_to_the_limit_is_named():
    if SANITIZED:
        raise Skip("a sanitizer's own memory does not fit")
    with memory_group(200) as group:
        summary = measure(python(EAT, 178, 1, 0, 2.3, ""), group=group)
        need = summary["memory"]["limit_used_pct"]
        kinds = ("memory-limit",) if need >= 90 else ("idle", "mixed", "starved", "swapping")
        expect(summary["verdict"]["kind"] in kinds, summary["verdict"], summary["memory"])
        expect(need > 85, summary["memory"])


@test
def shared_memory_is_counted_once():
    code = """
import mmap, os, time
shared = mmap.mmap(-1, 200 << 20)
for page in range(0, len(shared), 4096):
    shared[page] = 1
for _ in range(3):
    if os.fork() == 0:
        sum(shared[page] for page in range(0, len(shared), 4096))
        break
time.sleep(2.6)
"""
    summary = measure(python(code), flags=("--summary=never",))
    if summary["memory"]["pss_peak_mib"] is None:
        raise Skip("PSS is not known here")
    expect(summary["memory"]["rss_peak_mib"] > 600, summary["memory"])
    expect(240 <= summary["sizing"]["memory_mib"] <= 400, summary["sizing"])


@test
def a_leaked_daemon_is_noted_and_the_job_is_sized():
    summary = measure(["sh", "-c", "setsid sleep 4 & sleep 2.2"])
    expect(any("still ran when it ended" in note for note in summary["notes"]), summary["notes"])
    equal((summary["result"]["verdict"], summary["sizing"]["vcpus"]), ("finished", 1), summary["sizing"])


DIRECT = """
import mmap, os, sys, time
buffer = mmap.mmap(-1, 1 << 20)
out = os.open("direct", os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
end = time.monotonic() + 2.5
while time.monotonic() < end:
    os.pwrite(out, buffer, 0)
"""


@test
def direct_writes_wait_for_the_disk():
    with directory() as place:
        try:
            with open(os.open(place / "probe", os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600), "wb", 0) as probe:
                probe.write(mmap.mmap(-1, 1 << 20))
        except OSError as error:
            raise Skip(f"no direct writes here: {errno.errorcode[error.errno]}") from error
    summary = measure(python(DIRECT))
    waited = (summary["pressure"] or {}).get("io_some_secs")
    if not summary["disk"]["write_bytes"]:
        raise Skip("writes of the job are not measured here")
    if waited is None or waited < 0.3 * summary["wall_secs"] or summary["cpu"]["cores_mean"] >= 0.65:
        raise Skip("the disk is too fast to be waited for")
    expect(summary["verdict"]["kind"] in ("disk", "starved"), summary["verdict"])


@test
def reads_from_the_page_cache_do_not():
    code = """
import os, time
with open("file", "wb") as out:
    out.write(bytes(32 << 20))
end = time.monotonic() + 2.5
with open("file", "rb", 0) as source:
    while time.monotonic() < end:
        os.pread(source.fileno(), 1 << 20, 0)
"""
    summary = measure(python(code))
    expect(summary["verdict"]["kind"] != "disk", summary["verdict"])
    equal(summary["sizing"]["vcpus"], 1, summary["sizing"])


@test
def a_process_that_lives_on_was_only_no_longer_tracked():
    target = subprocess.Popen(["sleep", "30"])
    try:
        with directory() as place:
            with Tracker("-q", "-i", "200ms", "--pid", str(target.pid), "--summary-json", "s.json",
                         cwd=place) as tracker:
                tracker.wait_ready()
                equal(tracker.stop(signal.SIGINT), 0, "status")
            summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
    finally:
        target.kill()
        target.wait()
    if summary["result"]["verdict"] == "finished" and "or tracking was stopped" in summary["result"]["detail"]:
        raise Skip("whether the process lives is not recorded here")
    equal(summary["result"]["verdict"], "stopped", summary["result"])
    expect(not any("still ran" in note for note in summary["notes"]), summary["notes"])


@test
def the_host_alone_is_not_sized():
    with directory() as place:
        with Tracker("-q", "-i", "100ms", "--summary-json", "s.json", cwd=place) as tracker:
            tracker.wait_ready()
            equal(tracker.stop(signal.SIGINT), 0, "status")
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
    equal((summary["sizing"], summary["verdict"]["kind"]), (None, "host"), "sizing")


def recorded(change, count=10):
    """A summary of so many seconds of a job on a machine of 8 CPUs, each changed as the case has it."""
    lines = []
    for i in range(1, count + 1):
        sample = {"timestamp_secs": 1700000000 + i, "timestamp_ms": (1700000000 + i) * 1000, "elapsed_secs": float(i),
                  "tracked_pid": 7,
                  "cpu": {"utilization_pct": 1.0, "per_core_pct": [10.0] * 8, "process_cores_used": 0.5,
                          "process_utime_secs": 0.5, "process_stime_secs": 0.0, "process_wait_secs": 0.0,
                          "process_child_count": 0, "process_rss_mib": 500, "process_disk_read_bytes": 0,
                          "process_disk_write_bytes": 0, "process_major_faults": 0},
                  "memory": {"total_mib": 65536, "used_mib": 4000, "swap_total_mib": 8192, "swap_used_mib": 0},
                  "pressure": {"cpu_some_secs": 0.0, "memory_some_secs": 0.0, "io_some_secs": 0.0},
                  "gpu": [], "resource-tracker-version": "1"}
        if i == 1:
            sample["run"] = {"interval_secs": 1.0, "cpus_allowed": 8}
        else:
            sample["actual_interval_ms"] = 1000
        if i == count:
            sample["end"] = {"exit_code": 0, "signal": None}
        change(sample, i)
        lines.append(json.dumps(sample) + "\n")
    with directory() as place:
        (place / "run.jsonl").write_text("".join(lines), encoding="utf-8")
        done = run(["--from", "run.jsonl", "--summary-json", "s.json"], cwd=place)
        equal(done.returncode, 0, done.stderr)
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
    diag(summary["verdict"]["text"])
    diag(summary["sizing"])
    return summary


def cores(sample, used, wait=0.0, host=None):
    sample["cpu"].update(process_cores_used=used, process_utime_secs=used, process_wait_secs=wait,
                         utilization_pct=host if host is not None else used)


def gpus(sample, driver, shares, total=80):
    """A GPU for each share: use in percent, and GiB held."""
    sample["gpu"] = [{"uuid": f"GPU-{i}" if driver == "nvidia" else f"card{i}", "name": f"{driver} GPU",
                      "host_id": str(i), "detail": {"driver": driver}, "utilization_pct": float(use),
                      "vram_total_bytes": total << 30, "vram_used_bytes": int(gib * (1 << 30)),
                      "process_utilization_pct": float(use), "process_vram_bytes": int(gib * (1 << 30))}
                     for i, (use, gib) in enumerate(shares)]
    sample["cpu"].update(process_gpu_usage=sum(use for use, _ in shares) / 100,
                         process_gpu_vram_mib=int(sum(gib for _, gib in shares) * 1024),
                         process_gpu_utilized=sum(use > 0 for use, _ in shares))


def throttled(sample, _):
    cores(sample, 0.3, 1.7)
    sample["cgroup"] = {"cpu_limit_cores": 0.3, "throttled_secs": 0.7}


def uneven(sample, i):
    gpus(sample, "nvidia", [(90, 79 if i > 5 else 40)] + [(90, 10)] * 7)


def starved_gpu(sample, i):
    cores(sample, 1.0)
    gpus(sample, "nvidia", [(15, 20 + i)])


def swapping(sample, i):
    sample["memory"]["swap_used_mib"] = 100 * i
    sample["pressure"]["memory_some_secs"] = 0.6


def disk(sample, _):
    cores(sample, 0.1)
    sample["cpu"]["process_disk_write_bytes"] = 80_000_000
    sample["pressure"]["io_some_secs"] = 0.8


# What happens in each second: kind of the verdict, and what the sizing must hold.
RECORDINGS = {
    "throttled by a quota": (throttled, "throttled", {"vcpus": 2, "cpu_millicores": 2000}),
    "starved by other work": (lambda s, _: cores(s, 1.0, 1.0, 8.0), "starved", {"vcpus": 2}),
    "one thread on an idle host": (lambda s, _: cores(s, 1.0), "single-threaded", {"vcpus": 1}),
    "one thread on a busy host": (lambda s, _: cores(s, 0.4, 0.6, 8.0), "starved", {"vcpus": 1}),
    "six of eight cores": (lambda s, _: cores(s, 6.0), "cpu-bound", {"vcpus": 6}),
    "all cores, and twice as many wanted": (lambda s, _: cores(s, 8.0, 8.0), "cpu-bound", {"vcpus": 16}),
    "1.82 cores": (lambda s, _: cores(s, 1.82), "cpu-bound", {"vcpus": 2, "cpu_millicores": 1820}),
    "bursts": (lambda s, i: cores(s, 6.0 if i % 2 else 0.2), "mixed", {"vcpus": 6}),
    "swapping": (swapping, "swapping", {"memory_mib": 640}),
    "waiting for the disk": (disk, "disk", {"vcpus": 1}),
    "GPU starved": (starved_gpu, "gpu-starved", {"gpus": 1, "vram_mib": 36 * 1024}),
    "GPU-bound": (lambda s, i: gpus(s, "nvidia", [(97, 20 + i)]), "gpu-bound", {"gpus": 1}),
    "uneven GPUs": (uneven, "gpu-bound", {"gpus": 8, "vram_mib": 95 * 1024}),
    "a pool of a framework": (lambda s, _: gpus(s, "nvidia", [(97, 60)]), "gpu-bound", {"gpus": 1, "vram_mib": None}),
    "idle with a GPU": (lambda s, i: (cores(s, 0.01), gpus(s, "nvidia", [(0, i)])), "idle", {"gpus": 1}),
    "860 MiB": (lambda s, _: s["cpu"].update(process_rss_mib=860), "mixed", {"memory_mib": 1152}),
}


def check_recording(change, kind, sizes):
    summary = recorded(change)
    equal(summary["verdict"]["kind"], kind, summary["verdict"]["text"])
    for key, value in sizes.items():
        equal(summary["sizing"][key], value, f"{key} ({summary['sizing']})")
    for key in ("slurm", "kubernetes", "docker", "metaflow"):
        expect(summary["sizing"][key], key)


for row, (change_of, kind_of, sizes_of) in RECORDINGS.items():
    tap.add(f"recording: {row}", check_recording, change_of, kind_of, sizes_of)


@test
def reasons_of_recordings_are_the_true_ones():
    for change, key, text in ((throttled, "vcpus_reason", "used all of 0.3 cores; wanted about 2"),
                              (RECORDINGS["all cores, and twice as many wanted"][0], "vcpus_reason",
                               "used all 8 cores; wanted about 16, more than the 8 CPUs of this machine"),
                              (uneven, "vram_reason", "peak of 79 GiB on one GPU + 20 %, next GiB, "
                                                      "more than the 80 GiB of this GPU"),
                              (RECORDINGS["a pool of a framework"][0], "vram_reason",
                               "60 GiB reserved by the framework, real need unknown")):
        equal(recorded(change)["sizing"][key], text, key)


@test
def lines_for_gpus_follow_their_vendor():
    for driver, kubernetes, docker in (("nvidia", "nvidia.com/gpu: 2", "--gpus=2"),
                                       ("amdgpu", "amd.com/gpu: 2", "--device=/dev/kfd --device=/dev/dri"),
                                       ("i915", "gpu.intel.com/i915: 2", "--device=/dev/dri"),
                                       ("xe", "gpu.intel.com/xe: 2", "--device=/dev/dri")):
        def change(sample, i, driver=driver):
            gpus(sample, driver, [(50, 2 + i), (50, 3)])
        sizing = recorded(change)["sizing"]
        expect(kubernetes in sizing["kubernetes"] and sizing["kubernetes"].endswith("}}"), sizing["kubernetes"])
        expect(sizing["docker"].endswith(docker), sizing["docker"])
        expect("--gpus=2" in sizing["slurm"] and "gpu=2" in sizing["metaflow"], sizing)


@test
def an_older_recording_is_sized_by_what_was_used():
    def change(sample, _):
        cores(sample, 1.5)
        del sample["cpu"]["process_wait_secs"]
    summary = recorded(change)
    equal(summary["sizing"]["vcpus"], 2, summary["sizing"])
    equal(summary["sizing"]["vcpus_reason"], "P95 of 1.5 cores used; its waiting for a CPU is not known", "reason")
    equal((summary["cpu"]["wait_secs"], summary["cpu"]["wanted_p95"]), (None, None), summary["cpu"])


if __name__ == "__main__":
    tap.main()
