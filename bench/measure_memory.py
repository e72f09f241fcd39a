# SPDX-License-Identifier: Apache-2.0
"""(d) Memory of ours over a long run: resident memory at 1 %, 50 % and 100 % of so many samples.

100,000 samples at the shortest interval (10 ms) last 17 minutes. Unless --long asks for that, the program's clock is
sped up (fast_clock.c) and the samples come 50 times as fast; a shorter run at the real cadence stands beside it.
"""

import os
import re
import signal
import subprocess
import time

import helper
from process import Failed, read
from section import Section

SAMPLES = 100000
REAL_SAMPLES = 3000
QUICK_SAMPLES, QUICK_REAL_SAMPLES = 20000, 300
CLOCK_FACTOR = 50
INTERVAL_SECS = 0.01
POINTS = (1, 50, 100)
QUIET_SECS, END_SECS, POLL_SECS = 30, 10, 0.002
COLUMNS = (*POINTS, "peak", "growth", "own", "own_growth")


def memory_mib(pid, name):
    """VmRSS, VmHWM or RssAnon of a process; the last is what it has made itself, without files that are mapped."""
    return int(re.search(rf"^{name}:\s+(\d+) kB", read(f"/proc/{pid}/status"), re.M)[1]) / 1024


def writes(pid):
    """System calls that write, of which each sample makes one. A pipe would not do: its reader may be the slower one,
    and what waits in the tracker is memory, too."""
    return int(re.search(r"^syscw: (\d+)$", read(f"/proc/{pid}/io"), re.M)[1])


def follow(child, samples):
    """The memory of the tracker at each point of the way."""
    found, own, last, heard = {}, {}, 0, time.monotonic()
    for point in POINTS:
        while (seen := writes(child.pid)) < max(1, samples * point // 100):
            heard, last = (time.monotonic() if seen > last else heard), seen
            if child.poll() is not None or time.monotonic() - heard > QUIET_SECS:
                raise Failed(f"the tracker wrote {seen} samples and no more")
            time.sleep(POLL_SECS)
        found[point] = memory_mib(child.pid, "VmRSS")
        own[point] = memory_mib(child.pid, "RssAnon")
    return found | {"peak": memory_mib(child.pid, "VmHWM"), "growth": found[100] - found[50],
                    "own": own[100], "own_growth": own[100] - own[1]}


def run(tool, samples, env):
    argv = tool.argv_wrap(["sleep", "7200"], INTERVAL_SECS, os.devnull)
    start = time.monotonic()
    with subprocess.Popen(argv, env=tool.environ() | env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as child:
        try:
            found = follow(child, samples)
        finally:
            child.send_signal(signal.SIGTERM)
            try:
                child.wait(END_SECS)
            except subprocess.TimeoutExpired:
                child.kill()
    return found | {"samples": samples, "secs": time.monotonic() - start}


def plans(context, place):
    """What is run: a word, samples, and what is added to the environment."""
    if context.long:
        return [("real cadence", SAMPLES, {})]
    real = ("real cadence", QUICK_REAL_SAMPLES if context.quick else REAL_SAMPLES, {})
    library = helper.build("fast_clock", place, "-shared", "-fPIC")
    if not library:
        return [real]
    samples = QUICK_SAMPLES if context.quick else SAMPLES
    env = {"LD_PRELOAD": library, "CLOCK_FACTOR": str(CLOCK_FACTOR)}
    return [(f"clock {CLOCK_FACTOR} times as fast", samples, env), real]


def measure(context):
    section = Section("memory", "Memory of ours over a long run, 10 ms, one tracked process: RSS (MiB)",
                      ["run", "samples", "at 1 %", "at 50 %", "at 100 %", "peak", "growth from 50 %", "its own",
                       "growth of that", "took (s)"])
    with context.directory("memory") as place:
        for name, samples, env in plans(context, place):
            try:
                found = run(context.tool("ours"), samples, env)
            except (Failed, OSError, TypeError) as reason:
                section.notes.append(f"{name}: {reason}")
                continue
            section.values[name] = {str(key): value for key, value in found.items()}
            section.rows.append([name, f"{samples:,}", *(f"{found[key]:.2f}" for key in COLUMNS),
                                 f"{found['secs']:.0f}"])
    section.notes.append("Its own: memory that is no mapped file, its growth from 1 % on. Mapped code is released "
                         "after the first sample and comes back as it is needed, all of it well before 50 %.")
    section.notes.append("No other tool takes part: the Rust tool would need 28 hours for 100,000 samples.")
    return section
