#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming to Sentinel with the shipped binary: what is told of a run and its end, how its data gets there, and that
secrets stay where they are.

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
from stream_together import together
from stream_world import PATIENCE, TOKEN, Plan, World, stop, wait_done, wait_for
from fake_sentinel import FORMS
from net_faults import BlackHole, Status
from stream_sentinel import LATER, LONG_GRACE, NO_FORMS, NOT_ALL, SHORT_GRACE, SOON_SECS, add, check_objects, test
from tap import Skip, equal, expect
from tracker import BINARY, SANITIZED, SLOW, WAIT_SECS

LIBRARY = os.environ.get("FAKE_NVML_LIB", "")
DENIED = Status(403, body=b"<Error><Code>AccessDenied</Code><Message>Not for you</Message></Error>")


# The forms of short runs


def short_run_is_inline(forms, setting, expected_calls):
    with World(forms=frozenset(forms)) as world:
        world.track("--", "true", env={"TRACKER_SENTINEL_INLINE": setting, **LONG_GRACE}).ended(0, is_silent=True)
        equal((world.finished()["data_source"], world.objects()), ("inline", {}), "way of the data")
        equal(world.plan.steps(), ["register"] + ["finish"] * expected_calls, "calls")
        world.check_delivered()
        equal(len(world.the_run()["csv"].splitlines()), 2, "lines of the CSV of a run with one sample")


for row in ((FORMS, None, 1), (["base64-gzip"], None, 1), (["plain-gzip"], None, 2), (["plain"], None, 3),
            (["base64-gzip"], "base64", 1), (["plain-gzip"], "plain", 1), (["plain"], "plain", 2)):
    add(f"a short run goes into the finish call: accepted {','.join(sorted(row[0]))}, inline = {row[1]}",
        short_run_is_inline, *row)


def inline_form_from_file(setting, form):
    with World(forms=frozenset([form])) as world:
        (world.folder / "resource-tracker.toml").write_text(f'[sentinel]\ninline = "{setting}"\n', encoding="utf-8")
        world.track("--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        equal(world.plan.count("finish"), 1, "finish calls")
        world.check_delivered()


add("sentinel.inline in the file pins base64", inline_form_from_file, "base64", "base64-gzip")
add("sentinel.inline in the file pins plain", inline_form_from_file, "plain", "plain-gzip")


@test
def a_pinned_form_that_is_refused_is_not_followed_by_another():
    with World(forms=frozenset(["plain-gzip"])) as world:
        world.track("--", "true", env={"TRACKER_SENTINEL_INLINE": "base64", **LONG_GRACE}).ended(0)
        equal(world.finished()["data_source"], "s3", "way of the data")
        world.check_delivered()


@test
def where_no_inline_form_is_taken_even_a_short_run_is_uploaded():
    with World(forms=NO_FORMS) as world:
        world.track("--", "true", env=LONG_GRACE).ended(0)
        equal(world.finished()["data_uris"], ["s3://bucket/prefix/x/run-1/000000.csv.gz"], "objects")
        world.check_delivered()


# What is told of a run


def register(*words, env=None):
    """What a short run tells with these options."""
    with World() as world:
        world.run("-q", *words, env={**LONG_GRACE, **(env or {})}).ended(0, is_silent=True)
        world.check_strict()
        return world.registered()


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
def metadata_that_is_no_utf8_is_told_as_far_as_it_is():
    body = register("--job-name", b"a\xffz", "--tag", b"k=\xc3", "--", "true")
    equal((body["job_name"], body["tags"]), ("a\N{REPLACEMENT CHARACTER}z", {"k": "\N{REPLACEMENT CHARACTER}"}), "told")


@test
def what_has_no_value_is_left_out():
    body = register("--job-name=", "--", "true", env={"TRACKER_TEAM": ""})
    wrong = set(body) & {"tags", "pid", "run_id", *(name.replace("-", "_") for name in METADATA)}
    equal(wrong, set(), "keys without a value")
    expect(None not in body.values() and "" not in body.values(), body)


def command_is_told(argv, told):
    body = register("--", "true", *argv)
    equal(json.loads(body["command"]), ["true", *told], "command")


add("the command is a string that holds a JSON array", command_is_told, ["-x", "a b", ""], ["-x", "a b", ""])
add("an odd command is told: quotes, control characters, beyond the BMP", command_is_told,
    ['"\\', "\n\t\x01\x7f", "über 🚀", "]["], ['"\\', "\n\t\x01\x7f", "über 🚀", "]["])
add("a command that is no UTF-8 is told as far as it is", command_is_told, [b"a\xffz", b"\xc3"],
    ["a\N{REPLACEMENT CHARACTER}z", "\N{REPLACEMENT CHARACTER}"])


@test
def a_huge_command_line_is_told_in_part():
    with World() as world:
        words = ["w%05d" % number for number in range(20000)]
        world.run("-q", "--", "true", *words, env=LONG_GRACE).ended(0, is_silent=True)
        told = json.loads(world.registered()["command"])
        equal((told[0], told[1:100], told[-1]), ("true", words[:99], "…"), "told words")
        expect(len(world.registered()["command"]) < 65536, "length", len(world.registered()["command"]))


@test
def a_command_may_be_kept_back():
    expect("command" not in register("--", "true", env={"TRACKER_SEND_COMMAND": "no"}), "the command was told")
    with World() as world:
        (world.folder / "resource-tracker.toml").write_text("[sentinel]\nsend_command = false\n", encoding="utf-8")
        world.run("-q", "--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        expect("command" not in world.registered(), "the command was told")


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
def gpus_are_told():
    if not os.access(LIBRARY, os.R_OK):
        raise Skip("FAKE_NVML_LIB does not name a library")
    script = ("gpus 2; gpu 0 name NVIDIA Test; gpu 0 total 1073741824; gpu 0 used 1048576; gpu 1 total 1073741824;"
              "gpu 1 used 1048576")
    with World() as world:
        env = {"TRACKER_NVML_PATH": LIBRARY, "FAKE_NVML": script, **LONG_GRACE}
        world.run("-q", "-i", PATIENCE, "--", "sleep", PATIENCE + 0.5, env=env).ended(0)  # a driver needs its time
        body = world.registered()
        equal((body.get("host_gpu_model"), body["host_gpu_count"], body.get("host_gpu_memory_mib")),
              ("NVIDIA Test", 2, 2048), "GPUs")


@test
def facts_can_be_omitted():
    gone = ["host_ip", "host_hostname", "host_vcpus"]
    body = register("--", "true", env={"TRACKER_OMIT": ",".join(gone)})
    equal([name for name in gone if name in body], [], "omitted facts")
    expect("host_memory_mib" in body, "more than that was omitted:", body)
    with World() as world:
        toml = 'omit = ["host_id", "host_memory_mib", "host_server_allocation"]'
        (world.folder / "resource-tracker.toml").write_text(f"[sentinel]\n{toml}\n", encoding="utf-8")
        world.run("-q", "--", "true", env=LONG_GRACE).ended(0, is_silent=True)
        equal([name for name in world.registered() if f'"{name}"' in toml], [], "omitted facts")


# How a run ends


def end_is_told(status, run_status, command):
    with World() as world:
        before = time.time()
        world.track("--", *command, env=LONG_GRACE).ended(status)
        finish = world.finished()
        equal((finish["exit_code"], finish["run_status"]), (status, run_status), "end")
        told = time.strptime(finish["finished_at"], "%Y-%m-%dT%H:%M:%SZ")
        expect(before - 2 < time.mktime(told) - time.timezone < time.time() + 2, "finished_at", finish["finished_at"])
        world.check_delivered()


add("a command that succeeds is finished", end_is_told, 0, "finished", ["true"])
add("a command that fails is failed with its status", end_is_told, 3, "failed", ["sh", "-c", "exit 3"])
add("a command that is killed is failed with 128+n", end_is_told, 137, "failed", ["sh", "-c", "kill -9 $$"])


def unstartable_is_told(status, command):
    with World() as world:
        done = world.track("--", command, env=LONG_GRACE).ended(status)
        equal(len(done.stderr.splitlines()), 1, f"lines on stderr {done.stderr!r}")
        equal((world.finished()["exit_code"], world.finished()["run_status"]), (status, "failed"), "end")
        equal(len(world.api.run_csv(world.the_run()).splitlines()), 1, "lines of a CSV without a sample")
        world.check_strict()
        equal(world.spool_files(), [], "files in the spool")


add("a command that is not found is told, with no samples", unstartable_is_told, 127, "/nonexistent/command")
add("a command that is not executable is told, with no samples", unstartable_is_told, 126, "/etc/passwd")


@test
def a_command_that_cannot_be_run_is_told_at_once():
    with World(Plan(register=BlackHole())) as world:
        with world.start("--", "/nonexistent/command", env={"TRACKER_GRACE": 600}) as tracker:
            wait_for(lambda: "cannot run /nonexistent/command" in tracker.stderr(), "the error", 5 * PATIENCE)
            wait_for(lambda: world.plan.count("register"), "the registration")
            stop(tracker).ended(127, NOT_ALL)


def started(world):
    """Waits until the command has made its file."""
    wait_for((world.folder / "started").exists, "the command")


def signal_is_told(script, status, run_status):
    with World() as world:
        with world.start(*world.local(), "--", "sh", "-c", script, env=LONG_GRACE) as tracker:
            started(world)
            stop(tracker).ended(status)
        equal((world.finished()["exit_code"], world.finished()["run_status"]), (status, run_status), "end")
        world.check_delivered()


add("SIGTERM ends the command by way of the tracker: a requested stop is finished", signal_is_told,
    ": > started; exec sleep 60", 143, "finished")
add("a command that takes SIGTERM for its end is finished with its status", signal_is_told,
    "trap 'kill $!; exit 0' TERM; sleep 60 & : > started; wait", 0, "finished")


@test
def a_tracked_process_that_ends_is_finished():
    with World() as world, subprocess.Popen(["sleep", "0.4"]) as process:
        world.track("-i", "0.1", "--pid", process.pid, "--stop-with-pid", env=LONG_GRACE).ended(0, is_silent=True)
        process.wait()
        finish = world.finished()
        equal((finish.get("exit_code", 0), finish["run_status"]), (0, "finished"), "end")
        expect("command" not in world.registered() and "pid" not in world.registered(), world.registered())
        expect(len(world.csv.read_bytes().splitlines()) > 2, "hardly any sample", world.csv.read_bytes())
        equal(world.csv.read_text("ascii").splitlines()[1].split(",")[21], str(process.pid), "process_pid")
        world.check_delivered()


def host_mode_ends(number):
    with World() as world:
        with world.start(*world.local(), "-i", "0.1", env=LONG_GRACE) as tracker:
            wait_for(lambda: world.csv.exists() and world.csv.read_bytes().count(b"\n") > 2, "samples")
            stop(tracker, number).ended(0, is_silent=True)
        equal((world.finished()["exit_code"], world.finished()["run_status"]), (0, "finished"), "end")
        expect("command" not in world.registered(), world.registered())
        world.check_delivered()


add("host mode that is ended by SIGTERM is finished with 0", host_mode_ends, signal.SIGTERM)
add("host mode that is ended by SIGINT is finished with 0", host_mode_ends, signal.SIGINT)


# Longer runs


@together
def a_longer_run_is_uploaded_in_batches_that_are_the_local_csv():
    with World() as world:
        world.track("-i", "0.05", "--", "sleep", "5" if SLOW else "2.6", env=LONG_GRACE).ended(0, is_silent=True)
        check_objects(world, 3)
        expect("host_server_allocation" not in world.registered(), "a guess about the whole run at its beginning")
        expect(world.csv.read_bytes().count(b"\n") > 20, "hardly any rows")


@together
def a_batch_is_uploaded_while_the_command_runs():
    with World() as world:
        with world.start(*world.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: len(world.objects()) >= 2, "two objects")
            equal(world.the_run()["finish"], None, "finish of a running command")
            stop(tracker).ended(143, is_silent=True)
        check_objects(world, 2)


@together
def keys_that_expire_in_the_middle_are_renewed_once():
    with World() as world:
        with world.start(*world.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(world.objects, "the first object")
            equal(world.plan.count("refresh"), 0, "refreshes of keys that are good for an hour")
            world.s3.expire_keys()
            wait_for(lambda: len(world.objects()) >= 2, "the second object")
            stop(tracker).ended(143, is_silent=True)
        equal(world.plan.count("refresh"), 1, "refreshes")
        check_objects(world, 2)


@together
def keys_with_an_unreadable_expiry_are_renewed_before_each_upload():
    with World() as world:
        world.api.expiry_form, world.api.region = "odd", "eu-central-1"
        with world.start(*world.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: len(world.objects()) >= 2, "two objects")
            stop(tracker).ended(143, is_silent=True)
        steps = world.plan.steps("refresh", "upload")
        equal(steps, ["refresh", "upload"] * len(world.objects()), "refreshes and uploads")
        check_objects(world, 2)


@together
def a_registration_that_fails_is_tried_again_and_nothing_is_lost():
    plan = Plan(register=[Status(500, body=b'{"detail": "out of order"}')] * 3)
    with World(plan) as world:
        with world.start(*world.local(), "-i", "0.1", "--", "sleep", "60", env=LONG_GRACE) as tracker:
            wait_for(lambda: "500" in tracker.stderr(), "a warning while the command runs")
            wait_for(world.objects, "an object")
            done = stop(tracker).ended(143, "out of order", "spool")
        equal(plan.count("register"), 4, "registrations")
        equal(len(done.warnings()), 2, f"warnings: the trouble and its end, {done.stderr!r}")
        check_objects(world, 1)


@together
def a_refused_token_is_told_at_once_and_not_tried_again():
    with World() as world:
        env = {"SENTINEL_API_TOKEN": "another-token-that-is-wrong"}
        with world.start(*world.local(), "-i", "0.1", "--", "sleep", "60", env=env) as tracker:
            wait_for(lambda: "401" in tracker.stderr(), "a warning while the command runs")
            time.sleep(1.2)
            done = stop(tracker).ended(143, "Invalid token", "SENTINEL_API_TOKEN", LATER)
        equal(world.plan.count("register"), 1, "registrations")
        expect("another-token" not in done.stderr, "the token is on stderr:", done.stderr)
        world.check_spooled()
        world.upload_spool().ended(0)
        world.check_delivered()


# Settings


@test
def the_other_name_of_the_token_is_accepted():
    with World() as world:
        env = {"SENTINEL_API_TOKEN": None, "SENTINEL_API_KEY": TOKEN, **LONG_GRACE}
        world.track("--", "true", env=env).ended(0, is_silent=True)
        world.check_delivered()


@test
def an_empty_token_means_no_streaming():
    with World() as world:
        world.track("--", "true", env={"SENTINEL_API_TOKEN": ""}).ended(0, is_silent=True)
        equal((world.api.connections, world.s3.connections, world.spool.exists()), (0, 0, False), "traces of streaming")


@test
def an_address_may_have_a_path():
    with World() as world:
        world.track("--", "true", env={"SENTINEL_API_URL": world.api.url + "/api/v1/", **LONG_GRACE}).ended(0, "404")
        equal([(request[0], request[2]) for request in world.api.requests], [("POST", "/api/v1/runs")], "requests")


@test
def a_slash_at_the_end_of_the_addresses_is_tolerated():
    with World(forms=NO_FORMS) as world:
        world.api.lifetime_secs = SOON_SECS
        env = {"SENTINEL_API_URL": world.api.url + "/", "AWS_ENDPOINT_URL": world.s3.url + "/", **LONG_GRACE}
        world.track("--", "true", env=env).ended(0)
        world.check_delivered()


@test
def a_slash_more_or_less_is_the_same_api_for_the_spool():
    with World(Plan(register=Status(503))) as world:
        env = {"SENTINEL_API_URL": world.api.url + "/", **SHORT_GRACE}
        world.track("--", "true", env=env).ended(0, LATER)
        world.plan.heal()
        world.upload_spool().ended(0)
        world.check_delivered()


def address_is_refused(url, *words):
    with World() as world:
        env = {"SENTINEL_API_URL": url}
        done = world.run("--", "touch", "ran", env=env).ended(125, "SENTINEL_API_URL", *words)
        equal(len(done.stderr.splitlines()), 1, f"lines on stderr {done.stderr!r}")
        expect(not (world.folder / "ran").exists(), "the command ran")
        expect(not world.spool.exists(), "there is a spool")


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
    with World(Plan(finish=Status(500), upload=DENIED), forms=NO_FORMS) as world:
        with world.start(*world.local(), "-vv", "-i", "0.1", "--", "sh", "-c", look, env=env) as tracker:
            started(world)
            wait_for(lambda: world.plan.count("upload"), "an upload")
            cmdline = pathlib.Path(f"/proc/{tracker.pid}/cmdline").read_text("utf-8")
            (world.folder / "over").touch()
            done = wait_done(tracker).ended(0, LATER)
        expect("TRACKER_SPOOL=" in done.stdout, "the environment was not shown:", done.stdout)
        for name in ("SENTINEL_API_TOKEN", "SENTINEL_API_KEY"):
            expect(name not in done.stdout, f"the command sees {name}")
        for what, text in (("stdout", done.stdout), ("stderr", done.stderr), ("cmdline", cmdline)):
            equal(world.holds_secret(text, "second-secret-name"), None, f"secret in {what}")
        world.check_spooled()
        for path in filter(pathlib.Path.is_file, world.folder.rglob("*")):
            text = path.read_bytes()
            text = gzip.decompress(text) if path.suffix == ".gz" else text
            equal(world.holds_secret(text.decode("utf-8", "replace"), "second-secret-name"), None, f"secret in {path}")
            equal(path.stat().st_mode & 0o077 if world.spool in path.parents else 0, 0, f"mode of {path}")


@test
def the_configuration_is_shown_without_secrets():
    with World() as world:
        for env in ({}, {"SENTINEL_API_TOKEN": None, "SENTINEL_API_KEY": TOKEN}):
            done = world.run("--print-config", env=env).ended(0)
            expect(TOKEN not in done.stdout + done.stderr, done.stdout)
            expect("SENTINEL_API_" in done.stdout, "the origin of the token is not shown:", done.stdout)


@test
def a_token_that_cannot_be_sent_is_refused_before_the_start():
    for token in ("with blank-and-secret", "line\r\nX-Injected: yes", "ünsendbar"):
        with World() as world:
            done = world.run("--", "touch", "ran", env={"SENTINEL_API_TOKEN": token}).ended(125, "SENTINEL_API_TOKEN")
            expect(not (world.folder / "ran").exists(), "the command was run")
            expect(token not in done.stderr and "secret" not in done.stderr.replace(str(world.folder), ""), done.stderr)
            equal((world.api.requests, world.api.violations), ([], []), "requests")


def unprivileged():
    """How to start a process without rights."""
    return {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}


def environ_of_tracker(token):
    """What a process of the same user sees of the tracker: its command reads the environment and the memory map."""
    look = "for each in environ maps; do head -c 1 /proc/$PPID/$each >/dev/null && echo $each; done; :"
    with World() as world:
        env = {"SENTINEL_API_TOKEN": token, **LONG_GRACE}
        done = world.run("-q", "--", "sh", "-c", look, env=env, **unprivileged())
        return done.ended(0).stdout.split()


@test
def the_tracker_lets_nobody_look_into_it_while_it_streams():
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
    with World() as world, tempfile.TemporaryDirectory() as place:
        program = pathlib.Path(place) / "tracker"
        program.write_bytes(pathlib.Path(BINARY).read_bytes())
        program.chmod(0o755)
        os.chmod(place, 0o755)
        env = {"PATH": os.environ["PATH"], **world.env(TRACKER_SPOOL="/dev/null/none", **LONG_GRACE)}
        limit = ["prlimit", f"--{what}={number}", "setpriv", "--reuid=65531", "--regid=65531", "--clear-groups"]
        done = subprocess.run([*limit, str(program), "-q", "--", *command], env=env, cwd="/", text=True,
                              capture_output=True, timeout=WAIT_SECS, check=False)
        equal(done.returncode, status, f"status, stdout {done.stdout!r}, stderr {done.stderr!r}")
        return done.stderr, sum(run["finish"] is not None for run in world.api.runs.values())


@test
def the_command_starts_where_there_is_room_for_it_alone():
    if SANITIZED:
        raise Skip("a sanitizer needs threads and descriptors of its own")
    for command, status in ((["/bin/sh", "-c", "exit 7"], 7), (["/nonexistent"], 127)):
        told, finished = with_limit("nproc", 2, command, status)
        expect("cannot start a thread" in told, "nothing is said about the thread:", told)
        equal(finished, 1, f"finished runs, stderr {told!r}")
    told, finished = with_limit("nofile", 11, ["/bin/sh", "-c", "exit 7"], 7)
    expect("streaming is off" in told and finished == 0, told, finished)


if __name__ == "__main__":
    tap.main()
