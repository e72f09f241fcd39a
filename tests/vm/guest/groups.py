# SPDX-License-Identifier: Apache-2.0
"""Control groups of both versions for the tests of a guest: the same limits and counters under one name."""

import contextlib
import os
import pathlib
import signal

from tracker import wait_until

ROOT = pathlib.Path("/sys/fs/cgroup")
IS_V2 = (ROOT / "cgroup.controllers").exists()
PERIOD_USEC = 100000
MIB = 1 << 20


def read_pairs(path):
    """The "key value" lines of a file of the kernel."""
    return {words[0]: int(words[1]) for words in map(str.split, path.read_text(encoding="ascii").splitlines())}


class Group:
    """A group of our own; in v1 one in each hierarchy. What is left in it at the end is killed."""

    def __init__(self, name, parent=None):
        if IS_V2:
            self.cpu = self.memory = (parent.cpu if parent else ROOT) / name
        else:
            self.cpu = (parent.cpu if parent else ROOT / "cpu,cpuacct") / name
            self.memory = (parent.memory if parent else ROOT / "memory") / name
        for directory in self.directories():
            directory.mkdir()

    def directories(self):
        return [self.cpu] if IS_V2 else [self.cpu, self.memory]

    def cpu_setting(self, cores):
        """The file of the limit, what to write into it, and what takes it back."""
        quota = int(cores * PERIOD_USEC)
        if IS_V2:
            return str(self.cpu / "cpu.max"), f"{quota} {PERIOD_USEC}", "max"
        return str(self.cpu / "cpu.cfs_quota_us"), str(quota), "-1"

    def limit_cpu(self, cores):
        path, limit, _ = self.cpu_setting(cores)
        pathlib.Path(path).write_text(limit, encoding="ascii")

    def limit_memory(self, mib):
        name = "memory.max" if IS_V2 else "memory.limit_in_bytes"
        (self.memory / name).write_text(str(mib * MIB), encoding="ascii")

    def share_controllers(self):
        """Groups below this one get the controllers too; nothing may run in it itself then."""
        if IS_V2:
            (self.cpu / "cgroup.subtree_control").write_text("+cpu +memory", encoding="ascii")

    def throttled_secs(self):
        stat = read_pairs(self.cpu / "cpu.stat")
        return stat["throttled_usec"] / 1e6 if IS_V2 else stat["throttled_time"] / 1e9

    def cpu_secs(self):
        if IS_V2:
            return read_pairs(self.cpu / "cpu.stat")["usage_usec"] / 1e6
        return int((self.cpu / "cpuacct.usage").read_text(encoding="ascii")) / 1e9

    def peak_mib(self):
        """None where the kernel does not show it."""
        path = self.memory / ("memory.peak" if IS_V2 else "memory.max_usage_in_bytes")
        return int(path.read_text(encoding="ascii")) / MIB if path.exists() else None

    def oom_kills(self):
        return read_pairs(self.memory / ("memory.events" if IS_V2 else "memory.oom_control"))["oom_kill"]

    def inside(self):
        """The words that run something in the group."""
        enter = "; ".join(f'echo $$ > "{directory}/cgroup.procs"' for directory in self.directories())
        return ["sh", "-c", f'{enter}; exec "$@"', "sh"]

    def _members(self, directory):
        return [int(word) for word in (directory / "cgroup.procs").read_text(encoding="ascii").split()]

    def close(self):
        for directory in self.directories():
            for pid in self._members(directory):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            wait_until(lambda directory=directory: not self._members(directory), f"the end of what runs in {directory}")
            directory.rmdir()


@contextlib.contextmanager
def group(name, parent=None):
    """A Group that is gone afterwards."""
    made = Group(name, parent)
    try:
        yield made
    finally:
        made.close()
