#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tracking a process tree that already runs: what counts from when, and what happens when it has gone."""

import os
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import equal, expect, test
from tracker import PATIENCE_SECS, Tracker, directory, parse, run, wait_until
from truth import (IO_KEYS, TICK_SECS, as_nobody, check_complaints, check_plausible, cpu_clock, cpu_of, cpu_sum, read,
                   reported, target)


def used_secs(pid):
    """CPU seconds of a process and of the children it has waited for, in whole ticks."""
    columns = read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    return sum(map(int, columns[11:15])) * TICK_SECS


def rest(tracker):
    """The samples up to the end. They are read as they come: a pipe that is not emptied loses samples."""
    return [parse(line) for line in tracker.stdout.all()]


def check_gone(sample):
    cpu = sample["cpu"]
    for key in ("process_cores_used", "process_child_count", "process_utime_secs", "process_stime_secs",
                "process_rss_mib"):
        equal(cpu[key], 0, f"{key} of a tree that has gone")


@test
def what_was_used_before_does_not_count():
    with target("burn", 20000) as busy:
        wait_until(lambda: cpu_clock(busy.pid) > 0.5, "half a second of work")
        before = cpu_clock(busy.pid)
        with Tracker("-i", "0.1", "--pid", str(busy.pid)) as tracker:
            lines = tracker.stdout.take(1)
            inside = cpu_clock(busy.pid)
            lines += tracker.stdout.take(9)
            until = cpu_clock(busy.pid)
            equal(tracker.stop(), 0, "exit status")
            after = cpu_clock(busy.pid)
            samples = [parse(line) for line in lines] + rest(tracker)
            equal(tracker.stderr(), "", "stderr")
    got = cpu_sum(samples)
    tap.diag(f"{got:.4f} s, the kernel has {until - inside:.4f} to {after - before:.4f}")
    expect(until - inside - TICK_SECS <= got <= after - before + TICK_SECS, f"{got} s")
    check_plausible(samples)
    equal({sample["tracked_pid"] for sample in samples}, {busy.pid}, "tracked_pid")


@test
def children_that_were_there_before_count_from_now_on():
    with directory() as place, target(*"loop 40 50 2".split(), place=place) as busy:
        wait_until(lambda: used_secs(busy.pid) > 0.3, "children that were waited for")
        before = used_secs(busy.pid)
        with Tracker("-i", "0.1", "--pid", str(busy.pid), "--stop-with-pid") as tracker:
            tracker.wait_ready()
            attached = used_secs(busy.pid) + 2 * 0.05  # and what its two children of now may have used
            samples = rest(tracker)
            equal(tracker.wait(20), 0, "exit status")
        equal(busy.wait(10), 0, "status of the workload")
        total = reported(place)[0]
    got = cpu_sum(samples)
    tap.diag(f"{got:.4f} s, the kernel has {total - attached:.4f} to {total - before:.4f}")
    expect(total - attached - 4 * TICK_SECS <= got <= total - before + TICK_SECS, f"{got} s")
    check_plausible(samples)


@test
def members_stay_members_when_the_first_process_ends():
    with directory() as place, target(*"leave burn 900 , sleep 500".split(), place=place) as busy:
        with Tracker("-i", "0.1", "--pid", str(busy.pid), "--stop-with-pid") as tracker:
            first = parse(tracker.stdout.next())
            equal(first["cpu"]["process_child_count"], 1, "descendants")
            equal(busy.wait(10), 0, "status of the workload")
            samples = [first, *rest(tracker)]
            equal(tracker.wait(20), 0, "exit status")
        total = reported(place)[0]
    got = cpu_sum(samples)
    tap.diag(f"{got:.4f} s, the kernel has {total:.4f}")
    # What it used before is not known here; what a process used after its last sample is lost when others reap it.
    expect(total - 0.35 <= got <= total + TICK_SECS, f"{got} s of {total} s")
    after = [sample for sample in samples if sample["elapsed_secs"] > 0.65][:-1]
    expect(after and all(cpu_of(sample) > 0 for sample in after[:1]), "the child does not count any more")
    check_plausible(samples)


@test
def a_tree_that_has_gone_is_zero_and_the_tracker_goes_on():
    with target("idle", 10, 0) as busy:
        equal(busy.stdout.readline(), b"ready\n", "the workload's line")
        with Tracker("-i", "0.05", "--pid", str(busy.pid)) as tracker:
            equal(parse(tracker.stdout.next())["cpu"]["process_child_count"], 10, "descendants")
            busy.kill()
            equal(busy.wait(10), -9, "status of the workload")
            tracker.stdout.take(6)
            for line in tracker.stdout.take(4):
                check_gone(parse(line))
            equal(tracker.stop(), 0, "exit status")
            samples = rest(tracker)
            check_gone(samples[-1])
            check_plausible(samples)
            check_complaints(tracker.stderr())


@test
def a_process_that_is_not_waited_for_has_gone_too():
    with target("burn", 20000) as busy, Tracker("-i", "0.05", "--pid", str(busy.pid)) as tracker:
        tracker.stdout.take(2)
        busy.send_signal(9)  # and it stays a zombie
        tracker.stdout.take(6)
        for line in tracker.stdout.take(3):
            check_gone(parse(line))
        equal(tracker.stop(), 0, "exit status")


def check_stop(is_reaped):
    """The end of the process ends the tracker at once, however long the interval is."""
    with target("burn", 20000) as busy, Tracker("-i", "60", "--pid", str(busy.pid), "--stop-with-pid") as tracker:
        tracker.wait_ready()
        enough_secs = cpu_clock(busy.pid) + 0.1
        wait_until(lambda: cpu_clock(busy.pid) >= enough_secs, "the process to work")
        busy.kill()
        began = time.monotonic()
        if is_reaped:
            busy.wait(10)
        equal(tracker.wait(), 0, "exit status")
        expect(time.monotonic() - began < PATIENCE_SECS, f"ended {time.monotonic() - began:.3f} s late")
        samples = rest(tracker)
        equal(len(samples), 1, "samples")
        equal(samples[0]["cpu"]["process_child_count"], 0, "descendants")
        check_plausible(samples)
        if not is_reaped:
            expect(cpu_sum(samples) >= 0.05, f"{cpu_sum(samples)} s in the final sample")
        check_complaints(tracker.stderr())


tap.add("stop with pid: the tracker ends at once when the process was reaped", check_stop, True)
tap.add("stop with pid: the tracker ends at once when the process is a zombie", check_stop, False)


def check_refused(pid, *words):
    done = run(["-i", "0.1", "--pid", str(pid)])
    equal((done.returncode, done.stdout), (125, ""), f"exit status and stdout (stderr {done.stderr!r})")
    lines = done.stderr.splitlines()
    tap.diag(done.stderr.strip())
    equal(len(lines), 1, f"lines on stderr ({done.stderr!r})")
    expect(lines[0].startswith("resource-tracker: error: ") and str(pid) in lines[0], lines[0])
    for word in words:
        expect(word in lines[0], f"{word!r} is not in: {lines[0]}")


@test
def a_pid_that_does_not_exist_is_refused():
    with subprocess.Popen(["true"]) as gone:
        gone.wait()
    check_refused(gone.pid)


@test
def the_number_of_a_thread_is_refused():
    with target("idle", 0, 2) as busy:
        equal(busy.stdout.readline(), b"ready\n", "the workload's line")
        threads = [int(name) for name in os.listdir(f"/proc/{busy.pid}/task") if int(name) != busy.pid]
        equal(len(threads), 2, "threads")
        check_refused(threads[0], "thread")


@test
def a_process_of_another_user():
    with directory() as place, target("burn", 20000) as busy:
        words, binary = as_nobody(place)
        pages = int(read(f"/proc/{busy.pid}/statm").split()[1])
        with Tracker("-i", "0.1", "--pid", str(busy.pid), before=words, program=(binary,), cwd=place) as tracker:
            lines = tracker.stdout.take(1)
            inside = cpu_clock(busy.pid)
            lines += tracker.stdout.take(5)
            until = cpu_clock(busy.pid)
            equal(tracker.stop(), 0, "exit status")
            samples = [parse(line) for line in lines] + rest(tracker)
            warnings = tracker.stderr().splitlines()
    check_plausible(samples, hidden=IO_KEYS)
    expect(cpu_sum(samples) >= until - inside - TICK_SECS, f"{cpu_sum(samples)} s, the kernel has {until - inside}")
    for sample in samples:
        rss = sample["cpu"]["process_rss_bytes"]
        expect(abs(rss - pages * os.sysconf("SC_PAGE_SIZE")) < 1 << 19, rss)
        equal(sample["cpu"]["process_disk_read_bytes"], None, "bytes read")
        equal(sample["cpu"]["process_disk_write_bytes"], None, "bytes written")
    tap.diag(f"{warnings}")
    equal(len(warnings), 1, f"warnings ({warnings})")
    expect(warnings[0].startswith("resource-tracker: warning: ") and str(busy.pid) in warnings[0], warnings[0])


if __name__ == "__main__":
    tap.main()
