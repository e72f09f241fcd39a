# SPDX-License-Identifier: Apache-2.0
"""Runs a tool as a set of processes of its own and says what the set has cost so far.

The set is a private cgroup where one can be made (version 2, else the cpuacct controller of version 1), so that no
child is missed, however short it lives. Elsewhere it is the tool and its descendants, by their CPU clocks.
"""

import contextlib
import itertools
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

# Handed down, so that the cgroups of a helper in another PID namespace can be recognized as ours.
TOKEN = os.environ.setdefault("BENCH_TOKEN", f"{os.getpid()}-{time.monotonic_ns():x}")
ENTER = 'echo 0 >"$0" && exec "$@"'
PREFIX = f"rt-bench-{TOKEN}-"
END_SECS = 10
_numbers = itertools.count(1)


class Failed(Exception):
    """A tool did not do what was asked of it."""


def read(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


def children(pid):
    """The children of all threads of a process; none where it has ended."""
    found = []
    for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in read(path).split()]
    return found


def family(pid):
    return [pid] + [below for child in children(pid) for below in family(child)]


def cpu_clock(pid):
    """CPU seconds of a process so far, also of one that has ended and was not waited for."""
    return time.clock_gettime((~pid << 3) | 2)


class Group:
    """A cgroup: what is spawned into it is counted, and so are the descendants."""

    def __init__(self, path, file, unit, kind):
        self.path, self.file, self.unit, self.kind = pathlib.Path(path), file, unit, kind

    def argv(self, argv):
        return ["/bin/sh", "-c", ENTER, str(self.path / "cgroup.procs"), *argv]

    def usage_secs(self, _pid):
        return int(re.search(r"(?:^usage_usec )?(\d+)", read(self.path / self.file))[1]) * self.unit

    def pids(self, _pid):
        return [int(word) for word in read(self.path / "cgroup.procs").split()]

    def close(self):
        limit = time.monotonic() + END_SECS
        while time.monotonic() < limit:
            for pid in self.pids(None):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.path.rmdir()
                return
            time.sleep(0.02)


class Clocks:
    """Without a cgroup: the CPU clocks of those alive, so that a short-lived child of the tool is not seen."""

    kind = "CPU clocks of the processes"

    def argv(self, argv):
        return argv

    def usage_secs(self, pid):
        total = 0.0
        for each in family(pid):
            with contextlib.suppress(OSError):
                total += cpu_clock(each)
        return total

    def pids(self, pid):
        return family(pid)

    def close(self):
        pass


def group_places():
    """Where a cgroup could be made, with the file that has the CPU time, its unit and a word."""
    mounts, own = read("/proc/self/mountinfo"), read("/proc/self/cgroup")
    kinds = ((r"cgroup2 \S+ \S+", r"^0::(/.*)$", "cpu.stat", 1e-6, "cgroup, cpu.stat"),
             (r"cgroup \S+ \S*\bcpuacct\b\S*", r"^\d+:(?:[^:]*,)?cpuacct(?:,[^:]*)?:(/.*)$", "cpuacct.usage", 1e-9,
              "cgroup, cpuacct.usage"))
    for kind, line, file, unit, word in kinds:
        mount = re.search(rf"^\S+ \S+ \S+ (\S+) (\S+) .* - {kind}$", mounts, re.M)
        ours = re.search(line, own, re.M)
        if mount and ours:
            inside = ours[1].removeprefix(mount[1].rstrip("/")).strip("/")
            yield pathlib.Path(mount[2], inside, f"{PREFIX}{os.getpid()}-{next(_numbers)}"), file, unit, word


def make_group():
    for place in group_places():
        group = Group(*place)
        try:
            group.path.mkdir()
        except OSError:
            continue
        try:
            subprocess.run(group.argv(["/bin/true"]), capture_output=True, timeout=END_SECS, check=True)
            group.usage_secs(None)
            return group
        except (OSError, subprocess.SubprocessError, TypeError):
            group.close()
    return Clocks()


def sweep():
    """Removes the cgroups that a helper which was killed has left."""
    for place in group_places():
        for path in place[0].parent.glob(f"{PREFIX}*"):
            Group(path, *place[1:]).close()


class Running:
    """A tool at work in a set of its own; at the end of the `with` no process of it is left."""

    def __init__(self, argv, env):
        self.argv, self.usage, self.status = argv, None, None
        self.group, self.words = make_group(), tempfile.TemporaryFile()
        self.started = time.monotonic()
        try:
            self.child = subprocess.Popen(self.group.argv([str(word) for word in argv]), env=env,
                                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=self.words)
        except OSError:
            self.words.close()
            self.group.close()
            raise
        self.pid = self.child.pid

    def cpu_secs(self):
        return self.group.usage_secs(self.pid)

    def sleep_until(self, secs):
        """Sleeps until that many seconds after the start."""
        time.sleep(max(0, self.started + secs - time.monotonic()))

    def members(self, command):
        """The processes of the tool, without those that run the command."""
        own = []
        for pid in self.group.pids(self.pid):
            with contextlib.suppress(OSError):
                words = read(f"/proc/{pid}/cmdline").split("\0")[:-1]
                if words != command:
                    own.append(pid)
        return own

    def send(self, number):
        # Not by way of Popen, which would wait for a process that has ended, and its usage would be lost.
        if self.usage is None:
            os.kill(self.pid, number)

    def end(self, number=signal.SIGTERM):
        self.send(number)
        return self.wait()

    def wait(self, secs=60):
        """The exit status; `usage` then holds what the kernel has counted for it and for all it waited for."""
        limit = time.monotonic() + secs
        while self.usage is None:
            pid, status, usage = os.wait4(self.pid, os.WNOHANG)
            if pid:
                self.child.returncode = self.status = os.waitstatus_to_exitcode(status)
                self.usage = usage.ru_utime + usage.ru_stime
            elif time.monotonic() > limit:
                raise Failed(f"{' '.join(map(str, self.argv))} did not end within {secs} s")
            else:
                time.sleep(0.005)
        return self.status

    def check(self):
        """Waits for an end that must be a good one."""
        if self.wait() != 0:
            self.words.seek(0)
            words = self.words.read()[-200:].decode(errors="replace").strip()
            raise Failed(f"{self.argv[0]} ended with status {self.status}: {words}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            if self.usage is None:
                self.end(signal.SIGKILL)
        finally:
            self.words.close()
            self.group.close()


def memory_of(pids):
    """RSS at its highest and PSS now, both in MiB and summed up; what ends in between does not count."""
    rss = pss = 0
    for pid in pids:
        with contextlib.suppress(OSError, TypeError):
            peak = int(re.search(r"^VmHWM:\s+(\d+) kB", read(f"/proc/{pid}/status"), re.M)[1])
            share = int(re.search(r"^Pss:\s+(\d+) kB", read(f"/proc/{pid}/smaps_rollup"), re.M)[1])
            rss, pss = rss + peak, pss + share
    return rss / 1024, pss / 1024
