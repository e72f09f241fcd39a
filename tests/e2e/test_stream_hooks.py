#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HTTP hooks, and what is reported of the machine, its cloud and the scheduler or CI system that runs the job."""

import json
import os
import pathlib
import re
import socket
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_http import Answer, Server
from net_faults import BlackHole, Close, Drip, FullBacklog, LostAnswer, Malformed, Oversized, Reset, Slow, Status
from stream_bucket import BucketScenario
from stream_cloud import PHYSICAL, on_a_machine
from stream_scenario import PATIENCE, TOKEN, Scenario, stop, wait_done, wait_for
from stream_together import together, together_as
from tap import equal, expect, test
from tracker import SLOW

READ = ("--", "sh", "-c", "read line; exit 3")  # until stdin is closed
PATH, QUERY, HEADER = "s3cr3t-path", "s3cr3t-query", "s3cr3t-header"
HEADERS = {"TRACKER_HTTP_HEADERS": f"Authorization=Bearer {HEADER},X-Note=a\\,b=c"}
EVENTS = ("start", "heartbeat", "stop")
KEYS = {"event", "run_id", "job_name", "hostname", "timestamp", "elapsed_secs"}
END_KEYS = {"exit_code", "run_status"}
# Even on the slowest machine a grace of 1 s, and the 2 s for the cloud, are over then; a hook has 10 s of its own.
LATE_SECS = 8


class Hooks(Server):
    """Takes every POST; `reported` has the events in order, `headers` those of each."""

    def __init__(self, behave=None):
        self.reported, self.headers = [], []
        super().__init__(behave=behave)

    def handle(self, request):
        body = json.loads(request.body)
        if request.method != "POST" or request.path != f"/{PATH}/{body['event']}":
            self.dislike(f"{request.method} {request.target} for {body}")
        self.reported.append(body)
        self.headers.append({name.lower(): value for name, value in request.headers})
        return Answer(200, [("Content-Type", "text/plain")], b"thanks\n")

    def events(self):
        return [body["event"] for body in self.reported]

    def env(self, *events, **more):
        """The settings for these events, of all three where none is named; alone, so without Sentinel."""
        urls = {f"TRACKER_HTTP_{event.upper()}_URL": f"{self.url}/{PATH}/{event}?key={QUERY}"
                for event in events or EVENTS}
        return {"SENTINEL_API_TOKEN": None, "TRACKER_HTTP_HEARTBEAT_SECS": "1", **HEADERS, **urls, **more}


def check_discreet(stderr):
    """The host may be named, and nothing that could be a secret."""
    for secret in (PATH, QUERY, HEADER):
        expect(secret not in stderr, f"{secret} on stderr:", stderr)


def check_alone(scenario):
    """Hooks alone leave nothing on the disk, and ask no other server."""
    equal([scenario.spool.exists(), (scenario.directory / "state").exists(), scenario.api.requests,
           scenario.s3.requests], [False, False, [], []], "spool, state directory, requests to Sentinel and S3")


# ---- what is reported

@together
def start_heartbeats_and_stop_report_a_run():
    with Scenario() as scenario, Hooks() as hooks:
        began = time.time()
        with scenario.start("-q", "-i", "3600", "-n", "nightly \u00fc", *READ, stdin=subprocess.PIPE,
                            env=hooks.env()) as tracker:
            wait_for(lambda: hooks.events().count("heartbeat") >= 2, "two heartbeats")
            wait_done(tracker).ended(3, is_silent=True)
        equal(hooks.violations, [], "violations")
        equal([hooks.events()[0], set(hooks.events()[1:-1]), hooks.events()[-1]], ["start", {"heartbeat"}, "stop"],
              "order")
        check_bodies(hooks.reported, began)
        check_headers(hooks.headers)
        check_alone(scenario)


def check_bodies(reported, began):
    for body in reported:
        equal(set(body), KEYS | (END_KEYS if body["event"] == "stop" else set()), f"keys of {body}")
        equal([body["job_name"], body["hostname"]], ["nightly \u00fc", socket.gethostname()], "job and host")
        expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", body["timestamp"]), "time", body)
    equal(len({body["run_id"] for body in reported}), 1, "run ids")
    expect(re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", reported[0]["run_id"]), "run id", reported[0])
    elapsed = [body["elapsed_secs"] for body in reported]
    expect(0 <= elapsed[0] < 1 * PATIENCE and elapsed == sorted(elapsed), "elapsed", elapsed)
    expect(2 <= elapsed[-1] <= time.time() - began, "elapsed at the end", elapsed)
    equal([reported[-1]["exit_code"], reported[-1]["run_status"]], [3, "failed"], "end")


def check_headers(headers):
    for found in headers:
        equal([found.get(name) for name in ("authorization", "x-note", "content-type")],
              [f"Bearer {HEADER}", "a,b=c", "application/json"], "headers")
        expect(found["user-agent"].startswith("resource-tracker/"), "User-Agent", found)


def outcome_is_reported(command, status, run_status):
    with Scenario() as scenario, Hooks() as hooks:
        equal(scenario.run("-q", "--", *command, env=hooks.env()).status, status, "status")
        equal(hooks.events(), ["start", "stop"], "events")
        equal([hooks.reported[-1]["exit_code"], hooks.reported[-1]["run_status"]], [status, run_status], "end")
        check_alone(scenario)


for words, code, outcome in ((["true"], 0, "finished"), (["sh", "-c", "exit 200"], 200, "failed"),
                             (["sh", "-c", "kill -9 $$"], 137, "failed"), (["/nonexistent/x"], 127, "failed"),
                             (["/etc/passwd"], 126, "failed")):
    tap.add(f"the stop hook reports status {code}", outcome_is_reported, words, code, outcome)


@test
def a_host_that_is_stopped_is_finished():
    with Scenario() as scenario, Hooks() as hooks:
        with scenario.start("-q", env=hooks.env()) as tracker:
            wait_for(hooks.events, "the start hook")
            stop(tracker).ended(0, is_silent=True)
        equal(hooks.events(), ["start", "stop"], "events")
        equal([hooks.reported[-1]["exit_code"], hooks.reported[-1]["run_status"]], [0, "finished"], "end")


def one_hook_alone(event):
    with Scenario() as scenario, Hooks() as hooks:
        scenario.run("-q", "--", "true", env=hooks.env(event)).ended(0, is_silent=True)
        equal(hooks.events(), [event] if event != "heartbeat" else [], "events")


for name in EVENTS:
    tap.add(f"a {name} hook alone", one_hook_alone, name)


@test
def the_table_of_the_configuration_file():
    with Scenario() as scenario, Hooks() as hooks:
        (scenario.directory / "resource-tracker.toml").write_text(
            f'[http]\nstop_url = "{hooks.url}/{PATH}/stop"\n[http.headers]\nX-From = "file"\nX-Note = "file"\n',
            encoding="ascii")
        scenario.run("-q", "--", "true", env={"SENTINEL_API_TOKEN": None, **HEADERS}).ended(0, is_silent=True)
        equal([(found["x-from"], found["x-note"]) for found in hooks.headers], [("file", "a,b=c")], "headers")


@test
def what_is_omitted_is_not_reported_to_hooks():
    with Scenario() as scenario, Hooks() as hooks:
        scenario.run("-q", "--", "true", env=hooks.env(TRACKER_OMIT="host_hostname")).ended(0, is_silent=True)
        equal(["hostname" in body for body in hooks.reported], [False, False], "host names")


@test
def the_command_does_not_get_the_headers():
    with Scenario() as scenario, Hooks() as hooks:
        done = scenario.run("-q", "--", "env", env=hooks.env("stop")).ended(0, is_silent=True)
        expect(HEADER not in done.stdout and "PATH=" in done.stdout, "environment", done.stdout)


@test
def hooks_go_with_samples_and_targets():
    with BucketScenario() as scenario, Hooks() as hooks:
        env = hooks.env(SENTINEL_API_TOKEN=TOKEN, TRACKER_GRACE="10")
        scenario.track("--", "true", env=env).ended(0, is_silent=True)
        equal(hooks.events(), ["start", "stop"], "events")
        equal(hooks.reported[0]["run_id"], scenario.check_arrived()["run_id"], "run id of hook and bucket")
        scenario.check_delivered()


# ---- hooks that fail

def refused_before_the_start(env, words):
    with Scenario() as scenario:
        done = scenario.run("-q", "--", "touch", "ran", env={"SENTINEL_API_TOKEN": None, **env}).ended(125, words)
        equal([(scenario.directory / "ran").exists(), len(done.stderr.splitlines())], [False, 1],
              f"whether the command ran, and lines of {done.stderr!r}")
        check_discreet(done.stderr)


for what, refused, said in (
        ("no URL", {"TRACKER_HTTP_START_URL": f"{PATH}/x"},
         "error: http.start_url (TRACKER_HTTP_START_URL) cannot be used: it must begin with http:// or https://\n"),
        ("another kind of URL", {"TRACKER_HTTP_STOP_URL": f"ftp://127.0.0.1/{PATH}"}, "stop_url"),
        ("a port that is none", {"TRACKER_HTTP_HEARTBEAT_URL": f"http://127.0.0.1:99999/{PATH}"}, "heartbeat_url"),
        ("plain http to another host", {"TRACKER_HTTP_START_URL": f"http://192.0.2.7/{PATH}"}, "TRACKER_ALLOW_HTTP"),
        ("a header of our own", {"TRACKER_HTTP_HEADERS": f"Host={HEADER}"}, "TRACKER_HTTP_HEADERS"),
        ("a header with a line break", {"TRACKER_HTTP_HEADERS": f"X-A=a\r\nX-B: {HEADER}"}, "TRACKER_HTTP_HEADERS"),
        ("an odd name of a header", {"TRACKER_HTTP_HEADERS": f"X A={HEADER}"}, "TRACKER_HTTP_HEADERS")):
    tap.add(f"{what} is refused before the command runs", refused_before_the_start, refused, said)


def fault_is_a_warning(fault, count):
    """Every hook fails by the fault; that is reported as often as given, and nothing else changes."""
    with Scenario() as scenario, Hooks(behave=lambda request: fault) as hooks:
        done = scenario.run("-vv", "-q", "--", "sh", "-c", "exit 3", env=hooks.env("start", "stop", TRACKER_GRACE="10"))
        done.ended(3)
        reported = [line for line in done.warnings() if "hook" in line]
        equal([len(reported), len(done.warnings())], [count] * 2, f"warnings in {done.stderr!r}")
        expect(count < 2 or ("start" in reported[0] and "stop" in reported[1]), "which hooks:", reported)
        expect(all("127.0.0.1" in line for line in reported), "the host is not named:", reported)
        check_discreet(done.stderr)
        check_alone(scenario)


for kind, fault_, times in (
        ("404", Status(404, body=f"no {PATH} {QUERY} {HEADER}".encode()), 2), ("500", Status(500), 2),
        ("401", Status(401), 2), ("reset", Reset(), 2), ("end", Close(), 2),
        ("reset after the effect", LostAnswer(), 2), ("mail server", Malformed("garbage"), 2),
        ("endless header", Malformed("endless-header"), 2), ("answer of 4 MiB", Oversized(4 << 20), 2),
        ("204", Status(204), 0), ("slow answer", Slow(0.3), 0), ("drip", Drip(800), 0)):
    together_as(f"hooks answered by a {kind} change nothing else", fault_is_a_warning, fault_, times)


@test
def a_redirect_is_not_followed():
    with Scenario() as scenario, Hooks() as elsewhere:
        moved = Status(307, [("Location", f"{elsewhere.url}/{PATH}/start")])
        with Hooks(behave=lambda request: moved) as hooks:
            done = scenario.run("-q", "--", "true", env=hooks.env("start")).ended(0, "start hook", "307")
        equal([elsewhere.connections, len(hooks.requests)], [0, 1], "connections elsewhere, and requests")
        check_discreet(done.stderr)


@test
def hooks_without_a_listener_are_warnings():
    with Scenario() as scenario, Hooks() as hooks:
        hooks.shut_door()
        done = scenario.run("-q", "--", "sh", "-c", "exit 3", env=hooks.env("start", "stop")).ended(3)
        equal(len([line for line in done.warnings() if "hook" in line and "127.0.0.1" in line]), 2, done.stderr)
        check_discreet(done.stderr)


def hanging_hooks_end_with_the_grace(make_server):
    """At the url of the server nothing is answered."""
    with Scenario() as scenario, make_server() as server:
        env = Hooks.env(server, TRACKER_GRACE="1")
        done = scenario.run("-q", "--", "sh", "-c", "exit 3", env=env).ended(3, "hook")
        expect(done.secs < LATE_SECS, f"took {done.secs:.1f} s")
        check_discreet(done.stderr)
        check_alone(scenario)


tap.add("hooks that never answer hold up the exit for the grace at most", hanging_hooks_end_with_the_grace,
        lambda: Hooks(behave=lambda request: BlackHole()))
tap.add("hooks that cannot be connected to hold up the exit for the grace at most", hanging_hooks_end_with_the_grace,
        FullBacklog)


@together
def a_hook_that_hangs_does_not_hold_up_samples():
    with Scenario() as scenario, Hooks(behave=lambda request: BlackHole()) as hooks:
        with scenario.start(*scenario.local(), "-i", "0.05", *READ, stdin=subprocess.PIPE,
                            env=hooks.env(TRACKER_GRACE="0.5")) as tracker:
            wait_for(lambda: hooks.requests, "a request")
            wait_for(lambda: scenario.csv.exists() and len(scenario.csv.read_bytes().splitlines()) > 20, "20 samples")
            wait_done(tracker).ended(3)


def hanging_hook_and_a_bucket(event):
    """A hook that never answers leaves the bucket, which is healthy, time for everything."""
    with BucketScenario() as scenario, Hooks(behave=lambda request: BlackHole()) as hooks:
        with scenario.start(*scenario.local(), "-i", "0.1", *READ, stdin=subprocess.PIPE,
                            env=hooks.env(event, TRACKER_GRACE="4")) as tracker:
            wait_for(lambda: hooks.requests or event == "stop", "a request to the hook")
            done = wait_done(tracker).ended(3, f"{event} hook")
        scenario.check_arrived()
        scenario.check_nothing_left()
        check_discreet(done.stderr)


for name in EVENTS:
    together_as(f"a {name} hook that hangs leaves the bucket its time", hanging_hook_and_a_bucket, name)


@together
def the_stop_hook_has_the_length_of_the_run():
    """However late it is sent: a bucket that hangs as the run ends has a third of the grace time before it."""
    with BucketScenario(behave=lambda request: BlackHole()) as scenario, Hooks() as hooks:
        with scenario.start("-q", *READ, stdin=subprocess.PIPE,
                            env=hooks.env("start", "stop", TRACKER_GRACE="9")) as tracker:
            wait_for(lambda: scenario.s3.requests, "a request to the bucket")
            secs = time.monotonic() - tracker.started
            wait_done(tracker).ended(3, "not everything was delivered")
        equal(hooks.events(), ["start", "stop"], "events")
        expect(hooks.reported[-1]["elapsed_secs"] < secs + 1, f"after {secs} s:", hooks.reported[-1])


@together
def a_signal_that_ends_the_grace_time_is_the_reason():
    """The command has ended, and nothing answers."""
    with BucketScenario(behave=lambda request: BlackHole()) as scenario, Hooks() as hooks:
        with scenario.start("-q", *READ, stdin=subprocess.PIPE, env=hooks.env("stop", TRACKER_GRACE="600")) as tracker:
            wait_for(lambda: scenario.s3.requests, "a request to the bucket")
            command = pathlib.Path(f"/proc/{tracker.pid}/task/{tracker.pid}/children")
            tracker.process.stdin.close()
            tracker.process.stdin = None
            wait_for(lambda: command.read_text(encoding="ascii").strip() == "", "the end of the command")
            stop(tracker).ended(3, "the stop hook: a signal ended the wait\n", "delivered: a signal ended the wait\n")


@together
def a_slow_start_hook_still_comes_first():
    slow = [Slow(1.5)]
    with Scenario() as scenario, Hooks(behave=lambda request: slow.pop() if slow else None) as hooks:
        with scenario.start("-q", *READ, stdin=subprocess.PIPE, env=hooks.env()) as tracker:
            wait_for(lambda: "heartbeat" in hooks.events(), "a heartbeat")
            wait_done(tracker).ended(3, is_silent=True)
        equal([hooks.events()[0], hooks.events()[-1], hooks.events().count("start")], ["start", "stop", 1], "order")


@together
def a_run_that_ends_during_a_heartbeat_is_reported_at_once():
    """No heartbeat would be due for as long as the grace time lasts."""
    slow_heartbeat = lambda request: Slow(1) if "heartbeat" in request.target else None
    with Scenario() as scenario, Hooks(behave=slow_heartbeat) as hooks:
        env = hooks.env(TRACKER_HTTP_HEARTBEAT_SECS="3", TRACKER_GRACE=str(20 * PATIENCE))
        with scenario.start("-q", *READ, stdin=subprocess.PIPE, env=env) as tracker:
            wait_for(lambda: len(hooks.requests) == 2, "a heartbeat on its way")
            secs = time.monotonic() - tracker.started
            done = wait_done(tracker).ended(3, is_silent=True)
        equal(hooks.events(), ["start", "heartbeat", "stop"], "events")
        expect(done.secs - secs < 1 + PATIENCE / 2, f"took {done.secs - secs} s to end")


@together
def heartbeats_come_while_another_target_hangs():
    with BucketScenario(behave=lambda request: BlackHole()) as scenario, Hooks() as hooks:
        with scenario.start(*scenario.local(), *READ, stdin=subprocess.PIPE,
                            env=hooks.env(TRACKER_GRACE="1")) as tracker:
            wait_for(lambda: scenario.s3.requests, "a request to the bucket")
            begun = len(hooks.reported)
            wait_for(lambda: len(hooks.reported) >= begun + 3, "three heartbeats")
            equal(len(scenario.s3.requests), 1, "attempts at the bucket")
            done = wait_done(tracker).ended(3, "not everything was delivered")
        equal([hooks.events()[0], set(hooks.events()[1:-1]), hooks.events()[-1]], ["start", {"heartbeat"}, "stop"],
              "order")
        scenario.check_waiting(done)


@together
def a_heartbeat_that_fails_does_not_end_the_others():
    faults = [None, Status(500), Reset()]
    with Scenario() as scenario, Hooks(behave=lambda request: faults.pop(0) if faults else None) as hooks:
        with scenario.start("-q", *READ, stdin=subprocess.PIPE, env=hooks.env()) as tracker:
            wait_for(lambda: "heartbeat" in hooks.events(), "a heartbeat")
            done = wait_done(tracker).ended(3, "heartbeat hook")
        equal([hooks.events()[0], hooks.events()[-1]], ["start", "stop"], "first and last")
        check_discreet(done.stderr)


# ---- the cloud

FACTS = {
    "aws": {"account_id": "123456789012", "region_id": "eu-west-1", "zone_id": "eu-west-1b",
            "instance_type": "m7g.4xlarge"},
    "gcp": {"account_id": "123456789012", "region_id": "europe-west1", "zone_id": "europe-west1-b",
            "instance_type": "e2-standard-4"},
    "azure": {"account_id": "8d10da13-8125-4ba9-a717-bf7490507b3d", "region_id": "westeurope", "zone_id": "1",
              "instance_type": "Standard_D4s_v5"},
    "hcloud": {"region_id": "eu-central", "zone_id": "fsn1-dc14"},
    "upcloud": {"region_id": "fi-hel1"},
    "vultr": {"region_id": "EWR"},
    "alicloud": {"region_id": "cn-hangzhou", "zone_id": "cn-hangzhou-i", "instance_type": "ecs.g7.large"},
    "ovh": {"instance_type": "b3-8"},
}


def cloud_of(machine, status=0):
    """What the only run was registered with about the cloud."""
    equal([machine["status"], machine["stderr"], machine["violations"]], [status, "", []], "status and words")
    equal(len(machine["runs"]), 1, "registered runs")
    expect(machine["runs"][0].get("host_vcpus"), "a registration without the host", machine["runs"])
    return {name: value for name, value in machine["runs"][0].items() if name.startswith("cloud_")}


def reported_of(vendor, **facts):
    return {"cloud_vendor_id": vendor, **{f"cloud_{name}": value for name, value in facts.items()}}


def vendor_is_found(vendor):
    equal(cloud_of(on_a_machine(vendor)), reported_of(vendor, **FACTS[vendor]), "the cloud")


for name in FACTS:
    together_as(f"{name} is found", vendor_is_found, name)


@together
def an_unrelated_web_server_is_no_cloud():
    machine = on_a_machine("portal")
    equal(cloud_of(machine), {}, "the cloud")
    expect(machine["asked"], "no service was asked")


@together
def a_copy_of_amazon_is_no_amazon():
    equal(cloud_of(on_a_machine("aws", settings=["domain=example.com"])), {}, "the cloud")


@together
def values_that_make_no_sense_are_dropped():
    machine = on_a_machine("aws", settings=["region=<html>", "type=m7g 4xlarge"])
    facts = {name: FACTS["aws"][name] for name in ("account_id", "zone_id")}
    equal(cloud_of(machine), reported_of("aws", **facts), "the cloud")


@together
def a_machine_without_metadata_has_no_cloud():
    equal(cloud_of(on_a_machine()), {}, "the cloud")


@test
def a_metadata_server_that_hangs_holds_up_the_exit_by_two_seconds_at_most():
    machine = on_a_machine("hang")
    equal(cloud_of(machine), {}, "the cloud")
    expect(machine["secs"] < LATE_SECS, f"took {machine['secs']:.1f} s")


@together
def the_proxy_is_not_for_the_metadata_server():
    names = ("http_proxy", "https_proxy", "HTTPS_PROXY", "HTTP_PROXY", "all_proxy")
    machine = on_a_machine("aws", **dict.fromkeys(names, "PROXY"))
    equal(cloud_of(machine), reported_of("aws", **FACTS["aws"]), "the cloud")
    equal(machine["proxied"], [], "requests to the proxy")


@together
def switched_off_no_service_is_asked():
    machine = on_a_machine("aws", TRACKER_COLLECT_CLOUD="false")
    equal([cloud_of(machine), machine["asked"]], [{}, []], "the cloud, and who was asked")


@together
def without_a_target_no_service_is_asked():
    machine = on_a_machine("aws", SENTINEL_API_TOKEN=None)
    equal([machine["status"], machine["stderr"], machine["runs"], machine["asked"]], [0, "", [], []], "a quiet run")


@together
def what_is_omitted_of_the_cloud_is_not_reported():
    machine = on_a_machine("aws", TRACKER_OMIT="cloud_account_id,cloud_zone_id")
    facts = {name: FACTS["aws"][name] for name in ("region_id", "instance_type")}
    equal(cloud_of(machine), reported_of("aws", **facts), "the cloud")


@together
def a_physical_machine_is_not_asked():
    machine = on_a_machine("aws", dmi={"sys_vendor": "Dell Inc.", "product_name": "PowerEdge"}, cpuinfo=PHYSICAL)
    equal([cloud_of(machine), machine["asked"]], [{}, []], "the cloud, and who was asked")


@together
def firmware_that_names_a_cloud_saves_asking_the_others():
    machine = on_a_machine("aws", dmi={"sys_vendor": "Amazon EC2", "board_asset_tag": "i-0a7f3c11d2e4b5968"})
    equal(cloud_of(machine), reported_of("aws", **FACTS["aws"]), "the cloud")
    equal([line.split()[1][:8] for line in machine["asked"]], ["/latest/"] * 6, f"requests {machine['asked']}")
    equal(machine["runs"][0]["host_id"], "i-0a7f3c11d2e4b5968", "host id")


@together
def firmware_that_names_another_cloud_is_believed():
    machine = on_a_machine("aws", dmi={"sys_vendor": "Hetzner", "product_name": "vServer"})
    equal(cloud_of(machine), {}, "the cloud")
    equal(machine["asked"], ["GET /hetzner/v1/metadata 401"], "requests")


# ---- the job

GITHUB = {"GITHUB_ACTIONS": "true", "GITHUB_REPOSITORY": "octo/repo", "GITHUB_WORKFLOW": "CI on push",
          "GITHUB_JOB": "unit-tests", "GITHUB_RUN_ID": "1658821493", "GITHUB_TOKEN": "ghs_0123456789abcdef",
          "GITHUB_ACTOR": "octocat"}
GITHUB_JOB = {"orchestrator": "github-actions", "project_name": "octo/repo", "stage_name": "CI on push",
              "job_name": "unit-tests", "external_run_id": "1658821493"}
SLURM = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "train.sh", "SLURM_ARRAY_JOB_ID": "4700",
         "SLURM_ARRAY_TASK_ID": "11", "SLURM_JOB_ACCOUNT": "physics"}
SLURM_JOB = {"executor": "slurm", "job_name": "train.sh", "external_run_id": "4700_11", "task_name": "11"}
PLAIN_SLURM = {"SLURM_JOB_ID": "4711", "SLURM_JOB_NAME": "train.sh"}


def metadata_is_reported(job, words, env):
    with Scenario() as scenario:
        scenario.run("-q", *words, "--", "true", env=env).ended(0, is_silent=True)
        scenario.check_strict()
        reported = {name: value for name, value in scenario.registered().items()
                    if not name.startswith(("host_", "cloud_"))}
    equal(reported, {**job, "command": '["true"]'}, "the job")


for title, job_, words_, env_ in (
        ("a job of GitHub Actions", GITHUB_JOB, [], GITHUB),
        ("a task of a Slurm array", SLURM_JOB, [], SLURM),
        ("a job of Slurm", {"executor": "slurm", "job_name": "train.sh", "external_run_id": "4711"}, [], PLAIN_SLURM),
        ("GitHub Actions on Slurm", {**SLURM_JOB, **GITHUB_JOB}, [], {**GITHUB, **SLURM}),
        ("a job whose name is given", {**GITHUB_JOB, "job_name": "mine", "tags": {"a": "1"}},
         ["-n", "mine", "--tag", "a=1"], GITHUB),
        ("a job whose name is taken away", {name: value for name, value in SLURM_JOB.items() if name != "job_name"},
         ["--job-name="], SLURM),
        ("a job whose surroundings do not matter", {}, [], {**GITHUB, **SLURM, "TRACKER_AUTO_METADATA": "off"})):
    tap.add(f"{title} is registered", metadata_is_reported, job_, words_, env_)


# ---- names that cannot be looked up

def with_names(scenario, hooks, **more):
    """The settings of a tracker whose servers have names: those that end in .never are looked up for ever."""
    library = os.environ.get("SLOW_NAMES_LIB", "")
    if SLOW or not os.path.exists(library):
        raise tap.Skip("SLOW_NAMES_LIB does not name a library, or there is another one in its way")
    env = {name: value.replace("127.0.0.1", "hook.never") for name, value in hooks.env().items() if value}
    env = {**env, "SENTINEL_API_TOKEN": TOKEN, "TRACKER_ALLOW_HTTP": "true", "LD_PRELOAD": library,
           "SENTINEL_API_URL": scenario.api.url.replace("127.0.0.1", "api.here"), **more}
    if scenario.run("-q", "--", "true", env={**env, "TRACKER_HTTP_START_URL": None, "TRACKER_HTTP_HEARTBEAT_URL": None,
                                             "TRACKER_HTTP_STOP_URL": None}).stderr:
        raise tap.Skip("getaddrinfo of the tracker cannot be replaced")
    scenario.api.runs.clear()
    return env


@test
def a_hook_whose_name_never_resolves_holds_back_no_finish():
    with Scenario() as scenario, Hooks() as hooks:
        env = with_names(scenario, hooks, TRACKER_GRACE="3")
        done = scenario.track("--", "sleep", "0.3", env=env).ended(0, "start hook", "hook.never", "looked up in time")
        expect(done.secs < 0.3 + 3 + PATIENCE, f"took {done.secs} s")
        check_discreet(done.stderr)
        scenario.check_delivered()


@test
def a_hook_whose_name_never_resolves_holds_back_no_registration():
    with Scenario() as scenario, Hooks() as hooks:
        env = with_names(scenario, hooks, TRACKER_GRACE="1")
        with scenario.start("-q", "-i", "0.1", *READ, stdin=subprocess.PIPE, env=env) as tracker:
            wait_for(lambda: scenario.api.runs and scenario.objects(), "the registration and an upload")
            secs = time.monotonic() - tracker.started
            expect(secs < LATE_SECS and "hook.never" not in tracker.stderr(), f"after {secs} s", tracker.stderr())
            wait_done(tracker).ended(3, "hook.never")
        equal(scenario.finished()["exit_code"], 3, "exit_code")


if __name__ == "__main__":
    tap.main()
