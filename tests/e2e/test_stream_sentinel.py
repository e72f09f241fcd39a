#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming to Sentinel with the shipped binary: what is reported of a run and its end, how its data gets there, and
that secrets stay where they are.

FAKE_NVML_LIB names the library of tests/fake/fake_nvml.c.
"""

import gzip
import json
import os
import pathlib
import platform
import re
import signal
import socket
import subprocess
import tempfile
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_sentinel import FORMS
from net_faults import BlackHole, Status
from stream_scenario import PATIENCE, TOKEN, Plan, Scenario, stop, wait_done, wait_for
from stream_sentinel import LATER, LONG_GRACE, NO_FORMS, NOT_ALL, SHORT_GRACE, SOON_SECS, add, check_objects, test
from stream_together import together
from tap import Skip, equal, expect
from tracker import BINARY, SANITIZED, SLOW, WAIT_SECS

LIBRARY = os.environ.get("FAKE_NVML_LIB", "")
DENIED = Status(403, body=b"<Error><Code>AccessDenied</Code><Message>Not for you</Message></Error>")


# The forms of short runs


def short_run_is_inline(forms, setting, expected_calls):
    with Scenario(forms=frozenset(forms)) as scenario:
        scenario.track("--", "true", env={"TRACKER_SENTINEL_INLINE": setting, **LONG_GRACE}).ended(0, is_silent=True)
        equal((scenario.finished()["data_source"], scenario.objects()), ("inline", {}), "way of the data")
        equal(scenario.plan.steps(), ["register"] + ["finish"] * expected_calls, "calls")
        scenario.check_delivered()
        equal(len(scenario.the_run()["csv"].splitlines()), 2, "lines of the CSV of a run with one sample")


for row in ((FORMS, None, 1), (["base64-gzip"], None, 1), (["plain-gzip"], None, 2), (["plain"], None, 3),
            (["base64-gzip"], "base64", 1), (["plain-gzip"], "plain", 1), (["plain"], "plain", 2)):
    add(f"a short run goes into the finish call: accepted {','.join(sorted(row[0]))}, inline = {row[1]}",
        short_run_is_inline, *row)


def inline_form_from_file(setting, form):
    with Scenario(forms=frozenset([form])) as scenario:
        (scenario.directory / "resource-tracker.toml").write_text(f'[sentinel]\ninline = "{setting}"\n',
                                                                  encoding="utf-8")
        scenario.track("--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        equal(scenario.plan.count("finish"), 1, "finish calls")
        scenario.check_delivered()


add("sentinel.inline in the file pins base64", inline_form_from_file, "base64", "base64-gzip")
add("sentinel.inline in the file pins plain", inline_form_from_file, "plain", "plain-gzip")


@test
def a_pinned_form_that_is_refused_is_not_followed_by_another():
    with Scenario(forms=frozenset(["plain-gzip"])) as scenario:
        scenario.track("--", "true", env={"TRACKER_SENTINEL_INLINE": "base64", **LONG_GRACE}).ended(0)
        equal(scenario.finished()["data_source"], "s3", "way of the data")
        scenario.check_delivered()


@test
def where_no_inline_form_is_taken_even_a_short_run_is_uploaded():
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.track("--", "true", env=LONG_GRACE).ended(0)
        equal(scenario.finished()["data_uris"], ["s3://bucket/prefix/x/run-1/000000.csv.gz"], "objects")
        scenario.check_delivered()


# What is reported of a run


def register(*words, env=None):
    """What a short run registers with these options."""
    with Scenario() as scenario:
        scenario.run("-q", *words, env={**LONG_GRACE, **(env or {})}).ended(0, is_silent=True)
        scenario.check_strict()
        return scenario.registered()


METADATA = {"job-name": "Ein Name, lang ü", "project-name": "p/q", "stage-name": "stage", "task-name": "t",
            "team": "team", "env": "prod", "language": "C", "orchestrator": "o", "executor": "x",
            "external-run-id": "17_3", "container-image": "repo/image:tag@sha256:00"}


@test
def all_metadata_and_tags_are_registered():
    flags = [word for name, value in METADATA.items() for word in (f"--{name}", value)]
    body = register(*flags, "--tag", "a=1", "--tag", "b=x=y, z", "--", "true", env={"TRACKER_TAGS": "a=0,c=from env"})
    for name, value in METADATA.items():
        equal(body[name.replace("-", "_")], value, name)
    equal(body["tags"], {"a": "1", "b": "x=y, z", "c": "from env"}, "tags")


@test
def metadata_comes_from_variables_and_schedulers_too():
    body = register("--", "true", env={"TRACKER_JOB_NAME": 'quote " \\ \t', "SLURM_JOB_ID": "4711"})
    equal((body["job_name"], body["executor"], body["external_run_id"]), ('quote " \\ \t', "slurm", "4711"), "metadata")


@test
def metadata_that_is_no_utf8_is_reported_as_far_as_it_is():
    body = register("--job-name", b"a\xffz", "--tag", b"k=\xc3", "--", "true")
    equal((body["job_name"], body["tags"]), ("a\N{REPLACEMENT CHARACTER}z", {"k": "\N{REPLACEMENT CHARACTER}"}),
          "reported")


@test
def what_has_no_value_is_left_out():
    body = register("--job-name=", "--", "true", env={"TRACKER_TEAM": ""})
    wrong = set(body) & {"tags", "pid", "run_id", *(name.replace("-", "_") for name in METADATA)}
    equal(wrong, set(), "keys without a value")
    expect(None not in body.values() and "" not in body.values(), body)


def command_is_reported(argv, reported):
    body = register("--", "true", *argv)
    equal(json.loads(body["command"]), ["true", *reported], "command")


add("the command is a string that holds a JSON array", command_is_reported, ["-x", "a b", ""], ["-x", "a b", ""])
add("an odd command is reported: quotes, control characters, beyond the BMP", command_is_reported,
    ['"\\', "\n\t\x01\x7f", "über 🚀", "]["], ['"\\', "\n\t\x01\x7f", "über 🚀", "]["])
add("a command that is no UTF-8 is reported as far as it is", command_is_reported, [b"a\xffz", b"\xc3"],
    ["a\N{REPLACEMENT CHARACTER}z", "\N{REPLACEMENT CHARACTER}"])


@test
def a_huge_command_line_is_reported_in_part():
    with Scenario() as scenario:
        words = ["w%05d" % number for number in range(20000)]
        scenario.run("-q", "--", "true", *words, env=LONG_GRACE).ended(0, is_silent=True)
        reported = json.loads(scenario.registered()["command"])
        equal((reported[0], reported[1:100], reported[-1]), ("true", words[:99], "…"), "reported words")
        expect(len(scenario.registered()["command"]) < 65536, "length", len(scenario.registered()["command"]))


@test
def a_command_may_be_kept_back():
    expect("command" not in register("--", "true", env={"TRACKER_SEND_COMMAND": "no"}), "the command was reported")
    with Scenario() as scenario:
        (scenario.directory / "resource-tracker.toml").write_text("[sentinel]\nsend_command = false\n",
                                                                  encoding="utf-8")
        scenario.run("-q", "--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        expect("command" not in scenario.registered(), "the command was reported")


def meminfo_kib(name):
    return int(re.search(rf"^{name}: +(\d+) kB", pathlib.Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)[1])


@test
def the_machine_is_described():
    body = register("--", "true")
    equal(body["host_hostname"], socket.gethostname(), "host_hostname")
    equal(body["host_vcpus"], os.sysconf("SC_NPROCESSORS_ONLN"), "host_vcpus")
    equal(body["host_memory_mib"], meminfo_kib("MemTotal") // 1024, "host_memory_mib")
    expect("host_ip" not in body or not body["host_ip"].startswith("127."), body.get("host_ip"))
    if platform.machine() == "x86_64":
        cpuinfo = pathlib.Path("/proc/cpuinfo").read_text("utf-8", "replace")
        equal(body.get("host_cpu_model"), re.search(r"^model name\s*: (.*\S)", cpuinfo, re.MULTILINE)[1], "CPU")
    machine_id = pathlib.Path("/etc/machine-id")
    if machine_id.exists() and machine_id.read_text("ascii").strip():
        expect("host_id" in body, "no host_id")
    expect("host_server_allocation" not in body or body["host_server_allocation"] in ("dedicated", "shared"), body)
    equal([name for name in body if name.startswith("cloud_")], [], "cloud fields without asking the cloud")


@together
def gpus_are_reported():
    if not os.access(LIBRARY, os.R_OK):
        raise Skip("FAKE_NVML_LIB does not name a library")
    script = ("gpus 2; gpu 0 name NVIDIA Test; gpu 0 total 1073741824; gpu 0 used 1048576; gpu 1 total 1073741824;"
              "gpu 1 used 1048576")
    with Scenario() as scenario:
        env = {"TRACKER_NVML_PATH": LIBRARY, "FAKE_NVML": script, **LONG_GRACE}
        scenario.run("-q", "-i", PATIENCE, "--", "sleep", PATIENCE + 0.5, env=env).ended(0)  # a driver needs its time
        body = scenario.registered()
        equal((body.get("host_gpu_model"), body["host_gpu_count"], body.get("host_gpu_memory_mib")),
              ("NVIDIA Test", 2, 2048), "GPUs")


@test
def facts_can_be_omitted():
    gone = ["host_ip", "host_hostname", "host_vcpus"]
    body = register("--", "true", env={"TRACKER_OMIT": ",".join(gone)})
    equal([name for name in gone if name in body], [], "omitted facts")
    expect("host_memory_mib" in body, "more than that was omitted:", body)
    with Scenario() as scenario:
        toml = 'omit = ["host_id", "host_memory_mib", "host_server_allocation"]'
        (scenario.directory / "resource-tracker.toml").write_text(f"[sentinel]\n{toml}\n", encoding="utf-8")
        scenario.run("-q", "--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        equal([name for name in scenario.registered() if f'"{name}"' in toml], [], "omitted facts")


# How a run ends


def end_is_reported(status, run_status, command):
    with Scenario() as scenario:
        before = time.time()
        scenario.track("--", *command, env=LONG_GRACE).ended(status)
        finish = scenario.finished()
        equal((finish["exit_code"], finish["run_status"]), (status, run_status), "end")
        reported = time.strptime(finish["finished_at"], "%Y-%m-%dT%H:%M:%SZ")
        expect(before - 2 < time.mktime(reported) - time.timezone < time.time() + 2, "finished_at",
               finish["finished_at"])
        scenario.check_delivered()


add("a command that succeeds is finished", end_is_reported, 0, "finished", ["true"])
add("a command that fails is failed with its status", end_is_reported, 3, "failed", ["sh", "-c", "exit 3"])
add("a command that is killed is failed with 128+n", end_is_reported, 137, "failed", ["sh", "-c", "kill -9 $$"])


def unstartable_is_reported(status, command):
    with Scenario() as scenario:
        done = scenario.track("--", command, env=LONG_GRACE).ended(status)
        equal(len(done.stderr.splitlines()), 1, f"lines on stderr {done.stderr!r}")
        equal((scenario.finished()["exit_code"], scenario.finished()["run_status"]), (status, "failed"), "end")
        equal(len(scenario.api.run_csv(scenario.the_run()).splitlines()), 1, "lines of a CSV without a sample")
        scenario.check_strict()
        equal(scenario.spool_files(), [], "files in the spool")


add("a command that is not found is reported, with no samples", unstartable_is_reported, 127, "/nonexistent/command")
add("a command that is not executable is reported, with no samples", unstartable_is_reported, 126, "/etc/passwd")


@test
def a_command_that_cannot_be_run_is_reported_at_once():
    with Scenario(Plan(register=BlackHole())) as scenario:
        with scenario.start("--", "/nonexistent/command", env={"TRACKER_GRACE": 600}) as tracker:
            wait_for(lambda: "cannot run /nonexistent/command" in tracker.stderr(), "the error", 5 * PATIENCE)
            wait_for(lambda: scenario.plan.count("register"), "the registration")
            stop(tracker).ended(127, NOT_ALL)


def started(scenario):
    """Waits until the command has made its file."""
    wait_for((scenario.directory / "started").exists, "the command")


def signal_is_reported(script, status, run_status):
    with Scenario() as scenario:
        with scenario.start(*scenario.local(), "--", "sh", "-c", script, env=LONG_GRACE) as tracker:
            started(scenario)
            stop(tracker).ended(status)
        equal((scenario.finished()["exit_code"], scenario.finished()["run_status"]), (status, run_status), "end")
        scenario.check_delivered()


add("SIGTERM ends the command by way of the tracker: a requested stop is finished", signal_is_reported,
    ": > started; exec sleep 60", 143, "finished")
add("a command that takes SIGTERM for its end is finished with its status", signal_is_reported,
    "trap 'kill $!; exit 0' TERM; sleep 60 & : > started; wait", 0, "finished")


@test
def a_tracked_process_that_ends_is_finished():
    with Scenario() as scenario, subprocess.Popen(["sleep", "0.4"]) as process:
        scenario.track("-i", "0.1", "--pid", process.pid, "--stop-with-pid", env=LONG_GRACE).ended(0, is_silent=True)
        process.wait()
        finish = scenario.finished()
        equal((finish.get("exit_code", 0), finish["run_status"]), (0, "finished"), "end")
        expect("command" not in scenario.registered() and "pid" not in scenario.registered(), scenario.registered())
        expect(len(scenario.csv.read_bytes().splitlines()) > 2, "hardly any sample", scenario.csv.read_bytes())
        equal(scenario.csv.read_text("ascii").splitlines()[1].split(",")[21], str(process.pid), "process_pid")
        scenario.check_delivered()


def host_mode_ends(number):
    with Scenario() as scenario:
        with scenario.start(*scenario.local(), "-i", "0.1", env=LONG_GRACE) as tracker:
            wait_for(lambda: scenario.csv.exists() and scenario.csv.read_bytes().count(b"\n") > 2, "samples")
            stop(tracker, number).ended(0, is_silent=True)
        equal((scenario.finished()["exit_code"], scenario.finished()["run_status"]), (0, "finished"), "end")
        expect("command" not in scenario.registered(), scenario.registered())
        scenario.check_delivered()


add("host mode that is ended by SIGTERM is finished with 0", host_mode_ends, signal.SIGTERM)
add("host mode that is ended by SIGINT is finished with 0", host_mode_ends, signal.SIGINT)


# Longer runs


@together
def a_longer_run_is_uploaded_in_batches_that_are_the_local_csv():
    with Scenario() as scenario:
        scenario.track("-i", "0.05", "--", "sleep", "5" if SLOW else "2.6", env=LONG_GRACE).ended(0, is_silent=True)
        check_objects(scenario, 3)
        expect("host_server_allocation" not in scenario.registered(), "a guess about the whole run at its beginning")
        expect(scenario.csv.read_bytes().count(b"\n") > 20, "hardly any rows")


@together
def a_batch_is_uploaded_while_the_command_runs():
    with Scenario() as scenario:
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: len(scenario.objects()) >= 2, "two objects")
            equal(scenario.the_run()["finish"], None, "finish of a running command")
            stop(tracker).ended(143, is_silent=True)
        check_objects(scenario, 2)


@together
def keys_that_expire_in_the_middle_are_renewed_once():
    with Scenario() as scenario:
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(scenario.objects, "the first object")
            equal(scenario.plan.count("refresh"), 0, "refreshes of keys that are good for an hour")
            scenario.s3.expire_keys()
            wait_for(lambda: len(scenario.objects()) >= 2, "the second object")
            stop(tracker).ended(143, is_silent=True)
        equal(scenario.plan.count("refresh"), 1, "refreshes")
        check_objects(scenario, 2)


@together
def keys_with_an_unreadable_expiry_are_renewed_before_each_upload():
    with Scenario() as scenario:
        scenario.api.expiry_form, scenario.api.region = "odd", "eu-central-1"
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: len(scenario.objects()) >= 2, "two objects")
            stop(tracker).ended(143, is_silent=True)
        steps = scenario.plan.steps("refresh", "upload")
        equal(steps, ["refresh", "upload"] * len(scenario.objects()), "refreshes and uploads")
        check_objects(scenario, 2)


@together
def a_registration_that_fails_is_tried_again_and_nothing_is_lost():
    plan = Plan(register=[Status(500, body=b'{"detail": "out of order"}')] * 3)
    with Scenario(plan) as scenario:
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: "500" in tracker.stderr(), "a warning while the command runs")
            wait_for(scenario.objects, "an object")
            done = stop(tracker).ended(143, "out of order", "spool")
        equal(plan.count("register"), 4, "registrations")
        equal(len(done.warnings()), 2, f"warnings: the failure and its end, {done.stderr!r}")
        check_objects(scenario, 1)


@together
def a_refused_token_is_reported_at_once_and_not_tried_again():
    with Scenario() as scenario:
        env = {"SENTINEL_API_TOKEN": "another-token-that-is-wrong"}
        with scenario.start(*scenario.local(), "-i", "0.1", "--", "sleep", "60", env=env) as tracker:
            wait_for(lambda: "401" in tracker.stderr(), "a warning while the command runs")
            time.sleep(1.2)
            done = stop(tracker).ended(143, "Invalid token", "SENTINEL_API_TOKEN", LATER)
        equal(scenario.plan.count("register"), 1, "registrations")
        expect("another-token" not in done.stderr, "the token is on stderr:", done.stderr)
        scenario.check_spooled()
        scenario.upload_spool().ended(0)
        scenario.check_delivered()


# Settings


@test
def the_other_name_of_the_token_is_accepted():
    with Scenario() as scenario:
        env = {"SENTINEL_API_TOKEN": None, "SENTINEL_API_KEY": TOKEN, **LONG_GRACE}
        scenario.track("--", "true", env=env).ended(0, is_silent=True)
        scenario.check_delivered()


@test
def an_empty_token_means_no_streaming():
    with Scenario() as scenario:
        scenario.track("--", "true", env={"SENTINEL_API_TOKEN": ""}).ended(0, is_silent=True)
        equal((scenario.api.connections, scenario.s3.connections, scenario.spool.exists()), (0, 0, False),
              "traces of streaming")


@test
def an_address_may_have_a_path():
    with Scenario() as scenario:
        env = {"SENTINEL_API_URL": scenario.api.url + "/api/v1/", **LONG_GRACE}
        scenario.track("--", "true", env=env).ended(0, "404")
        equal([(request[0], request[2]) for request in scenario.api.requests], [("POST", "/api/v1/runs")], "requests")


@test
def a_slash_at_the_end_of_the_addresses_is_tolerated():
    with Scenario(forms=NO_FORMS) as scenario:
        scenario.api.lifetime_secs = SOON_SECS
        env = {"SENTINEL_API_URL": scenario.api.url + "/", "AWS_ENDPOINT_URL": scenario.s3.url + "/", **LONG_GRACE}
        scenario.track("--", "true", env=env).ended(0)
        scenario.check_delivered()


@test
def a_slash_more_or_less_is_the_same_api_for_the_spool():
    with Scenario(Plan(register=Status(503))) as scenario:
        env = {"SENTINEL_API_URL": scenario.api.url + "/", **SHORT_GRACE}
        scenario.track("--", "true", env=env).ended(0, LATER)
        scenario.plan.heal()
        scenario.upload_spool().ended(0)
        scenario.check_delivered()


def address_is_refused(url, *words):
    with Scenario() as scenario:
        env = {"SENTINEL_API_URL": url}
        done = scenario.run("--", "touch", "ran", env=env).ended(125, "SENTINEL_API_URL", *words)
        equal(len(done.stderr.splitlines()), 1, f"lines on stderr {done.stderr!r}")
        expect(not (scenario.directory / "ran").exists(), "the command ran")
        expect(not scenario.spool.exists(), "there is a spool")


add("plain http to another host is refused before the start", address_is_refused, "http://192.0.2.1:9/", "http",
    "TRACKER_ALLOW_HTTP")
add("plain http to a name is refused before the start", address_is_refused, "http://localhost.example.net/", "http")
for bad in ("ftp://127.0.0.1/", "127.0.0.1:80", "https://", "http://127.0.0.1:99999", "https://exa mple.net",
            "https://example.net\r\nX: y", "nonsense"):
    add(f"a bad address is refused before the start: {bad!r}", address_is_refused, bad)


# Secrets


@together
def secrets_stay_in_the_tracker():
    look = ("env; for each in /proc/$PPID/cmdline /proc/self/cmdline; do tr '\\0' '\\n' < $each; done; : > started;"
            "while [ ! -e over ]; do sleep 0.1; done")
    env = {"SENTINEL_API_KEY": "second-secret-name", **SHORT_GRACE}
    with Scenario(Plan(finish=Status(500), upload=DENIED), forms=NO_FORMS) as scenario:
        with scenario.start(*scenario.local(), "-vv", "-i", "0.1", "--", "sh", "-c", look, env=env) as tracker:
            started(scenario)
            wait_for(lambda: scenario.plan.count("upload"), "an upload")
            cmdline = pathlib.Path(f"/proc/{tracker.pid}/cmdline").read_text("utf-8")
            (scenario.directory / "over").touch()
            done = wait_done(tracker).ended(0, LATER)
        expect("TRACKER_SPOOL=" in done.stdout, "the environment was not shown:", done.stdout)
        for name in ("SENTINEL_API_TOKEN", "SENTINEL_API_KEY"):
            expect(name not in done.stdout, f"the command sees {name}")
        for what, text in (("stdout", done.stdout), ("stderr", done.stderr), ("cmdline", cmdline)):
            equal(scenario.holds_secret(text, "second-secret-name"), None, f"secret in {what}")
        scenario.check_spooled()
        for path in filter(pathlib.Path.is_file, scenario.directory.rglob("*")):
            text = path.read_bytes()
            text = gzip.decompress(text) if path.suffix == ".gz" else text
            equal(scenario.holds_secret(text.decode("utf-8", "replace"), "second-secret-name"), None,
                  f"secret in {path}")
            equal(path.stat().st_mode & 0o077 if scenario.spool in path.parents else 0, 0, f"mode of {path}")


@test
def the_configuration_is_shown_without_secrets():
    with Scenario() as scenario:
        for env in ({}, {"SENTINEL_API_TOKEN": None, "SENTINEL_API_KEY": TOKEN}):
            done = scenario.run("--print-config", env=env).ended(0)
            expect(TOKEN not in done.stdout + done.stderr, done.stdout)
            expect("SENTINEL_API_" in done.stdout, "the origin of the token is not shown:", done.stdout)


@test
def a_token_that_cannot_be_sent_is_refused_before_the_start():
    for token in ("with blank-and-secret", "line\r\nX-Injected: yes", "ünsendbar"):
        with Scenario() as scenario:
            done = scenario.run("--", "touch", "ran", env={"SENTINEL_API_TOKEN": token})
            done.ended(125, "SENTINEL_API_TOKEN")
            expect(not (scenario.directory / "ran").exists(), "the command was run")
            expect(token not in done.stderr and "secret" not in done.stderr.replace(str(scenario.directory), ""),
                   done.stderr)
            equal((scenario.api.requests, scenario.api.violations), ([], []), "requests")


def unprivileged():
    """How to start a process without rights."""
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


def environ_of_tracker(token):
    """What a process of the same user sees of the tracker: its command reads the environment and the memory map."""
    look = "for each in environ maps; do head -c 1 /proc/$PPID/$each >/dev/null && echo $each; done; :"
    with Scenario() as scenario:
        env = {"SENTINEL_API_TOKEN": token, **LONG_GRACE}
        done = scenario.run("-q", "--", "sh", "-c", look, env=env, **unprivileged())
        return done.ended(0).stdout.split()


@test
def no_process_can_look_into_a_tracker_that_streams():
    try:
        subprocess.run([BINARY, "--version"], capture_output=True, timeout=WAIT_SECS, check=True, **unprivileged())
    except (OSError, subprocess.SubprocessError) as error:
        raise Skip("another user may not run the tracker") from error
    equal(environ_of_tracker(None), ["environ", "maps"], "what can be read of a tracker that does not stream")
    equal(environ_of_tracker(TOKEN), [], "what can be read of a tracker that streams")


def with_limit(what, number, command, status):
    """The tracker as a user who has nothing but it, with a limit; returns stderr and how many runs were finished."""
    if os.geteuid() != 0:
        raise Skip("only root may become another user")
    with Scenario() as scenario, tempfile.TemporaryDirectory() as place:
        program = pathlib.Path(place) / "tracker"
        program.write_bytes(pathlib.Path(BINARY).read_bytes())
        program.chmod(0o755)
        os.chmod(place, 0o755)
        env = {"PATH": os.environ["PATH"], **scenario.env(TRACKER_SPOOL="/dev/null/none", **LONG_GRACE)}
        limit = ["prlimit", f"--{what}={number}", "setpriv", "--reuid=65531", "--regid=65531", "--clear-groups"]
        done = subprocess.run([*limit, str(program), "-q", "--", *command], env=env, cwd="/", text=True,
                              capture_output=True, timeout=WAIT_SECS, check=False)
        equal(done.returncode, status, f"status, stdout {done.stdout!r}, stderr {done.stderr!r}")
        return done.stderr, sum(run["finish"] is not None for run in scenario.api.runs.values())


@test
def the_command_starts_where_there_is_room_for_it_alone():
    if SANITIZED:
        raise Skip("a sanitizer needs threads and descriptors of its own")
    for command, status in ((["/bin/sh", "-c", "exit 7"], 7), (["/nonexistent"], 127)):
        reported, finished = with_limit("nproc", 2, command, status)
        expect("cannot start a thread" in reported, "nothing is said about the thread:", reported)
        equal(finished, 1, f"finished runs, stderr {reported!r}")
    reported, finished = with_limit("nofile", 11, ["/bin/sh", "-c", "exit 7"], 7)
    expect("streaming is off" in reported and finished == 0, reported, finished)


if __name__ == "__main__":
    tap.main()
