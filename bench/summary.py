# SPDX-License-Identifier: Apache-2.0
"""The one table: a row for each claim of the specification, a column for each tool, in brackets how many times ours."""

import table
from budgets import dig
from section import Section

COLUMNS = ("ours", "rust", "python", "python-psutil", "psrecord", "gnu-time", "sh")
NO_SAMPLES = {"gnu-time": " (it takes no samples)"}


def per_tool(done, section, *keys, last=None):
    """A value of every tool: section.values[keys][tool][last]."""
    tools = dig(done, section, *keys) if keys else (done[section].values if section in done else None)
    found = {name: (figures.get(last) if last and isinstance(figures, dict) else figures)
             for name, figures in (tools or {}).items()}
    return {name: value for name, value in found.items() if isinstance(value, (int, float))}


def claims(done):
    """Title, unit factor, unit, values by tool."""
    return (
        ("`true` with the tool in front", 1e3, "ms", per_tool(done, "wrapper", "true", last="p50")),
        ("system calls per sample", 1, "", per_tool(done, "calls", last="calls")),
        ("opens per sample", 1, "", per_tool(done, "calls", last="opens")),
        ("user instructions per sample", 1e-3, "k", per_tool(done, "calls", last="instructions")),
        ("CPU per sample at 1 s", 1e3, "ms", per_tool(done, "cost", "1", last="cpu_secs")),
        ("CPU per sample, 10,000 other processes, tree of 10", 1e3, "ms", per_tool(done, "scaling", "10000x10")),
        ("CPU per sample, tree of 1,000", 1e3, "ms", per_tool(done, "scaling", "100x1000")),
        ("share of a core at 10 ms", 100, "%", per_tool(done, "cost", "0.01", last="share"))
        if dig(done, "cost", "0.01") else ("share of a core at 10 ms, host only where it can", 100, "%",
              per_tool(done, "lateness", "idle 0.01", last="share")),
        ("late p99 at 10 ms, idle", 1e3, "ms", per_tool(done, "lateness", "idle 0.01", last="late_p99")),
        ("late p99 at 10 ms, busy", 1e3, "ms", per_tool(done, "lateness", "busy 0.01", last="late_p99")),
        ("resident memory", 1, "MiB", per_tool(done, "cost", "1", last="rss_mib")),
        ("proportional memory (PSS)", 1, "MiB", per_tool(done, "cost", "1", last="pss_mib")),
        ("start and end", 1e3, "ms", per_tool(done, "startup", last="start_secs")),
        ("on disk", 1 / 1024, "KiB", per_tool(done, "startup", last="disk_bytes")),
    )


def show(value, factor, unit, base):
    if value is None:
        return None
    text = f"{table.number(value * factor)} {unit}".strip()
    return text if base is None else f"{text} ({table.ratio(value, base)})" if base else text


def error_row(done, names):
    """Errors have no ratio: the worst of all jobs, in per cent."""
    found = dig(done, "accuracy_cpu", "worst") or {}
    cells = [f"{found[name]['pct']:+.1f} %".replace("-0.0", "0.0").replace("+0.0", "0.0") if found.get(name) else None
             for name in names]
    return ["tree CPU against the kernel's total, worst job", *cells]


def behind(values):
    """The tools that do better than ours."""
    return [name for name, value in values.items()
            if name not in ("ours", "bare", "sh") and "ours" in values and value < values["ours"]]


def summarise(context):
    done = context.done
    names = [name for name in COLUMNS if context.tool(name) and not (context.quick and name == "python-psutil")]
    section = Section("summary", "Summary: us and the peers, in brackets how many times ours", ["claim", *names])
    for title, factor, unit, values in claims(done):
        if not values:
            continue
        base = values.get("ours")
        section.rows.append([title, *(show(values.get(name), factor, unit, None if name == "ours" else base)
                                      for name in names)])
        section.values[title] = {name: values[name] for name in names if name in values}
        section.notes += [f"{name} is ahead of us: {title}{NO_SAMPLES.get(name, '')}" for name in behind(values)]
    if "accuracy_cpu" in done:
        section.rows.append(error_row(done, names))
    if context.quick and context.tool("python-psutil"):
        section.notes.append("python-psutil, the same package with psutil beside it, is measured by make bench only")
    section.notes += [f"{tool.name} is left out: {tool.why_missing}" for tool in context.tools if tool.why_missing]
    return section
