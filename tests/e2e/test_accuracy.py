#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The CPU time of a command and of all its descendants against the kernel's own total.

Ten jobs that are hard to add up, and odd members of a tree: every second counts exactly once, whatever used it and
however briefly it lived.
"""

import contextlib
import os
import pathlib
import shutil
import sys

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import cgroup_messages, directory
from truth import (IO_KEYS, MIB, NEIGHBOUR, NOBODY, TICK_SECS, WORKLOAD, Job, allowance, as_nobody, check_complaints,
                   check_plausible, check_sum, check_within_cpus, cpu_sum, need_counted_writes, need_group, reported)

SHELL_LOOP = 'i=0; while [ $i -lt 60 ]; do "$0" burn 20; i=$((i + 1)); done'
EXACT = [
    ("a loop of 60 children of 20 ms", "loop 60 20 1", (1, 0.1, 0.01)),
    ("a build of 24 files, 4 at once", "make 24 60 4", (1, 0.1, 0.01)),
    ("a storm of 2000 children of 1 ms", "loop 2000 1 4", (1, 0.1, 0.01)),
    ("a child of 1.2 s is reaped, then its parent works", "child burn 1200 , burn 1100", (1, 0.1)),
    ("waves of 4 children that are reaped late", "waves 2 4 200 700", (1, 0.1)),
    ("4 threads that each fork", "threads 4 160", (1, 0.1)),
    ("3 daemons that end before the command", "daemons 3 500 ended", (1, 0.1)),
]
# Where SIGCHLD is ignored the kernel drops the time of children: only a cgroup has it.
IGNORING = [
    ("60 children of 20 ms", "ignore 60 20 1"),
    ("4 children of 600 ms", "ignore 4 600 4"),
]


@contextlib.contextmanager
def jobs(words, intervals, *options, **more):
    """The same workload tracked at several intervals at once."""
    with contextlib.ExitStack() as stack:
        yield [(interval, stack.enter_context(Job(words, interval, *options, **more))) for interval in intervals]


def check_exact(words, intervals):
    with jobs(words, intervals) as started:
        for interval, job in started:
            tap.diag(f"every {interval} s:")
            samples, true_secs = job.finish()
            equal(job.stderr(), "", "stderr")
            check_sum(samples, true_secs)
            check_plausible(samples)
            if interval >= 1:
                check_within_cpus(samples)


for name_, words_, intervals_ in EXACT:
    tap.add(f"{name_}: exact", check_exact, words_.split(), intervals_, limit=60)


@test(limit=40)
def a_loop_of_a_shell_is_exact():
    need_group()  # a shell does not report its own CPU time
    check_exact(["exec", "sh", "-c", SHELL_LOOP, WORKLOAD], (1, 0.1))


@test(limit=40)
def the_cpus_are_the_limit_also_when_all_are_busy():
    with Job("make 30 100 4".split(), 1) as job:
        samples, true_secs = job.finish()
    check_sum(samples, true_secs)
    check_within_cpus(samples)
    tap.diag(f"at most {max(sample['cpu']['process_cores_used'] for sample in samples)} cores")


@test
def user_time_is_user_time():
    with Job(["burn", "600"], 0.1) as job:
        samples, _ = job.finish()
    user = sum(sample["cpu"]["process_utime_secs"] for sample in samples)
    expect(user >= 0.7 * cpu_sum(samples), f"{user} s of {cpu_sum(samples)} s are user time")


@test
def a_command_of_no_work_has_one_sample():
    with Job(["exit", "7"], 1) as job:
        samples, true_secs = job.finish(status=7)
    equal(len(samples), 1, "samples")
    check_sum(samples, true_secs)
    check_plausible(samples)


def check_ignoring(words):
    """Without a cgroup the time of such children may be lost, but none is made up."""
    with jobs(words, (1, 0.1)) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            got = cpu_sum(samples)
            expect(got <= true_secs + allowance(samples), f"{got} s, the kernel has {true_secs}")
            check_plausible(samples)
            check_within_cpus([sample for sample in samples if sample.get("actual_interval_ms", 0) > 900])


def check_ignoring_in_cgroup(words):
    need_group()
    with jobs(words, (1, 0.1), "--cgroup", whole=True) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            equal(cgroup_messages(job.stderr()), "", "stderr")
            check_sum(samples, true_secs)
            check_plausible(samples)
            left = [path.name for path in job.group.path.iterdir() if path.is_dir()]
            equal(left, [], "cgroups left behind")


for name_, words_ in IGNORING:
    tap.add(f"SIGCHLD ignored, {name_}: nothing is made up", check_ignoring, words_.split(), limit=40)
    tap.add(f"SIGCHLD ignored, {name_}: exact with --cgroup", check_ignoring_in_cgroup, words_.split(), limit=40)


@test(limit=40)
def a_build_in_a_cgroup_is_exact():
    need_group()
    with Job("make 12 80 4".split(), 0.1, "--cgroup", whole=True) as job:
        samples, true_secs = job.finish()
        equal(cgroup_messages(job.stderr()), "", "stderr")
    check_sum(samples, true_secs)
    check_plausible(samples)


@test(limit=40)
def daemons_that_stay_are_counted_so_far_and_not_waited_for():
    with jobs("daemons 3 400 stay".split(), (1, 0.1), stdin=-1) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            if job.group:
                equal(len(job.group.pids()), 3, "daemons that outlive the tracker")
            job.release()
            check_sum(samples, true_secs)
            check_plausible(samples)
            equal(samples[-1]["cpu"]["process_child_count"], 3, "descendants in the final sample")


@test
def a_command_that_ends_before_its_busy_children_ends_the_tracker():
    with Job("burn 200 , leave burn 3000 , leave burn 3000 , sleep 150 , exit 7".split(), 0.1) as job:
        samples, true_secs = job.finish(status=7, secs=4)
        expect(samples[-1]["elapsed_secs"] < 2.5, f"ended after {samples[-1]['elapsed_secs']} s")
        check_plausible(samples)
        expect(0.2 + 0.03 <= cpu_sum(samples), f"{cpu_sum(samples)} s: the children are missing")
        if job.group:  # they work on until the group is looked at
            expect(cpu_sum(samples) <= true_secs + allowance(samples), f"{cpu_sum(samples)} of {true_secs}")
        equal(samples[-1]["cpu"]["process_child_count"], 2, "descendants in the final sample")


@test
def a_command_that_becomes_another_program():
    with Job(["burn", "200", ",", "child", "burn", "100", ",", "exec", WORKLOAD, "burn", "250"], 0.1) as job:
        samples, true_secs = job.finish()
    check_sum(samples, true_secs)
    check_plausible(samples)


@test
def a_subreaper_within_the_tree_counts_nothing_twice():
    words = "child reaper daemons 3 200 ended , child reaper child reaper daemons 2 150 ended , burn 100".split()
    with jobs(words, (0.1, 1)) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            check_sum(samples, true_secs)
            check_plausible(samples)


@test
def a_zombie_that_goes_to_a_subreaper_within_the_tree_counts_once():
    # Both go at the same moment: the child to the subreaper, its parent to the shell between them, which stays.
    words = ["child", "reaper", "leave", "exec", "sh", "-c", '"$0" leave burn 150 , sleep 350; sleep 0.4', WORKLOAD]
    with jobs(words, (0.1, 0.2)) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            check_sum(samples, true_secs)
            check_plausible(samples)


@test
def names_that_look_like_columns():
    with Job("name child child burn 300 , child burn 200 , threads 2 100 , burn 150".split(), 0.05) as job:
        samples, true_secs = job.finish()
        equal(cgroup_messages(job.stderr()), "", "stderr")
    check_sum(samples, true_secs)
    check_plausible(samples)
    equal(max(sample["cpu"]["process_child_count"] for sample in samples), 2, "most descendants")
    expect(max(sample["cpu"]["process_thread_count"] for sample in samples) >= 3, "threads are missing")


@test
def a_process_whose_first_thread_has_ended():
    with jobs("child headless 1 150 , headless 1 200".split(), (0.05, 1)) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            check_sum(samples, true_secs)
            check_plausible(samples, hidden=IO_KEYS)  # only root may read it then
            check_complaints(job.stderr(), most=2)


@test
def children_that_belong_to_the_tracker():
    need_group()  # their time is reported by nothing else
    words = "sibling burn 200 , child sibling child burn 150 , sibling sibling daemons 2 100 ended".split()
    with jobs(words, (0.05, 1)) as started:
        for _, job in started:
            samples, true_secs = job.finish()
            check_sum(samples, true_secs)
            check_plausible(samples)


@test
def a_thread_that_becomes_another_program():
    need_group()
    program = "import os, sys, threading; threading.Thread(target=os.execv, args=(sys.argv[1], sys.argv[1:])).start()"
    with Job(["exec", sys.executable, "-c", program, WORKLOAD, "child", "child", "burn", "300"], 0.05) as job:
        samples, true_secs = job.finish()
    check_sum(samples, true_secs)
    check_plausible(samples)


def check_chaos(kind, seed, interval):
    need_group()  # no process in there knows what became of the others
    with Job(["chaos", "6", str(seed), kind], interval) as job:
        samples, true_secs = job.finish()
        equal(cgroup_messages(job.stderr()), "", "stderr")
    # Where many end at once, some work on after the kernel has added up their time: only the cgroup has that.
    error = cpu_sum(samples) - true_secs
    expect(-5 * TICK_SECS <= error <= allowance(samples), f"{error:+.4f} s of {true_secs:.4f}")
    check_plausible(samples)


for kind_ in ("plain", "reapers"):
    for seed_, interval_ in ((8, 0.01), (2, 0.02), (5, 0.1), (11, 0.3)):
        tap.add(f"families in which anything happens, {kind_}, {seed_}, every {interval_} s", check_chaos, kind_, seed_,
                interval_)


@test
def without_subreaper_what_is_reaped_is_still_exact():
    with Job("make 10 50 4".split(), 0.1, "--no-subreaper") as job:
        samples, true_secs = job.finish()
    check_sum(samples, true_secs)
    check_plausible(samples)


def check_unreadable(job):
    """Members whose I/O may not be read: the CPU time is exact, I/O is unknown meanwhile, and right in the end."""
    samples, true_secs = job.finish()
    check_sum(samples, true_secs)
    check_plausible(samples, hidden=IO_KEYS)
    writes = [sample["cpu"]["process_disk_write_bytes"] for sample in samples]
    expect(None in writes, f"I/O is reported while it cannot be known: {writes}")
    expect(writes[-1] is not None, f"I/O is unknown to the end: {writes}")
    got, kernel = sum(value or 0 for value in writes), reported(job.place)[1]
    tap.diag(f"{got} bytes written, the kernel has {kernel}; stderr {job.stderr()!r}")
    expect(kernel >= 8 * MIB and abs(got - kernel) <= MIB // 16, f"{got} bytes written, the kernel has {kernel}")
    check_complaints(job.stderr(), most=2)  # two members are unreadable, one after the other


def check_ordinary_user(words, interval):
    """The kernel closes the I/O of a process to its own user once it has ended. That is nothing to complain about, and
    nothing to be unsure of: the process that reaps it has the same numbers."""
    with directory() as place:
        rights, binary = as_nobody(place)
        with Job(words.split(), interval, whole=True, before=rights, place=place, binary=binary) as job:
            samples, true_secs = job.finish()
            check_sum(samples, true_secs)
            equal(cgroup_messages(job.stderr()), "", "stderr")
        check_plausible(samples)


for name_, words_, interval_ in (("a storm of children", "loop 1000 1 4", 0.01),
                                 ("children that are reaped late", "waves 3 4 50 500", 0.3),
                                 ("daemons", "daemons 3 100 ended", 0.02)):
    tap.add(f"{name_}, of an ordinary user", check_ordinary_user, words_, interval_)


@test
def members_that_are_closed_to_their_own_user():
    with directory() as place:
        need_counted_writes(place)
        words, binary = as_nobody(place)
        work = "child private burn 300 , child private write data 8 250 , burn 100".split()
        with Job(work, 0.1, whole=True, before=words, place=place, binary=binary) as job:
            check_unreadable(job)


@test
def members_of_another_user():
    with directory() as place:
        need_counted_writes(place)
        words, binary = as_nobody(place)
        other = pathlib.Path(shutil.copy(WORKLOAD, place / "other"))
        os.chown(other, NEIGHBOUR, NOBODY)
        other.chmod(0o4755)
        if os.statvfs(place).f_flag & os.ST_NOSUID:
            raise Skip("set-user-ID programs are not permitted in the directory")
        data = place / "data"
        data.touch()
        data.chmod(0o666)
        place.chmod(0o711)
        become = f"child exec {other} become"
        work = f"{become} burn 300 , {become} write {data} 8 250 , burn 100".split()
        with Job(work, 0.1, whole=True, before=words, place=place, binary=binary) as job:
            check_unreadable(job)


if __name__ == "__main__":
    tap.main()
