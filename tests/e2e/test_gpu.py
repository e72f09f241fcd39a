#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GPUs with the shipped binary: a library that behaves, one that does not, and a machine that has none.

FAKE_NVML_LIB names the library of tests/fake/fake_nvml.c, which plays what FAKE_NVML says.
"""

import contextlib
import csv
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import WAITER, Job, children, python
from tap import Skip, equal, expect, test
from tracker import (BINARY, PATIENCE_SECS, WAIT_SECS, Tracker, clean_env, directory, file_lines, need_strace, parse,
                     run, trace_calls, wait_file_lines, wait_until)

LIBRARY = os.environ.get("FAKE_NVML_LIB", "")
if not os.access(LIBRARY, os.R_OK):
    print("Bail out! FAKE_NVML_LIB does not name a library")
    sys.exit(1)

MIB = 1024 * 1024
GIB = 1024 * MIB
TWO = """
gpus 2
gpu 0 name NVIDIA Test
gpu 0 uuid GPU-0
gpu 0 util 40
gpu 0 memutil 10
gpu 0 total 1073741824
gpu 0 used 536870912
gpu 0 temp 61
gpu 0 power 250500
gpu 0 clock 1410
gpu 0 throttle 4
gpu 0 cores 6912
gpu 1 uuid GPU-1
gpu 1 util 0
gpu 1 total 1073741824
gpu 1 used 1048576
"""
READINGS = ("utilization_pct", "vram_total_bytes", "vram_used_bytes", "vram_used_pct", "temperature_celsius",
            "power_watts", "frequency_mhz", "memory_utilization_pct", "throttle_reasons")
TREE = ("process_gpu_usage", "process_gpu_vram_mib", "process_gpu_utilized")
SHARES = ("process_vram_bytes", "process_utilization_pct")
DEVICES = ("/dev/nvidiactl", "/dev/dxg", "/dev/dri", "/dev/accel", "/sys/class/drm", "/sys/class/accel")


def fake(script, **more):
    """The environment in which the library plays this: a file, or the lines themselves."""
    lines = "; ".join(str(script).strip().splitlines())
    return {"TRACKER_NVML_PATH": LIBRARY, "FAKE_NVML": lines, **more}


def samples_of(path):
    return [parse(line) for line in file_lines(path)]


def shares(sample):
    """What the tree has of each device."""
    return [tuple(card[key] for key in SHARES) for card in sample["gpu"]]


def check_sums(samples):
    """Where the totals of the tree are known, they are the sums over the devices, as far as those are known."""
    for sample in samples:
        cpu = sample["cpu"]
        memory, percent = ([value for value in values if value is not None]
                           for values in (list(zip(*shares(sample))) if sample["gpu"] else [(), ()]))
        if cpu["process_gpu_vram_bytes"] is not None:
            equal(cpu["process_gpu_vram_bytes"], sum(memory), "VRAM of all devices")
        if cpu["process_gpu_usage"] is not None:
            # Each is written with four decimals.
            usage = cpu["process_gpu_usage"]
            expect(abs(usage - sum(percent) / 100) < 1e-3, "usage", usage, percent)
            equal(cpu["process_gpu_utilized"], sum(value > 0 for value in percent), "GPUs in use")


def helpers_of(pid):
    """The children of a tracker that run the library."""
    found = []
    for child in children(pid):
        with contextlib.suppress(OSError):
            if b"--nvml-helper" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                found.append(child)
    return found


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def is_gone(pid):
    return not os.path.exists(f"/proc/{pid}")


def first_namespace():
    return os.readlink("/proc/self/ns/pid") == "pid:[4026531836]"


def need_first_namespace():
    if not first_namespace():
        raise Skip("a driver's PIDs are not believed in this PID namespace")


@contextlib.contextmanager
def playing(*options, script=TWO, command=None, **env):
    """A tracker with a command that waits, writing to a file; yields both with the path of the script."""
    with directory() as place:
        (place / "script").write_text(script, encoding="ascii")
        output = place / "samples"
        with Job("-i", "0.1", "-o", output, *options, command=command or python(WAITER, 7), stdin=subprocess.PIPE,
                 env=fake(place / "script", **env)) as job:
            yield job, output, place / "script"


def end(job):
    """Lets the waiting command end with its status 7."""
    job.process.stdin.close()
    return job.wait()


def is_read(sample):
    return bool(sample["gpu"]) and sample["gpu"][0]["utilization_pct"] is not None


def wait_sample(output, condition, what, secs=WAIT_SECS):
    """The first sample from now on for which the condition holds."""
    seen = len(file_lines(output)) if output.exists() else 0

    def look():
        lines = output.read_bytes().split(b"\n")[:-1] if output.exists() else []
        return next((sample for sample in map(parse, lines[seen:]) if condition(sample)), None)
    return wait_until(look, what, secs)


@test
def every_field_of_two_cards():
    with playing() as (job, output, _):
        sample = wait_sample(output, is_read, "a reading")
        equal(end(job), 7, "status")
    equal(len(sample["gpu"]), 2, "cards")
    first, second = sample["gpu"]
    detail = first.pop("detail")
    equal(first, {"uuid": "GPU-0", "name": "NVIDIA Test", "device_type": "GPU", "host_id": "0",
                  "utilization_pct": 40, "vram_total_bytes": 1024 * MIB, "vram_used_bytes": 512 * MIB,
                  "vram_used_pct": 50, "temperature_celsius": 61, "power_watts": 250.5, "frequency_mhz": 1410,
                  "core_count": 6912, "memory_utilization_pct": 10, "throttle_reasons": ["sw_power_cap"],
                  "process_vram_bytes": 0, "process_utilization_pct": 0}, "card 0")
    equal(sorted(detail), ["cuda_version", "driver", "driver_version", "pci_bus", "pci_bus_id"], "detail")
    equal([second["uuid"], second["host_id"], second["vram_used_bytes"]], ["GPU-1", "1", MIB], "card 1")


@test
def csv_columns():
    with playing("-f", "csv") as (job, output, _):
        wait_file_lines(output, 25)
        equal(end(job), 7, "status")
        rows = list(csv.DictReader(output.open(encoding="ascii")))
    row = rows[-2]
    equal([row["system_gpu_usage"], row["system_gpu_vram_mib"], row["system_gpu_utilized"]],
          ["0.4000", "513.0000", "1"], "sums")
    with directory() as place, Tracker("-i", "0.1", "-f", "csv", "-o", place / "samples", env=fake(TWO)) as tracker:
        wait_file_lines(place / "samples", 25)
        equal(tracker.stop(), 0, "status of host mode")
        row = list(csv.DictReader((place / "samples").open(encoding="ascii")))[-2]
    equal([row["gpu_usage"], row["gpu_vram"], row["gpu_utilized"]], ["0.4000", "513.0000", "1"], "sums of the host")


@test
def only_processes_of_the_tree_are_charged():
    need_first_namespace()
    outsider = os.getpid()
    code = "import os, sys; open(sys.argv[1], 'w').write(str(os.getpid())); os.read(0, 1)"
    with directory() as place:
        pidfile = place / "pid"
        script = TWO + f"""
process 0 pidfile:{pidfile} {300 * MIB} compute
process 0 {outsider} {100 * MIB} compute
process 1 {outsider} {100 * MIB} compute
sample 0 pidfile:{pidfile} 30
sample 0 {outsider} 60
sample 1 {outsider} 90
"""
        # A grandchild does the work.
        command = ["sh", "-c", '"$@"; exit 7', "sh", *python(code, pidfile)]
        with playing(script=script, command=command) as (job, output, _):
            sample = wait_sample(output, lambda sample: (sample["cpu"]["process_gpu_usage"] or 0) > 0, "usage")
            status = end(job)
            samples = samples_of(output)
            last = samples[-1]
    equal(status, 7, "status")
    check_sums(samples)
    equal(shares(sample)[0][0], 300 * MIB, "VRAM on card 0")
    equal(shares(sample)[1], (0, 0), "on card 1")
    equal(sample["cpu"]["process_gpu_vram_mib"], 300, "VRAM")
    equal(sample["cpu"]["process_gpu_utilized"], 1, "GPUs in use")
    expect(0.25 <= sample["cpu"]["process_gpu_usage"] <= 0.35, "usage", sample["cpu"]["process_gpu_usage"])
    reported = last["cpu"]["process_gpu_vram_mib"]
    # The device may be read when the process is no longer one of the tree.
    expect(reported == 300 or (reported == 0 and not last["cpu"]["process_gpu_usage"]), "at the end",
           {key: value for key, value in last["cpu"].items() if key.startswith("process_gpu")})


# Two processes that write their PIDs to files, and end with their stdin.
PAIR = """
import os, signal, sys
signal.alarm(40)
child = os.fork()
path = sys.argv[2 if child == 0 else 1]
with open(path + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(path + ".new", path)
os.read(0, 1)
if child:
    os.waitpid(child, 0)
sys.exit(7)
"""


@test(limit=40)
def uneven_cards():
    """80 GiB of one process on one card, 10 GiB of another one on each of seven, and one that is not of the tree."""
    need_first_namespace()
    outsider = os.getpid()
    with directory() as place:
        first, second = place / "first", place / "second"
        lines = ["gpus 9", f"process 0 pidfile:{first} {80 * GIB} compute", f"process 0 {outsider} {20 * GIB} compute",
                 f"process 8 {outsider} {20 * GIB} compute", f"sample 0 pidfile:{first} 90", f"sample 0 {outsider} 8",
                 f"sample 7 pidfile:{second} 20", f"sample 8 {outsider} 60"]
        lines += [f"gpu {card} total {140 * GIB}" for card in range(9)]
        lines += [f"process {card} pidfile:{second} {10 * GIB} compute" for card in range(1, 8)]
        with playing(script="\n".join(lines), command=python(PAIR, first, second)) as (job, output, _):
            # That a card is idle is known only after a while.
            sample = wait_sample(output, lambda sample: sample["cpu"]["process_gpu_utilized"] == 2, "use of two cards",
                                 20)
            equal(end(job), 7, "status")
            samples = samples_of(output)
            again = replayed(place, output)
    equal([memory for memory, _ in shares(sample)], [80 * GIB] + [10 * GIB] * 7 + [0], "VRAM of the tree")
    percent = [percent for _, percent in shares(sample)]
    expect(80 <= percent[0] <= 95 and 15 <= percent[7] <= 25, "use of the tree", percent)
    equal(percent[1:7] + percent[8:], [0] * 7, "cards that were not busy")
    equal(sample["cpu"]["process_gpu_vram_mib"], 150 * 1024, "VRAM of all")
    equal(sample["cpu"]["process_gpu_utilized"], 2, "GPUs in use")
    check_sums(samples)
    equal([sample["gpu"] for sample in again], [sample["gpu"] for sample in samples], "what a replay writes")


def replayed(place, recording):
    """The samples again, as --from writes them."""
    result = run(["--from", recording, "-f", "json", "-o", place / "again"])
    equal([result.returncode, result.stderr], [0, ""], "status and words of the replay")
    return samples_of(place / "again")


@test(limit=40)
def a_card_that_cannot_be_asked_is_null_alone():
    """The others have their values; the totals are unknown, since something may be missing from them."""
    need_first_namespace()
    with directory() as place:
        pidfile = place / "pid"
        lists = TWO + "".join(f"process {card} pidfile:{pidfile} {mib * MIB} compute\n"
                              for card, mib in ((0, 300), (1, 9)))
        silent = "".join(f"fail nvmlDeviceGet{kind}RunningProcesses* 4 1\n"
                         for kind in ("Compute", "Graphics", "MPSCompute"))
        with playing(script=lists, command=python(PAIR, pidfile, place / "other")) as (job, output, script):
            wait_sample(output, lambda sample: sample["gpu"] and shares(sample)[1][0] == 9 * MIB, "the list")
            script.write_text(lists + silent, encoding="ascii")
            sample = wait_sample(output, lambda sample: shares(sample)[1][0] is None, "a card without a list")
            equal(end(job), 7, "status")
            check_sums(samples_of(output))
    equal(shares(sample)[0][0], 300 * MIB, "card 0")
    equal(shares(sample)[1], (None, None), "card 1")
    equal([sample["cpu"][key] for key in TREE], [None, None, None], "the tree")


@test
def instances_are_devices():
    """Of an instance the memory of a process is known, and how busy it keeps it is not."""
    need_first_namespace()
    with directory() as place:
        pidfile = place / "pid"
        script = f"gpus 1\ngpu 0 mig 2\nprocess 0/1 pidfile:{pidfile} {3 * GIB} compute\n" \
                 f"process 0/0 {os.getpid()} {GIB} compute\n"
        with playing(script=script, command=python(PAIR, pidfile, place / "other")) as (job, output, _):
            sample = wait_sample(output, lambda sample: sample["gpu"] and shares(sample)[1][0], "a process")
            equal(end(job), 7, "status")
            check_sums(samples_of(output))
    equal([card["device_type"] for card in sample["gpu"]], ["MIG", "MIG"], "devices")
    equal(shares(sample), [(0, 0), (3 * GIB, None)], "shares")
    equal([sample["cpu"][key] for key in TREE], [None, 3 * 1024, None], "the tree")


@test
def a_tree_that_uses_no_gpu():
    need_first_namespace()
    with playing() as (job, output, _):
        sample = wait_sample(output, is_read, "a reading")
        end(job)
    equal([sample["cpu"][key] for key in TREE], [0, 0, 0], "the tree")
    equal(shares(sample), [(0, 0), (0, 0)], "each card")


@test
def the_host_alone_has_no_tree():
    with directory() as place, Tracker("-i", "0.1", "-o", place / "samples", env=fake(TWO)) as tracker:
        sample = wait_sample(place / "samples", is_read, "a reading")
        equal(len(helpers_of(tracker.pid)), 1, "helpers")
        equal(tracker.stop(), 0, "status")
    equal([sample["cpu"][key] for key in TREE], [None, None, None], "the tree")
    equal(shares(sample), [(None, None)] * 2, "each card")


@test
def the_helper_is_not_of_the_tree():
    with playing() as (job, output, _):
        wait_sample(output, is_read, "a reading")
        helpers = helpers_of(job.pid)
        sample = wait_sample(output, is_read, "a reading")
        end(job)
        wait_until(lambda: is_gone(helpers[0]), "the end of the helper")
    equal(sample["cpu"]["process_child_count"], 0, "children of the command")
    expect(sample["tracker"]["cpu_secs"] is not None and sample["tracker"]["rss_mib"] > 2, "what it costs us",
           sample["tracker"])


@test
def no_helper_where_none_is_wanted():
    for options, env in ((["-q"], {}), ([], {"TRACKER_COLLECT_GPU": "no"}), (["--sysroot", "/nonexistent"], {})):
        with directory() as place:
            (place / "proc").mkdir()
            options = [str(place) if word == "/nonexistent" else word for word in options]
            target = [] if "-q" in options else ["-o", place / "samples"]
            with Job("-i", "0.1", *options, *target, command=python(WAITER, 7), stdin=subprocess.PIPE,
                     env=fake(TWO, **env)) as job:
                job.wait_command()
                time.sleep(0.3)
                equal(helpers_of(job.pid), [], f"helpers with {options} {env}")
                equal(end(job), 7, "status")
            if env:
                expect(all(sample["gpu"] is None for sample in samples_of(place / "samples")), "gpu is null")


@test
def a_short_command_is_not_made_to_wait():
    with directory() as place:
        begin = time.monotonic()
        result = run(["-o", place / "samples", "--", "true"], env=fake("hang nvmlInit*"))
        took = time.monotonic() - begin
        sample, = samples_of(place / "samples")
    equal([result.returncode, result.stderr], [0, ""], "status and words")
    equal(sample["gpu"], None, "gpu of a run without a reading")
    equal([sample["cpu"][key] for key in TREE], [None, None, None], "the tree")
    expect(took < 3, f"it took {took:.3f} s")


def intervals(samples):
    return [sample["actual_interval_ms"] for sample in samples[1:-1]]


def check_cadence(samples):
    late = [ms for ms in intervals(samples) if ms > 1000 * PATIENCE_SECS]
    expect(not late, "late samples:", late)


def misbehaving(fault, words, secs=0.0):
    """Samples keep their time, the card stays known with null values, one warning is said, the status is the job's."""
    with playing() as (job, output, script):
        wait_sample(output, is_read, "a reading")
        script.write_text(TWO + fault, encoding="ascii")
        sample = wait_sample(output, lambda sample: sample["gpu"] and not is_read(sample), "null values")
        wait_until(lambda: "warning" in job.stderr(), "a warning")
        time.sleep(secs)
        wait_until(lambda: all(is_alive(pid) for pid in children(job.pid)), "the end of zombies")
        helpers = helpers_of(job.pid)
        equal(end(job), 7, "status")
        stderr = job.stderr()
        samples = samples_of(output)
        for helper in helpers:
            wait_until(lambda pid=helper: is_gone(pid), "the end of the helper")
    equal(len(sample["gpu"]), 2, "cards")
    equal([sample["gpu"][0][key] for key in READINGS], [None] * len(READINGS), "readings")
    equal(shares(sample), [(None, None)] * 2, "shares")
    equal(sample["gpu"][0]["uuid"], "GPU-0", "uuid")
    equal([sample["cpu"][key] for key in TREE], [None, None, None], "the tree")
    check_cadence(samples)
    warnings = [line for line in stderr.splitlines() if "warning" in line]
    equal(len(warnings), 1, f"warnings {warnings}")
    expect(re.search(words, warnings[0]), "the warning", warnings[0])


tap.add("a library that hangs", misbehaving, "hang nvmlDeviceGetTemperature\n", "driver has not answered", 2, limit=30)
tap.add("a library that aborts", misbehaving, "abort nvmlDeviceGetTemperature\n", r"crashed its process \(signal 6\)")
tap.add("a library that calls exit", misbehaving, "exit nvmlDeviceGetTemperature 0\n", "ended its process")
tap.add("a library that crashes", misbehaving, "segv nvmlDeviceGetTemperature\n", r"signal 11")


@test
def garbage_is_null():
    with playing(script=TWO + "garbage 1\n") as (job, output, _):
        sample = wait_sample(output, lambda sample: sample["gpu"], "a list")
        equal(end(job), 7, "status")
    for card in sample["gpu"]:
        equal([card[key] for key in ("utilization_pct", "memory_utilization_pct", "vram_used_bytes", "power_watts")],
              [None] * 4, "nonsense")


@test
def a_helper_that_dies_is_replaced():
    with playing() as (job, output, _):
        wait_sample(output, is_read, "a reading")
        helper, = helpers_of(job.pid)
        os.kill(helper, signal.SIGKILL)
        wait_until(lambda: is_gone(helper), "the end of the helper")
        wait_until(lambda: helpers_of(job.pid), "another helper")
        wait_sample(output, is_read, "a reading")
        equal(end(job), 7, "status")


@test
def signals_to_the_group_do_not_reach_the_helper():
    with playing(command=["sh", "-c", "trap '' INT TERM HUP QUIT USR1; read x; exit 7"]) as (job, output, _):
        wait_sample(output, is_read, "a reading")
        helper, = helpers_of(job.pid)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1):
            os.kill(helper, number)
        wait_sample(output, is_read, "a reading")
        time.sleep(0.3)
        equal(helpers_of(job.pid), [helper], "helpers")
        equal(end(job), 7, "status")


@test
def the_helper_goes_with_the_tracker():
    with playing() as (job, output, _):
        job.wait_command()
        wait_sample(output, is_read, "a reading")
        helper, = helpers_of(job.pid)
        job.process.kill()
        wait_until(lambda: not is_alive(helper), "the end of the helper")


@test
def no_library():
    with directory() as place:
        result = run(["-i", "0.1", "-o", place / "samples", "--", "sleep", "2"],
                     env={"TRACKER_NVML_PATH": "/nonexistent/libnvidia-ml.so.1"})
        samples = samples_of(place / "samples")
    equal(result.returncode, 0, "status")
    lines = result.stderr.splitlines()
    equal(len(lines), 1, f"words {lines}")
    expect(all(word in lines[0] for word in ("/nonexistent/libnvidia-ml.so.1", "TRACKER_NVML_PATH", "null")), "words",
           lines[0])
    equal(samples[-1]["gpu"], None, "gpu")


@test
def errors_of_the_driver_are_reported_in_words():
    for code, words in ((9, "driver is not loaded"), (18, "versions differ"), (4, "permission")):
        with directory() as place:
            result = run(["-i", "0.1", "-o", place / "samples", "--", "sleep", "1.5"], env=fake(f"init_error {code}"))
        equal(result.returncode, 0, "status")
        expect(words in result.stderr and len(result.stderr.splitlines()) == 1, "words", result.stderr)


@test
def energy_of_the_run():
    with directory() as place:
        result = run(["-v", "-i", "0.1", "-o", place / "samples", "--", "sleep", "2"],
                     env=fake("gpus 1; gpu 0 energy 1000000; gpu 0 energy_step 2500"))
    equal(result.returncode, 0, "status")
    found = re.search(r"the GPUs used ([0-9.]+) J of energy", result.stderr)
    expect(found and float(found[1]) == 2.5, "words", result.stderr)


@test
def energy_of_the_host():
    with directory() as place:
        env = fake("gpus 1; gpu 0 energy 1000000; gpu 0 energy_step 2500")
        with Tracker("-v", "-i", "0.1", "-o", place / "samples", env=env) as tracker:
            wait_sample(place / "samples", is_read, "a reading")
            equal(tracker.stop(), 0, "status")
            expect("the GPUs used 2.5 J" in tracker.stderr(), "words", tracker.stderr())


@test(limit=40)
def wide_intervals_have_fresh_readings():
    """64 cards send far more than a socket holds before the first sample is due."""
    with directory() as place:
        def play(percent):
            lines = ["gpus 64"] + [f"gpu {i} util {percent}" for i in range(64)]
            (place / "script").write_text("\n".join(lines) + "\n", encoding="ascii")

        play(10)
        with Job("-i", "12", "-o", place / "samples", command=python(WAITER, 7), stdin=subprocess.PIPE,
                 env=fake(place / "script")) as job:
            job.wait_command()
            time.sleep(8)
            play(20)
            wait_file_lines(place / "samples", 1, 10)
            time.sleep(3)
            equal(end(job), 7, "status")
        samples = samples_of(place / "samples")
    equal(len(samples), 2, "samples")
    equal({card["utilization_pct"] for card in samples[1]["gpu"]}, {20}, "utilization at the end")
    first = {card["utilization_pct"] for card in samples[0]["gpu"]}
    # 8 s of 10 % and 4 s of 20 %
    expect(len(first) == 1 and 12 < first.pop() < 15, "mean of the first 12 s", samples[0]["gpu"][0])


@test
def a_command_that_ends_before_the_first_sample():
    need_first_namespace()
    with directory() as place:
        pidfile = place / "pid"
        (place / "script").write_text(f"gpus 1\nprocess 0 pidfile:{pidfile} {300 * MIB} compute\n"
                                      f"sample 0 pidfile:{pidfile} 50\n", encoding="ascii")
        run(["-i", "60", "-o", place / "samples", "--", "sh", "-c", f"echo $$ > {pidfile}; sleep 5"],
            env=fake(place / "script"))
        sample, = samples_of(place / "samples")
    equal(sample["cpu"]["process_gpu_vram_mib"], 300, "VRAM")
    expect(0.4 <= sample["cpu"]["process_gpu_usage"] <= 0.6, "usage", sample["cpu"]["process_gpu_usage"])


@test
def a_short_command_has_readings():
    with directory() as place:
        result = run(["-v", "-o", place / "samples", "--", "sleep", "0.8"],
                     env=fake("gpus 2; gpu 0 util 30; gpu 0 energy_step 1000"))
        sample, = samples_of(place / "samples")
    equal(sample["gpu"][0]["utilization_pct"], 30, "utilization")
    expect("0.0 J" not in result.stderr, "words", result.stderr)


@test
def the_hidden_mode_is_of_no_use_by_hand():
    result = run(["--nvml-helper"])
    expect(result.returncode == 125 and "--nvml-helper" in result.stderr, "alone", result.returncode, result.stderr)
    result = run(["--nvml-helper", LIBRARY, "0", "1000000000", "1"])
    expect(result.returncode != 0, "with everything", result.returncode)


@test
def the_job_sees_nothing_of_it():
    code = """
import os, sys, time
time.sleep(2)
names = sorted(set(os.environ) - {"TRACKER_SOCKET"})
print(names, sorted(os.listdir("/proc/self/fd")), os.getpgrp(), os.getsid(0), flush=True)
"""
    with directory() as place:
        env = clean_env(**fake(TWO))
        bare = subprocess.run(python(code), env=env, capture_output=True, text=True, timeout=WAIT_SECS, check=True)
        tracked = subprocess.run([BINARY, "-i", "0.1", "-o", place / "samples", "--", *python(code)], env=env,
                                 cwd=place, capture_output=True, text=True, timeout=WAIT_SECS, check=True)
        expect(is_read(samples_of(place / "samples")[-1]), "a reading came")
    equal(tracked.stdout, bare.stdout, "environment, descriptors, group")


@test
def relative_path_of_the_library():
    with directory() as place:
        (place / "lib").mkdir()
        shutil.copy(LIBRARY, place / "lib" / "nvml.so")
        result = run(["-i", "0.1", "-o", "samples", "--", "sleep", "2"], cwd=place,
                     env={"TRACKER_NVML_PATH": "lib/nvml.so", "FAKE_NVML": TWO})
        equal([result.returncode, result.stderr], [0, ""], "status and words")
        expect(is_read(samples_of(place / "samples")[-1]), "a reading came")


def need_no_gpu():
    there = [path for path in DEVICES if os.path.exists(path)]
    if there:
        raise Skip(f"this machine has {there[0]}")


@test
def a_machine_without_gpus():
    need_no_gpu()
    with directory() as place:
        run(["-i", "0.1", "-o", place / "samples", "--", "sleep", "0.25"])
        samples = samples_of(place / "samples")
    expect(all(sample["gpu"] == [] for sample in samples), "gpu", [sample["gpu"] for sample in samples])
    # That none is used is known.
    expect(all(sample["cpu"][key] == 0 for sample in samples for key in TREE), "the tree", samples[-1]["cpu"])


def calls_per_sample(place, **env):
    """System calls of the cycles of the steady state; births on the host and slow facts lengthen some."""
    trace = place / "trace"
    subprocess.run([need_strace(), "-f", "-qq", "-o", trace, BINARY, "-i", "0.05", "-o", place / "samples", "--",
                    "sleep", "2"], env=clean_env(**env), cwd=place, timeout=WAIT_SECS * 2, check=True)
    calls = trace_calls(trace.read_text(encoding="utf-8", errors="replace"))
    # The thread that samples.
    sampler = next(thread for thread, name, arguments in calls if name == "write" and '"{' in arguments)
    names = [name for thread, name, _ in calls if thread == sampler]
    cycles, cycle = [], []
    for name in names:
        cycle.append(name)
        if name.startswith("epoll_"):
            cycles.append(tuple(cycle))
            cycle = []
    # Mounts and helpers wake it between samples too.
    return [cycle for cycle in cycles[10:-5] if "write" in cycle]


@test(limit=60)
def a_machine_without_gpus_makes_no_call_for_them():
    need_no_gpu()
    found, wanted = [], []
    with directory() as place:
        for _ in range(4):  # on a busy machine there may be a birth in every cycle of one of them
            found += calls_per_sample(place)
            wanted += calls_per_sample(place, TRACKER_COLLECT_GPU="0")
            shortest = [min(cycles, key=lambda cycle: (len(cycle), cycle)) for cycles in (found, wanted)]
            if shortest[0] == shortest[1]:
                return
    equal(*shortest, "calls of the shortest cycle")


@test
def in_a_pid_namespace_nothing_is_charged_without_proof():
    unshare = shutil.which("unshare")
    words = [unshare or "unshare", "-p", "-f", "--kill-child", "--mount-proc"]
    if not unshare or subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("namespaces are not permitted")
    with directory() as place:
        # PID 2 is the command there; the library lists a process of that number, which is another one of the host.
        script = TWO + f"process 0 2 {300 * MIB} compute\n"
        subprocess.run([*words, BINARY, "-i", "0.1", "-o", place / "samples", "--", "sleep", "0.6"],
                       env=clean_env(**fake(script)), cwd=place, timeout=WAIT_SECS, check=True)
        samples = [sample for sample in samples_of(place / "samples") if is_read(sample)]
    expect(samples, "readings came")
    expect(all(sample["cpu"]["process_gpu_vram_mib"] in (0, None) for sample in samples), "VRAM",
           [sample["cpu"]["process_gpu_vram_mib"] for sample in samples])
    expect(all(memory in (0, None) for sample in samples for memory, _ in shares(sample)), "VRAM of each card",
           [shares(sample) for sample in samples])


tap.main()
