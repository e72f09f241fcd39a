#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The members of a command's tree: how many they are, what they hold in memory, what they write, whose PID is whose."""

import json
import os
import shutil
import subprocess
import sys

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import BINARY, SLOW, clean_env, directory, parse, wait_file_lines
from truth import (IO_KEYS, MIB, WORKLOAD, Job, as_nobody, check_complaints, check_plausible, check_sum, cpu_sum,
                   interval_secs, need_counted_writes, need_unshare, read, reported)

PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / MIB
BIG_TREE = 3000
# What a tick over the big tree may cost, several times what it does on a quiet machine.
BIG_TREE_CPU_SECS = 0.15
# PID 1 of a namespace. `member`: once a child of the tracked command has ended, a non-member gets its PID. `target`:
# the same with a process that is tracked by PID. Ends with the status of the tracker, or with 98 where the PID was
# missed.
NON_MEMBER = """
import os, signal, subprocess, sys, time
kind, tracker, workload, *options = sys.argv[1:]
env = {name: value for name, value in os.environ.items() if name != "WORKLOAD_TRUTH"}
def wait_for(condition):
    for _ in range(2000):
        if condition():
            return
        time.sleep(0.005)
    sys.exit(97)
def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]
if kind == "member":
    run = subprocess.Popen([tracker, *options, "--", workload, "child", "burn", "300", ",", "sleep", "900"])
    wait_for(lambda: children(run.pid) and children(children(run.pid)[0]))
    old = children(children(run.pid)[0])[0]
    wait_for(lambda: not os.path.exists(f"/proc/{old}"))
else:
    target = subprocess.Popen([workload, "burn", "600"], env=env)
    old = target.pid
    run = subprocess.Popen([tracker, *options, "--pid", str(old)])
    target.wait()
with open("/proc/sys/kernel/ns_last_pid", "w") as file:
    file.write(str(old - 1))
other_process = subprocess.Popen([workload, "burn", "500"], env=env)
if other_process.pid != old:
    run.kill()
    sys.exit(98)
other_process.wait()
if kind == "target" and "--stop-with-pid" not in options:
    run.send_signal(signal.SIGTERM)
sys.exit(run.wait())
"""


def wait_more(job, count):
    """The samples once that many more have come."""
    wait_file_lines(job.place / "out", len(job.samples()) + count, secs=15)
    return job.samples()


def need_prlimit(files):
    prlimit = shutil.which("prlimit")
    if not prlimit:
        raise Skip("prlimit is not installed")
    return [prlimit, f"--nofile={files}:{files}"]


def check_idle_tree(count, threads):
    with Job(["idle", str(count), str(threads)], 0.1, stdin=subprocess.PIPE) as job:
        equal(job.stdout.next(), b"ready", "the workload's line")
        for sample in wait_more(job, 4)[-3:]:
            equal(sample["cpu"]["process_child_count"], count, "descendants")
            equal(sample["cpu"]["process_thread_count"], 1 + count + threads, "threads")
        job.release()
        samples, true_secs = job.finish()
        equal(job.stderr(), "", "stderr")
        if job.group:  # else nothing reports those that were killed
            # They end after the command; what that takes is not in the final sample.
            check_sum(samples, true_secs, count * 5e-4)
    check_plausible(samples)


for count_, threads_ in ((0, 0), (10, 0), (10, 5), (300, 2)):
    tap.add(f"an idle tree of {count_} descendants and {threads_} more threads", check_idle_tree, count_, threads_)


@test
def children_of_every_thread_are_seen():
    with Job("threads 4 200".split(), 0.05) as job:
        samples, true_secs = job.finish()
        equal(job.stderr(), "", "stderr")
    check_sum(samples, true_secs)
    check_plausible(samples)
    equal(max(sample["cpu"]["process_child_count"] for sample in samples), 4, "most descendants")
    # Five of the first process, and one of each child.
    equal(max(sample["cpu"]["process_thread_count"] for sample in samples), 9, "most threads")


def check_big_tree(*before):
    with Job(["idle", str(BIG_TREE), "0"], 1, before=before, stdin=subprocess.PIPE) as job:
        equal(job.stdout.next(20), b"ready", "the workload's line")
        samples = wait_more(job, 4)
        costs = [sample["tracker"]["cpu_secs"] for sample in samples[-3:]]
        tap.diag(f"{costs} s per sample, {samples[-1]['tracker']['rss_mib']} MiB, {len(job.links())} descriptors")
        for sample in samples[-3:]:
            equal(sample["cpu"]["process_child_count"], BIG_TREE, "descendants")
            equal(sample["cpu"]["process_thread_count"], BIG_TREE + 1, "threads")
            expect(sample["cpu"]["process_rss_mib"] > BIG_TREE * 0.05, sample["cpu"]["process_rss_mib"])
            equal(sample["tracker"]["missed_samples"], 0, "missed samples")
        if not SLOW:
            expect(sorted(costs)[1] <= BIG_TREE_CPU_SECS, f"{costs} s of CPU time per sample")
        job.release()
        samples, _ = job.finish()
        check_complaints(job.stderr())
    check_plausible(samples)


@test(limit=40)
def a_tree_of_3000():
    check_big_tree()


@test(limit=40)
def a_tree_of_3000_with_256_descriptors():
    check_big_tree(*need_prlimit(256))


@test
def a_fork_storm_does_not_stop_the_samples():
    with Job("loop 800 1 4".split(), 0.01) as job:
        samples, true_secs = job.finish()
        equal(job.stderr(), "", "stderr")
    check_sum(samples, true_secs)
    missed = sum(sample["tracker"]["missed_samples"] for sample in samples)
    places = int(samples[-1]["elapsed_secs"] / 0.01)
    tap.diag(f"{len(samples)} samples and {missed} missed in {samples[-1]['elapsed_secs']} s")
    expect(abs(len(samples) + missed - places) <= 2, f"{len(samples)} samples, {missed} missed, {places} places")
    expect(missed <= places / 4, f"{missed} of {places} missed")


def check_written(words, mib):
    """What was written is in the sum once, whichever process wrote it, however often it was handed up to a parent."""
    with directory() as place:
        need_counted_writes(place)
        with Job(words.split(), 0.1, place=place) as job:
            samples, true_secs = job.finish()
    check_sum(samples, true_secs)
    writes = [sample["cpu"]["process_disk_write_bytes"] for sample in samples]
    tap.diag(f"{writes}")
    expect(None not in writes, "I/O is unknown:", writes)
    got = sum(writes)
    expect(mib * MIB <= got <= mib * MIB + MIB // 4, f"{got / MIB:.3f} MiB for {mib} MiB written:", writes)


for name_, words_ in (
        ("by the command", "write data 32 250"),
        ("by a child that is reaped", "child write data 32 250 , sleep 250"),
        ("by a child that is reaped at once", "child write data 32 0 , sleep 250"),
        ("by a child just before the end", "child write data 32 0"),
        ("by a grandchild", "child child child write data 32 250 , sleep 250"),
        ("by an orphan", "leave write data 32 250 , sleep 900"),
        ("by two generations", "child write data 16 150 , write data 16 150")):
    tap.add(f"32 MiB written {name_} count once", check_written, words_, 32)


def check_held(job, mib):
    """Resident memory is what the kernel says of the one process, in every sample from now on."""
    equal(job.stdout.next(), b"ready", "the workload's line")
    samples = wait_more(job, 8)[-7:]
    pages = int(read(f"/proc/{samples[-1]['tracked_pid']}/statm").split()[1])
    for sample in samples:
        rss = sample["cpu"]["process_rss_mib"]
        expect(abs(rss - pages * PAGE_MIB) <= 1, f"{rss} MiB, the kernel has {pages} pages")  # whole MiB
        expect(mib <= sample["cpu"]["process_peak_rss_mib"] <= mib + 8, sample["cpu"]["process_peak_rss_mib"])
    job.release()
    return job.finish()[0]


@test
def resident_memory_is_right_in_every_sample():
    with Job(["hold", "64", "0"], 0.1, stdin=subprocess.PIPE) as job:
        check_plausible(check_held(job, 64))


def shared_memory(pss, count):
    """The last of some samples of 200 MiB that a process shares with 4 children."""
    with directory() as place:
        (place / "resource-tracker.toml").write_text(f'[collect]\npss = "{pss}"\n', encoding="utf-8")
        with Job(["hold", "200", "4"], 0.2, place=place, stdin=subprocess.PIPE) as job:
            equal(job.stdout.next(), b"ready", "the workload's line")
            samples = wait_more(job, count)
            job.release()
            finished, _ = job.finish()
            equal(job.stderr(), "", "stderr")
    check_plausible(finished)
    tap.diag(f"{[sample['cpu']['process_pss_mib'] for sample in samples]}")
    rss = samples[-1]["cpu"]["process_rss_mib"]
    expect(980 <= rss <= 1100, f"{rss} MiB resident in 5 processes")
    return samples


@test
def proportional_memory_counts_shared_pages_once():
    samples = shared_memory("always", 10)
    pss = samples[-1]["cpu"]["process_pss_mib"]
    expect(pss is not None and 195 <= pss <= 225, f"{pss} MiB proportional")


@test
def proportional_memory_within_the_budget():
    samples = shared_memory("auto", 25)
    known = [sample["cpu"]["process_pss_mib"] for sample in samples if sample["cpu"]["process_pss_mib"] is not None]
    expect(known and 190 <= known[-1] <= 240, f"{known} MiB proportional")


@test
def memory_that_copies_write_to_is_their_own():
    # Of the first samples in which all is written: the copies are too young to be read in the ordinary way.
    with Job(["rewrite", "100", "4"], 0.2, stdin=subprocess.PIPE) as job:
        equal(job.stdout.next(), b"ready", "the workload's line")
        samples = wait_more(job, 3)
        job.release()
        job.finish()
    values = [sample["cpu"]["process_pss_mib"] for sample in samples]
    tap.diag(f"{values}")
    # On a busy machine a copy may have been read while it wrote, and is read again a second later.
    expect(all(value is None or 450 <= value <= 540 for value in values[-2:]), f"{values} MiB of 5 times 100")
    expect(any(value is not None for value in values), "nothing was known")


FAMILY = """
import os, subprocess, sys, time
memory = bytearray(b"x") * (60 << 20)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(float(sys.argv[1]))
        os._exit(0)
other = "import sys, time; memory = bytearray(b'x') * (50 << 20); time.sleep(float(sys.argv[1]))"
subprocess.run([sys.executable, "-c", other, sys.argv[1]])
"""


@test
def another_program_beside_forked_workers_counts_whole():
    with directory() as place:
        words = [BINARY, "-i", "0.25", "-o", "out", "--summary-json", "summary", "--"]
        subprocess.run([*words, sys.executable, "-c", FAMILY, "2"], cwd=place, env=clean_env(), check=True, timeout=60)
        samples = [parse(line) for line in (place / "out").read_bytes().splitlines()]
        summary = json.loads((place / "summary").read_bytes())
    values = known(samples, "process_pss_mib")
    tap.diag(f"{values}, RSS {known(samples, 'process_rss_mib')}")
    expect(max(known(samples, "process_rss_mib")) >= 290, "the workers do not share")
    # Twice an interpreter comes to it.
    expect(112 <= max(values) <= 145, f"PSS {max(values)} MiB of 60 and 50")
    expect(112 <= summary["memory"]["need_mib"] <= 145, f"{summary['memory']['need_mib']} MiB are said to be needed")


SMALL = """
import os, time
for _ in range(40):
    if os.fork() == 0:
        memory = bytearray(b"x") * (2 << 20)
        time.sleep(1.5)
        os._exit(0)
time.sleep(1.5)
"""

DAEMONS = """
import os, time
memory = bytearray(b"x") * (60 << 20)
for _ in range(3):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(2)
        os._exit(0)
    os.wait()
time.sleep(2)
"""


def check_need(script, least, most):
    with directory() as place:
        subprocess.run([BINARY, "-q", "-i", "0.25", "--summary-json", "summary", "--", sys.executable, "-c", script],
                       cwd=place, env=clean_env(), check=True, timeout=60)
        need = json.loads((place / "summary").read_bytes())["memory"]["need_mib"]
    expect(least <= need <= most, f"{need} MiB are said to be needed, not {least} to {most}")


tap.add("little memory of many forked workers counts", check_need, SMALL, 85, 160)
tap.add("memory of a parent and its daemons counts once", check_need, DAEMONS, 60, 90)


@test
def proportional_memory_is_never_read_where_it_is_not_wanted():
    samples = shared_memory("never", 8)
    equal({sample["cpu"]["process_pss_mib"] for sample in samples}, {None}, "proportional memory")


def known(samples, key):
    return [sample["cpu"][key] for sample in samples if sample["cpu"][key] is not None]


def summary_of(job):
    return json.loads((job.place / "summary").read_bytes())


def check_memory_once(words, mib, interval, share=1.0):
    """However often its memory is seen a second time, the tree has it once, and so the summary says. share: of the
    samples; a forked copy that a busy machine keeps from executing anything for long does have the pages of its parent,
    as RSS counts them."""
    with Job(words.split(), interval, "--summary-json", "summary") as job:
        samples, _ = job.finish()
        summary = summary_of(job)
    for key, of_samples in (("process_rss_mib", share), ("process_pss_mib", 1.0)):
        values = sorted(known(samples, key))
        tap.diag(f"{key}: {values}")
        most = values[max(0, int(len(values) * of_samples) - 1)]
        expect(most <= mib * 1.02 + 3, f"{key}: {most} MiB of {mib}")
    need = summary["memory"]["need_mib"]
    expect(mib <= need <= mib * 1.02 + 3, f"{need} MiB are said to be needed of {mib}")


for name_, words_, interval_ in (("wait before they execute anything", "vforks 200 900 3", 0.2),
                                 ("execute something at once", "vforks 200 0 800", 0.05)):
    tap.add(f"memory of a parent counts once while children {name_}", check_memory_once, words_, 200, interval_)
tap.add("memory of a parent that forks all the time counts once", check_memory_once, "forks 200 4000", 200, 0.1, 0.9)


@test
def without_comparisons_memory_counts_once_too():
    # A child that may not be compared: neither may its memory be read.
    with directory() as place:
        words, binary = as_nobody(place)
        with Job("private vforks 100 1500 2".split(), 0.2, whole=True, before=words, place=place, binary=binary) as job:
            samples, _ = job.finish()
    tap.diag(f"{known(samples, 'process_rss_mib')}")
    expect(max(known(samples, "process_rss_mib")) <= 108, "counted twice")
    equal(max(known(samples, "process_child_count")), 1, "most descendants")


def check_crowd(which):
    """Children of a process with many threads are there in the next sample, whichever thread has made them."""
    with Job(["crowd", "1000", "100", "1500", which], 0.5, "--summary-json", "summary") as job:
        samples, true_secs = job.finish()
        cores = summary_of(job)["cpu"]["cores_peak"]
    check_sum(samples, true_secs, 0.1, 0 if job.group else 0.1)  # a thousand threads end
    busy = [sample for sample in samples if sample["cpu"]["process_child_count"] == 1]
    tap.diag(f"{[(sample['elapsed_secs'], sample['cpu']['process_rss_mib']) for sample in busy]}")
    expect(len(busy) >= 2 and busy[0]["elapsed_secs"] <= samples[-1]["elapsed_secs"] - 1, "the child was found late")
    expect(100 <= max(known(busy, "process_rss_mib")) <= 125, "the memory of the child is missing")
    expect(cores <= os.cpu_count(), f"{cores} cores at the peak")


for which_ in ("first", "last"):
    tap.add(f"a child of the {which_} of 1000 threads is seen at once", check_crowd, which_)


@test
def memory_of_a_process_whose_first_thread_has_ended():
    with Job("headless 100 700".split(), 0.2) as job:
        samples, _ = job.finish()
    rss, pss = known(samples[1:-2], "process_rss_mib"), known(samples[1:-2], "process_pss_mib")
    tap.diag(f"{rss}, {pss}")
    # It forks a child that works for a while, with the same memory.
    expect(rss and all(100 <= value <= 208 for value in rss[1:]), f"{rss} MiB resident")
    expect(pss and all(97 <= value <= 108 for value in pss[1:]), f"{pss} MiB proportional")


@test
def births_that_are_not_counted():
    # As in gVisor, where /proc/stat and /proc/loadavg say 0 for good.
    script = ("sed 's/^processes .*/processes 0/' /proc/stat > stat; echo 0.00 0.00 0.00 0/0 0 > load; "
              'mount --bind stat /proc/stat && mount --bind load /proc/loadavg && exec "$@"')
    with directory() as place:
        around = [*need_unshare("--mount-proc"), "sh", "-c", script, "sh"]
        work = "sleep 300 , child child burn 500".split()
        done = wait_namespace(around, BINARY, "-i", "0.1", "-o", place / "out", "--", WORKLOAD, *work, cwd=place)
        equal(done.returncode, 0, f"exit status (stderr {done.stderr!r})")
        samples = samples_of(place)
    equal(max(known(samples, "process_child_count")), 2, "most descendants")
    expect(max(known(samples[:-1], "process_cores_used")) > 0.1, "nothing was seen of the work")


@test
def a_pid_namespace_makes_cpu_time_a_lower_bound():
    words = need_unshare()
    script = ["sh", "-c", '"$0" burn 2000 & sleep 1', WORKLOAD]
    for command, is_lower in (([*words, *script], True), (script, False)):
        with Job(["exec", *command], 0.1) as job:
            job.wait()
            samples = job.samples()
        equal(samples[-1]["end"]["cpu_is_lower_bound"], is_lower, f"a lower bound after {command}")


@test
def orphans_without_a_subreaper_make_cpu_time_a_lower_bound():
    script = ["sh", "-c", '("$0" burn 2000 & sleep 0.7); sleep 1', WORKLOAD]
    for options, is_lower in ((["--no-subreaper"], True), ([], False)):
        with Job(["exec", *script], 0.1, *options) as job:
            job.wait()
            samples = job.samples()
        equal(samples[-1]["end"]["cpu_is_lower_bound"], is_lower, f"a lower bound with {options}")


def check_spike(words):
    with Job(words.split(), 1) as job:
        samples, _ = job.finish()
    peak = samples[-1]["cpu"]["process_peak_rss_mib"]
    expect(300 <= peak <= 316, f"{peak} MiB, the spike had 300")
    check_plausible(samples)


for name_, words_ in (("of the command", "spike 300 30 , sleep 200"), ("of a child", "child spike 300 30 , sleep 200"),
                      ("before the first sample", "spike 300 30 , sleep 1100")):
    tap.add(f"a peak {name_} between two samples is known in the end", check_spike, words_)


def wait_namespace(words, *command, env=None, cwd=None):
    """Runs something in namespaces of its own to its end."""
    return subprocess.run([*words, *command], env=clean_env(**(env or {})), capture_output=True, text=True, timeout=15,
                          stdin=subprocess.DEVNULL, cwd=cwd, check=False)


def samples_of(place):
    return [parse(line) for line in (place / "out").read_bytes().splitlines()]


def few_files(is_limited):
    """The words that leave no descriptors over: files of processes are then opened by PID every time."""
    return need_prlimit(72) if is_limited else []


def check_reused(is_limited):
    with directory() as place:
        done = wait_namespace(need_unshare("--mount-proc"), *few_files(is_limited), BINARY, "-i", "0.1", "-o",
                              place / "out", "--", WORKLOAD, "reuse", "300", "120",
                              env={"WORKLOAD_TRUTH": str(place / "reported")})
        if done.returncode == 99:
            raise Skip(f"a PID cannot be used again at will: {done.stderr.strip()}")
        equal((done.returncode, done.stderr), (0, ""), "exit status and stderr")
        samples, true_secs = samples_of(place), reported(place)[0]
    tap.diag(f"{cpu_sum(samples):.4f} s, the kernel has {true_secs:.4f}")
    check_sum(samples, true_secs)
    check_plausible(samples)


def run_non_member(kind, is_limited, place, *options):
    done = wait_namespace(need_unshare("--mount-proc"), *few_files(is_limited), sys.executable, "-c", NON_MEMBER, kind,
                          BINARY, WORKLOAD, "-i", "0.1", "-o", place / "out", *options,
                          env={"WORKLOAD_TRUTH": str(place / "reported")})
    if done.returncode == 98 or "ns_last_pid" in done.stderr:
        raise Skip(f"a PID cannot be used again at will: {done.stderr.strip()}")
    equal((done.returncode, done.stderr), (0, ""), "exit status and stderr")
    samples = samples_of(place)
    check_plausible(samples)
    return samples


def check_non_member_as_member(is_limited):
    with directory() as place:
        samples = run_non_member("member", is_limited, place)
        check_sum(samples, reported(place)[0])
    equal(samples[-2]["cpu"]["process_child_count"], 0, "descendants, the non-member is none")


def check_non_member_as_target(is_limited):
    with directory() as place:
        samples = run_non_member("target", is_limited, place)
    expect(0.1 <= cpu_sum(samples) <= 0.62, f"{cpu_sum(samples)} s, at most 0.6 are of the tracked process")
    for sample in samples[-3:]:
        equal((cpu_sum([sample]), sample["cpu"]["process_cores_used"], sample["cpu"]["process_rss_mib"]), (0, 0, 0),
              "CPU time and memory of a process that has ended")


def check_non_member_stops(is_limited):
    with directory() as place:
        samples = run_non_member("target", is_limited, place, "--stop-with-pid")
    expect(0.1 <= cpu_sum(samples) <= 0.62, f"{cpu_sum(samples)} s, at most 0.6 are of the tracked process")


for name_, check_ in (("a pid that a member had before is another member", check_reused),
                      ("a non-member with the pid of a member that ended does not count", check_non_member_as_member),
                      ("a non-member with the pid of the tracked process does not count", check_non_member_as_target),
                      ("a non-member with the pid of the tracked process does not keep the run going",
                       check_non_member_stops)):
    tap.add(name_, check_, False)
    tap.add(f"{name_}, with few descriptors", check_, True)


@test
def where_processes_are_hidden():
    with directory() as place:
        words, binary = as_nobody(place)
        around = [*need_unshare("--mount-proc"), "sh", "-c", 'mount -o remount,hidepid=2 /proc && exec "$@"', "sh"]
        if "hidepid" not in wait_namespace(around, *words, "cat", "/proc/mounts").stdout:
            raise Skip("processes cannot be hidden here")
        work = "child burn 200 , child private burn 300 , make 4 50 2 , burn 100".split()
        done = wait_namespace(around, *words, binary, "-i", "0.1", "-o", place / "out", "--", WORKLOAD, *work, ",",
                              "exit", "5", env={"WORKLOAD_TRUTH": str(place / "reported")})
        equal(done.returncode, 5, f"exit status (stderr {done.stderr!r})")
        check_complaints(done.stderr)
        samples, true_secs = samples_of(place), reported(place)[0]
    tap.diag(f"{cpu_sum(samples):.4f} s, the kernel has {true_secs:.4f}; stderr {done.stderr!r}")
    check_sum(samples, true_secs)
    check_plausible(samples, hidden=(*IO_KEYS, "process_major_faults", "process_thread_count", "process_rss_mib"))
    equal(samples[-1]["cpu"]["process_thread_count"], 0, "threads in the final sample")
    expect(max(sample["cpu"]["process_child_count"] for sample in samples) >= 1, "no descendant was seen")


@test
def where_proc_is_of_another_pid_namespace():
    with directory() as place:
        done = wait_namespace(need_unshare(), BINARY, "-i", "0.1", "-o", place / "out", "--", WORKLOAD,
                              *"child burn 300 , make 6 50 3 , daemons 2 100 ended , burn 200 , exit 6".split(),
                              env={"WORKLOAD_TRUTH": str(place / "reported")})
        equal(done.returncode, 6, f"exit status (stderr {done.stderr!r})")
        check_complaints(done.stderr)
        samples, true_secs = samples_of(place), reported(place)[0]
    # Only the sum of user and system time is known of a process that cannot be seen, so those wait for the end.
    split = [sample for sample in samples if sample["cpu"]["process_utime_secs"] is not None]
    by_rates = sum(sample["cpu"]["process_cores_used"] * interval_secs(sample) for sample in samples[:-1])
    tap.diag(f"{cpu_sum(split):.4f} s, {by_rates:.4f} s by rates, the kernel has {true_secs:.4f}; {done.stderr!r}")
    check_sum(split, true_secs)
    expect(0.2 <= by_rates <= true_secs + 0.03, f"{by_rates:.4f} s by rates, the kernel has {true_secs:.4f}")


if __name__ == "__main__":
    tap.main()
