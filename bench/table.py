# SPDX-License-Identifier: Apache-2.0
"""Tables of Markdown, numbers to be read, and the two files of a run."""

import json
import math
import statistics

from section import as_json

NONE = "–"
BEGIN, END = "<!-- figures: begin -->", "<!-- figures: end -->"


class NoPlace(Exception):
    """A document has no marks that figures could go between."""


def markdown(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(cell(value) for value in line) + " |" for line in lines)


def cell(value):
    return NONE if value is None else str(value).replace("|", "\\|")


def number(value, digits=3):
    """Three digits that say something, and no exponent."""
    if value is None or not math.isfinite(value):
        return NONE
    if value == 0:
        return "0"
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    return f"{value:,.{min(places, 4)}f}"


def ratio(value, base):
    """How many times as much as the base."""
    if value is None or not base:
        return NONE
    return f"{number(value / base)} x"


def spread(values):
    """Median, 10th and 90th percentile, or None where there are no values."""
    if not values:
        return None
    return {"p50": statistics.median(values), "p10": percentile(values, 10), "p90": percentile(values, 90),
            "count": len(values)}


def percentile(values, share):
    """The smallest value that at least that share of the values does not exceed."""
    ranked = sorted(values)
    return ranked[max(0, math.ceil(len(ranked) * share / 100) - 1)]


def section_text(section):
    parts = [f"## {section.title}"]
    if section.rows:
        parts.append(markdown(section.columns, section.rows))
    if section.notes:
        parts.append("\n".join(f"- {note}" for note in section.notes))
    return "\n\n".join(parts)


def write(path, host, sections):
    """PATH.md and PATH.json."""
    head = ["# Benchmark of resource-tracker", host_text(host)]
    text = "\n\n".join(head + [section_text(section) for section in sections]) + "\n"
    path.with_name(path.name + ".md").write_text(text, encoding="utf-8")
    data = {"host": host, "sections": {section.id: as_json(section) for section in sections}}
    path.with_name(path.name + ".json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


def host_text(host):
    return "\n".join(f"- {name}: {value}" for name, value in host.items() if not isinstance(value, (dict, list)))


def need_marks(path):
    """The text before and after the figures of a document."""
    text = path.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise NoPlace(f"{path}: there is no place between {BEGIN} and {END}")
    return before, after


def fill(path, figures):
    """Puts figures between the marks of a document."""
    before, after = need_marks(path)
    path.write_text(f"{before}{BEGIN}\n{figures}\n{END}{after}", encoding="utf-8")
