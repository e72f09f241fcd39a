# SPDX-License-Identifier: Apache-2.0
"""I/O truth of disks: devices with sectors of 512 and 4096 bytes, a known number of bytes, and what each tool reports.

The counters of /proc/diskstats are units of 512 bytes whatever the sector size (Documentation/block/stat.rst). All
tools watch the host while the bytes go to one device after the other.
"""

import contextlib
import json
import pathlib
import select
import signal
import subprocess

import readers
from section import Section
from truth_devices import kernel_bytes, loop_device, sector_bytes, transfer, zram_device
from truth_group import MIB, Missing, orderly_end, wait_until

WRITE_MIB, READ_MIB = 64, 32
SIZE_BYTES = 128 * MIB
INTERVAL_SECS = 1
PYTHON = str(pathlib.Path(__file__).resolve().parent / "truth_python.py")
READ, WRITTEN = 0, 1


class JsonWatcher:
    """Ours and the Rust tool: lines of JSON with totals per disk."""

    def __init__(self, tool, place, stack):
        self.name, self.path = tool.name, place / f"disk-{tool.name}"
        self.process = subprocess.Popen(tool.argv_host(INTERVAL_SECS, self.path), stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=tool.environ())
        stack.callback(end, self.process)

    def samples(self):
        return [sample["raw"] for sample in readers.read_json(self.path)] if self.path.exists() else []

    def begin(self):
        return wait_until(self.samples)

    def look_again(self):
        """Two samples later everything that was written before is in."""
        count = len(self.samples())
        wait_until(lambda: len(self.samples()) >= count + 2)

    def totals(self, name):
        """Growth of the two totals, or None where the tool does not have the disk. Ours leaves out what had no I/O."""
        samples = self.samples()
        rows = [next((disk for disk in sample["disk"] if disk["device"] == name), None) for sample in samples]
        if not rows or rows[-1] is None:
            return None
        first = rows[0] or {"read_bytes_total": 0, "write_bytes_total": 0}
        return tuple(rows[-1][key] - first[key] for key in ("read_bytes_total", "write_bytes_total"))


class PythonWatcher:
    """The Python package: totals per disk of its system tracker, asked for twice."""

    def __init__(self, tool, _place, stack):
        self.name, self.answers = tool.name, []
        self.process = subprocess.Popen([tool.program, PYTHON, "disks"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=tool.environ())
        stack.callback(end, self.process)

    def begin(self):
        """Takes one answer; they are one write each, far smaller than a pipe."""
        ready, _, _ = select.select([self.process.stdout], [], [], 15)
        line = self.process.stdout.readline() if ready else b""
        if line:
            self.answers.append(json.loads(line))
        return bool(line)

    def look_again(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(b"\n")
            self.process.stdin.flush()
        self.begin()

    def totals(self, name):
        if len(self.answers) < 2 or name not in self.answers[-1]:
            return None
        first = self.answers[0].get(name, {"read_bytes": 0, "write_bytes": 0})
        return tuple(self.answers[-1][name][key] - first[key] for key in ("read_bytes", "write_bytes"))


def end(process):
    """Its pipes are closed, and it is asked to end, then made to."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            with contextlib.suppress(OSError):
                pipe.close()


def make_devices(context, place, stack):
    """Names of the devices with their titles, and words about those that cannot be made."""
    makers = [("loop device", lambda: loop_device(place, 4096, SIZE_BYTES)), ("zram", lambda: zram_device(SIZE_BYTES))]
    if not context.quick:
        makers.insert(0, ("loop device", lambda: loop_device(place, 512, SIZE_BYTES)))
    found, words = [], []
    for title, make in makers:
        try:
            name = stack.enter_context(make())
            found.append((name, f"{title}, sectors of {sector_bytes(name)}"))
        except Missing as reason:
            words.append(f"Without {title}: {reason}.")
    return found, words


def start_watchers(context, place, stack):
    makers = {"ours": JsonWatcher, "rust": JsonWatcher, "python": PythonWatcher, "python-psutil": PythonWatcher}
    watchers = [make(tool, place, stack) for name, make in makers.items() if (tool := context.tool(name))]
    return [watcher for watcher in watchers if watcher.begin()]


def show(cell, truth_bytes):
    if cell is None:
        return "not listed"
    share = cell / truth_bytes
    mib = f"{cell / MIB:.0f} MiB"
    return mib if abs(share - 1) < 0.005 else f"**{mib} (x {share:.2g})**"


def measure_devices(context, place, stack):
    devices, words = make_devices(context, place, stack)
    if not devices:
        raise Missing(" ".join(words))
    watchers = start_watchers(context, place, stack)
    before = {name: kernel_bytes(name) for name, _ in devices}
    for name, title in devices:
        context.say(f"disk I/O: {title}")
        transfer(name, WRITE_MIB, READ_MIB)
    after = {name: kernel_bytes(name) for name, _ in devices}
    for watcher in watchers:
        watcher.look_again()
    rows = []
    for name, title in devices:
        totals = {watcher.name: watcher.totals(name) for watcher in watchers}
        kernel = [now - then for then, now in zip(before[name], after[name])]
        for what, place_of, mib in (("written", WRITTEN, WRITE_MIB), ("read", READ, READ_MIB)):
            rows.append({"device": title, "what": what, "true_bytes": mib * MIB, "kernel_bytes": kernel[place_of],
                         "cells": {key: one and one[place_of] for key, one in totals.items()}})
    return rows, [watcher.name for watcher in watchers], words


@orderly_end()
def measure(context):
    section = Section(id="truth_disk", title="Bytes of a disk: what went through it, and what each tool reports",
                      columns=["device", "", "truth", "kernel's counter"])
    try:
        with context.directory("disk") as place, contextlib.ExitStack() as stack:
            rows, names, words = measure_devices(context, place, stack)
    except (Missing, OSError) as reason:
        section.notes.append(f"Not measured: {reason}")
        return section
    section.columns += names
    for row in rows:
        cells = [show(row["cells"][name], row["true_bytes"]) for name in names]
        section.rows.append([row["device"], row["what"], f"{row['true_bytes'] // MIB} MiB",
                             show(row["kernel_bytes"], row["true_bytes"]), *cells])
    section.values = {"rows": rows, "worst_factor": {name: worst_factor(rows, name) for name in names}}
    section.notes = ["The bytes go past the page cache to a device made for the purpose. The kernel's counter: its "
                     "units times 512.",
                     "Growth of each tool's own totals for the disk, from before to two samples after.", *words]
    if "rust" in names:
        section.notes.append("The Rust tool leaves loop devices out.")
    return section


def worst_factor(rows, name):
    """Reported to true bytes, the one furthest from 1; None where the tool lists none of the devices."""
    factors = [row["cells"][name] / row["true_bytes"] for row in rows if row["cells"][name] is not None]
    return round(max(factors, key=lambda factor: abs(factor - 1)), 4) if factors else None
