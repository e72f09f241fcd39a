# SPDX-License-Identifier: Apache-2.0
"""(h) Start-up, size and needs: a start that does nothing (--version and its like), the program stripped, the shared
libraries it asks for, and what an installation takes on disk."""

import os
import pathlib
import re
import shutil
import subprocess

import table
from measure_wrapper import FAST, wall_secs
from process import Failed
from section import Section

ROUNDS, SLOW_ROUNDS = 60, 6
COMES_WITH = ("pip", "setuptools", "pkg_resources", "_distutils", "distutils", "_virtualenv")
NAMES = ("bare", "ours", "gnu-time", "rust", "python", "python-psutil", "psrecord")


def times(tools):
    found = {tool.name: [] for tool in tools}
    for index in range(ROUNDS):
        for tool in tools:
            if tool.name in FAST or tool.name == "rust" or index % (ROUNDS // SLOW_ROUNDS) == 0:
                found[tool.name].append(wall_secs(tool.argv_nothing, tool.environ()))
    return {name: table.spread(values) for name, values in found.items()}


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def stripped_bytes(path, place):
    target = place / "stripped"
    if not shutil.which("strip") or subprocess.run(["strip", "-o", target, path], capture_output=True,
                                                   timeout=30, check=False).returncode != 0:
        return None
    return os.path.getsize(target)


def needed(path):
    if not shutil.which("readelf"):
        return None
    done = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, timeout=30, check=False)
    return re.findall(r"\(NEEDED\).*\[(.+)\]", done.stdout)


def disk_bytes(path):
    """A file, or a directory of Python packages without those that came with the environment."""
    path = pathlib.Path(path)
    if path.is_file():
        return path.stat().st_size
    own = [each for each in path.iterdir() if not each.name.startswith(COMES_WITH)]
    files = [file for each in own for file in ([each] if each.is_file() else each.rglob("*"))]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


def measure(context):
    section = Section("startup", "Start-up and size",
                      ["tool", "start and end (ms)", "ratio to bare", "program, stripped (KiB)", "shared libraries",
                       "on disk (KiB)"])
    tools = [tool for tool in map(context.tool, NAMES) if tool]
    try:
        spreads = times(tools)
    except (Failed, OSError) as reason:
        section.notes.append(str(reason))
        spreads = {}
    for tool in tools:
        figures = {"start_secs": spreads.get(tool.name, {}).get("p50")}
        if tool.program and not tool.name.startswith("p") and is_elf(tool.program):
            with context.directory("startup") as place:
                figures |= {"stripped_bytes": stripped_bytes(tool.program, place), "needed": needed(tool.program)}
        if tool.directory:
            figures["disk_bytes"] = disk_bytes(tool.directory)
        if figures.get("stripped_bytes"):
            figures["disk_bytes"] = figures["stripped_bytes"]
        section.values[tool.name] = figures
        bare = spreads.get("bare", {}).get("p50")
        section.rows.append([tool.name, table.number((figures["start_secs"] or float("nan")) * 1e3),
                             table.ratio(figures["start_secs"], bare), kib(figures.get("stripped_bytes")),
                             ", ".join(figures.get("needed") or []) or None, kib(figures.get("disk_bytes"))])
    section.notes.append("A start that does nothing: `--version`, `--help`, or the import of the package. On disk: the "
                         "program, stripped; of the tools in Python the packages, without the interpreter.")
    return section


def kib(value):
    return None if value is None else f"{value / 1024:,.0f}"
