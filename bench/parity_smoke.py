# SPDX-License-Identifier: Apache-2.0
"""The smoke tests that come with the Rust program, run against ours: they say what its users rely on.

The crate is fetched into bench/peers/ and never becomes part of this project. Its tests are built once; each run puts
our program where they look for theirs. `--csv-columns full` is set for them, since theirs has no other columns.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess

import peers
from section import clean_env

PLACE = peers.PLACE / "rust-tests"
NAME = f"resource-tracker-{peers.RUST_VERSION}"
RUN_SECS = 420
THREADS = 4
RESULT = re.compile(r"^test (\S+) \.\.\. (ok|FAILED|ignored)", re.M)
WORDS = re.compile(r"^thread '(\S+)'[^\n]*panicked at [^\n]*\n(?P<words>[^\n]*)", re.M)

# Tests that are right about their program and not about ours: name and reason. A failure that is not here is a fault.
EXPECTED = {
    "test_missing_toml_config_falls_back_to_defaults":
        "a file that was named and is not there is one warning, on the stderr from which that test reads samples",
}


@dataclasses.dataclass
class Smoke:
    """How the tests went; `failed` is what each of those said."""

    passed: list
    failed: dict

    @property
    def total(self):
        return len(self.passed) + len(self.failed)

    def faults(self):
        return [f"smoke test {name} of the Rust program: {words}" for name, words in self.failed.items()
                if name not in EXPECTED]


def fetch(cargo):
    """The sources of the crate as published; cargo unpacks them below its home."""
    home = pathlib.Path(os.environ.get("CARGO_HOME") or os.path.expanduser("~/.cargo"))
    peers.PLACE.mkdir(exist_ok=True)
    peers.run([cargo, "info", "--quiet", f"resource-tracker@{peers.RUST_VERSION}"], peers.PIP_SECS, cwd=peers.PLACE)
    found = sorted(home.glob(f"registry/src/*/{NAME}/tests/smoke.rs"))
    if not found:
        raise peers.Missing(f"cargo has no sources of {NAME}")
    return found[0].parents[1]


def executable_of(messages):
    for line in messages.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message["target"]["name"] == "smoke":
            return pathlib.Path(message["executable"])
    raise peers.Missing("cargo built no smoke tests")


def build():
    """The tests as a program; it has the path of the program under test in it, so that nothing may move."""
    tests, stamp = PLACE / "smoke", PLACE / "built"
    if stamp.exists() and stamp.read_text(encoding="utf-8").strip() == NAME:
        return tests
    cargo = shutil.which("cargo") or shutil.which("cargo", path=os.path.expanduser("~/.cargo/bin"))
    if not cargo:
        raise peers.Missing("there is no cargo to build its tests with")
    # What an earlier try has built stays: it goes on there.
    source = PLACE / NAME
    if not source.exists():
        shutil.copytree(fetch(cargo), source)
    peers.say(f"building the tests of the Rust resource-tracker {peers.RUST_VERSION} (some minutes, once)")
    env = os.environ | {"CARGO_NET_RETRY": "1", "CARGO_HTTP_TIMEOUT": "20", "CARGO_BUILD_JOBS": "2",
                        "CARGO_TARGET_DIR": str(PLACE / "target"),
                        "PATH": os.path.dirname(cargo) + os.pathsep + os.environ.get("PATH", os.defpath)}
    messages = peers.run([cargo, "test", "--quiet", "--locked", "--no-run", "--test", "smoke", "--message-format=json"],
                         peers.CARGO_SECS, env=env, cwd=source)
    shutil.move(executable_of(messages), tests)
    # A gigabyte that is not needed any more.
    shutil.rmtree(PLACE / "target")
    (PLACE / "target" / "debug").mkdir(parents=True)
    stamp.write_text(NAME + "\n", encoding="utf-8")
    return tests


def call(tests, *words):
    env = clean_env() | {"TRACKER_CSV_COLUMNS": "full", "RUST_BACKTRACE": "0"}
    try:
        done = subprocess.run([str(tests), f"--test-threads={THREADS}", *words], cwd=PLACE / NAME, env=env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=RUN_SECS, check=False)
    except subprocess.TimeoutExpired as reason:
        raise peers.Missing(f"its smoke tests did not end within {RUN_SECS} s") from reason
    results = dict(RESULT.findall(done.stdout))
    said = {match[1]: match["words"] for match in WORDS.finditer(done.stdout)}
    return results, said


def run(program):
    """All of them; what fails is tried once more, alone, so that a busy machine does not count as a difference."""
    with peers.alone():
        tests = build()
    place = PLACE / "target" / "debug" / "resource-tracker"
    with contextlib.suppress(FileNotFoundError):
        place.unlink()
    shutil.copy2(program, place)
    results, said = call(tests)
    if not results:
        raise peers.Missing("its smoke tests said nothing")
    for name in [name for name, result in results.items() if result == "FAILED"]:
        again, words = call(tests, "--exact", name)
        results[name] = again.get(name, "FAILED")
        said |= words
    return Smoke([name for name, result in results.items() if result == "ok"],
                 {name: said.get(name, "no word") for name, result in results.items() if result == "FAILED"})


def lines(smoke):
    """What a report says of it."""
    found = [f"smoke tests of the Rust program {peers.RUST_VERSION}, with `full` columns: {len(smoke.passed)} of "
             f"{smoke.total} pass against ours"]
    found += [f"`{name}` fails: {EXPECTED.get(name, 'NO KNOWN REASON, ' + words)}"
              for name, words in smoke.failed.items()]
    found += [f"`{name}` passes now, against what is expected" for name in EXPECTED if name in smoke.passed]
    return found
