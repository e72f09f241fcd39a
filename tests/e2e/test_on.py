#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Commands that a condition starts (--on): when, how often, and that the job knows nothing of them."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import python, status_of
from tap import Skip, equal, expect, test
from tracker import BINARY, SANITIZED, WAIT_SECS, clean_env, directory, run, wait_until

GROWS = """
import time
memory = bytearray(120 << 20)
memory[::4096] = b"x" * len(memory[::4096])
time.sleep(1.2)
print("done")
"""

# A process in a session of its own, which no other process waits for.
DAEMON = """
import os, time
reader, writer = os.pipe()
if os.fork():
    os._exit(os.read(reader, 1) != b"x")
os.setsid()
if os.fork():
    os._exit(os.write(writer, b"x") != 1)
os.close(2)
os.close(1)
while time.process_time() < 0.7:
    pass
with open("pid", "w") as file:
    file.write(str(os.getpid()))
os.rename("pid", "ran")
time.sleep(30)
"""
UNTIL_RAN = f"""
import os, time
end = time.monotonic() + {WAIT_SECS}
while not os.path.exists("ran") and time.monotonic() < end:
    time.sleep(0.1)
"""


def track(*options, command=None, env=None, cwd=None):
    return run(["-q", "-i", "0.1", *options, "--", *(command or python(GROWS))], env=env, cwd=cwd)


@test
def a_command_starts_once_when_its_condition_holds():
    with directory() as place:
        done = track("--on", "memory.peak > 100MiB => sh -c 'echo $PPID >> fired; echo seen of {pid}; echo error >&2'",
                     command=["sh", "-c", 'echo $$ > pid; exec "$@"', "sh", *python(GROWS)], cwd=place)
        equal((done.returncode, done.stdout), (0, "done\n"), "the command")
        lines = sorted(done.stderr.splitlines())
        expect(lines[1].startswith("resource-tracker: warning: memory.peak > 100MiB (1") and
               lines[1].endswith(" MiB): starting sh"), lines)
        equal([lines[0], lines[2]], ["error", f"seen of {(place / 'pid').read_text().strip()}"], "what it wrote")
        equal(len((place / "fired").read_text().splitlines()), 1, "how often it was started")


@test
def a_near_miss_starts_nothing():
    with directory() as place:
        done = track("--on", "memory.peak > 4GiB => touch fired", "--on", "wall > 1h => touch fired", cwd=place)
        equal((done.returncode, done.stdout, done.stderr), (0, "done\n", ""), "the command")
        expect(not (place / "fired").exists(), "a command was started")


@test
def with_a_pause_it_starts_again():
    with directory() as place:
        done = track("--on", "wall > 0.2s every 1s => sh -c 'echo x >> fired'", command=["sleep", "3.7"], cwd=place)
        equal(done.returncode, 0, "status")
        count = len((place / "fired").read_text().splitlines())
        expect(2 <= count <= 4, f"{count} times")


@test
def it_does_not_count_as_the_job():
    busy = "import time\nwhile time.process_time() < 0.7: pass"
    with directory() as place:
        (place / "busy.py").write_text(busy + "\nopen('ran', 'w')", encoding="ascii")
        done = track("--summary-json", "summary", "--on", "wall > 0.1s => python3 -I -S busy.py",
                     command=python(UNTIL_RAN), cwd=place)
        equal(done.returncode, 0, done.stderr)
        expect((place / "ran").exists(), "it did not run")
        summary = json.loads((place / "summary").read_text(encoding="utf-8"))
        expect(summary["cpu"]["total_secs"] < 0.2, summary["cpu"])
        equal(summary["cpu"]["processes_peak"], 1, "processes")


@test
def one_that_hangs_or_is_missing_does_not_hold_up_the_end():
    done = track("--on", "wall > 0.1s => sleep 20", "--on", "wall > 0.1s => /nonexistent/program x",
                 command=["sh", "-c", "sleep 0.5; exit 3"])
    equal(done.returncode, 3, "status")
    expect("starting sleep" in done.stderr, done.stderr)
    expect("/nonexistent/program could not be started: No such file or directory" in done.stderr, done.stderr)


@test
def what_it_leaves_behind_is_not_of_the_job_either():
    with directory() as place:
        (place / "busy.py").write_text(DAEMON, encoding="ascii")
        done = track("--summary-json", "summary", "--on", "wall > 0.1s => python3 -I -S busy.py",
                     command=python(UNTIL_RAN), cwd=place)
        equal(done.returncode, 0, done.stderr)
        secs = time.time() - (place / "ran").stat().st_mtime
        expect(secs < WAIT_SECS, f"the end took {secs} s, and waited for it")
        daemon = int((place / "ran").read_text(encoding="ascii"))
        guard = int(status_of(daemon)["PPid"])
        equal(pathlib.Path(f"/proc/{guard}/comm").read_text(encoding="ascii"), "tracker-on\n", "its parent")
        os.kill(daemon, signal.SIGKILL)
        wait_until(lambda: not pathlib.Path(f"/proc/{guard}").exists(), "the end of its parent")
        summary = json.loads((place / "summary").read_text(encoding="utf-8"))
        expect(summary["cpu"]["total_secs"] < 0.2, summary["cpu"])
        equal(summary["cpu"]["processes_peak"], 1, "processes")


@test
def names_that_are_shares_hold_while_it_runs():
    with directory() as place:
        rules = ("memory.limit_used > 0%", "cpu.limit_used >= 0%", "memory.peak / memory.limit > 0", "cores.mean >= 0",
                 "processes.peak >= 1", "samples >= 1", "cpu.time >= 0s", "disk.read >= 0B")
        words = [word for i, rule in enumerate(rules) for word in ("--on", f"{rule} => touch fired-{i}")]
        equal(track(*words, command=["sleep", "1"], cwd=place).returncode, 0, "status")
        found = {int(path.name[6:]) for path in place.glob("fired-*")}
        equal([rule for i, rule in enumerate(rules) if i not in found], [], "rules that never held")


@test
def rules_that_are_wrong_stop_us_before_the_command():
    with directory() as place:
        for rule, message in (
                ("memory.paek > 1GiB => true", 'unknown name "memory.paek", did you mean "memory.peak"?'),
                ("memory.peak > 1 => true", "bytes (such as 4GiB) cannot be compared with a plain number"),
                ("wall > 1s", 'there must be "=>" between the condition and the command'),
                ("wall > 1s =>", "the command is missing, has more than 64 words, or a quote is not closed"),
                ("wall > 1s => '' x", "the command is missing, has more than 64 words, or a quote is not closed")):
            done = track("--on", rule, command=["touch", "started"], cwd=place)
            equal((done.returncode, done.stderr), (125, f"resource-tracker: error: --on: {message}\n"), rule)
        expect(not (place / "started").exists(), "the command was started")


@test(limit=60)
def it_starts_below_valgrind_too():
    if SANITIZED:
        raise Skip("a sanitizer does not run below valgrind")
    if not shutil.which("valgrind"):
        raise Skip("valgrind is not installed")
    with directory() as place:
        done = subprocess.run(["valgrind", "-q", "--tool=none", BINARY, "-q", "-i", "0.2", "--on",
                               "wall > 0.1s => touch fired", "sleep", "2"], cwd=place, env=clean_env(), text=True,
                              check=False, capture_output=True, timeout=50)
        equal(done.returncode, 0, done.stderr)
        expect((place / "fired").exists(), f"the command was not started: {done.stderr}")


@test
def it_comes_from_a_variable_or_a_named_file_only():
    rule = "wall > 0.1s => touch fired"
    with directory() as place:
        equal(track(command=["sleep", "0.5"], env={**clean_env(), "TRACKER_ON": rule}, cwd=place).returncode, 0, "")
        expect((place / "fired").exists(), "by a variable")
        (place / "fired").unlink()
        (place / "resource-tracker.toml").write_text(f'[tracker]\non = "{rule}"\n', encoding="ascii")
        done = track(command=["sleep", "0.5"], cwd=place)
        expect(not (place / "fired").exists() and "tracker.on" in done.stderr, f"by any file: {done.stderr}")
        equal(track("--config", "resource-tracker.toml", command=["sleep", "0.5"], cwd=place).returncode, 0, "")
        expect((place / "fired").exists(), "by a file that was named")


@test
def its_environment_is_that_of_the_command():
    env = {**clean_env(), "SENTINEL_API_TOKEN": "secret-a", "SENTINEL_API_URL": "http://127.0.0.1:9", "MINE": "1",
           "TRACKER_GRACE": "0"}
    with directory() as place:
        done = subprocess.run([BINARY, "-q", "-i", "0.1", "--on", "wall > 0.1s => sh -c 'env > found'", "sleep", "0.6"],
                              env={**env, "TRACKER_SPOOL": str(place / "spool")}, cwd=place, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=WAIT_SECS)
        equal(done.returncode, 0, done.stderr)
        found = (place / "found").read_text(encoding="utf-8")
        expect("MINE=1\n" in found and "secret" not in found, found)


if __name__ == "__main__":
    tap.main()
