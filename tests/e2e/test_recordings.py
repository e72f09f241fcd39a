#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recordings that other tests replay (lib/recordings.py): valid samples, no warning, and what was asked for."""

import json

import lib  # noqa: F401, finds those that follow
import recordings
import tap
from recordings import GIB, MIB, Recording, amd, nvidia
from tap import Skip, equal, expect, test
from tracker import directory, run

try:
    import jsonschema
except ImportError:
    jsonschema = None


def check_samples(samples):
    """Keys in the order of the schema, and sums of the tree that fit its devices."""
    for sample in samples:
        equal(list(sample), [key for key in recordings.schema()["properties"] if key in sample], "order of the keys")
        memory = [gpu["process_vram_bytes"] for gpu in sample["gpu"]]
        equal(sample["cpu"]["process_gpu_vram_bytes"], None if None in memory else sum(memory), "VRAM")


@test
def recordings_are_valid():
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    samples = [sample for build in recordings.BUILDERS.values() for sample in build(5).samples()]
    validator = jsonschema.Draft7Validator(recordings.schema())
    errors = [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
              for sample in samples for error in validator.iter_errors(sample)]
    equal(errors, [], "schema errors")


def replay(recording):
    """The summary of a recording, and the samples as they are written again. A replay that warns is an error."""
    with directory() as place:
        recording.to_file(place / "run.jsonl")
        result = run(["--from", "run.jsonl", "--summary-json", "summary.json", "-f", "json", "-o", "again.jsonl"],
                     cwd=place)
        equal([result.returncode, result.stdout, result.stderr], [0, "", ""], "status and words")
        again = [json.loads(line) for line in (place / "again.jsonl").read_text(encoding="utf-8").splitlines()]
        return json.loads((place / "summary.json").read_text(encoding="utf-8")), again


def built(build):
    recording = build(20)
    samples = recording.samples()
    equal(samples, recording.samples(), "made twice")
    summary, again = replay(recording)
    equal(again, samples, "written again")
    equal([summary["samples"], summary["wall_secs"], summary["result"]["exit_code"]], [21, 20.25, 0], "the run")
    tree = [sample["cpu"] for sample in samples]
    cpu_secs = sum(cpu["process_utime_secs"] + cpu["process_stime_secs"] for cpu in tree)
    expect(abs(summary["cpu"]["total_secs"] - cpu_secs) < 1e-3, "CPU time", summary["cpu"]["total_secs"], cpu_secs)
    expect(abs(summary["memory"]["rss_peak_mib"] - max(cpu["process_rss_bytes"] for cpu in tree) / MIB) < 1e-3, "peak")
    check_samples(samples)


for name_, build_ in recordings.BUILDERS.items():
    tap.add(f"recording {name_.replace('_', ' ')}", built, build_)


@test
def uneven_gpus_are_uneven():
    samples = recordings.uneven_gpus().samples()
    equal([gpu["process_vram_bytes"] for gpu in samples[30]["gpu"]], [80 * GIB] + [10 * GIB] * 7, "VRAM")
    equal(samples[30]["cpu"]["process_gpu_vram_mib"], 150 * 1024, "VRAM of all")
    equal(samples[30]["cpu"]["process_gpu_utilized"], 8, "GPUs in use")
    # At the end nothing is held any more, and what was done last is not known.
    equal([samples[-1]["cpu"][key] for key in ("process_gpu_vram_mib", "process_gpu_usage")], [0, None], "the last one")


@test
def overrides():
    recording = Recording(5, gpus=[nvidia(), amd(1)], memory_limit_mib=512, exit_code=None, signal=9)
    recording.tree(cores=[0.5, 1, 1.5, 2, None], rss_mib=lambda second: 100 * second, wait_secs=None)
    recording.gpu(0, vram_gib=None)
    recording.gpu(1, busy_pct=30, vram_gib=3)
    recording.set("gpu.1.process_utilization_pct", None, first=2, last=2)
    recording.set("cpu.process_pss_mib", 7.5, first=3, last=3)
    recording.set("pressure", None)
    recording.set("processes", [recordings.process(rss_mib=30)], first=2, last=2)
    recording.set("run.cpus_allowed", 2)
    recording.set("end.oom_kills", 1)
    samples = recording.samples()
    equal([sample["cpu"]["process_cores_used"] for sample in samples], [0.5, 1, 1.5, 2, None, None], "cores")
    equal([sample["cpu"]["process_rss_mib"] for sample in samples], [100, 200, 300, 400, 500, 0], "memory")
    equal(samples[-1]["cpu"]["process_peak_rss_mib"], 500, "peak")
    equal([samples[2]["cpu"][f"process_pss_{unit}"] for unit in ("mib", "bytes")], [7, 7864320], "both units")
    equal([sample["cpu"]["process_gpu_vram_mib"] for sample in samples], [None] * 5 + [0], "unknown on a device")
    equal([sample["cpu"]["process_gpu_usage"] for sample in samples], [0.3, None, 0.3, 0.3, 0.3, None], "usage")
    equal([samples[0]["run"]["cpus_allowed"], samples[-1]["end"]["oom_kills"], samples[-1]["end"]["signal"]], [2, 1, 9],
          "run and end")
    expect("run" not in samples[1] and "end" not in samples[0], "run and end are in one sample each")
    equal([index for index, sample in enumerate(samples) if "processes" in sample], [1], "samples with processes")
    replay(recording)
    check_samples(samples)


@test
def keys_that_no_sample_has_are_errors():
    recording = Recording(2, gpus=[nvidia()])
    for call in (lambda: recording.set("cpu.cores", 1), lambda: recording.set("gpu.0.vram", 1),
                 lambda: recording.tree(core=1), lambda: recording.gpu(0, vram=1), lambda: recording.host(cores=1),
                 lambda: recordings.empty("run", x=1)):
        try:
            call()
        except KeyError:
            continue
        raise AssertionError("accepted")


if __name__ == "__main__":
    tap.main()
