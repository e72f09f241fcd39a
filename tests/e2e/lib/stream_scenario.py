# SPDX-License-Identifier: Apache-2.0
"""What a tracker streams into: a fake Sentinel, a fake S3, a spool, and the tracker that knows them by its environment.

Everything stays on loopback and in one directory that is gone afterwards. Nothing is awaited for a fixed time.
"""

import gzip
import itertools
import os
import pathlib
import signal
import subprocess
import threading
import time

from fake_s3 import FakeS3
from fake_sentinel import FakeSentinel
from net_faults import Fault
from tap import equal, expect
from tracker import SLOW, Tracker, directory, wait_until

TOKEN = "rt-token-5f1d9c7be2"
# How many times longer than on an idle machine something may take.
PATIENCE = 6 if SLOW else 2
# Long enough for everything that is expected to end by itself.
WAIT_SECS = 10 * PATIENCE
STEPS = {"/runs": "register", "refresh-credentials": "refresh", "finish": "finish"}


def step_of(request):
    """Which step of the protocol a request is: register, refresh, finish, upload or region."""
    if request.method in ("PUT", "HEAD"):
        return "upload" if request.method == "PUT" else "region"
    return STEPS.get(request.target) or STEPS.get(request.target.rpartition("/")[2], "unknown")


class Plan:
    """A `behave` by steps: of several faults (or None) one after the other is used up, a single one always strikes.

    `seen` has the steps of all requests and when they came, so far.
    """

    def __init__(self, **faults):
        self._faults = {step: itertools.repeat(some) if isinstance(some, Fault) else iter(some)
                        for step, some in faults.items()}
        self.seen = []
        self._lock = threading.Lock()

    def __call__(self, request):
        step = step_of(request)
        with self._lock:
            self.seen.append((step, time.monotonic()))
            return next(self._faults.get(step, iter(())), None)

    def heal(self):
        """From now on everything works."""
        with self._lock:
            self._faults.clear()

    def steps(self, *names):
        """The steps so far, all or those named, in order."""
        return [name for name, _ in self.seen if not names or name in names]

    def times(self, step):
        return [when for name, when in self.seen if name == step]

    def count(self, step):
        return len(self.times(step))


class Done:
    """A tracker that has ended: exit status, stdout and stderr as text, and how many seconds it took."""

    def __init__(self, status, stdout, stderr, secs):
        self.status, self.stdout, self.stderr, self.secs = status, stdout, stderr, secs

    def warnings(self):
        return [line for line in self.stderr.splitlines() if line.startswith("resource-tracker: warning: ")]

    def ended(self, status, *words, is_silent=False):
        """Checks the status, and that stderr has the words (or nothing at all); returns itself."""
        equal(self.status, status, f"exit status, stdout {self.stdout[-700:]!r}, stderr {self.stderr[-1500:]!r}")
        expect("Sanitizer" not in self.stderr, self.stderr)
        expect(not is_silent or self.stderr == "", "unexpected words on stderr:", self.stderr)
        for word in words:
            expect(word in self.stderr, f"{word!r} is not on stderr:", self.stderr)
        return self


class Scenario:
    """Use it in a with statement. `plan` is for both fakes; settings of the fakes may be changed before tracking."""

    def __init__(self, plan=None, **sentinel):
        self.plan = plan or Plan()
        self.s3 = FakeS3(behave=self.plan)
        self.api = FakeSentinel(self.s3, token=TOKEN, behave=self.plan, **sentinel)
        self._directory = directory()
        self.directory = self._directory.__enter__()
        self.directory.chmod(0o777)  # for trackers of another user
        self.spool = self.directory / "spool"
        self.csv = self.directory / "local.csv"
        self.urls = {"SENTINEL_API_URL": self.api.url, "AWS_ENDPOINT_URL": self.s3.url}

    def __enter__(self):
        return self

    def __exit__(self, *what):
        self.api.stop()
        self.s3.stop()
        self._directory.__exit__(*what)

    def env(self, **more):
        """Of the tracker; a variable that is None is left out."""
        env = {**self.urls, "SENTINEL_API_TOKEN": TOKEN, "TRACKER_SPOOL": str(self.spool),
               "TRACKER_COLLECT_CLOUD": "false", "HOME": str(self.directory),
               "XDG_STATE_HOME": str(self.directory / "state"), "TRACKER_UPLOAD_INTERVAL": "1",
               "AWS_EC2_METADATA_DISABLED": "true"}
        return {name: str(value) for name, value in {**env, **more}.items() if value is not None}

    def local(self):
        """The options that write the CSV to compare with."""
        return ("-f", "csv", "--csv-columns", "full", "-o", str(self.csv))

    def start(self, *words, env=None, **how):
        """A running tracker, for a with statement; its command reads nothing and its stdout is a pipe."""
        words = [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in words]
        return Tracker(*words, env=self.env(**(env or {})), cwd=self.directory, **how)

    def track(self, *words, env=None, secs=WAIT_SECS, **how):
        """Runs a tracker with the local CSV to its end."""
        return self.run(*self.local(), *words, env=env, secs=secs, **how)

    def run(self, *words, env=None, secs=WAIT_SECS, **how):
        with self.start(*words, env=env, **how) as tracker:
            return wait_done(tracker, secs)

    def upload_spool(self, env=None, secs=WAIT_SECS, **how):
        return self.run("--upload-spool", env=env, secs=secs, **how)

    def spool_files(self):
        """All files below the spool, sorted."""
        found = []
        for place, _, names in os.walk(self.spool):  # which goes on where something vanishes meanwhile
            found += [pathlib.Path(place) / name for name in names]
        return sorted(path for path in found if path.is_file())

    def spooled_batches(self):
        return [path for path in self.spool_files() if path.name.endswith(".csv.gz")]

    def the_run(self):
        """The only run that was registered."""
        equal(len(self.api.runs), 1, "registered runs")
        return next(iter(self.api.runs.values()))

    def last_run(self):
        """The newest one: a tracker that never saw the answer to a registration registers again."""
        expect(self.api.runs, "no run was registered")
        return list(self.api.runs.values())[-1]

    def registered(self):
        return self.the_run()["register"]

    def finished(self, run=None):
        """The body of the finish that took effect, of the only run unless another is given."""
        finish = (run or self.the_run())["finish"]
        expect(finish is not None, "the run was not finished")
        return finish

    def objects(self):
        """Key to bytes of all objects, in order."""
        return dict(sorted((key, data) for held in self.s3.objects.values() for key, data in held.items()))

    def check_strict(self):
        """Nothing was sent that a strict server does not like."""
        equal(self.api.violations + self.s3.violations, [], "violations")

    def check_delivered(self, run=None):
        """The run is finished, all rows of the local CSV have arrived byte for byte, and the spool is empty."""
        self.check_strict()
        self.finished(run)
        equal(self.api.run_csv(run or self.the_run()), self.csv.read_text(encoding="utf-8"), "the CSV that arrived")
        equal(self.spool_files(), [], "files in the spool")

    def check_spooled(self):
        """Nothing of the local CSV is missing: it has arrived, or it waits in the spool, or both."""
        self.check_strict()
        rows = csv_rows(self.csv.read_bytes())
        held = {row for data in self.objects().values() for row in csv_rows(gzip.decompress(data))}
        held |= {row for path in self.spooled_batches() for row in csv_rows(gzip.decompress(path.read_bytes()))}
        equal([row for row in rows if row not in held], [], "rows that are neither uploaded nor spooled")
        expect(self.spool_files(), "nothing is in the spool")

    def holds_secret(self, text, *more):
        """The first secret in the text, if any: the token, and every key that the fake has given out."""
        keys = [part for key in list(self.s3.keys.values()) for part in (key.secret, key.token) if part]
        return next((secret for secret in (TOKEN, *keys, *more) if len(secret) > 8 and secret in text), None)


def wait_done(tracker, secs=WAIT_SECS):
    """Waits for a tracker's end while its stdout is read."""
    try:
        stdout, _ = tracker.process.communicate(timeout=secs)
    except subprocess.TimeoutExpired as error:
        raise AssertionError(f"did not end within {secs} s; stderr {tracker.stderr()[-1500:]!r}") from error
    status = tracker.process.returncode
    return Done(128 - status if status < 0 else status, (stdout or b"").decode("utf-8", "surrogateescape"),
                tracker.stderr(), time.monotonic() - tracker.started)


def stop(tracker, number=signal.SIGTERM, secs=WAIT_SECS):
    """Sends the signal and waits for the end."""
    tracker.send(number)
    return wait_done(tracker, secs)


def csv_rows(data):
    """The lines of a CSV behind its header, as bytes without LF."""
    expect(data.endswith(b"\n"), "a CSV that does not end with LF:", data[-200:])
    return data.split(b"\n")[1:-1]


def wait_for(condition, what, secs=WAIT_SECS):
    """Polls until the condition is true; returns its value."""
    return wait_until(condition, what, secs)
