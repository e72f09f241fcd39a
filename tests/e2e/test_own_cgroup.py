#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--cgroup: the command in a group of its own, what that lets us count, and that no group stays behind."""

import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import (BINARY, WAIT_SECS, Tracker, cgroup_messages, is_memory_v1, parse, remove_group,
                     wait_until)

TICK_SECS = 0.01
# Twice the age at which the group of a tracker that is no more counts as left behind.
OLD_SECS = 120
NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups")


def v2_group(pid="self"):
    """The v2 group of a process as the kernel names it, or None."""
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text(encoding="utf-8").splitlines():
        if line.startswith("0::"):
            return line[3:]
    return None


def v2_directory():
    """Where our v2 group is mounted; skips where there is none that we may make groups in."""
    group = v2_group()
    if group is None:
        raise Skip("there is no v2 hierarchy")
    for line in pathlib.Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields, kind = (part.split() for part in line.split(" - ", 1))
        if kind[0] == "cgroup2" and fields[3] == "/":
            directory = pathlib.Path(fields[4] + group.rstrip("/"))
            probe = directory / f"rt-e2e-probe-{os.getpid()}"
            try:
                probe.mkdir()
                probe.rmdir()
            except OSError as error:
                raise Skip(f"no groups can be made in {directory}: {error.strerror}") from error
            return directory
    raise Skip("no mount shows the whole v2 hierarchy")


@contextlib.contextmanager
def test_group():
    """A group of ours for a tracker to be in; it is gone at the end, with all that was started in it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-", dir=v2_directory()))
    try:
        yield directory
    finally:
        below = sorted((path for path in directory.rglob("*") if path.is_dir()), reverse=True)
        for group in [*below, directory]:
            remove_group(group)


def inside(directory):
    """The words that run something in a group."""
    return ["sh", "-c", 'echo $$ > "$1/cgroup.procs" && shift && exec "$@"', "sh", str(directory)]


def own_group(tracker, directory=None):
    return (directory or v2_directory()) / f"resource-tracker-{tracker.pid}"


def one_warning(tracker, *words):
    """Exactly one line on stderr, and what it says."""
    text = cgroup_messages(tracker.stderr())
    equal(text.count("\n"), 1, f"lines on stderr ({text!r})")
    expect(text.startswith("resource-tracker: warning: cgroup: "), text)
    for word in words:
        expect(word in text, f"{word!r} is not in", text)


@test
def the_command_is_in_a_group_below_ours_that_is_gone_afterwards():
    directory = v2_directory()
    with Tracker("--cgroup", "-q", "--", "cat", "/proc/self/cgroup") as tracker:
        equal(tracker.wait(), 0, "exit status")
        lines = [line.decode() for line in tracker.stdout.all()]
        expect(f"0::{v2_group().rstrip('/')}/resource-tracker-{tracker.pid}" in lines, lines)
        for line in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines():
            expect(line.startswith("0::") or line in lines, f"{line} is not among", lines)
        expect(not own_group(tracker, directory).exists(), "the group is still there")
        equal(cgroup_messages(tracker.stderr()), "", "stderr")


@test
def without_the_option_it_stays_in_ours():
    with Tracker("-q", "--", "cat", "/proc/self/cgroup") as tracker:
        equal(tracker.wait(), 0, "exit status")
        equal(b"\n".join(tracker.stdout.all()) + b"\n", pathlib.Path("/proc/self/cgroup").read_bytes(), "groups")


@test
def the_group_lies_in_the_one_that_the_tracker_is_in():
    with test_group() as directory:
        with Tracker("--cgroup", "-q", "--", "cat", "/proc/self/cgroup", before=inside(directory)) as tracker:
            equal(tracker.wait(), 0, "exit status")
            lines = [line.decode() for line in tracker.stdout.all()]
            expect(any(line.endswith(f"/{directory.name}/resource-tracker-{tracker.pid}") for line in lines), lines)
            equal([path.name for path in directory.iterdir() if path.is_dir()], [], "groups left")
            equal(cgroup_messages(tracker.stderr()), "", "stderr")


# Its children are not waited for, so that no process sees what they have used; only the group knows.
UNCOUNTED = """
import os, signal, sys, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for number in range(int(sys.argv[2])):
    if os.fork() == 0:
        began = time.process_time()
        while time.process_time() - began < float(sys.argv[3]):
            pass
        os._exit(0)
    if number % 2:
        try:
            os.wait()
        except ChildProcessError:
            pass
try:
    os.wait()
except ChildProcessError:
    pass
line = [line for line in open("/proc/self/cgroup") if line.startswith("0::")][0]
stat = open(sys.argv[1] + "/" + line.strip().rsplit("/", 1)[1] + "/cpu.stat").read()
os.write(1, stat.encode())
os._exit(0)
"""


def counts_what_was_not_waited_for(interval, children, secs):
    with Tracker("--cgroup", "-i", interval, "-o", "run.jsonl", "--", sys.executable, "-c", UNCOUNTED, v2_directory(),
                 str(children), str(secs)) as tracker:
        equal(tracker.wait(2 * WAIT_SECS), 0, "exit status")
        stat = dict(line.split() for line in tracker.stdout.all())
        samples = [parse(line) for line in (tracker.cwd / "run.jsonl").read_bytes().splitlines()]
        truth = int(stat[b"usage_usec"]) / 1e6
        user = sum(sample["cpu"]["process_utime_secs"] for sample in samples)
        system = sum(sample["cpu"]["process_stime_secs"] for sample in samples)
        slack = TICK_SECS + 1e-4 * len(samples)
        tap.diag(f"truth {truth:.4f} s, ours {user + system:.4f} s in {len(samples)} samples")
        expect(truth > children * secs, f"the command has used {truth} s only")
        expect(abs(user + system - truth) < slack, f"CPU time {user + system}, the group's own {truth}")
        expect(abs(user - int(stat[b"user_usec"]) / 1e6) < slack, f"user time {user}, the group's own", stat)
        for sample in samples:
            expect(sample["cpu"]["process_utime_secs"] >= 0 and sample["cpu"]["process_stime_secs"] >= 0, sample["cpu"])
        if "cpuacct" not in pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8"):
            usage = sum(sample["cgroup"]["cpu_usage_secs"] for sample in samples)
            expect(abs(usage - truth) < slack, f"cgroup.cpu_usage_secs {usage}, the group's own {truth}")
        equal(cgroup_messages(tracker.stderr()), "", "stderr")


for interval_, children_, secs_ in (("60", 60, 0.02), ("0.1", 60, 0.02), ("0.25", 4, 0.6)):
    tap.add(f"CPU time of {children_} children that are not waited for, every {interval_} s",
            counts_what_was_not_waited_for, interval_, children_, secs_)


@test
def a_daemon_goes_to_the_group_above_and_lives_on():
    with Tracker("--cgroup", "-q", "--", "sh", "-c",
                 "for i in 1 2 3; do setsid sleep 30 < /dev/null > /dev/null 2>&1 & echo $!; done") as tracker:
        daemons = [int(line) for line in tracker.stdout.take(3)]
        try:
            status = tracker.wait()
            groups = [v2_group(pid) for pid in daemons]
            there = own_group(tracker).exists()
        finally:
            for pid in daemons:
                os.kill(pid, signal.SIGKILL)
        equal(status, 0, "exit status")
        equal(groups, [v2_group()] * 3, "groups of the daemons")
        expect(not there, "the group is still there")
        equal(cgroup_messages(tracker.stderr()), "", "stderr")


@test
def no_group_stays_when_the_command_is_not_found():
    v2_directory()
    with Tracker("--cgroup", "-q", "--", "no-such-command-anywhere") as tracker:
        equal(tracker.wait(), 127, "exit status")
        expect(not own_group(tracker).exists(), "the group is still there")


@test
def no_group_stays_when_a_signal_ends_the_run():
    with Tracker("--cgroup", "-q", "--", "sh", "-c", "echo; exec sleep 30") as tracker:
        tracker.stdout.next()
        expect(own_group(tracker).is_dir(), "there is no group")
        equal(tracker.stop(signal.SIGTERM), 128 + signal.SIGTERM, "exit status")
        expect(not own_group(tracker).exists(), "the group is still there")


@test
def empty_groups_that_the_command_made_below_its_own_go_with_it():
    with test_group() as directory:
        script = f'mkdir -p "{directory}/$(basename "$(sed -n s/^0:://p /proc/self/cgroup)")/inner/most"'
        with Tracker("--cgroup", "-q", "--", "sh", "-c", script, before=inside(directory)) as tracker:
            equal(tracker.wait(), 0, "exit status")
            expect(not own_group(tracker, directory).exists(), "the group is still there")
            equal(cgroup_messages(tracker.stderr()), "", "stderr")


@test
def a_group_in_use_below_its_own_stays_with_a_word():
    with test_group() as directory:
        script = (f'own="{directory}/$(basename "$(sed -n s/^0:://p /proc/self/cgroup)")"; mkdir "$own/inner"; '
                  'sleep 60 >/dev/null 2>&1 & echo $! > "$own/inner/cgroup.procs"; echo $!')
        with Tracker("--cgroup", "-q", "--", "sh", "-c", script, before=inside(directory)) as tracker:
            equal(tracker.wait(), 0, "exit status")
            daemon = int(tracker.stdout.next())
            try:
                expect((own_group(tracker, directory) / "inner").is_dir(), "the group in use is gone")
                one_warning(tracker, "is not removed", str(own_group(tracker, directory)))
            finally:
                os.kill(daemon, signal.SIGKILL)


@test
def a_group_without_memory_is_one_warning():
    if not is_memory_v1():
        raise Skip("memory is counted by cgroup v2")
    v2_directory()
    with Tracker("-q", "--cgroup", "--", "true") as tracker:
        equal(tracker.wait(), 0, "exit status")
        text = tracker.stderr()
    expect(text.startswith("resource-tracker: warning: cgroup: memory is counted by cgroup v1"), text)
    equal(text.count("\n"), 1, "lines on stderr")


@test
def not_permitted_is_one_warning_and_the_command_runs():
    v2_directory()
    setpriv = shutil.which("setpriv")
    if not setpriv or os.geteuid() != 0:
        raise Skip("needs root and setpriv")
    if subprocess.run([setpriv, *NOBODY, "test", "-x", BINARY], timeout=WAIT_SECS, check=False).returncode != 0:
        raise Skip("another user may not run the tracker")
    with Tracker("--cgroup", "-q", "--", "sh", "-c", "sed -n s/^0:://p /proc/self/cgroup; exit 7", cwd="/",
                 before=[setpriv, *NOBODY]) as tracker:
        equal(tracker.wait(), 7, "exit status")
        equal(tracker.stdout.all(), [v2_group().encode()], "the command's group")
        one_warning(tracker, "not permitted", "Permission denied", str(v2_directory()))


@test
def in_a_threaded_group_it_is_one_warning_and_the_command_runs():
    with test_group() as directory:
        (directory / "threads").mkdir()
        (directory / "threads" / "cgroup.type").write_text("threaded", encoding="utf-8")
        with Tracker("--cgroup", "-q", "--", "sh", "-c", "echo ran; exit 7", before=inside(directory)) as tracker:
            equal(tracker.wait(), 7, "exit status")
            equal(tracker.stdout.all(), [b"ran"], "stdout")
            one_warning(tracker, "threaded", str(directory))
            expect(not own_group(tracker, directory).exists(), "the group is still there")


@test
def where_no_more_groups_may_be_made_it_is_one_warning():
    with test_group() as directory:
        (directory / "cgroup.max.descendants").write_text("0", encoding="utf-8")
        with Tracker("--cgroup", "-q", "--", "sh", "-c", "exit 7", before=inside(directory)) as tracker:
            equal(tracker.wait(), 7, "exit status")
            one_warning(tracker, "cgroup.max.descendants", str(directory))


@test
def what_a_killed_tracker_left_is_swept_by_a_later_one():
    def sweep():
        with Tracker("--cgroup", "-q", "--", "true", before=inside(directory)) as later:
            equal(later.wait(), 0, "exit status")
            equal(cgroup_messages(later.stderr()), "", "stderr")

    def set_back():
        then = time.time() - OLD_SECS
        os.utime(group, (then, then))

    with test_group() as directory:
        with Tracker("--cgroup", "-q", "--", "sh", "-c", "echo $$; exec sleep 30", before=inside(directory)) as tracker:
            job = int(tracker.stdout.next())
            group = own_group(tracker, directory)
            set_back()
            sweep()
            expect(group.is_dir(), "the group of a tracker that lives was removed")
            tracker.stop(signal.SIGKILL)
        try:
            expect(group.is_dir(), "the group is gone with the tracker that was killed")
            set_back()
            sweep()
            expect(group.is_dir(), "a group that is in use was removed")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(job, signal.SIGKILL)
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the end of the command")
        os.utime(group)
        sweep()
        expect(group.is_dir(), "a group that is young was removed")
        set_back()
        sweep()
        expect(not group.exists(), "the group is still there")


if __name__ == "__main__":
    tap.main()
