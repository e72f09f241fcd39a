#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Phases of recordings: named by marks, or found by themselves; in the summary, in Markdown, JSON and the report."""

import json
import re
import xml.etree.ElementTree

import lib  # noqa: F401, finds those that follow
import tap
from recordings import Recording
from tap import equal, expect, test
from tracker import ROOT, directory, run

try:
    import jsonschema
except ImportError:
    jsonschema = None

# Seconds, cores, MiB, MB read in each.
STEPS = [(20, 0.4, 300, 120), (60, 3.8, 900, 0), (15, 0.02, 900, 0), (25, 1.0, 400, 60)]
NAMES = ["load", "train <b>&", "wait", "save \u202e\x1b[31m"]


def recording():
    def of(column):
        return [step[column] for step in STEPS for _ in range(step[0])]

    made = Recording(sum(step[0] for step in STEPS))
    made.tree(cores=of(1), rss_mib=of(2), pss_pct=100, read_bytes=[mb * 1_000_000 for mb in of(3)])
    return made


def add_marks(made):
    start = 0
    for (secs, *_), name in zip(STEPS, NAMES):
        made.set("marks", [{"elapsed_secs": start, "kind": "mark", "name": name}], max(start, 1), max(start, 1))
        start += secs
    return made


def replay(place, *sources):
    """What the summary says of them, in every form."""
    files = {kind: place / f"out.{kind}" for kind in ("json", "md", "html")}
    for path in files.values():
        path.unlink(missing_ok=True)
    flags = ["--summary-json", files["json"], "--summary-markdown", files["md"], "--report", files["html"]]
    given = [word for source in sources for word in ("--from", source)]
    result = run(["-q", "--summary=always", *given, *flags], cwd=place)
    equal(result.returncode, 0, result.stderr)
    texts = {kind: path.read_text(encoding="utf-8") for kind, path in files.items()}
    summary = json.loads(texts["json"])
    if jsonschema:
        schema = json.loads((ROOT / "docs/schema/summary.schema.json").read_text(encoding="utf-8"))
        jsonschema.validate(summary, schema)
    return summary, result.stderr, texts


def check_phases(summary):
    """All of the run is in them, and each has what it alone would need."""
    phases = summary["phases"]
    equal([round(phase["wall_secs"]) for phase in phases], [step[0] for step in STEPS], "lengths")
    equal([phase["start_secs"] for phase in phases], [0, 20, 80, 95], "starts")
    equal([phase["memory_peak_mib"] for phase in phases], [step[2] for step in STEPS], "memory")
    equal([phase["vcpus"] for phase in phases], [1, 4, 1, 1], "vCPUs")
    equal([phase["memory_mib"] for phase in phases], [384, 1152, 1152, 480], "memory to ask for")
    expect(abs(sum(phase["cpu_secs"] for phase in phases) - summary["cpu"]["total_secs"]) < 0.01, phases)
    equal(sum(phase["read_bytes"] for phase in phases), summary["disk"]["read_bytes"], "bytes read")


@test
def marks_name_phases():
    with directory() as place:
        summary, text, texts = replay(place, add_marks(recording()).to_file(place / "run.jsonl"))
    equal(summary["phases_source"], "marks", "source")
    equal([phase["name"] for phase in summary["phases"]], NAMES, "names")
    check_phases(summary)
    table = re.search(r"^  phases +named by the job .*\n((?: {13}.*\n){4})", text, re.M)
    expect(table and all(len(line) <= 80 for line in text.splitlines() if line.startswith(" " * 13)), text)
    rows = table.group(1).splitlines()
    equal(re.split(r" {2,}", rows[1].strip()), ["train <b>&", "1 min", "3.8", "900 MiB", "0 B"], "row")
    expect("\x1b" not in text and "\u202e" not in text, text)
    row = "| train &#60;b&#62;&#38; | 1 min | 3.8 | 900 MiB | 0 B | 4 vCPUs, 1.13 GiB of memory |"
    expect(row in texts["md"], texts["md"])
    expect("train &lt;b&gt;&amp;" in texts["html"] and "train <b>" not in texts["html"], "names are escaped")


@test
def changes_are_found():
    with directory() as place:
        summary, text, texts = replay(place, recording().to_file(place / "run.jsonl"))
    equal(summary["phases_source"], "changes", "source")
    equal([phase["name"] for phase in summary["phases"]],
          ["disk, 0.4 cores", "CPU, 3.8 cores", "idle", "CPU and disk, 1 core"], "names")
    check_phases(summary)
    for form in (text, texts["md"], texts["html"]):
        expect("found by themselves" in form, form[:2000])


@test
def a_run_without_changes_has_no_phases():
    with directory() as place:
        made = Recording(60)
        made.tree(cores=1.5, rss_mib=300)
        summary, text, _ = replay(place, made.to_file(place / "run.jsonl"))
    equal((summary["phases_source"], summary["phases"]), (None, None), "phases")
    expect("phases" not in text, text)


@test
def bands_are_in_the_picture():
    with directory() as place:
        source = add_marks(recording()).to_file(place / "run.jsonl")
        result = run(["-q", "--from", source, "--report", place / "run.svg"], cwd=place)
        equal(result.returncode, 0, result.stderr)
        picture = xml.etree.ElementTree.parse(place / "run.svg").getroot()
    space = "{http://www.w3.org/2000/svg}"
    charts = [text for text in picture.iter(space + "text") if (text.get("font-size"), text.get("x")) == ("14", "64")]
    bands = [band for band in picture.iter(space + "rect") if band.get("fill-opacity")]
    equal(len(bands), 4 * len(charts), "bands")
    names = [text.text for text in picture.iter(space + "text")]
    expect(all(any(name.split()[0] in (text or "") for text in names) for name in NAMES), names)


@test
def names_are_summed_over_runs():
    with directory() as place:
        one = add_marks(recording()).to_file(place / "one.jsonl")
        other = recording().to_file(place / "other.jsonl")
        summary, *_ = replay(place, one, one)
        equal([phase["times"] for phase in summary["phases"]], [2, 2, 2, 2], "times")
        equal([phase["wall_secs"] for phase in summary["phases"]][:3], [40, 120, 30], "lengths")
        equal([phase["start_secs"] for phase in summary["phases"]], [None] * 4, "starts")
        summary, *_ = replay(place, other, other)
        equal(summary["phases"], None, "phases of runs without marks")


@test
def an_end_without_a_begin_is_noted():
    with directory() as place:
        made = recording()
        made.set("marks", [{"elapsed_secs": 10, "kind": "begin", "name": "a"}], 10, 10)
        made.set("marks", [{"elapsed_secs": 30, "kind": "end", "name": "b"}], 30, 30)
        summary, *_ = replay(place, made.to_file(place / "run.jsonl"))
    spans = [(phase["name"], phase["start_secs"], phase["end_secs"]) for phase in summary["phases"]]
    equal(spans, [("a", 10, 120.25)], "phases")
    equal(summary["notes"], ["1 end of a phase has no begin: it is ignored"], "notes")


if __name__ == "__main__":
    tap.main()
