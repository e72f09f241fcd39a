#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Limits, throttling, peaks and kills of control groups as the tracker reports them, against the group's own files.

For a machine of our own: with all controllers, in version 2 (where they are shared with groups below the root) or 1.
"""

import os
import re
import shutil
import sys

import tap
from groups import IS_V2, group
from tap import Skip, diag, equal, expect, test
from tracker import Tracker, parse, wait_file_lines, wait_until

USER = 1000
# As patient.py has it for the trees of tests/e2e.
SLACK_SECS = 0.05
BURN = "import time\nend = time.monotonic() + {}\nwhile time.monotonic() < end: pass"
EAT = "import time; hold = bytearray({} << 20); hold[::4096] = b'x' * len(hold[::4096]); time.sleep({})"


def meminfo_kib(name):
    with open("/proc/meminfo", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name + ":"))


def samples_of(tracker):
    return [parse(line) for line in (tracker.cwd / "run.jsonl").read_bytes().splitlines()]


def track(place, *words, options=(), status=0):
    """The samples of a command that is tracked within a group, and the tracker that has ended."""
    with Tracker("-i", "0.2", "-o", "run.jsonl", *options, "--", *words, before=place.inside()) as tracker:
        equal(tracker.wait(), status, f"exit status (stderr {tracker.stderr()!r})")
        return samples_of(tracker), tracker.stderr()


def python(program, *args):
    return sys.executable, "-c", program.format(*args)


@test
def the_limits_of_the_group_are_reported():
    with group("limits") as place:
        place.limit_cpu(1.5)
        place.limit_memory(128)
        samples, stderr = track(place, "sleep", "0.5")
    equal(stderr, "", "stderr")
    equal({sample["cgroup"]["cpu_limit_cores"] for sample in samples}, {1.5}, "CPU limits")
    equal({sample["cgroup"]["memory_limit_mib"] for sample in samples}, {128}, "memory limits")


@test
def the_tightest_limit_above_counts():
    with group("outer") as outer:
        outer.limit_cpu(0.75)
        outer.limit_memory(96)
        outer.share_controllers()
        with group("inner", outer) as inner:
            inner.limit_memory(64)
            samples, _ = track(inner, "sleep", "0.3")
    equal(samples[-1]["cgroup"]["cpu_limit_cores"], 0.75, "CPU limit")
    equal(samples[-1]["cgroup"]["memory_limit_mib"], 64, "memory limit")


@test
def a_limit_that_is_changed_meanwhile_is_seen():
    with group("changed") as place:
        place.limit_memory(128)
        with Tracker("-i", "0.2", "-o", "run.jsonl", "--", "cat", before=place.inside(), stdin=-1) as tracker:
            wait_file_lines(tracker.cwd / "run.jsonl", 1)
            place.limit_memory(200)
            place.limit_cpu(0.5)
            wait_until(lambda: b'"memory_limit_mib":200.0' in (tracker.cwd / "run.jsonl").read_bytes(), "the new limit")
            tracker.process.stdin.close()
            equal(tracker.wait(), 0, "exit status")
            samples = samples_of(tracker)
    reported = [(sample["cgroup"]["cpu_limit_cores"], sample["cgroup"]["memory_limit_mib"]) for sample in samples]
    equal((reported[0], reported[-1]), ((None, 128), (0.5, 200)), "limits at first and at last")


@test
def the_peak_is_that_of_the_group():
    with group("peak") as place:
        if place.peak_mib() is None:
            raise Skip("this kernel has no peak of a group")
        samples, _ = track(place, *python(EAT, 48, 0.5))
        true_mib = place.peak_mib()
    got = samples[-1]["cgroup"]["memory_peak_mib"]
    diag(f"peak {got} MiB, the group's own {true_mib} MiB")
    expect(true_mib > 48, f"a peak of {true_mib} MiB only")
    expect(true_mib - 1 <= got <= true_mib + 1e-3, f"{got} MiB, the group has {true_mib}")
    used = [sample["cgroup"]["memory_used_mib"] for sample in samples]
    expect(max(used) > 48, "memory in use:", used)


@test
def the_memory_of_a_tree_is_reported_in_bytes_whatever_the_size_of_pages():
    with group("pages") as place:
        samples, _ = track(place, *python(EAT, 48, 1))
    rss = max(sample["cpu"]["process_rss_mib"] for sample in samples)
    diag(f"RSS {rss} MiB with pages of {os.sysconf('SC_PAGE_SIZE')} bytes")
    expect(48 < rss < 48 + 24, f"RSS {rss} MiB")
    equal(samples[-1]["memory"]["total_mib"], meminfo_kib("MemTotal") // 1024, "memory of the machine")


@test
def a_kill_by_the_OOM_killer_is_reported():
    with group("oom") as place:
        place.limit_memory(64)
        samples, stderr = track(place, *python(EAT, 200, 1), status=137,
                                options=("--summary=always", "--summary-json", "summary.json"))
        kills = place.oom_kills()
    equal(kills, 1, "kills that the group has counted")
    equal(samples[-1]["cgroup"]["oom_kills"], 1, "oom_kills")
    equal(samples[-1]["end"]["oom_kills"], 1, "oom_kills at the end")
    equal(samples[-1]["end"]["signal"], 9, "signal")
    expect(re.search(r"result +out of memory", stderr), "no verdict in", stderr)
    expect("64 MiB" in stderr, "no limit in", stderr)


@test
def another_death_by_signal_9_is_not_by_the_OOM_killer():
    with group("killed") as place:
        place.limit_memory(64)
        samples, stderr = track(place, "sh", "-c", "kill -9 $$", status=137, options=("--summary=always",))
    equal(samples[-1]["end"]["oom_kills"], 0, "oom_kills at the end")
    expect("out of memory" not in stderr, stderr)


@test
def throttling_is_that_of_the_group():
    """The command limits itself for a while, so that all of it falls into the time of the samples."""
    program = BURN.format(3) + "\nopen(sys.argv[1], 'w').write(sys.argv[3])"
    program = "import sys\nopen(sys.argv[1], 'w').write(sys.argv[2])\n" + program
    with group("throttled") as place:
        samples, _ = track(place, sys.executable, "-c", program, *place.cpu_setting(0.2))
        true_secs, used_secs = place.throttled_secs(), place.cpu_secs()
    got = sum(sample["cgroup"]["throttled_secs"] for sample in samples)
    usage = sum(sample["cgroup"]["cpu_usage_secs"] for sample in samples)
    diag(f"throttled {got:.3f} s, the group's own {true_secs:.3f}; used {usage:.3f} s, the group's own {used_secs:.3f}")
    expect(true_secs > 0.5, f"the group was throttled for {true_secs} s only")
    expect(abs(got - true_secs) <= 0.1 * true_secs, f"{got} s, the group has {true_secs}")
    expect(sum(sample["cgroup"]["throttled_secs"] > 0 for sample in samples) >= 3, "not seen while it went on")


@test
def the_tree_has_used_what_the_group_counts():
    """The command is in a group of its own; what it used before it got there it reports itself."""
    program = ("import os, sys, time\n"
               "for path in sys.argv[2:]: open(path, 'w').write(str(os.getpid()))\n"
               "before = time.process_time()\n"
               "open(sys.argv[1], 'w').write(repr(before))\n"
               "for number in range(12):\n"
               "    if os.fork() == 0:\n"
               "        if number % 3 == 0 and os.fork() != 0: os._exit(0)\n"
               "        began = time.process_time()\n"
               "        while time.process_time() - began < 0.1: pass\n"
               "        os._exit(0)\n"
               "    if number % 4 == 3: os.wait()\n"
               "while True:\n"
               "    try: os.wait()\n"
               "    except ChildProcessError: break\n"
               "time.sleep(1.5)\n")
    with group("tree") as place:
        procs = [str(directory / "cgroup.procs") for directory in place.directories()]
        with Tracker("-i", "0.25", "-o", "run.jsonl", "--", sys.executable, "-c", program, "before",
                     *procs) as tracker:
            equal(tracker.wait(), 0, "exit status")
            true_secs = place.cpu_secs() + float((tracker.cwd / "before").read_text(encoding="ascii"))
            samples = samples_of(tracker)
    got = sum(sample["cpu"]["process_utime_secs"] + sample["cpu"]["process_stime_secs"] for sample in samples)
    diag(f"{got:.4f} s of CPU time, the group has {true_secs:.4f}")
    expect(abs(got - true_secs) <= SLACK_SECS, f"{got} s of CPU time, the group has {true_secs}")


def need_v2():
    if not IS_V2:
        raise Skip("--cgroup is for version 2")


def as_user(place):
    return [*place.inside(), shutil.which("setpriv"), f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]


COMMAND = ("sh", "-c", "sed -n s/^0:://p /proc/self/cgroup; exit 7")


@test
def a_user_may_use_a_group_of_its_own_below_one_that_was_handed_over():
    need_v2()
    with group("delegated") as place:
        for path in (place.cpu, *(place.cpu / name for name in ("cgroup.procs", "cgroup.threads",
                                                                  "cgroup.subtree_control"))):
            os.chown(path, USER, USER)
        with Tracker("--cgroup", "-q", "--", *COMMAND, cwd="/", before=as_user(place)) as tracker:
            equal(tracker.wait(), 7, f"exit status (stderr {tracker.stderr()!r})")
            equal(tracker.stdout.all(), [f"/delegated/resource-tracker-{tracker.pid}".encode()], "its group")
            equal(tracker.stderr(), "", "stderr")
        equal([path.name for path in place.cpu.iterdir() if path.is_dir()], [], "groups left")


@test
def a_user_may_not_below_one_that_was_not():
    need_v2()
    with group("closed") as place:
        with Tracker("--cgroup", "-q", "--", *COMMAND, cwd="/", before=as_user(place)) as tracker:
            equal(tracker.wait(), 7, "exit status")
            equal(tracker.stdout.all(), [b"/closed"], "its group")
            text = tracker.stderr()
    equal(text.count("\n"), 1, f"lines on stderr ({text!r})")
    for word in ("resource-tracker: warning: cgroup: ", "not permitted", "/sys/fs/cgroup/closed"):
        expect(word in text, f"{word!r} is not in", text)


@test
def doctor_shows_limits_and_peak():
    with group("doctor") as place:
        place.limit_cpu(1.5)
        place.limit_memory(128)
        has_peak = place.peak_mib() is not None
        with Tracker("--doctor", before=place.inside()) as tracker:
            tracker.wait()
            text = b"\n".join(tracker.stdout.all()).decode()
    diag("\n".join(line for line in text.splitlines() if line.startswith("cgroup")))
    expect(re.search(r"cgroup +limits +ok +CPU: 1.50 cores, memory: 128 MiB", text), "no limits")
    expect(re.search(rf"cgroup +memory peak +{'ok' if has_peak else 'limited'}", text), "the peak is reported wrongly")
    expect(re.search(r"cgroup +OOM kills +ok", text), "kills are reported wrongly")


if __name__ == "__main__":
    tap.main()
