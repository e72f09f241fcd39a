# SPDX-License-Identifier: Apache-2.0
"""What each tool says about a command, and a run of one tool around one command in a cgroup of the job's own.

Every tool is asked the way its documentation has it: those that give CPU time and bytes per interval are summed up,
psrecord's percentages are weighed with the time since its line before, GNU time gives totals. The peak of memory is the
highest value of what the tool calls the memory of the tree.
"""

import contextlib
import csv
import dataclasses
import json
import os
import pathlib
import shlex
import signal
import subprocess
from typing import Callable, Optional

import readers
from process import cpu_clock, read
from section import Tool
from truth_group import MemoryGroup, Missing, wait_until

HERE = pathlib.Path(__file__).resolve().parent
PYTHON = str(HERE / "truth_python.py")
BLOCK = 512
LIMIT_SECS = 60  # as long as a workload may last


@dataclasses.dataclass(frozen=True)
class Watcher:
    """A tool and a way to use it. Samples go to `out` in the directory it is given."""

    name: str
    tool: Tool
    argv: Callable  # (command, interval, place) -> list
    figures: Callable  # (place) -> dict of cpu_secs, peak_mib, read_bytes, write_bytes; absent: not reported
    least_secs: Optional[float] = None  # the shortest interval; None where it takes no samples
    is_whole: bool = False  # it makes a cgroup for the command, so that ours must be around the tool as well

    def fits(self, interval):
        """What takes no samples is asked once, beside those that sample every second."""
        return interval >= (1 if self.least_secs is None else self.least_secs)


def total(samples, key):
    values = [sample[key] for sample in samples if sample.get(key) is not None]
    return sum(values) if values else None


def highest(samples, key):
    return max((sample[key] for sample in samples if sample.get(key) is not None), default=None)


def present(**figures):
    return {name: value for name, value in figures.items() if value is not None}


def sums(samples, memory_key):
    return present(cpu_secs=total(samples, "tree_cpu_secs"), peak_mib=highest(samples, memory_key),
                   read_bytes=total(samples, "tree_read_bytes"), write_bytes=total(samples, "tree_write_bytes"),
                   samples=len(samples))


def ours(tool, *options):
    def argv(command, interval, place):
        words = tool.argv_wrap(command, interval, place / "out")
        return [words[0], *options, "--summary-json", str(place / "summary"), *words[1:]]

    def figures(place):
        memory, samples = json.loads(read(place / "summary"))["memory"], readers.read_json(place / "out")
        groups = [sample["raw"].get("cgroup") or {} for sample in samples]
        found = sums(samples, "tree_pss_mib") | {"peak_mib": memory["need_mib"], "peak_rss_mib": memory["rss_peak_mib"]}
        return present(**found, peak_group_mib=highest(groups, "memory_peak_mib"),
                       summary_group_mib=memory["cgroup_peak_mib"])

    is_whole = "--cgroup" in options
    return Watcher(" ".join(["ours", *options]), tool, argv, figures, least_secs=0.01, is_whole=is_whole)


def rust(tool):
    def figures(place):
        samples = readers.read_json(place / "out")
        return sums(samples, "tree_pss_mib") | present(peak_rss_mib=highest(samples, "tree_rss_mib"))

    return Watcher("rust", tool, lambda command, interval, place: tool.argv_wrap(command, interval, place / "out"),
                   figures, least_secs=1)


def python(tool):
    def argv(command, interval, place):
        return [tool.program, PYTHON, "track", str(place / "out"), f"{interval:g}", *command]

    def figures(place):
        with open(place / "out", newline="", encoding="utf-8") as file:
            rows = [{key: float(text) for key, text in row.items() if text} for row in csv.DictReader(file)]
        found = {"cpu_secs": sum(row["utime"] + row["stime"] for row in rows), "samples": len(rows)}
        for name, key in (("read_bytes", "disk_read_bytes"), ("write_bytes", "disk_write_bytes")):
            found[name] = sum(row[key] for row in rows)
        return found | present(peak_mib=highest(rows, "memory_mib"))

    return Watcher(tool.name, tool, argv, figures, least_secs=0.05)


def psrecord(tool):
    def argv(command, interval, place):
        return [tool.program, shlex.join(command), "--include-children", "--include-io", "--interval", f"{interval:g}",
                "--log", str(place / "out")]

    def figures(place):
        samples = readers.read_psrecord(place / "out")
        # Its bytes are running totals of those alive: the highest is the nearest to a total of the run.
        lines = [line.split() for line in read(place / "out").splitlines() if line and not line.startswith("#")]
        return present(cpu_secs=total(samples, "tree_cpu_secs"), peak_mib=highest(samples, "tree_rss_mib"),
                       read_bytes=max((int(words[6]) for words in lines), default=None),
                       write_bytes=max((int(words[7]) for words in lines), default=None), samples=len(samples))

    return Watcher("psrecord", tool, argv, figures, least_secs=0.05)


def gnu_time(tool):
    def argv(command, _interval, place):
        return [tool.program, "-f", "%U %S %M %I %O", "-o", str(place / "out"), *command]

    def figures(place):
        user, system, rss_kib, blocks_in, blocks_out = (float(word) for word in read(place / "out").split()[-5:])
        return {"cpu_secs": user + system, "peak_mib": rss_kib / 1024, "read_bytes": blocks_in * BLOCK,
                "write_bytes": blocks_out * BLOCK}

    return Watcher("gnu-time", tool, argv, figures)


def watchers(context):
    """Those at hand, ours first."""
    found = []
    for name, make in (("ours", ours), ("ours", lambda tool: ours(tool, "--cgroup")), ("rust", rust),
                       ("python", python), ("python-psutil", python), ("psrecord", psrecord), ("gnu-time", gnu_time)):
        if context.quick and name == "python-psutil":
            continue  # the same package
        if tool := context.tool(name):
            found.append(make(tool))
    return found


class Run:
    """One tool around one command, with the truth beside it. Leaves nothing behind, whatever happens.

    `kind` is the cgroup that measures the truth; without one the processes of the workload report CPU time and output.
    It is entered by the command alone; where the tool makes a group of its own, by the tool too, and the CPU time of
    the tool itself is taken off.
    """

    def __init__(self, watcher, command, interval, place, *, workload, kind=None, is_whole=None):
        self.watcher, self.place = watcher, pathlib.Path(place)
        self.is_whole = watcher.is_whole if is_whole is None else is_whole
        self.stack = contextlib.ExitStack()
        self.why, self.group, self.process = None, None, None
        self.is_reaped = False
        try:
            if kind:
                self.group = self.stack.enter_context(kind(workload))
            self._start(command, interval)
        except BaseException:
            self.close()
            raise

    def _start(self, command, interval):
        enter = self.group.enter(self.place / "entry") if self.group else []
        inner = [*([] if self.is_whole else enter), *command]
        words = [*(enter if self.is_whole else []), *self.watcher.argv(inner, interval, self.place)]
        errors = self.stack.enter_context(open(self.place / "stderr", "wb"))
        env = self.watcher.tool.environ() | {"WORKLOAD_TRUTH": str(self.place / "reported")}
        # Its input stays open till the end: some workloads hold on for so long.
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=errors,
                                        env=env, cwd=self.place, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process:
            if not self.is_reaped:
                # Nothing has waited for it, so that the number is still that of its group of processes.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                self.is_reaped = True
            self.process.stdin.close()
        self.stack.close()

    def _ended(self):
        return os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)

    def finish(self, secs=LIMIT_SECS):
        """Waits for the end. Returns the truth and the tool's figures, which are None where it failed (`why`)."""
        if not wait_until(self._ended, secs):
            self.why = f"did not end within {secs} s"
            return None, None
        own_secs = cpu_clock(self.process.pid) if self.is_whole else 0
        truth = self._truth(own_secs)
        status = self.process.wait()
        self.is_reaped = True
        if status != 0:
            self.why = f"ended with status {status}: {read(self.place / 'stderr').strip()[-160:]}"
            return truth, None
        try:
            return truth, self.watcher.figures(self.place)
        except (OSError, ValueError, KeyError, IndexError) as reason:
            self.why = f"its output cannot be read ({type(reason).__name__}: {reason})"
            return truth, None

    def _truth(self, own_secs):
        with contextlib.suppress(OSError, ValueError):
            if isinstance(self.group, MemoryGroup):
                return self.group.peak_mib()
            if self.group:
                return self.group.secs() + int(read(self.place / "entry")) / 1e6 - own_secs
            return self.reported()[0]
        return None

    def reported(self):
        """What the processes of the workload said: seconds of CPU time, bytes of output."""
        rows = [line.split() for line in read(self.place / "reported").splitlines()]
        return sum(int(row[0]) for row in rows) / 1e6, sum(int(row[1]) for row in rows) * BLOCK


def empty(place):
    """What a run wrote may be large; the directory stays, since its name must not come again."""
    for path in pathlib.Path(place).iterdir():
        with contextlib.suppress(OSError):
            path.unlink()


def run_each(context, tools, command, interval, width=1, **more):
    """The same command under every tool in turn, `width` of them at once.

    Returns truth, figures and why there are none, by the tool's name.
    """
    results = {}
    for start in range(0, len(tools), width):
        with contextlib.ExitStack() as stack:
            runs = []
            for watcher in tools[start:start + width]:
                place = stack.enter_context(context.directory("truth"))
                stack.callback(empty, place)
                try:
                    runs.append(stack.enter_context(Run(watcher, command, interval, place, **more)))
                except (Missing, OSError) as reason:
                    results[watcher.name] = (None, None, str(reason))
            for run in runs:
                truth, figures = run.finish()
                results[run.watcher.name] = (truth, figures, run.why)
    return results
