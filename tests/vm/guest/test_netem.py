#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming over a network that delays, loses and swallows packets (netem of the kernel, on the loopback of a guest).

Every row arrives exactly once or waits in the spool, and the job notices nothing.
"""

import contextlib
import gzip
import pathlib
import subprocess
import sys

import tap
from stream_scenario import Scenario, csv_rows, wait_done
from tap import diag, equal, expect
from tracker import wait_file_lines, wait_until

SECS = 120
GRACE_SECS = 30
JOB_SECS = 4
# When it was started and when it was done, reported by the job itself.
JOB = ("sh", "-c", f"cut -d' ' -f1 /proc/uptime > times; sleep {JOB_SECS}; cut -d' ' -f1 /proc/uptime >> times; exit 9")
# Of a guest with two slow CPUs.
START_SECS = 2


def netem(*words):
    """Shapes everything on loopback; without words it is as it was."""
    subprocess.run(["tc", "qdisc", "del", "dev", "lo", "root"], capture_output=True, timeout=SECS, check=False)
    if words:
        subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "netem", *words], timeout=SECS, check=True)


@contextlib.contextmanager
def network(*words):
    netem(*words)
    try:
        yield
    finally:
        netem()


def tracked(scenario, meanwhile=None, **env):
    """The job with a sample every 0.1 s and an upload every second; it may not notice the network."""
    with scenario.start(*scenario.local(), "-i", "0.1", "--", *JOB, env=env) as tracker:
        if meanwhile:
            meanwhile()
        done = wait_done(tracker, SECS)
        began = tracker.started
    started, ended = map(float, (scenario.directory / "times").read_text(encoding="ascii").split())
    diag(f"the job was started after {started - began:.2f} s and took {ended - started:.2f} s; "
         f"the tracker ended after {done.secs:.2f} s; {len(rows_of(scenario))} rows; {done.stderr.strip()!r}")
    equal(done.status, 9, f"exit status (stderr {done.stderr!r})")
    expect(started - began < START_SECS, f"the job was started after {started - began} s")
    expect(ended - started < JOB_SECS + 1, f"the job took {ended - started} s")
    return done


def rows_of(scenario):
    return csv_rows(scenario.csv.read_bytes())


def arrived(scenario):
    """The rows that the server has, by objects or inline, in their order."""
    run = scenario.last_run() if scenario.api.runs else None
    if run and run["finish"] is not None:
        return csv_rows(scenario.api.run_csv(run).encode())
    return [row for data in scenario.objects().values() for row in csv_rows(gzip.decompress(data))]


def check_accounted(scenario):
    """Each row has arrived once, or waits once; a batch whose receipt got lost may do both, under the same name."""
    scenario.check_strict()
    there = arrived(scenario)
    equal(len(there), len(set(there)), "rows that arrived, and different ones among them")
    spooled = [row for path in scenario.spooled_batches() for row in csv_rows(gzip.decompress(path.read_bytes()))]
    equal(len(spooled), len(set(spooled)), "rows in the spool, and different ones among them")
    missing = [row for row in rows_of(scenario) if row not in {*there, *spooled}]
    equal(missing, [], "rows that are neither uploaded nor spooled")
    equal([row for row in there if row not in rows_of(scenario)], [], "rows that were not measured")
    diag(f"{len(there)} rows arrived, {len(spooled)} wait")


def deliver_later(scenario):
    """What waits is delivered once the network is back, and then everything has arrived, byte for byte."""
    if scenario.spool_files():
        done = scenario.upload_spool(secs=SECS)
        equal(done.status, 0, f"exit status of --upload-spool (stderr {done.stderr!r})")
    equal(arrived(scenario), rows_of(scenario), "the rows that arrived")
    equal(scenario.spool_files(), [], "files in the spool")


def through(*words):
    with Scenario() as scenario:
        with network(*words):
            tracked(scenario, TRACKER_GRACE=GRACE_SECS)
        check_accounted(scenario)
        deliver_later(scenario)


for words_ in (("delay", "200ms"), ("delay", "200ms", "50ms", "loss", "20%"), ("loss", "10%", "duplicate", "10%"),
               ("rate", "256kbit", "delay", "50ms", "reorder", "25%", "50%")):
    tap.add(f"nothing is lost and the job is not delayed with {' '.join(words_)}".replace("%", " percent"), through,
            *words_, limit=SECS)


@tap.test(limit=SECS)
def a_network_that_swallows_everything_from_the_start():
    with Scenario() as scenario:
        with network("loss", "100%"):
            done = tracked(scenario, TRACKER_GRACE=1)
            expect(done.secs < START_SECS + JOB_SECS + 3, f"the tracker ended after {done.secs} s")
            expect("resource-tracker --upload-spool" in done.stderr, "no word of the spool in", done.stderr)
        check_accounted(scenario)
        deliver_later(scenario)


@tap.test(limit=SECS)
def a_network_that_goes_away_in_the_middle():
    with Scenario() as scenario:

        def cut():
            wait_until(scenario.objects, "the first upload", SECS)
            netem("loss", "100%")

        with network("delay", "20ms"):
            tracked(scenario, meanwhile=cut, TRACKER_GRACE=1)
        expect(arrived(scenario) and scenario.spooled_batches(), "not both: some arrived, and some wait")
        check_accounted(scenario)
        deliver_later(scenario)


@tap.test(limit=SECS)
def a_network_that_comes_back_before_the_end():
    with Scenario() as scenario:

        def mend():
            wait_file_lines(scenario.csv, 10, SECS)
            netem()

        with network("loss", "100%"):
            tracked(scenario, meanwhile=mend, TRACKER_GRACE=GRACE_SECS)
        scenario.check_delivered(scenario.last_run())


if __name__ == "__main__":
    if not pathlib.Path("/cgroups").exists():
        print("1..0 # SKIP only for a guest of tests/vm")
        sys.exit(0)
    tap.main()
