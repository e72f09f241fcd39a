#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The tracker where the system calls that came after Linux 3.10 fail: no pidfd, no clone3, no getrandom, no statx."""

import os
import re
import subprocess
import sys

import tap
from tap import diag, equal, expect, test
from tracker import WAIT_SECS, Tracker, parse, run


@test
def doctor_knows_what_is_missing():
    done = run(["--doctor"])
    diag("\n".join(line for line in done.stdout.splitlines() if line.startswith("processes")))
    expect(re.search(r"processes +pidfd +(limited|missing)", done.stdout), "pidfd is not reported as missing")
    expect(re.search(r"processes +CPU and RSS +ok", done.stdout), "CPU and RSS cannot be read")


@test
def a_command_is_tracked_to_its_end():
    with Tracker("-i", "0.2", "-o", "run.jsonl", "--", "sh", "-c", "sleep 1; exit 7") as tracker:
        equal(tracker.wait(), 7, "exit status")
        samples = [parse(line) for line in (tracker.cwd / "run.jsonl").read_bytes().splitlines()]
        equal(tracker.stderr(), "", "stderr")
    expect(len(samples) >= 4, f"{len(samples)} samples")
    equal(samples[-1]["end"]["exit_code"], 7, "exit code")
    expect(samples[0]["cpu"]["process_child_count"] == 1, "children:", samples[0]["cpu"]["process_child_count"])


@test
def a_running_process_is_followed_to_its_end():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as other:
        with Tracker("-i", "0.2", "--pid", str(other.pid), "--stop-with-pid") as tracker:
            first = parse(tracker.stdout.next())
            other.stdin.close()
            other.wait(WAIT_SECS)
            equal(tracker.wait(), 0, f"exit status (stderr {tracker.stderr()!r})")
    equal(first["tracked_pid"], other.pid, "tracked_pid")
    expect(first["cpu"]["process_rss_mib"] > 1, "memory:", first["cpu"]["process_rss_mib"])


@test
def a_group_of_its_own_or_a_word_and_the_command_runs():
    with Tracker("--cgroup", "-q", "--", "sh", "-c", "sed -n s/^0:://p /proc/self/cgroup; exit 7") as tracker:
        equal(tracker.wait(), 7, "exit status")
        groups, text = tracker.stdout.all(), tracker.stderr()
        diag(f"{groups} {text!r}")
        is_own = groups == [f"/resource-tracker-{tracker.pid}".encode()]
    expect(is_own != (text.startswith("resource-tracker: warning: ") and "its own cgroup" in text), groups, text)
    left = [name for name in os.listdir("/sys/fs/cgroup/unified") if name.startswith("resource-tracker")]
    equal(left, [], "groups left")


if __name__ == "__main__":
    tap.main()
