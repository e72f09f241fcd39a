#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--pushgateway: the metrics of the run, put there once, at its end."""

import base64
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_http import Answer, Server
from net_faults import BlackHole, LostAnswer, Reset, Slow, Status
from stream_scenario import PATIENCE, Scenario
from stream_together import together, together_as
from tap import equal, expect

ALONE = {"SENTINEL_API_TOKEN": None}


class Gateway(Server):
    """Takes every PUT; `taken` has path and body of each."""

    def __init__(self, behave=None):
        self.taken = []
        super().__init__(behave=behave)

    def handle(self, request):
        if request.method != "PUT" or request.get("Content-Type") != "text/plain; version=0.0.4":
            self.dislike(f"{request.method} {request.headers}")
        self.taken.append((request.target, request.body.decode()))
        return Answer(200)


def fails(first):
    """A `behave`: these faults for the first requests, one after the other."""
    waiting = list(first)
    return lambda request: waiting.pop(0) if waiting else None


@together
def the_metrics_are_put_once_at_the_end():
    with Scenario() as scenario, Gateway() as gateway:
        file = scenario.directory / "m.prom"
        done = scenario.run("-q", "-i", "0.1", "-n", "night run", "--metrics-file", file, "--pushgateway", gateway.url,
                            "--", "sh", "-c",
                            "sleep .4; exit 3", env=ALONE).ended(3, is_silent=True)
        equal([path for path, _ in gateway.taken], ["/metrics/job/night%20run"], "requests")
        equal(gateway.taken[0][1], file.read_text(encoding="utf-8"), "metrics")
        expect('resource_tracker_exit_code{job_name="night run"} 3\n' in gateway.taken[0][1], gateway.taken)
        equal([gateway.violations, scenario.spool.exists(), scenario.api.requests], [[], False, []], "else")
        expect(done.stdout == "", done.stdout)


def group(name, url, path):
    with Scenario() as scenario, Gateway() as gateway:
        words = ["-n", name] if name else []
        scenario.run("-q", *words, "--pushgateway", gateway.url + url, "--", "true", env=ALONE).ended(0, is_silent=True)
        equal([path for path, _ in gateway.taken], [path], "requests")


for what, job, base, want in (
        ("no name", None, "", "/metrics/job/resource-tracker"),
        ("a name with a slash", "a/b?c\u00fc", "/",
         "/metrics/job@base64/" + base64.urlsafe_b64encode("a/b?c\u00fc".encode()).decode().strip("=")),
        ("a prefix", "x", "/behind/a/proxy/", "/behind/a/proxy/metrics/job/x"),
        ("a group of its own", "x", "/metrics/job/all/instance/one", "/metrics/job/all/instance/one")):
    together_as(f"the group with {what}", group, job, base, want)


def tried_again(*faults):
    with Scenario() as scenario, Gateway(fails(faults)) as gateway:
        scenario.run("-q", "--pushgateway", gateway.url, "--", "true",
                     env={**ALONE, "TRACKER_GRACE": "10"}).ended(0, is_silent=True)
        expect(1 <= len(gateway.taken) <= 2, gateway.taken)


for what, kinds in (("a reset", [Reset()]), ("503 twice", [Status(503), Status(503)]),
                    ("a lost answer", [LostAnswer()]),
                    ("429", [Status(429, [("Retry-After", "1")])])):
    together_as(f"tried again after {what}", tried_again, *kinds)


@together
def a_command_that_is_not_there_leaves_the_group_alone():
    with Scenario() as scenario, Gateway() as gateway:
        done = scenario.run("-q", "--pushgateway", gateway.url, "--", "/nonexistent/program", env=ALONE).ended(127)
        equal(gateway.taken, [], "requests")
        expect("the metrics are not in the Pushgateway: there are none" in done.stderr, done.stderr)


@together
def a_path_goes_before_a_query():
    with Scenario() as scenario, Gateway() as gateway:
        scenario.run("-q", "-n", "j", "--pushgateway", gateway.url + "/at?key=v", "--", "true", env=ALONE).ended(0)
        equal([path for path, _ in gateway.taken], ["/at/metrics/job/j?key=v"], "paths")


def one_warning(behave, words, code=5):
    with Scenario() as scenario, Gateway(behave) as gateway:
        began = time.monotonic()
        done = scenario.run("-q", "--pushgateway", gateway.url + "/s3cr3t?key=s3cr3t", "--", "sh", "-c", f"exit {code}",
                            env={**ALONE, "TRACKER_GRACE": "1"}).ended(code)
        expect(time.monotonic() - began < 3 * PATIENCE, "took long")
        equal(len(done.stderr.splitlines()), 1, done.stderr)
        expect(done.stderr.startswith("resource-tracker: warning: the metrics are not in the Pushgateway: ")
               and words in done.stderr,
               done.stderr)
        expect("s3cr3t" not in done.stderr, done.stderr)


for what, behave_, said in (("400", lambda request: Status(400), "it answered 400 Bad Request"),
                            ("500 for ever", lambda request: Status(500), "it answered 500 Internal Server Error"),
                            ("no answer", lambda request: BlackHole(), "127.0.0.1"),
                            ("an answer too late", lambda request: Slow(20), "127.0.0.1")):
    together_as(f"one warning after {what}", one_warning, behave_, said)


@together
def a_dead_gateway_is_one_warning():
    with Scenario() as scenario, Gateway() as gateway:
        url = gateway.url
    with Scenario() as scenario:
        done = scenario.run("-q", "--pushgateway", url, "--", "true", env={**ALONE, "TRACKER_GRACE": "1"}).ended(0)
        equal(len(done.stderr.splitlines()), 1, done.stderr)
        expect("the metrics are not in the Pushgateway: " in done.stderr and "refused" in done.stderr, done.stderr)


def refused(url, words):
    with Scenario() as scenario:
        done = scenario.run("-q", "--pushgateway", url, "--", "touch", "ran", env=ALONE).ended(125, words)
        equal([(scenario.directory / "ran").exists(), len(done.stderr.splitlines())], [False, 1], done.stderr)


for what, bad, said in (("no URL", "pushgateway:9091", "http:// or https://"),
                        ("another host in the clear", "http://pushgateway.example", "TRACKER_ALLOW_HTTP"),
                        ("nothing", "", "pushgateway")):
    together_as(f"refused before the start: {what}", refused, bad, said)


if __name__ == "__main__":
    tap.main()
