# SPDX-License-Identifier: Apache-2.0
"""(b) What a sample asks of the kernel and of the CPU: system calls and opens (strace), user instructions (callgrind).

These are counts, so that other load does not change them; the cadence is one second for all.
"""

import contextlib
import os
import re
import shutil
import signal
import struct
import subprocess
import threading

import helper
import table
from measure_cost import QUICK_TOOLS
from process import Failed
from section import Section

BEFORE_SECS = 2.4
WINDOW_SECS, QUICK_WINDOW_SECS = 6, 2
SILENCE_SECS = 0.25
OPENS = ("open", "openat", "openat2", "creat")
CALL = re.compile(r"^(\d+) +(\d+\.\d+) (?:<\.\.\. )?([a-z_0-9]+)[( ](.*)")
# The budgeted readings of PSS are counted separately: open, read until the end, close, and the CPU clock around them.
PSS = "smaps_rollup"
# Interval and seconds of the short and of the long run.
INSTRUCTIONS = {"ours": (0.02, 1, 3), "rust": (1, 3, 7)}
INSTRUCTIONS_QUICK = {"ours": (0.02, 1, 3), "rust": (1, 2, 5)}
LIMIT_SECS = 120
COUNT_ALLOC = "../tests/fake/count_alloc"
SLOW_START = "../tests/fake/slow_start"


class Jobs:
    """Commands of several threads, each in a session of its own, so that none is left when the bench is interrupted."""

    def __init__(self):
        self.children, self.is_over = set(), False

    def run(self, argv, env):
        """Exit status and what it said on its error stream."""
        if self.is_over:
            raise Failed("interrupted")
        with subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True) as child:
            self.children.add(child)
            try:
                return self.finish(child)
            finally:
                self.children.discard(child)

    @staticmethod
    def finish(child):
        try:
            words = child.communicate(timeout=LIMIT_SECS)[1]
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
        return child.returncode, words

    def end(self):
        self.is_over = True
        for child in list(self.children):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def whole_samples(calls, start, end):
    """The calls of the samples that begin within the window, and how many those are.

    At one second a sample is a burst of calls between two silences: a window of so many seconds may cut one.
    """
    bursts, last = [], None
    for call in sorted(calls, key=lambda call: call[1]):
        if last is None or call[1] - last > SILENCE_SECS:
            bursts.append([])
        bursts[-1].append(call)
        last = call[1]
    found = [burst for burst in bursts if start <= burst[0][1] < end]
    if not found:
        raise Failed("no sample in the window")
    return [call for burst in found for call in burst], len(found)


def trace(jobs, tool, place, window):
    """The calls of the tool and of its children within the window, as (pid, time, name, arguments); the samples."""
    output, log = place / f"{tool.name}-out", place / f"{tool.name}-trace"
    command = ["sleep", f"{BEFORE_SECS + window + 1:g}"]
    argv = ["strace", "-f", "-q", "-ttt", "-o", str(log), *tool.argv_wrap(command, 1, output)]
    status, words = jobs.run(argv, tool.environ())
    if status != 0:
        raise Failed(f"strace: {words.strip()[-200:]}")
    calls = []
    with open(log, encoding="utf-8", errors="replace") as file:
        for line in file:
            match = CALL.match(line)
            # A call that was interrupted by another thread's line stands there twice: its beginning counts.
            if match and "resumed>" not in line.split("(")[0]:
                calls.append((match[1], float(match[2]), match[3], match[4]))
    start = calls[0][1] + BEFORE_SECS
    return whole_samples(calls, start, start + window)


def without_pss(calls):
    """Calls that are not part of a reading of PSS, and the number of such readings."""
    rest, readings, inside = [], 0, False
    for call in calls:
        if call[2] == "openat" and PSS in call[3]:
            readings, inside = readings + 1, True
            if rest and rest[-1][2] == "clock_gettime":
                rest.pop()
        elif inside:
            inside = call[2] != "clock_gettime"
        else:
            rest.append(call)
    return rest, readings


def count(jobs, tool, place, window):
    calls, samples = trace(jobs, tool, place, window)
    figures = {"samples": samples, "calls": len(calls) / samples,
               "opens": sum(call[2] in OPENS for call in calls) / samples,
               "writes": sum(call[2] == "write" for call in calls) / samples}
    if tool.name == "ours":
        rest, readings = without_pss(calls)
        figures |= {"calls_without_pss": len(rest) / samples, "pss_readings": readings / samples,
                    "opens_without_pss": sum(call[2] in OPENS for call in rest) / samples}
        raw = tool.read_samples(place / "ours-out")[-1]["raw"]
        figures["mounts"] = sum(len(disk["mounts"]) for disk in raw["disk"])
        figures["reported"] = (f"{len(raw['cpu']['per_core_pct'])} CPUs, {len(raw['disk'])} disks, "
                               f"{len(raw['network'])} interfaces")
    return figures


def instructions(jobs, tool, place, plan):
    """User instructions per sample, of the tool's own process, or None where it makes no difference."""
    interval, *lengths = plan
    counts = []
    environment = tool.environ()
    library = helper.build(SLOW_START, place, "-shared", "-fPIC") if tool.name == "ours" else None
    if library:  # valgrind knows no process that is started in our memory: by fork instead
        environment |= {"LD_PRELOAD": library, "SLOW_START_COPY": "1"}
    for secs in lengths:
        output = place / f"{tool.name}-{secs}-calls"
        argv = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null",
                *tool.argv_wrap(["sleep", str(secs)], interval, output)]
        status, words = jobs.run(argv, environment)
        found = re.search(r"Collected\s*:\s*(\d+)", words)
        if status != 0 or not found:
            raise Failed(f"callgrind: {words.strip()[-200:]}")
        counts.append((int(found[1]), len(tool.read_samples(output))))
    (few, few_samples), (many, many_samples) = counts
    return (many - few) / (many_samples - few_samples) if many_samples > few_samples else None


def allocations(jobs, tool, place):
    """Calls of the allocator per sample, of ours, by a library that counts them; None where it cannot be built."""
    library = helper.build(COUNT_ALLOC, place, "-shared", "-fPIC")
    if not library:
        return None
    found = []
    for secs in (1, 3):
        count_file, output = place / f"count-{secs}", place / f"allocations-{secs}"
        # The command's own allocations must not count.
        argv = tool.argv_wrap(["env", "-u", "LD_PRELOAD", "sleep", str(secs)], 0.05, output)
        jobs.run(argv, tool.environ() | {"LD_PRELOAD": library, "COUNT_ALLOC_FILE": str(count_file)})
        found.append((struct.unpack("=Q", count_file.read_bytes())[0], len(tool.read_samples(output))))
    (few, few_samples), (many, many_samples) = found
    return (many - few) / (many_samples - few_samples)


def count_tool(context, section, jobs, tool, place, steps):
    figures = section.values.setdefault(tool.name, {})
    plans = INSTRUCTIONS_QUICK if context.quick else INSTRUCTIONS
    try:
        if "calls" in steps and shutil.which("strace"):
            figures |= count(jobs, tool, place, QUICK_WINDOW_SECS if context.quick else WINDOW_SECS)
        if "more" in steps and shutil.which("valgrind") and tool.name in plans:
            figures["instructions"] = instructions(jobs, tool, place, plans[tool.name])
        if "more" in steps and tool.name == "ours":
            figures["allocations"] = allocations(jobs, tool, place)
    except (Failed, OSError, ValueError, KeyError, subprocess.SubprocessError) as reason:
        section.notes.append(f"{tool.name}: {reason}")


def count_all(context, tools, section, place):
    """The calls of ours alone, since births elsewhere make it look for children; the rest at once, being counts."""
    jobs = Jobs()
    plans = [(tools[0], ("more",)), *((tool, ("calls", "more")) for tool in tools[1:])]
    threads = [threading.Thread(target=count_tool, args=(context, section, jobs, tool, place, steps))
               for tool, steps in plans]
    try:
        count_tool(context, section, jobs, tools[0], place, ("calls",))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        jobs.end()


def measure(context):
    section = Section("calls", "System calls and instructions of a sample, one tracked process, 1 s",
                      ["tool", "system calls", "opens", "writes", "user instructions"])
    tools = [tool for tool in context.trackers() if not context.quick or tool.name in QUICK_TOOLS]
    for meter in ("strace", "valgrind"):
        if not shutil.which(meter):
            section.notes.append(f"{meter} is not installed: its columns are empty")
    with context.directory("calls") as place:
        count_all(context, tools, section, place)
    for tool in tools:
        figures = section.values.get(tool.name) or {}
        section.rows.append([tool.name, *(table.number(figures.get(key))
                                          for key in ("calls", "opens", "writes", "instructions"))])
    ours = section.values.get("ours") or {}
    if "mounts" in ours:
        section.notes.append(f"Ours without the budgeted readings of PSS ({ours['pss_readings']:.2f} per sample): "
                             f"{ours['calls_without_pss']:.1f} calls, {ours['opens_without_pss']:.1f} opens; mounts: "
                             f"{ours['mounts']}; calls of the allocator: {table.number(ours.get('allocations'))}.")
    section.notes.append("Instructions: callgrind, the difference of a long and of a short run, ours at 20 ms. Tools "
                         "in Python are left out: below callgrind their interpreter is too slow to keep a cadence.")
    section.notes.append(f"The count of processes on the host (now {len(os.listdir('/proc'))} entries of /proc) is "
                         "part of what the Rust tool asks for.")
    return section
