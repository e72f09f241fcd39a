#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Streaming into an S3 bucket of the user's own: names, run.json, where the keys come from, and what can go wrong."""

import json
import re
import socket
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from fake_aws import IDENTITY_ROLE, FakeAws
from net_faults import BlackHole, LostAnswer, Reset, Retry429, Slow, Status
from stream_bucket import KEY, SECRET, STAMP, BucketScenario
from stream_scenario import TOKEN, stop, wait_done, wait_for
from stream_together import together, together_as
from tap import equal, expect, test
from tracker import SLOW

SHORT = ("--", "true")
READ = ("--", "sh", "-c", "read line; exit 3")  # until stdin is closed
NO_KEYS = {"AWS_ACCESS_KEY_ID": None, "AWS_SECRET_ACCESS_KEY": None}
LATE_SECS = 8  # a grace of 1 s is over even on the slowest machine; a request has 30 s of its own
HASTY = {"TRACKER_GRACE": "8" if SLOW else "3"}  # where nothing comes of waiting


def arrives(scenario, *words, status=0, **env):
    """Tracks something short; everything is in the bucket afterwards, without a word on stderr."""
    done = scenario.track(*(words or SHORT), env=env).ended(status, is_silent=True)
    scenario.check_nothing_left()
    return scenario.check_arrived() if done else None


def reading(scenario, env=None, *words):
    """A tracker with the local CSV, whose command ends with 3 when stdin is closed, as wait_done() does."""
    return scenario.start(*scenario.local(), "-i", "0.1", *(words or READ), stdin=subprocess.PIPE, env=env)


def statuses(server):
    return [status for _, _, _, status in server.requests]


def puts_to(scenario, bucket):
    return [put for put in scenario.s3.puts if put[0] == bucket]


# ---- names and run.json

@together
def a_run_of_several_batches_arrives_whole():
    with BucketScenario() as scenario:
        with reading(scenario, None, "-n", "nightly", "--tag", "team=ops", "--stage-name", "train", *READ) as tracker:
            wait_for(scenario.held, "the first object")
            first = scenario.run_json()
            wait_for(lambda: len(scenario.batches()) >= 2, "two batches")
            done = wait_done(tracker)
        done.ended(3, is_silent=True)
        last = scenario.check_arrived()
        scenario.check_nothing_left()
        kinds = [(key.rpartition("/")[2], kind) for _, key, _, kind, _ in scenario.s3.puts]
        directory = scenario.run_directory()
    expect(re.fullmatch(rf"pre/nightly/{STAMP}", directory), "directory", directory)
    equal("end" in first or "batches" in first, False, f"an end in the first run.json {first}")
    equal({key: last[key] for key in first if key != "host"}, {key: first[key] for key in first if key != "host"},
          "what both run.json hold")
    equal([kinds[0], kinds[-1]], [("run.json", "application/json")] * 2, "first and last object")
    equal({kind for _, kind in kinds[1:-1]}, {"application/gzip"}, "types of the batches")
    expect(last["batches"] >= 3, f"{last['batches']} batches")
    check_description(last)


def check_description(run):
    equal(run["interval_secs"], 0.1, "interval")
    equal(run["job"], {"job_name": "nightly", "stage_name": "train", "tags": {"team": "ops"},
                       "command": json.dumps(list(READ[1:]), separators=(",", ":"))}, "job")
    equal(run["host"]["host_hostname"], socket.gethostname(), "host name")
    expect(run["host"]["host_vcpus"] >= 1 and run["host"]["host_memory_mib"] > 0, "host", run["host"])
    expect(run["host"]["host_server_allocation"] in ("shared", "dedicated"), "allocation", run["host"])
    equal([run["end"]["exit_code"], run["end"]["run_status"]], [3, "failed"], "end")
    began, ended = run["started_at"], run["end"]["finished_at"]
    expect(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", ended) and began <= ended, "times", began, ended)
    equal(re.sub("[-:]", "", began), run["run_id"].partition("-")[0], "start in the name")


@test
def a_command_that_ends_at_once_is_one_batch():
    with BucketScenario() as scenario:
        run = arrives(scenario)
        names = [put[1].rpartition("/")[2] for put in scenario.s3.puts]
    equal([run["end"]["exit_code"], run["end"]["run_status"], run["batches"]], [0, "finished", 1], "end")
    equal(names[-2:], ["000000.csv.gz", "run.json"], "objects")  # an earlier run.json may have been sent in time
    expect(names[:-2] in ([], ["run.json"]), "objects", names)


@test
def without_a_job_name_the_host_names_the_directory():
    with BucketScenario() as scenario:
        arrives(scenario)
        name = scenario.run_directory().split("/")[1]
    equal(name, re.sub(r"[^A-Za-z0-9._-]", "_", socket.gethostname()), "directory")


def job_name_is_made_safe(name, directory):
    with BucketScenario() as scenario:
        run = arrives(scenario, "-n", name, *SHORT)
        parts = scenario.run_directory().split("/")
    equal([parts[0], len(parts)], ["pre", 3], f"parts of {parts}")
    equal(run["job"]["job_name"], name, "job name in run.json")
    expect(re.fullmatch(directory, parts[1]), f"{parts[1]!r} for {name!r}")


for job_name, wanted in (("a/b\\c d", "a_b_c_d"), ("../../etc", r"_[A-Za-z0-9._-]*etc"), (".hidden", "_hidden"),
                         ("Übung+%2F?#", r"_+bung__2F__"), ("x" * 400, "x{64,255}")):
    tap.add(f"the job name {job_name[:12]!r} is made safe", job_name_is_made_safe, job_name, wanted)


@test
def run_json_has_the_verdict_and_the_summary_of_the_run():
    with BucketScenario() as scenario:
        run = arrives(scenario, "-n", "job", "--", "sh", "-c", "exit 3", status=3)
    summary = run["summary"]
    equal([summary["result"]["exit_code"], summary["samples"], summary["job_name"]], [3, 1, "job"], "summary")
    expect(summary["verdict"]["kind"] and summary["verdict"]["text"], "verdict", summary["verdict"])
    equal([summary["processes"], summary["programs"]], [None, None], "processes are left out")


@test
def names_for_query_engines():
    with BucketScenario() as scenario:
        run = arrives(scenario, "-n", "a job/1", *SHORT, TRACKER_S3_LAYOUT="hive")
        keys = {put[1] for put in scenario.s3.puts}
    directory = f"pre/job=a_job_1/date={run['started_at'][:10]}/run={run['run_id']}/"
    equal(keys, {directory + "run.json", directory + "000000.csv.gz"}, "names")


def prefix_is_kept(uri, directory):
    with BucketScenario() as scenario:
        arrives(scenario, "-n", "job", *SHORT, TRACKER_S3_URI=uri)
        found = scenario.run_directory()
    expect(re.fullmatch(directory + "job/" + STAMP, found), f"{found!r} for {uri!r}")


for s3_uri, wanted in (("s3://mine", ""), ("s3://mine/", ""), ("s3://mine/a/b/", "a/b/"),
                       ("s3://mine/a b+c=d&e~'(*)/ü%41", re.escape("a b+c=d&e~'(*)/ü%41/"))):
    tap.add(f"the prefix of {s3_uri}", prefix_is_kept, s3_uri, wanted)


@test
def a_host_that_is_stopped_is_finished():
    with BucketScenario() as scenario:
        with scenario.start(*scenario.local(), "-i", "0.05") as tracker:
            wait_for(scenario.held, "run.json")
            stop(tracker).ended(0, is_silent=True)
        run = scenario.check_arrived()
    equal([run["end"]["exit_code"], run["end"]["run_status"]], [0, "finished"], "end")
    equal([run.get("pid"), run["job"] if "job" in run else None], [None, None], "pid and job")


@test
def a_process_that_is_attached_to_is_in_run_json():
    with BucketScenario() as scenario, subprocess.Popen(["sleep", "30"]) as process:
        try:
            with scenario.start(*scenario.local(), "-i", "0.05", "--pid", str(process.pid),
                                "--stop-with-pid") as tracker:
                wait_for(scenario.held, "run.json")
                process.kill()
                process.wait()
                wait_done(tracker).ended(0, is_silent=True)
            equal(scenario.check_arrived()["pid"], process.pid, "pid")
        finally:
            process.kill()


@test
def a_command_that_is_not_there_is_reported():
    with BucketScenario() as scenario:
        done = scenario.track("--", "/nonexistent/program")
        equal(done.status, 127, "status")
        run = scenario.run_json()
        scenario.check_nothing_left()
    equal([run["end"]["exit_code"], run["end"]["run_status"]], [127, "failed"], "end")


@test
def what_is_omitted_is_not_in_run_json():
    with BucketScenario() as scenario:
        run = arrives(scenario, "-n", "job", "--", "sh", "-c", ": m4rk3r", TRACKER_SEND_COMMAND="no",
                      TRACKER_OMIT="host_hostname,host_ip,host_id,host_cpu_model,host_vcpus")
    equal(sorted({"host_hostname", "host_ip", "host_id"} & set(run["host"])), [], "omitted")
    equal("command" in run.get("job", {}), False, "a command")
    equal([run["summary"]["command"], run["summary"]["hostname"], run["summary"]["machine"]["cpu_model"],
           run["summary"]["machine"]["cpus"]], [None] * 4, "in the summary")
    for text in ("m4rk3r", json.dumps(socket.gethostname())):
        equal(text in json.dumps(run), False, f"{text} in run.json")


# ---- settings

@test
def the_table_of_the_configuration_file():
    with BucketScenario() as scenario:
        (scenario.directory / "resource-tracker.toml").write_text(
            f'[s3]\nuri = "s3://mine/toml"\nendpoint = "{scenario.s3.url}"\nregion = "eu-central-1"\n'
            "path_style = true\n", encoding="ascii")
        arrives(scenario, TRACKER_S3_URI=None, AWS_ENDPOINT_URL=None, AWS_REGION=None)
        expect(scenario.run_directory().startswith("toml/"), "directory", scenario.run_directory())
        equal(set(statuses(scenario.s3)), {200}, "answers")


@test
def a_variable_wins_over_the_file_and_the_variable_of_s3_over_the_general_one():
    with BucketScenario() as scenario:
        (scenario.directory / "resource-tracker.toml").write_text(
            '[s3]\nuri = "s3://other/toml"\nregion = "us-west-1"\n', encoding="ascii")
        arrives(scenario, AWS_ENDPOINT_URL_S3=scenario.s3.url, AWS_ENDPOINT_URL="http://127.0.0.1:9")
        equal(set(statuses(scenario.s3)), {200}, "answers")


def refused_before_the_start(env, words):
    with BucketScenario() as scenario:
        done = scenario.run("-q", "--", "touch", "ran", env=env)
        done.ended(125, words)
        equal([(scenario.directory / "ran").exists(), scenario.s3.connections, len(done.stderr.splitlines())],
              [False, 0, 1], f"whether the command ran, connections and lines of {done.stderr!r}")


for what, refused, said in (
        ("a bucket without s3://", {"TRACKER_S3_URI": "mine/pre"}, "TRACKER_S3_URI"),
        ("an address of a web page as bucket", {"TRACKER_S3_URI": "https://mine/pre"}, "TRACKER_S3_URI"),
        ("no name of a bucket", {"TRACKER_S3_URI": "s3:///pre"}, "TRACKER_S3_URI"),
        ("a short name of a bucket", {"TRACKER_S3_URI": "s3://ab/pre"}, "TRACKER_S3_URI"),
        ("an odd name of a bucket", {"TRACKER_S3_URI": "s3://my bucket/pre"}, "TRACKER_S3_URI"),
        ("a line break in the prefix", {"TRACKER_S3_URI": "s3://mine/a\nb"}, "TRACKER_S3_URI"),
        ("a region in capitals", {"AWS_REGION": "EU-Central-1"}, "AWS_REGION"),
        ("a region that is a host", {"AWS_REGION": "evil.example/"}, "AWS_REGION"),
        ("an endpoint that is no URL", {"AWS_ENDPOINT_URL": "127.0.0.1:9000"}, "AWS_ENDPOINT_URL"),
        ("an endpoint of another kind", {"AWS_ENDPOINT_URL": "ftp://127.0.0.1/"}, "AWS_ENDPOINT_URL"),
        ("plain http to another host", {"AWS_ENDPOINT_URL": "http://192.0.2.7:9000"}, "TRACKER_ALLOW_HTTP")):
    tap.add(f"{what} is refused before the command runs", refused_before_the_start, refused, said)


# ---- where the keys come from

def write_profiles(scenario, name="credentials"):
    """Three profiles, of which the default one is wrong for the bucket."""
    path = scenario.directory / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("# by hand\n[default]\naws_access_key_id=AKIADEFAULT\naws_secret_access_key=default-secret-0123\n"
                    f"\n[ci]\n  aws_access_key_id = {KEY}\n  aws_secret_access_key = {SECRET} # ours\n"
                    "[half]\naws_access_key_id = AKIAHALF\n", encoding="ascii")
    return str(path)


@test
def keys_of_the_environment_with_a_session_token():
    with BucketScenario() as scenario:
        scenario.s3.add_key("ASIASESSION", "session-secret-0123", "session-token/0123+=")
        env = {"AWS_ACCESS_KEY_ID": "ASIASESSION", "AWS_SECRET_ACCESS_KEY": "session-secret-0123"}
        arrives(scenario, **env, AWS_SESSION_TOKEN="session-token/0123+=")
        equal(set(statuses(scenario.s3)), {200}, "answers")


@test
def keys_of_the_environment_win_over_files():
    with BucketScenario() as scenario:
        arrives(scenario, AWS_SHARED_CREDENTIALS_FILE=write_profiles(scenario))
        equal(set(statuses(scenario.s3)), {200}, "answers")


@test
def the_default_profile_in_the_home_directory():
    with BucketScenario() as scenario:
        write_profiles(scenario, ".aws/credentials")
        scenario.s3.add_key("AKIADEFAULT", "default-secret-0123")
        arrives(scenario, **NO_KEYS)


@test
def a_named_profile_in_a_named_file():
    with BucketScenario() as scenario:
        arrives(scenario, **NO_KEYS, AWS_PROFILE="ci", AWS_SHARED_CREDENTIALS_FILE=write_profiles(scenario))


@test
def a_profile_of_the_configuration_file_of_aws_names_the_region():
    with BucketScenario() as scenario:
        config = scenario.directory / "config"
        config.write_text(f"[profile ci]\nregion = eu-central-1\naws_access_key_id = {KEY}\n"
                          f"aws_secret_access_key = {SECRET}\ns3 =\n  addressing_style = path\n", encoding="ascii")
        arrives(scenario, **NO_KEYS, AWS_REGION=None, AWS_PROFILE="ci", AWS_CONFIG_FILE=str(config))
        equal(set(statuses(scenario.s3)), {200}, "answers")


@test
def a_profile_that_is_missing_is_named_and_the_data_waits():
    with BucketScenario() as scenario:
        env = {**NO_KEYS, **HASTY, "AWS_SHARED_CREDENTIALS_FILE": write_profiles(scenario)}
        done = scenario.track("--", "sh", "-c", "exit 3", env={**env, "AWS_PROFILE": "nightly"})
        done.ended(3, "the profile nightly")
        scenario.check_waiting(done)
        equal(scenario.s3.requests, [], "requests with wrong keys")
        again = scenario.upload_spool(env={**env, "AWS_PROFILE": "nightly"})
        equal([again.status, "the profile nightly" in again.stdout + again.stderr], [1, True], "still missing")
        scenario.deliver(**env, AWS_PROFILE="ci")
        scenario.check_arrived()


def half_of_a_key_is_reported(words, env):
    with BucketScenario() as scenario:
        env = {**NO_KEYS, **HASTY, "AWS_SHARED_CREDENTIALS_FILE": write_profiles(scenario), **env}
        done = scenario.track(*SHORT, env=env)
        done.ended(0, words)
        scenario.check_waiting(done)
        equal(scenario.s3.requests, [], "requests with half of a key")


tap.add("a secret without its key is reported", half_of_a_key_is_reported, "AWS_ACCESS_KEY_ID",
        {"AWS_SECRET_ACCESS_KEY": SECRET})
tap.add("a profile with half of a key is reported", half_of_a_key_is_reported, "the profile half",
        {"AWS_PROFILE": "half"})


@test
def without_any_keys_one_warning_says_what_to_set():
    with BucketScenario() as scenario:
        done = scenario.track("--", "sh", "-c", "exit 3", env={**NO_KEYS, **HASTY})
        done.ended(3)
        scenario.check_waiting(done)
        reported = [line for line in done.warnings() if "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY" in line]
        equal(len(reported), 1, f"warnings in {done.stderr!r}")
        expect(len(done.warnings()) <= 3, "warnings", done.stderr)
        expect("AWS_PROFILE" in reported[0], "no word about profiles:", reported[0])
        equal(scenario.s3.requests, [], "requests without keys")
        scenario.deliver()
        scenario.check_arrived()


@together
def without_any_keys_a_longer_run_warns_once_while_it_lasts():
    with BucketScenario() as scenario:
        with reading(scenario, {**NO_KEYS, **HASTY}) as tracker:
            wait_for(lambda: "AWS_ACCESS_KEY_ID" in tracker.stderr(), "a warning")
            before = tracker.stderr()
            count = len(scenario.spooled_batches())
            wait_for(lambda: len(scenario.spooled_batches()) >= count + 2, "two more batches in the spool")
            equal(tracker.stderr(), before, "what was said once")
            done = wait_done(tracker)
        done.ended(3)
        scenario.check_waiting(done)


def container_env(_scenario, aws, **more):
    return {**NO_KEYS, "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{aws.url}/container/keys",
            "AWS_CONTAINER_AUTHORIZATION_TOKEN": aws.container_token, **more}


def identity_env(scenario, aws):
    path = scenario.directory / "identity"
    path.write_text(aws.identity_token + "\n", encoding="ascii")
    return {**NO_KEYS, "AWS_WEB_IDENTITY_TOKEN_FILE": str(path), "AWS_ROLE_ARN": IDENTITY_ROLE,
            "AWS_ENDPOINT_URL_STS": aws.url}


def instance_env(_scenario, aws):
    return {**NO_KEYS, "AWS_EC2_METADATA_DISABLED": None, "AWS_EC2_METADATA_SERVICE_ENDPOINT": aws.url}


SOURCES = {"container": container_env, "sts": identity_env, "instance": instance_env}


def keys_of_a_service(source):
    with BucketScenario() as scenario, FakeAws(scenario.s3) as aws:
        arrives(scenario, **SOURCES[source](scenario, aws))
        equal([aws.handed, aws.violations, set(statuses(scenario.s3))], [[source], [], {200}],
              "keys handed out, violations and answers")


for where, title in (("container", "the endpoint of a container"), ("sts", "a web identity"),
                     ("instance", "the role of an instance")):
    tap.add(f"keys of {title}", keys_of_a_service, where)


@test
def the_token_of_a_container_may_be_in_a_file():
    with BucketScenario() as scenario, FakeAws(scenario.s3) as aws:
        path = scenario.directory / "token"
        path.write_text(aws.container_token + "\n", encoding="ascii")
        arrives(scenario, **container_env(scenario, aws, AWS_CONTAINER_AUTHORIZATION_TOKEN=None,
                                          AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=str(path)))
        equal(aws.handed, ["container"], "keys handed out")


@test
def the_instance_names_the_region():
    with BucketScenario() as scenario, FakeAws(scenario.s3) as aws:
        arrives(scenario, **instance_env(scenario, aws), AWS_REGION=None)
        equal([aws.violations, set(statuses(scenario.s3))], [[], {200}], "violations and answers")


def refused_by_a_service(source, *words):
    with BucketScenario() as scenario, FakeAws(scenario.s3) as aws:
        env = SOURCES[source](scenario, aws)
        secrets = [aws.container_token, aws.identity_token]
        aws.container_token = aws.identity_token = "another"
        done = scenario.track(*SHORT, env={**env, **HASTY}).ended(0, *words)
        scenario.check_waiting(done)
        equal([aws.handed, scenario.s3.requests, [secret for secret in secrets if secret in done.stderr]], [[], [], []],
              "keys, requests and secrets")


tap.add("a container's endpoint that refuses is reported", refused_by_a_service, "container", "container", "401")
tap.add("an STS that refuses is reported in its words", refused_by_a_service, "sts", "STS", "InvalidIdentityToken",
        "The token is not known.")


@test
def plain_http_to_a_container_endpoint_elsewhere_is_refused():
    with BucketScenario() as scenario:
        env = {**NO_KEYS, **HASTY, "AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://192.0.2.7/keys?s3cr3t"}
        done = scenario.track(*SHORT, env=env).ended(0, "AWS_CONTAINER_CREDENTIALS_FULL_URI")
        scenario.check_waiting(done)
        expect("s3cr3t" not in done.stderr, done.stderr)


@together
def keys_are_renewed_before_they_expire():
    with BucketScenario() as scenario, FakeAws(scenario.s3, lifetime_secs=302) as aws:
        with reading(scenario, container_env(scenario, aws)) as tracker:
            wait_for(lambda: len(aws.handed) >= 2 and len(scenario.batches()) >= 3, "new keys and three batches")
            wait_done(tracker).ended(3, is_silent=True)
        scenario.check_arrived()
        equal(set(statuses(scenario.s3)), {200}, "answers")


@together
def keys_that_expire_early_are_renewed_silently():
    with BucketScenario() as scenario, FakeAws(scenario.s3) as aws:
        with reading(scenario, container_env(scenario, aws)) as tracker:
            wait_for(scenario.batches, "a batch")
            scenario.s3.expire_keys()
            wait_for(lambda: len(scenario.batches()) >= 2, "another batch")
            wait_done(tracker).ended(3, is_silent=True)
        scenario.check_arrived()
        equal([len(aws.handed), statuses(scenario.s3).count(400)], [2, 1], "keys handed out, and refusals")


# ---- a bucket that does not want

@test
def a_wrong_secret_is_reported_and_the_data_waits():
    with BucketScenario() as scenario:
        wrong = "wrong-secret-0123456789"
        done = scenario.track("--", "sh", "-c", "exit 3", env={"AWS_SECRET_ACCESS_KEY": wrong, **HASTY})
        done.ended(3, "bucket mine", "403", "SignatureDoesNotMatch")
        scenario.check_waiting(done)
        expect(wrong not in done.stderr and not re.search("[0-9a-f]{64}", done.stderr), "a secret:", done.stderr)
        expect(all(wrong.encode() not in path.read_bytes() for path in scenario.spool_files()), "a secret in the spool")
        equal(scenario.held(), {}, "objects")
        scenario.deliver()
        scenario.check_arrived()


@test
def a_bucket_that_is_not_there_is_reported_and_the_data_waits():
    with BucketScenario() as scenario:
        del scenario.s3.objects["mine"]
        done = scenario.track("--", "sh", "-c", "exit 3").ended(3, "bucket mine", "404", "NoSuchBucket")
        scenario.check_waiting(done)
        again = scenario.upload_spool()
        equal([again.status, "NoSuchBucket" in again.stdout + again.stderr], [1, True], f"a second time: {vars(again)}")
        scenario.s3.objects["mine"] = {}
        scenario.deliver(TRACKER_S3_URI=None)
        scenario.check_arrived()


@together
def a_bucket_that_is_not_there_is_reported_while_the_run_lasts():
    with BucketScenario() as scenario:
        del scenario.s3.objects["mine"]
        with reading(scenario) as tracker:
            wait_for(lambda: "NoSuchBucket" in tracker.stderr(), "a warning")
            wait_for(lambda: len(scenario.spooled_batches()) >= 2, "two batches in the spool")
            done = wait_done(tracker).ended(3)
        scenario.check_waiting(done)
        scenario.s3.objects["mine"] = {}
        scenario.deliver()
        scenario.check_arrived()


@test
def a_wrong_region_is_corrected():
    with BucketScenario() as scenario:
        arrives(scenario, AWS_REGION="us-west-2")
        equal([statuses(scenario.s3).count(400), set(statuses(scenario.s3))], [1, {200, 400}], "answers")


@test
def a_region_that_is_not_known_is_found():
    with BucketScenario() as scenario:
        arrives(scenario, AWS_REGION=None)
        expect(statuses(scenario.s3).count(400) <= 1, "answers", statuses(scenario.s3))


def clock_is_corrected(secs):
    with BucketScenario() as scenario:
        scenario.s3.skew_secs = secs
        arrives(scenario)
        equal([statuses(scenario.s3).count(403), set(statuses(scenario.s3))], [1, {200, 403}], "answers")


tap.add("a server whose clock is 20 minutes ahead", clock_is_corrected, 1200)
tap.add("a server whose clock is an hour behind", clock_is_corrected, -3600)


@together
def the_corrected_clock_is_kept_for_the_run():
    with BucketScenario() as scenario:
        scenario.s3.skew_secs = 1200
        with reading(scenario) as tracker:
            wait_for(lambda: len(scenario.batches()) >= 2, "two batches")
            wait_done(tracker).ended(3, is_silent=True)
        scenario.check_arrived()
        equal(statuses(scenario.s3).count(403), 1, "refusals")


@together
def faults_that_pass_cost_nothing():
    faults = [Status(500), LostAnswer(), Reset(), LostAnswer(), Retry429(1), LostAnswer()]
    with BucketScenario(behave=lambda request: faults.pop(0) if faults else None) as scenario:
        with reading(scenario, {"TRACKER_GRACE": "30"}) as tracker:
            wait_for(scenario.batches, "a batch")
            wait_done(tracker).ended(3)
        equal(faults, [], "faults that have not struck")
        scenario.check_arrived()
        scenario.check_nothing_left()


@together
def later_only_what_is_missing_is_uploaded():
    with BucketScenario() as scenario:
        with reading(scenario, HASTY) as tracker:
            wait_for(scenario.batches, "a batch")
            scenario.s3.shut_door()
            wait_for(scenario.spooled_batches, "a batch in the spool")
            done = wait_done(tracker).ended(3)
        scenario.check_waiting(done)
        before = set(scenario.batches())
        scenario.s3.open_door()
        scenario.deliver()
        keys = [key for _, key, _, _, _ in scenario.s3.puts if key in before]
        equal(sorted(keys), sorted(before), "uploads of the batches that were there")
        scenario.check_arrived()


@together
def a_batch_that_is_refused_also_at_the_end_stays_and_the_others_arrive():
    def refuse(request):
        return Status(400) if request.path.endswith("/000000.csv.gz") else None

    with BucketScenario(behave=refuse) as scenario:
        with reading(scenario) as tracker:
            wait_for(scenario.batches, "a batch")
            done = wait_done(tracker).ended(3, "batch 000000")
        scenario.check_waiting(done)
        equal([path.name for path in scenario.spooled_batches()], ["000000.csv.gz"], "batches in the spool")
        equal(sum(target.endswith("/000000.csv.gz") for _, _, target, _ in scenario.s3.requests), 2, "attempts")
        scenario.s3.behave = None
        scenario.deliver()
        scenario.check_arrived()


@together
def a_slow_bucket_with_a_backlog_does_not_hold_back_Sentinel():
    def slow(request):
        return Slow(1.2) if request.method == "PUT" and "/mine/" in request.path else None

    with BucketScenario(behave=slow) as scenario:
        env = {"SENTINEL_API_TOKEN": TOKEN, "AWS_ENDPOINT_URL": scenario.s3.url, "TRACKER_GRACE": "0"}
        with reading(scenario, env) as tracker:
            wait_for(lambda: sum(put[0] == "mine" for put in scenario.s3.puts) >= 3, "a backlog")
            equal(len(scenario.api.runs), 1, "registrations meanwhile")
            wait_done(tracker)


@test
def secrets_of_a_bucket_are_not_in_the_spool_and_the_command_keeps_its_own():
    with BucketScenario() as scenario:
        scenario.s3.shut_door()
        words = ("--", "sh", "-c", f'[ "$AWS_SECRET_ACCESS_KEY" = "{SECRET}" ] && echo kept')
        done = scenario.track("-vv", *words, env={"TRACKER_GRACE": "0.3"}).ended(0)
        equal(done.stdout, "kept\n", "what the command said")
        scenario.check_waiting(done)
        for path in scenario.spool_files():
            if path.name != "state.json":  # which has the command
                expect(not scenario.holds_secret(path.read_bytes().decode("latin-1")), "a secret in", path)


@test
def a_bucket_that_never_answers_is_given_up_within_the_grace():
    with BucketScenario(behave=lambda request: BlackHole()) as scenario:
        done = scenario.track(*SHORT, env={"TRACKER_GRACE": "1"}).ended(0)
        expect(done.secs < LATE_SECS, f"took {done.secs:.1f} s")
        scenario.check_waiting(done)
        scenario.s3.behave = None
        scenario.deliver()
        scenario.check_arrived()


# ---- Sentinel and a bucket

def mine(fault):
    """A behaviour: the fault for the user's bucket, and none for that of Sentinel."""
    return lambda request: fault if request.path.startswith("/mine/") else None


def both(**more):
    return {"SENTINEL_API_TOKEN": TOKEN, "TRACKER_GRACE": "1", **more}


@together
def sentinel_and_a_bucket_get_the_same():
    with BucketScenario() as scenario:
        with reading(scenario, both(TRACKER_GRACE="10")) as tracker:
            wait_for(lambda: scenario.batches() and scenario.batches("bucket"), "batches in both")
            wait_done(tracker).ended(3, is_silent=True)
        scenario.check_arrived()
        scenario.check_delivered()
        equal(list(scenario.batches().values()), list(scenario.batches("bucket").values()), "batches")


@test
def sentinel_and_a_bucket_get_a_short_run():
    with BucketScenario() as scenario:
        scenario.track(*SHORT, env=both(TRACKER_GRACE="10")).ended(0, is_silent=True)
        scenario.check_arrived()
        scenario.check_delivered()
        equal(scenario.finished()["data_source"], "inline", "source")


@together
def while_sentinel_is_dead_the_bucket_gets_everything_and_later_sentinel_the_rest():
    with BucketScenario() as scenario:
        scenario.api.shut_door()
        with reading(scenario, both()) as tracker:
            wait_for(scenario.batches, "a batch")
            done = wait_done(tracker).ended(3)
        scenario.check_arrived()
        scenario.check_waiting(done)
        before = len(puts_to(scenario, "mine"))
        scenario.api.open_door()
        scenario.deliver(SENTINEL_API_TOKEN=TOKEN)
        equal(len(puts_to(scenario, "mine")), before, "objects in the bucket, which had everything")
        scenario.check_delivered()


@together
def while_the_bucket_is_dead_sentinel_gets_everything_and_later_the_bucket_the_rest():
    with BucketScenario(behave=mine(Status(503))) as scenario:
        with reading(scenario, both()) as tracker:
            wait_for(lambda: scenario.batches("bucket"), "a batch of Sentinel")
            done = wait_done(tracker).ended(3)
        equal(scenario.api.run_csv(scenario.the_run()), scenario.csv.read_text(encoding="utf-8"), "what Sentinel has")
        equal(scenario.finished()["exit_code"], 3, "exit code")
        scenario.check_waiting(done)
        before = [len(scenario.api.requests), len(puts_to(scenario, "bucket"))]
        scenario.s3.behave = None
        scenario.deliver(SENTINEL_API_TOKEN=TOKEN)
        equal([len(scenario.api.requests), len(puts_to(scenario, "bucket"))], before,
              "requests for Sentinel, which had all")
        scenario.check_arrived()


def hanging(scenario, is_api):
    """How many requests to the one that hangs are under way."""
    requests = scenario.api.requests if is_api else [row for row in scenario.s3.requests if row[2].startswith("/mine/")]
    return sum(status is None for _, _, _, status in requests)


def one_hangs(is_api, is_short):
    """A target that never answers leaves the other one its share of the time, whenever the hanging began."""
    with BucketScenario(behave=None if is_api else mine(BlackHole())) as scenario:
        scenario.api.behave = (lambda request: BlackHole()) if is_api else None
        with reading(scenario, both(TRACKER_GRACE="4"), *(SHORT if is_short else READ)) as tracker:
            wait_for(lambda: is_short or hanging(scenario, is_api), "a request that hangs")
            ended = time.monotonic()
            done = wait_done(tracker).ended(0 if is_short else 3)
        expect(time.monotonic() - ended < 2 * LATE_SECS, f"took {time.monotonic() - ended:.1f} s")
        scenario.check_waiting(done)
        if is_api:
            scenario.check_arrived()
        else:
            equal(scenario.api.run_csv(scenario.the_run()), scenario.csv.read_text(encoding="utf-8"),
                  "what Sentinel has")
        scenario.api.behave = scenario.s3.behave = None
        scenario.deliver(SENTINEL_API_TOKEN=TOKEN)
        scenario.check_arrived()
        scenario.check_delivered()


for is_short in (True, False):
    when = "of a short run" if is_short else "and began to hang before it"
    together_as(f"a Sentinel that hangs at the end {when} leaves the bucket its time", one_hangs, True, is_short)
    together_as(f"a bucket that hangs at the end {when} leaves Sentinel its time", one_hangs, False, is_short)


def signature_of_botocore(request, body, region):
    """What botocore makes of a request that we have signed: the same headers, the same time."""
    try:
        from botocore.auth import S3SigV4Auth
        from botocore.awsrequest import AWSRequest
        from botocore.credentials import Credentials
    except ImportError as error:
        raise tap.Skip("python3-botocore is not installed") from error
    signed = re.search(r"SignedHeaders=([^,]+)", request.get("Authorization")).group(1).split(";")
    headers = {name: request.get(name) for name in signed if name != "host"}
    again = AWSRequest(method=request.method, url=f"http://{request.host}{request.target}", data=body, headers=headers)
    again.context["timestamp"] = request.get("x-amz-date")
    auth = S3SigV4Auth(Credentials(KEY, SECRET), "s3", region)
    return auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)


@test
def botocore_signs_what_we_send_in_the_same_way():
    seen = []
    with BucketScenario(behave=lambda request: seen.append(request)) as scenario:
        scenario.track("-n", "a b+c~\u00e4", "--", "true", env={"TRACKER_S3_URI": "s3://mine/pre x/+ \u00fc~"}).ended(0)
        puts = [request for request in seen if request.method == "PUT"]
        expect(len(puts) >= 2, "requests", [request.target for request in seen])
        for request in puts:
            ours = re.search(r"Signature=([0-9a-f]{64})$", request.get("Authorization")).group(1)
            equal(ours, signature_of_botocore(request, request.body, scenario.s3.region),
                  f"signature of {request.target}")


if __name__ == "__main__":
    tap.main()
