# SPDX-License-Identifier: Apache-2.0
"""I/O truth of a tree: bytes that a command and its children write, and what each tool reports for the tree.

The kernel adds the I/O of a child to its parent's when the child is waited for (Documentation/filesystems/proc.rst).
Who sums up processes without taking that off counts such bytes twice.
"""

from section import Section
from truth_group import MIB, Missing, Time, find_workload, orderly_end
from truth_tools import run_each, watchers

LATER = 'sleep 1.2; exec "$0" write first 32 1500'
# Name, words for the workload program (which stands where a word is WORKLOAD), part of the quick run.
WORKLOADS = (
    ("a child starts, writes 32 MiB later and is waited for, then its parent writes 32 MiB",
     ["child", "exec", "sh", "-c", LATER, "WORKLOAD", ",", "write", "second", "32", "1300"], True),
    ("a child writes 32 MiB at once and is waited for later, then its parent writes 32 MiB",
     "child write first 32 1500 , write second 32 1300".split(), False),
    ("16 short children write 4 MiB each", ("child write first 4 0 , " * 16 + "sleep 1300").split(), False),
)
WRITTEN = 64 * MIB  # by each of them
INTERVAL_SECS = 1
WIDTH = 3  # these jobs mostly sleep
FULL_SECS = 60  # after which no more rows are begun


def outcome(figures, why):
    if figures is None:
        return {"why": why}
    if "write_bytes" not in figures:
        return {"nothing": True}
    return {"bytes": int(figures["write_bytes"]), "error_pct": round(100 * (figures["write_bytes"] / WRITTEN - 1), 2)}


def show(cell):
    if "why" in cell:
        return "failed"
    if "nothing" in cell:
        return "not reported"
    text = f"{cell['bytes'] / MIB:.0f} MiB"
    return text if abs(cell["error_pct"]) < 1 else f"**{text} ({cell['error_pct']:+.0f} %)**"


def need_counted_writes(context, watcher, workload):
    """The kernel does not count what is written to some filesystems, such as tmpfs."""
    ended = run_each(context, [watcher], [workload, "write", "probe", "1", "0"], INTERVAL_SECS, workload=workload)
    _, figures, why = ended[watcher.name]
    if figures is None:
        raise Missing(f"the probe of the filesystem failed ({why})")
    if figures.get("write_bytes", 0) < MIB:
        raise Missing(f"the kernel does not count what is written to {context.place}")


@orderly_end()
def measure(context):
    section = Section(id="truth_io", title="Bytes written by a command and its children: what each tool reports",
                      columns=["job", "truth"])
    tools = [watcher for watcher in watchers(context) if not watcher.is_whole]
    rows, limit = [], Time(FULL_SECS)
    try:
        workload = find_workload(context)
        need_counted_writes(context, tools[0], workload)
        for title, words, is_quick in WORKLOADS:
            if (context.quick and not is_quick) or limit.is_over(title):
                continue
            context.say(f"I/O of a tree: {title}")
            command = [workload, *(workload if word == "WORKLOAD" else word for word in words)]
            ended = run_each(context, tools, command, INTERVAL_SECS, width=WIDTH, workload=workload)
            rows.append({"workload": title, "true_bytes": WRITTEN,
                         "cells": {name: outcome(figures, why) for name, (_, figures, why) in ended.items()}})
    except Missing as reason:
        section.notes.append(f"Not measured: {reason}.")
        return section
    section.columns += [tool.name for tool in tools]
    for row in rows:
        section.rows.append([row["workload"], f"{WRITTEN // MIB} MiB", *(show(cell) for cell in row["cells"].values())])
    section.values = {"rows": rows, "worst_pct": {tool.name: worst(rows, tool.name) for tool in tools}}
    section.notes = ["Every second. Those that give bytes per interval are summed up; psrecord gives running totals of "
                     "those alive, of which the highest counts; GNU time counts blocks of those waited for.",
                     *limit.words()]
    section.notes += [f"{name}, {row['workload']}: {cell['why']}" for row in rows for name, cell in row["cells"].items()
                      if "why" in cell]
    return section


def worst(rows, name):
    """The largest error of a tool; None where it reported nothing, or failed at one of them."""
    if any("why" in row["cells"][name] for row in rows):
        return None
    errors = [row["cells"][name]["error_pct"] for row in rows if "error_pct" in row["cells"][name]]
    return max(errors, key=abs) if errors else None
