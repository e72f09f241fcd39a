#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample costs, as counts on the shipped binary: system calls, opens, allocations, descriptors, memory.

COUNT_ALLOC_LIB names the library of tests/fake/count_alloc.c. E2E_LONG=1 runs longer versions, 4 minutes in all.
"""

import os
import pathlib
import re
import signal
import struct
import subprocess

import tap
from tap import Skip, equal, expect, test
from tracker import BINARY, SANITIZED, Tracker, clean_env, folder, need_strace, parse, wait_file_lines

LONG = os.environ.get("E2E_LONG") == "1"
CALLS_MAX = 20
RSS_MIB_MAX = 2.5
RSS_GROWTH_MIB_MAX = 0.05
CALL = re.compile(r"(?:\[pid +\d+\] |\d+ +)?(?:\d+\.\d+ )?([a-z_0-9]+)\((.*)")
OPENS = {"open", "openat", "openat2", "creat", "open_by_handle_at"}
NETWORK = {"socket", "connect", "sendto", "sendmsg", "bind"}
NEW_PROCESS = {"clone", "clone3", "fork", "vfork", "execve"}


def skip_if_sanitized():
    if SANITIZED:
        raise Skip("a sanitizer build has costs of its own")


def trace_samples(count, interval, *args):
    """The system calls of a run of that many samples into a file: one list of (name, arguments) per sample, the write
    that ends the sample included; also the samples."""
    strace = need_strace()
    with folder() as place:
        before = [strace, "-f", "-q", "-o", place / "trace"]
        with Tracker("-i", str(interval), "-o", "out", *args, before=before, cwd=place) as tracker:
            wait_file_lines(place / "out", count, secs=count * interval + 10)
            children = pathlib.Path(f"/proc/{tracker.pid}/task/{tracker.pid}/children")
            os.kill(int(children.read_text(encoding="ascii").split()[0]), signal.SIGTERM)
            equal(tracker.wait(), 0, "exit status")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
        trace = (place / "trace").read_text(encoding="utf-8", errors="replace")
    turns, turn = [], []
    for line in trace.splitlines():
        match = CALL.match(line)
        if not match:
            continue
        turn.append((match[1], match[2]))
        if match[1] == "write" and '"{' in match[2]:
            turns.append(turn)
            turn = []
    equal(len(turns), len(samples), "turns that end with the write of a sample")
    return turns, samples


def count_by_name(turn):
    names = [name for name, _ in turn]
    return {name: names.count(name) for name in sorted(set(names))}


@test(limit=30)
def system_calls_per_sample():
    turns, samples = trace_samples(50, 0.1)
    mounts = sum(len(disk["mounts"]) for disk in samples[-1]["disk"])
    # The last turn is the final sample with all that ends the run.
    steady = turns[10:-1]
    worst = max(steady, key=len)
    mean = sum(map(len, steady)) / len(steady)
    tap.diag(f"{mean:.1f} calls per sample, at most {len(worst)}: {count_by_name(worst)}; {mounts} mounts")
    expect(len(steady) >= 38, f"{len(steady)} turns")
    expect(len(worst) <= CALLS_MAX + mounts, f"{len(worst)} calls: {count_by_name(worst)}")
    opens = [call for turn in steady for call in turn if call[0] in OPENS]
    equal(opens, [], "opens in the steady state")
    for turn in steady:
        equal(count_by_name(turn).get("write"), 1, "writes of a sample")
    for turn in turns:
        for name, arguments in turn:
            expect(name not in NETWORK, f"network call {name}({arguments}")
    processes = [call for turn in turns[1:] for call in turn if call[0] in NEW_PROCESS]
    equal(processes, [], "processes or threads started after the first sample")


@test(limit=30)
def system_calls_per_sample_at_one_second_include_the_space_of_every_mount():
    turns, samples = trace_samples(4, 1)
    mounts = sum(len(disk["mounts"]) for disk in samples[-1]["disk"])
    for turn in turns[1:-1]:
        expect(len(turn) <= CALLS_MAX + mounts, f"{len(turn)} calls: {count_by_name(turn)}, {mounts} mounts")
        equal([call for call in turn if call[0] in OPENS], [], "opens")
    tap.diag(f"{len(turns[2])} calls: {count_by_name(turns[2])}")


def the_slow_cadence_opens_nothing_either():
    turns, _ = trace_samples(110, 0.2)
    opens = [call for turn in turns[10:-1] for call in turn if call[0] in OPENS]
    equal(opens, [], "opens in the steady state")


if LONG:
    test(the_slow_cadence_opens_nothing_either, limit=40)


@test
def allocations_per_sample():
    skip_if_sanitized()
    library = os.environ.get("COUNT_ALLOC_LIB", "")
    if not os.path.exists(library):
        raise Skip("COUNT_ALLOC_LIB does not name a library")

    def read_count():
        return struct.unpack("=Q", path.read_bytes())[0]

    for arguments in ([], ["-f", "csv"]):
        with folder() as place:
            path = place / "count"
            env = {"LD_PRELOAD": os.path.abspath(library), "COUNT_ALLOC_FILE": str(path)}
            with Tracker("-i", "0.025", *arguments, env=env) as tracker:
                tracker.stdout.take(10)
                at_ten = read_count()
                tracker.stdout.take(50)
                at_sixty = read_count()
                equal(tracker.stop(), 0, "exit status")
            tap.diag(f"{at_ten} calls of the allocator up to sample 10")
            expect(at_ten > 0, "nothing was counted: the library is not in use")
            equal(at_sixty - at_ten, 0, "calls of the allocator between sample 10 and sample 60")


@test
def descriptors_stay_the_same():
    with Tracker("-i", "0.02") as tracker:
        tracker.stdout.take(10)
        at_ten = tracker.links()
        tracker.stdout.take(50)
        at_sixty = tracker.links()
        equal(tracker.stop(), 0, "exit status")
    tap.diag(f"{len(at_ten)} descriptors")
    equal(len(at_sixty), len(at_ten), "descriptors at sample 60 and at sample 10")
    equal(at_sixty, at_ten, "what they lead to")


@test
def descriptors_are_closed_on_exec_and_hold_no_mounted_file():
    with folder() as place, Tracker("-i", "0.05", "-o", place / "out") as tracker:
        wait_file_lines(place / "out", 2)
        for fd, link in tracker.links().items():
            if fd <= 2:
                continue
            info = pathlib.Path(f"/proc/{tracker.pid}/fdinfo/{fd}").read_text(encoding="ascii")
            flags = int(re.search(r"^flags:\s*([0-7]+)", info, re.M)[1], 8)
            expect(flags & os.O_CLOEXEC, f"descriptor {fd} ({link}) is not close-on-exec")
            known = link == "/" or link.startswith(("/proc", "/sys", "anon_inode:", str(place)))
            expect(known, f"descriptor {fd} leads to {link}")
        equal(tracker.stop(), 0, "exit status")


@test
def it_is_one_thread():
    with Tracker("-i", "0.05") as tracker:
        tracker.stdout.take(3)
        equal(len(os.listdir(f"/proc/{tracker.pid}/task")), 1, "threads")
        equal(tracker.stop(), 0, "exit status")


@test(limit=260)
def resident_memory_is_small_and_flat():
    skip_if_sanitized()
    last = 20000 if LONG else 2000
    with Tracker("-i", "0.01") as tracker:
        early = [parse(line)["tracker"]["rss_mib"] for line in tracker.stdout.take(200)][-1]
        tracker.stdout.take(last - 201, secs=30)
        late = parse(tracker.stdout.next())["tracker"]["rss_mib"]
        peak = re.search(r"VmHWM:\s+(\d+) kB", pathlib.Path(f"/proc/{tracker.pid}/status").read_text(encoding="utf-8"))
        equal(tracker.stop(), 0, "exit status")
    tap.diag(f"{early} MiB after 200 samples, {late} MiB after {last}, peak {int(peak[1]) / 1024:.2f} MiB")
    expect(late <= RSS_MIB_MAX, f"{late} MiB resident")
    expect(abs(late - early) <= RSS_GROWTH_MIB_MAX, f"{early} MiB after 200 samples, {late} MiB after {last}")


@test
def what_it_says_of_its_own_memory_is_what_the_kernel_says():
    with Tracker("-i", "0.05") as tracker:
        sample = parse(tracker.stdout.take(10)[-1])
        pages = int(pathlib.Path(f"/proc/{tracker.pid}/statm").read_text(encoding="ascii").split()[1])
        equal(tracker.stop(), 0, "exit status")
    kernel_mib = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    told_mib = sample["tracker"]["rss_mib"]
    expect(abs(told_mib - kernel_mib) < 0.1 * kernel_mib, f"{told_mib} MiB told, the kernel has {kernel_mib}")


@test
def it_needs_nothing_but_the_c_library():
    skip_if_sanitized()
    done = subprocess.run(["ldd", BINARY], env=clean_env(), capture_output=True, text=True, timeout=10, check=False)
    if done.returncode != 0:
        raise Skip("ldd cannot read the program")
    names = [line.split()[0] for line in done.stdout.splitlines()]
    ours = re.compile(r"linux-vdso|linux-gate|ld-linux|(^|/)lib(c|m|pthread|dl|rt)\.so")
    others = [name for name in names if not ours.search(name)]
    equal(others, [], "libraries besides glibc's")


if __name__ == "__main__":
    tap.main()
