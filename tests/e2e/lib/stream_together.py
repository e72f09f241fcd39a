# SPDX-License-Identifier: Apache-2.0
"""Tests that mostly wait, run side by side: when the first of them is run, all that were chosen are started.

Each must have a context of its own, and bound everything that it waits for. Where time is measured a test should run
alone, as the others do.
"""

import concurrent.futures
import sys

import tap
from stream_scenario import PATIENCE

LIMIT = 60 * PATIENCE
SIDE_BY_SIDE_MAX = 16

_waiting = {}
_futures = {}


def _is_chosen(name):
    return not sys.argv[1:] or any(word in name for word in sys.argv[1:])


def _take(name):
    if not _futures:
        chosen = [key for key in _waiting if _is_chosen(key)]
        pool = concurrent.futures.ThreadPoolExecutor(SIDE_BY_SIDE_MAX)
        _futures.update({key: pool.submit(*_waiting[key]) for key in chosen})
    _futures[name].result()


def together_as(name, function, *args):
    """Registers function(*args) under any name."""
    _waiting[name] = (function, *args)
    tap.add(name, _take, name, limit=LIMIT)


def together(function):
    """Registers a function under its name, underscores read as blanks."""
    together_as(function.__name__.replace("_", " "), function)
    return function
