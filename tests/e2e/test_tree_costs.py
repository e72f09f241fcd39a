#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tracking a tree costs, as counts on the shipped binary: system calls, opens, allocations, descriptors.

COUNT_ALLOC_LIB names the library of tests/fake/count_alloc.c.
"""

import os
import pathlib
import re
import shutil
import signal
import struct

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import (SANITIZED, STRACE_BYTES, Tracker, directory, diskstats_rows, listing_calls, need_strace, parse,
                     trace_calls, wait_file_lines, wait_until)

CALLS_MAX = 20
CALLS_PER_PROCESS_MAX = 3
INSTRUCTIONS_MAX = 40000
TREE_INSTRUCTIONS_MAX = 5000  # for one process, births elsewhere included
LOOP_DESCRIPTORS = 3  # to wait, a timer, signals; for the second loop one to be woken by, and one for the first
OPENS = {"open", "openat", "openat2", "creat"}
IDLE_TREE = "i=0; while [ $i -lt 9 ]; do sleep 300 & i=$((i+1)); done; wait"
BUSY_TREE = "(while :; do :; done) & while :; do :; done"


def end_job(tracker, path):
    """Ends the job through the tracker; the samples."""
    wait_until(lambda: path.exists() and path.stat().st_size > 0, "a sample")
    job = parse(path.read_bytes().splitlines()[0])["tracked_pid"]
    for pid in descendants(job):
        os.kill(pid, signal.SIGKILL)
    tracker.wait()
    return [parse(line) for line in path.read_bytes().splitlines()]


def descendants(pid):
    """A process and all below it, children before parents."""
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii")
    return [below for child in text.split() for below in descendants(int(child))] + [pid]


def trace_tree(count, interval, script):
    """The system calls of the tracker per sample over a job, as lists of (name, arguments); also the samples."""
    strace = need_strace()
    with directory() as place:
        before = [strace, "-f", "-q", "-s", str(STRACE_BYTES), "-o", place / "trace"]
        with Tracker("-i", str(interval), "-o", "out", "--", "sh", "-c", script, before=before, cwd=place) as tracker:
            wait_file_lines(place / "out", count, secs=count * interval + 10)
            samples = end_job(tracker, place / "out")
        trace = (place / "trace").read_text(encoding="utf-8", errors="replace")
    calls = trace_calls(trace)
    # The thread that supervises is the first one, the one that samples writes the samples; all others are the job's.
    own = {calls[0][0]} | {thread for thread, name, arguments in calls if name == "write" and '"{' in arguments}
    cycles, cycle = [], []
    for thread, name, arguments in calls:
        if thread not in own:
            continue
        cycle.append((name, arguments))
        if name == "write" and '"{' in arguments:
            cycles.append(cycle)
            cycle = []
    equal(len(cycles), len(samples), "cycles that end with the write of a sample")
    return cycles, samples


def without_pss(cycle):
    """The budgeted readings of PSS come on top: open, read or two, close, and the CPU clock before and after."""
    rest, skip = [], 0
    for name, arguments in cycle:
        if name == "openat" and "smaps_rollup" in arguments:
            if rest and rest[-1][0] == "clock_gettime":
                rest.pop()
            skip = 1
        elif skip:
            skip = 0 if name == "clock_gettime" else 1
        else:
            rest.append((name, arguments))
    return rest


def births(cycle):
    """Processes and threads made since boot, as this cycle read it."""
    found = [re.search(r"\\nprocesses (\d+)\\n", arguments) for name, arguments in cycle if name == "pread64"]
    return [int(match[1]) for match in found if match][0]


def check_calls(interval, script, processes, running=0):
    """running: how many of the processes use CPU time in every interval; of those schedstat is read as well."""
    cycles, samples = trace_tree(int(4 / interval), interval, script)
    checked = 0
    for i in range(2, len(cycles) - 1):
        calls = without_pss(cycles[i])
        names = [name for name, _ in calls]
        # Mounts or disks that came or went are read anew.
        if names.count("epoll_wait") != 1 or diskstats_rows(cycles[i]) != diskstats_rows(cycles[i - 1]):
            continue
        equal(samples[i]["cpu"]["process_child_count"], processes - 1, "children")
        mounts = sum(len(disk["mounts"]) for disk in samples[i]["disk"])
        limit = CALLS_MAX + mounts + CALLS_PER_PROCESS_MAX * processes + running + listing_calls(names)
        # In two cycles after a birth anywhere, every process that ran is asked for children, and so are we; and as long
        # as the counter has not moved.
        if births(cycles[i]) != births(cycles[i - 2]) or births(cycles[i]) == births(cycles[0]):
            limit += processes + 1
        expect(len(calls) <= limit, f"{len(calls)} calls, at most {limit}: {names}")
        equal([call for call in calls if call[0] in OPENS], [], "opens")
        equal(names.count("write"), 1, "writes")
        checked += 1
    expect(checked >= 0.6 / interval, f"only {checked} cycles could be checked")
    tap.diag(f"{len(calls)} calls with {processes} processes at {interval} s, limit {limit}")


@test(limit=40)
def system_calls_of_an_idle_tree():
    check_calls(0.1, IDLE_TREE, 10)
    check_calls(1, IDLE_TREE, 10)


@test(limit=40)
def system_calls_of_a_busy_tree():
    check_calls(0.1, BUSY_TREE, 2, running=2)
    check_calls(1, BUSY_TREE, 2, running=2)


@test(limit=30)
def an_idle_process_costs_one_call():
    cycles, _ = trace_tree(30, 0.05, "sleep 300 & sleep 300 & wait")
    clocks = [sum(name == "clock_gettime" for name, _ in cycle) for cycle in cycles[5:-1]]
    reads = [sum(name == "pread64" for name, _ in cycle) for cycle in cycles[5:-1]]
    least = cycles[5:-1][reads.index(min(reads))]
    expect(min(clocks) >= 3, f"no look at the CPU clocks: {least}")
    stats = [arguments for name, arguments in least if name == "pread64" and re.search(r'"\d+ \(', arguments)]
    equal(stats, [], "stat of sleeping processes read at once again")


@test(limit=30)
def no_allocation_in_the_steady_state():
    if SANITIZED:
        raise Skip("a sanitizer build has costs of its own")
    library = os.environ.get("COUNT_ALLOC_LIB", "")
    if not os.path.exists(library):
        raise Skip("COUNT_ALLOC_LIB does not name a library")
    with directory() as place:
        count = place / "count"
        env = {"LD_PRELOAD": os.path.abspath(library), "COUNT_ALLOC_FILE": str(count)}
        # The job's own allocations must not count.
        words = ["env", "-u", "LD_PRELOAD", "sh", "-c", IDLE_TREE]
        with Tracker("-i", "0.05", "-o", "out", "--", *words, env=env, cwd=place) as tracker:
            wait_file_lines(place / "out", 40)
            before = struct.unpack("=Q", count.read_bytes())[0]
            wait_file_lines(place / "out", 70)
            after = struct.unpack("=Q", count.read_bytes())[0]
            end_job(tracker, place / "out")
    expect(before > 0, "nothing was counted: the library is not in use")
    equal(after - before, 0, "calls of the allocator between two samples")


def followed(tracker):
    """The processes, the tracker itself aside, of which it holds files open."""
    pids = {match[1] for match in (re.match(r"/proc/(\d+)/", link) for link in tracker.links().values()) if match}
    return pids - {str(tracker.pid)}


@test(limit=30)
def descriptors_follow_the_tree():
    with directory() as place:
        script = "sleep 300 & a=$!; sleep 300 & b=$!; read x; kill $a $b; wait; exec sleep 300"
        read_end, write_end = os.pipe()
        words = ("-i", "0.05", "-o", "out", "--", "sh", "-c", script)
        with Tracker(*words, stdin=read_end, cwd=place, pass_fds=()) as tracker:
            os.close(read_end)
            wait_until(lambda: len(followed(tracker)) == 3, "descriptors of three processes")
            os.write(write_end, b"x\n")
            os.close(write_end)
            wait_until(lambda: len(followed(tracker)) == 1, "the descriptors of two processes to be closed")
            end_job(tracker, place / "out")


def below_valgrind():
    """The environment in which the command is started by fork: valgrind does not know the other way."""
    library = os.environ.get("SLOW_START_LIB", "")
    if not os.path.exists(library):
        raise Skip("SLOW_START_LIB does not name a library")
    return {"LD_PRELOAD": os.path.abspath(library), "SLOW_START_COPY": "1"}


def count_instructions(valgrind, secs, *command):
    """User instructions of a run of that many seconds, its samples and the last of them."""
    with directory() as place:
        before = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        with Tracker("-i", "0.02", "-o", "out", *command, before=before, env=below_valgrind(), cwd=place) as tracker:
            if not command:
                wait_file_lines(place / "out", int(secs / 0.025), secs=20)
                tracker.send(signal.SIGTERM)
            equal(tracker.wait(20), 0, "exit status")
            collected = re.search(r"Collected\s*:\s*(\d+)", tracker.stderr())
        expect(collected, "callgrind reported no count")
        lines = (place / "out").read_bytes().splitlines()
        return int(collected[1]), len(lines), parse(lines[-1])


def instructions_per_sample(valgrind):
    """User instructions for a sample with a command, those of them that are the tree's, and a sample."""
    few, few_samples, sample = count_instructions(valgrind, 1, "--", "sleep", "1")
    many, many_samples, _ = count_instructions(valgrind, 3, "--", "sleep", "3")
    each = (many - few) / (many_samples - few_samples)
    few, few_samples, _ = count_instructions(valgrind, 1)
    many, many_samples, _ = count_instructions(valgrind, 3)
    return each, each - (many - few) / (many_samples - few_samples), sample


@test(limit=120)
def instructions_per_sample_with_a_command():
    if SANITIZED:
        raise Skip("a sanitizer build has costs of its own")
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise Skip("valgrind is not installed")
    # Processes that others start must be looked at: on a machine that is busy this is counted up to three times.
    for _ in range(3):
        each, more, sample = instructions_per_sample(valgrind)
        # The budget is that of a small machine; one with many disks and interfaces has more to report.
        sections = len(sample["disk"]) + len(sample["network"]) + len(sample["cpu"]["per_core_pct"])
        limit = INSTRUCTIONS_MAX + max(0, sections - 4) * 1500
        tap.diag(f"{each:.0f} user instructions per sample with one tracked process, limit {limit} here, {more:.0f} of "
                 "them for the tree")
        if each <= limit and more <= TREE_INSTRUCTIONS_MAX:
            return
    expect(more <= TREE_INSTRUCTIONS_MAX, f"the tree takes {more:.0f}, at most {TREE_INSTRUCTIONS_MAX}")
    expect(each <= limit, f"{each:.0f} user instructions per sample, at most {limit}")


@test(limit=60)
def nothing_is_leaked():
    if SANITIZED:
        raise Skip("a sanitizer build cannot run below valgrind")
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise Skip("valgrind is not installed")
    # Descriptors that are open at the end are errors to a new valgrind, so its status says nothing.
    before = [valgrind, "--track-fds=yes", "--leak-check=full"]
    jobs = (["--", "sh", "-c", "sleep 0.2 & (sleep 0.1 &); wait; exit 7"],
            ["-q", "--cgroup", "--", "sh", "-c", "exit 7"], ["--", "sh", "-c", "kill -KILL $$"], ["--", "/nonexistent"])
    for words, status in zip(jobs, (7, 7, 137, 127)):
        nameless_max = LOOP_DESCRIPTORS if "-q" in words else 2 * LOOP_DESCRIPTORS + 1
        with Tracker("-i", "0.05", *words, before=before, env=below_valgrind()) as tracker:
            equal(tracker.wait(20), status, f"exit status of {words}")
            # The child that could not be executed has a report of its own.
            text = "\n".join(line for line in tracker.stderr().splitlines() if line.startswith(f"=={tracker.pid}=="))
        expect("FILE DESCRIPTORS" in text, "no report:", text)
        expect(re.search(r"definitely lost: [1-9]", text) is None, "memory is lost:", text[-2000:])
        expect(not re.search(r"Invalid |Mismatched |uninitialised|overlap", text), "misused memory:", text[-2000:])
        # What lasts as long as the run is left to the kernel to close: files below /proc and /sys that collectors keep,
        # by names relative to these, the root directory, and the nameless ones of the two loops.
        ours = re.findall(r"Open file descriptor \d+: ?([^\n]*)\n==\d+==    at ", text)
        equal([path for path in ours if path.startswith("/") and path != "/"], [],
              "files of ours that are still open at the end")
        nameless = sum(not path for path in ours)
        expect(nameless <= nameless_max, f"{nameless} nameless descriptors are still open at the end of {words}")
        expect(ours.count("/") <= 1, f"{ours.count('/')} times the root directory")


if __name__ == "__main__":
    tap.main()
