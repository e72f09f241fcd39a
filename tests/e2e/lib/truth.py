# SPDX-License-Identifier: Apache-2.0
"""The truth about a tracked job, from outside: a private cgroup around it, else what its processes report themselves.

WORKLOAD names the program of tests/fake/workload.c, which plays the jobs. E2E_TRUTH=reported does without cgroups.
"""

import contextlib
import itertools
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import time

import tap
from tap import Skip, equal, expect
from tracker import (BINARY, SLOW, WAIT_SECS, Tracker, clean_env, directory, file_lines, for_everyone, parse,
                     remove_group, wait_until)

WORKLOAD = os.environ.get("WORKLOAD", "")
if not WORKLOAD or not os.access(WORKLOAD, os.X_OK):
    print("Bail out! WORKLOAD does not name a program")
    sys.exit(1)
WORKLOAD = for_everyone(WORKLOAD)

MIB = 1 << 20
TICK_SECS = 1 / os.sysconf("SC_CLK_TCK")
SHORT_SECS = 0.1  # as SHORT_NS in collect/tree/tree.c
CPUS = os.cpu_count() or 1
NOBODY = 65534
NEIGHBOUR = 65533
IO_KEYS = ("process_disk_read_bytes", "process_disk_write_bytes")
TREE_KEYS = ("process_cores_used", "process_child_count", "process_thread_count", "process_utime_secs",
             "process_stime_secs", "process_rss_mib", "process_peak_rss_mib", "process_major_faults",
             *(IO_KEYS if os.path.exists("/proc/self/io") else ()))
_numbers = itertools.count(1)


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


def cpu_clock(pid):
    """CPU seconds of a process so far, also of one that has ended and was not waited for: its clock, to the ns."""
    return time.clock_gettime((~pid << 3) | 2)


class Group:
    """A cgroup of our own (version 2) that counts the CPU time of what enters it; what is left is killed."""

    def __init__(self):
        mount = re.search(r"^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 ", read("/proc/self/mountinfo"), re.M)
        ours = re.search(r"^0::(/.*)$", read("/proc/self/cgroup"), re.M)
        if os.environ.get("E2E_TRUTH") == "reported" or not mount or not ours:
            raise OSError("no cgroup of version 2")
        inside = ours[1].removeprefix(mount[1].rstrip("/")).strip("/")
        self.path = pathlib.Path(mount[2], inside, f"rt-e2e-{os.getpid()}-{next(_numbers)}")
        self.path.mkdir()
        try:
            subprocess.run([WORKLOAD, "enter", self.path / "cgroup.procs", "/dev/null", "true"], env=clean_env(),
                           capture_output=True, timeout=WAIT_SECS, check=True)
            self.at_start = self._usage()
        except (OSError, subprocess.SubprocessError, AttributeError) as reason:
            self.close()
            raise OSError("a cgroup cannot be entered") from reason

    def _usage(self):
        return int(re.search(r"^usage_usec (\d+)$", read(self.path / "cpu.stat"), re.M)[1]) / 1e6

    def usage_secs(self):
        return self._usage() - self.at_start

    def pids(self):
        return [int(word) for word in read(self.path / "cgroup.procs").split()]

    def close(self):
        for below in sorted((path for path in self.path.rglob("*") if path.is_dir()), reverse=True):
            remove_group(below)
        remove_group(self.path)


def make_group():
    """A Group, or None where that is not permitted."""
    try:
        return Group()
    except OSError:
        return None


def need_group():
    group = make_group()
    if not group:
        raise Skip("a cgroup is not permitted")
    group.close()


class Job(Tracker):
    """The tracker around a workload, with samples in the file `out`, and the truth beside it.

    Only the command is in the cgroup, unless `whole` is set: then the tracker is too, and its own time is subtracted.
    It goes without GPUs then: a helper would read them, whose time is neither the job's nor in our clock.
    """

    def __init__(self, words, interval, *options, whole=False, before=(), place=None, binary=BINARY, **more):
        self.outer = contextlib.ExitStack()
        self.place = pathlib.Path(place or self.outer.enter_context(directory()))
        self.whole = whole
        self.group = make_group()
        if self.group:
            self.outer.callback(self.group.close)
        enter = [WORKLOAD, "enter", self.group.path / "cgroup.procs", self.place / "entry"] if self.group else []
        command = [*([] if whole else enter), WORKLOAD, *words]
        env = {"WORKLOAD_TRUTH": str(self.place / "reported"), **({"TRACKER_COLLECT_GPU": "false"} if whole else {}),
               **more.pop("env", {})}
        super().__init__("-i", str(interval), "-o", "out", *options, "--", *command, env=env, cwd=self.place,
                         before=[*(enter if whole else []), *before], program=(binary,), **more)

    def __exit__(self, *words):
        super().__exit__(*words)
        if self.process.stdin:
            self.process.stdin.close()
        self.outer.close()

    def release(self):
        """Releases the processes that hold on until their standard input ends."""
        self.process.stdin.close()

    def samples(self):
        return [parse(line) for line in file_lines(self.place / "out")]

    def finish(self, status=0, secs=40):
        """Waits for the end; returns the samples and the true CPU seconds, with a note about both."""
        wait_until(lambda: os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG), "the end", secs)
        own_secs = cpu_clock(self.pid) if self.whole else 0
        true_secs = self.group.usage_secs() if self.group else reported(self.place)[0]
        if self.group:
            true_secs += int(read(self.place / "entry")) / 1e6 - own_secs
        equal(self.wait(), status, f"exit status (stderr {self.stderr()!r})")
        samples = self.samples()
        tap.diag(f"{len(samples)} samples, {cpu_sum(samples):.4f} s of CPU time, the kernel has {true_secs:.4f}")
        return samples, true_secs


def reported(place):
    """What the processes of the workload said: seconds of CPU time, bytes of output."""
    rows = [line.split() for line in read(pathlib.Path(place, "reported")).splitlines()]
    return sum(int(row[0]) for row in rows) / 1e6, sum(int(row[1]) for row in rows) * 512


def cpu_of(sample):
    return sample["cpu"]["process_utime_secs"] + sample["cpu"]["process_stime_secs"]


def cpu_sum(samples):
    return sum(map(cpu_of, samples))


def interval_secs(sample):
    """The time that a sample is about; the first counts from the start."""
    return sample.get("actual_interval_ms", sample["elapsed_secs"] * 1e3) / 1e3


def allowance(samples):
    """One tick, and what the rounding to 4 decimals of two values per sample adds up to (five sigma). What a sanitizer
    or an emulator does before it becomes the command, and when it ends, is less clear."""
    return (2 if SLOW else 1) * TICK_SECS + 5 * 1e-4 / math.sqrt(12) * math.sqrt(2 * len(samples))


def check_sum(samples, true_secs, afterwards_secs=0, unreported_secs=0):
    """The sum is the truth; afterwards_secs: what may have been used after the final sample; unreported_secs: what the
    truth may lack, since processes cannot report what their own ends take."""
    got = cpu_sum(samples)
    expect(-allowance(samples) - afterwards_secs <= got - true_secs <= allowance(samples) + unreported_secs,
           f"{got:.4f} s of CPU time in {len(samples)} samples, the kernel has {true_secs:.4f}",
           f"({got - true_secs:+.4f})")


def numbers_of(value, path=""):
    """Every number of a sample with its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from numbers_of(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers_of(inner, f"{path}[{place}]")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield path, value


def check_plausible(samples, hidden=()):
    """Nothing is negative, no tree is without numbers but the hidden ones, and the cores in use fit the seconds and the
    machine: what is more than that counts in the samples that follow."""
    carried, before_secs, wrong = 0.0, 0.0, []
    for sample in samples:
        cpu = sample["cpu"]
        for path, value in numbers_of(sample):
            expect(value >= 0 or (path.endswith(".speed_mbps") and value == -1), f"{path} is {value}")
        for key in TREE_KEYS:
            expect(cpu[key] is not None or key in hidden, f"{key} is unknown at {sample['elapsed_secs']} s")
        # A share over a short interval behind a longer one (the final one, or after one that came late) is that of the
        # sample before as well, and its own time may round to nothing.
        secs = interval_secs(sample)
        is_brief = secs < 0.002 or (secs < SHORT_SECS and (secs < before_secs * 0.6 or sample is samples[-1]))
        before_secs = secs
        cores = cpu["process_cores_used"]
        if cpu_of(sample) <= 0 and cores >= 0.05 and not is_brief and carried <= 0:
            wrong.append((cores, secs))
        expect(cores <= CPUS, f"{cores} cores of {CPUS}")
        carried = max(0.0, carried + cpu_of(sample) - CPUS * secs * 0.99)
    # The readings of a tick are of different moments, far from each other where the tracker is kept waiting meanwhile:
    # at short intervals, where such a wait is longer than they are, one in a hundred may be off.
    long = [secs for _, secs in wrong if secs >= SHORT_SECS]
    expect(not long and len(wrong) <= len(samples) / 100, "(cores, seconds) in no time:", wrong)
    working = [sample for sample in samples[:-1] or samples if cpu_of(sample) >= TICK_SECS / 2]
    shares = [sample["cpu"]["process_cores_used"] * interval_secs(sample) / cpu_of(sample) for sample in working]
    # What is more than the machine can do counts in the shares that follow: of two samples neither may fit.
    expect(len(shares) < 3 or 0.9 <= statistics.median(shares) <= 1.1, "cores in use do not fit the seconds:", shares)
    peaks = [sample["cpu"]["process_peak_rss_mib"] for sample in samples]
    equal(peaks, sorted(peaks), "the peak never falls")


def check_complaints(text, most=1):
    """At most that many complaints, each with one line when it begins and one when it is over."""
    # What a sanitizer says of itself where it may not see all threads is none of ours.
    lines = [line for line in text.splitlines() if "False leaks are possible" not in line]
    began = [line for line in lines if "again" not in line]
    expect(len(began) <= most and len(lines) <= 2 * most, "too many complaints:", text)
    for line in lines:
        expect(line.startswith("resource-tracker: warning: "), f"not a warning: {line}")


def check_within_cpus(samples):
    """No more CPU time in an interval of a second than the CPUs have; the last, shorter one also gets what the kernel
    had not yet shown of the others, since it counts the time of ended children in ticks."""
    for sample in samples:
        spare = 0.0 if interval_secs(sample) > 0.9 else 10 * TICK_SECS
        most = CPUS * 1.02 * interval_secs(sample) + spare
        expect(cpu_of(sample) <= most, f"{cpu_of(sample)} s of CPU time in {interval_secs(sample)} s on {CPUS} CPUs")


def need_root():
    if os.geteuid() != 0:
        raise Skip("only root may become another user")


def need_counted_writes(place):
    """Skips on a filesystem whose writes the kernel does not count, such as tmpfs."""
    env = clean_env(WORKLOAD_TRUTH=str(place / "count"))
    probe = subprocess.run([WORKLOAD, "write", place / "probe", "1", "0"], env=env, capture_output=True,
                           timeout=WAIT_SECS, check=True)
    equal(probe.stderr, b"", "stderr of the workload")
    if int(read(place / "count").split()[1]) * 512 < MIB:
        raise Skip("the kernel does not count what is written to this filesystem")


def need_unshare(*options):
    """The words that run something in namespaces of its own; skips where that is not possible."""
    unshare = shutil.which("unshare")
    if not unshare:
        raise Skip("unshare is not installed")
    for rights in ([], ["-r"]):
        words = [unshare, *rights, "-p", "-f", "--kill-child", *options]
        probe = subprocess.run([*words, "true"], capture_output=True, timeout=WAIT_SECS, check=False)
        if probe.returncode == 0:
            return words
    raise Skip("namespaces are not permitted")


def as_nobody(place):
    """The words that run something as a user without rights, and a copy of the tracker that it may run in place."""
    need_root()
    setpriv = shutil.which("setpriv")
    if not setpriv:
        raise Skip("setpriv is not installed")
    binary = pathlib.Path(shutil.copy(BINARY, place / "tracker"))
    os.chown(place, NOBODY, NOBODY)
    words = [setpriv, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
    for program in (binary, WORKLOAD):
        if subprocess.run([*words, "test", "-x", program], capture_output=True, check=False).returncode != 0:
            raise Skip(f"another user may not run {program}")
    return words, binary


@contextlib.contextmanager
def target(*words, place=None):
    """A workload that runs by itself, to be tracked by PID; it is killed at the end."""
    env = clean_env(**({"WORKLOAD_TRUTH": str(place / "reported")} if place else {}))
    with subprocess.Popen([WORKLOAD, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          env=env) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
