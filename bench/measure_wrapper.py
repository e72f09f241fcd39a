# SPDX-License-Identifier: Apache-2.0
"""(a) What it costs to have a tool in front of a command: from the start of the tool to its end, the tools alternating.

Tools that take most of a second for `true` run in every so many rounds only; what is compared lies in the same rounds.
Ours is also measured with samples and with a summary, and both while another process saturates the disk: nothing of it
may wait for a device.
"""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import table
from process import Failed
from section import Section

# Command, rounds of the quick tools, rounds of the slow ones; the same for a quick bench.
COMMANDS = ((("true",), 200, 8), (("sleep", "0.3"), 12, 4), (("sleep", "1.5"), 4, 3))
QUICK = ((("true",), 100, 2), (("sleep", "0.3"), 4, 1))
FAST = ("bare", "ours", "gnu-time", "sh")
SLOW = ("rust", "python", "python-psutil", "psrecord")
LIMIT_SECS = 30
FULL_ONLY = ("python-psutil",)
HYPERFINE_RUNS = 200
OUTPUT_ROUNDS, QUICK_OUTPUT_ROUNDS = 150, 60
LOAD_ROUNDS, LOAD_MIB, LOAD_BEFORE_SECS = 400, 128, 1


def wall_secs(argv, env):
    """From the spawn to the end of the process; the tool must end well."""
    def late(*_):
        raise Failed(f"{' '.join(argv)} did not end within {LIMIT_SECS} s")

    nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in (0, 1, 2)]
    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, LIMIT_SECS)
    start = time.perf_counter()
    pid = os.posix_spawn(argv[0], argv, env, file_actions=nothing)
    try:
        _, status, _ = os.wait4(pid, 0)
    except BaseException:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        raise
    finally:
        secs = time.perf_counter() - start
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    if os.waitstatus_to_exitcode(status) != 0:
        raise Failed(f"{' '.join(argv)} ended with status {os.waitstatus_to_exitcode(status)}")
    return secs


def argv_of(tool, command):
    """At an interval of one second, the one that all have; no samples are kept."""
    return tool.argv_wrap(command, 1, None)


def measure_command(context, words, rounds, slow_rounds):
    command = [shutil.which(words[0]), *words[1:]]
    names = [name for name in (*FAST, *SLOW) if not (context.quick and name in FULL_ONLY)]
    tools = [tool for tool in map(context.tool, names) if tool]
    times, failed = {tool.name: [] for tool in tools}, {}
    every = max(1, rounds // slow_rounds)
    for index in range(rounds):
        for tool in tools:
            if tool.name in failed or (tool.name in SLOW and (index % every or index // every >= slow_rounds)):
                continue
            try:
                times[tool.name].append(wall_secs(argv_of(tool, command), tool.environ()))
            except (Failed, OSError) as reason:
                failed[tool.name] = str(reason)
    return {name: table.spread(values) for name, values in times.items() if values}, failed


@contextlib.contextmanager
def busy_disk(place):
    """A process that writes to the disk of `place` past the page cache, for a bounded number of rounds at most."""
    target = place / "load"
    script = (f"i=0; while [ $i -lt {LOAD_ROUNDS} ]; do i=$((i+1)); "
              f"dd if=/dev/zero of='{target}' bs=1M count={LOAD_MIB} oflag=direct conv=notrunc || exit 1; done")
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as child:
        try:
            time.sleep(LOAD_BEFORE_SECS)
            if child.poll() is not None:
                raise Failed("dd cannot write past the page cache here")
            yield
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)


def measure_outputs(context, place, rounds):
    """`true` bare, without samples, with a file of samples and with a summary, alternating; each file is new."""
    ours, command, output = context.tool("ours"), [shutil.which("true")], place / "samples"
    quiet = ours.argv_wrap(command, 1, None)
    at = quiet.index("--")
    # All in one environment: what a command inherits is part of what its start takes.
    cases = {"bare": (command, ours.environ()), "-q": (quiet, ours.environ()),
             "-o FILE": (ours.argv_wrap(command, 1, output), ours.environ()),
             "--summary": ([*quiet[:at], "--summary=always", *quiet[at:]], ours.environ())}
    times = {name: [] for name in cases}
    for _ in range(rounds):
        for name, (argv, env) in cases.items():
            output.unlink(missing_ok=True)
            times[name].append(wall_secs(argv, env))
    return {name: table.spread(values) for name, values in times.items()}


def add_outputs(context, section):
    rounds = QUICK_OUTPUT_ROUNDS if context.quick else OUTPUT_ROUNDS
    section.values["outputs"] = {}
    for state, load in (("idle", contextlib.nullcontext), ("busy disk", busy_disk)):
        with context.directory("wrapper") as place:
            try:
                with load(place) if load is busy_disk else load():
                    spreads = measure_outputs(context, place, rounds)
            except (Failed, OSError) as reason:
                section.notes.append(f"`true` with samples, {state}: {reason}")
                continue
        section.values["outputs"][state] = spreads
        add_rows(section, f"`true`, {state}", spreads)


def add_rows(section, name, spreads):
    bare = spreads["bare"]["p50"]
    for tool, spread in spreads.items():
        added = None if tool == "bare" else table.number((spread["p50"] - bare) * 1e3)
        section.rows.append([name, tool, milliseconds(spread, "p50"), milliseconds(spread, "p10"),
                             milliseconds(spread, "p90"), added, f"{spread['p50'] / bare:.2f}", spread["count"]])


def milliseconds(spread, key):
    return table.number(spread[key] * 1e3)


def hyperfine_note(context):
    """The first row again, measured by another tool."""
    if context.quick or not shutil.which("hyperfine"):
        return None
    words = [" ".join(argv_of(context.tool(name), [shutil.which("true")])) for name in ("bare", "ours")]
    path = context.place / "hyperfine.json"
    argv = ["hyperfine", "-N", "--warmup", "20", "--runs", str(HYPERFINE_RUNS), "--export-json", str(path), *words]
    done = subprocess.run(argv, capture_output=True, timeout=120, check=False)
    if done.returncode != 0:
        return "hyperfine could not measure it"
    bare, ours = (result["median"] for result in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["results"])
    return (f"hyperfine: bare {bare * 1e3:.2f} ms, ours {ours * 1e3:.2f} ms, {ours / bare:.2f} x (medians, one after "
            "the other and not alternating)")


def measure(context):
    section = Section("wrapper", "Wrapper: a command with a tool in front of it",
                      ["command", "tool", "p50 (ms)", "p10", "p90", "added (ms)", "ratio to bare", "runs"])
    for words, rounds, slow_rounds in QUICK if context.quick else COMMANDS:
        name = " ".join(words)
        spreads, failed = measure_command(context, words, rounds, slow_rounds)
        add_rows(section, f"`{name}`", spreads)
        section.notes += [f"`{name}`, {tool}: {why}" for tool, why in failed.items()]
        section.values[name] = spreads
    add_outputs(context, section)
    section.notes.append("Interval of 1 s, no samples kept unless `-o FILE` says so. `sh` is `sh -c` with a child of "
                         "its own. Busy disk: beside a process that writes to it past the page cache.")
    note = hyperfine_note(context)
    if note:
        section.notes.append(note)
    return section
