#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--attach-cgroup: a group that others made, with what runs in it and below it, until it is empty."""

import contextlib
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import WAIT_SECS, Tracker, file_lines, parse, remove_group, run, wait_until

TICK_SECS = 0.01
UNIQUE = f"rt-e2e-{os.getpid()}"


def mounts():
    """(controllers, mount point) of every mount that shows a whole hierarchy; those of v2 are {"v2"}."""
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields, kind = (part.split() for part in line.split(" - ", 1))
        if kind[0] in ("cgroup", "cgroup2") and fields[3] == "/":
            yield {"v2"} if kind[0] == "cgroup2" else set(kind[2].split(",")), pathlib.Path(fields[4])


def directory_of(wanted):
    """Where the group that this process is in is mounted, in the hierarchy of a controller, or "v2"."""
    paths = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
        _, names, path = line.split(":", 2)
        paths.update({name: path for name in (names.split(",") if names else ["v2"])})
    for controllers, point in mounts():
        if wanted in controllers and wanted in paths:
            return pathlib.Path(f"{point}{paths[wanted].rstrip('/')}")
    raise Skip(f"no mount shows the whole hierarchy of {wanted}")


@contextlib.contextmanager
def groups(name, *hierarchies):
    """A group of that name below ours in each hierarchy; gone at the end, with all that runs in them."""
    made = []
    try:
        for hierarchy in hierarchies:
            made.append(directory_of(hierarchy) / name)
            try:
                made[-1].mkdir()
            except OSError as error:
                path = made.pop()
                raise Skip(f"{path} cannot be made: {error.strerror}") from error
        yield made
    finally:
        for group in made:
            for below in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
                remove_group(below)
            remove_group(group)


# Enters groups and says so. Then for each line that comes: as many seconds of CPU time as it says, half of them by a
# grandchild that nothing waits for, each in as many short ones besides; "mib N" takes memory; "out DIR" leaves.
JOB = """
import os, sys

def burn(secs):
    began = os.times()
    while sum(os.times()[:2]) - sum(began[:2]) < secs:
        pass

def apart(secs):
    if os.fork() == 0:
        if os.fork() == 0:
            burn(secs)
            os.write(ends[1], b'.')
        os._exit(0)
    os.wait()

for group in sys.argv[1:]:
    open(group + '/cgroup.procs', 'w').write(str(os.getpid()))
ends = os.pipe()
print('in', flush=True)
for line in sys.stdin:
    word, _, rest = line.strip().partition(' ')
    if word == 'mib':
        kept = bytearray(os.urandom(1 << 20)) * int(rest)
    elif word == 'out':
        open(rest + '/cgroup.procs', 'w').write(str(os.getpid()))
    else:
        secs = float(word)
        apart(secs / 2)
        for _ in range(10):
            apart(secs / 40)
        burn(secs / 4)
        for _ in range(11):
            os.read(ends[0], 1)
    print('done', flush=True)
"""


@contextlib.contextmanager
def job(*where):
    with subprocess.Popen([sys.executable, "-c", JOB, *map(str, where)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as process:
        try:
            line = process.stdout.readline()
            if line != "in\n":
                raise Skip(f"no process can be moved to {where}")
            yield process
        finally:
            process.kill()


def ask(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()
    equal(process.stdout.readline(), "done\n", "answer of the job")


def end(process):
    process.stdin.close()
    equal(process.wait(WAIT_SECS), 0, "status of the job")


def cpu_secs(group):
    if (group / "cpuacct.usage").exists():
        return int((group / "cpuacct.usage").read_text()) / 1e9
    stat = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    return int(stat["usage_usec"]) / 1e6


def used(samples):
    return sum(sample["cpu"]["process_utime_secs"] + sample["cpu"]["process_stime_secs"] for sample in samples)


def refused(group, *words):
    done = run(["--attach-cgroup", str(group)])
    equal(done.returncode, 125, f"exit status with {group}")
    text = done.stderr if isinstance(done.stderr, str) else done.stderr.decode()
    equal(text.count("\n"), 1, f"lines on stderr ({text!r})")
    for word in (str(group), *words):
        expect(word in text, f"{word!r} is not in", text)


def summary_of(tracker):
    return json.loads((tracker.cwd / "s.json").read_bytes())


def counts_what_is_used_in_it(interval, *hierarchies):
    with groups(UNIQUE, *hierarchies) as made:
        for group in made:
            (group / "child").mkdir()
        with job(*made) as first, job(*(group / "child" for group in made)) as second:
            ask(first, "0.2")
            ask(second, "0.2")
            before = cpu_secs(made[0])
            with Tracker("-i", interval, "--attach-cgroup", str(made[0]), "--summary-json", "s.json",
                         "-o", "run.jsonl") as tracker:
                tracker.wait_ready()
                ask(first, "0.5")
                ask(second, "0.5")
                end(first)
                ask(second, "0.2")
                end(second)
                equal(tracker.wait(), 0, "exit status")
                equal(tracker.stderr(), "", "stderr")
                samples = [parse(line) for line in file_lines(tracker.cwd / "run.jsonl")]
                summary = summary_of(tracker)
        after = cpu_secs(made[0])
        got, truth = used(samples), after - before
        slack = TICK_SECS + 1e-4 * len(samples)
        tap.diag(f"{got:.4f} s in {len(samples)} samples, the group has {truth:.4f}")
        expect(truth > 1.2, f"the jobs have used {truth} s only")
        expect(abs(got - truth) < slack, f"{got} s, and the group's own {truth}")
        usage = sum(sample["cgroup"]["cpu_usage_secs"] for sample in samples)
        expect(abs(usage - truth) < slack, f"cgroup.cpu_usage_secs {usage}, and the group's own {truth}")
        equal(samples[0]["run"]["cgroup_is_own"], True, "cgroup_is_own")
        expect(samples[0]["run"]["cgroup_path"].endswith("/" + UNIQUE), samples[0]["run"]["cgroup_path"])
        expect(samples[-1]["end"]["processes_seen"] >= 2, samples[-1]["end"])
        equal(summary["result"]["verdict"], "finished", "result")


for interval_ in ("0.1", "60"):
    tap.add(f"CPU time of a v2 group, every {interval_} s", counts_what_is_used_in_it, interval_, "v2")
    tap.add(f"CPU time of a v1 group, every {interval_} s", counts_what_is_used_in_it, interval_, "cpuacct", "memory")


@test
def memory_of_a_group():
    hierarchies = ["memory"] if any("memory" in controllers for controllers, _ in mounts()) else ["v2"]
    with groups(UNIQUE, *hierarchies) as (group,):
        name = "memory.max_usage_in_bytes" if hierarchies == ["memory"] else "memory.peak"
        if not (group / name).exists():
            raise Skip(f"{group} has no {name}")
        with job(group) as process:
            with Tracker("-i", "0.1", "--attach-cgroup", str(group)) as tracker:
                samples = [parse(tracker.stdout.next())]
                ask(process, "mib 64")
                samples += [parse(line) for line in tracker.stdout.take(2)]
                peak = int((group / name).read_text()) >> 20
                end(process)
                samples += [parse(line) for line in tracker.stdout.all()]
                equal(tracker.wait(), 0, "exit status")
        got = max(sample["cgroup"]["memory_peak_mib"] for sample in samples if sample["cgroup"]["memory_peak_mib"])
        expect(64 <= peak <= got <= (int((group / name).read_text()) >> 20), f"{got} MiB, and the group's own {peak}")


@test
def what_goes_on_is_stopped_and_left_alone():
    with groups(UNIQUE, "v2") as (group,), job(group) as process:
        with Tracker("-i", "0.1", "--attach-cgroup", str(group), "--summary-json", "s.json") as tracker:
            tracker.stdout.take(2)
            equal(tracker.stop(signal.SIGINT), 0, "exit status")
            equal(summary_of(tracker)["result"]["verdict"], "stopped", "result")
        ask(process, "0.01")
        end(process)


@test
def it_goes_on_when_its_first_process_ends():
    with groups(UNIQUE, "v2") as (group,), job(group) as first, job(group) as second:
        with Tracker("-i", "0.1", "--attach-cgroup", str(group), "--summary-json", "s.json") as tracker:
            tracker.stdout.take(1)
            end(min(first, second, key=lambda process: process.pid))
            for _ in range(3):
                sample = parse(tracker.stdout.take(1)[0])
            equal(sample["cpu"]["process_child_count"], 1, "processes besides the first one, which has ended")
            equal(tracker.stop(signal.SIGINT), 0, "exit status")
            equal(summary_of(tracker)["result"]["verdict"], "stopped", "result")


def one_that_enters_is_a_member_and_one_that_leaves_is_none(hierarchy, is_removed):
    with groups(UNIQUE, hierarchy) as (group,), job(group) as process:
        with Tracker("-i", "0.1", "--attach-cgroup", str(group)) as tracker:
            tracker.stdout.take(1)
            with job(group):
                wait_until(lambda: parse(tracker.stdout.next())["cpu"]["process_child_count"] == 1, "the second one")
            ask(process, f"out {group.parent}")
            if is_removed:
                remove_group(group)
            for line in tracker.stdout.all():
                sample = parse(line)
            equal(sample["end"]["left_running"], 0, "processes that still run")
            equal(tracker.wait(), 0, "exit status, when all have left")
        end(process)


for what, given in (("v2", ("v2", False)), ("v1", ("cpuacct", False)), ("v2, removed", ("v2", True)),
                    ("v1, removed", ("cpuacct", True))):
    tap.add(f"one that enters is a member, and one that leaves is none: {what}",
            one_that_enters_is_a_member_and_one_that_leaves_is_none, *given)


@test
def a_group_that_is_removed_at_once_ends_the_run_without_a_word():
    with groups(UNIQUE, "v2") as (group,), job(group) as process:
        with Tracker("-i", "60", "--attach-cgroup", str(group)) as tracker:
            tracker.wait_ready()
            end(process)
            remove_group(group)
            equal(tracker.wait(), 0, "exit status")
            equal(tracker.stderr(), "", "stderr")


@test
def names_of_units_and_of_containers():
    digits = secrets.token_hex(32)
    monitor = f"libpod-conmon-{digits}.scope"
    for name, asked in ((f"{UNIQUE}.service", f"unit:{UNIQUE}"), (f"{UNIQUE}.scope", f"unit:{UNIQUE}.scope"),
                        (f"docker-{digits}.scope", digits), (f"libpod-{digits}.scope", digits[:12]),
                        (digits, digits[:40])):
        with groups(UNIQUE, "v2") as (group,), groups(monitor, "v2") as (other,):
            (group / name).mkdir()
            (group / name / "init").mkdir()
            with job(group / name / "init"), job(other), job(group):
                with Tracker("-i", "0.1", "--attach-cgroup", asked) as tracker:
                    sample = parse(tracker.stdout.next())
                    equal(tracker.stop(), 0, "exit status")
                equal(sample["run"]["cgroup_path"].rsplit("/", 1)[1], name, f"the group for {asked}")
                equal(sample["cpu"]["process_child_count"], 0, "processes besides the first")


@test
def what_is_not_there_empty_or_not_the_only_one_is_refused():
    refused(f"/{UNIQUE}", "no process")
    refused("/../..", "no process")
    refused(f"unit:{UNIQUE}", "no process")
    refused("deadbeef", "no process")
    refused(secrets.token_hex(32), "no process")
    with groups(UNIQUE, "v2") as (group,):
        refused(group, "no process")
        refused(f"{group}/../{group.name}", "no process")
        for name in ("a", "b"):
            (group / name / f"{UNIQUE}.service").mkdir(parents=True)
        with job(group / "a" / f"{UNIQUE}.service"), job(group / "b" / f"{UNIQUE}.service"):
            refused(f"unit:{UNIQUE}", "several match", f"/{UNIQUE}/a/{UNIQUE}.service")


@test
def the_tracker_is_no_member():
    with groups(UNIQUE, "v2") as (group,), job(group) as process:
        inside = ["sh", "-c", 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"', "sh", str(group)]
        with Tracker("-i", "0.1", "--attach-cgroup", str(group), before=inside) as tracker:
            sample = parse(tracker.stdout.next())
            equal((sample["tracked_pid"], sample["cpu"]["process_child_count"]), (process.pid, 0), "the only member")
            end(process)
            for line in tracker.stdout.all():
                parse(line)
            equal(tracker.wait(), 0, "exit status")


if __name__ == "__main__":
    tap.main()
