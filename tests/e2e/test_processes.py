#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes over time: every process of a run is in the summary or its CPU time counts as unseen; the same from a
recording; a page with ten thousand of them."""

import json
import os
import re
import shutil
import subprocess
import sys
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import need_pid_namespace
from recordings import Recording
from tap import Skip, diag, equal, expect, test
from tracker import BINARY, ROOT, SLOW, clean_env, directory, run

# The program itself: what PATH has may be a script that starts dozens of processes.
PYTHON = sys.executable

try:
    import jsonschema
except ImportError:
    jsonschema = None

COLUMNS = 12
PID, PARENT, START, LENGTH, PROGRAM, CPU, REAPED, RSS, READ, WRITTEN, STATUS, COMMAND = range(COLUMNS)
TICK_SECS = 0.01
HOSTILE = "</script>\u202e\x1b[31m"
SPIN = "import time\nend = time.process_time() + {secs}\nwhile time.process_time() < end: pass\n"


def schema_of(name):
    return json.loads((ROOT / "docs/schema" / f"{name}.schema.json").read_text(encoding="utf-8"))


def rows_of(history):
    rows = [[None if word == "-" else int(word) for word in text.split(" ")]
            for text in history["records"].split(";")[:-1]]
    expect(all(len(row) == COLUMNS for row in rows), "columns")
    return rows


def track(place, words, *flags, interval="0.1", secs=60, env=None):
    """A run of the command: its summary, its last sample, and the summary of the recording, which must be the same."""
    outputs = ["-o", "out.jsonl", "--summary-json", "live.json"]
    done = subprocess.run([BINARY, "-i", interval, *outputs, *flags, "--", *words], cwd=place, text=True, check=False,
                          env=clean_env(**(env or {})), capture_output=True, timeout=secs)
    again = run(["-q", "--from", "out.jsonl", "--summary-json", "again.json", "--report", "page.html"], cwd=place)
    equal(again.returncode, 0, again.stderr)
    live, replayed = ((place / name).read_text(encoding="utf-8") for name in ("live.json", "again.json"))
    equal(json.loads(replayed), json.loads(live), "the summary of the recording")
    last = json.loads((place / "out.jsonl").read_text(encoding="utf-8").splitlines()[-1])
    summary = json.loads(live)
    if jsonschema:
        jsonschema.validate(summary, schema_of("summary"))
        jsonschema.validate(last, schema_of("sample"))
    return done, summary, last


def check_sums(summary, last):
    """All processes together, and what was not seen, are the CPU time of the run."""
    total = summary["cpu"]["total_secs"]
    own = sum(program["cpu_secs"] for program in summary["programs"])
    reaped = sum(program["reaped_cpu_secs"] for program in summary["programs"])
    unseen = summary["processes_unseen_cpu_secs"]
    expect(abs(own + unseen - total) < TICK_SECS / 10, f"{own} s and {unseen} s unseen of {total} s")
    expect(abs(own + reaped - total) < TICK_SECS, f"{own} s and {reaped} s of unseen children of {total} s")
    rows = rows_of(last["end"]["history"])
    equal(len(rows), last["end"]["processes_seen"] + (last["end"]["processes_unseen"] or 0), "records")
    equal(sum(program["count"] for program in summary["programs"]), len(rows), "processes by program")
    expect(abs(sum(row[CPU] for row in rows) / 1e4 - own) < TICK_SECS / 10, "records and programs")
    diag(f"{len(rows)} processes, {own:.2f} s of their own, {reaped:.2f} s of unseen children, {total:.2f} s in all")
    return rows


@test(limit=60)
def a_shell_and_its_children():
    script = f"""{PYTHON} -c '{SPIN.format(secs=0.5)}'
    for i in 1 2 3 4 5 6; do {PYTHON} -S -c '{SPIN.format(secs=0.02)}' & done
    (sleep 0.6; exit 3) &
    wait
    exit 7"""
    with directory() as place:
        done, summary, last = track(place, ["sh", "-c", script])
        equal(done.returncode, 7, "exit status")
        rows = check_sums(summary, last)
        pids = [row[PID] for row in rows]
        equal(rows[0][PARENT], 0, "parent of the root")
        expect(all(0 < row[PARENT] <= i for i, row in enumerate(rows) if i > 0), f"parents: {rows}")
        expect(all(row[START] >= 0 and row[LENGTH] is not None for row in rows), "each has its start and its end")
        shown = {process["pid"]: process for process in summary["processes"]}
        equal(set(shown), set(pids), "few processes are all listed")
        root = shown[summary["tracked_pid"]]
        equal((root["exit_code"], root["parent_pid"], root["start_secs"]), (7, None, 0), "the root")
        busy = [process for process in shown.values() if process["cpu_secs"] >= 0.3]
        equal(len(busy), 1, "processes that used much")
        expect(busy[0]["command"].startswith(f"{PYTHON} -c import time"), busy[0]["command"])
        equal(busy[0]["parent_pid"], summary["tracked_pid"], "its parent")
        begin, end = busy[0]["start_secs"], busy[0]["end_secs"]
        expect(end - begin >= 0.5, "how long it lived at least")
        next_begin = min(child["start_secs"] for child in shown.values() if child["start_secs"] > begin)
        expect(end < next_begin + 1.5, f"the shell waited for it: it ended at {end}, the next began at {next_begin}")


NOT_PERMITTED = "the kernel does not report processes to us"
SHORT = """for i in 1 2 3 4 5 6 7 8; do true; (exit $i); done
sh -c 'kill -KILL $$'
(sleep 0.3; exit 40) &
wait
exit 7"""


@test
def every_process_in_exact_mode():
    with directory() as place:
        # Sampled at its end alone.
        done, summary, last = track(place, ["sh", "-c", SHORT], "--exact-processes", interval="30")
        equal(done.returncode, 7, "exit status")
        if NOT_PERMITTED in done.stderr:
            raise Skip(f"not permitted here: {done.stderr.strip()}")
        expect("missing" not in done.stderr, done.stderr)
        rows = check_sums(summary, last)
        equal(summary["cpu"]["processes_unseen"], len(rows) - 1, "processes between samples")
        equal((rows[0][PID], rows[0][PARENT], rows[0][STATUS]), (summary["tracked_pid"], 0, 7), "the root")
        root = [row[STATUS] for row in rows if row[PARENT] == 1]
        expect(sorted(root) == [1, 2, 3, 4, 5, 6, 7, 8, 40, 137], f"exit statuses of its children: {root}")
        sleeper = [row for row in rows if row[STATUS] == 40][0]
        expect(280 <= sleeper[LENGTH] < 2000, f"how long it lived: {sleeper[LENGTH]} ms")
        below = [row for row in rows if row[PARENT] > 1]
        expect(all(row[STATUS] is not None and row[LENGTH] is not None for row in rows), rows)
        equal([(row[STATUS], rows[row[PARENT] - 1][STATUS]) for row in below], [(0, 40)], "the child of a child")
        names = last["end"]["history"]["programs"]
        equal(names[below[0][PROGRAM] - 1], "sleep", "what it executed")


@test
def exact_mode_where_it_is_not_permitted():
    words = need_pid_namespace()
    with directory() as place:
        done = subprocess.run([*words, BINARY, "-q", "-i", "0.1", "--exact-processes", "--summary-json", "s.json", "--",
                               "sh", "-c", "true; exit 5"], cwd=place, env=clean_env(), text=True, check=False,
                              capture_output=True, timeout=30)
        equal(done.returncode, 5, done.stderr)
        equal(done.stderr.count("\n"), 1, done.stderr)
        expect(NOT_PERMITTED in done.stderr and "needs Linux 6.6 or CAP_NET_ADMIN" in done.stderr, done.stderr)
        summary = json.loads((place / "s.json").read_text(encoding="utf-8"))
        equal((summary["cpu"]["processes_unseen"], len(summary["processes"])), (None, 1), "what samples have seen")


@test
def hundreds_of_processes_in_exact_mode_count_once():
    with directory() as place:
        done, summary, _ = track(place, ["sh", "-c", "for i in $(seq 600); do sleep 2 & done; wait"],
                                 "--exact-processes")
        if NOT_PERMITTED in done.stderr:
            raise Skip(NOT_PERMITTED)
        counts = {program["name"]: program["count"] for program in summary["programs"]}
    equal(counts.get("sleep"), 600, "processes of sleep")
    expect(summary["cpu"]["processes_unseen"] <= 2, "unseen", summary["cpu"]["processes_unseen"])


@test
def over_before_the_first_sample():
    with directory() as place:
        _, summary, last = track(place, ["true"], interval="5")
        check_sums(summary, last)
        equal([program["name"] for program in summary["programs"]], ["true"], "programs")
        equal(summary["processes"][0]["exit_code"], 0, "exit status")


@test(limit=120)
def a_build_against_strace():
    """Every compiler that strace shows is in the records, or too short for them: its CPU time counts as unseen."""
    if not all(map(shutil.which, ("strace", "make", "cc"))):
        raise Skip("strace, make or cc is not installed")
    with directory() as place:
        files = [f"f{i}" for i in range(8)]
        body = "#include <stdio.h>\n" + "".join(
            f"int g{i}(int a) {{ for (int i = 0; i < 9; i++) a = a * {i} + i; return printf(\"%d\", a); }}\n"
            for i in range(400))
        for name in files:
            (place / f"{name}.c").write_text(body.replace("int g", f"int {name}_g"), encoding="ascii")
        rule = "\t$(CC) -O2 -c $< -o $@\n"
        (place / "Makefile").write_text("all: " + " ".join(f"{name}.o" for name in files) + "\n%.o: %.c\n" + rule,
                                        encoding="ascii")
        words = ["strace", "-f", "-qq", "-o", "calls", "-e", "trace=execve,exit_group", "make", "-s", "-j2"]
        done, summary, last = track(place, words, interval="0.05", secs=100)
        if "ptrace" in done.stderr and done.returncode != 0:
            raise Skip("strace may not trace here")
        equal(done.returncode, 0, done.stderr)
        rows = check_sums(summary, last)
        calls = (place / "calls").read_text(encoding="utf-8", errors="replace")
        # A line that another one interrupts has its result later.
        compilers = {int(match[1]) for match in re.finditer(r"^(\d+) +execve\(\"[^\"]*/cc1\"(?!.* = -)", calls, re.M)}
        seen = {row[PID] for row in rows}
        equal(len(compilers), len(files), "compilers of strace")
        missing = compilers - seen
        diag(f"{len(compilers & seen)} of {len(compilers)} compilers were seen, {len(rows)} processes in all")
        # Each of them runs for much longer than an interval.
        expect(SLOW or not missing, f"compilers that no sample saw: {missing}")
        expect(not missing or summary["processes_unseen_cpu_secs"] > 0, "they count as unseen")
        names = last["end"]["history"]["programs"]
        equal({names[row[PROGRAM] - 1] for row in rows if row[PID] in compilers & seen} - {"cc1"}, set(), "programs")


@test
def secrets_and_hostile_names():
    script = """exec 2>/dev/null; cp "$(command -v sleep)" ./'<b>x'; ./'<b>x' 0.5 &
    python3 -c "$0" --password hunter2 & wait"""
    spin = SPIN.format(secs=0.4)
    with directory() as place:
        _, summary, last = track(place, ["sh", "-c", script, spin])
        text = (place / "out.jsonl").read_text(encoding="utf-8") + (place / "page.html").read_text(encoding="utf-8")
        expect("hunter2" not in text, "a secret")
        expect("<b>x" in last["end"]["history"]["programs"], last["end"]["history"]["programs"])
        expect("<b>x" not in (place / "page.html").read_text(encoding="utf-8"), "markup of a name in the page")
        check_sums(summary, last)
        _, summary, last = track(place, ["sh", "-c", script, spin], env={"TRACKER_RECORD_COMMAND": "false"})
        equal(last["end"]["history"]["commands"], [], "command lines")
        equal({process["command"] for process in summary["processes"]}, {None}, "command lines")


@test
def csv_has_none():
    with directory() as place:
        result = run(["-f", "csv", "-o", "out.csv", "--", "true"], cwd=place)
        equal(result.returncode, 0, result.stderr)
        summary = run(["-q", "--from", "out.csv", "--summary-json", "-"], cwd=place).stdout
        equal([json.loads(summary)[key] for key in ("processes", "programs", "processes_unseen_cpu_secs")], [None] * 3)


def with_history(secs, history):
    made = Recording(secs)
    made.tree(cores=[1.0] * secs, rss_mib=[100] * secs, pss_pct=100)
    made.end["history"] = history
    return made


@test
def recordings_that_are_wrong():
    good = "100 0 0 9000 1 100 0 1024 0 0 - 1;"
    for records, count in ((good, 1), ("", 0), (good + "x", 1), (good + "1 2 3;", 1),
                           (good + "-1 0 0 0 0 0 0 0 0 0 0 0;", 1),
                           (good.replace(" 1 100", " 77 100"), 1), (good.replace("100 0 0", "100 9 0"), 1),
                           (good + "1 1 " + "9" * 30 + " 0 0 0 0 0 0 0 0 0;", 1), ("0 5 0 0 1 500 0 0 0 0 - 0;", 5)):
        with directory() as place:
            history = {"programs": [HOSTILE], "commands": [HOSTILE + " --token abc"], "records": records}
            with_history(10, history).to_file(place / "in.jsonl")
            result = run(["-q", "--from", "in.jsonl", "--summary-json", "out.json", "--report", "page.html"], cwd=place)
            equal(result.returncode, 0, result.stderr)
            summary = json.loads((place / "out.json").read_text(encoding="utf-8"))
            equal(sum(program["count"] for program in summary["programs"] or []), count, f"processes of {records!r}")
            page = (place / "page.html").read_text(encoding="utf-8")
            expect(page.count("</script>") == 2 and "\u202e" not in page and "abc" not in page, "the page")


@test
def several_runs_have_none():
    history = {"programs": ["x"], "commands": [], "records": "100 0 0 9000 1 100 0 1024 0 0 - 0;"}
    with directory() as place:
        with_history(10, history).to_file(place / "in.jsonl")
        flags = ["-q", "--summary-json", "-", "--from", "in.jsonl"]
        one, two = (json.loads(run([*flags, *more], cwd=place).stdout) for more in ([], ["--from", "in.jsonl"]))
        equal((len(one["processes"]), len(one["programs"])), (1, 1), "of one run")
        equal((two["processes"], two["programs"], two["processes_unseen_cpu_secs"]), (None, None, None), "of two")


@test(limit=60)
def ten_thousand_processes():
    count = 10_000
    records = ["100 0 0 600000 1 1200 5905 16280 0 0 - 1"]
    for i in range(1, count):
        parent, start = (1, i * 59) if i % 3 == 1 else (len(records), i * 59 + 10 * (i % 3))
        times = f"{start} {900 - 100 * (i % 3)}"
        records.append(f"{1000 + i} {parent} {times} {2 + i % 3} {i % 977} 0 {20000 + i} 4096 0 - {i % 700}")
    commands = [f"/usr/lib/gcc/cc1 -quiet -I. src/directory/file{i}.c -O2 -o /tmp/x{i}.s" for i in range(700)]
    history = {"programs": ["make", "sh", "gcc", "cc1"], "commands": commands, "records": ";".join(records) + ";"}
    with directory() as place:
        with_history(600, history).to_file(place / "in.jsonl")
        expect(os.path.getsize(place / "in.jsonl") < 3_000_000, "size of the recording")
        before = time.monotonic()
        result = run(["-q", "--from", "in.jsonl", "--summary-json", "out.json", "--report", "page.html"], cwd=place)
        took = time.monotonic() - before
        equal(result.returncode, 0, result.stderr)
        size = os.path.getsize(place / "page.html")
        diag(f"a page of {size} bytes in {took:.2f} s")
        expect(size < 2_000_000, f"a page of {size} bytes")
        summary = json.loads((place / "out.json").read_text(encoding="utf-8"))
        expect(32 <= len(summary["processes"]) <= 64, f"{len(summary['processes'])} processes")
        equal(sum(program["count"] for program in summary["programs"]), count, "all are in a program")


if __name__ == "__main__":
    tap.main()
