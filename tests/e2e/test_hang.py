#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processes that hang in the kernel, and files that do not answer: the tracker goes on, passes signals on, and ends.

The file system of tests/fake/fuse_server.py stands in for one of a dead server. Everything is mounted in a mount
namespace of this process, and gone with it.
"""

import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys
import time

import lib  # noqa: F401, finds those that follow
import tap
from fuse_server import call, unmount
from job import Job, python, ready_pid, state_of, status_of, wait_state
from tap import Skip, equal, expect, test
from tracker import PATIENCE_SECS, ROOT, WAIT_SECS, Lines, Tracker, clean_env, directory, file_lines, parse, wait_until
from truth import WORKLOAD, check_sum, cpu_of, need_group
from truth import Job as TrueJob

FAKE = ROOT / "tests" / "fake"
CLONE_NEWNS, CLONE_NEWUSER, MS_REC, MS_PRIVATE = 0x20000, 0x10000000, 0x4000, 1 << 18
INTERVAL_SECS = 0.2
# How long the tracker may wait for a file before it continues without it, and for the end of a run after the command's.
STALL_SECS = 1.2 + PATIENCE_SECS
END_SECS = 1 + PATIENCE_SECS
FIXTURE = ROOT / "tests" / "fixtures" / "small-vm" / "t0"
GROUP_USAGE = "sys/fs/cgroup/memory/jobs/00000000000000000000000000000001/memory.usage_in_bytes"

# Maps a file whose pages the server does not send: that waits for a page which is being read, and holds the lock of the
# address space meanwhile. It begins at SIGUSR1. Once it gets the pages, it ends with status 7 when its standard input
# does.
MAPS = """
import mmap, os, signal, sys
signal.alarm(40)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
held = bytearray(os.urandom(1 << 20) * 16)
cached = os.open(sys.argv[1], os.O_RDONLY)
direct = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
os.write(1, b"ready %d\\n" % os.getpid())
signal.sigwait([signal.SIGUSR1])
os.posix_fadvise(cached, 0, 4096, os.POSIX_FADV_WILLNEED)
mmap.mmap(direct, 4096, mmap.MAP_PRIVATE, mmap.PROT_READ)
os.write(1, b"mapped\\n")
os.read(0, 1)
os._exit(7)
"""

# Executes another program, and a file that is closed by that is flushed, which the server does not answer: holds the
# lock that guards credentials meanwhile. Afterwards as MAPS.
EXECUTES = """
import os, signal, sys
signal.alarm(40)
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
os.open(sys.argv[1], os.O_RDWR)
os.write(1, b"ready %d\\n" % os.getpid())
signal.sigwait([signal.SIGUSR1])
os.execv(sys.executable, [sys.executable, "-I", "-S", "-c", sys.argv[2]])
"""
EXECUTED = """
import os
os.write(1, b"mapped\\n")
os.read(0, 1)
os._exit(7)
"""

# At the first line that comes in it starts children: some that hang, and one that burns CPU. At the next it ends with
# status 3, and reports when. It does not wait for the children that hang, and kills the other.
COMMAND = """
import os, signal, subprocess, sys, time
signal.alarm(40)
workload, count, *victim = sys.argv[1:]
reader, writer = os.pipe()
sys.stdin.readline()
busy = subprocess.Popen([workload, "burn", "60000"], stdin=subprocess.DEVNULL)
hung = [subprocess.Popen(victim, stdin=reader) for _ in range(int(count))]
sys.stdin.readline()
busy.kill()
busy.wait()
os.write(1, b"ended %d\\n" % time.monotonic_ns())
os._exit(3)
"""


# The file system


@functools.cache
def enter_namespace():
    """Mounts of our own. Returns why that is not possible, or None."""
    uid, gid = os.getuid(), os.getgid()
    try:
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            return "/dev/fuse is not there, or not permitted"
        call("unshare", CLONE_NEWNS | (CLONE_NEWUSER if uid else 0))
        if uid:
            pathlib.Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
            pathlib.Path("/proc/self/uid_map").write_text(f"{uid} {uid} 1", encoding="ascii")
            pathlib.Path("/proc/self/gid_map").write_text(f"{gid} {gid} 1", encoding="ascii")
        call("mount", None, b"/", None, MS_REC | MS_PRIVATE, None)
    except OSError as reason:
        return f"mounts are not permitted: {reason}"
    return None


class SlowFiles:
    """A mounted file system with the files of a directory. Unmounted at the end, and with that everything released."""

    def __init__(self, source, *options):
        if reason := enter_namespace():
            raise Skip(reason)
        self.stack = contextlib.ExitStack()
        self.path = self.stack.enter_context(directory())
        self.stack.callback(unmount, self.path)
        self.process = subprocess.Popen([sys.executable, FAKE / "fuse_server.py", *options, self.path, source],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=clean_env())
        self.stack.callback(self._end)
        self.lines = Lines(self.process.stdout.fileno())
        word, _, rest = self.lines.next().decode().partition(" ")
        if word == "refused":
            self.stack.close()
            raise Skip(f"a file system of ours is not permitted: {rest}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()

    def _end(self):
        self.process.stdin.close()
        try:
            self.process.wait(WAIT_SECS)
        finally:
            self.process.kill()
            self.process.wait(WAIT_SECS)
            self.process.stdout.close()

    def wait_held(self, what):
        """Until a request has come that gets no answer."""
        equal(self.lines.next().decode(), f"held {what}", "the request without answer")

    def release(self):
        """From now on everything is answered. Harmless when done again."""
        with contextlib.suppress(BrokenPipeError, ValueError):
            self.process.stdin.write(b"release\n")
            self.process.stdin.flush()


@contextlib.contextmanager
def slow_file(how):
    """A file of 64 KiB, which is also a program: its reads or its flushes are held. Yields the file system and it."""
    with directory() as source:
        (source / "file").write_bytes(b"#!/bin/sh\nexit 5\n".ljust(1 << 16, b"\n"))
        (source / "file").chmod(0o755)
        with SlowFiles(source, f"--hold-{how}", "file") as files:
            yield files, files.path / "file"


def victim(how, path):
    return python(MAPS, path) if how == "read" else python(EXECUTES, path, EXECUTED)


class HungJob:
    """A tracker around COMMAND, or around the victim alone, until it hangs: after it was in a sample, or not `seen`."""

    def __init__(self, stack, how, *options, alone=False, make=Job, seen=True, count=1, **more):
        self.files, path = stack.enter_context(slow_file(how))
        words = victim(how, path)
        command = words if alone else python(COMMAND, WORKLOAD, count, *words)
        options = ["-i", str(INTERVAL_SECS), "-o", "out", *options]
        if make is TrueJob:
            self.job = stack.enter_context(TrueJob(["exec", *command], INTERVAL_SECS, stdin=subprocess.PIPE, **more))
        else:
            self.job = stack.enter_context(Job(*options, command=command, stdin=subprocess.PIPE, **more))
            stack.callback(self.job.process.stdin.close)
        stack.callback(self.files.release)  # first: what hangs cannot be killed
        if not seen:
            self.job.wait_ready()
            self.job.send(signal.SIGSTOP)
            wait_state(self.job.pid, "T", "the tracker")
        if not alone:
            self.send_line()
        self.warnings = ""
        self.victims = [ready_pid(self.job.stdout) for _ in range(count)]
        self.victim = self.victims[0]
        if seen:
            self.wait_more(2)
        for pid in self.victims:
            os.kill(pid, signal.SIGUSR1)
        # Mapping cannot be interrupted, a flush can until a signal has come.
        self.files.wait_held(f"{how} file")
        for pid in self.victims:
            wait_state(pid, "D" if how == "read" else "SD", "the victim")
        if not seen:
            self.job.send(signal.SIGCONT)

    def send_line(self):
        self.job.process.stdin.write(b"\n")
        self.job.process.stdin.flush()

    def samples(self):
        path = self.job.cwd / "out"
        return [parse(line) for line in file_lines(path)] if path.exists() else []

    def count(self):
        path = self.job.cwd / "out"
        return path.read_bytes().count(b"\n") if path.exists() else 0

    def wait_more(self, count):
        """The samples that come now, once there are that many."""
        before = self.count()
        secs = STALL_SECS + (count + 2) * INTERVAL_SECS + WAIT_SECS / 2
        wait_until(lambda: self.count() >= before + count, f"{count} more samples", secs)
        return self.samples()[before:]

    def let_command_end(self):
        """Returns the exit status, and how much later than the command the tracker ended."""
        self.send_line()
        word, ended_ns = self.job.stdout.next().split()
        equal(word, b"ended", "last word of the command")
        status = self.job.wait()
        return status, time.monotonic() - int(ended_ns) / 1e9


def check_host_known(samples):
    for sample in samples:
        for section, key in (("cpu", "load1"), ("cpu", "process_count"), ("memory", "used_mib"), ("tracker", "rss_mib"),
                             ("memory", "available_mib")):
            expect(sample[section][key] is not None, f"{section}.{key} is unknown at {sample['elapsed_secs']} s")
        expect(sample["network"] is not None and sample["disk"] is not None, "no network, no disk:", sample)


def check_grid(samples):
    """Apart from the moment of the hang no sample is missing."""
    missed = [sample["tracker"]["missed_samples"] for sample in samples]
    places = int(samples[-1]["elapsed_secs"] / INTERVAL_SECS)
    tap.diag(f"{len(samples)} samples, missed {sum(missed)} of {places}")
    expect(abs(len(samples) + sum(missed) - places) <= 2, f"{len(samples)} samples, {missed} missed, {places} places")
    expect(sum(missed) <= STALL_SECS / INTERVAL_SECS, f"missed {missed} of {places}")


def check_one_warning(text, pid):
    lines = text.splitlines()
    equal(len(lines), 1, f"lines on stderr {lines}")
    expect(lines[0].startswith("resource-tracker: warning: ") and f"/proc/{pid}/" in lines[0], lines[0])


# A member of the tree hangs


def a_member_hangs(how, seen, env):
    with contextlib.ExitStack() as stack:
        hung = HungJob(stack, how, seen=seen, env=env)
        samples = hung.wait_more(12)
        equal(state_of(hung.job.pid), "S", "state of the tracker")
        # Those around the hang share their time in another way.
        later = samples[4:]
        tap.diag(f"CPU time {[round(cpu_of(sample), 3) for sample in samples]}, "
                 f"PSS {[sample['cpu']['process_pss_mib'] for sample in samples]}")
        for sample in later:
            expect(cpu_of(sample) > 0, f"no CPU time at {sample['elapsed_secs']} s")
            cpu = sample["cpu"]
            expect(cpu["process_rss_mib"] is not None or not seen, "the resident memory is not known:", cpu)
            # One that was never read may be left out, but then it is not known how many they are.
            expect(cpu["process_child_count"] in ((2,) if seen else (2, None)), "descendants:", cpu)
        status, late_secs = hung.let_command_end()
        tap.diag(f"ended {late_secs:.3f} s after the command")
        equal(status, 3, "exit status")
        expect(late_secs <= END_SECS, f"ended {late_secs:.3f} s after the command")
        equal(state_of(hung.victim) in "SD", True, "the victim hangs still")
        samples = hung.samples()
        check_host_known(samples)
        if seen:
            check_grid(samples)
        equal((samples[-1]["end"]["exit_code"], samples[-1]["end"]["left_running"]), (3, 1), "code, left running")
        hung.warnings = hung.job.stderr()
        check_one_warning(hung.warnings, hung.victim)
        return samples[-1]["end"], hung


def a_command_line_hangs():
    end, hung = a_member_hangs("read", False, {"TRACKER_COLLECT_PSS": "never"})
    expect(f"/proc/{hung.victim}/cmdline" in hung.warnings, "another file hangs:", hung.warnings)
    commands = {process["pid"]: process["command"] for process in end["processes_by_cpu"]}
    equal(commands.get(hung.victim), None, "command line of the victim")
    expect(any(commands.values()), "no command line of any other:", commands)


for when_, seen_ in (("after it was seen", True), ("before it was seen", False)):
    tap.add(f"a member that maps a file hangs {when_}", a_member_hangs, "read", seen_,
            {"TRACKER_COLLECT_PSS": "always"}, limit=40)
    tap.add(f"a member that executes a program hangs {when_}", a_member_hangs, "flush", seen_, {}, limit=40)
    tap.add(f"a member that executes a program hangs {when_}, with its network", a_member_hangs, "flush", seen_,
            {"TRACKER_COLLECT_JOB_NETWORK": "true"}, limit=40)
tap.add("a member hangs before its command line was read", a_command_line_hangs, limit=40)


def hang_just_before_the_end(how, count, **env):
    with contextlib.ExitStack() as stack:
        hung = HungJob(stack, how, count=count, env={"TRACKER_COLLECT_PSS": "always", **env})
        status, late_secs = hung.let_command_end()
        tap.diag(f"ended {late_secs:.3f} s after the command")
        equal(status, 3, "exit status")
        expect(late_secs <= END_SECS, f"ended {late_secs:.3f} s after the command")
        last = hung.samples()[-1]
        equal((last["end"]["exit_code"], last["end"]["left_running"]), (3, count), "code, left running")


for count_ in (1, 4):
    tap.add(f"{count_} that map a file hang just before the end", hang_just_before_the_end, "read", count_, limit=40)
    tap.add(f"{count_} that execute hang just before the end", hang_just_before_the_end, "flush", count_, limit=40)
tap.add("4 that execute hang just before the end, with their network",
        functools.partial(hang_just_before_the_end, TRACKER_COLLECT_JOB_NETWORK="true"), "flush", 4, limit=40)


def values_come_back(how):
    with contextlib.ExitStack() as stack:
        hung = HungJob(stack, how, env={"TRACKER_COLLECT_PSS": "always"})
        hung.wait_more(4)
        hung.files.release()
        equal(hung.job.stdout.next(), b"mapped", "the victim's line")
        released = hung.count()
        key = "process_pss_mib"

        def known():
            return any(sample["cpu"][key] is not None for sample in hung.samples()[released + 1:])

        wait_until(known, "memory that is known again")
        last = hung.wait_more(3)[-1]["cpu"]
        expect(last[key] is not None, f"{key} is not known:", last)
        least = 16 if how == "read" else 1
        expect(least <= last["process_rss_mib"] < 500 and last["process_child_count"] == 2, last)
        status, late_secs = hung.let_command_end()
        equal(status, 3, "exit status")
        expect(late_secs <= END_SECS, f"ended {late_secs:.3f} s after the command")


tap.add("the values come back after a mapped file has answered", values_come_back, "read", limit=40)
tap.add("the values come back after an executed program has started", values_come_back, "flush", limit=40)


def totals_stay_exact(how):
    need_group()
    with contextlib.ExitStack() as stack:
        hung = HungJob(stack, how, make=TrueJob, env={"TRACKER_COLLECT_PSS": "always"})
        hung.wait_more(8)
        hung.send_line()
        samples, true_secs = hung.job.finish(status=3)
        check_sum(samples, true_secs)
        expect(true_secs > 0.2, f"the job used {true_secs} s")


tap.add("the CPU time is exact beside a member that maps", totals_stay_exact, "read", limit=40)
tap.add("the CPU time is exact beside a member that executes", totals_stay_exact, "flush", limit=40)


# The command itself hangs


def pending(pid):
    status = status_of(pid)
    return int(status["ShdPnd"], 16) | int(status["SigPnd"], 16)


def sigterm_ends_it_when_it_goes_on(how):
    with contextlib.ExitStack() as stack:
        hung = HungJob(stack, how, alone=True, env={"TRACKER_COLLECT_PSS": "always"})
        hung.job.send(signal.SIGTERM)
        wait_until(lambda: pending(hung.victim) & 1 << signal.SIGTERM - 1, "SIGTERM at the command", END_SECS)
        equal(state_of(hung.job.pid), "S", "state of the tracker")
        hung.wait_more(3)
        equal(hung.job.process.poll(), None, "the tracker's end before the command's")
        check_one_warning(hung.job.stderr(), hung.victim)
        hung.files.release()
        equal(hung.job.wait(2 + END_SECS), 128 + signal.SIGTERM, "exit status")
        samples = hung.samples()
        equal((samples[-1]["end"]["exit_code"], samples[-1]["end"]["signal"]), (143, 15), "code, signal")


tap.add("SIGTERM ends a command that maps when it goes on", sigterm_ends_it_when_it_goes_on, "read", limit=40)
tap.add("SIGTERM ends a command that executes when it goes on", sigterm_ends_it_when_it_goes_on, "flush", limit=40)


# The program of the command is on such a file system


def held_program(stack, *options):
    """A tracker whose command cannot be loaded yet; the file system, the job and the PID of the command."""
    files, path = stack.enter_context(slow_file("read"))
    job = stack.enter_context(Job(*options, command=[path]))
    stack.callback(files.release)
    files.wait_held("read file")
    pids = wait_until(lambda: pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children").read_text("ascii").split(),
                      "the child")
    return files, job, int(pids[0])


def ends_before_exec(number, through_tracker, options):
    with contextlib.ExitStack() as stack:
        _, job, pid = held_program(stack, *options)
        started = time.monotonic()
        if through_tracker:
            job.send(number)
        else:
            os.kill(pid, number)
        equal(job.wait(2 + END_SECS), 128 + number, "exit status")
        expect(time.monotonic() - started <= END_SECS, f"took {time.monotonic() - started:.3f} s")


for name_, options_ in (("silent", ["-q", "--summary=never"]), ("sampled", ["-i", "0.1", "-o", "out"])):
    tap.add(f"SIGTERM before the program is loaded, {name_}", ends_before_exec, signal.SIGTERM, True, options_)
    tap.add(f"SIGINT before the program is loaded, {name_}", ends_before_exec, signal.SIGINT, True, options_)
    tap.add(f"SIGKILL before the program is loaded, {name_}", ends_before_exec, signal.SIGKILL, False, options_)


@test
def a_condition_starts_a_program_that_cannot_be_loaded():
    with contextlib.ExitStack() as stack:
        files, path = stack.enter_context(slow_file("read"))
        job = stack.enter_context(Job("-i", str(INTERVAL_SECS), "-o", "out", "--on", f"wall > 0.3s => {path}",
                                      command=["sh", "-c", "sleep 3; exit 3"]))
        stack.callback(files.release)
        files.wait_held("read file")
        started = time.monotonic()
        equal(job.wait(5 + END_SECS), 3, "exit status")
        took_secs = time.monotonic() - started
        expect(took_secs <= 4 + END_SECS, f"ended after {took_secs:.3f} s")
        samples = [parse(line) for line in file_lines(job.cwd / "out")]
        check_grid(samples)
        late_ms = [sample["tracker"]["late_ms"] for sample in samples[:-1]]
        expect(max(late_ms) < 1000 * STALL_SECS / 2, f"late by {late_ms} ms")


@test
def a_program_that_is_loaded_late_runs():
    with contextlib.ExitStack() as stack:
        files, job, _ = held_program(stack, "-i", "0.1", "-o", "out")
        wait_until(lambda: (job.cwd / "out").exists() and len(file_lines(job.cwd / "out")) >= 3, "samples meanwhile")
        files.release()
        equal(job.wait(), 5, "exit status")
        equal(job.stderr(), "", "stderr")


# Files of the system that do not answer


def slow_system(stack, path, *how):
    """The fixture with one file that does not answer: the file system, and options to use it."""
    files = stack.enter_context(SlowFiles(FIXTURE, "--no-cache", "--killable", *how[:1], path, *how[1:]))
    return files, ["--sysroot", str(files.path), "-i", str(INTERVAL_SECS), "-o", "out"]


def samples_of(tracker):
    return [parse(line) for line in file_lines(tracker.cwd / "out")] if (tracker.cwd / "out").exists() else []


def is_known(sample, section):
    return sample[section] is not None


def check_sections(samples, unknown, text):
    sections = {"cpu", "memory", "network", "disk", "pressure", "cgroup", "tracker"}
    for sample in samples:
        equal({section for section in sections if not is_known(sample, section)}, {unknown}, "unknown sections")
    lines = [line for line in text.splitlines() if "does not answer" in line]
    expect(len(lines) == 1 and lines[0].startswith(f"resource-tracker: warning: {unknown}: "), text)


def system_file_hangs(path, section, *how):
    """One file takes longer than the run: its section is null, the others and the end are on time."""
    with contextlib.ExitStack() as stack:
        files, options = slow_system(stack, path, *how)
        job = stack.enter_context(Job(*options, command=["sleep", "2"]))
        stack.callback(files.release)
        files.wait_held(f"read {path}")
        equal(job.wait(2 + END_SECS + WAIT_SECS / 2), 0, "exit status")
        took_secs = time.monotonic() - job.started
        samples = samples_of(job)
        tap.diag(f"took {took_secs:.3f} s")
        expect(took_secs <= 2 + END_SECS, f"took {took_secs:.3f} s")
        check_grid(samples)
        check_sections(samples, section, job.stderr())


@test
def a_system_file_that_answers_again_is_read_again():
    with contextlib.ExitStack() as stack:
        files, options = slow_system(stack, GROUP_USAGE, "--hold-read")
        job = stack.enter_context(Job(*options, command=["sleep", "30"]))
        stack.callback(files.release)
        wait_until(lambda: len(samples_of(job)) >= 3, "samples")
        equal({is_known(sample, "cgroup") for sample in samples_of(job)}, {False}, "is the cgroup known")
        files.release()
        wait_until(lambda: is_known(samples_of(job)[-1], "cgroup"), "a cgroup that is known again")
        equal(job.stop(signal.SIGTERM, 2 + END_SECS), 143, "exit status")


def ends_without_a_command(number, status):
    with contextlib.ExitStack() as stack:
        files, options = slow_system(stack, GROUP_USAGE, "--hold-read")
        tracker = stack.enter_context(Tracker(*options))
        stack.callback(files.release)
        files.wait_held(f"read {GROUP_USAGE}")
        started = time.monotonic()
        equal(tracker.stop(number, 2 + END_SECS), status, "exit status")
        took_secs = time.monotonic() - started
        expect(took_secs <= END_SECS, f"took {took_secs:.3f} s")
        expect(samples_of(tracker), "no final sample")


tap.add("SIGTERM ends a tracker without command while a file hangs", ends_without_a_command, signal.SIGTERM, 0)
tap.add("SIGHUP ends a tracker without command while a file hangs", ends_without_a_command, signal.SIGHUP, 129)

for name_, path_, section_ in (("a cgroup", GROUP_USAGE, "cgroup"),
                               ("an interface", "sys/devices/pci0000:00/0000:00:03.0/virtio2/net/eth0/mtu", "network")):
    tap.add(f"a file of {name_} never answers", system_file_hangs, path_, section_, "--hold-read")
tap.add("the counters of the disks take 10 s", system_file_hangs, "proc/diskstats", "disk", "--delay-read", "10")

if __name__ == "__main__":
    tap.main()
