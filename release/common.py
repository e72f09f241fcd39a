# SPDX-License-Identifier: Apache-2.0
"""What the parts of tools/dist share: where things lie, the targets, and commands that end in time."""

import json
import os
import pathlib
import signal
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TOOLCHAINS = ROOT / "build-tools" / "toolchains"
PINS = json.loads((HERE / "pins.json").read_text(encoding="utf-8"))

TARGETS = ("x86_64-linux-gnu", "aarch64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-musl")
TAIL_LINES = 25


class Failure(Exception):
    """Something is missing or wrong; the text says what."""


def say(text):
    print(f"dist: {text}", flush=True)


def parts_of(target):
    """The machine and the C library of a target: ("aarch64", "musl")."""
    machine, _, libc = target.split("-")
    return machine, libc


def tail(text):
    return "\n".join(text.strip().splitlines()[-TAIL_LINES:])


def end_group(process):
    """A command may leave others behind when it is stopped: they are all of its process group."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def call(command, *, secs, what, cwd=ROOT, more_env=None, status=0):
    """Runs a command to its end, and returns what it printed; Failure where it fails or takes too long."""
    command = [str(word) for word in command]
    try:
        process = subprocess.Popen(command, cwd=cwd, env={**os.environ, **(more_env or {})}, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                   start_new_session=True)
    except OSError as error:
        raise Failure(f"{what}: cannot run {command[0]}: {error.strerror}") from error
    try:
        printed, _ = process.communicate(timeout=secs)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{what}: not done after {secs} s") from error
    finally:
        if process.poll() is None:
            end_group(process)
    if process.returncode != status:
        raise Failure(f"{what}: status {process.returncode} instead of {status}\n{tail(printed)}")
    return printed
