#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--doctor as users and programs ask for it: the table, the JSON, other users and namespaces, and targets that answer,
refuse, or say nothing. Nothing is on the network unless it is asked for."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_http import Answer, Server
from net_faults import BlackHole, FullBacklog
from stream_scenario import PATIENCE, TOKEN, Scenario
from tap import Skip, equal, expect, test
from tracker import BINARY, ROOT, clean_env, directory, need_strace, run

STATES = ("ok", "off", "limited", "missing", "broken")
AREAS = ["host", "processes", "cpu", "memory", "disk", "network", "pressure", "cgroup", "gpu", "energy", "clock",
         "limits", "streaming"]
KEYS = ["area", "name", "state", "finding", "remedy"]
COLUMNS = 100
PATH, QUERY, PASSWORD = "s3cr3t-path", "s3cr3t-query", "s3cr3t-password"
KEY = "s3cr3t-key"
# For one target; then it is given up.
ANSWER_SECS = 5
LIBRARY = os.environ.get("FAKE_NVML_LIB", "")
TWO_GPUS = "gpus 2; gpu 0 name NVIDIA Test; gpu 0 uuid GPU-0; gpu 1 uuid GPU-1"


def doctor(*args, env=None, before=(), status=0, secs=20 * PATIENCE, program=BINARY):
    """Runs it to its end, in an empty directory; returns stdout."""
    with directory() as empty:
        done = subprocess.run([*before, program, "--doctor", *args], env=clean_env(HOME=str(empty), **(env or {})),
                              cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=secs,
                              check=False)
    expect("Sanitizer" not in done.stderr, done.stderr)
    expect(status is None or done.returncode == status, f"exit status {done.returncode}", done.stderr, done.stdout)
    return done.stdout


def parse(text):
    """The JSON, with what its contract says; findings by area and name."""
    document = json.loads(text)
    equal(list(document), ["resource-tracker-version", "verdict", "findings"], "keys")
    expect(document["verdict"] in ("ok", "limited", "broken"), document["verdict"])
    expect(re.fullmatch(r"\d+\.\d+\.\d+\S*", document["resource-tracker-version"]), document)
    found = {}
    for finding in document["findings"]:
        equal(list(finding), KEYS, "keys of a finding")
        expect(finding["state"] in STATES, finding)
        expect(all(isinstance(finding[key], str) and finding[key] for key in KEYS[:4]), finding)
        expect(finding["remedy"] is None or finding["remedy"].endswith("."), finding)
        expect(finding["state"] in ("ok", "off") or finding["remedy"], "no remedy:", finding)
        found[finding["area"], finding["name"]] = finding
    areas = list(dict.fromkeys(finding["area"] for finding in document["findings"]))
    equal(areas, AREAS, "areas")
    worst = max(STATES.index(finding["state"]) for finding in document["findings"])
    equal(document["verdict"], ("ok", "ok", "limited", "limited", "broken")[worst], "verdict")
    return found


def examine(*args, **how):
    return parse(doctor("-f", "json", *args, **how))


def online(env, status=0):
    """The findings with online, and how long they took."""
    begin = time.monotonic()
    found = parse(doctor_online(env, status))
    return found, time.monotonic() - begin


def doctor_online(env, status=0):
    with directory() as empty:
        done = subprocess.run([BINARY, "--doctor=online", "-f", "json"],
                              env=clean_env(**{"HOME": str(empty), **env}), cwd=empty, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=40 * PATIENCE, check=False)
    expect("Sanitizer" not in done.stderr, done.stderr)
    equal(done.returncode, status, f"exit status, {done.stderr} {done.stdout}")
    return done.stdout


class Hook(Server):
    """Answers everything, and knows what was asked."""

    def handle(self, request):
        return Answer(404, [("Content-Type", "text/plain")], b"no\n")


def hook_env(url, **more):
    host = url.removeprefix("http://")
    return {"TRACKER_HTTP_START_URL": f"http://me:{PASSWORD}@{host}/{PATH}?k={QUERY}",
            "TRACKER_HTTP_STOP_URL": f"{url}/{PATH}/stop", **more}


def check_discreet(text):
    for secret in (PATH, QUERY, PASSWORD, KEY, TOKEN):
        expect(secret not in text, f"{secret} is in", text)


# ---- what is shown

@test
def the_table_is_plain_and_narrow_and_ends_with_a_verdict():
    text = doctor(status=None)
    lines = text.split("\n")
    equal(lines[0].split(), ["AREA", "CHECK", "STATE", "FINDING"], "heading")
    equal(lines[-1], "", "end")
    expect(re.fullmatch(r"Everything that a run needs works here\.|\d+ things? (is|are) .*: see above\.", lines[-2]),
           lines[-2])
    for line in lines:
        expect(len(line) <= COLUMNS and re.fullmatch(r"[ -~]*", line) and not line.endswith(" "), repr(line))
    rows = [line for line in lines[1:-3] if not line.startswith(" ")]
    equal(list(dict.fromkeys(row.split()[0] for row in rows)), AREAS, "areas")
    equal({row[28:37].split()[0] for row in rows} - set(STATES), set(), "states")
    remedies = [line for line in lines if line.lstrip().startswith("-> ")]
    expect(all(line.index("->") == 37 for line in remedies), remedies)


@test
def the_json_says_the_same_as_the_table():
    found = examine(status=None)
    text = doctor(status=None)
    for (area, name), finding in found.items():
        expect(any(line.split() and line.startswith(area) and name in line and finding["state"] in line
                   for line in text.splitlines()), finding, text)


@test
def this_machine_can_be_measured():
    found = examine(status=None)
    equal(found["cpu", "online"]["state"], "ok", "CPUs")
    expect(found["cpu", "online"]["finding"].startswith(str(os.cpu_count())), found["cpu", "online"])
    equal(found["memory", "available"]["state"], "ok", "memory")
    expect(os.uname().release in found["host", "kernel"]["finding"], found["host", "kernel"])
    equal(found["processes", "CPU and RSS"]["state"], "ok", "a child of ours")
    equal(found["streaming", "targets"]["finding"], "none configured: no network connection is made", "targets")
    rollup = pathlib.Path("/proc/self/smaps_rollup").exists()
    equal(found["processes", "PSS"]["state"], "ok" if rollup else "missing", "PSS")


@test
def it_leaves_no_file_behind():
    with directory() as place:
        doctor(env={"XDG_STATE_HOME": str(place), "TRACKER_SPOOL": str(place / "spool"), "SENTINEL_API_TOKEN": TOKEN,
                    "SENTINEL_API_URL": "http://127.0.0.1:9"}, status=None)
        equal(list(place.iterdir()), [], "files")


@test
def a_captured_tree_is_examined_in_place_of_the_machine():
    root = ROOT / "tests/fixtures/container-cgroup-v2/t0"
    found = examine("--sysroot", str(root))
    equal(found["cgroup", "limits"]["finding"], "CPU: 2.00 cores, memory: 4096 MiB", "limits")
    for area in ("processes", "clock", "limits"):
        equal(found[area, area]["state"], "off", area)
    found = examine("--sysroot", str(ROOT / "tests/fixtures/empty-root/t0"), status=1)
    equal(found["host", "proc"]["state"], "broken", "proc")


@test
def a_root_that_is_not_there_is_an_error():
    done = run(["--doctor", "--sysroot", "/no/such/place"])
    equal([done.returncode, done.stdout], [125, ""], "status and stdout")
    expect("/no/such/place" in done.stderr, done.stderr)


# ---- who asks, and from where

@contextlib.contextmanager
def another_user():
    """Words that run as another user, and the program where this user may execute it."""
    setpriv = shutil.which("setpriv")
    if os.geteuid() != 0 or not setpriv:
        raise Skip("only root may become another user")
    with directory() as place:
        place.chmod(0o755)
        shutil.copy(BINARY, place / "program")
        yield [setpriv, "--reuid", "65534", "--regid", "65534", "--clear-groups", "--"], place / "program"


def in_namespaces(*flags):
    """Words that run something in new namespaces; skips where that is not permitted."""
    unshare = shutil.which("unshare")
    if os.geteuid() != 0 or not unshare:
        raise Skip("namespaces are not permitted")
    words = [unshare, *flags, "--"]
    if subprocess.run([*words, "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("namespaces are not permitted")
    return words


@test
def what_is_out_of_reach_of_an_ordinary_user_is_reported():
    with another_user() as (words, program):
        found = examine(before=words, program=program, status=None)
    equal(found["processes", "CPU and RSS"]["state"], "ok", "a child of ours")
    expect(found["cgroup", "own (--cgroup)"]["state"] == "limited", found["cgroup", "own (--cgroup)"])


@test
def hidden_processes_are_reported():
    with another_user() as (words, program):
        mount = in_namespaces("--mount")
        script = 'mount -t proc -o hidepid=2 proc /proc && exec "$@"'
        probe = subprocess.run([*mount, "sh", "-c", script, "sh", "true"], capture_output=True, check=False)
        if probe.returncode != 0:
            raise Skip("proc cannot be mounted")
        found = examine(before=[*mount, "sh", "-c", script, "sh", *words], program=program, status=None)
    equal(found["processes", "of other users"]["state"], "limited", "others")
    equal(found["processes", "CPU and RSS"]["state"], "ok", "a child of ours")


@test
def a_proc_of_another_namespace_is_broken_and_one_of_its_own_is_not():
    found = examine(before=in_namespaces("--pid", "--fork"), status=1)
    equal(found["processes", "PID namespace"]["state"], "broken", "foreign proc")
    found = examine(before=in_namespaces("--pid", "--fork", "--mount-proc"), status=None)
    equal(found["processes", "PID namespace"]["state"], "ok", "own proc")
    expect("container" in found["processes", "PID namespace"]["finding"], found["processes", "PID namespace"])


@test
def a_machine_without_sysfs_is_examined():
    words = in_namespaces("--mount")
    script = 'umount -l /sys && exec "$@"'
    if subprocess.run([*words, "sh", "-c", script, "sh", "true"], capture_output=True, check=False).returncode != 0:
        raise Skip("/sys cannot be taken away")
    found = examine(before=[*words, "sh", "-c", script, "sh"], status=None)
    equal([found["host", "sys"]["state"], found["cgroup", "kind"]["state"]], ["missing", "missing"], "states")


# ---- GPUs

@test
def a_library_of_nvidia_is_asked():
    if not LIBRARY:
        raise Skip("FAKE_NVML_LIB does not name a library")
    found = examine(env={"TRACKER_NVML_PATH": LIBRARY, "FAKE_NVML": TWO_GPUS}, status=None)
    equal(found["gpu", "nvidia"]["state"], "ok", found["gpu", "nvidia"])
    expect(found["gpu", "nvidia"]["finding"].startswith("2 found: NVIDIA Test, driver nvidia"), found["gpu", "nvidia"])
    if os.readlink("/proc/self/ns/pid") != "pid:[4026531836]":
        equal(found["gpu", "nvidia processes"]["state"], "limited", "PID namespace")


@test
def in_a_pid_namespace_the_numbers_of_the_driver_are_in_doubt():
    if not LIBRARY:
        raise Skip("FAKE_NVML_LIB does not name a library")
    found = examine(env={"TRACKER_NVML_PATH": LIBRARY, "FAKE_NVML": TWO_GPUS},
                    before=in_namespaces("--pid", "--fork", "--mount-proc"), status=None)
    equal(found["gpu", "nvidia processes"]["state"], "limited", "PID namespace")
    expect("--pid=host" in found["gpu", "nvidia processes"]["remedy"], found["gpu", "nvidia processes"])


@test
def a_library_that_is_not_there_is_reported():
    found = examine(env={"TRACKER_NVML_PATH": "/no/such/libnvidia-ml.so"}, status=None)
    equal(found["gpu", "nvidia"]["state"], "limited", found["gpu", "nvidia"])
    expect("/no/such/libnvidia-ml.so" in found["gpu", "nvidia"]["finding"], found["gpu", "nvidia"])


@test
def what_is_turned_off_is_not_looked_at():
    found = examine(env={"TRACKER_COLLECT_GPU": "false", "TRACKER_COLLECT_DISK": "false"}, status=None)
    equal([found["gpu", "gpu"]["state"], found["disk", "disk"]["state"]], ["off", "off"], "states")
    equal(found["processes", "exact"]["state"], "off", "what is not asked for")
    found = examine(env={"TRACKER_EXACT_PROCESSES": "true"}, status=None)
    expect(found["processes", "exact"]["state"] in ("ok", "limited"), found["processes", "exact"])


# ---- targets

@test
def without_online_there_is_nothing_on_the_network():
    strace = need_strace()
    with directory() as place, Scenario() as scenario:
        env = scenario.env(**hook_env("http://127.0.0.1:9"), TRACKER_S3_URI="s3://bucket/prefix")
        doctor(env={name: value for name, value in env.items() if name != "HOME"}, status=None,
               before=[strace, "-f", "-qq", "-e", "trace=network", "-o", str(place / "calls")])
        calls = (place / "calls").read_text(encoding="utf-8", errors="replace")
        # The list of TCP sockets that the kernel gives is no connection.
        asked = [line for line in calls.splitlines() if re.search(r"(socket|connect)\(.*(AF_INET|AF_NETLINK)", line)]
        expect(all("NETLINK_SOCK_DIAG" in line or "NETLINK_INET_DIAG" in line for line in asked), calls)
        equal([scenario.api.requests, scenario.s3.requests], [[], []], "requests")


@test
def targets_that_answer_are_reachable_and_nothing_is_registered():
    with Scenario() as scenario, Hook() as hook:
        env = scenario.env(TRACKER_S3_URI="s3://bucket/prefix", AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=KEY,
                           **hook_env(hook.url))
        text = doctor_online(env)
        check_discreet(text)
        found = parse(text)
        equal([found["streaming", name]["state"] for name in ("Sentinel", "bucket", "hook", "AWS credentials")],
              ["ok"] * 4, "states")
        equal(found["streaming", "Sentinel"]["finding"], f"{scenario.api.url} answers (HTTP 404)", "Sentinel")
        expect("from the environment" in found["streaming", "AWS credentials"]["finding"], found)
        equal([scenario.api.runs, scenario.objects()], [{}, {}], "runs and objects")
        equal([request[0] for request in scenario.api.requests + scenario.s3.requests], ["HEAD", "HEAD"], "methods")
        equal([(method, target) for method, _, target, _ in hook.requests], [("HEAD", "/")], "requests to the hook")
        expect(not scenario.spool.exists(), "a spool was made")


@test
def secrets_are_not_shown_without_online_either():
    env = {"SENTINEL_API_TOKEN": TOKEN, "TRACKER_ALLOW_HTTP": "1", "AWS_ACCESS_KEY_ID": KEY,
           "AWS_SECRET_ACCESS_KEY": KEY, "TRACKER_S3_URI": "s3://bucket/prefix",
           "TRACKER_HTTP_HEADERS": f"Authorization=Bearer {KEY}", **hook_env("http://hooks.invalid"),
           "https_proxy": f"http://me:{PASSWORD}@proxy.invalid:3128"}
    check_discreet(doctor("-f", "json", env=env, status=None) + doctor(env=env, status=None))


@test
def a_port_where_nothing_listens_is_reported_at_once():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{reserved.getsockname()[1]}"
        found, secs = online(hook_env(url), status=1)
    equal(found["streaming", "hook"]["state"], "broken", "hook")
    expect("refused" in found["streaming", "hook"]["finding"], found["streaming", "hook"])
    expect(secs < ANSWER_SECS * PATIENCE, secs)


@test(limit=60)
def a_black_hole_is_given_up_in_time():
    with FullBacklog() as full:
        found, secs = online(hook_env(full.url), status=1)
        equal(found["streaming", "hook"]["state"], "broken", "no connection")
        expect(ANSWER_SECS - 0.5 <= secs < ANSWER_SECS + 3 * PATIENCE, secs)
    with Hook(behave=lambda request: BlackHole()) as hook:
        found, secs = online(hook_env(hook.url), status=1)
        equal(found["streaming", "hook"]["state"], "broken", "no answer")
        expect(ANSWER_SECS - 0.5 <= secs < ANSWER_SECS + 3 * PATIENCE, secs)


@test
def a_name_that_does_not_exist_is_reported():
    env = hook_env("http://hooks.invalid", TRACKER_ALLOW_HTTP="1")
    text = doctor_online(env, status=1)
    check_discreet(text)
    equal(parse(text)["streaming", "hook"]["state"], "broken", "hook")


@test
def a_proxy_is_asked_and_named_without_its_password():
    with Hook() as proxy:
        env = hook_env("http://hooks.invalid", TRACKER_ALLOW_HTTP="1",
                       http_proxy=proxy.url.replace("http://", f"http://me:{PASSWORD}@"))
        text = doctor_online(env)
        check_discreet(text)
        finding = parse(text)["streaming", "hook"]
        expect(f"through the proxy 127.0.0.1:{proxy.port}" in finding["finding"], finding)


@test
def certificates_are_looked_at_where_a_target_needs_them():
    env = {"SENTINEL_API_TOKEN": TOKEN, "SENTINEL_API_URL": "https://api.invalid"}
    found = examine(env={**env, "SSL_CERT_FILE": "/no/such/roots.pem"}, status=1)
    equal(found["streaming", "CA certificates"]["state"], "broken", "no roots")
    bundle = pathlib.Path("/etc/ssl/certs/ca-certificates.crt")
    if not bundle.exists():
        raise Skip("this system has no bundle")
    found = examine(env={**env, "SSL_CERT_FILE": str(bundle)}, status=None)
    expect(re.fullmatch(rf"\d+ trusted roots from {bundle}", found["streaming", "CA certificates"]["finding"]), found)


@test
def a_setting_that_no_run_starts_with_is_broken():
    found = examine(env={"TRACKER_HTTP_START_URL": "http://hooks.example.com/x"}, status=1)
    equal(found["streaming", "targets"]["state"], "broken", "plain http")


if __name__ == "__main__":
    tap.main()
