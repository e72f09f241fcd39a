#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--parts: recordings of ranks that ran side by side, put together to one run."""

import gzip
import json
import os
import subprocess

import lib  # noqa: F401, finds those that follow
import tap
from tap import equal, expect, test
from tracker import BINARY, clean_env, directory, run

RANKS = 4
WORKLOAD = os.environ["WORKLOAD"]


def start(place, rank, status):
    env = clean_env(WORLD_SIZE=str(RANKS + 1), TORCHELASTIC_RUN_ID="job", RANK=str(rank),
                    TRACKER_NODE="ab"[rank // 2])
    command = f"{WORKLOAD} burn {60 + 60 * rank}; exit {status}"
    return subprocess.Popen([BINARY, "-i", "0.2", "--summary=never", "-o", "part-{rank}.jsonl.gz", "--", "sh", "-c",
                             command], env=env, cwd=place)


def read(path):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def amount(samples, key):
    """In ten-thousandths where it has a fraction: sums of binary fractions are not exact."""
    return sum(round(sample["cpu"][key] * 10000) for sample in samples if sample["cpu"][key] is not None)


def summary_of(place, *args):
    done = run([*args, "--summary-json", "summary.json"], cwd=place)
    equal([done.returncode, done.stdout], [0, ""], "status and output")
    return json.loads((place / "summary.json").read_text(encoding="utf-8")), done.stderr


@test(limit=120)
def ranks_side_by_side_are_one_run():
    with directory() as place:
        programs = [start(place, rank, 3 if rank == 2 else 0) for rank in range(RANKS)]
        equal([program.wait() for program in programs], [0, 0, 3, 0], "exit status")
        parts = [read(place / f"part-{rank}.jsonl.gz") for rank in range(RANKS)]
        summary, _ = summary_of(place, "--from", "part-*.jsonl.gz", "--parts", "-f", "json", "-o", "merged.jsonl",
                                "--report", "report.html", "--summary-markdown", "summary.md")
        merged = [json.loads(line) for line in (place / "merged.jsonl").read_text(encoding="utf-8").splitlines()]
        for key in ("process_utime_secs", "process_stime_secs", "process_disk_read_bytes", "process_disk_write_bytes"):
            equal(amount(merged, key), sum(amount(samples, key) for samples in parts), f"sum of {key}")
        singles = [summary_of(place, "--from", f"part-{rank}.jsonl.gz")[0] for rank in range(RANKS)]
        check_summary(summary, singles)
        page = (place / "report.html").read_text(encoding="utf-8")
        markdown = (place / "summary.md").read_text(encoding="utf-8")
        expect(all(f">rank {rank}<" in page for rank in range(RANKS)), "a row for each rank")
        expect("4 parts on 2 nodes" in page, "a row for all")
        expect("| parts | 4 parts on 2 nodes | 1 failed, 1 missing |" in markdown, markdown)


def check_summary(summary, singles):
    ranks = summary["parts"]["ranks"]
    got = [[rank["rank"], rank["node"], rank["file"], rank["exit_code"]] for rank in ranks]
    want = [[rank, "ab"[rank // 2], f"part-{rank}.jsonl.gz", 3 if rank == 2 else 0] for rank in range(RANKS)]
    equal(got, want, "ranks")
    cpu = [single["cpu"]["total_secs"] for single in singles]
    equal([rank["cpu_secs"] for rank in ranks], cpu, "CPU time of each")
    expect(abs(summary["cpu"]["total_secs"] - sum(cpu)) < 0.0001 * RANKS, summary["cpu"]["total_secs"], cpu)
    equal([summary["runs"], summary["runs_failed"], summary["result"]["exit_code"]], [1, 1, 3], "one run that failed")
    parts = summary["parts"]
    equal([parts["count"], parts["nodes"], parts["failed"], parts["missing"]], [4, 2, 1, 1], "counts")
    expect(abs(parts["cpu_imbalance"] - max(cpu) * RANKS / sum(cpu)) < 0.001, parts["cpu_imbalance"], cpu)
    walls = [single["wall_secs"] for single in singles]
    equal(parts["slowest"]["wall_secs"], max(walls), "slowest")
    starts = [single["started_ms"] for single in singles]
    ends = [start + wall * 1000 for start, wall in zip(starts, walls)]
    expect(abs(summary["wall_secs"] * 1000 - (max(ends) - min(starts))) < 5, summary["wall_secs"], starts, ends)
    # A rank that was over before its first sample has none.
    peaks = [single["memory"]["rss_peak_mib"] or 0 for single in singles]
    expect(max(peaks) <= (summary["memory"]["rss_peak_mib"] or 0) <= sum(peaks) + 0.01, summary["memory"], peaks)


def put(place, name, node, host_mib):
    """Two samples of a rank that waits for nothing and knows no PSS."""
    cpu = {"process_utime_secs": 0.5, "process_stime_secs": 0.0, "process_rss_mib": 8}
    first = {"timestamp_ms": 1700000001000, "elapsed_secs": 1.0, "tracked_pid": 1, "cpu": cpu,
             "memory": {"used_mib": host_mib},
             "run": {"interval_secs": 1.0, "hostname": "h", "metadata": {"node": node, "rank": name}}}
    second = {**first, "timestamp_ms": 1700000002000, "elapsed_secs": 2.0}
    del second["run"]
    (place / f"{name}[x].jsonl").write_text(json.dumps(first) + "\n" + json.dumps(second) + "\n", encoding="utf-8")


@test
def a_host_counts_once_and_unknown_stays_unknown():
    with directory() as place:
        for name, node, host_mib in (("0", "a", 100), ("1", "a", 100), ("2", "b", 30)):
            put(place, name, node, host_mib)
        summary, _ = summary_of(place, "--from", "*.jsonl", "--parts")
        equal(summary["memory"]["host_used_peak_mib"], 130.0, "memory of two hosts")
        equal([summary["memory"]["rss_peak_mib"], summary["memory"]["pss_peak_mib"]], [24.0, None], "RSS and PSS")
        equal(summary["network"], None, "network")
        equal([summary["cpu"]["total_secs"], summary["parts"]["missing"]], [3.0, None], "CPU time, missing parts")


@test
def patterns_are_names_where_there_is_such_a_file():
    with directory() as place:
        put(place, "0", "a", 1)
        put(place, "1", "a", 1)
        equal(summary_of(place, "--from", "0[x].jsonl")[0]["runs"], 1, "name with brackets")
        equal(summary_of(place, "--from", "?[[]x].jsonl")[0]["runs"], 2, "pattern")
        done = run(["--from", "no-*.jsonl", "--summary"], cwd=place)
        expect(done.returncode != 0 and "cannot open no-*.jsonl" in done.stderr, done.stderr)
        done = run(["--parts", "--summary", "--", "true"], cwd=place)
        expect("--parts" in done.stderr and "no effect" in done.stderr, done.stderr)
        without = summary_of(place, "--from", "0[x].jsonl")[0]
        expect("parts" not in without, "parts of a run that has none", without)


@test
def what_cannot_be_one_run_is_noted():
    with directory() as place:
        put(place, "0", "a", 1)
        text = (place / "0[x].jsonl").read_text(encoding="utf-8")
        (place / "later.jsonl").write_text(text.replace("17000000", "17000009").replace(
            '"tracked_pid": 1', '"job_name": "other", "tracked_pid": 1'), encoding="utf-8")
        _, words = summary_of(place, "--from", "*.jsonl", "--parts")
        lines = [line for line in words.splitlines() if "warning" in line]
        expect(len(lines) == 3, lines)
        notes = ("of another job than the first", "have the rank of another", "not all parts ran at the same")
        for note in notes:
            expect(sum(note in line for line in lines) == 1, note, lines)


if __name__ == "__main__":
    tap.main()
