#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Energy: counters of a made-up machine, whose share is the job's, its CO2, and what is said where there are none."""

import json
import os
import shutil
import subprocess

import lib  # noqa: F401, finds those that follow
import tap
from job import python, validate
from tap import equal, expect, test
from tracker import BINARY, ROOT, Tracker, clean_env, directory, file_lines, parse, run, wait_file_lines

FIXTURE = ROOT / "tests/fixtures/energy"
ZONE = "sys/class/powercap/intel-rapl:0"
# Uses half a second of CPU time.
BURN = "import time\nwhile time.process_time() < .5: pass"


def machine(place):
    """This machine's processes, with a RAPL zone of its own; returns where it is."""
    root = place / "root"
    (root / ZONE).mkdir(parents=True)
    (root / "proc").symlink_to("/proc")
    for name, text in (("name", "package-0"), ("max_energy_range_uj", "262143328850"), ("energy_uj", "1000000")):
        (root / ZONE / name).write_text(text + "\n")
    return root


def put_joules(root, joules):
    """Into the same inode, as a kernel does."""
    with open(root / ZONE / "energy_uj", "r+", encoding="ascii") as file:
        file.write(f"{joules * 1000000 + 1000000}\n")


def summary_of(*args):
    with directory() as place:
        done = run([*args, "-q", "--summary=never", "--summary-json", str(place / "s.json")])
        equal(done.returncode, 0, done.stderr)
        return json.loads((place / "s.json").read_text())["energy"]


def energies(path):
    samples = [parse(line) for line in file_lines(path)]
    for sample in samples:
        validate(sample)
    return [sample["energy"] for sample in samples]


@test
def counters_of_a_captured_machine():
    with directory() as place:
        root, out = place / "m", place / "out.jsonl"
        shutil.copytree(FIXTURE / "t0", root)
        with Tracker("--sysroot", root, "-i", "0.2", "-o", out, "--carbon", "500") as tracker:
            wait_file_lines(out, 1)
            for tick in ("t1", "t2"):
                for file in (FIXTURE / tick / "sys").rglob("energy_uj"):
                    with open(root / file.relative_to(FIXTURE / tick), "r+", encoding="ascii") as counter:
                        counter.write(file.read_text())
                        counter.truncate()
                wait_file_lines(out, len(file_lines(out)) + 2)
            equal(tracker.stop(), 0, "exit status")
        found = energies(out)
        equal({each["source"] for each in found}, {"rapl"}, "source")
        # Both packages, of which one has begun again; the one that two drivers show counts once.
        equal(round(sum(each["package_joules"] for each in found), 4), 28 + 19, "packages")
        equal(round(sum(each["dram_joules"] for each in found), 4), 3.5, "memory")
        equal({each["process_joules"] for each in found}, {None}, "without a job")
        one = summary_of("--from", out)
        equal((one["package_joules"], one["dram_joules"], one["source"]), (47, 3.5, "rapl"), "summary of the recording")
        equal((one["job_joules"], one["carbon_grams"]), (None, None), "without a job")
        two = summary_of("--from", out, "--from", out)
        equal((two["package_joules"], two["dram_joules"]), (94, 7), "two runs")
        expect(abs(two["mean_watts"] - one["mean_watts"]) < 0.01, one, two)


@test
def share_of_a_job_and_its_carbon():
    with directory() as place:
        root, out = machine(place), place / "out.jsonl"
        with Tracker("--sysroot", root, "-i", "0.1", "-o", out, "--carbon", "360g/kWh", "--summary", "--summary-json",
                     place / "s.json", "--", *python(BURN)) as tracker:
            wait_file_lines(out, 2)
            put_joules(root, 1000)
            equal(tracker.wait(), 0, "exit status")
            text = tracker.stderr()
        found = energies(out)
        for each in found:
            parts = (each["process_joules"] or 0) + (each["idle_joules"] or 0)
            expect(parts <= each["package_joules"] + 0.001, each)
        summary = json.loads((place / "s.json").read_text())["energy"]
        equal(summary["package_joules"], 1000, "packages")
        expect(0 < summary["process_joules"] <= 1000, summary)
        equal(summary["job_joules"], summary["process_joules"], "job")
        expect(abs(summary["carbon_grams"] - summary["job_joules"] / 3.6e6 * 360) < 0.0002, summary)
        expect("  CPU energy " in text and " of 1 kJ" in text and "(rapl)" in text, text)
        expect("  carbon " in text and "at 360 g/kWh" in text, text)


@test
def nothing_is_guessed():
    with directory() as place:
        root = machine(place)
        shutil.rmtree(root / "sys")
        (root / "sys/class").mkdir(parents=True)
        out = place / "out.jsonl"
        args = ["--sysroot", root, "-i", "0.1", "-o", out, "--carbon", "360", "--summary-json", place / "s.json"]
        equal(run([*args, "--", "true"]).returncode, 0, "exit status")
        equal(energies(out)[-1], None, "energy")
        equal(json.loads((place / "s.json").read_text())["energy"], None, "summary")
        # Where it is asked for: 3.5 W of a CPU that is busy.
        done = run([*args, "--summary", "--", *python(BURN)], env={"TRACKER_COLLECT_ENERGY": "estimate"})
        summary = json.loads((place / "s.json").read_text())
        equal(summary["energy"]["source"], "estimate", "source")
        expect("(estimate)" in done.stderr, done.stderr)
        expect(abs(summary["energy"]["process_joules"] / 3.5 - summary["cpu"]["total_secs"]) < 0.1, summary)
        joules = summary["energy"]["job_joules"]
        expect(0 < joules < 100 and abs(summary["energy"]["job_wh"] * 3600 - joules) < 0.2, "a few joules:", summary)


def doctor(root, energy="auto", **how):
    done = subprocess.run([BINARY, "--doctor", "-f", "json", "--sysroot", str(root)], capture_output=True,
                          env=clean_env(TRACKER_COLLECT_ENERGY=energy), cwd="/", text=True, check=True, **how)
    return [each for each in json.loads(done.stdout)["findings"] if each["area"] == "energy"]


@test
def doctor_says_why():
    with directory() as place:
        root = machine(place)
        os.chmod(place, 0o755)
        equal([each["state"] for each in doctor(root)], ["ok"], "state")
        expect("rapl: CPUs" in doctor(root)[0]["finding"], doctor(root))
        equal([each["state"] for each in doctor(root, "off")], ["off"], "state")
        os.chmod(root / ZONE / "energy_uj", 0)
        found = doctor(root, **({"user": 65534} if os.getuid() == 0 else {}))
        equal([each["state"] for each in found], ["limited"], "state")
        expect("energy_uj: Permission denied" in found[0]["finding"], found)
        expect("z /sys/class/powercap/*/energy_uj 0440 root GROUP" in found[0]["remedy"], found)
        shutil.rmtree(root / "sys/class/powercap")
        found = doctor(root)
        equal([each["state"] for each in found], ["ok"], "state")
        expect("none found" in found[0]["finding"], found)


@test
def carbon_is_a_number_of_grams():
    for value in ("-1", "0", "2s", "g/kWh", "1e3", "320 kg/kWh", "20000"):
        done = run(["--carbon", value, "--", "true"])
        equal(done.returncode, 125, value)
        expect("carbon_g_per_kwh" in done.stderr, done.stderr)
    for value in ("320", "0.5", "320 g/kWh", "320G/KWH"):
        equal(run(["-q", "--carbon", value, "--", "true"]).returncode, 0, value)


if __name__ == "__main__":
    tap.main()
