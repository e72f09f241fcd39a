#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming to a Sentinel that refuses, breaks, hangs or lies, at every step: the data arrives all the same or waits in
the spool, one warning says so, and the command never notices.
"""

import contextlib
import itertools
import json
import re
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_http import Answer, Server
from fake_sentinel import FORMS
from net_faults import (AFTER, EARLY, BlackHole, Close, Drip, Fault, FullBacklog, LostAnswer, Malformed, Oversized,
                        Reset, ResetAfter, Retry429, Slow, Status)
from stream_bucket import BucketScenario
from stream_scenario import PATIENCE, TOKEN, WAIT_SECS, Plan, Scenario, stop, wait_done, wait_for
from stream_sentinel import (LATER, LONG_GRACE, NO_FORMS, NOT_ALL, SHORT_GRACE, SHORT_GRACE_SECS, SOON_SECS, STEPS, add,
                             all_steps, check_objects, for_all, plan_for, test)
from stream_together import together
from tap import equal, expect


class Changed(Fault):
    """The request takes effect, and a changed answer is sent: a function makes another document of it."""

    when = AFTER

    def __init__(self, change, words):
        super().__init__()
        self.change, self.words = change, words

    def strike(self, exchange):
        answer = exchange.answer()
        body = json.dumps(self.change(json.loads(answer.body))).encode()
        exchange.send(Answer(answer.status, answer.headers, body))
        return True

    def __repr__(self):
        return f"Changed({str(self.words)[:80]})"


def instead(document):
    return Changed(lambda _: document, document)


def but(**values):
    """A Changed that sets members, also of "upload_credentials" as keys__NAME; ... leaves one out."""
    def change(document):
        for name, value in values.items():
            place = document["upload_credentials"] if name.startswith("keys__") else document
            place[name.removeprefix("keys__")] = value
            if value is ...:
                del place[name.removeprefix("keys__")]
        return document

    return Changed(change, values)


# What the server says


def refusal_is_reported(fault, *words):
    """At the registration of a failing command: its status stays, one line says all, and the data waits."""
    with Scenario(Plan(register=fault)) as scenario:
        done = scenario.track("--", "sh", "-c", "exit 7", env=LONG_GRACE)
        done.ended(7, NOT_ALL, str(scenario.spool), LATER, *words)
        equal(scenario.plan.count("register"), 1, "registrations")
        equal(scenario.holds_secret(done.stderr), None, "secret on stderr")
        expect(all(line.startswith("resource-tracker: warning: ") for line in done.stderr.splitlines()), done.stderr)
        scenario.check_spooled()
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        scenario.check_delivered()
        equal((scenario.finished()["exit_code"], scenario.finished()["run_status"]), (7, "failed"), "end")


FASTAPI = b'''{"detail": [{"type": "x", "loc": ["body", "tags", 0], "msg": "must be \\u00fcberall"},
                       {"msg": "and more"}]}'''
add("401 is reported with the server's words", refusal_is_reported, Status(401, body=b'{"detail": "Token revoked"}'),
    "401", "Token revoked", "SENTINEL_API_TOKEN")
add("403 is reported", refusal_is_reported, Status(403, body=b'{"message": "no plan"}'), "403", "no plan")
add("404 points to the address", refusal_is_reported, Status(404, body=b"<html><title>Nothing here</title></html>"),
    "404", "Nothing here", "SENTINEL_API_URL")
add("422 is reported with what is wrong", refusal_is_reported, Status(422, body=FASTAPI), "422", "tags",
    "must be überall", "and more")
add("the server's words cannot play tricks", refusal_is_reported,
    Status(400, body=b'{"error": "a\\nresource-tracker: b\\u001b[31m\\r\\u202ec"}'), "400")
add("a token in the server's words is not reported", refusal_is_reported,
    Status(422, body=json.dumps({"detail": f"token {TOKEN} and Bearer {TOKEN}"}).encode()), "422", "token ***")


@test
def the_servers_words_are_cut():
    with Scenario(Plan(register=Status(422, body=json.dumps({"detail": "x" * 5000}).encode()))) as scenario:
        done = scenario.track("--", "true", env=LONG_GRACE).ended(0, "422", "x" * 200)
        expect(done.stderr.count("x") < 400, done.stderr)


@test
def tricks_do_not_reach_the_terminal():
    words = b'{"detail": "a\\nb\\u001b[31mc\\rd\\u202ee\\u0000f"}'
    with Scenario(Plan(register=Status(422, body=words))) as scenario:
        done = scenario.track("--", "true", env=LONG_GRACE).ended(0, "422")
        expect(not re.search("[\x00-\x09\x0b-\x1f\x7f\u202e]", done.stderr), repr(done.stderr))
        expect(all(line.startswith("resource-tracker: ") for line in done.stderr.splitlines()), done.stderr)


def later_is_heard(fault, secs, step):
    with Scenario(Plan(**{step: [fault]}), forms=NO_FORMS) as scenario:
        scenario.api.lifetime_secs, scenario.api.region = SOON_SECS, "eu-central-1"
        scenario.track("--", "true", env=LONG_GRACE).ended(0)
        first, second, *_ = scenario.plan.times(step)
        expect(second - first >= secs, f"asked again after {second - first:.3f} s, want {secs}")
        scenario.check_delivered()


@together
def retry_after_is_heard_at_every_step():
    rows = [(Retry429(1), 0.95, step) for step in ("register", "refresh", "upload", "finish")]
    rows.append((Status(503, [("Retry-After", "1")]), 0.95, "register"))
    for_all(later_is_heard, rows)


@test
def retry_after_beyond_the_grace_time_is_not_waited_for():
    with Scenario(Plan(register=Retry429(3600))) as scenario:
        done = scenario.track("--", "true", env={"TRACKER_GRACE": 60}).ended(0, NOT_ALL, "429", LATER)
        expect(done.secs < 30, f"took {done.secs} s")
        equal(scenario.plan.count("register"), 1, "registrations")
        scenario.check_spooled()


@test
def retry_after_is_heard_beyond_the_end_of_the_command():
    with Scenario(Plan(register=[Retry429(3600)])) as scenario:
        with scenario.start(*scenario.local(), "-i", "0.05", "--", "sleep", "60", env=SHORT_GRACE) as tracker:
            wait_for(lambda: scenario.plan.count("register"), "the registration")
            wait_for(lambda: scenario.csv.read_bytes().count(b"\n") > 5, "more samples")
            stop(tracker).ended(143, NOT_ALL, "429", LATER)
        equal(scenario.plan.count("register"), 1, "registrations")
        scenario.check_spooled()


@test
def a_server_error_is_tried_again():
    with Scenario(Plan(register=[Status(500), Status(502)])) as scenario:
        scenario.track("--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        equal(scenario.plan.count("register"), 3, "registrations")
        scenario.check_delivered()


# What can go wrong at every step, once and for all

ONCE = (Status(500), Status(503, when=EARLY), Status(408), Reset(), Reset(EARLY), LostAnswer(), Close(), Close(AFTER),
        ResetAfter(40), BlackHole(0.2), BlackHole(0.2, AFTER), Slow(0.2), Drip(3000), Oversized(4 << 20),
        *map(Malformed, ("garbage", "status", "chunked", "chunked-cut", "two-lengths", "truncated", "endless-header",
                         "nul", "nul-body", "json", "json-shape")))
ALWAYS = (Status(500), Status(504, when=AFTER), Reset(), LostAnswer(), Close(), BlackHole(), BlackHole(when=AFTER),
          Drip(30))
ALWAYS_UNREADABLE = (*ALWAYS, Oversized(4 << 20), *map(Malformed, ("garbage", "truncated")))  # only of successes


def overcomes(fault, step, forms):
    """One fault, then a server that works: everything arrives, and nothing is said."""
    with Scenario(plan_for(fault, step, forms, False), forms=forms) as scenario:
        all_steps(scenario, LONG_GRACE).ended(9, is_silent=True)
        scenario.check_delivered(scenario.last_run())
        equal(scenario.last_run()["finish"]["exit_code"], 9, "exit_code")


def survives(fault, step, forms):
    """Nothing but this fault: the end is in time, it is reported, nothing is lost, and it is delivered later."""
    with Scenario(plan_for(fault, step, forms, True), forms=forms) as scenario:
        done = all_steps(scenario, SHORT_GRACE).ended(9, NOT_ALL, LATER)
        expect(done.secs < SHORT_GRACE_SECS + 5 * PATIENCE, f"took {done.secs} s")
        equal(scenario.holds_secret(done.stderr), None, "secret on stderr")
        scenario.check_spooled()
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        scenario.check_delivered(scenario.last_run())
        equal(scenario.last_run()["finish"]["exit_code"], 9, "exit_code")


def strikes(function, faults, step, forms):
    for_all(function, [(fault, step, forms) for fault in faults])


for each in STEPS:
    add(f"whatever goes wrong once at {each} is overcome", strikes, overcomes, ONCE, each, NO_FORMS)
    add(f"whatever goes wrong all the time at {each} is survived", strikes, survives,
        ALWAYS if each == "finish" else ALWAYS_UNREADABLE, each, NO_FORMS)
add("whatever goes wrong once at an inline finish is overcome", strikes, overcomes, ONCE, "finish", FORMS)
add("whatever goes wrong all the time at an inline finish is survived", strikes, survives, ALWAYS, "finish", FORMS)


@test
def a_server_that_does_not_even_connect_holds_up_nothing():
    with Scenario() as scenario, FullBacklog() as hole:
        before = time.time()
        env = {"SENTINEL_API_URL": hole.url, **SHORT_GRACE}
        done = scenario.track("--", "touch", "ran", env=env).ended(0, NOT_ALL, LATER)
        expect((scenario.directory / "ran").stat().st_mtime - before < 2 * PATIENCE, "the command began late")
        expect(done.secs < SHORT_GRACE_SECS + 5 * PATIENCE, f"took {done.secs} s")
        scenario.check_spooled()


@test
def without_a_grace_time_everything_waits_in_the_spool():
    with Scenario() as scenario:
        scenario.track("--", "true", env={"TRACKER_GRACE": 0}).ended(0, NOT_ALL, LATER)
        scenario.check_spooled()
        scenario.upload_spool().ended(0)
        scenario.check_delivered(scenario.last_run())


@test
def without_a_spool_everything_is_delivered_all_the_same():
    with Scenario() as scenario:
        done = scenario.track("--", "true", env={"TRACKER_SPOOL": "/dev/null", **LONG_GRACE}).ended(0, "/dev/null")
        expect(NOT_ALL not in done.stderr, done.stderr)
        scenario.check_delivered()


@test
def a_signal_ends_the_grace_time():
    with Scenario(Plan(register=BlackHole())) as scenario:
        with scenario.start(*scenario.local(), "--", "sh", "-c", "exit 6", env={"TRACKER_GRACE": 600}) as tracker:
            wait_for(lambda: scenario.plan.count("register"), "the registration")
            stop(tracker).ended(6, NOT_ALL, LATER)
        scenario.check_spooled()


REGISTER_LIES = (but(run_id=...), but(run_id=None), but(run_id=""), but(run_id=[]), but(run_id={"a": 1}),
                 but(run_id="../../etc"), but(run_id="a b"), but(run_id="x" * 5000), but(run_id="a\r\nX: y"),
                 but(run_id=-1), but(run_id=1.5), but(run_id=True), instead([]), instead("text"), instead(17),
                 instead({}))
PREFIX_LIES = (but(upload_uri_prefix=...), but(upload_uri_prefix=None), but(upload_uri_prefix=7),
               but(upload_uri_prefix="https://example.net/"), but(upload_uri_prefix="s3://"),
               but(upload_uri_prefix="s3://b/" + "x" * 5000), but(upload_uri_prefix="s3://Bad_Bucket?/x"))
KEY_LIES = (but(upload_credentials=...), but(upload_credentials=None), but(upload_credentials="keys"),
            but(upload_credentials=[1]), but(upload_credentials={}), but(keys__access_key=...), but(keys__access_key=7),
            but(keys__access_key=""), but(keys__secret_key=None), but(keys__secret_key="a\r\nb"),
            but(keys__session_token={"a": 1}), but(keys__session_token="x" * 100000), but(keys__secret_key="ü"))
HARMLESS_LIES = (but(keys__expiration=7), but(keys__expiration=[]), but(keys__expiration="soon"), but(keys__region=7),
                 but(keys__region="evil.example.net/"), but(keys__region=""), but(more={"a": [1, 2]}),
                 but(keys__expiration="9999-99-99T99:99:99Z"), but(keys__more=True))


@test
def a_registration_with_wrong_types_is_overcome():
    for_all(overcomes, [(lie, "register", NO_FORMS) for lie in REGISTER_LIES + KEY_LIES + HARMLESS_LIES])


@test
def a_refresh_with_wrong_types_is_overcome():
    for_all(overcomes, [(lie, "refresh", NO_FORMS) for lie in KEY_LIES + HARMLESS_LIES])


def is_registered_once(lie):
    """Without a place for uploads there is one run, which is finished with the data in the call."""
    with Scenario(Plan(register=lie)) as scenario:
        words = ("-i", "0.1", "--", "sh", "-c", "cat >/dev/null; exit 4")
        with scenario.start(*scenario.local(), *words, env=LONG_GRACE, stdin=subprocess.PIPE) as tracker:
            wait_for(lambda: "upload_uri_prefix" in tracker.stderr(), "a warning while the command runs")
            wait_for(scenario.spooled_batches, "a batch in the spool")
            tracker.process.stdin.close()
            tracker.process.stdin = None
            done = wait_done(tracker).ended(4)
        equal((len(done.warnings()), scenario.plan.count("upload")), (1, 0), f"warnings in {done.stderr!r}, uploads")
        equal((scenario.finished()["data_source"], scenario.finished()["exit_code"]), ("inline", 4), "end")
        scenario.check_delivered()


@test
def a_run_without_a_place_for_uploads_is_registered_once_and_finished_inline():
    for_all(is_registered_once, [(lie,) for lie in PREFIX_LIES])


@test
def a_server_that_always_lies_is_survived():
    rows = [(but(run_id="../.."), "register", NO_FORMS), (instead([]), "register", NO_FORMS),
            (but(keys__secret_key=7), "refresh", NO_FORMS), (instead({}), "refresh", NO_FORMS)]
    for_all(survives, rows)


@test
def a_number_may_be_the_name_of_a_run():
    def rename(document):
        scenario.api.runs["42"] = {**scenario.api.runs[document["run_id"]], "run_id": "42"}
        return {**document, "run_id": 42}

    with Scenario(Plan(register=[Changed(rename, "42")])) as scenario:
        scenario.track("--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        scenario.check_delivered(scenario.api.runs["42"])


# Keys for uploads


def expire_on_upload(scenario, times):
    """The keys turn out to have expired when an upload comes, so many times."""
    left = [times]
    plan = scenario.plan

    def behave(request):
        if request.method == "PUT" and left[0] > 0:
            left[0] -= 1
            scenario.s3.expire_keys()
        return plan(request)

    scenario.s3.behave = behave


def expired_keys_are_renewed(status):
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.api.region, scenario.s3.expired_status = "eu-central-1", status
        expire_on_upload(scenario, 1)
        scenario.track("--", "true", env=LONG_GRACE).ended(0)
        steps = scenario.plan.steps("refresh", "upload")
        equal(steps, ["upload", "refresh", "upload"], "refreshes and uploads")
        scenario.check_delivered()


add("keys that have expired are renewed once: 400", expired_keys_are_renewed, 400)
add("keys that have expired are renewed once: 403", expired_keys_are_renewed, 403)


@together
def keys_that_always_have_expired_are_not_renewed_forever():
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.api.region = "eu-central-1"
        expire_on_upload(scenario, 10 ** 9)
        scenario.track("--", "true", env={"TRACKER_GRACE": 2}).ended(0, NOT_ALL, "ExpiredToken", LATER)
        expect(1 <= scenario.plan.count("refresh") <= 20, "refreshes", scenario.plan.count("refresh"))
        scenario.check_spooled()


def expiry_is_heeded(name, form, lifetime_secs, refreshes):
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.api.region = "eu-central-1"
        scenario.api.expiry_name, scenario.api.expiry_form, scenario.api.lifetime_secs = name, form, lifetime_secs
        scenario.track("--", "true", env=LONG_GRACE).ended(0)
        steps = scenario.plan.steps("refresh", "upload")
        equal(steps, ["refresh"] * refreshes + ["upload"], "refreshes and uploads")
        scenario.check_delivered()


for row in (("expiration", "Z", 3600, 0), ("expires_at", "Z", 3600, 0), ("expiration", "offset", 3600, 0),
            ("expires_at", "offset", 290, 1), ("expiration", "Z", 290, 1), (None, "Z", 100, 0),
            ("expiration", "odd", 3600, 1)):
    add(f"keys are renewed five minutes before they expire: {row[0]}, {row[1]}, {row[2]} s", expiry_is_heeded, *row)


@test
def a_registration_without_keys_fetches_them_for_an_upload():
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.api.has_credentials = False
        scenario.track("--", "true", env=LONG_GRACE).ended(0)
        expect(scenario.plan.count("refresh") >= 1, "no refresh")
        scenario.check_delivered()


@test
def a_refresh_that_is_refused_leaves_the_data_in_the_spool():
    with Scenario(Plan(refresh=Status(401, body=b'{"detail": "gone"}')), forms=NO_FORMS) as scenario:
        all_steps(scenario, LONG_GRACE).ended(9, NOT_ALL, "401", "gone", LATER)
        equal(scenario.plan.count("refresh"), 1, "refreshes")
        scenario.check_spooled()


DENIED = Status(403, body=b"<Error><Code>AccessDenied</Code><Message>Not for you</Message></Error>")


@together
def a_bucket_that_denies_everything_is_left_for_the_finish_call():
    with Scenario(Plan(upload=DENIED)) as scenario:
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: "AccessDenied" in tracker.stderr(), "a warning while the command runs")
            done = stop(tracker).ended(143, "403", "Not for you", "spool")
        equal(scenario.finished()["data_source"], "inline", "way of the data")
        expect(scenario.plan.count("upload") >= 3, "uploads", scenario.plan.count("upload"))
        expect(NOT_ALL not in done.stderr, done.stderr)
        scenario.check_delivered()


@test
def a_bucket_that_denies_everything_leaves_the_data_in_the_spool():
    with Scenario(Plan(upload=DENIED), forms=NO_FORMS) as scenario:
        all_steps(scenario, SHORT_GRACE).ended(9, NOT_ALL, "403", "AccessDenied", "Not for you", LATER)
        scenario.check_spooled()


def permanent_refusal(status):
    with Scenario(Plan(upload=Status(status, body=b"<Error><Code>Odd</Code><Message>Never</Message></Error>")),
                  forms=NO_FORMS) as scenario:
        done = all_steps(scenario, LONG_GRACE).ended(9, NOT_ALL, str(status), "Odd", "Never", LATER)
        equal(scenario.plan.count("upload"), 1, "uploads")
        expect(done.secs < 5 * PATIENCE, f"took {done.secs} s")
        scenario.check_spooled()
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        scenario.check_delivered()


for each in (400, 404, 405, 412, 413):
    add(f"an upload that is refused for good is not tried again: {each}", permanent_refusal, each)


PORTAL = Status(200, [("Content-Type", "text/html")], b"<html><title>Welcome to the hotel</title></html>")


@test
def a_page_instead_of_an_answer_of_S3_is_not_a_stored_object():
    with Scenario(Plan(upload=PORTAL), forms=NO_FORMS) as scenario:
        all_steps(scenario, SHORT_GRACE).ended(9, NOT_ALL, "without an ETag", LATER)
        scenario.check_spooled()
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        scenario.check_delivered()


@test
def a_key_that_the_server_has_deleted_is_renewed():
    gone = Status(403, body=b"<Error><Code>InvalidAccessKeyId</Code><Message>No such key</Message></Error>")
    with Scenario(Plan(upload=[gone]), forms=NO_FORMS) as scenario:
        scenario.api.region = "eu-central-1"
        scenario.track("--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        equal(scenario.plan.steps("refresh", "upload"), ["upload", "refresh", "upload"], "refreshes and uploads")
        scenario.check_delivered()


@test
def tricks_of_a_bucket_do_not_reach_the_terminal():
    body = "<Error><Code>Odd</Code><Message>a\u009b31mb\u202ec\u2066d\x1b[0m</Message></Error>".encode()
    with Scenario(Plan(upload=Status(400, body=body)), forms=NO_FORMS) as scenario:
        done = all_steps(scenario, LONG_GRACE).ended(9, NOT_ALL, "Odd", "31mb")
        expect(not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2066]", done.stderr), repr(done.stderr))


# One object that is refused


class RefuseOne:
    """Refuses the uploads of one batch, so many times, and notes them."""

    def __init__(self, plan, number, times):
        self.plan, self.end, self.left, self.seen = plan, f"/{number:06d}.csv.gz", times, []

    def __call__(self, request):
        if request.method == "PUT" and request.target.endswith(self.end):
            self.seen.append(request.target)
            if len(self.seen) <= self.left:
                return Status(404, body=b"default backend")
        return self.plan(request)


@contextlib.contextmanager
def one_refused(times, make_scenario=Scenario):
    """A run of some batches of which the second is refused, while it goes on and at its end; then it is delivered."""
    with make_scenario() as scenario:
        scenario.api.region = "eu-central-1"
        scenario.s3.behave = refuse = RefuseOne(scenario.plan, 1, times)
        words = ("-i", "0.1", "--", "sh", "-c", "cat >/dev/null; exit 4")
        with scenario.start(*scenario.local(), *words, env=LONG_GRACE, stdin=subprocess.PIPE) as tracker:
            wait_for(lambda: any("/000002" in put[1] for put in scenario.s3.puts), "a batch behind it")
            equal(len(refuse.seen), 1, "attempts at the second batch while the run goes on")
            tracker.process.stdin.close()
            tracker.process.stdin = None
            done = wait_done(tracker)
        equal(len(refuse.seen), 2, "attempts at the second batch")
        yield scenario, done


def deliver_refused(scenario, done):
    """The end was reported truly, one batch is left, and it is delivered later."""
    done.ended(4, NOT_ALL, "answers 404", LATER)
    expect("no time left" not in done.stderr, done.stderr)
    equal([path.name for path in scenario.spooled_batches()], ["000001.csv.gz"], "batches in the spool")
    scenario.upload_spool().ended(0)
    equal(scenario.spool_files(), [], "files in the spool")


@together
def a_batch_that_is_refused_once_is_delivered_at_the_end():
    with one_refused(1) as (scenario, done):
        done.ended(4, "404", "tried again at the end")
        expect(NOT_ALL not in done.stderr, done.stderr)
        equal(scenario.finished()["exit_code"], 4, "exit_code")
        scenario.check_delivered()


@together
def a_batch_that_is_refused_to_the_end_does_not_keep_the_run_open():
    with one_refused(2) as (scenario, done):
        equal(scenario.finished()["exit_code"], 4, "exit_code")
        expect(not any(uri.endswith("/000001.csv.gz") for uri in scenario.finished()["data_uris"]), "it is named")
        deliver_refused(scenario, done)
        expect("prefix/x/run-1/000001.csv.gz" in scenario.objects(), "it was not delivered later")
        equal(scenario.the_run()["finish_count"], 1, "finish calls")


@together
def a_batch_that_a_bucket_refuses_to_the_end_does_not_hide_the_end():
    with one_refused(2, BucketScenario) as (scenario, done):
        equal(scenario.run_json()["end"]["exit_code"], 4, "exit_code")
        deliver_refused(scenario, done)
        scenario.check_arrived()


@test
def an_upload_may_be_answered_with_201():
    with Scenario(Plan(upload=Status(201, [("ETag", '"x"')], when=AFTER)), forms=NO_FORMS) as scenario:
        all_steps(scenario, LONG_GRACE).ended(9, is_silent=True)
        equal(scenario.plan.count("upload"), 1, "uploads")
        scenario.check_delivered()


@test
def a_clock_that_is_wrong_does_not_matter():
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.s3.skew_secs = scenario.api.skew_secs = 7200
        scenario.track("--", "true", env=LONG_GRACE).ended(0)
        scenario.check_delivered()


@together
def uploads_that_always_fail_behind_good_refreshes_are_reported():
    with Scenario(Plan(upload=Status(500)), forms=NO_FORMS) as scenario:
        scenario.api.expiry_form = "odd"
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=SHORT_GRACE) as tracker:
            wait_for(lambda: "500" in tracker.stderr(), "a warning while the command runs")
            stop(tracker).ended(143, NOT_ALL, LATER)
        scenario.check_spooled()


def gives_up(expiry_form, is_expired):
    """Delivering later what cannot be delivered ends, too."""
    with Scenario(Plan(upload=Status(500)), forms=NO_FORMS) as scenario:
        scenario.api.expiry_form, scenario.api.region = expiry_form, "eu-central-1"
        scenario.track("--", "true", env=SHORT_GRACE).ended(0, NOT_ALL, LATER)
        if is_expired:
            scenario.plan.heal()
            expire_on_upload(scenario, 10 ** 9)
        done = scenario.upload_spool(secs=1.5 * WAIT_SECS)
        expect(done.status not in (0, 125), f"exit status {done.status}", done.stdout)
        expect(("ExpiredToken" if is_expired else "500") in done.stdout, "no reason is given:", done.stdout)
        scenario.check_spooled()


@together
def delivering_later_gives_up_in_the_end():
    for_all(gives_up, [("Z", False), ("odd", False), ("Z", True)])


@together
def a_bucket_that_fails_in_the_middle_leaves_the_rest_for_later():
    plan = Plan(upload=itertools.chain([None, None], itertools.repeat(Status(503))))
    with Scenario(plan) as scenario:
        scenario.api.region = "eu-central-1"
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=SHORT_GRACE) as tracker:
            wait_for(lambda: plan.count("upload") >= 3, "three uploads")
            stop(tracker).ended(143, NOT_ALL, "503", LATER)
        equal((len(scenario.objects()), scenario.the_run()["finish"]), (2, None), "objects, finish")
        scenario.check_spooled()
        plan.heal()
        scenario.upload_spool().ended(0)
        check_objects(scenario, 3)


# The end is reported once


def lost_finish_counts(fault, forms):
    with Scenario(plan_for(fault, "finish", forms, False), forms=forms) as scenario:
        all_steps(scenario, LONG_GRACE).ended(9, is_silent=True)
        equal(scenario.the_run()["finish_count"], 2, "finish calls that arrived")
        equal(scenario.finished()["data_source"], "inline" if forms else "s3", "way of the data")
        scenario.check_delivered()


LOST = (LostAnswer(), Close(AFTER), ResetAfter(30), Malformed("garbage"), BlackHole(0.2, AFTER),
        Status(500, when=AFTER), Status(502, when=AFTER), Status(504, when=AFTER))


@test
def a_finish_whose_answer_was_lost_counts_when_the_next_one_is_too_late():
    for_all(lost_finish_counts, [(fault, forms) for fault in LOST for forms in (FORMS, NO_FORMS)])


@test
def a_finish_that_took_effect_is_not_sent_in_another_form():
    with Scenario(Plan(finish=[Status(500, when=AFTER)])) as scenario:
        scenario.track("--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        scenario.check_delivered()


@test
def a_lost_finish_is_known_to_the_next_one_who_delivers():
    with Scenario(Plan(finish=LostAnswer())) as scenario:
        scenario.track("--", "true", env=SHORT_GRACE).ended(0, NOT_ALL, LATER)
        finish = dict(scenario.finished())
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        equal(scenario.finished(), finish, "finish")
        scenario.check_delivered()


# Redirects


class Elsewhere(Server):
    """Where no request should go."""

    def __init__(self):
        self.seen = []
        super().__init__()

    def handle(self, request):
        self.seen.append((request.method, request.target, request.headers))
        return Answer(200, [("Content-Type", "application/json")], b"{}")


def redirect_is_not_followed(status, step):
    with Elsewhere() as elsewhere:
        fault = Status(status, [("Location", f"{elsewhere.url}/runs")])
        with Scenario(Plan(**{step: fault}), forms=NO_FORMS) as scenario:
            done = all_steps(scenario, {"TRACKER_GRACE": "3"}).ended(9, NOT_ALL, str(status), LATER)
            equal((elsewhere.seen, elsewhere.connections), ([], 0), "requests elsewhere")
            equal(scenario.holds_secret(done.stderr), None, "secret on stderr")
            scenario.check_spooled()


@test
def redirects_are_not_followed():
    for_all(redirect_is_not_followed, [(status, step) for step in STEPS for status in (301, 302, 307, 308)])


if __name__ == "__main__":
    tap.main()
