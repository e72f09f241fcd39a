#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--metrics-file, the text that Prometheus' tools read, and --snakemake-benchmark: always whole, in step with the
summary of the same run."""

import json
import os
import pathlib
import re
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import python
from tap import equal, expect, test
from tracker import BINARY, ROOT, clean_env, directory, run

LINE = re.compile(r'resource_tracker_([a-z0-9_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)+)\})? '
                  r'(-?[0-9]+(?:\.[0-9]+)?)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
BURN = "import time\nwhile time.process_time() < .3: pass\nbytearray(64 << 20)"
MIB = 1 << 20


def parse(text):
    """{(name, labels without the job's): value}; every name is described once, before its first line."""
    lines = text.splitlines()
    equal(lines[-1], "# EOF", "last line")
    values, types, jobs = {}, {}, set()
    for line in lines[:-1]:
        if line.startswith("# HELP "):
            continue
        if line.startswith("# TYPE "):
            name, kind = line.split()[2:]
            expect(name not in types and kind in ("gauge", "counter"), line)
            equal(kind == "counter", name.endswith("_total"), line)
            types[name] = kind
            continue
        found = LINE.fullmatch(line)
        expect(found, "no metric", line)
        labels = dict(LABEL.findall(found[2] or ""))
        expect("resource_tracker_" + found[1] in types, "not described", line)
        jobs.add(labels.pop("job_name", None))
        key = (found[1], *labels.values())
        expect(key not in values, "twice", line)
        values[key] = float(found[3])
    equal(len(jobs), 1, f"names of the job {jobs}")
    return values, jobs.pop()


def tracked(*words, options=(), status=0):
    """The metrics and the summary of one run."""
    with directory() as place:
        done = run(["-q", "--metrics-file", place / "m.prom", "--summary-json", place / "s.json", *options, "--",
                    *words])
        equal([done.returncode, done.stderr], [status, ""], "result")
        equal(sorted(os.listdir(place)), ["m.prom", "s.json"], "files")
        return (place / "m.prom").read_text(encoding="utf-8"), json.loads((place / "s.json").read_text())


@test
def metrics_are_those_of_the_summary():
    text, summary = tracked(*python(BURN), options=["-n", "burn"])
    values, job = parse(text)
    equal(job, "burn", "job")
    for key, want in {
            ("cpu_seconds_total", "user"): summary["cpu"]["user_secs"],
            ("cpu_seconds_total", "system"): summary["cpu"]["system_secs"],
            ("cores_p95",): summary["cpu"]["cores_p95"],
            ("cores_limit",): summary["cpu"]["limit_cores"],
            ("memory_rss_peak_bytes",): summary["memory"]["rss_peak_mib"] * MIB,
            ("memory_need_bytes",): summary["memory"]["need_mib"] * MIB,
            ("disk_bytes_total", "write"): summary["disk"]["write_bytes"],
            ("wall_seconds",): summary["wall_secs"],
            ("last_run_timestamp_seconds",): summary["finished_ms"] / 1000,
            ("exit_code",): 0}.items():
        expect(want is not None and abs(values[key] - want) <= max(1e-4, 1 if "bytes" in key[0] else 0), key, values,
               want)
    expect(values["cpu_seconds_total", "user"] + values["cpu_seconds_total", "system"] >= .3, values)


@test
def what_is_unknown_is_not_there():
    values, job = parse(tracked("sh", "-c", "exit 3", status=3)[0])
    equal([job, values[("exit_code",)]], [None, 3], "job and status")
    expect(not any("energy" in key[0] for key in values) or pathlib.Path("/sys/class/powercap/intel-rapl:0").exists(),
           values)


@test
def hostile_names_stay_one_label():
    values, job = parse(tracked("true", options=["-n", 'a"} 1\n\\evil\x1b[31m\u202eb'])[0])
    equal(job, 'a\\"} 1 \\\\evil [31m b', "job")
    expect(("exit_code",) in values, values)


@test
def metrics_are_there_while_the_command_runs_and_whole_at_any_time():
    with directory() as place:
        path = place / "textfile" / "job.prom"
        path.parent.mkdir()
        with subprocess.Popen([BINARY, "-q", "-i", "0.1", "--metrics-file", path, "--", "sleep", "1"],
                              env=clean_env()) as process:
            seen = 0
            while process.poll() is None:
                if path.exists():
                    values, _ = parse(path.read_text())
                    seen += ("exit_code",) not in values
                    equal([name for name in os.listdir(path.parent) if name.endswith(".prom") and name[0] != "."],
                          ["job.prom"], "what a textfile collector sees")
                time.sleep(.01)
        equal(process.returncode, 0, "status")
        expect(seen > 0, "nothing was there while it ran")
        equal(parse(path.read_text())[0][("exit_code",)], 0, "exit code")
        equal(os.listdir(path.parent), ["job.prom"], "files")
        expect(path.stat().st_mode & 0o777 == 0o666 & ~current_umask(), oct(path.stat().st_mode))


def current_umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask


@test
def what_cannot_be_written_is_refused_before_the_command_runs():
    with directory() as place:
        (place / "fifo").touch()
        os.mkfifo(place / "pipe")
        for path, words in ((place / "no" / "m.prom", "No such file or directory"), (place, "regular file"),
                            ("-", "regular file"), (place / "pipe", "regular file"), ("/dev/null", "regular file")):
            done = run(["-q", "--metrics-file", path, "--", "touch", place / "ran"])
            equal(done.returncode, 125, f"status with {path}")
            equal(len(done.stderr.splitlines()), 1, done.stderr)
            expect(words in done.stderr and str(path) in done.stderr, done.stderr)
            expect(not (place / "ran").exists(), "the command ran with", path)


@test
def no_other_output_has_the_same_file():
    with directory() as place:
        path = place / "x"
        path.touch()
        for ours in ("--metrics-file", "--snakemake-benchmark"):
            for option in ("-o", "--summary-json", "--summary-markdown", "--config"):
                done = run([ours, path, option, path, "--", "touch", place / "ran"])
                equal([done.returncode, (place / "ran").exists()], [125, False], f"{ours} with {option}")
                expect(f"{path} has another use" in done.stderr, ours, option, done.stderr)
        done = run(["--metrics-file", place / "new", "--snakemake-benchmark", place / "new", "--", "touch",
                    place / "ran"])
        equal([done.returncode, (place / "ran").exists()], [125, False], "one with the other")
        expect(f"{place}/new is given for two outputs" in done.stderr, done.stderr)


@test
def a_directory_that_goes_away_is_one_warning():
    with directory() as place:
        (place / "d").mkdir()
        done = run(["-q", "-i", "0.1", "--metrics-file", place / "d/m.prom", "--",
                    "sh", "-c", f"sleep .5; rm -r '{place}/d'; exit 7"])
        equal(done.returncode, 7, "status")
        equal(done.stderr.splitlines(), [f"resource-tracker: warning: cannot write {place}/d/m.prom: "
                                         "No such file or directory"], "stderr")


@test
def a_recording_has_the_metrics_of_its_run():
    with directory() as place:
        run(["-o", place / "r.jsonl", "-n", "rec", "--metrics-file", place / "run.prom", "--", "sh", "-c", "exit 4"])
        done = run(["--from", place / "r.jsonl", "--metrics-file", place / "again.prom"])
        equal([done.returncode, done.stderr, done.stdout], [0, "", ""], "result")
        equal((place / "again.prom").read_text(), (place / "run.prom").read_text(), "metrics")


SNAKEMAKE = "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time".split()


@test
def a_benchmark_file_of_snakemake_has_the_values_of_the_summary():
    with directory() as place:
        done = run(["-q", "--snakemake-benchmark", place / "b.tsv", "--summary-json", place / "s.json", "--",
                    *python(BURN)])
        equal([done.returncode, done.stderr], [0, ""], "result")
        text, summary = (place / "b.tsv").read_text(encoding="ascii"), json.loads((place / "s.json").read_text())
    header, row = [line.split("\t") for line in text.splitlines()]
    equal([header, len(row), text[-1]], [SNAKEMAKE, len(header), "\n"], "form")
    equal([row[1], row[3], row[4]], [f"0:00:{int(summary['wall_secs']):02}", "NA", "NA"],
          "time, and what is not measured")
    for name, want, most in (("s", summary["wall_secs"], .0002), ("max_rss", summary["memory"]["rss_peak_mib"], .006),
                             ("io_out", summary["disk"]["write_bytes"] / MIB, .006),
                             ("cpu_time", summary["cpu"]["total_secs"], .006),
                             ("mean_load", summary["cpu"]["total_secs"] / summary["wall_secs"] * 100, .1)):
        value = row[header.index(name)]
        expect(abs(float(value) - want) <= most and len(value.split(".")[1]) in (2, 4), name, row, want)


@test
def a_benchmark_file_of_a_recording_is_json_where_its_name_says_so():
    with directory() as place:
        run(["-o", place / "r.jsonl", "--snakemake-benchmark", place / "b.tsv", "--", "sleep", ".2"])
        done = run(["--from", place / "r.jsonl", "--snakemake-benchmark", place / "b.jsonl"])
        equal([done.returncode, done.stderr, done.stdout], [0, "", ""], "result")
        values = json.loads((place / "b.jsonl").read_text())
        header, row = [line.split("\t") for line in (place / "b.tsv").read_text().splitlines()]
    equal(list(values), SNAKEMAKE, "keys")
    for name, text in zip(header, row):
        equal(values[name], text if text == "NA" or ":" in text else float(text), name)


@test
def the_guide_has_every_metric():
    source = (ROOT / "src/summary/formats/metrics.c").read_text(encoding="utf-8")
    guide = (ROOT / "docs/guide/prometheus.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[^|]*) \|", guide, re.MULTILINE)
    equal(set(re.findall(r"`(\w+)`", " ".join(rows))), set(re.findall(r'^    \{"(\w+)", "', source, re.MULTILINE)),
          "names")


@test
def a_link_stays_and_its_target_is_replaced():
    with directory() as place:
        (place / "real.prom").write_text("old\n", encoding="utf-8")
        (place / "link.prom").symlink_to("real.prom")
        equal(run(["-q", "--metrics-file", str(place / "link.prom"), "--", "true"]).returncode, 0, "status")
        expect((place / "link.prom").is_symlink(), "the link is gone")
        expect("# EOF" in (place / "real.prom").read_text(encoding="utf-8"), "the target is old")
        equal(sorted(path.name for path in place.iterdir()), ["link.prom", "real.prom"], "files")


if __name__ == "__main__":
    tap.main()
