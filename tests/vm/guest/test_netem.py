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
from stream_world import World, csv_rows, wait_done
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


def tracked(world, meanwhile=None, **env):
    """The job with a sample every 0.1 s and an upload every second; it may not notice the network."""
    with world.start(*world.local(), "-i", "0.1", "--", *JOB, env=env) as tracker:
        if meanwhile:
            meanwhile()
        done = wait_done(tracker, SECS)
        began = tracker.started
    started, ended = map(float, (world.folder / "times").read_text(encoding="ascii").split())
    diag(f"the job was started after {started - began:.2f} s and took {ended - started:.2f} s; "
         f"the tracker ended after {done.secs:.2f} s; {len(rows_of(world))} rows; {done.stderr.strip()!r}")
    equal(done.status, 9, f"exit status (stderr {done.stderr!r})")
    expect(started - began < START_SECS, f"the job was started after {started - began} s")
    expect(ended - started < JOB_SECS + 1, f"the job took {ended - started} s")
    return done


def rows_of(world):
    return csv_rows(world.csv.read_bytes())


def arrived(world):
    """The rows that the server has, by objects or inline, in their order."""
    run = world.last_run() if world.api.runs else None
    if run and run["finish"] is not None:
        return csv_rows(world.api.run_csv(run).encode())
    return [row for data in world.objects().values() for row in csv_rows(gzip.decompress(data))]


def check_accounted(world):
    """Each row has arrived once, or waits once; a batch whose receipt got lost may do both, under the same name."""
    world.check_strict()
    there = arrived(world)
    equal(len(there), len(set(there)), "rows that arrived, and different ones among them")
    spooled = [row for path in world.spooled_batches() for row in csv_rows(gzip.decompress(path.read_bytes()))]
    equal(len(spooled), len(set(spooled)), "rows in the spool, and different ones among them")
    missing = [row for row in rows_of(world) if row not in {*there, *spooled}]
    equal(missing, [], "rows that are neither uploaded nor spooled")
    equal([row for row in there if row not in rows_of(world)], [], "rows that nobody has measured")
    diag(f"{len(there)} rows arrived, {len(spooled)} wait")


def deliver_later(world):
    """What waits is delivered once the network is back, and then everything has arrived, byte for byte."""
    if world.spool_files():
        done = world.upload_spool(secs=SECS)
        equal(done.status, 0, f"exit status of --upload-spool (stderr {done.stderr!r})")
    equal(arrived(world), rows_of(world), "the rows that arrived")
    equal(world.spool_files(), [], "files in the spool")


def through(*words):
    with World() as world:
        with network(*words):
            tracked(world, TRACKER_GRACE=GRACE_SECS)
        check_accounted(world)
        deliver_later(world)


for words_ in (("delay", "200ms"), ("delay", "200ms", "50ms", "loss", "20%"), ("loss", "10%", "duplicate", "10%"),
               ("rate", "256kbit", "delay", "50ms", "reorder", "25%", "50%")):
    tap.add(f"nothing is lost and the job is not delayed with {' '.join(words_)}".replace("%", " percent"), through,
            *words_, limit=SECS)


@tap.test(limit=SECS)
def a_network_that_swallows_everything_from_the_start():
    with World() as world:
        with network("loss", "100%"):
            done = tracked(world, TRACKER_GRACE=1)
            expect(done.secs < START_SECS + JOB_SECS + 3, f"the tracker ended after {done.secs} s")
            expect("resource-tracker --upload-spool" in done.stderr, "no word of the spool in", done.stderr)
        check_accounted(world)
        deliver_later(world)


@tap.test(limit=SECS)
def a_network_that_goes_away_in_the_middle():
    with World() as world:

        def cut():
            wait_until(world.objects, "the first upload", SECS)
            netem("loss", "100%")

        with network("delay", "20ms"):
            tracked(world, meanwhile=cut, TRACKER_GRACE=1)
        expect(arrived(world) and world.spooled_batches(), "not both: some arrived, and some wait")
        check_accounted(world)
        deliver_later(world)


@tap.test(limit=SECS)
def a_network_that_comes_back_before_the_end():
    with World() as world:

        def mend():
            wait_file_lines(world.csv, 10, SECS)
            netem()

        with network("loss", "100%"):
            tracked(world, meanwhile=mend, TRACKER_GRACE=GRACE_SECS)
        world.check_delivered(world.last_run())


if __name__ == "__main__":
    if not pathlib.Path("/cgroups").exists():
        print("1..0 # SKIP only for a guest of tests/vm")
        sys.exit(0)
    tap.main()
