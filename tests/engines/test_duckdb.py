#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""DuckDB over a bucket of 200 runs: the views of the guide say what the summaries say."""

import collections
import contextlib
import copy
import datetime
import json
import pathlib
import re
import subprocess
import urllib.parse
import urllib.request

from recipe import BINARY, ROOT, clean_env, directory, engine, follow, free_port, program, text_of
import tap
from tap import Skip, equal, expect, test

RUNS = 200
SQL = ROOT / "docs/guide/fleet.sql"
WEEK = datetime.timedelta(days=7)
NOW = datetime.datetime.now(datetime.timezone.utc)
MONDAY = (NOW - datetime.timedelta(days=NOW.weekday())).date()
RESULTS = [("finished", 0, None, 0)] * 7 + [("failed", 3, None, 0), ("signaled", 143, 15, 0),
                                            ("out of memory", 137, 9, 2)]
FAILED = {"failed", "signaled", "out of memory", "maybe out of memory"}


class Bucket:
    """A bucket of moto, and what our program needs to know of it."""

    def __init__(self, server):
        self.at = f"{server}/bucket"
        self.env = {"AWS_ENDPOINT_URL": server, "AWS_REGION": "us-east-1", "TRACKER_S3_PATH_STYLE": "true",
                    "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
        self.put("", b"")

    def ask(self, words, method="GET", body=None):
        # moto wants a signature and does not check it.
        request = urllib.request.Request(f"{self.at}{words}", data=body, method=method, headers={
            "Content-Type": "application/json",
            "Authorization": "AWS4-HMAC-SHA256 Credential=key/20260101/us-east-1/s3/aws4_request, Signature=0"})
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return answer.read().decode()

    def put(self, key, body):
        self.ask(f"/{urllib.parse.quote(key)}".rstrip("/"), "PUT", body)

    def runs(self):
        """Every run.json by its directory."""
        page = self.ask("?list-type=2&max-keys=1000&prefix=runs/")
        return {key.rpartition("/")[0]: json.loads(self.ask(f"/{key}"))
                for key in re.findall(r"<Key>([^<]*/run\.json)</Key>", page)}


def fill(bucket):
    """Real runs, then copies of them with other numbers in the weeks before."""
    equal(follow("fleet.md", "bucket", **bucket.env).returncode, 3, "the recipe")
    env = clean_env(TRACKER_S3_URI="s3://bucket/runs", TRACKER_S3_LAYOUT="hive", **bucket.env)
    for name, command in (("build", "sleep 0.1"), ("train", "kill -TERM $$")):
        subprocess.run([BINARY, "-q", "-n", name, "--", "sh", "-c", command], env=env, timeout=15, check=False)
    real = list(bucket.runs().values())
    equal(len(real), 3, "real runs")
    for number in range(RUNS - len(real)):
        run = vary(copy.deepcopy(real[number % len(real)]), number)
        bucket.put(f"runs/job={run['job']['job_name']}/date={run['started_at'][:10]}/run={run['run_id']}/run.json",
                   json.dumps(run).encode())


def vary(run, number):
    started = NOW - datetime.timedelta(days=number % 28, hours=1 + number % 5)
    run["started_at"] = f"{started:%Y-%m-%dT%H:%M:%SZ}"
    run["run_id"] = f"{started:%Y%m%dT%H%M%SZ}-{number:08x}"
    summary = run["summary"]
    summary["wall_secs"] = 100 + 37 * number % 900
    summary["cpu"] |= {"total_secs": 50.5 + 11 * number % 300, "wanted_p95": 0.5 + number % 40 / 10, "limit_cores": 4,
                       "limit_source": "cgroup"}
    summary["memory"] |= {"need_mib": (1000 + number % 97) * 1.2 ** (3 - number % 28 // 7), "limit_mib": 4096,
                          "limit_source": "cgroup"}
    if number % 50 == 0:  # not known
        summary["memory"]["limit_mib"] = summary["cpu"]["total_secs"] = None
    summary["result"] |= dict(zip(("verdict", "exit_code", "signal", "oom_kills"), RESULTS[number % len(RESULTS)]))
    if number % 67 == 1:  # its machine was lost
        for key in ("summary", "end", "batches"):
            del run[key]
    return run


# ---- what the views must say, made of the summaries alone

def by_job(runs, more=lambda run: ()):
    rows = collections.defaultdict(list)
    for run in runs:
        rows[(run["job"]["job_name"], *more(run))].append(run)
    return rows


def week_of(run):
    day = datetime.date.fromisoformat(run["started_at"][:10])
    return day - datetime.timedelta(days=day.weekday())


def quantile(values, share=0.95):
    values = sorted(values)
    place = (len(values) - 1) * share
    low = int(place)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (place - low)


def known(runs, *paths):
    """The values of the runs in which all of them are known."""
    def value(run, path):
        group, key = path.split(".") if "." in path else (None, path)
        return run["summary"][group][key] if group else run["summary"][key]
    rows = ([value(run, path) for path in paths] for run in runs)
    return [row for row in rows if None not in row]


def wasted(runs):
    cpu = sum(max(0, had * wall - used)
              for had, wall, used in known(runs, "cpu.limit_cores", "wall_secs", "cpu.total_secs")) / 3600
    memory = sum(max(0, had - need) * wall
                 for had, wall, need in known(runs, "memory.limit_mib", "wall_secs", "memory.need_mib")) / 1024 / 3600
    return cpu, memory


def near(got, want, what):
    if want is None or got is None:
        equal(got, want, what)
        return
    expect(abs(got - want) <= 1e-6 * max(1, abs(want)), f"{what}: got {got}, want {want}")


def check_waste(rows, runs):
    last = by_job(run for run in runs if week_of(run) == MONDAY - WEEK)
    equal({row["job"]: row["runs"] for row in rows}, {key[0]: len(group) for key, group in last.items()}, "last week")
    equal([row["job"] for row in rows], [row["job"] for row in sorted(rows, key=lambda row: -row["core_hours_wasted"])],
          "the worst first")
    for row in rows:
        cpu, memory = wasted(last[(row["job"],)])
        near(row["core_hours_wasted"], cpu, "core hours")
        near(row["gib_hours_wasted"], memory, "GiB hours")


def check_balance(rows, runs):
    """Had is used and wasted, over all weeks (here no job used more than it had)."""
    groups = by_job(runs, lambda run: (str(week_of(run)),))
    equal(len(rows), len(groups), "weeks of jobs")
    for row in rows:
        group = groups[(row["job"], row["week"])]
        equal(row["runs"], len(group), "runs")
        equal(row["runs_with_a_machine"],
              sum(run["summary"][part]["limit_source"] == "machine" for run in group for part in ("cpu",)), "machines")
        for unit in ("core_hours", "gib_hours"):
            if row[f"{unit}_had"] is not None:
                near(row[f"{unit}_had"], row[f"{unit}_used"] + row[f"{unit}_wasted"], f"{unit} of {row}")


def check_needs(rows, runs):
    groups = by_job(runs)
    equal({row["job"] for row in rows}, {key[0] for key in groups}, "jobs")
    for row in rows:
        group = groups[(row["job"],)]
        near(row["cores_needed"], quantile([value for value, in known(group, "cpu.wanted_p95")]), "cores")
        near(row["memory_needed_mib"], quantile([value for value, in known(group, "memory.need_mib")]), "memory")
        equal(row["cores_had"], max(value for value, in known(group, "cpu.limit_cores")), "cores had")


def check_trend(rows, runs):
    weeks = {key: quantile([value for value, in known(group, "memory.need_mib")])
             for key, group in by_job(runs, lambda run: (week_of(run),)).items()}
    growth = {}
    for job, week in weeks:
        before = max((other for name, other in weeks if name == job and other < week), default=None)
        if before and weeks[job, week] / weeks[job, before] > 1.1:
            growth[job, str(week)] = weeks[job, week] / weeks[job, before]
    expect(growth, "no growth to see", weeks)
    equal({(row["job"], row["week"]) for row in rows}, set(growth), "weeks with growth")
    for row in rows:
        near(row["memory_growth"], growth[row["job"], row["week"]], "growth")


def check_failures(rows, runs, lost):
    def way(run):
        result = run["summary"]["result"]
        return result["verdict"], result["exit_code"]
    failed = by_job((run for run in runs if way(run)[0] in FAILED), way)
    want = {key: (len(group), sum(run["summary"]["result"]["oom_kills"] for run in group))
            for key, group in failed.items()}
    old = by_job(run for run in lost if run["started_at"] < f"{NOW - datetime.timedelta(days=1):%Y-%m-%dT%H:%M:%SZ}")
    want |= {(job, "no end", None): (len(group), None) for (job,), group in old.items()}
    equal({(row["job"], row["result"], row["exit_code"]): (row["runs"], row["oom_kills"]) for row in rows}, want,
          "failures")
    expect(any(oom for _, oom in want.values()) and any("no end" in key for key in want), "nothing to see:", want)


class Duck:
    """DuckDB that has read the views; every query is a recipe, or a text."""

    def __init__(self, place, before, runs):
        text = text_of("fleet.md", "query")
        expect("'s3://bucket/runs'" in text and ".read fleet.sql" in text, text)
        self.words = [program("duckdb"), "-batch", "-bail", "-json"]
        self.before = before + text.replace("s3://bucket/runs", runs) + ".print ===\n"
        self.place = place
        (place / "fleet.sql").symlink_to(SQL)

    def ask(self, sql):
        done = subprocess.run(self.words, cwd=self.place, input=self.before + sql, text=True, timeout=60,
                              env=clean_env(HOME=str(self.place), TZ="UTC"), capture_output=True, check=False)
        equal([done.returncode, done.stderr], [0, ""], sql)
        return [json.loads(part) for part in re.findall(r"(?ms)^\[.*?\]$", done.stdout.partition("===")[2])]

    def recipe(self, name):
        return self.ask(text_of("fleet.md", name))


def check_views(duck, everything):
    lost = [run for run in everything if "summary" not in run]
    runs = [run for run in everything if "summary" in run]
    expect(len(lost) > 1 and len(everything) == RUNS, len(lost), len(everything))
    check_waste(duck.recipe("waste")[0], runs)
    check_needs(duck.recipe("needs")[0], runs)
    trend, failures = duck.recipe("trend")
    check_trend(trend, runs)
    check_failures(failures, runs, lost)
    rows, names = duck.ask("FROM waste; SELECT DISTINCT metadata, tags FROM runs;")
    check_balance(rows, runs)
    expect(names, "no metadata")


@contextlib.contextmanager
def bucket_of_runs():
    server = f"http://127.0.0.1:{free_port()}"
    with engine([program("moto_server"), "-p", server.rpartition(":")[2]], f"{server}/moto-api/"):
        bucket = Bucket(server)
        fill(bucket)
        yield bucket


def https_extension():
    """The extension of DuckDB that reads buckets, as PyPI has it; DuckDB's own place for it is not asked here."""
    home = pathlib.Path(program("duckdb")).resolve().parents[1]
    found = next(home.glob("lib/python*/site-packages/duckdb_extension_httpfs/extensions/*/*.duckdb_extension"), None)
    if not found:
        raise Skip("no extension httpfs of DuckDB")
    return found


@test(limit=120)
def a_local_copy_of_the_bucket():
    program("duckdb")
    with bucket_of_runs() as bucket, directory() as place:
        runs = bucket.runs()
        for key, run in runs.items():
            (place / key).mkdir(parents=True)
            (place / key / "run.json").write_text(json.dumps(run), encoding="utf-8")
        check_views(Duck(place, "", str(place / "runs")), list(runs.values()))


@test(limit=120)
def the_bucket_itself():
    extension = https_extension()
    with bucket_of_runs() as bucket, directory() as place:
        host = bucket.env["AWS_ENDPOINT_URL"].removeprefix("http://")
        secret = (f"INSTALL '{extension}'; LOAD httpfs; CREATE SECRET (TYPE s3, KEY_ID 'key', SECRET 'secret', "
                  f"ENDPOINT '{host}', URL_STYLE 'path', USE_SSL false, REGION 'us-east-1');\n")
        check_views(Duck(place, secret, "s3://bucket/runs"), list(bucket.runs().values()))


if __name__ == "__main__":
    tap.main()
