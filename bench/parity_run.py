# SPDX-License-Identifier: Apache-2.0
"""Runs the tools side by side from the same second on, and takes the kernel's counters when one has written a row."""

import csv
import os
import selectors
import subprocess
import sys
import tempfile
import time

import parity_kernel
from parity_compare import Run
from parity_scenario import end

LEAD_SECS = 3
LAST_SECS = 1.7
INTERVAL = "1"
TRACKS_TREE = ("ours", "rust")
SYSTEM_TRACKER = ("import sys\nfrom resource_tracker import SystemTracker\n"
                  "SystemTracker(start_time=float(sys.argv[1]), interval=float(sys.argv[2]),\n"
                  "              output_file='/dev/stdout')")


def say(text):
    print(f"parity: {text}", file=sys.stderr, flush=True)


class Ended(Exception):
    """A tool ended before its time; the text says how."""


def argv_of(tool, pid, start):
    if tool.name in TRACKS_TREE:
        output = "-" if tool.name == "ours" else "/dev/stdout"
        return [tool.program, "-c", "/nonexistent/parity.toml", "-f", "csv", "-i", INTERVAL, "-o", output, "--pid",
                str(pid)]
    return [tool.program, "-c", SYSTEM_TRACKER, str(start), INTERVAL]


def short_name(column):
    """The name that all tools have in common."""
    return column.removeprefix("system_")


def number(field):
    return float(field) if field else None


def environment(tool):
    """That of the tool, with a PATH that may be searched: Python's tracker ends at a directory that may not."""
    env = tool.environ()
    directories = [name for name in env.get("PATH", os.defpath).split(os.pathsep) if os.access(name, os.X_OK)]
    return env | {"PATH": os.pathsep.join(directories)}


class Lines:
    """The output of one tool as it comes."""

    def __init__(self, tool, argv, enter, stack):
        self.run = Run(tool.name, tool.version)
        self.rest = b""
        self.complaints = stack.enter_context(tempfile.TemporaryFile())
        self.process = subprocess.Popen([*enter, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=self.complaints, env=environment(tool), cwd="/")
        stack.callback(end, self.process)
        os.set_blocking(self.process.stdout.fileno(), False)

    def take(self):
        """The rows that have come since; the first line is the header."""
        chunk = os.read(self.process.stdout.fileno(), 65536)
        if not chunk:
            raise Ended(f"{self.run.name} ended early: {self.last_words()}")
        *lines, self.rest = (self.rest + chunk).split(b"\n")
        rows = list(csv.reader(line.decode() for line in lines))
        if rows and not self.run.header:
            self.run.raw_header = rows.pop(0)
            self.run.header = [short_name(column) for column in self.run.raw_header]
        return [dict(zip(self.run.header, map(number, row))) for row in rows]

    def last_words(self):
        self.complaints.seek(0)
        words = self.complaints.read().decode(errors="replace").strip().splitlines()
        return words[-1] if words else f"status {self.process.wait(5)}"


def take_from(selector, key):
    """The rows of one tool; a peer that has ended is not listened to any more, without ours nothing can be said."""
    try:
        return key.data.take()
    except Ended as reason:
        if key.data.run.name == "ours":
            raise
        say(str(reason))
        key.data.run.why_ended = str(reason)
        selector.unregister(key.fileobj)
        return []


def follow(lines, deadline, facts, view):
    """Reads every tool until the deadline. Rows that come together share a snapshot."""
    with selectors.DefaultSelector() as selector:
        for each in lines:
            selector.register(each.process.stdout, selectors.EVENT_READ, each)
        while (left := deadline - time.time()) > 0:
            came = [(key.data, row) for key, _ in selector.select(left) for row in take_from(selector, key)]
            if not came:
                continue
            snap = parity_kernel.take(facts.pid, view)
            facts.learn()
            for each, row in came:
                each.run.rows.append(row)
                each.run.snaps.append(snap)


def side_by_side(stack, tools, secs, facts, view=None, enter=()):
    """Runs all tools for that many seconds over the tree that the facts name; returns their runs, ours first.

    `view` is the process whose mounts count, `enter` the words that lead a tool there. The Python tools wait for the
    second themselves; the others take their first interval from the moment they are started.
    """
    start = int(time.time()) + LEAD_SECS
    lines = {}
    for tool in sorted(tools, key=lambda tool: tool.name in TRACKS_TREE):
        if tool.name in TRACKS_TREE:
            time.sleep(max(0.0, start - time.time()))
        lines[tool.name] = Lines(tool, argv_of(tool, facts.pid, start), enter, stack)
    follow(lines.values(), start + secs + LAST_SECS, facts, view or os.getpid())
    return [lines[tool.name].run for tool in tools]
