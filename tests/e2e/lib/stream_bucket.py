# SPDX-License-Identifier: Apache-2.0
"""The scenario of streaming with a bucket of the user's own, as a target beside Sentinel or instead of it."""

import gzip
import json
import re

from stream_scenario import Scenario, csv_rows
from tap import equal, expect

KEY, SECRET = "AKIAOWNBUCKET", "own/secret+0123456789abcdef"
STAMP = r"\d{8}T\d{6}Z-[0-9a-f]{8}"


class BucketScenario(Scenario):
    """The tracker knows the bucket "mine", and its key by the environment; Sentinel only where a test says so."""

    def __init__(self, behave=None, **more):
        super().__init__(**more)
        self.s3.behave = behave
        self.s3.objects["mine"] = {}
        self.s3.add_key(KEY, SECRET)

    def env(self, **more):
        return super().env(**{"SENTINEL_API_TOKEN": None, "TRACKER_S3_URI": "s3://mine/pre", "AWS_ACCESS_KEY_ID": KEY,
                              "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": self.s3.region, **more})

    def held(self, bucket="mine"):
        return dict(sorted(self.s3.objects[bucket].items()))

    def batches(self, bucket="mine"):
        """Key to text of what has been uploaded."""
        return {key: gzip.decompress(data) for key, data in self.held(bucket).items() if key.endswith(".csv.gz")}

    def run_directory(self, bucket="mine"):
        """The one directory in which everything is, without a slash at the end."""
        directories = {key.rpartition("/")[0] for key in self.held(bucket)}
        equal(len(directories), 1, f"directories {sorted(directories)}")
        return directories.pop()

    def run_json(self, bucket="mine"):
        data = self.held(bucket).get(f"{self.run_directory(bucket)}/run.json")
        expect(data is not None, "no run.json among", sorted(self.held(bucket)))
        return json.loads(data)

    def check_arrived(self, bucket="mine"):
        """All rows are there, once and in order, in whole CSVs with consecutive numbers; run.json knows the end."""
        self.check_strict()
        directory, batches = self.run_directory(bucket), self.batches(bucket)
        hive = rf"/job=[\w.-]+/date=[\d-]+/run={STAMP}$"
        expect(re.search(rf"(^|/)[A-Za-z0-9_][A-Za-z0-9._-]*/{STAMP}$|{hive}", directory),
               "directory", directory)
        equal(list(batches), [f"{directory}/{number:06d}.csv.gz" for number in range(len(batches))], "batches")
        header = self.csv.read_bytes().partition(b"\n")[0]
        equal({text.partition(b"\n")[0] for text in batches.values()}, {header}, "headers")
        rows = [row for text in batches.values() for row in csv_rows(text)]
        equal(rows, csv_rows(self.csv.read_bytes()), "rows that arrived")
        run = self.run_json(bucket)
        expect("end" in run, "run.json does not know the end:", run)
        equal([run["batches"], run["run_id"]], [len(batches), directory.rpartition("/")[2].removeprefix("run=")],
              "batches and id in run.json")
        return run

    def objects(self):
        """Of the batches only: run.json is no CSV."""
        return {key: data for key, data in super().objects().items() if key.endswith(".csv.gz")}

    def check_nothing_left(self):
        equal(self.spool_files(), [], "files in the spool")

    def check_waiting(self, done):
        """The rows wait in the spool, which is announced together with how to deliver them."""
        self.check_spooled()
        waiting = [line for line in done.warnings() if "resource-tracker --upload-spool" in line]
        equal(len(waiting), 1, f"lines that say how to deliver, of {done.stderr!r}")
        expect(str(self.spool) in waiting[0], "the spool is not named:", waiting[0])
        expect(not self.holds_secret(done.stderr), "a secret on stderr:", done.stderr)

    def deliver(self, **env):
        """Delivers what waits; everything is there then."""
        done = self.upload_spool(env=env)
        done.ended(0, "")
        self.check_nothing_left()
        return done
