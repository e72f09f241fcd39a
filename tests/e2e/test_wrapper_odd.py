#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command and its tracker may get into: a terminal that goes away, stops from outside, processes that are not
waited for, a cgroup that is left, no /proc, few descriptors, little work.

WORKLOAD names the program of tests/fake/workload.c.
"""

import contextlib
import json
import os
import pathlib
import pty
import re
import resource
import signal
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import (BINARY, ROOT, SANITIZED, WAIT_SECS, Tracker, clean_env, directory, parse, remove_group, run,
                     wait_file_lines, wait_until)

WORKLOAD = os.path.abspath(os.environ.get("WORKLOAD", ""))
TICK_SECS = 1 / os.sysconf("SC_CLK_TCK")
# A tree in which a parent is a zombie when its child ends, and a subreaper waits for the child before the parent.
ZOMBIE_PARENT = r"""
import ctypes, os, signal, sys, time
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
reader, writer = os.pipe()
parent = os.fork()
if parent == 0:
    child = os.fork()
    if child == 0:
        began = time.process_time()
        while time.process_time() - began < 0.6:
            pass
        os.write(writer, str(os.getpid()).encode())
        signal.pause()
    signal.pause()
child = int(os.read(reader, 16))
time.sleep(0.5)
os.kill(parent, signal.SIGKILL)
time.sleep(0.05)
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
time.sleep(0.6)
os.waitpid(parent, 0)
"""


def cpu_secs(samples):
    return sum((sample["cpu"][key] or 0) for sample in samples for key in ("process_utime_secs", "process_stime_secs"))


def reported_secs(stderr):
    """What wait4 reported of the command, from the line of --verbose."""
    match = re.search(r"status \d+: ([\d.]+) s user, ([\d.]+) s system", stderr)
    expect(match, "no line on what the command used:", stderr)
    return float(match[1]) + float(match[2])


@contextlib.contextmanager
def sleeper(secs):
    """A process that is not waited for before the end."""
    process = subprocess.Popen(["sleep", str(secs)], env=clean_env(), stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait(WAIT_SECS)


@test
def csv_of_an_attached_tree_has_the_columns_of_a_process():
    with sleeper(30) as process, directory() as place:
        with Tracker("-f", "csv", "-i", "0.05", "-o", "out", "--pid", str(process.pid), cwd=place) as tracker:
            wait_file_lines(place / "out", 2)
            equal(tracker.stop(), 0, "exit status")
        header, row = (place / "out").read_text(encoding="ascii").splitlines()[:2]
    equal(len(header.split(",")), 33, "columns")
    equal(row.split(",")[header.split(",").index("process_pid")], str(process.pid), "process_pid")


@test
def a_terminal_that_goes_away_ends_a_command_whose_tracker_leads_the_session():
    pid, terminal = pty.fork()
    if pid == 0:
        os.execve(BINARY, [BINARY, "-q", "--", "sleep", "60"], clean_env())
    children = pathlib.Path(f"/proc/{pid}/task/{pid}/children")
    try:
        wait_until(lambda: children.exists() and children.read_text(encoding="ascii").strip(), "the command")
        time.sleep(0.2)
        os.close(terminal)
        status = wait_until(lambda: os.waitpid(pid, os.WNOHANG)[1], "the end of the tracker")
        equal(os.waitstatus_to_exitcode(status), 128 + signal.SIGHUP, "exit status")
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise


@test
def stopped_and_continued_from_outside_the_command_is_still_waited_for():
    with directory() as place, Tracker("-i", "0.05", "-o", "out", "--", "sleep", "0.5", cwd=place) as tracker:
        wait_file_lines(place / "out", 1)
        job = parse((place / "out").read_bytes().splitlines()[0])["tracked_pid"]
        for number in (signal.SIGTSTP, signal.SIGCONT, signal.SIGSTOP, signal.SIGCONT):
            os.kill(job, number)
            time.sleep(0.05)
        equal(tracker.wait(), 0, "exit status")


@test
def an_alarm_that_our_caller_set_ends_the_command():
    words = ["import os, signal, sys; signal.alarm(1); os.execv(sys.argv[1], sys.argv[1:])"]
    with directory() as place:
        done = subprocess.run([os.path.realpath("/usr/bin/python3"), "-c", *words, BINARY, "-q", "--", "sleep", "30"],
                              env=clean_env(), cwd=place, capture_output=True, timeout=WAIT_SECS, check=False)
    equal(done.returncode, 128 + signal.SIGALRM, f"exit status ({done.stderr!r})")


@test
def the_target_is_a_zombie_that_we_cannot_see():
    with sleeper(0.3) as process, directory() as place:
        words = ("--sysroot", ROOT / "tests/fixtures/small-vm/t0", "-i", "0.5", "-o", "out", "--pid", str(process.pid))
        with Tracker(*words, cwd=place) as tracker:
            time.sleep(1.6)
            equal(tracker.stop(), 0, "exit status")
        lines = (place / "out").read_bytes().splitlines()
    expect(3 <= len(lines) <= 6, f"{len(lines)} samples in 1.6 s")
    with sleeper(0.3) as process, directory() as place:
        with Tracker(*words[:-1], str(process.pid), "--stop-with-pid", cwd=place) as tracker:
            equal(tracker.wait(), 0, "exit status")


def check_against_wait(*words, interval):
    with directory() as place:
        done = run(["-v", "-i", interval, "-o", "out", "--", *words], cwd=place)
        equal(done.returncode, 0, f"exit status ({done.stderr!r})")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
    got, want = cpu_secs(samples), reported_secs(done.stderr)
    tap.diag(f"{got:.4f} s in {len(samples)} samples, wait4 reported {want:.3f}")
    expect(abs(got - want) <= TICK_SECS, f"{got:.4f} s, wait4 reported {want:.3f}")


@test
def a_child_of_a_zombie_counts_once():
    check_against_wait("/usr/bin/python3", "-c", ZOMBIE_PARENT, interval="0.25")


@test
def little_work_in_many_samples_adds_up():
    loop = "i=0; while [ $i -lt 60 ]; do sleep 0.02; i=$((i + 1)); done"
    check_against_wait("sh", "-c", loop, interval="0.01")
    with directory() as place:
        done = run(["-v", "-f", "csv", "-i", "0.01", "-o", "out", "--", "sh", "-c", loop], cwd=place)
        header, *rows = (place / "out").read_text(encoding="ascii").splitlines()
    columns = [header.split(",").index(name) for name in ("process_utime", "process_stime")]
    got = sum(float(row.split(",")[column]) for row in rows for column in columns)
    want = reported_secs(done.stderr)
    tap.diag(f"CSV: {got:.3f} s in {len(rows)} rows, wait4 reported {want:.3f}")
    expect(abs(got - want) <= TICK_SECS, f"CSV: {got:.3f} s, wait4 reported {want:.3f}")


@test
def the_time_of_a_command_that_leaves_its_cgroup_counts():
    mount = re.search(r"^\S+ \S+ \S+ (\S+) (\S+) .* - cgroup2 ", pathlib.Path("/proc/self/mountinfo").read_text(
        encoding="utf-8"), re.M)
    ours = re.search(r"^0::(/.*)$", pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8"), re.M)
    if not mount or not ours or not os.access(WORKLOAD, os.X_OK):
        raise Skip("there is no cgroup of version 2, or no workload")
    procs = pathlib.Path(mount[2], ours[1].removeprefix(mount[1].rstrip("/")).strip("/"), "cgroup.procs")
    if not os.access(procs, os.W_OK) or not os.access(procs.parent, os.W_OK):
        raise Skip("a cgroup is not permitted")
    with directory() as place:
        script = f'echo $$ > "{procs}" && exec "{WORKLOAD}" burn 400'
        done = run(["--cgroup", "-v", "-i", "0.1", "-o", "out", "--", "sh", "-c", script], cwd=place)
        if "runs in our cgroup" in done.stderr:
            raise Skip("a cgroup is not permitted")
        equal(done.returncode, 0, f"exit status ({done.stderr!r})")
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
    expect(cpu_secs(samples) >= 0.4 - TICK_SECS, f"{cpu_secs(samples):.4f} s of 0.4")


@test
def without_proc_the_time_of_the_command_is_still_known():
    if SANITIZED:
        raise Skip("a sanitizer needs /proc itself")
    words = ["unshare", "-m", "sh", "-c", 'mount --make-rprivate / && umount -l /proc && exec "$@"', "sh"]
    if subprocess.run([*words, "true"], capture_output=True, timeout=WAIT_SECS, check=False).returncode != 0:
        raise Skip("namespaces are not permitted")
    with directory() as place:
        burn = ["/usr/bin/python3", "-c", "import time\nwhile time.process_time() < 0.3: pass"]
        with Tracker("-i", "0.1", "-o", "out", "--", *burn, before=words, cwd=place) as tracker:
            equal(tracker.wait(), 0, "exit status")
        last = parse((place / "out").read_bytes().splitlines()[-1])
    expect(last["cpu"] is not None, "cpu is null")
    expect(last["cpu"]["process_utime_secs"] + last["cpu"]["process_stime_secs"] >= 0.3 - TICK_SECS, last["cpu"])


@contextlib.contextmanager
def few_processes(limit):
    """Words that run something where only so many processes may be."""
    if SANITIZED:
        raise Skip("a sanitizer needs a process of its own at the end")
    group = pathlib.Path("/sys/fs/cgroup/pids", f"rt-e2e-{os.getpid()}")
    try:
        group.mkdir()
    except OSError as reason:
        raise Skip(f"no group with a limit of processes: {reason.strerror}") from reason
    try:
        (group / "pids.max").write_text(str(limit), encoding="ascii")
        yield ["sh", "-c", f'echo $$ > "{group}/cgroup.procs" && exec "$@"', "sh"]
    finally:
        remove_group(group)


@test
def where_no_process_can_be_made_it_is_one_clear_line():
    with few_processes(1) as before, Tracker("-q", "--", "true", before=before) as tracker:
        equal(tracker.wait(), 125, "exit status")
        line = tracker.stderr()
    expect(re.fullmatch("resource-tracker: error: [^\n]*too many processes[^\n]*\n", line), line)


@test
def the_tracker_needs_no_process_but_the_command():
    with few_processes(2) as before, directory() as place:
        words = ("-i", "0.1", "-o", "out", "--", "sleep", "0.35")
        with Tracker(*words, before=before, cwd=place) as tracker:
            equal(tracker.wait(), 0, "exit status")
        expect(len((place / "out").read_bytes().splitlines()) >= 3, "too few samples")


@test
def the_peak_of_a_small_command_is_not_ours():
    with directory() as place:
        summary = place / "summary.json"
        done = subprocess.run([BINARY, "-i", "0.1", "-q", "--summary-json", str(summary), "--", "sleep", "0.5"],
                              env=clean_env(), timeout=WAIT_SECS, capture_output=True, check=False)
        equal(done.returncode, 0, f"exit status ({done.stderr!r})")
        memory = json.loads(summary.read_text(encoding="utf-8"))["memory"]
    largest = memory["processes"][0]["rss_mib"]
    equal(memory["rss_peak_mib"], largest, "highest memory, that of the largest process in a sample")


@test
def with_next_to_no_descriptors_the_command_still_runs():
    for count in range(11, 24):
        done = subprocess.run([BINARY, "-o", "/dev/null", "--", "sh", "-c", "exit 3"], env=clean_env(),
                              preexec_fn=lambda count=count: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count)),
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=WAIT_SECS, check=False)
        equal(done.returncode, 3, f"exit status with {count} descriptors ({done.stderr!r})")


@test
def with_few_descriptors_the_tree_is_still_seen():
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (24, 24))

    with directory() as place:
        with subprocess.Popen([BINARY, "-i", "0.2", "-o", "out", "--", "sh", "-c", "sleep 1 & sleep 1; exit 3"],
                              env=clean_env(), cwd=place, preexec_fn=few, stderr=subprocess.PIPE) as tracker:
            equal(tracker.wait(WAIT_SECS), 3, "exit status")
        sample = parse((place / "out").read_bytes().splitlines()[1])
    equal(sample["cpu"]["process_child_count"], 2, "children")
    expect(sample["cpu"]["process_rss_mib"] > 0, "no memory")


if __name__ == "__main__":
    tap.main()
