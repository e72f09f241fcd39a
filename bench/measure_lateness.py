# SPDX-License-Identifier: Apache-2.0
"""(g) Lateness and drift, idle and with twice as many busy processes as CPUs.

Each tool writes its samples into a pipe and the instant at which a line arrives is noted, so that all are measured with
the same watch. Late is what lies behind the grid of the earliest line; drift is what is lost even at its best.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time

import table
from process import Failed, Running
from section import Section

# Interval and seconds of a run.
FULL = ((0.01, 8), (1, 8))
QUICK = ((0.01, 2),)
SKIP_SECS = 1.2
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: sum(range(100000))"
TOOLS = ("ours", "rust", "python", "psrecord")
WATCH_PRIORITY = 1
ENOUGH_TICKS = 100


class Hogs:
    """Busy processes; they also end when their parent does."""

    def __init__(self, count):
        self.children = [subprocess.Popen([sys.executable, "-S", "-c", BUSY]) for _ in range(count)]

    def __enter__(self):
        time.sleep(0.3 if self.children else 0)
        return self

    def __exit__(self, *_):
        for child in self.children:
            child.kill()
            child.wait()


def set_realtime(on):
    """Where it is permitted, the watch is not kept waiting by the load."""
    try:
        policy = os.SCHED_FIFO if on else os.SCHED_OTHER
        os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, os.sched_param(WATCH_PRIORITY if on else 0))
        return True
    except OSError:
        return False


def arrivals(fd, secs):
    """The lines that come within that time, each with its instant."""
    lines, rest, limit = [], b"", time.monotonic() + secs
    while (left := limit - time.monotonic()) > 0:
        if not select.select([fd], [], [], left)[0]:
            break
        now = time.monotonic()
        try:
            data = os.read(fd, 1 << 16)
        except BlockingIOError:
            continue
        if not data:
            time.sleep(0.001)  # the other end is not open yet
            continue
        *whole, rest = (rest + data).split(b"\n")
        lines += [(now, line) for line in whole]
    return lines


def argv_of(tool, interval, output, secs):
    """On the host where it can be, else around a command that waits."""
    return tool.argv_host(interval, output) or tool.argv_wrap(["sleep", f"{secs + 5:g}"], interval, output)


def run(tool, interval, secs, place):
    fifo = place / f"{tool.name}-{time.monotonic_ns()}"
    os.mkfifo(fifo)
    # Both ends, so that the pipe outlives a tool that opens it late.
    fd = os.open(fifo, os.O_RDWR | os.O_NONBLOCK)
    try:
        with Running(argv_of(tool, interval, fifo, secs), tool.environ()) as job:
            try:
                set_realtime(True)
                arrivals(fd, SKIP_SECS + 1.5 * interval)
                at_start = job.cpu_secs()
                lines = arrivals(fd, secs)
                share = (job.cpu_secs() - at_start) / secs
            finally:
                set_realtime(False)
            job.send(signal.SIGTERM)
            arrivals(fd, 0.3)
    finally:
        os.close(fd)
    return lines, share


def drift_of(behind):
    """What the run loses from its first to its last third, at their earliest, so that a late sample is no drift; scaled
    to the whole run."""
    third = max(1, len(behind) // 3)
    return (min(behind[-third:]) - min(behind[:third])) * 1.5


def figures(tool, lines, share, interval):
    """Lateness and drift in seconds; the share of a core that the tool took meanwhile."""
    if len(lines) < 3:
        raise Failed(f"only {len(lines)} samples")
    behind, waited, own, tick, missed = [], [], [], 0, 0
    for index, (instant, line) in enumerate(lines):
        skipped = 0
        if tool.name == "ours":
            reported = json.loads(line)["tracker"]
            skipped = (reported["missed_samples"] or 0) if index else 0
            own += [reported["late_ms"] / 1e3] if reported["late_ms"] is not None else []
        tick, missed = tick + skipped + (1 if index else 0), missed + skipped
        behind.append(instant - tick * interval)
        # A tick that was skipped has waited for this sample, too; else nothing could be later than an interval.
        waited += [instant - (tick - before) * interval for before in range(skipped + 1)]
    late = [value - min(behind) for value in waited]
    drift = drift_of(behind)
    result = {"samples": len(lines), "share": share, "ticks": tick, "late_p50": table.percentile(late, 50),
              "late_p99": table.percentile(late, 99), "drift_secs": drift}
    if tick >= ENOUGH_TICKS:
        result["drift_per_1000"] = drift / tick * 1000
    if own:
        result |= {"own_p50": table.percentile(own, 50), "own_p99": table.percentile(own, 99), "missed": missed}
    return result


def measure(context):
    section = Section("lateness", "Lateness and drift (ms)",
                      ["load", "interval (s)", "tool", "samples", "late p50", "late p99", "by its own words p50",
                       "p99", "missed", "drift in the run", "drift in 1000 ticks"])
    tools = [tool for tool in map(context.tool, TOOLS) if tool]
    hogs = 2 * (os.cpu_count() or 1)
    with context.directory("lateness") as place:
        for word, count in (("idle", 0), (f"{hogs} busy processes", hogs)):
            for interval, secs in QUICK if context.quick else FULL:
                with Hogs(count):
                    for tool in tools:
                        if not argv_of(tool, interval, "x", secs):
                            continue
                        try:
                            found = figures(tool, *run(tool, interval, secs, place), interval)
                        except (Failed, OSError, ValueError, KeyError) as reason:
                            section.notes.append(f"{word}, {interval:g} s, {tool.name}: {reason}")
                            continue
                        section.values.setdefault(f"{'busy' if count else 'idle'} {interval:g}", {})[tool.name] = found
                        section.rows.append(row(word, interval, tool.name, found))
    section.notes.append("Late: behind the grid of the earliest sample, by the instant at which the line arrives; a "
                         "tool that drifts is later the longer it runs. Ours "
                         "skips ticks that are over (missed); each counts as late as the sample that it got.")
    return section


def row(word, interval, name, found):
    def millis(key):
        return table.number(found[key] * 1e3) if key in found else None

    return [word, f"{interval:g}", name, found["samples"], millis("late_p50"), millis("late_p99"), millis("own_p50"),
            millis("own_p99"), found.get("missed"), millis("drift_secs"), millis("drift_per_1000")]
