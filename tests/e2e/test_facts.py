#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Facts of a run: machine and job in its first sample, the end in its last, and processes by their command lines."""

import contextlib
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

import lib  # noqa: F401, finds those that follow
import tap
from job import Job, python, validate
from tap import Skip, equal, expect, test
from tracker import (BINARY, WAIT_SECS, Tracker, clean_env, directory, file_lines, parse, remove_group, run,
                     wait_file_lines)
from truth import need_unshare

# Sleeps 50 times, and touches 20 MiB.
SLEEPER = """
import time
memory = bytearray(20 << 20)
memory[::4096] = b"x" * len(memory[::4096])
for i in range(50):
    time.sleep(0.001)
"""

# A parent with five children that use 0.1, 0.2, ... s of CPU time; then it does as it is asked through its stdin: the
# first two children end, and then the others.
BUSY = """
import os, signal, subprocess, sys
signal.alarm(60)
burn = '''
import os, sys, time
while time.process_time() < float(sys.argv[1]): pass
os.write(1, b"x")
os.read(0, 1)
'''
words = [sys.executable, "-I", "-S", "-c", burn]
jobs = [subprocess.Popen([*words, str((k + 1) / 10), f"child-{k}", "--token", f"hush-{k}"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) for k in range(5)]
for job in jobs:
    job.stdout.read(1)
os.write(1, b"ready %d\\n" % os.getpid())
os.read(0, 1)
for job in jobs[:2]:
    job.communicate()
os.write(1, b"two\\n")
os.read(0, 1)
for job in jobs[2:]:
    job.communicate()
"""

# Another program in the same process, by the same name and then by another one, each when it is asked for.
EXECUTES = """
import os, signal, sys
signal.alarm(60)
if "--first" in sys.argv:
    os.write(1, b"ready %d\\n" % os.getpid())
    os.read(0, 1)
    os.execv(sys.executable, [*sys.orig_argv[:-1], "--second"])
os.write(1, b"second\\n")
os.read(0, 1)
os.execv("/bin/sh", ["sh", "-c", "echo third; read x; : $0", "--password=hunter2"])
"""

# A name and an argument of any bytes.
ODD = """
import ctypes, os, signal
signal.alarm(60)
ctypes.CDLL(None).prctl(15, b") (\\n\\\\\\xff", 0, 0, 0)
os.write(1, b"ready %d\\n" % os.getpid())
os.read(0, 1)
"""


def samples_of(path):
    return [parse(line) for line in file_lines(path)]


def more_samples(path, count=3):
    """So many samples that one was begun and ended since now."""
    wait_file_lines(path, len(file_lines(path)) + count)


def run_job(command, *options, env=None, place=None):
    """The samples of a command that ends by itself."""
    with contextlib.ExitStack() as stack:
        place = place or stack.enter_context(directory())
        done = run(["-o", "out", *options, "--", *command], env=env, cwd=place)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr")
        return samples_of(place / "out")


@contextlib.contextmanager
def job_with_input(code, *args, env=None):
    """A job that waits for a byte on its stdin, the file with its samples, and a function that sends the byte."""
    ours, theirs = os.pipe()
    with contextlib.ExitStack() as stack:
        place = stack.enter_context(directory())
        stack.callback(os.close, theirs)
        (place / "job.py").write_text(code, encoding="utf-8")
        command = [sys.executable, "-I", "-S", "job.py", *args]
        try:
            job = stack.enter_context(Job("-i", "0.05", "-o", "out", command=command, cwd=place, stdin=ours, env=env))
        finally:
            os.close(ours)
        job.wait_command()
        wait_file_lines(place / "out", 2)
        yield job, place / "out", lambda: os.write(theirs, b"x")


def all_commands(samples):
    """Every command line of a process in them."""
    lists = [sample.get("processes") or [] for sample in samples] + [samples[-1]["end"]["processes_by_cpu"]]
    return [process["command"] for processes in lists for process in processes]


@test
def faults_and_context_switches_are_those_of_gnu_time():
    program = shutil.which("time")
    if not program:
        raise Skip("GNU time is not installed")
    command = python(SLEEPER)
    timed = subprocess.run([program, "-f", "%R %F %w %c", *command], env=clean_env(), capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=WAIT_SECS, check=True)
    minor, _, voluntary, _ = map(int, timed.stderr.split())
    end = run_job(command)[-1]["end"]
    tap.diag(f"minor faults {end['minor_faults']}, time has {minor}; voluntary switches {end['voluntary_switches']}, "
             f"time has {voluntary}")
    expect(abs(end["minor_faults"] - minor) <= 0.2 * minor, f"{end['minor_faults']} minor faults, time has {minor}")
    expect(min(voluntary, end["voluntary_switches"]) >= 50, f"{end['voluntary_switches']} voluntary switches")
    expect(end["voluntary_switches"] <= 4 * voluntary, f"{end['voluntary_switches']}, time has {voluntary}")
    for key in ("major_faults", "involuntary_switches"):
        expect(isinstance(end[key], int) and end[key] >= 0, f"{key}: {end[key]}")
    equal(end["target_is_running"], None, "target_is_running")


@test
def kernel_is_the_real_one_below_uname26():
    program = shutil.which("setarch")
    if not program:
        raise Skip("there is no setarch")
    release = pathlib.Path("/proc/sys/kernel/osrelease").read_text(encoding="ascii").strip()
    with directory() as place:
        done = subprocess.run([program, "--uname-2.6", BINARY, "-o", "out", "--", "uname", "-r"], env=clean_env(),
                              cwd=place, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=WAIT_SECS)
        if not done.stdout.startswith("2.6."):
            raise Skip(f"setarch has no effect here: {done.stdout}{done.stderr}")
        equal(samples_of(place / "out")[0]["run"]["kernel"], release, "kernel")


@test
def faults_of_children_count():
    mib = 30
    touch = f"import sys; b = bytearray({mib} << 20); b[::4096] = b'x' * len(b[::4096])"
    code = f"""
import os, subprocess, sys
words = [sys.executable, "-I", "-S", "-c", {touch!r}]
subprocess.run(words, check=True)
"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt
    end = run_job(python(code))[-1]["end"]
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_minflt - before
    expect(mib * 256 * 0.05 <= end["minor_faults"] <= used, f"{end['minor_faults']} of {used} faults")


def attached_end(*options, ends=False, stops=True):
    """The end of a run over a process that sleeps."""
    with subprocess.Popen(["sleep", "60"], env=clean_env()) as target, directory() as place:
        try:
            with Tracker("-i", "0.05", "-o", "out", "--pid", str(target.pid), *options, cwd=place) as tracker:
                wait_file_lines(place / "out", 2)
                if ends:
                    target.kill()
                    target.wait(WAIT_SECS)
                    more_samples(place / "out", 0 if not stops else 2)
                equal(tracker.stop() if stops else tracker.wait(), 0, "exit status")
            end = samples_of(place / "out")[-1]["end"]
        finally:
            target.kill()
    for key in ("exit_code", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches"):
        equal(end[key], None, key)
    equal([process["command"] for process in end["processes_by_cpu"]], ["sleep 60"], "processes")
    equal(end["processes_seen"], 1, "processes_seen")
    return end["target_is_running"]


@test
def an_attached_target_runs_on_or_has_ended():
    equal(attached_end(), True, "stopped by a signal")
    equal(attached_end("--duration", "0.3s", stops=False), True, "stopped by --duration")
    equal(attached_end(ends=True), False, "it ended, and tracking went on")
    equal(attached_end("--stop-with-pid", ends=True, stops=False), False, "it ended, and tracking with it")


def cpuinfo_model():
    text = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    found = re.search(r"^model name\s*:(.*)$", text, re.M)
    return " ".join(found[1].split()) if found else None


@test
def the_cpu_model_is_in_the_first_sample():
    model = cpuinfo_model()
    got = run_job(["sleep", "0.6"], "-i", "0.25")[0]["run"]["cpu_model"]
    if model is None:
        raise Skip("/proc/cpuinfo has no model name here")
    equal(got, model, "cpu_model")
    equal(run_job(["sleep", "0.3"])[0]["run"]["cpu_model"], model, "cpu_model where the first sample is the last")
    expect(run_job(["true"])[0]["run"]["cpu_model"] in (None, model), "cpu_model of a short command")
    with Tracker("-i", "0.02") as tracker:
        equal(parse(tracker.stdout.next())["run"]["cpu_model"], model, "cpu_model of the host")


@test
def metadata_and_tags_are_in_the_first_sample():
    run_facts = run_job(["true"])[0]["run"]
    equal((run_facts["metadata"], run_facts["tags"]), (None, None), "without any")
    env = {"TRACKER_PROJECT_NAME": "p\u00e4", "SLURM_JOB_ID": "77", "TRACKER_TAGS": "a=1,b=x=y"}
    run_facts = run_job(["true"], "--team", "infra", "--container-image", "img:1", "--tag", "c=d", env=env)[0]["run"]
    equal(run_facts["metadata"], {"project_name": "p\u00e4", "team": "infra", "executor": "slurm",
                                  "external_run_id": "77", "container_image": "img:1"}, "metadata")
    expect(run_facts["tags"]["c"] == "d", "tags", run_facts["tags"])


@test
def a_replay_has_the_same_facts():
    with directory() as place:
        samples = run_job(["sh", "-c", "sleep 0.3; : --password=hunter2"], "-i", "0.1", "--tag", "a=b", "--env", "test",
                          place=place)
        again = run(["--from", "out", "-o", "-"], cwd=place)
        equal((again.returncode, again.stderr), (0, ""), "status and stderr")
        replayed = [parse(line) for line in again.stdout.splitlines()]
        for key in ("processes", "run", "end"):
            equal([sample.get(key) for sample in replayed], [sample.get(key) for sample in samples], key)
        expect("[SECRET]" in again.stdout and "hunter2" not in again.stdout, "masked:", again.stdout)
        hidden = run(["--from", "out", "-o", "-"], cwd=place, env={"TRACKER_RECORD_COMMAND": "0"}).stdout
        equal(set(all_commands([parse(line) for line in hidden.splitlines()])), {None}, "command lines")


@test
def a_recording_without_masks_is_masked_when_it_is_replayed():
    with directory() as place:
        run_job(["sh", "-c", "sleep 0.3; :", "x", "--password=hunter2"], "-i", "0.1", "--mask-command=off", place=place)
        text = (place / "out").read_text(encoding="utf-8")
        expect(re.search(r'"command":"[^"]*hunter2', text), "mask-command=off masks", text)
        again = run(["--from", "out", "-o", "-"], cwd=place)
        expect("hunter2" not in again.stdout and "--password=[SECRET]" in again.stdout, "not masked", again.stdout)


def group_of_memory():
    """The cgroup that counts our memory, by the name that /proc has for it; None where there is none."""
    lines = [line.split(":", 2) for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()]
    v1 = [path for _, names, path in lines if "memory" in names.split(",")]
    return (v1 or [path for number, _, path in lines if number == "0"] or [None])[0]


@test
def the_group_of_the_tree_is_shared_with_this_test():
    sample = run_job(["sleep", "0.3"])[0]
    path = sample["run"]["cgroup_path"]
    if not sample["cgroup"] or sample["cgroup"]["memory_used_mib"] is None:
        raise Skip("no control group counts memory here")
    expect(path.startswith("/") and group_of_memory().endswith(path.rstrip("/")), f"{path}, not {group_of_memory()}")
    equal(sample["run"]["cgroup_is_own"], False, "cgroup_is_own")
    expect(run_job(["true"])[0]["run"]["cgroup_is_own"] in (None, False), "cgroup_is_own of a short command")


def new_group():
    """A group of its own below the one that counts our memory; skips where there can be none."""
    mounts = pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    for fields, kind in ([part.split() for part in line.split(" - ", 1)] for line in mounts):
        if fields[3] != "/" or not (kind[0] == "cgroup2" or (kind[0] == "cgroup" and "memory" in kind[2].split(","))):
            continue
        parent = pathlib.Path(fields[4] + group_of_memory().rstrip("/"))
        if not (parent / "cgroup.procs").exists():
            continue
        try:
            group = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-", dir=parent))
        except OSError as error:
            raise Skip(f"no groups can be made in {parent}: {error.strerror}") from error
        if any((group / name).exists() for name in ("memory.current", "memory.usage_in_bytes")):
            return group
        group.rmdir()
    raise Skip("no control group counts memory here")


@test
def a_group_in_which_there_is_nothing_but_the_job_is_its_own():
    if group_of_memory() is None:
        raise Skip("there are no control groups")
    group = new_group()
    words = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', str(group)]
    try:
        with directory() as place:
            done = subprocess.run([*words, BINARY, "-i", "0.1", "-o", place / "out", "--", "sh", "-c", "sleep 0.3; :"],
                                  env=clean_env(), cwd=place, capture_output=True, timeout=WAIT_SECS, check=False)
            if done.returncode == 2:
                raise Skip("no process can be put into a group")
            equal(done.returncode, 0, "exit status")
            facts = samples_of(place / "out")[0]["run"]
    finally:
        remove_group(group)
    expect(facts["cgroup_path"].endswith("/" + group.name), facts["cgroup_path"])
    is_first = os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC
    known = (True,) if is_first or (group.parent / "cgroup.controllers").exists() else (True, None)
    expect(facts["cgroup_is_own"] in known, f"cgroup_is_own: {facts['cgroup_is_own']}")


@test
def the_first_process_of_a_namespace_is_not_alone_in_a_shared_group():
    words = need_unshare("--mount-proc")
    with directory() as place:
        done = subprocess.run([*words, BINARY, "-o", "out", "--", "sleep", "0.3"], env=clean_env(), cwd=place,
                              capture_output=True, timeout=WAIT_SECS, check=False)
        equal(done.returncode, 0, "exit status")
        facts = samples_of(place / "out")[0]["run"]
    expect(facts["cgroup_is_own"] is not True, "a group that others are in is called own:", facts["cgroup_path"])


@test(limit=40)
def the_processes_with_the_most_cpu_time_are_ranked():
    with job_with_input(BUSY) as (job, path, ask):
        more_samples(path)
        ask()
        equal(job.stdout.next(), b"two", "what the job says")
        more_samples(path)
        ask()
        equal(job.wait(), 0, "exit status")
        samples = samples_of(path)
        text = path.read_text(encoding="utf-8")
    end = samples[-1]["end"]
    ranked = end["processes_by_cpu"]
    times = [process["cpu_secs"] for process in ranked]
    equal(times, sorted(times, reverse=True), "order")
    expect(len(ranked) <= 8 and end["processes_seen"] >= 6, f"{len(ranked)} of {end['processes_seen']}")
    children = [process for process in ranked if "child-" in (process["command"] or "")]
    tap.diag(str([(process["command"][-30:], process["cpu_secs"]) for process in children]))
    order = [re.search(r"child-(\d)", process["command"])[1] for process in children]
    equal(order, list("43210"), "children by CPU time")
    for process, k in zip(children, (4, 3, 2, 1, 0)):
        wanted = (k + 1) / 10
        expect(wanted - 0.02 <= process["cpu_secs"] <= wanted + 0.15, f"child-{k}: {process['cpu_secs']} s")
        expect(process["command"].endswith(f"child-{k} --token [SECRET]"), process["command"])
    expect(not re.search(r"hush-\d", text), "a secret is in the samples")


@test
def an_exec_changes_the_command_line():
    with job_with_input(EXECUTES, "--first") as (job, path, ask):
        more_samples(path)
        ask()
        equal(job.stdout.next(), b"second", "what the job says")
        more_samples(path)
        ask()
        equal(job.stdout.next(), b"third", "what the job says")
        more_samples(path)
        os.kill(job.command_pid, signal.SIGTERM)
        job.wait()
        samples = samples_of(path)
        text = path.read_text(encoding="utf-8")
    ranked = samples[-1]["end"]["processes_by_cpu"]
    equal(len(ranked), 1, "processes")
    equal(ranked[0]["name"], "sh", "name")
    equal(ranked[0]["command"], "sh -c echo third; read x; : $0 --password=[SECRET]", "command")
    first = next(command for command in all_commands(samples) if command)
    equal(first, f"{sys.executable} -I -S job.py --first", "command at first")
    expect("hunter2" not in text, "a secret is in the samples")


@test
def command_lines_are_not_recorded_where_that_is_off():
    with job_with_input(EXECUTES, "--first", env={"TRACKER_RECORD_COMMAND": "0"}) as (job, path, _):
        more_samples(path)
        os.kill(job.command_pid, signal.SIGTERM)
        job.wait()
        samples = samples_of(path)
        text = path.read_text(encoding="utf-8")
    equal(set(all_commands(samples)), {None}, "command lines")
    expect(samples[-1]["end"]["processes_by_cpu"][0]["name"], "no name")
    expect("--first" not in text, "the command line is in the samples")


@test
def names_and_arguments_of_any_bytes():
    with job_with_input(ODD, os.fsdecode(b"a\xff\nb"), "\U0001f600") as (job, path, ask):
        more_samples(path)
        ask()
        equal(job.wait(), 0, "exit status")
        ranked = samples_of(path)[-1]["end"]["processes_by_cpu"]
    equal(ranked[0]["name"], ") (\n\\\ufffd", "name")
    equal(ranked[0]["command"], f"{sys.executable} -I -S job.py a\ufffd\nb \U0001f600", "command")


@test
def a_long_command_line_is_cut():
    with directory() as place:
        run_job(["sh", "-c", "sleep 0.3; : " + "y" * 6000], "-i", "0.1", place=place)
        commands = all_commands(samples_of(place / "out"))
    found = [command for command in commands if command.startswith("sh -c sleep 0.3; : yyy")]
    expect(found and all(len(command) == 256 and command.endswith("...") for command in found), commands)


@test
def a_command_that_no_sample_saw_is_known():
    end = run_job(["sh", "-c", "exit 0", "--token=hunter2"])[-1]["end"]
    equal(end["processes_seen"], 1, "processes_seen")
    equal([(process["name"], process["command"]) for process in end["processes_by_cpu"]],
          [("sh", "sh -c exit 0 --token=[SECRET]")], "processes")
    expect(end["processes_by_cpu"][0]["cpu_secs"] > 0, "no CPU time")


@test
def the_samples_are_as_the_schema_says():
    samples = run_job(["sh", "-c", "sleep 0.3; :"], "-i", "0.1", "--tag", "a=b", "--team", "t") + run_job(["true"])
    for sample in samples:
        validate(sample)


@test
def a_storm_of_short_processes_is_counted():
    code = """
import os
for i in range(300):
    if os.fork() == 0:
        os._exit(0)
    os.wait()
"""
    samples = run_job(python(code), "-i", "0.02")
    seen = samples[-1]["end"]["processes_seen"]
    tap.diag(f"{seen} of 301 were seen")
    expect(1 <= seen <= 301, f"{seen} processes were seen")
    expect(len(samples[-1]["end"]["processes_by_cpu"]) <= 8, "too many")


if __name__ == "__main__":
    tap.main()
