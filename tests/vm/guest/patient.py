# SPDX-License-Identifier: Apache-2.0
"""Runs a test file of tests/e2e, or one of ours, in a guest, where everything takes a few times longer.

    patient.py FILE [WORD...]     the tests whose names hold one of the words; all without
"""

import pathlib
import runpy
import sys

import tap
import tracker
import truth

FACTOR = 5


def wait_longer(place):
    """Defaults were bound when the functions were made."""
    for function in list(vars(place).values()):
        if isinstance(function, type):
            wait_longer(function)
        elif getattr(function, "__defaults__", None):
            function.__defaults__ = tuple(FACTOR * value if value is tracker.WAIT_SECS else value
                                          for value in function.__defaults__)


def check_not_negative(samples, hidden=()):
    """Of what is plausible only this: whether cores fit seconds depends on a machine that keeps time."""
    del hidden
    for sample in samples:
        for path, value in truth.numbers_of(sample):
            tap.expect(value >= 0 or path.endswith(".speed_mbps"), f"{path} is {value}")


def main():
    wait_longer(tracker)
    wait_longer(truth)
    tracker.WAIT_SECS *= FACTOR
    tracker.PATIENCE_SECS *= FACTOR
    # What a process does when the kernel has closed its account counts in its group only, and a virtual CPU that has to
    # wait for a real one just then makes much of it.
    truth.TICK_SECS *= FACTOR
    truth.check_plausible = check_not_negative
    truth.check_within_cpus = check_not_negative
    add = tap.add
    tap.add = lambda name, function, *args, limit=tap.LIMIT_SECS: add(name, function, *args, limit=FACTOR * limit)
    del sys.argv[0]
    sys.path.insert(0, str(pathlib.Path(sys.argv[0]).parent))
    runpy.run_path(sys.argv[0], run_name="__main__")


if __name__ == "__main__":
    main()
