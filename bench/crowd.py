# SPDX-License-Identifier: Apache-2.0
"""PID 1 of a namespace full of idle processes: attaches one tool after the other to trees of several sizes.

Usage: crowd.py PROGRAM IDLE OTHERS TREES WINDOW_SECS TOOLS DIRECTORY, lists with commas; measure_scaling.py starts it.
Prints JSON: for each tree and tool the CPU seconds per sample, or in words why there are none.
"""

import json
import os
import signal
import sys
import time

import peers
from measure_cost import cadence
from process import Failed, Running, family

FAN_OUT = 10
BEFORE_SECS = 2.2
AFTER_SECS = 0.3
READY_SECS = 60


def spawn_idle(idle, count, fan_out):
    """The root of a tree of idle processes in a process group of its own, once all of them are there."""
    pid = os.posix_spawn(idle, [idle, str(count), str(fan_out)], {}, setpgroup=0)
    limit = time.monotonic() + READY_SECS
    while len(family(pid)) < count:
        if time.monotonic() > limit:
            raise Failed(f"{count} processes cannot be made within {READY_SECS} s")
        time.sleep(0.1)
    return pid


def end_idle(pid, count):
    os.killpg(pid, signal.SIGKILL)
    # The orphans are ours: this is PID 1.
    for _ in range(count):
        os.waitpid(-pid, 0)


def measure_tool(tool, pid, window, directory):
    output = os.path.join(directory, f"{tool.name}-{time.monotonic_ns()}")
    with Running(tool.argv_attach(pid, 1, output), tool.environ()) as job:
        job.sleep_until(BEFORE_SECS)
        at_start = job.cpu_secs()
        job.sleep_until(BEFORE_SECS + window)
        spent = job.cpu_secs() - at_start
        job.sleep_until(BEFORE_SECS + window + AFTER_SECS)
        job.end()
    # A tool that cannot keep the interval takes fewer samples in the window.
    return spent / (window / (cadence(tool.read_samples(output)) or 1))


def main():
    program, idle, others, trees, window, names, directory = sys.argv[1:]
    spawn_idle(idle, int(others), int(others))
    tools = [peers.ours(program) if name == "ours" else peers.peer(name) for name in names.split(",")]
    found = {}
    for count in map(int, trees.split(",")):
        root = spawn_idle(idle, count, FAN_OUT)
        time.sleep(AFTER_SECS)
        for tool in tools:
            try:
                found[f"{count} {tool.name}"] = measure_tool(tool, root, float(window), directory)
            except (Failed, OSError, ValueError, KeyError, TypeError) as reason:
                found[f"{count} {tool.name}"] = f"{type(reason).__name__}: {reason}"
        end_idle(root, count)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
