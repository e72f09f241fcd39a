#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job wanted of the CPUs: the time it used and the time it waited for one (cpu.process_wait_secs).

A busy thread uses or waits, whatever else runs on the machine: used + waited is the number of busy threads, on an idle
host as on a busy one. That is what is checked; how much of it was used depends on the machine.
"""

import contextlib
import os
import pathlib
import re
import signal
import statistics
import subprocess
import tempfile

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import SANITIZED, Tracker, clean_env, parse, remove_group, wait_until
from truth import WORKLOAD, Job, cpu_of, interval_secs, target

SECS = 4
CPU = min(os.sched_getaffinity(0))


def need_schedstat():
    """Skips where the kernel does not count what a thread waits."""
    try:
        counts = pathlib.Path("/proc/self/task", str(os.getpid()), "schedstat").read_text(encoding="ascii").split()
    except OSError as error:
        raise Skip("the kernel has no schedstat") from error
    if int(counts[2]) == 0:
        raise Skip("the kernel does not count in schedstat")


def wanted(samples, threads):
    """Cores used, and used or waited for, over the samples in which all threads were busy."""
    steady = [sample for sample in samples[1:-1] if sample["cpu"]["process_thread_count"] >= threads]
    known = [sample for sample in steady if sample["cpu"]["process_wait_secs"] is not None]
    secs = sum(map(interval_secs, known))
    # Under a sanitizer a reading costs several times as much, and the budget for them is of CPU time.
    least = len(steady) * 3 // 4 if SANITIZED else len(steady) - 1
    expect(known and len(known) >= least, f"{len(known)} of {len(steady)} samples know what was waited for")
    used = sum(map(cpu_of, known)) / secs
    waited = sum(sample["cpu"]["process_wait_secs"] for sample in known) / secs
    tap.diag(f"{used:.3f} cores used, {waited:.3f} waited for, {used + waited:.3f} wanted; {len(known)} samples, "
             f"{secs:.2f} s")
    return used, used + waited


def check(samples, threads, share):
    used, both = wanted(samples, threads)
    expect(abs(both - threads) <= share * threads, f"{both:.3f} cores wanted by {threads} busy threads")
    return used


def track(words, interval=0.2, before=()):
    need_schedstat()
    with Tracker("-i", str(interval), "-o", "out", "--", *before, WORKLOAD, *map(str, words)) as tracker:
        equal(tracker.wait(SECS * 3 + 20), 0, "exit status")
        equal(tracker.stderr(), "", "stderr")
        return [parse(line) for line in (tracker.cwd / "out").read_bytes().splitlines()]


@contextlib.contextmanager
def others(count):
    """Busy processes outside of the job, on the one CPU."""
    with subprocess.Popen([WORKLOAD, "pin", str(CPU), "busy", str(count), "1", str(SECS * 3000)], env=clean_env(),
                          start_new_session=True) as process:
        try:
            wait_until(lambda: len(children(process.pid)) == count, "the others")
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def children(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    except OSError as error:
        raise Skip("the kernel does not list children") from error


@test(limit=40)
def one_busy_process():
    samples = track(["busy", 1, 1, SECS * 1000])
    check(samples, 1, 0.05)


@test(limit=40)
def one_busy_process_without_children():
    """From the first to the last sample: what it waited to its end is read before it is waited for."""
    samples = track(["burn", 1500])
    expect(all(sample["cpu"]["process_wait_secs"] is not None for sample in samples), "unknown in a sample")
    wall = samples[-1]["elapsed_secs"]
    both = sum(cpu_of(sample) + sample["cpu"]["process_wait_secs"] for sample in samples) / wall
    tap.diag(f"{both:.3f} cores wanted over {wall:.2f} s in {len(samples)} samples")
    # Where the tracker waits for a CPU as well, it notices the end late.
    expect(0.85 <= both <= 1.05, f"{both:.3f} cores wanted by one busy thread")


@test(limit=40)
def a_single_sample():
    samples = track(["burn", 300], interval=60)
    equal(len(samples), 1, "samples")
    wait = samples[0]["cpu"]["process_wait_secs"]
    expect(wait is not None, "unknown")
    both = (cpu_of(samples[0]) + wait) / samples[0]["elapsed_secs"]
    expect(0.7 <= both <= 1.05, f"{both:.3f} cores wanted by one busy thread")


@test(limit=40)
def four_busy_processes():
    check(track(["busy", 4, 1, SECS * 1000]), 4, 0.05)


@test(limit=40)
def four_busy_processes_on_one_cpu():
    used = check(track(["pin", CPU, "busy", 4, 1, SECS * 1000]), 4, 0.1)
    expect(used <= 1.05, f"{used:.3f} cores used on one CPU")


@test(limit=60)
def one_and_two_busy_processes_beside_six_others():
    with others(6):
        for count in (1, 2):
            used = check(track(["pin", CPU, "busy", count, 1, SECS * 1000]), count, 0.1)
            expect(used <= 0.8, f"{used:.3f} cores used beside six others on one CPU")


@test(limit=40)
def eight_threads_on_one_cpu():
    check(track(["pin", CPU, "busy", 1, 8, SECS * 1000]), 8, 0.1)


def check_many(interval):
    """What a thread waits shows when it gets a CPU: of so many on one CPU each gets it some times a second at best, and
    what the last of them wait in the end is never seen."""
    _, both = wanted(track(["pin", CPU, "busy", 1, 64, SECS * 1000], interval), 64)
    expect(0.7 * 64 <= both <= 1.05 * 64, f"{both:.3f} cores wanted by 64 busy threads")


@test(limit=40)
def many_threads_on_one_cpu():
    check_many(0.2)


@test(limit=40)
def many_threads_at_a_short_interval():
    """Where the budget does not last for all of them, they are read in turn."""
    check_many(0.02)


@test(limit=40)
def no_interval_has_more_than_its_threads_can_wait():
    samples = track(["pin", CPU, "busy", 2, 1, SECS * 1000], interval=0.02)
    check(samples, 2, 0.1)
    for before, sample in zip(samples, samples[1:]):
        threads = max(one["cpu"]["process_thread_count"] for one in (before, sample))
        wait = sample["cpu"]["process_wait_secs"]
        # The interval is that of the whole sample, what is waited that of the tree.
        expect(wait is None or wait <= 1.5 * threads * interval_secs(sample) + 0.02,
               f"{wait} s waited for in {interval_secs(sample)} s by {threads} threads")


@test(limit=40)
def a_sleeping_job_waits_for_nothing():
    samples = track(["sleep", 1500], interval=0.1)
    waits = [sample["cpu"]["process_wait_secs"] for sample in samples]
    expect(None not in waits and statistics.median(waits) <= 0.001, waits)


@test(limit=40)
def a_process_that_already_runs():
    need_schedstat()
    with target("pin", CPU, "burn", 20000) as busy, others(2):
        path = pathlib.Path(f"/proc/{busy.pid}/schedstat")
        wait_until(lambda: int(path.read_text(encoding="ascii").split()[1]) > 5e8, "a process that has waited")
        with Tracker("-i", "0.2", "-o", "out", "--duration", str(SECS), "--pid", str(busy.pid)) as tracker:
            equal(tracker.wait(SECS + 10), 0, "exit status")
            samples = [parse(line) for line in (tracker.cwd / "out").read_bytes().splitlines()]
    first = samples[0]
    both = (cpu_of(first) + first["cpu"]["process_wait_secs"]) / interval_secs(first)
    expect(both <= 1.3, f"{both:.3f} cores wanted in the first sample: what was waited for before counts")
    check(samples, 1, 0.1)


@contextlib.contextmanager
def quota_group(cores):
    """The directory of a cgroup with a CPU limit, v2 or v1."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    groups = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8")
    ways = []
    for line in mounts.splitlines():
        fields, kind = (part.split() for part in line.split(" - ", 1))
        if kind[0] == "cgroup2":
            ours = re.search(r"^0::(/.*)$", groups, re.M)
            ways.append((fields[3], fields[4], ours, {"cpu.max": f"{int(cores * 1e5)} 100000"}))
        elif kind[0] == "cgroup" and "cpu" in kind[2].split(","):
            ours = re.search(r"^\d+:(?:[^:]*,)?cpu(?:,[^:]*)?:(/.*)$", groups, re.M)
            ways.append((fields[3], fields[4], ours,
                         {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": str(int(cores * 1e5))}))
    for root, mount, ours, limits in ways:
        group = None
        try:
            inside = ours[1].removeprefix(root.rstrip("/")).strip("/") if ours else ""
            group = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-", dir=pathlib.Path(mount, inside)))
            for name, value in limits.items():
                (group / name).write_text(value, encoding="ascii")
            subprocess.run([WORKLOAD, "enter", group / "cgroup.procs", "/dev/null", "true"], env=clean_env(),
                           capture_output=True, timeout=8, check=True)
        except (OSError, subprocess.SubprocessError):
            if group:
                remove_group(group)
            continue
        try:
            yield group
        finally:
            remove_group(group)
        return
    raise Skip("a cgroup with a CPU limit is not permitted")


def check_quota(cores, counts):
    need_schedstat()
    with quota_group(cores) as group:
        for count in counts:
            enter = [WORKLOAD, "enter", group / "cgroup.procs", "/dev/null"]
            used = check(track(["busy", count, 1, SECS * 1000], before=enter), count, 0.1)
            expect(used <= cores * 1.15, f"{used:.3f} cores used of {cores}")


@test(limit=60)
def a_quota_of_a_third():
    check_quota(0.3, (1, 2))


@test(limit=60)
def a_quota_of_one():
    check_quota(1, (4,))


@test(limit=40)
def processes_that_live_for_a_moment_are_unknown_not_nothing():
    need_schedstat()
    with Job(["loop", "200", "10", "2"], 0.3) as job:
        samples, _ = job.finish()
    # What ran between two samples has left no trace of what it waited.
    busy = [sample for sample in samples if cpu_of(sample) > 0.02]
    expect(busy and any(sample["cpu"]["process_wait_secs"] is None for sample in busy),
           [(cpu_of(sample), sample["cpu"]["process_wait_secs"]) for sample in samples])


if __name__ == "__main__":
    tap.main()
