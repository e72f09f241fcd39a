#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Marks that a command sends: what the samples have of them, and that the command never suffers from it."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import python
from tap import Skip, equal, expect, test
from tracker import BINARY, SANITIZED, WAIT_SECS, clean_env, directory, run

SEND = """
import os, socket, sys, time
tracker = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
tracker.setblocking(False)
def send(text):
    tracker.sendto(text if isinstance(text, bytes) else text.encode(), os.environ["TRACKER_SOCKET"])
"""


def record(command, *options, env=None):
    """The samples of a command, and what it wrote."""
    with directory() as place:
        done = run(["-o", "out", *options, "--", *command], env=env, cwd=place)
        equal((done.returncode, done.stderr), (0, ""), "status and stderr")
        return [json.loads(line) for line in (place / "out").read_text(encoding="utf-8").splitlines()], done.stdout


def marks_of(samples):
    return [mark for sample in samples for mark in sample.get("marks", [])]


def named(samples):
    return [(mark["kind"], mark["name"]) for mark in marks_of(samples)]


@test
def marks_have_their_time_and_a_sample():
    """Those of a socket and of our own program, in their order."""
    code = SEND + """
import subprocess
start = time.monotonic()
send("begin load")
time.sleep(0.3)
subprocess.run([sys.argv[1], "--end", "load", "--begin", "compute"], check=True)
time.sleep(0.3)
send("mark epoch 3")
"""
    samples, _ = record(python(code, BINARY))
    equal(named(samples), [("begin", "load"), ("end", "load"), ("begin", "compute"), ("mark", "epoch 3")], "marks")
    times = [mark["elapsed_secs"] for mark in marks_of(samples)]
    expect(times == sorted(times), times)
    expect(0.3 <= times[1] - times[0] and times[2] - times[1] < 0.1 and 0.3 <= times[3] - times[2], times)
    ends = [sample["elapsed_secs"] for sample in samples]
    before = [0, *ends]
    for sample, first in zip(samples, before):
        for mark in sample.get("marks", []):
            expect(first <= mark["elapsed_secs"] <= sample["elapsed_secs"], f"{mark} in the sample of {ends}")
    # Within some ms, whatever else runs here: long before the next second.
    expect(any(abs(end - times[2]) < 0.25 for end in ends), f"no sample with the mark at {times[2]}: {ends}")


def mapped_kib(is_marked):
    """File pages of a tracker behind its first slot of the grid, and the times of its samples."""
    code = SEND + f"""
end = time.monotonic() + 1.2
while time.monotonic() < end:
    if {is_marked}:
        send("mark x")
    time.sleep(0.004)
time.sleep(1.2)
"""
    with directory() as place:
        with subprocess.Popen([BINARY, "-o", "out", "--", *python(code)], cwd=place, env=clean_env()) as tracker:
            time.sleep(1.9)
            text = pathlib.Path(f"/proc/{tracker.pid}/status").read_text(encoding="utf-8")
        samples = [json.loads(line) for line in (place / "out").read_text(encoding="utf-8").splitlines()]
        return int(re.search(r"RssFile:\s+(\d+) kB", text)[1]), [sample["elapsed_secs"] for sample in samples]


@test(limit=60)
def what_only_the_start_needed_is_released_although_a_mark_took_the_first_sample():
    if SANITIZED:
        raise Skip("a sanitizer has memory of its own")
    plain, _ = mapped_kib(False)
    for _ in range(5):
        marked, times = mapped_kib(True)
        before = [at for at in times if 0.901 < at < 0.999]
        if before and not any(1 <= at < before[-1] + 0.099 for at in times):
            # What is not released is some 1,200 KiB; what the kernel keeps in memory by itself varies.
            expect(marked < plain + 900, f"{marked} KiB of files, {plain} KiB without marks: {times}")
            return
    raise Skip("no mark came just before the first sample: the machine is too busy")


@test
def no_sample_is_missed_or_counted_twice():
    code = SEND + """
tracker.setblocking(True)
for i in range(25):
    send(f"mark {i}")
    time.sleep(0.06)
while time.process_time() < 0.5:
    pass
"""
    samples, _ = record(python(code), "-i", "0.5")
    equal([name for _, name in named(samples)], [str(i) for i in range(25)], "marks")
    # Late samples of a busy machine count as missed; those of the grid beside a mark do not.
    expect(sum(sample["tracker"]["missed_samples"] for sample in samples[:-1]) <= 1, "missed samples")
    gaps = [sample["actual_interval_ms"] for sample in samples[1:-1]]
    expect(all(gap >= 45 for gap in gaps), gaps)
    used = sum(sample["cpu"]["process_utime_secs"] + sample["cpu"]["process_stime_secs"] for sample in samples)
    expect(0.5 <= used < 2, f"{used} s of CPU time")


@test
def a_mark_without_a_tracker_is_silent():
    env = {"HOME": "/"}
    for options in (["--mark", "x"], ["--begin", "x", "--end", "x"]):
        done = subprocess.run([BINARY, *options], env=env, capture_output=True, timeout=WAIT_SECS)
        equal((done.returncode, done.stdout, done.stderr), (0, b"", b""), options)


@test
def a_mark_for_a_tracker_that_is_gone_warns_and_succeeds():
    env = {**clean_env(), "TRACKER_SOCKET": "/nonexistent/socket"}
    done = subprocess.run([BINARY, "--mark", "x"], env=env, capture_output=True, text=True, timeout=WAIT_SECS)
    equal((done.returncode, done.stdout), (0, ""), "status and stdout")
    equal(done.stderr, "resource-tracker: warning: --mark: cannot send to the tracker: No such file or directory\n", "")


@test
def what_is_sent_is_harmless():
    code = SEND + r"""
send(b"mark \xff\xfe\x1b]0;title\x07 {\"a\": 1}\n")
send(b"")
send(b"\x00" * 300)
send("nonsense")
send("mark " + "x" * 500)
"""
    samples, _ = record(python(code))
    equal(named(samples)[0], ("mark", ']0;title {"a": 1}'), "the first")
    equal(named(samples)[1], ("mark", "x" * 124 + "..."), "a long one")
    equal(len(named(samples)), 2, "marks")


@test
def a_flood_does_not_hold_up_the_command():
    code = SEND + """
start = time.monotonic()
lost = 0
for i in range(20000):
    try:
        send("mark flood")
    except BlockingIOError:
        lost += 1
print(time.monotonic() - start, lost)
"""
    with directory() as place:
        done = run(["-o", "out", "--", *python(code)], cwd=place)
        equal(done.returncode, 0, "status")
        expect(done.stderr in ("", "resource-tracker: warning: too many marks: some are not recorded\n"), done.stderr)
        secs = float(done.stdout.split()[0])
        expect(secs < 10, f"{secs} s for 20,000 marks")
        samples = [json.loads(line) for line in (place / "out").read_text(encoding="utf-8").splitlines()]
        expect(all(len(sample.get("marks", [])) <= 256 for sample in samples), "more than 256 in a sample")
        received = 20000 - int(done.stdout.split()[1])
        equal(samples[-1]["end"]["marks_dropped"], received - len(marks_of(samples)), "dropped")


@test
def marks_that_are_dropped_are_counted():
    # At an interval below 200 ms no mark has a sample of its own, so that they meet in one.
    code = SEND + """
tracker.setblocking(True)
for i in range(2000):
    send("mark many")
time.sleep(0.3)
"""
    with directory() as place:
        done = run(["-i", "0.19", "-o", "out", "--summary", "--summary-json", "summary", "--", *python(code)],
                   cwd=place)
        equal(done.returncode, 0, "status")
        samples = [json.loads(line) for line in (place / "out").read_text(encoding="utf-8").splitlines()]
        summary = json.loads((place / "summary").read_text(encoding="utf-8"))
        dropped = samples[-1]["end"]["marks_dropped"]
        equal((len(marks_of(samples)) + dropped, summary["marks_dropped"]), (2000, dropped), "marks in all")
        note = f"{dropped} marks were dropped: there were more than 256 at once, or 100,000 in all"
        expect(dropped > 0 and note[:20] in done.stderr and note in summary["notes"], summary["notes"], done.stderr)


@test
def the_socket_is_gone_at_the_end():
    code = SEND + """
send("mark x")
print(os.environ["TRACKER_SOCKET"])
"""
    samples, stdout = record(python(code))
    path = pathlib.Path(stdout.strip())
    equal(named(samples), [("mark", "x")], "marks")
    expect(not path.exists() and not path.parent.exists(), f"{path} is still there")


@test
def what_killed_trackers_left_is_removed():
    """Those of others, young ones, and those that still receive, stay."""
    memory = pathlib.Path("/dev/shm")
    if not os.access(memory, os.W_OK):
        raise Skip("/dev/shm is not there")
    with contextlib.ExitStack() as stack:
        def left(number, secs=3600, is_open=False, is_bound=True, name=""):
            path = memory / f"resource-tracker-{os.getpid()}-{number}{name}"
            path.mkdir()
            stack.callback(shutil.rmtree, path, ignore_errors=True)
            if is_bound:
                receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
                receiver.bind(str(path / "5b6a79880f1e2d3c"))
                stack.callback(receiver.close)
                if not is_open:
                    receiver.close()
            os.utime(path, (time.time() - secs,) * 2)
            return path

        gone = [left(1), left(2, is_bound=False)]
        stay = [left(3, secs=10), left(4, is_open=True), left(5)]
        (stay[2] / "data").write_text("of another program", encoding="ascii")
        os.utime(stay[2], (time.time() - 3600,) * 2)
        if os.getuid() == 0:
            stay.append(left(6))
            os.chown(stay[-1], 65534, 65534)
        record(["sleep", "0.5"], "-i", "0.2")
        equal([path for path in gone if path.exists()], [], "still there")
        equal([path for path in stay if not path.exists()], [], "removed")
        expect((stay[2] / "data").exists(), "a file of another program was removed")


@test
def only_a_run_with_samples_has_a_socket():
    shown = ["sh", "-c", "echo ${TRACKER_SOCKET-none}"]
    equal(run(["-q", "--", *shown]).stdout, "none\n", "with -q")
    outer = {**clean_env(), "TRACKER_SOCKET": "/of/the/outer"}
    equal(run(["-q", "--", *shown], env=outer).stdout, "/of/the/outer\n", "the outer one")
    with directory() as place:
        done = run(["-q", "--summary-json", "summary", "--", *shown], env=outer, cwd=place)
        expect(done.stdout.startswith("/") and done.stdout != "/of/the/outer\n", done.stdout)


@test
def another_user_of_the_tree_may_mark():
    if os.geteuid() != 0:
        raise Skip("only root can run a command as another user")
    code = SEND + """
os.setgid(65534)
os.setuid(65534)
send("mark as another user")
"""
    samples, _ = record(python(code))
    equal(named(samples), [("mark", "as another user")], "marks")


@test
def one_line_of_a_shell():
    """As docs/guide/phases.md has it."""
    lines = {"socat": "printf 'mark by socat' | timeout 1 socat -u - UNIX-SENDTO:$TRACKER_SOCKET",
             "perl": "perl -MSocket=:all -e 'socket S, AF_UNIX, SOCK_DGRAM, 0; "
                     "send S, \"mark by perl\", MSG_DONTWAIT, pack_sockaddr_un $ENV{TRACKER_SOCKET}'"}
    found = {name: line for name, line in lines.items() if shutil.which(name)}
    if not found:
        raise Skip("neither socat nor perl is here")
    for name, line in found.items():
        samples, _ = record(["sh", "-c", line])
        equal(named(samples), [("mark", f"by {name}")], line)


if __name__ == "__main__":
    tap.main()
