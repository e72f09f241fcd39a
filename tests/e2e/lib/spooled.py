# SPDX-License-Identifier: Apache-2.0
"""Trackers that are cut off, and what their spool then holds: jobs that end on request, kills between two rows, servers
that cannot be reached, and the rows that a run has left behind.
"""

import contextlib
import gzip
import json
import os
import pathlib
import signal
import socket
import subprocess
import zlib

from net_faults import BlackHole
from stream_scenario import PATIENCE, Plan, Scenario, csv_rows, wait_done, wait_for
from tap import equal, expect

# A command that runs until its stdin is closed, whatever becomes of its tracker.
COMMAND = ("sh", "-c", "cat >/dev/null; exit 7")
STATUS = 7
# Besides Sentinel, a place in the bucket of the fake S3.
BUCKET_ENV = {"TRACKER_S3_URI": "s3://bucket/own", "AWS_ACCESS_KEY_ID": "AKID", "AWS_SECRET_ACCESS_KEY": "secret",
              "AWS_REGION": "eu-central-1"}


def make_scenario(*plan):
    """A scenario whose API names the region, so that no upload is refused for naming another."""
    scenario = Scenario(*plan)
    scenario.api.region = scenario.s3.region
    return scenario


def replan(scenario, **faults):
    """Other faults from now on."""
    scenario.plan = scenario.api.behave = scenario.s3.behave = Plan(**faults)


class Job:
    """A tracker with a command that ends on request, and a local CSV of its own; for a with statement."""

    def __init__(self, scenario, *words, name="job", command=COMMAND, env=None, has_bucket=False, **how):
        self.scenario, self.name, self.has_bucket = scenario, name, has_bucket
        self.csv = scenario.directory / f"{name}.csv"
        env = {**(BUCKET_ENV if has_bucket else {}), **(env or {})}
        self.tracker = scenario.start("-f", "csv", "-o", str(self.csv), "-n", name, *words, "--", *command, env=env,
                                      stdin=subprocess.PIPE, **how)

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.end_command()
        self.tracker.__exit__(*what)

    def end_command(self):
        """Closes its stdin."""
        stdin, self.tracker.process.stdin = self.tracker.process.stdin, None
        if stdin:
            stdin.close()

    def done(self):
        """Lets it end in good order."""
        self.end_command()
        return wait_done(self.tracker)

    def row_count(self):
        return max(0, self.csv.read_bytes().count(b"\n") - 1) if self.csv.exists() else 0

    def wait_rows(self, count):
        wait_for(lambda: self.row_count() >= count, f"{count} rows of {self.name}")

    def kill(self):
        """kill -9 as it comes."""
        self.tracker.send(signal.SIGKILL)
        equal(self.tracker.wait(), 128 + signal.SIGKILL, "exit status")
        self.end_command()

    def crash(self):
        """kill -9 at a moment when the last row of the local CSV is in the spool, or has been delivered."""
        wait_for(self._is_held_at_rest, "a moment when all rows are in the spool")
        self.kill()

    def _is_held_at_rest(self):
        self.tracker.send(signal.SIGSTOP)
        wait_for(lambda: set(thread_states(self.tracker.pid)) == {"T"}, "the tracker to stop")
        if self.row_count() > 0 and holds_row(self.scenario, csv_rows(self.csv.read_bytes())[-1]):
            return True
        self.tracker.send(signal.SIGCONT)
        return False

    def finished(self):
        """The entry of the only run of this job that is finished."""
        runs = [run for run in self.scenario.api.runs.values()
                if run["finish"] is not None and run["register"].get("job_name") == self.name]
        equal(len(runs), 1, f"finished runs of {self.name}")
        return runs[0]

    def check_arrived(self):
        """All rows of the local CSV, each once and in order, byte for byte; returns the body of the finish."""
        run = self.finished()
        got, want = self.scenario.api.run_csv(run), self.csv.read_text(encoding="ascii")
        expect(got == want, f"{self.name}: {got.count(chr(10))} lines arrived of {want.count(chr(10))}")
        return run["finish"]


    def check_bucket(self):
        """The same of the bucket that was given to it, with a run.json that has the end."""
        ours = {key: data for key, data in self.scenario.objects().items() if key.startswith(f"own/{self.name}/")}
        equal(len({key.rpartition("/")[0] for key in ours}), 1, f"runs of {self.name} in the bucket")
        run = json.loads(ours.pop(max(ours)))
        equal([list(ours), run["batches"]], [sorted(ours), len(ours)], "objects, number of batches")
        rows = [row for data in ours.values() for row in csv_rows(gzip.decompress(data))]
        equal(len(rows), self.row_count(), f"rows of {self.name} in the bucket")
        expect(rows == csv_rows(self.csv.read_bytes()), f"{self.name}: other rows in the bucket than in the local CSV")
        return run["end"]


def thread_states(pid):
    """The state letters of all threads."""
    states = []
    for path in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            states.append((path / "stat").read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()[0])
    return states


def unpack(data):
    """The rows of a sealed batch; none where it is not whole."""
    try:
        text = gzip.decompress(data)  # of nothing: nothing, as of a file that has been delivered meanwhile
    except (OSError, EOFError, zlib.error):
        return []
    return csv_rows(text) if text else []


def files_below(place):
    """All files below a directory that other processes may change."""
    return sorted(pathlib.Path(path, name) for path, _, names in os.walk(place) for name in names)


def holds_row(scenario, row):
    """Is the row in an open batch, in a sealed one, or in the bucket?"""
    files = files_below(scenario.spool)
    if any(row + b"\n" in read(path) for path in files if path.suffix == ".csv"):
        return True
    held = [read(path) for path in files if path.name.endswith(".csv.gz")]
    return any(row in unpack(data) for data in [*held, *reversed(scenario.objects().values())])


def read(path):
    """The bytes of a file that may vanish at any time."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""


def journal_rows(scenario):
    """How many rows open batches hold."""
    return sum(max(0, read(path).count(b"\n") - 1) for path in files_below(scenario.spool) if path.suffix == ".csv")


def run_directories(scenario):
    """The directories of runs in the spool; those that are being made or removed are hidden and do not count."""
    found = scenario.spool.iterdir() if scenario.spool.exists() else ()
    return sorted(path for path in found if path.is_dir() and not path.name.startswith("."))


def state_of(directory):
    """The state of a run in the spool as it was last saved; {} where there is none yet."""
    return json.loads(read(directory / "state.json") or b"{}")


def snapshot(place):
    """All files below a directory with their bytes, to see that nothing has changed."""
    return {str(path.relative_to(place)): path.read_bytes() for path in sorted(place.rglob("*")) if path.is_file()}


def leave_run(scenario, name="job", env=None, **how):
    """A short run whose servers cannot be reached: it stays in the spool. Returns its Job, which has ended."""
    scenario.api.shut_door()
    with Job(scenario, name=name, command=("sh", "-c", f"exit {STATUS}"), env={"TRACKER_GRACE": "0", **(env or {})},
             **how) as job:
        job.done().ended(STATUS, "--upload-spool")
    scenario.api.open_door()
    return job


@contextlib.contextmanager
def full_backlog(server):
    """Connecting to the server's port hangs meanwhile: it listens, nothing accepts, and the queue is full."""
    server.shut_door()
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket())
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind(("127.0.0.1", server.port))
        listener.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", server.port))
        yield
    server.open_door()


@contextlib.contextmanager
def no_answers(server):
    """The server takes every request meanwhile and never answers."""
    before, server.behave = server.behave, lambda request: BlackHole()
    try:
        yield
    finally:
        server.behave = before


def deliver_all(scenario, attempts=1, env=None):
    """--upload-spool until nothing is left, at most so often; returns how often it took."""
    for count in range(1, attempts + 1):
        done = scenario.upload_spool(env=env, secs=60 * PATIENCE)
        if done.status == 0:
            equal(run_directories(scenario), [], f"left in the spool after {done.stdout!r}")
            equal(sum(path.stat().st_size for path in scenario.spool_files()), 0, "bytes in the spool")
            return count
        equal(done.status, 1, f"exit status, stderr {done.stderr!r}")
    raise AssertionError(f"not delivered in {attempts} attempts: {done.stdout!r} {done.stderr!r}")
