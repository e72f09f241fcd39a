# SPDX-License-Identifier: Apache-2.0
"""(c) Scaling: CPU per sample with many processes on the host and with a large tree, in a PID namespace of its own.

The tools attach to a tree of idle processes, so that nothing but the tool itself is measured.
"""

import json
import pathlib
import shutil
import subprocess
import sys

import helper
import table
from section import Section

CROWD = str(pathlib.Path(__file__).resolve().parent / "crowd.py")
TOOLS = ("ours", "rust", "python")
# Other processes, trees, seconds of the window, tools.
FULL = tuple((count, (1, 10, 100, 1000), 3, TOOLS) for count in (100, 1000, 10000))
QUICK = ((100, (10,), 3, ("ours",)), (100, (1000,), 2, TOOLS), (10000, (10,), 2, TOOLS))
LIMIT_SECS = 420
UNSHARE = ["unshare", "-p", "-f", "--kill-child", "--mount-proc"]


def permitted():
    if not shutil.which("unshare"):
        return False
    return subprocess.run([*UNSHARE, "true"], capture_output=True, timeout=20, check=False).returncode == 0


def crowd(context, others, trees, window, names, directory):
    """The figures of one namespace, by (tree, tool)."""
    idle = helper.build("idle", directory, "-static") or helper.build("idle", directory)
    if not idle:
        raise RuntimeError("there is no C compiler for the idle processes")
    names = [name for name in names if context.tool(name)]
    argv = [*UNSHARE, sys.executable, CROWD, context.program, idle, str(others), ",".join(map(str, trees)),
            str(window), ",".join(names), str(directory)]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_SECS,
                          check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no word")
    found = json.loads(done.stdout)
    return {(int(key.split()[0]), key.split()[1]): value for key, value in found.items()}


def measure(context):
    section = Section("scaling", "Scaling: CPU per sample at 1 s (ms), by processes on the host and in the tree",
                      ["other processes", "tree", *(name for name in TOOLS if context.tool(name)), "ratio to ours"])
    if not permitted():
        section.notes.append("PID namespaces are not permitted here: nothing was measured")
        return section
    for others, trees, window, names in QUICK if context.quick else FULL:
        try:
            with context.directory("scaling") as directory:
                found = crowd(context, others, trees, window, names, directory)
        except (RuntimeError, subprocess.TimeoutExpired, ValueError) as reason:
            section.notes.append(f"{others} others: {reason}")
            continue
        for tree in trees:
            figures = {name: found[tree, name] for name in TOOLS if (tree, name) in found}
            section.notes += [f"{others} x {tree}, {name}: {text}" for name, text in figures.items()
                              if isinstance(text, str)]
            good = {name: secs for name, secs in figures.items() if not isinstance(secs, str)}
            section.values[f"{others}x{tree}"] = good
            section.rows.append([others, tree, *(millis(good.get(name)) for name in TOOLS if context.tool(name)),
                                 ", ".join(f"{name} {table.ratio(secs, good.get('ours'))}"
                                           for name, secs in good.items() if name != "ours") or table.NONE])
    return section


def millis(secs):
    return None if secs is None else table.number(secs * 1e3)
