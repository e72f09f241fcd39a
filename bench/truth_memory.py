# SPDX-License-Identifier: Apache-2.0
"""Accuracy of peak memory: four jobs whose peak is hard to see, every tool in turn, against the cgroup's peak.

The peak of a tree is what it held at one moment, with shared pages counted once. Where no cgroup has it, the truth is
the memory that the job touches by its construction.
"""

import dataclasses
import re

from process import read
from section import Section
from truth_group import MemoryGroup, Missing, Time, find_workload, orderly_end
from truth_tools import run_each, watchers

AT_ONCE = " , ".join(["leave spike 200 1500"] * 4) + " , sleep 2000"
IN_TURN = " , ".join(["child spike 200 500"] * 4)
# Name, words for the workload program (or a line of shell), MiB that it touches, intervals, part of the quick run.
WORKLOADS = (
    ("4 x 200 MiB at once", AT_ONCE, 800, (1, 0.1), False),
    ("4 x 200 MiB in turn", IN_TURN, 200, (1, 0.1), False),
    ("200 MiB shared by 4 forks, for 2 s", 'sleep 2 | "$0" hold 200 4', 200, (1, 0.1), True),
    ("200 MiB shared by 4 forks, for 8 s", 'sleep 8 | "$0" hold 200 4', 200, (1,), False),
    ("400 MiB for 30 ms", "sleep 350 , spike 400 30 , sleep 300", 400, (1, 0.1), True),
)
WIDTH = 3  # these jobs mostly sleep
FULL_SECS, QUICK_SECS = 150, 25  # after which no more rows are begun
NEEDED_MIB = 4000
KEPT = ("peak_rss_mib", "peak_group_mib", "summary_group_mib")
INSIDE = "ours, in the job's cgroup"


def words_of(text, workload):
    return [workload, *(["exec", "sh", "-c", text, workload] if "|" in text else text.split())]


def outcome(truth, figures, why):
    if not truth or figures is None:
        return {"why": why or "no truth"}
    if "peak_mib" not in figures:
        return {"true_mib": round(truth, 2), "nothing": True}
    error = figures["peak_mib"] - truth
    cell = {"true_mib": round(truth, 2), "mib": round(figures["peak_mib"], 2)}
    cell |= {"error_pct": round(100 * error / truth, 2)}
    return cell | {name: round(figures[name], 2) for name in KEPT if name in figures}


def percent(value):
    return "0 %" if abs(value) < 0.5 else f"{value:+.0f} %"


def show(cell):
    if cell is None:
        return ""
    if "nothing" in cell:
        return "saw nothing"
    if "why" in cell:
        return "failed"
    return f"{cell['mib']:.0f} ({percent(cell['error_pct'])})"


def inside(watcher):
    """Ours where tracker and job are in one cgroup, as in a container: it shows the peak of that."""
    def figures(place):
        found = watcher.figures(place)
        peak = found.get("peak_group_mib")
        return {name: value for name, value in (found | {"peak_mib": peak}).items() if value is not None}

    return dataclasses.replace(watcher, name=INSIDE, figures=figures, is_whole=True)


def choose_truth(workload):
    try:
        with MemoryGroup(workload) as group:
            word = f"Truth: {group.name} of a private cgroup that the job alone enters; it has page cache in it too."
        return MemoryGroup, word
    except Missing as reason:
        return None, f"Truth: the memory that the job touches by its construction, since {reason}."


def choose_tools(context, group):
    tools = []
    for watcher in watchers(context):
        if watcher.name == "ours":
            tools += [watcher] + ([inside(watcher)] if group else [])
        elif not watcher.is_whole:
            tools.append(watcher)
    return tools


def measure_rows(context, group, tools, workload, limit):
    rows = []
    for interval in (1,) if context.quick else (1, 0.1):
        fit = [tool for tool in tools if tool.fits(interval)]
        for title, text, touched_mib, intervals, is_quick in WORKLOADS:
            if interval not in intervals or (context.quick and not is_quick):
                continue
            if limit.is_over(f"{title} at {interval:g} s"):
                continue
            context.say(f"peak memory: {title}, every {interval:g} s")
            ended = run_each(context, fit, words_of(text, workload), interval, width=WIDTH, workload=workload,
                             kind=group)
            cells = {name: outcome(truth if group else touched_mib, figures, why)
                     for name, (truth, figures, why) in ended.items()}
            rows.append({"workload": title, "interval_secs": interval,
                         "cells": {tool.name: cells.get(tool.name) for tool in tools}})
    return rows


def worst_of(rows, name):
    """The largest error of a tool; what saw nothing at all missed everything."""
    cells = [(-100.0 if "nothing" in cell else cell["error_pct"], row) for row in rows
             if (cell := row["cells"][name]) and "why" not in cell]
    if not cells:
        return None
    pct, row = max(cells, key=lambda pair: abs(pair[0]))
    return {"pct": pct, "workload": row["workload"], "interval_secs": row["interval_secs"], "jobs": len(cells)}


def table_row(row, names):
    true_mib = [cell["true_mib"] for cell in row["cells"].values() if cell and "true_mib" in cell]
    shown = f"{true_mib[0]:.0f}" if true_mib else "?"
    return [row["workload"], f"{row['interval_secs']:g} s", shown, *(show(row["cells"][name]) for name in names)]


def failures(rows):
    return [f"{name}, {row['workload']} at {row['interval_secs']:g} s: {cell['why']}"
            for row in rows for name, cell in row["cells"].items() if cell and "why" in cell]


def disagreements(rows):
    """Where our summary does not have the peak that our samples have."""
    for row in rows:
        cell = row["cells"].get(INSIDE) or {}
        seen, reported = cell.get("peak_group_mib"), cell.get("summary_group_mib")
        if seen is not None and reported is not None and abs(seen - reported) > 0.05 * seen:
            yield (f"Our summary says cgroup_peak_mib {reported:.0f} where our samples have {seen:.0f}: "
                   f"{row['workload']}, every {row['interval_secs']:g} s.")


@orderly_end()
def measure(context):
    section = Section(id="accuracy_memory", title="Peak memory of a command and its descendants (MiB, error)",
                      columns=["job", "interval", "truth"])
    free = re.search(r"^MemAvailable:\s+(\d+) kB", read("/proc/meminfo"), re.M)
    try:
        if not free or int(free[1]) < NEEDED_MIB * 1024:
            raise Missing(f"it needs {NEEDED_MIB} MiB of free memory")
        workload = find_workload(context)
        group, word = choose_truth(workload)
    except Missing as reason:
        section.notes.append(f"Not measured: {reason}.")
        return section
    tools = choose_tools(context, group)
    names = [tool.name for tool in tools]
    limit = Time(QUICK_SECS if context.quick else FULL_SECS)
    rows = measure_rows(context, group, tools, workload, limit)
    worst = {name: worst_of(rows, name) for name in names}
    section.columns += names
    section.rows = [table_row(row, names) for row in rows]
    section.rows.append(["**worst**", "", "", *(f"**{percent(one['pct'])}**" if one else "" for one in worst.values())])
    section.values = {"worst": worst, "rows": rows, "truth": "cgroup" if group else "construction"}
    section.notes = [word, "Ours: need_mib of the summary (PSS where known, else RSS, at least the largest single "
                     "process). PSS is read on a budget, so that a short job of large processes has RSS only.",
                     "Rust and Python: highest PSS of a sample. psrecord: highest sum of RSS. GNU time: RSS of the "
                     "largest single process.", *limit.words(), *failures(rows)]
    if group:
        section.notes.insert(3, f"\"{INSIDE}\": the tracker runs inside it too, as in a container, and shows the "
                                "kernel's own peak (memory_peak_mib of its samples), the same counter as the truth.")
        section.notes += disagreements(rows)
    return section
