#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets in the command line: none may be in anything that a run leaves behind: files, requests, both streams."""

import gzip
import json
import zlib

import lib  # noqa: F401, finds those that follow
import tap
from fake_http import Answer, Server
from stream_bucket import BucketScenario
from stream_scenario import TOKEN, Scenario
from tap import equal, expect, test

# Of the right form and invented; put together here so that nothing takes them for real ones.
PEM_BODY = "MIIEvHushHushHushHush0123456789abcdefghijkl"
HUSHED = {
    "glued": "hush1pw", "equals": "hush2 pw", "next": "hush3pw", "bearer": "hush4tok", "userinfo": "hush5url",
    "query": "hush6q", "aws id": "AK" + "IAHUSH7HUSH7HUSH7H",
    "aws secret": "hush8/" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9xL2cB4n",
    "github": "gh" + "p_hush9" + "Ab3dE5gH7jK9mN1pQ3sT5vW7yZ9xL", "openai": "sk" + "-proj-hush10Ab3dE5gH7jK9",
    "pem": PEM_BODY, "jwt": "ey" + "JhbGciOiJI.eyJzdWIiOiJIdXNo.hush11AbCdEfGh", "database": "hush12db",
    "variable": "hush13env", "cookie": "hush14sid", "key": "hush15key", "nested": "hush16sh"}
WORDS = (
    f"-p{HUSHED['glued']}", f"--password={HUSHED['equals']}", "--token", HUSHED["next"],
    "-H", f"Authorization: Bearer {HUSHED['bearer']}",
    f"https://bob:{HUSHED['userinfo']}@h.example/kept/path?token={HUSHED['query']}",
    HUSHED["aws id"], f"AWS_SECRET_ACCESS_KEY={HUSHED['aws secret']}", HUSHED["github"], HUSHED["openai"],
    f"-----BEGIN PRIVATE KEY-----\n{PEM_BODY}\n-----END PRIVATE KEY-----", HUSHED["jwt"],
    f"postgresql://bob:{HUSHED['database']}@db/app", f"PGPASSWORD={HUSHED['variable']}",
    "-H", f"Cookie: sid={HUSHED['cookie']}; a=b", "--api-key", HUSHED["key"],
    "-e", f"curl -u bob:{HUSHED['nested']} x | cat", "--lr=0.001")
REPORTS = ("--summary=always", "--summary-json", "s.json", "--summary-markdown", "s.md", "--report", "s.html")


class Hooks(Server):
    """Takes every POST."""

    def handle(self, request):
        return Answer(200, [("Content-Type", "text/plain")], b"thanks\n")


def command(scenario):
    """A program with a name for which -pX is a password; it outlives the first sample."""
    program = scenario.directory / "mysql"
    program.write_text("#!/bin/sh\nsleep 0.4\n", encoding="utf-8")
    program.chmod(0o755)
    return ("--", str(program), *WORDS)


def listen(*servers):
    """From now on every whole request to these servers is kept; returns the list."""
    taken = []

    def keeping(handle):
        return lambda request: (taken.append(request), handle(request))[1]

    for server in servers:
        server.handle = keeping(server.handle)
    return taken


def unpacked(data):
    """As it is, or what is inside where it is packed."""
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error):
        return data


def left_behind(scenario, done, requests):
    """(where, text) of everything: files, requests with their headers, streams."""
    for path in scenario.directory.rglob("*"):
        if path.is_file():
            yield path.name, unpacked(path.read_bytes()).decode("utf-8", "replace")
    for request in requests:
        body = unpacked(request.body or b"").decode("utf-8", "replace")
        yield f"{request.method} {request.path}", f"{request.target} {request.headers} {body}"
    yield "stderr", done.stderr
    yield "stdout", done.stdout


def check_hushed(scenario, done, requests=()):
    """None of the secrets is anywhere; returns where the command line is at all, by what stays of it."""
    found, shown = [], set()
    for where, text in left_behind(scenario, done, requests):
        found += [f"{kind} in {where}" for kind, secret in HUSHED.items() if secret in text]
        if "--lr=0.001" in text:
            shown.add(where)
    equal(found, [], "secrets that are left")
    return shown


def targets(hooks):
    """Sentinel, the bucket and hooks at once."""
    urls = {f"TRACKER_HTTP_{event}_URL": f"{hooks.url}/{event}" for event in ("START", "HEARTBEAT", "STOP")}
    return {**urls, "TRACKER_HTTP_HEARTBEAT_SECS": "1", "SENTINEL_API_TOKEN": TOKEN}


@test
def no_output_and_no_target_gets_a_secret():
    with BucketScenario() as scenario, Hooks() as hooks:
        requests = listen(scenario.api, scenario.s3, hooks)
        done = scenario.run("-v", "-i", "0.1", "-o", "s.jsonl", *REPORTS, *command(scenario), env=targets(hooks))
        equal(done.status, 0, done.stderr)
        shown = check_hushed(scenario, done, requests)
        expect({"s.jsonl", "s.json", "s.md", "s.html"} <= shown, "the command line is not in", shown)
        expect(any(where.startswith("POST /runs") for where in shown), "not in the registration:", shown)
        expect(any(where.endswith("run.json") for where in shown), "not in run.json:", shown)
        expect("/START" in [request.path for request in requests], "no hook was called")
        lines = (scenario.directory / "s.jsonl").read_text(encoding="utf-8").splitlines()
        first = json.loads(lines[0])["run"]["command"]
        equal(first[1:5], ["-p[SECRET]", "--password=[SECRET]", "--token", "[SECRET]"], "the first words")
        expect("https://[SECRET]@h.example/kept/path?token=[SECRET]" in first and "[KEY]" in first, first)
        equal(json.loads(scenario.registered()["command"]), first, "the registration has the same words")
        equal(json.loads(scenario.run_json()["job"]["command"]), first, "run.json has the same words")


@test
def what_waits_in_the_spool_has_no_secret():
    with BucketScenario() as scenario, Hooks() as hooks:
        requests = listen(hooks)
        scenario.api.stop()
        scenario.s3.stop()
        done = scenario.run("-q", "-i", "0.1", "--grace", "1", *command(scenario), env=targets(hooks))
        equal(done.status, 0, done.stderr)
        expect("state.json" in check_hushed(scenario, done, requests), "no state.json with the command")


@test
def record_command_off_means_nowhere():
    with BucketScenario() as scenario, Hooks() as hooks:
        requests = listen(scenario.api, scenario.s3, hooks)
        done = scenario.run("-v", "-i", "0.1", "-o", "s.jsonl", *REPORTS, *command(scenario),
                            env={**targets(hooks), "TRACKER_RECORD_COMMAND": "0", "TRACKER_MASK_COMMAND": "off"})
        equal(done.status, 0, done.stderr)
        equal(check_hushed(scenario, done, requests), set(), "where the command line is")
        equal(["command" in scenario.registered(), "command" in scenario.run_json().get("job", {})], [False, False],
              "sent")


@test
def an_old_recording_is_masked_when_it_is_replayed():
    with Scenario() as scenario:
        env = {"SENTINEL_API_TOKEN": None}
        done = scenario.run("-i", "0.1", "-o", "old.jsonl", "--mask-command", "off", *command(scenario), env=env)
        equal(done.status, 0, done.stderr)
        old = (scenario.directory / "old.jsonl").read_text(encoding="utf-8")
        expect(all(secret in old for kind, secret in HUSHED.items()), "off is not off:", old[:3000])
        scenario.run("--from", "old.jsonl", "-o", "new.jsonl", *REPORTS, env=env).ended(0)
        (scenario.directory / "old.jsonl").unlink()
        shown = check_hushed(scenario, done)
        expect({"new.jsonl", "s.json", "s.md", "s.html"} <= shown, "the command line is not in", shown)
        new = (scenario.directory / "new.jsonl").read_bytes()
        scenario.run("--from", "new.jsonl", "-o", "again.jsonl", env=env).ended(0)
        equal((scenario.directory / "again.jsonl").read_bytes(), new, "a masked recording, replayed")


@test
def a_program_that_is_not_there_is_named_without_its_secret():
    with Scenario() as scenario:
        done = scenario.run("-q", "--", "PGPASSWORD=hush13env", "psql", env={"SENTINEL_API_TOKEN": None})
        done.ended(127, "cannot run PGPASSWORD=[SECRET]: command not found")
        check_hushed(scenario, done)


@test
def strict_hides_addresses_and_numbers_as_well():
    with Scenario() as scenario:
        words = ("bob@example.org", "10.1.2.3", "301-555-0100", "4111 1111 1111 1111")
        done = scenario.run("-i", "0.1", "-o", "s.jsonl", "--mask-command=strict", "--", "true", *words,
                            env={"SENTINEL_API_TOKEN": None})
        done.ended(0)
        first = json.loads((scenario.directory / "s.jsonl").read_text(encoding="utf-8").splitlines()[0])
        equal(first["run"]["command"], ["true", "[EMAIL]", "[IP]", "[PHONE]", "[CC]"], "the command")


if __name__ == "__main__":
    tap.main()
