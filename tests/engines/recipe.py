# SPDX-License-Identifier: Apache-2.0
"""Recipes of the guide, and the engines they feed: the text that a page shows is the text that runs here.

A recipe is the block of code that follows <!-- recipe: NAME --> in a page of docs/guide. Engines are what tools/setup
unpacked into build-tools, or what is installed; a test whose engine is missing is skipped.
"""

import contextlib
import glob
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import lib  # noqa: E402,F401, finds those that follow
from tap import Skip, expect  # noqa: E402
from tracker import BINARY, ROOT, clean_env, directory  # noqa: E402

START_SECS = 30


def text_of(page, name):
    page = (ROOT / "docs/guide" / page).read_text(encoding="utf-8")
    found = re.search(rf"<!-- recipe: {re.escape(name)} -->\n```\w*\n(.*?)```", page, re.DOTALL)
    expect(found, f"no recipe {name}")
    return found[1]


def follow(page, name, **env):
    """Runs a recipe as a shell would, with our program as resource-tracker; the result of its last command."""
    with directory() as place:
        return follow_in(place, page, name, **env)


def follow_in(place, page, name, timeout=15, **env):
    """The same in a directory of the test's, whose programs are found as well."""
    return execute(["sh", "-c", text_of(page, name)], place, timeout, **env)


def execute(words, place, timeout=15, **env):
    """Runs any command as follow_in() does a recipe."""
    return subprocess.run([str(word) for word in words], cwd=place, env=our_env(place, **env), text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout, check=False)


def our_env(place, **more):
    """The environment in which the place has our program, and its other programs come before those of the system."""
    if not (place / "resource-tracker").exists():
        (place / "resource-tracker").symlink_to(BINARY)
    return clean_env(PATH=f"{place}:{ROOT}/build-tools/engines/bin:{os.environ['PATH']}", **more)


def script(path, text):
    """A program of a few lines."""
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path


def solver(place, rank):
    """A program that uses CPU time in a child and by itself, and notes in truth-RANK what the kernel counted; rank: the
    variable with its number."""
    return script(place / "solver", f"#!/bin/sh\nWORKLOAD_TRUTH='{place}/truth-'${rank} exec {os.environ['WORKLOAD']} "
                                    "child burn 100 , burn 200\n")


def true_cpu(truth):
    """What the solver noted, in seconds."""
    return sum(int(line.split()[0]) for line in truth.read_text(encoding="ascii").splitlines()) / 1e6


def check_parts(place, ranks):
    """The summary of all ranks of one run: the CPU time of all is what their solvers noted, to a tick of each."""
    summary = json.loads((place / "run.json").read_text(encoding="utf-8"))
    parts, want = summary["parts"], [true_cpu(place / f"truth-{rank}") for rank in range(ranks)]
    expect([parts["count"], parts["nodes"], parts["failed"], parts["missing"]] == [ranks, 1, 0, 0], parts)
    expect([rank["rank"] for rank in parts["ranks"]] == list(range(ranks)), parts)
    tick = 1 / os.sysconf("SC_CLK_TCK")
    for rank, row in enumerate(parts["ranks"]):
        got = row["cpu_secs"]
        expect(abs(got - want[rank]) <= tick, f"rank {rank}: {got} s, the kernel has {want[rank]}")
    got = summary["cpu"]["total_secs"]
    expect(abs(got - sum(want)) <= tick * ranks, f"{got} s of CPU time, the kernel has {sum(want)}")


def check_cpu(summary, truth):
    """The CPU time of a summary is what the solver noted, to a tick."""
    got, want = summary["cpu"]["total_secs"], true_cpu(truth)
    expect(want >= 0.29 and abs(got - want) <= 1 / os.sysconf("SC_CLK_TCK"),
           f"{got} s of CPU time, the kernel has {want}")


def python_packages():
    """Makes those of the engines importable."""
    sys.path += glob.glob(f"{ROOT}/build-tools/engines/lib/python*/site-packages")


def program(name):
    places = f"{ROOT}/build-tools/usr/bin:{ROOT}/build-tools/engines/bin:{ROOT}/build-tools/engines"
    found = shutil.which(name) or shutil.which(name, path=places)
    if not found:
        raise Skip(f"no {name}")
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(url):
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=5) as answer:
        return answer.read().decode()


def is_ready(url):
    """Is there a server, and either the page is there or it has no such page?"""
    try:
        get(url)
    except urllib.error.HTTPError as error:
        return error.code == 404
    except (urllib.error.URLError, ConnectionError):
        return False
    return True


@contextlib.contextmanager
def engine(words, ready):
    """A server while the block runs, from the moment that the page `ready` answers."""
    with directory() as place, open(place / "log", "w+", encoding="utf-8") as log, \
            subprocess.Popen(words, cwd=place, stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:
        try:
            deadline = time.monotonic() + START_SECS
            while not is_ready(ready):
                log.seek(0)
                expect(process.poll() is None and time.monotonic() < deadline, f"{words[0]} does not start:",
                       log.read())
                time.sleep(.05)
            yield process
        finally:
            process.terminate()


@contextlib.contextmanager
def daemon(words, place, **env):
    """A server without a page, while the block runs; yields what waits until something is true of it, or skips the test
    with the last words of its log."""
    with open(place / "servers.log", "a+", encoding="utf-8") as log, \
            subprocess.Popen([str(word) for word in words], cwd=place, env=our_env(place, **env),
                             stdin=subprocess.DEVNULL, stdout=log, stderr=log) as process:
        try:
            yield lambda is_ready: wait_for_server(process, is_ready, log)
        finally:
            process.terminate()


def wait_for_server(process, is_ready, log):
    deadline = time.monotonic() + START_SECS
    while not is_ready():
        if process.poll() is not None or time.monotonic() > deadline:
            log.seek(0)
            raise Skip(f"{process.args[0]} does not start here: {log.read()[-300:]!r}")
        time.sleep(.05)
