#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How it ends, what does not end it, and that samples keep to the grid of the interval."""

import os
import signal
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import equal, expect, test
from tracker import PATIENCE_SECS, SLOW, Tracker, grid_index, parse, wait_until

# Tests run on loaded machines: how far from its place on the grid a sample may be taken.
GRID_SECS = 0.15 if SLOW else 0.05


def final_sample_after(number, status):
    """Every place of the grid up to the end has its sample, and one more closes the run."""
    with Tracker("-i", "0.1") as tracker:
        lines = tracker.stdout.take(3)
        equal(tracker.stop(number), status, "exit status")
        samples = [parse(line) for line in lines + tracker.stdout.all()]
        equal(tracker.stdout.rest, b"", "what follows the last line")
        missed = sum(sample["tracker"]["missed_samples"] for sample in samples)
        places = int(samples[-1]["elapsed_secs"] / 0.1)
        equal(len(samples), places - missed + 1, f"samples until {samples[-1]['elapsed_secs']} s")
        equal(tracker.stderr(), "", "stderr")


def only_sample_after(number, status):
    """The first interval is far from over: the final sample is the only one."""
    with Tracker("-i", "60") as tracker:
        tracker.wait_ready()
        began = time.monotonic()
        equal(tracker.stop(number), status, "exit status")
        expect(time.monotonic() - began < PATIENCE_SECS, "ended late")
        samples = [parse(line) for line in tracker.stdout.all()]
        equal(len(samples), 1, "samples")
        expect("actual_interval_ms" not in samples[0], "actual_interval_ms in the first sample")
        expect(0 < samples[0]["elapsed_secs"] < 60, samples[0]["elapsed_secs"])
        equal(tracker.stderr(), "", "stderr")


for word, status_ in (("SIGINT", 0), ("SIGTERM", 0), ("SIGHUP", 128 + signal.SIGHUP)):
    tap.add(f"{word}: a final sample after those of the grid, exit status {status_}", final_sample_after,
            getattr(signal, word), status_)
    tap.add(f"{word}: one sample even when the interval is a minute, exit status {status_}", only_sample_after,
            getattr(signal, word), status_)


@test
def an_ignored_SIGHUP_is_ignored():
    with Tracker("-i", "0.1", signals=[(signal.SIGHUP, signal.SIG_IGN)]) as tracker:
        tracker.stdout.take(2)
        tracker.send(signal.SIGHUP)
        samples = [parse(line) for line in tracker.stdout.take(4)]
        expect(samples[-1]["elapsed_secs"] > 0.5, samples[-1]["elapsed_secs"])
        equal(tracker.stop(), 0, "exit status")
        equal(tracker.stderr(), "", "stderr")


@test
def works_below_nohup():
    with Tracker("-i", "0.1", before=["nohup"]) as tracker:
        tracker.stdout.take(2)
        tracker.send(signal.SIGHUP)
        tracker.stdout.take(3)
        equal(tracker.stop(signal.SIGINT), 0, "exit status")


@test
def signals_that_were_blocked_before_the_start_still_end_it():
    old = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    try:
        with Tracker("-i", "0.1") as tracker:
            tracker.stdout.take(2)
            equal(tracker.stop(), 0, "exit status")
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, old)


@test
def signals_of_others_do_not_end_it():
    with Tracker("-i", "0.1") as tracker:
        tracker.stdout.take(2)
        for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD, signal.SIGWINCH, signal.SIGCONT, signal.SIGURG):
            tracker.send(number)
            parse(tracker.stdout.next())
        equal(tracker.stop(), 0, "exit status")
        equal(tracker.stderr(), "", "stderr")


@test
def a_second_signal_does_not_disturb_the_end():
    with Tracker("-i", "0.1") as tracker:
        lines = tracker.stdout.take(2)
        tracker.send(signal.SIGTERM)
        tracker.send(signal.SIGINT)
        equal(tracker.wait(), 0, "exit status")
        for line in lines + tracker.stdout.all():
            parse(line)


@test
def a_group_signal_ends_a_pipeline_with_every_sample_written():
    with Tracker("-i", "0.1", start_new_session=True) as tracker:
        tracker.stdout.take(2)
        os.killpg(tracker.pid, signal.SIGINT)
        equal(tracker.wait(), 0, "exit status")
        expect(tracker.stdout.all(), "no final sample")


@test
def stopped_and_continued_it_counts_what_it_missed_and_keeps_the_grid():
    with Tracker("-i", "0.1") as tracker:
        before = parse(tracker.stdout.take(3)[-1])
        tracker.send(signal.SIGSTOP)
        wait_until(lambda: tracker.state() == "T", "the tracker to stop")
        time.sleep(1)
        tracker.send(signal.SIGCONT)
        samples = [before] + [parse(line) for line in tracker.stdout.take(6)]
        equal(tracker.stop(), 0, "exit status")
    missed = [sample["tracker"]["missed_samples"] for sample in samples[1:]]
    expect(8 <= sum(missed) <= 8 + 10 * PATIENCE_SECS, f"missed {missed}")
    places = [grid_index(sample, 0.1) for sample in samples]
    for earlier, later, skipped in zip(places, places[1:], missed):
        equal(later - earlier, 1 + skipped, f"step in the places {places} with {missed} missed")
    for sample, place in list(zip(samples, places))[3:]:
        expect(abs(sample["elapsed_secs"] - place * 0.1) < GRID_SECS, f"{sample['elapsed_secs']} is off the grid")
    # A burst would show as samples next to no time apart.
    gaps = [sample["actual_interval_ms"] for sample in samples[3:]]
    expect(min(gaps) > 100 - 2000 * GRID_SECS + 10, f"intervals {gaps}")


@test
def thirty_samples_in_three_seconds_on_the_grid():
    with Tracker("-i", "100ms") as tracker:
        lines = tracker.stdout.take(29)
        last = parse(lines[-1])
        time.sleep(max(0, 3.04 - last["elapsed_secs"]))  # the end of the three seconds
        equal(tracker.stop(), 0, "exit status")
        samples = [parse(line) for line in lines + tracker.stdout.all()]
    *regular, final = samples
    on_time = [sample for sample in regular if sample["elapsed_secs"] < 3.05]
    expect(28 <= len(on_time) <= 32, f"{len(on_time)} samples in 3 s")
    for sample in regular:
        off = sample["elapsed_secs"] - grid_index(sample, 0.1) * 0.1
        expect(-0.001 <= off <= GRID_SECS, f"a sample at {sample['elapsed_secs']} s is {off:.4f} s off the grid")
    expect(final["elapsed_secs"] >= regular[-1]["elapsed_secs"], "the final sample is not the last")


@test
def intervals_and_timestamps_agree():
    with Tracker("-i", "0.1") as tracker:
        began_ms = time.time() * 1000
        samples = [parse(line) for line in tracker.stdout.take(10)]
        ended_ms = time.time() * 1000
        equal(tracker.stop(), 0, "exit status")
    expect("actual_interval_ms" not in samples[0], "actual_interval_ms in the first sample")
    for earlier, later in zip(samples, samples[1:]):
        between = (later["elapsed_secs"] - earlier["elapsed_secs"]) * 1000
        expect(abs(later["actual_interval_ms"] - between) < 0.7, f"{later['actual_interval_ms']} against {between}")
        stamps = later["timestamp_ms"] - earlier["timestamp_ms"]
        expect(abs(stamps - between) < 5 + 1000 * PATIENCE_SECS / 10, f"timestamps {stamps} ms apart, not {between}")
    for sample in samples:
        equal(sample["timestamp_secs"], sample["timestamp_ms"] // 1000, "timestamp_secs")
        expect(began_ms - 1000 < sample["timestamp_ms"] <= ended_ms + 1, f"timestamp {sample['timestamp_ms']}")
        expect(0 <= sample["tracker"]["late_ms"] < 100 + 1000 * PATIENCE_SECS, sample["tracker"])


@test
def the_shortest_interval_works():
    with Tracker("-i", "10ms") as tracker:
        samples = [parse(line) for line in tracker.stdout.take(60)]
        equal(tracker.stop(), 0, "exit status")
    missed = sum(sample["tracker"]["missed_samples"] for sample in samples)
    equal(grid_index(samples[-1], 0.01), len(samples) + missed, "places of the grid covered")
    for sample in samples:
        usage = sample["cpu"]["utilization_pct"]
        expect(usage is None or 0 <= usage <= os.cpu_count(), f"utilization_pct {usage}")
        for share in sample["cpu"]["per_core_pct"] or []:
            expect(share is None or 0 <= share <= 100, f"per_core_pct {share}")


@test
def a_tracker_of_the_tracker_is_ended_through_its_pipe():
    with Tracker("-i", "0.1") as first:
        with Tracker("-i", "0.1", stdin=first.process.stdout, stdout=subprocess.PIPE) as second:
            parse(second.stdout.next())
            equal(second.stop(), 0, "exit status of the second")
        first.close_stdout()
        equal(first.wait(1 + PATIENCE_SECS), 0, "exit status of the first")


if __name__ == "__main__":
    tap.main()
