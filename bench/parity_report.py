# SPDX-License-Identifier: Apache-2.0
"""The results of a parity run as Markdown and JSON, and the figures of docs/parity.md."""

import collections
import dataclasses
import json
import os
import platform
import time

from parity_compare import DESIGN, FAILS, FLOOR, FLOORS, WITHIN


def show(value):
    """A figure to be read: empty where unknown, as many digits as are significant."""
    if value is None:
        return "empty"
    if value == int(value) or abs(value) >= 10000:
        return f"{value:.0f}"
    return f"{value:.2f}" if abs(value) >= 100 else f"{value:.4g}"


def table(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def deviation(result):
    if result.deviation_pct is None:
        return "–"
    if FLOORS[result.column].is_exact:
        return show(result.ours - result.theirs)
    return f"{round(result.deviation_pct, 2) + 0.0:+.2f} %"


def head(document):
    host = document["host"]
    lines = [f"{host['cpus']} CPUs, Linux {host['kernel']} ({host['machine']}), {document['date']}; "
             f"ours {document['versions']['ours']}."]
    for name, version in document["versions"].items():
        if name != "ours":
            lines.append(f"- {name}: {version}")
    lines += [f"- left out: {name}: {why}" for name, why in document["left_out"].items()]
    lines += [f"- note: {note}" for note in document["notes"]]
    lines += [f"- {line}" for line in document["smoke"]]
    lines += [f"- **fault: {fault}**" for fault in document["faults"]]
    still = unmoved(document)
    lines += [f"- not exercised, 0 or empty in every phase: {', '.join(still)}"] if still else []
    return "\n".join(lines)


def unmoved(document):
    """Columns about which a run says nothing: they were 0 or empty wherever they were compared."""
    results = [one for part in document["parts"] for one in part["results"]]
    moved = {one.column for one in results if one.ours or one.theirs or one.kernel}
    return [f"`{column}`" for column in FLOORS if column not in moved and column in {one.column for one in results}]


def counts(document):
    """How many columns got which verdict, per phase and peer."""
    rows = []
    for part in document["parts"]:
        tally = collections.Counter(result.verdict for result in part["results"])
        rows.append((part["phase"], part["peer"], part["pairs"], len(part["results"]),
                     *(tally[verdict] for verdict in (WITHIN, FLOOR, DESIGN, FAILS))))
    return table(("phase", "peer", "paired rows", "columns", WITHIN, FLOOR, DESIGN, FAILS), rows)


def proofs(document, with_reasons=True):
    """Every difference by design with the numbers that prove it."""
    rows = [(part["phase"], part["peer"], f"`{one.column}`", show(one.ours), show(one.kernel), show(one.theirs),
             show(one.their_kernel), factor(one), *([one.reason] if with_reasons else []))
            for part in document["parts"] for one in part["results"] if one.verdict == DESIGN]
    return table(("phase", "peer", "column", "ours", "kernel, counted our way", "theirs", "kernel, counted their way",
                  "theirs / ours", *(["reason"] if with_reasons else [])), rows)


def factor(one):
    if not one.ours or one.theirs is None:
        return "–"
    times = one.theirs / one.ours
    return f"{times:.2f}" if times < 1000 else "over 1000"


def full(part):
    rows = [(f"`{one.column}`", show(one.ours), show(one.theirs), show(one.kernel), show(one.mad), deviation(one),
             show(one.floor), one.verdict + (f": {one.reason}" if one.verdict == FAILS else ""))
            for one in part["results"]]
    return table(("column", "ours", "theirs", "kernel", "MAD", "deviation", "floor", "verdict"), rows)


def floors():
    """Each floor once, with the columns that have it."""
    grouped = {}
    for column, floor in FLOORS.items():
        grouped.setdefault(floor.why, []).append(f"`{column}`")
    return table(("floor", "columns"), [(why, ", ".join(columns)) for why, columns in grouped.items()])


def markdown(document):
    parts = ["# Parity\n", head(document), "\n## Verdicts\n", counts(document), "\n## Differences by design\n",
             "Amounts per second, levels as means. Proven: ours is the kernel's counters counted our way, theirs the "
             "same counters counted their way.\n", proofs(document)]
    if document["checks"]:
        parts += ["\n## Other tools about the same window\n", *(f"- {line}" for line in document["checks"])]
    parts += ["\n## Floors\n", floors(), "\n## All columns\n",
              "Amounts per second, levels as means; MAD is the mean absolute difference of paired rows; the kernel is "
              "counted our way.\n"]
    for part in document["parts"]:
        parts += [f"### {part['phase']}: ours and {part['peer']}\n", full(part), ""]
    return "\n".join(parts) + "\n"


def as_json(document):
    plain = document | {"parts": [part | {"results": [dataclasses.asdict(one) for one in part["results"]]}
                                  for part in document["parts"]]}
    return json.dumps(plain, indent=1) + "\n"


def describe_host():
    return {"cpus": os.cpu_count(), "kernel": platform.release(), "machine": platform.machine()}


def write(document, directory):
    """Both files, named by the time of the run; returns their paths."""
    directory.mkdir(parents=True, exist_ok=True)
    stem = directory / f"parity-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    paths = stem.with_suffix(".md"), stem.with_suffix(".json")
    paths[0].write_text(markdown(document), encoding="utf-8")
    paths[1].write_text(as_json(document), encoding="utf-8")
    return paths


def figures(document):
    """What docs/parity.md shows of a run."""
    return "\n\n".join((head(document), counts(document), proofs(document, with_reasons=False),
                        *(["\n".join(f"- {line}" for line in document["checks"])] if document["checks"] else [])))


def failures(document):
    return [(part["phase"], part["peer"], one) for part in document["parts"] for one in part["results"]
            if one.verdict == FAILS]
