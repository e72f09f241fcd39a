#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a sample costs, as counts on the shipped binary: system calls, opens, allocations, descriptors, memory.

COUNT_ALLOC_LIB names the library of tests/fake/count_alloc.c. E2E_LONG=1 runs longer versions, 4 minutes in all.
"""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import struct
import subprocess

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import (BINARY, ROOT, SANITIZED, STRACE_BYTES, WAIT_SECS, Tracker, clean_env, directory, diskstats_rows,
                     listing_calls, need_strace, parse, trace_calls, wait_file_lines, wait_until)

LONG = os.environ.get("E2E_LONG") == "1"
CALLS_MAX = 20
INSTRUCTIONS_MAX = 40000
STEADY_CYCLES_MIN = 30
MIB = 1 << 20
RSS_MIB_MAX = 2.5
RSS_GROWTH_MIB_MAX = 0.2  # code that is needed now and then is mapped then, 64 KiB at a time
ANON_GROWTH_MIB_MAX = 0.02
OPENS = {"open", "openat", "openat2", "creat", "open_by_handle_at"}
# Without these there is no socket but those of a pair, through which a helper of ours is asked.
NETWORK = {"socket", "connect", "bind"}
NEW_PROCESS = {"clone", "clone3", "fork", "vfork", "execve"}

def skip_if_sanitized():
    if SANITIZED:
        raise Skip("a sanitizer build has costs of its own")


def need_pid_namespace():
    """The words that run something in a PID namespace with a /proc of its own; skips where that is not possible."""
    unshare = shutil.which("unshare")
    if not unshare:
        raise Skip("unshare is not installed")
    for rights in ([], ["-r"]):
        words = [unshare, *rights, "-p", "-f", "--kill-child", "--mount-proc"]
        probe = subprocess.run([*words, "true"], capture_output=True, timeout=WAIT_SECS, check=False)
        if probe.returncode == 0:
            return words
    raise Skip("namespaces are not permitted")


def last_descendant(pid):
    """The process at the end of a chain in which each started the next, once that is the tracker; else 0."""
    while True:
        try:
            children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
            if not children:
                return pid if os.path.samefile(f"/proc/{pid}/exe", BINARY) else 0
        except OSError:
            return 0
        pid = int(children[0])


def trace_samples(count, interval, *args, around=()):
    """The system calls of a run of that many samples into a file: one list of (name, arguments) per sample, the write
    that ends the sample included; also the samples. `around` are words that run strace."""
    strace = need_strace()
    with directory() as place:
        before = [*around, strace, "-f", "-q", "-s", str(STRACE_BYTES), "-o", place / "trace"]
        with Tracker("-i", str(interval), "-o", "out", *args, before=before, cwd=place) as tracker:
            wait_file_lines(place / "out", count, secs=count * interval + 10)
            os.kill(wait_until(lambda: last_descendant(tracker.pid), "the process of the tracker"), signal.SIGTERM)
            equal(tracker.wait(), 0, "exit status")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
        trace = (place / "trace").read_text(encoding="utf-8", errors="replace")
    cycles, cycle = [], []
    for _, name, arguments in trace_calls(trace):
        cycle.append((name, arguments))
        if name == "write" and '"{' in arguments:
            cycles.append(cycle)
            cycle = []
    equal(len(cycles), len(samples), "cycles that end with the write of a sample")
    return cycles, samples


def count_by_name(cycle):
    names = [name for name, _ in cycle]
    return {name: names.count(name) for name in sorted(set(names))}


def undisturbed(cycles, first):
    """The cycles from the first (to the last but one, which ends the run) in which the machine stayed the same: the
    mount table did not wake the tracker between two samples, and no block device came or went."""
    kept, disturbed = [], []
    for i in range(first, len(cycles) - 1):
        waits = count_by_name(cycles[i]).get("epoll_wait", 0) + count_by_name(cycles[i]).get("epoll_pwait", 0)
        same_disks = diskstats_rows(cycles[i]) == diskstats_rows(cycles[i - 1])
        if waits == 1 and same_disks:
            kept.append(i)
        else:
            disturbed.append(f"{i} ({waits} waits, {'same' if same_disks else 'other'} disks)")
    if disturbed:
        tap.diag(f"left out, for the machine changed in them: cycles {', '.join(disturbed)}")
    return kept


def asked_mounts(sample):
    """Mounted block filesystems with known space; that of ZFS pools comes from elsewhere."""
    mounts = [mount for disk in sample["disk"] if not disk["device"].startswith("zfs:") for mount in disk["mounts"]]
    return sum(mount["total_bytes"] is not None for mount in mounts)


def opens_of(cycles):
    return [call for cycle in cycles for call in cycle if call[0] in OPENS]


@test(limit=30)
def system_calls_per_sample():
    cycles, samples = trace_samples(50, 0.1)
    mounts = sum(len(disk["mounts"]) for disk in samples[-1]["disk"])
    expect(diskstats_rows(cycles[0]) or not samples[0]["disk"], "the trace shows no rows of diskstats")
    steady = [cycles[i] for i in undisturbed(cycles, 10)]
    expect(len(steady) >= STEADY_CYCLES_MIN, f"only {len(steady)} cycles in which the machine stayed the same")
    worst = max(steady, key=lambda cycle: len(cycle) - listing_calls([name for name, _ in cycle]))
    listing = listing_calls([name for name, _ in worst])
    mean = sum(map(len, steady)) / len(steady)
    tap.diag(f"{mean:.1f} calls per sample, at most {len(worst)}: {count_by_name(worst)}; {mounts} mounts")
    expect(len(worst) <= CALLS_MAX + mounts + listing, f"{len(worst)} calls: {count_by_name(worst)}")
    equal(opens_of(steady), [], "opens in the steady state")
    for cycle in steady:
        equal(count_by_name(cycle).get("write"), 1, "writes of a sample")
    for cycle in cycles:
        for name, arguments in cycle:
            expect(name not in NETWORK, f"network call {name}({arguments}")
    processes = [call for cycle in cycles[1:] for call in cycle if call[0] in NEW_PROCESS]
    equal(processes, [], "processes or threads started after the first sample")


@test(limit=30)
def system_calls_per_sample_at_one_second_include_the_space_of_every_mount():
    cycles, samples = trace_samples(7, 1)
    steady = undisturbed(cycles, 2)  # after the first sample the code of the start is unmapped
    expect(len(steady) >= 3, f"only {len(steady)} cycles in which the machine stayed the same")
    for i in steady:
        mounts = asked_mounts(samples[i])
        calls = count_by_name(cycles[i])
        equal(calls.get("statfs", 0) + calls.get("fstatfs", 0), mounts, f"questions for space in cycle {i}")
        most = CALLS_MAX + mounts + listing_calls([name for name, _ in cycles[i]])
        expect(len(cycles[i]) <= most, f"{len(cycles[i])} calls: {calls}, {mounts} mounts")
        equal(opens_of([cycles[i]]), [], "opens")
    tap.diag(f"{len(cycles[steady[0]])} calls: {count_by_name(cycles[steady[0]])}, {asked_mounts(samples[-1])} mounts")


@contextlib.contextmanager
def births():
    """A process is made now and then: without that there is no need to list them."""
    words = ["sh", "-c", "while :; do sleep 0.2; done"]
    with subprocess.Popen(words, env=clean_env(), stdin=subprocess.DEVNULL) as loop:
        try:
            yield
        finally:
            loop.kill()


@test(limit=30)
def nothing_is_opened_in_a_pid_namespace_either():
    with births():
        cycles, _ = trace_samples(24, 0.25, around=need_pid_namespace())
    steady = [cycles[i] for i in undisturbed(cycles, 5)]
    listings = sum("getdents64" in count_by_name(cycle) for cycle in steady)
    tap.diag(f"{listings} listings of the processes in {len(steady)} cycles")
    expect(len(steady) >= 12, f"only {len(steady)} cycles in which the machine stayed the same")
    expect(listings >= 3, f"processes were listed in {listings} cycles only: this is not the case that was meant")
    equal(opens_of(steady), [], "opens in the steady state")


def the_slow_cadence_opens_nothing_either():
    cycles, _ = trace_samples(110, 0.2)
    equal(opens_of(cycles[i] for i in undisturbed(cycles, 10)), [], "opens in the steady state")


if LONG:
    test(the_slow_cadence_opens_nothing_either, limit=40)


def check_allocations(interval, first, last, *arguments, before=()):
    """No call of the allocator between two samples."""
    skip_if_sanitized()
    library = os.environ.get("COUNT_ALLOC_LIB", "")
    if not os.path.exists(library):
        raise Skip("COUNT_ALLOC_LIB does not name a library")

    def read_count():
        return struct.unpack("=Q", path.read_bytes())[0]

    with directory() as place:
        path = place / "count"
        env = {"LD_PRELOAD": os.path.abspath(library), "COUNT_ALLOC_FILE": str(path)}
        with Tracker("-i", str(interval), *arguments, env=env, before=before) as tracker:
            tracker.stdout.take(first)
            at_first = read_count()
            tracker.stdout.take(last - first)
            at_last = read_count()
            os.kill(wait_until(lambda: last_descendant(tracker.pid), "the process of the tracker"), signal.SIGTERM)
            equal(tracker.wait(), 0, "exit status")
    tap.diag(f"{at_first} calls of the allocator up to sample {first}")
    expect(at_first > 0, "nothing was counted: the library is not in use")
    equal(at_last - at_first, 0, f"calls of the allocator between sample {first} and sample {last}")


@test
def allocations_per_sample():
    check_allocations(0.025, 10, 60)
    check_allocations(0.025, 10, 60, "-f", "csv")
    check_allocations(0.025, 10, 60, "--summary-json", "s.json", "--summary-markdown", "s.md", "--report", "r.html")


@test
def allocations_per_sample_in_a_pid_namespace():
    with births():
        check_allocations(0.25, 5, 21, before=need_pid_namespace())


def count_instructions(valgrind, samples):
    """User instructions of a run of at least that many samples of a captured machine, and how many they were."""
    with directory() as place:
        before = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        machine = ROOT / "tests/fixtures/small-vm/t0"
        with Tracker("--sysroot", machine, "-i", "0.02", "-o", "out", before=before, cwd=place) as tracker:
            wait_file_lines(place / "out", samples, secs=20)
            equal(tracker.stop(), 0, "exit status")
            collected = re.search(r"Collected\s*:\s*(\d+)", tracker.stderr())
        expect(collected, "callgrind reported no count")
        return int(collected[1]), (place / "out").read_bytes().count(b"\n")


@test(limit=60)
def instructions_per_sample():
    skip_if_sanitized()
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise Skip("valgrind is not installed")
    few, few_samples = count_instructions(valgrind, 50)
    many, many_samples = count_instructions(valgrind, 400)  # what varies beside the samples is little in each
    each = (many - few) / (many_samples - few_samples)
    tap.diag(f"{each:.0f} user instructions per sample of small-vm, {few - each * few_samples:.0f} beside the samples")
    expect(each <= INSTRUCTIONS_MAX, f"{each:.0f} user instructions per sample, at most {INSTRUCTIONS_MAX}")


def cpu_lines(busy, idle):
    """The lines of /proc/stat for all CPUs together and for each of two, always as long."""
    return "".join(f"{name} {busy:09d} 0 0 {idle:09d} 0 0 0 0 0 0\n" for name in ("cpu ", "cpu0", "cpu1")).encode()


@test(limit=60)
def shares_of_the_cpus_are_fresh_in_every_sample_at_100_ms():
    busy, idle, lists = 10 ** 8, 10 ** 8, []
    with directory() as place:
        shutil.copytree(ROOT / "tests/fixtures/small-vm/t0", place / "machine", symlinks=True)
        path = place / "machine/proc/stat"
        path.write_bytes(cpu_lines(busy, idle) + path.read_bytes().split(b"\n", 3)[3])
        with Tracker("--sysroot", place / "machine", "-i", "0.1") as tracker, open(path, "r+b", buffering=0) as file:
            # Each write has another share, which must show in the next sample. Where two fall into one sample, or
            # none, there is still nothing that was reported before.
            for step in range(1, 31):
                lists.append(parse(tracker.stdout.take(1)[0])["cpu"]["per_core_pct"])
                busy, idle = busy + 3 * step, idle + 100 - 3 * step
                os.pwrite(file.fileno(), cpu_lines(busy, idle), 0)
            equal(tracker.stop(), 0, "exit status")
    known = [shares for shares in lists if shares and None not in shares]
    expect(len(known) >= 20, "too few shares are known:", lists)
    # After a late sample the next one may come too soon for new shares; of stale ones at least every other is the same.
    same = sum(shares == later for shares, later in zip(known, known[1:]))
    expect(4 * same <= len(known), f"{same} of {len(known)} repeat the one before:", lists)


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
    with directory() as place, Tracker("-i", "0.05", "-o", place / "out") as tracker:
        wait_file_lines(place / "out", 2)
        links = tracker.links()
        for fd, link in links.items():
            if fd <= 2:
                continue
            info = pathlib.Path(f"/proc/{tracker.pid}/fdinfo/{fd}").read_text(encoding="ascii")
            flags = int(re.search(r"^flags:\s*([0-7]+)", info, re.M)[1], 8)
            expect(flags & os.O_CLOEXEC, f"descriptor {fd} ({link}) is not close-on-exec")
            known = link in ("/", links[2]) or link.startswith(("/proc", "/sys", "anon_inode:", str(place)))
            expect(known, f"descriptor {fd} leads to {link}")
        equal(tracker.stop(), 0, "exit status")


@test
def it_is_one_thread_that_samples_and_one_that_supervises():
    with Tracker("-i", "0.05") as tracker:
        tracker.stdout.take(3)
        equal(len(os.listdir(f"/proc/{tracker.pid}/task")), 2, "threads")
        equal(tracker.stop(), 0, "exit status")


def memory_mib(pid, field):
    """What the kernel says of the memory of a process."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    return int(re.search(rf"{field}:\s+(\d+) kB", text)[1]) / 1024


@test(limit=260)
def resident_memory_is_small_and_flat():
    skip_if_sanitized()
    last = 20000 if LONG else 2000
    with Tracker("-i", "0.01") as tracker:
        early = [parse(line)["tracker"]["rss_bytes"] / MIB for line in tracker.stdout.take(200)][-1]
        early_anon = memory_mib(tracker.pid, "RssAnon")
        tracker.stdout.take(last - 201, secs=30)
        late = parse(tracker.stdout.next())["tracker"]["rss_bytes"] / MIB
        late_anon = memory_mib(tracker.pid, "RssAnon")
        peak = memory_mib(tracker.pid, "VmHWM")
        equal(tracker.stop(), 0, "exit status")
    tap.diag(f"{early:.3f} MiB after 200 samples, {late:.3f} MiB after {last}, peak {peak:.2f} MiB; "
             f"of its own {early_anon:.3f} and {late_anon:.3f} MiB")
    expect(max(early, late) <= RSS_MIB_MAX, f"{early:.3f} and {late:.3f} MiB resident")
    expect(abs(late - early) <= RSS_GROWTH_MIB_MAX, f"{early} MiB after 200 samples, {late} MiB after {last}")
    expect(abs(late_anon - early_anon) <= ANON_GROWTH_MIB_MAX, f"of its own {early_anon}, then {late_anon} MiB")


@test
def what_it_says_of_its_own_memory_is_what_the_kernel_says():
    with Tracker("-i", "0.05") as tracker:
        sample = parse(tracker.stdout.take(10)[-1])
        pages = int(pathlib.Path(f"/proc/{tracker.pid}/statm").read_text(encoding="ascii").split()[1])
        equal(tracker.stop(), 0, "exit status")
    kernel_mib = pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
    reported_mib = sample["tracker"]["rss_bytes"] / MIB
    equal(sample["tracker"]["rss_mib"], int(reported_mib), "whole MiB")
    expect(abs(reported_mib - kernel_mib) < 0.1 * kernel_mib,
           f"{reported_mib} MiB reported, the kernel has {kernel_mib}")


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
