#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Nothing is lost and nothing comes twice: trackers that are killed at every stage, flaky servers, long outages, disks
that lose power.

With E2E_LONG=1 the runs are as long as they would be in earnest.
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import shutil
import signal
import statistics
import struct
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from net_faults import AFTER, BlackHole, Down, Flaky, LostAnswer, Reset, Retry429, Status
from spooled import (BUCKET_ENV, STATUS, Job, deliver_all, journal_rows, make_scenario, replan, run_directories,
                     state_of, unpack)
from stream_scenario import PATIENCE, Plan, csv_rows, wait_for
from tap import Skip, diag, equal, expect, test
from tracker import SLOW

IS_LONG = os.environ.get("E2E_LONG") == "1"
RSS_KIB_MAX = 8 * 1024
RSS_DRIFT_KIB_MAX = 512
CROWD_SIZE, CROWD_CRASHES = 16, 3
CROWD_ROWS = 3000 if SLOW else 8000
LONG_ROWS = 10_000
OUTAGES_SECS = 120 if IS_LONG else 10


def is_registered(scenario):
    return any(state_of(path).get("sentinel", {}).get("run_id") for path in run_directories(scenario))


def has_object_and_open_batch(scenario):
    return len(scenario.objects()) > 0 and journal_rows(scenario) > 0


def sees(step):
    return lambda scenario: scenario.plan.count(step) > 0


# name, faults until the kill, when to kill, is the command over, upload interval, runs that the API then knows
STAGES = (
    ("before the registration is answered", {"register": BlackHole()}, sees("register"), False, 1, 1),
    ("after a registration that it never heard of", {"register": BlackHole(when=AFTER)},
     lambda scenario: scenario.api.runs, False, 1, 2),
    ("once it is registered", {}, is_registered, False, 60, 1),
    ("while a batch is open and another one delivered", {}, has_object_and_open_batch, False, 1, 1),
    ("during an upload", {"upload": BlackHole()}, sees("upload"), False, 1, 1),
    ("after an upload that it never heard of", {"upload": BlackHole(when=AFTER)},
     lambda scenario: scenario.objects(), False, 1, 1),
    ("during the finish", {"finish": BlackHole()}, sees("finish"), True, 60, 1),
    ("after a finish that it never heard of", {"finish": BlackHole(when=AFTER)},
     lambda scenario: scenario.api.runs and scenario.the_run()["finish"], True, 60, 1),
    ("during the finish of a run with uploads", {"finish": BlackHole()}, sees("finish"), True, 1, 1),
)


def crash_at(scenario, moment, is_over, upload_secs):
    """A tracker that is killed at that moment; returns its job."""
    env = {"TRACKER_UPLOAD_INTERVAL": upload_secs, "TRACKER_GRACE": 60}
    with Job(scenario, "-i", "0.05", env=env) as job:
        job.wait_rows(3)
        if is_over:
            wait_for(lambda: upload_secs > 1 or scenario.objects(), "an upload")
            job.end_command()
        wait_for(lambda: moment(scenario), "the moment to kill")
        job.crash()
    return job


def killed(faults, moment, is_over, upload_secs, run_count):
    with make_scenario(Plan(**faults)) as scenario:
        start = time.time()
        job = crash_at(scenario, moment, is_over, upload_secs)
        scenario.plan.heal()
        done = scenario.upload_spool().ended(0)
        expect(": delivered\n" in done.stdout, "the report:", done.stdout)
        finish = job.check_arrived()
        scenario.check_strict()
        equal(len(scenario.api.runs), run_count, "registered runs")
        equal(finish["run_status"], "failed", "run_status")
        equal(finish.get("exit_code"), STATUS if is_over else None, "exit_code")
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start))
        expect(when <= finish["finished_at"] <= time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), finish)
        equal(scenario.spool_files(), [], "files in the spool")
        count = len(scenario.plan.seen)
        scenario.upload_spool().ended(0)
        equal(len(scenario.plan.seen), count, "requests of a second --upload-spool")


@test(limit=20 * PATIENCE)
def killed_at_any_moment_of_its_beginning():
    delays_ms = (0, 1, 2, 3, 4, 5, 6, 8, 11, 15, 20, 30, 45, 70, 110)
    with make_scenario() as scenario:
        for number, delay_ms in enumerate(delays_ms):
            with Job(scenario, "-i", "0.01", name=f"job-{number}") as job:
                time.sleep(delay_ms / 1000 * PATIENCE)
                job.kill()
        left = [path for path in run_directories(scenario) if state_of(path)]
        diag(f"{len(left)} of {len(delays_ms)} left something in the spool")
        deliver_all(scenario)
        scenario.check_strict()
        finishes = [run["finish"] for run in scenario.api.runs.values() if run["finish"] is not None]
        equal(len(finishes), len(left), "finished runs")
        expect(len(left) > 0, "nothing was left")
        for finish in finishes:
            equal([finish["run_status"], "exit_code" in finish], ["failed", False], "status, exit_code")


@test(limit=20 * PATIENCE)
def half_a_row_at_the_end_of_a_batch_is_cut_off():
    with make_scenario() as scenario:
        job = crash_at(scenario, is_registered, False, 60)
        path = next(path for path in scenario.spool_files() if path.suffix == ".csv")
        with open(path, "ab") as journal:
            journal.write(job.csv.read_bytes().splitlines()[-1][:40])
        scenario.upload_spool().ended(0)
        job.check_arrived()
        scenario.check_strict()


def lost_finish(*faults):
    """The finish has taken effect, but its answer is lost, and the next attempts fail in other ways."""
    with make_scenario(Plan(finish=[LostAnswer(), *faults])) as scenario, \
            Job(scenario, env={"TRACKER_GRACE": 30}) as job:
        job.done().ended(STATUS)
        job.check_arrived()
        scenario.check_strict()
        equal([len(scenario.api.runs), run_directories(scenario)], [1, []], "registrations, and what is in the spool")


@test(limit=20 * PATIENCE)
def an_upload_of_the_spool_that_is_killed_can_be_repeated():
    with make_scenario(Plan(register=BlackHole())) as scenario:
        job = crash_at(scenario, sees("register"), False, 1)
        for step in ("register", "finish"):
            replan(scenario, **{step: BlackHole()})
            with scenario.start("--upload-spool") as upload:
                wait_for(lambda: scenario.plan.count(step), step)
                upload.send(signal.SIGKILL)
                equal(upload.wait(), 128 + signal.SIGKILL, "exit status")
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        finish = job.check_arrived()
        equal([finish["run_status"], "exit_code" in finish], ["failed", False], "status, exit_code")
        scenario.check_strict()
        equal(len(scenario.api.runs), 1, "registered runs")


def crowd_rows(jobs):
    return sum(job.row_count() for job in jobs)


def wait_crowd(jobs, count):
    wait_for(lambda: crowd_rows(jobs) >= count, f"{count} rows", count / 50 + 60 * PATIENCE)


def check_crowd(scenario, jobs, crashed):
    """Every row of every job has arrived once and in its place."""
    deliver_all(scenario, attempts=20, env=BUCKET_ENV)
    scenario.check_strict()
    for job in jobs:
        ends = [job.check_arrived(), *([job.check_bucket()] if job.has_bucket else [])]
        for end in ends:
            equal(end.get("exit_code"), None if job in crashed else STATUS, f"exit_code of {job.name}")
    keys = [put[1] for put in scenario.s3.puts]
    diag(f"{crowd_rows(jobs)} rows, {len(set(keys))} objects in {len(keys)} uploads, {len(scenario.api.runs)} "
         f"registrations, {len(scenario.plan.picked)} faults")


@test(limit=120 * PATIENCE)
def thousands_of_rows_survive_flaky_servers_and_crashes():
    with make_scenario(Flaky(0.3, seed=2026)) as scenario:
        with contextlib.ExitStack() as stack:
            jobs = [stack.enter_context(Job(scenario, "-i", "0.01", name=f"job-{number}", has_bucket=number % 4 == 1,
                                            env={"TRACKER_GRACE": 1})) for number in range(CROWD_SIZE)]
            for number in range(CROWD_CRASHES):
                wait_crowd(jobs, CROWD_ROWS * (number + 1) // (CROWD_CRASHES + 1))
                jobs[number].crash()
            wait_crowd(jobs, CROWD_ROWS)
            for job in jobs[CROWD_CRASHES:]:
                job.end_command()
            for job in jobs[CROWD_CRASHES:]:
                job.done().ended(STATUS)
        check_crowd(scenario, jobs, jobs[:CROWD_CRASHES])


def rss_kib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    return 0


def check_memory(sizes):
    third = len(sizes) // 3
    first, last = statistics.median(sizes[:third]), statistics.median(sizes[-third:])
    diag(f"VmRSS {first} KiB in the first third, {last} in the last, {max(sizes)} at most ({len(sizes)} readings)")
    if not SLOW:
        expect(max(sizes) <= RSS_KIB_MAX, f"{max(sizes)} KiB of memory")
        expect(last <= first + RSS_DRIFT_KIB_MAX, f"memory grows from {first} to {last} KiB")


@test(limit=OUTAGES_SECS + 60 * PATIENCE)
def a_server_that_is_down_half_the_time_gets_every_row_once_and_in_order():
    down = Down(((0.8, 0.8), (0.3, 0.3)))
    with make_scenario() as scenario, Job(scenario, "-i", "0.01", env={"TRACKER_GRACE": 30}) as job:
        sizes, end = [], time.monotonic() + OUTAGES_SECS
        with down.closing(scenario.api, scenario.s3):
            job.wait_rows(50)
            while time.monotonic() < end or len(scenario.objects()) < 3:
                sizes.append(rss_kib(job.tracker.pid))
                time.sleep(0.05)
        job.done().ended(STATUS)
        finish = job.check_arrived()
        scenario.check_strict()
        equal([finish["exit_code"], finish["data_source"]], [STATUS, "s3"], "exit_code, data_source")
        equal(scenario.spool_files(), [], "files in the spool")
        diag(f"{job.row_count()} rows in {len(finish['data_uris'])} objects")
        check_memory(sizes)


@test(limit=600)
def ten_thousand_rows_of_one_run_survive_flaky_servers_and_crashes():
    if not IS_LONG:
        raise Skip("only with E2E_LONG=1")
    with make_scenario(Flaky(0.3, seed=1)) as scenario:
        jobs = []
        for number in range(CROWD_CRASHES + 1):
            with Job(scenario, "-i", "0.01", name=f"part-{number}", env={"TRACKER_GRACE": 5}) as job:
                jobs.append(job)
                wanted = LONG_ROWS if number == CROWD_CRASHES else 500
                wait_crowd([job], wanted)
                if number < CROWD_CRASHES:
                    job.crash()
                else:
                    job.done().ended(STATUS)
        check_crowd(scenario, jobs, jobs[:CROWD_CRASHES])


# Loss of power


class Disk:
    """A disk of its own in a file, with the spool on it, which can lose power: what was not synced is gone then."""

    BYTES = 512 * 1024 * 1024  # of holes
    NEW_MOUNTS = 0x20000
    SHUTDOWN, NO_LOG_FLUSH = 0x8004587d, struct.pack("I", 2)  # XFS_IOC_GOINGDOWN and EXT4_IOC_SHUTDOWN

    def __init__(self, scenario, kind):
        self.image, self.place = scenario.directory / "disk.image", scenario.directory / "disk"
        self.kind, self.is_mounted = kind, False
        scenario.spool = self.place / "spool"

    def _run(self, *words):
        ran = subprocess.run(words, capture_output=True, text=True, timeout=30 * PATIENCE, check=False)
        if ran.returncode != 0:
            raise OSError(f"{' '.join(words)}: {ran.stderr.strip()}")

    def __enter__(self):
        if os.geteuid() != 0:
            raise Skip("only root can mount a disk")
        # Of our own: a namespace that something else copies meanwhile would keep the disk mounted, and dead.
        if ctypes.CDLL(None).unshare(self.NEW_MOUNTS) != 0:
            raise Skip("a mount namespace is not permitted")
        if not shutil.which(f"mkfs.{self.kind}"):
            raise Skip(f"there is no mkfs.{self.kind} ({'xfsprogs' if self.kind == 'xfs' else 'e2fsprogs'})")
        with open(self.image, "wb") as image:
            image.truncate(self.BYTES)
        self.place.mkdir()
        try:
            self._run("mount", "--make-rprivate", "/")
            self._run(f"mkfs.{self.kind}", "-q", str(self.image))
            self.mount()
        except OSError as error:
            raise Skip(f"a disk of {self.kind} cannot be made here: {error}") from error
        return self

    def __exit__(self, *_what):
        if self.is_mounted:
            subprocess.run(("umount", "-l", str(self.place)), timeout=30 * PATIENCE, check=False)

    def mount(self):
        self._run("mount", "-t", self.kind, "-o", "loop", str(self.image), str(self.place))
        self.is_mounted = True

    def sync(self):
        """All that is in memory now is on the disk."""
        self._run("sync", "-f", str(self.place))

    def lose_power(self):
        """From now on nothing reaches it."""
        place = os.open(self.place, os.O_RDONLY)
        try:
            fcntl.ioctl(place, self.SHUTDOWN, self.NO_LOG_FLUSH)
        finally:
            os.close(place)

    def restart(self):
        """As after a reboot."""
        self._run("umount", str(self.place))
        self.is_mounted = False
        self.mount()


def power_is_lost_meanwhile(kind):
    """With an API that is down: sealed batches are there afterwards, and what is needed to deliver them."""
    with make_scenario() as scenario, Disk(scenario, kind) as disk:
        scenario.api.shut_door()
        with Job(scenario, "-i", "0.05") as job:
            # A batch can be seen before its name is on the disk; with the next one it is.
            wait_for(lambda: len(scenario.spooled_batches()) >= 3, "three batches in the spool")
            sealed = [row for path in scenario.spooled_batches()[:2] for row in unpack(path.read_bytes())]
            disk.lose_power()
            job.kill()
        disk.restart()
        scenario.api.open_door()
        scenario.upload_spool().ended(0)
        got = scenario.api.run_csv(job.finished()).encode().splitlines()[1:]
        equal(got[:len(sealed)], sealed, "the rows of the sealed batches")
        expect(got == csv_rows(job.csv.read_bytes())[:len(got)], "other rows have arrived")
        equal(job.finished()["finish"]["run_status"], "failed", "run_status")
        scenario.check_strict()


def power_is_lost_after_the_end(kind):
    """Some batches are delivered, then the server is gone: the rest and the outcome wait for a better time."""
    with make_scenario() as scenario, Disk(scenario, kind) as disk:
        with Job(scenario, "-i", "0.05", env={"TRACKER_GRACE": "0.5"}) as job:
            wait_for(scenario.objects, "an upload")
            disk.sync()
            scenario.api.shut_door()
            scenario.s3.shut_door()
            wait_for(scenario.spooled_batches, "a batch in the spool")
            job.done().ended(STATUS, "--upload-spool")
            disk.lose_power()
        disk.restart()
        scenario.api.open_door()
        scenario.s3.open_door()
        scenario.upload_spool().ended(0)
        finish = job.check_arrived()
        equal([finish["exit_code"], finish["data_source"]], [STATUS, "s3"], "exit_code, data_source")
        equal(len(scenario.api.runs), 1, "registered runs")
        scenario.check_strict()


for kind in ("xfs", "ext4"):
    tap.add(f"power is lost while a run goes on: {kind}", power_is_lost_meanwhile, kind, limit=60 * PATIENCE)
    tap.add(f"power is lost after the end of a run: {kind}", power_is_lost_after_the_end, kind, limit=60 * PATIENCE)
for name, *failure in (("and then the connection breaks", Reset()), ("and then the server is busy", Retry429(1)),
                       ("and then the server is ill", Status(503), Status(500)), ("twice", LostAnswer())):
    tap.add(f"a finish whose answer is lost {name} is done once", lost_finish, *failure, limit=20 * PATIENCE)
for stage in STAGES:
    tap.add(f"killed {stage[0]}", killed, *stage[1:], limit=20 * PATIENCE)

if __name__ == "__main__":
    tap.main()
