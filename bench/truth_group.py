# SPDX-License-Identifier: Apache-2.0
"""The kernel's own total for a job: a private cgroup that only the job enters, and the program that plays the jobs.

CPU time is usage_usec of a version 2 cgroup, which needs no controller. The peak of memory is memory.peak (version 2)
or memory.max_usage_in_bytes (version 1); page cache is charged there too. Every group lies below our own, or below the
nearest one above us that hands the memory controller down, so that limits still hold.
"""

import contextlib
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time

from process import PREFIX, read

MIB = 1 << 20
WAIT_SECS = 10
ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCES = ("tests/fake/workload.c", "tests/fake/workload_steps.c")
_numbers = itertools.count(1)


class Missing(Exception):
    """Something that this machine does not have, in words for the reader of the table."""


class Time:
    """What a section may take. On a machine that is too busy, the rest of its rows is left out with a word."""

    def __init__(self, secs):
        self.deadline, self.left_out = time.monotonic() + secs, []

    def is_over(self, row):
        if time.monotonic() < self.deadline:
            return False
        self.left_out.append(row)
        return True

    def words(self):
        return [f"Left out, the time was over: {'; '.join(self.left_out)}."] if self.left_out else []


@contextlib.contextmanager
def orderly_end():
    """A request to end unwinds like Ctrl-C, so that nothing is left behind."""
    def leave(*_):
        raise KeyboardInterrupt

    before = {number: signal.signal(number, leave) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def wait_until(condition, secs=WAIT_SECS):
    """The first true value, or the last one when the time is over."""
    deadline = time.monotonic() + secs
    while not (value := condition()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return value


def find_workload(context):
    """The program of tests/fake/workload.c: the one of the build, else made with the C compiler."""
    built = ROOT / "build/tests/workload"
    if os.access(built, os.X_OK):
        return str(built)
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise Missing("there is no C compiler to build the workloads with")
    with context.directory("workload") as place:
        target = pathlib.Path(place, "workload")
    words = [compiler, "-std=c17", "-D_GNU_SOURCE", "-O1", "-pthread", "-o", target, *(ROOT / name for name in SOURCES)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    if done.returncode != 0:
        raise Missing(f"the workloads do not build: {done.stderr.strip()[:200]}")
    return str(target)


def own_place(kind, controller):
    """The directory of our own cgroup: kind is the type of its mount, controller a pattern for its line in /proc."""
    ours = re.search(rf"^\d+:{controller}:(/.*)$", read("/proc/self/cgroup"), re.M)
    for line in read("/proc/self/mountinfo").splitlines():
        fields, _, rest = line.partition(" - ")
        words, (filesystem, _, options) = fields.split(), (rest.split() + ["", "", ""])[:3]
        if not ours or filesystem != kind or (kind == "cgroup" and "memory" not in options.split(",")):
            continue
        inside = ours[1].removeprefix(words[3].rstrip("/")).strip("/")
        place = pathlib.Path(words[4], inside)
        if place.is_dir():
            return pathlib.Path(words[4]), place
    return None


def memory_places():
    """Where a group with a peak of memory may be made, and the file that holds the peak; the best first."""
    if found := own_place("cgroup2", ""):
        top, place = found
        while True:
            with contextlib.suppress(OSError):
                if "memory" in read(place / "cgroup.subtree_control").split():
                    yield place, "memory.peak"
                    break
            if place == top:
                break
            place = place.parent
    if found := own_place("cgroup", "(?:.*,)?memory(?:,.*)?"):
        yield found[1], "memory.max_usage_in_bytes"


class Group:
    """A cgroup of our own; what is left in it at the end is killed."""

    def __init__(self, above, workload, needs):
        self.path = pathlib.Path(above, f"{PREFIX}{os.getpid()}-truth-{next(_numbers)}")
        self.workload = workload
        try:
            self.path.mkdir()
        except OSError as reason:
            raise Missing(f"no cgroup may be made here ({reason.strerror})") from reason
        try:
            read(self.path / needs)
            subprocess.run([workload, "enter", self.path / "cgroup.procs", "/dev/null", "true"], capture_output=True,
                           timeout=WAIT_SECS, check=True)
        except (OSError, subprocess.SubprocessError) as reason:
            self.close()
            raise Missing("a cgroup of our own cannot be entered") from reason
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def enter(self, note):
        """The words to put before a command; the CPU time spent before it was inside goes to the file `note`."""
        return [self.workload, "enter", str(self.path / "cgroup.procs"), str(note)]

    def pids(self):
        return [int(word) for word in read(self.path / "cgroup.procs").split()]

    def _kill(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not self.pids()

    def _remove(self):
        # A version 1 group may be busy for a moment after its last process.
        with contextlib.suppress(OSError):
            self.path.rmdir()
        return not self.path.exists()

    def close(self):
        for below in [path for path in self.path.iterdir() if path.is_dir()]:
            with contextlib.suppress(OSError):
                for pid in read(below / "cgroup.procs").split():
                    os.kill(int(pid), signal.SIGKILL)
                wait_until(lambda path=below: not read(path / "cgroup.procs").split())
                below.rmdir()
        wait_until(self._kill)
        wait_until(self._remove)


class CpuGroup(Group):
    """Counts the CPU time of the processes that enter."""

    def __init__(self, workload):
        found = own_place("cgroup2", "")
        if not found:
            raise Missing("there is no version 2 cgroup")
        super().__init__(found[1], workload, "cpu.stat")
        self.at_start = self._usage()

    def _usage(self):
        return int(re.search(r"^usage_usec (\d+)$", read(self.path / "cpu.stat"), re.M)[1]) / 1e6

    def secs(self):
        return self._usage() - self.at_start


class MemoryGroup(Group):
    """Keeps the highest memory of the processes that enter."""

    def __init__(self, workload):
        for above, name in memory_places():
            with contextlib.suppress(Missing):
                super().__init__(above, workload, name)
                self.name = name
                return
        raise Missing("there is no cgroup with a peak of memory")

    def peak_mib(self):
        return int(read(self.path / self.name)) / MIB
