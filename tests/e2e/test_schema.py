#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every sample validates against docs/schema/sample.schema.json: of this machine, of every fixture, of an empty one."""

import json
import re
import signal

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import ROOT, Tracker, directory, parse, run

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA_PATH = ROOT / "docs" / "schema" / "sample.schema.json"
FIXTURES = ROOT / "tests" / "fixtures"


def schema():
    return json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))


def validate(sample):
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    errors = [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
              for error in jsonschema.Draft7Validator(schema()).iter_errors(sample)]
    equal(errors, [], "schema errors")


def check_order(value, shape, path="sample"):
    """Keys stand in the order of the schema's properties, and none is unknown to it."""
    if isinstance(value, list):
        for item in value:
            check_order(item, shape.get("items", {}), path + "[]")
    if not isinstance(value, dict) or "properties" not in shape:
        return
    known = list(shape["properties"])
    expect(set(value) <= set(known), f"{path}: keys that the schema does not know: {sorted(set(value) - set(known))}")
    equal(list(value), [key for key in known if key in value], f"{path}: order of the keys")
    for key, inner in value.items():
        check_order(inner, shape["properties"][key], f"{path}.{key}")


def take_samples(count, *args, **more):
    """That many samples of a tracker that then loses its reader; also what it said."""
    with Tracker("-i", "0.05", *args, **more) as tracker:
        samples = [parse(line) for line in tracker.stdout.take(count)]
        tracker.close_stdout()
        equal(tracker.wait(), 0, "exit status")
        return samples, tracker.stderr()


@test
def the_schema_is_a_schema():
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    jsonschema.Draft7Validator.check_schema(schema())


@test
def the_schema_can_fail():
    sample = take_samples(1)[0][0]
    validate(sample)
    for change in ({"timestamp_secs": "1"}, {"cpu": []}, {"memory": {}}, {"timestamp_ms": None}, {"job_name": 1}):
        try:
            validate({**sample, **change})
        except AssertionError:
            continue
        raise AssertionError(f"accepted with {change}")
    del sample["tracker"]
    try:
        validate(sample)
    except AssertionError:
        return
    raise AssertionError("accepted without tracker")


@test
def samples_of_this_machine():
    samples, stderr = take_samples(5)
    for sample in samples:
        validate(sample)
        check_order(sample, schema())
    equal(stderr, "", "stderr")


WHOLE = re.compile(r".*_(mib|bytes)|actual_interval_ms|temperature_celsius|frequency_mhz")


def check_whole(value, path=""):
    """Amounts are integers for readers with types, who refuse 1.0 (the schema does not)."""
    if isinstance(value, dict):
        for key, inner in value.items():
            expect(not WHOLE.fullmatch(key) or inner is None or isinstance(inner, int), f"{path}.{key} is {inner!r}")
            check_whole(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            check_whole(inner, f"{path}[]")


@test
def amounts_are_integers():
    samples, _ = take_samples(3)
    done = run(["-i", "0.1", "-o", "-", "--", "sleep", "0.25"])
    of_tree = [parse(line) for line in done.stdout.splitlines()]
    for sample in samples + of_tree:
        check_whole(sample)
        expect(isinstance(sample["memory"]["total_mib"], int), sample["memory"])
    cpu = of_tree[-1]["cpu"]
    for name in ("rss", "pss", "peak_rss", "gpu_vram"):
        mib, exact = cpu[f"process_{name}_mib"], cpu[f"process_{name}_bytes"]
        expect(mib is None or mib == exact >> 20, f"{name}: {mib} MiB, {exact} bytes")
    expect(cpu["process_peak_rss_bytes"] > 0, cpu)


@test
def time_that_was_stolen():
    samples, _ = take_samples(2)
    for sample in samples:
        cpu = sample["cpu"]
        equal(cpu["steal_time_secs"], cpu["steal_secs"], "steal")
        expect(0 <= cpu["steal_time_pct"] <= 100, cpu["steal_time_pct"])
        equal(cpu["per_core_steal_time_pct"], [], "per core")
        usage = (sample["cgroup"] or {}).get("cpu_usage_secs")
        equal(cpu["cgroup_usage_secs"], usage, "usage of the control group")
        expect((usage is None) == (cpu["cgroup_utilization_pct"] is None), cpu)
    samples, _ = take_samples(2, env={"TRACKER_AGGREGATE_CPU_STEAL": "false"})
    for sample in samples:
        shares = sample["cpu"]["per_core_steal_time_pct"]
        equal(len(shares), len(sample["cpu"]["per_core_pct"]), "CPUs")
        expect(all(share is None or 0 <= share <= 100 for share in shares), shares)


@test
def the_final_sample():
    with Tracker("-i", "60") as tracker:
        tracker.wait_ready()
        equal(tracker.stop(signal.SIGINT), 0, "exit status")
        sample = parse(tracker.stdout.next())
    validate(sample)
    check_order(sample, schema())


@test
def the_top_level_is_that_of_the_contract():
    samples, _ = take_samples(2)
    keys = ["timestamp_secs", "timestamp_ms", "elapsed_secs", "actual_interval_ms", "job_name", "tracked_pid", "cpu",
            "memory", "network", "disk", "gpu", "pressure", "cgroup", "energy", "tracker", "resource-tracker-version"]
    equal(list(samples[1]), keys, "keys of a later sample")
    first = [key for key in keys if key != "actual_interval_ms"]
    equal(list(samples[0]), [*first[:-1], "run", first[-1]], "keys of the first sample")
    equal(list(schema()["properties"]), [*keys[:-1], "processes", "marks", "run", "end", keys[-1]],
          "properties of the schema")
    for key, value in samples[0]["cpu"].items():
        of_tree = key.startswith("process_") and key != "process_count"
        expect(not of_tree or value is None, f"{key} = {value} in host mode")


@test
def any_bytes_in_the_job_name_stay_one_valid_line():
    for name, shown in ((b'q"\\/\b\f\n\r\t\x01\x1f\x7f', None), ("näme 名 \U0001f980 \u2028".encode(), None),
                        (b"a\xffb\xc3(\xed\xa0\x80c\xf5\x80\x80\x80d\xe2\x82", "replaced"), (b"x" * 3000, None)):
        samples, stderr = take_samples(1, "--job-name", name)
        validate(samples[0])
        equal(stderr, "", "stderr")
        job = samples[0]["job_name"]
        if shown:
            expect("\ufffd" in job and job.startswith("a") and "b" in job and "d" in job, f"job_name {job!r}")
        else:
            equal(job, name.decode(), "job_name")


@test
def an_empty_sysroot_still_gives_samples():
    with directory() as empty:
        samples, stderr = take_samples(6, "--sysroot", empty)
    for sample in samples:
        validate(sample)
        check_order(sample, schema())
        for section in ("cpu", "memory", "network", "disk", "gpu", "pressure", "cgroup"):
            expect(not sample[section], f"{section} = {sample[section]}")
    lines = stderr.splitlines()
    expect(all(line.startswith("resource-tracker: warning: ") for line in lines), stderr)
    for section in ("cpu", "memory", "network", "disk"):
        equal(sum(line.startswith(f"resource-tracker: warning: {section}:") for line in lines), 1,
              f"warnings about {section} in {lines}")
    equal(len(lines), 4, f"warnings {lines}")


@test
def an_empty_sysroot_gives_csv_rows_of_empty_fields():
    with directory() as empty, Tracker("-i", "0.05", "-f", "csv", "--sysroot", empty) as tracker:
        header, row = tracker.stdout.take(2)
        tracker.close_stdout()
        equal(tracker.wait(), 0, "exit status")
    equal(row.count(b","), header.count(b","), "commas")
    fields = row.split(b",")
    equal([field for field in fields[1:] if field], [], "fields with a value besides the timestamp")


@test
def a_sysroot_with_empty_directories_still_gives_samples():
    with directory() as place:
        (place / "proc").mkdir()
        (place / "sys").mkdir()
        samples, stderr = take_samples(2, "--sysroot", place)
    for sample in samples:
        validate(sample)
    expect(all(line.startswith("resource-tracker: warning: ") for line in stderr.splitlines()), stderr)


def fixture(path):
    samples, stderr = take_samples(2, "--sysroot", path)
    for sample in samples:
        validate(sample)
        check_order(sample, schema())
    lines = stderr.splitlines()
    for line in lines:
        expect(line.startswith("resource-tracker: warning: "), f"on stderr: {line!r}")
        tap.diag(line)
    equal(len(lines), len(set(lines)), "different warnings")


@test
def the_fixtures_are_found():
    tap.diag(f"{len(fixtures)} fixtures")


fixtures = sorted(path for path in FIXTURES.glob("*/t0") if path.is_dir())
for path_ in fixtures:
    tap.add(f"fixture {path_.parent.name}", fixture, path_)

if __name__ == "__main__":
    tap.main()
