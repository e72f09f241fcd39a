# SPDX-License-Identifier: Apache-2.0
"""Accuracy of CPU time: ten jobs that are hard to add up, every tool in turn, against the cgroup's total of each run.

The error is (sum of what the tool reports) / (kernel's total) - 1. Jobs whose children are reaped by the kernel itself
(SIGCHLD ignored) are shown separately: only a cgroup can see their time.
"""

import math
import os

from section import Section
from truth_group import CpuGroup, Missing, Time, find_workload, orderly_end
from truth_tools import run_each, watchers

TICK_SECS = 1 / os.sysconf("SC_CLK_TCK")
SHELL_LOOP = 'i=0; while [ $i -lt 60 ]; do "$0" burn 20; i=$((i + 1)); done'
SHELL = "shell"
# Name, words for the workload program (full; quick, or None where quick does without), reaped by the kernel.
WORKLOADS = (
    ("shell loop, 60 x 20 ms", SHELL, None, False),
    ("build of 24 files, 4 at once", "make 24 250 4", None, False),
    ("fork storm, 2000 x 1 ms", "loop 2000 1 4", None, False),
    ("long child is reaped, then its parent works", "child burn 2600 , burn 1500", "child burn 1200 , burn 900", False),
    ("waves of 4 children, reaped late", "waves 3 4 500 700", None, False),
    ("4 threads, each forks", "threads 4 300", None, False),
    ("3 daemons that end first", "burn 300 , daemons 3 500 ended", "burn 300 , daemons 3 400 ended", False),
    ("3 daemons that stay", "burn 200 , daemons 3 400 stay", None, False),
    ("SIGCHLD ignored, 60 x 20 ms", "ignore 60 20 1", None, True),
    ("SIGCHLD ignored, 4 long children", "ignore 4 700 4", "ignore 4 400 4", True),
)
INTERVALS = (1, 0.1)
FULL_SECS, QUICK_SECS = 330, 40  # after which no more rows are begun


def words_of(text, workload):
    return [workload, *(["exec", "sh", "-c", SHELL_LOOP, workload] if text == SHELL else text.split())]


def allowance(samples):
    """One tick, and what rounding to 4 decimals adds up to over the samples (five sigma)."""
    return TICK_SECS + 5 * 1e-4 / math.sqrt(12) * math.sqrt(2 * max(1, samples))


def outcome(truth, figures, why):
    """One cell as plain data."""
    if not truth or not figures or "cpu_secs" not in figures:
        return {"why": why or "it reports no CPU time"}
    error = figures["cpu_secs"] - truth
    return {"true_secs": round(truth, 6), "secs": round(figures["cpu_secs"], 6), "error_secs": round(error, 6),
            "error_pct": round(100 * error / truth, 4), "samples": figures.get("samples"),
            "within_tick": abs(error) <= allowance(figures.get("samples", 1))}


def percent(value):
    return "0.0 %" if abs(value) < 0.05 else f"{value:+.1f} %"


def show(cell):
    if cell is None:
        return ""
    return percent(cell["error_pct"]) if "error_pct" in cell else "failed"


def worst_of(rows, name, is_auto_reaped, is_complete):
    """The largest error of a tool, by its share of the truth; None where it has none."""
    cells = [(row["cells"][name], row) for row in rows if row["auto_reaped"] == is_auto_reaped]
    is_any_failed = any(cell and "error_pct" not in cell for cell, _ in cells)
    cells = [(cell, row) for cell, row in cells if cell and "error_pct" in cell]
    if not cells:
        return None
    cell, row = max(cells, key=lambda pair: abs(pair[0]["error_pct"]))
    # The largest share may be of a short job: whether all were within a tick is a question of its own. What was left
    # out is not known to be exact.
    is_exact = not is_any_failed and all(other["within_tick"] for other, _ in cells)
    return {"pct": cell["error_pct"], "secs": cell["error_secs"], "workload": row["workload"],
            "interval_secs": row["interval_secs"], "jobs": len(cells),
            "worst_secs": max((other["error_secs"] for other, _ in cells), key=abs),
            "all_within_tick": (is_complete or None) if is_exact else False}


def worst_rows(rows, names, is_complete):
    """Closing rows of the table, and the same as values."""
    table, values = [], {}
    for key, title, is_auto_reaped in (("worst", "**worst, all jobs whose children are waited for**", False),
                                       ("worst_auto_reaped", "**worst, SIGCHLD ignored**", True)):
        values[key] = {name: worst_of(rows, name, is_auto_reaped, is_complete) for name in names}
        shown = [f"**{percent(worst['pct'])}**" if worst else "" for worst in values[key].values()]
        table.append([title, "", "", *shown])
    return table, values


def failures(rows):
    return [f"{name}, {row['workload']} at {row['interval_secs']:g} s: {cell['why']}"
            for row in rows for name, cell in row["cells"].items() if cell and "why" in cell]


def choose_truth(workload):
    """The group that measures the truth, or None, and a word about it."""
    try:
        CpuGroup(workload).close()
        return CpuGroup, "Truth: usage_usec of a private cgroup that the job alone enters, measured anew in every run."
    except Missing as reason:
        return None, f"Truth: what the processes of the job say at their end, since {reason}."


def table_row(row, names):
    true_secs = [cell["true_secs"] for cell in row["cells"].values() if cell and "true_secs" in cell]
    shown = f"{true_secs[0]:.2f}" if true_secs else "?"
    return [row["workload"], f"{row['interval_secs']:g} s", shown, *(show(row["cells"][name]) for name in names)]


def measure_rows(context, group, tools, workload, limit):
    rows = []
    for interval in INTERVALS[:1] if context.quick else INTERVALS:
        fit = [tool for tool in tools if tool.fits(interval)]
        for title, full, quick, is_auto_reaped in WORKLOADS:
            text = quick if context.quick else full
            if not text or (text == SHELL and not group) or limit.is_over(f"{title} at {interval:g} s"):
                continue
            context.say(f"CPU time: {title}, every {interval:g} s")
            ended = run_each(context, fit, words_of(text, workload), interval, width=2 if context.quick else 1,
                             workload=workload, kind=group)
            cells = {name: outcome(*result) for name, result in ended.items()}
            rows.append({"workload": title, "interval_secs": interval, "auto_reaped": is_auto_reaped,
                         "cells": {tool.name: cells.get(tool.name) for tool in tools}})
    return rows


@orderly_end()
def measure(context):
    section = Section(id="accuracy_cpu", title="CPU time of a command and its descendants against the kernel's total",
                      columns=["job", "interval", "truth (s)"])
    try:
        workload = find_workload(context)
        group, word = choose_truth(workload)
    except Missing as reason:
        section.notes.append(f"Not measured: {reason}.")
        return section
    tools = [tool for tool in watchers(context) if group or not tool.is_whole]
    names = [tool.name for tool in tools]
    limit = Time(QUICK_SECS if context.quick else FULL_SECS)
    rows = measure_rows(context, group, tools, workload, limit)
    closing, worst = worst_rows(rows, names, not limit.left_out)
    section.columns += names
    section.rows = [table_row(row, names) for row in rows] + closing
    section.values = worst | {"workloads": len({row["workload"] for row in rows}), "rows": rows,
                              "tick_secs": TICK_SECS, "truth": "cgroup" if group else "reported"}
    section.notes = [word, "Error: sum of what the tool reports over the run, relative to the truth of the same run; "
                     "the clock tick that bounds it is "
                     f"{TICK_SECS * 1e3:g} ms. An empty cell: the tool has no such interval.",
                     "Where SIGCHLD is ignored the kernel drops the time of ended children; only a cgroup (--cgroup) "
                     "keeps it.", *limit.words(), *failures(rows)]
    return section
