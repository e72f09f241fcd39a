# SPDX-License-Identifier: Apache-2.0
"""A tiny test harness: named test functions, each with a time limit, reported as TAP.

A test fails by any exception, is skipped by raising Skip(reason), and may leave notes with diag(). The limit is an
alarm that raises TimeLimit in the test, so that its context managers still end what it started.
"""

import signal
import sys
import traceback

import emulated

LIMIT_SECS = 20
DIAGNOSTIC_LINES_MAX = 60

_tests = []
_notes = []


class Skip(Exception):
    """The right or the tool that the test needs is missing here."""


class TimeLimit(BaseException):
    """The test took too long. Not an Exception, so that no test swallows it."""


def test(function=None, *, limit=LIMIT_SECS):
    """Registers a function under its name, underscores read as blanks."""
    if function is None:
        return lambda inner: test(inner, limit=limit)
    add(function.__name__.replace("_", " "), function, limit=limit)
    return function


def add(name, function, *args, limit=LIMIT_SECS):
    """Registers function(*args) under any name, for tests that are rows of a table."""
    _tests.append((name, function, args, limit))


def diag(text):
    """A note that is shown with the result of the running test."""
    _notes.append(str(text))


def expect(condition, *words):
    """An assertion whose words become the diagnostics; strings are cut so that a sample does not flood the log."""
    if not condition:
        raise AssertionError(" ".join(str(word) if len(str(word)) < 600 else str(word)[:600] + "..." for word in words))


def equal(got, want, what="value"):
    expect(got == want, f"{what}: got {got!r}, want {want!r}")


def _on_alarm(_number, _frame):
    raise TimeLimit()


def _run(function, args, limit, reason):
    """Returns the word for the plan line and the directive after the name."""
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        if reason:
            raise Skip(reason)
        function(*args)
        return "ok", ""
    except Skip as skip:
        return "ok", f" # SKIP {skip}"
    except TimeLimit:
        diag(f"took longer than {limit} s")
        for line in traceback.format_exc().splitlines():
            diag(line)
        return "not ok", ""
    except Exception:  # pylint: disable=broad-except
        for line in traceback.format_exc().splitlines():
            diag(line)
        return "not ok", ""
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def _reset_signals():
    """What nohup, a shell's & or a supervisor ignores or blocks would be ignored and blocked in every command."""
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # those are Python's own
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def main():
    """Runs what was registered (or the tests whose names hold one of the arguments) and exits."""
    chosen = [row for row in _tests if not sys.argv[1:] or any(word in row[0] for word in sys.argv[1:])]
    unknown = [word for word in sys.argv[1:] if not any(word in row[0] for row in _tests)]
    if unknown:
        print(f"Bail out! no test has this in its name: {', '.join(unknown)}", flush=True)
        sys.exit(1)
    reasons = emulated.prepare([row[0] for row in _tests])
    _reset_signals()
    signal.signal(signal.SIGALRM, _on_alarm)
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, (name, function, args, limit) in enumerate(chosen, 1):
        _notes.clear()
        word, directive = _run(function, args, limit, reasons.get(name))
        failed += word != "ok"
        print(f"{word} {number} - {name.replace('#', '')}{directive}")
        for line in _notes[-DIAGNOSTIC_LINES_MAX:]:
            for part in line.splitlines() or [""]:
                print(f"# {part}")
        sys.stdout.flush()
    sys.exit(1 if failed else 0)
