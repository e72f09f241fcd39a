#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--otlp: samples as metrics of OpenTelemetry and a span of the job, and what can go wrong on the way."""

import json
import os
import re
import shutil
import socket
import ssl
import statistics
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from net_faults import AFTER, BlackHole, Flaky, LostAnswer, Reset, Retry429, Status, all_faults
from spooled import deliver_all
from stream_bucket import BucketScenario
from stream_otlp import CUMULATIVE, DELTA, Collector, OtlpScenario, attributes_of, field, shape_of
from stream_scenario import PATIENCE, TOKEN, Scenario, csv_rows, wait_done, wait_for
from stream_together import together, together_as
from tap import equal, expect, test
from tracker import SLOW

TICK = 0.0101
BURN = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done; "
HASTY = {"TRACKER_GRACE": "8" if SLOW else "3"}  # where nothing comes of waiting
WARNING = "resource-tracker: warning: streaming: "
ID = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


def job(scenario, command="exit 3", *words, status=3, is_silent=True, interval="0.1", **env):
    """Runs a shell command; its samples are in `samples` of the result, its summary in `summary`."""
    samples, summary = scenario.directory / "samples.jsonl", scenario.directory / "summary.json"
    done = scenario.run("-i", interval, "-o", samples, "--summary-json", summary, *words, "--", "sh", "-c", command,
                        env=env)
    done.ended(status, is_silent=is_silent)
    done.samples = [json.loads(line) for line in samples.read_text(encoding="utf-8").splitlines()]
    done.summary = json.loads(summary.read_text(encoding="utf-8"))
    return done


def times_of(samples):
    """When samples were taken, in ms; the last one may be of the same moment as the one before, and counts as later."""
    times = []
    for sample in samples:
        times.append(sample["timestamp_ms"] + (sample["timestamp_ms"] in times[-1:]))
    return times


def written(path):
    """The samples in a file that a killed tracker has left."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]


def is_metrics(request):
    return request.path.endswith("/v1/metrics")


def metrics_fault(*first):
    """A `behave`: these faults for the first requests with metrics, one after the other."""
    waiting = list(first)
    return lambda request: waiting.pop(0) if waiting and is_metrics(request) else None


def spool_has(scenario, count):
    equal(len([path for path in scenario.spool_files() if path.name == "state.json"]), count, "runs in the spool")


# ---- what is sent

METRICS = {  # of every job: unit, and shape
    "process.cpu.time": ("s", (CUMULATIVE, True)), "process.cpu.utilization": ("1", "gauge"),
    "process.memory.usage": ("By", (CUMULATIVE, False)), "process.disk.io": ("By", (CUMULATIVE, True)),
    "process.thread.count": ("{thread}", (CUMULATIVE, False)), "process.paging.faults": ("{fault}", (CUMULATIVE, True)),
    "process.uptime": ("s", "gauge"), "resource_tracker.process.child.count": ("{process}", (CUMULATIVE, False)),
    "resource_tracker.tracker.cpu.time": ("s", (CUMULATIVE, True)),
    "resource_tracker.tracker.missed_samples": ("{sample}", (CUMULATIVE, True))}


def check_job(scenario, done):
    """What arrives of a job that ends with 3, in whatever encoding."""
    collector = scenario.check()
    equal(collector.kinds(), ["resourceMetrics", "resourceSpans"], "requests")
    metrics = collector.metrics()
    for name, (unit, shape) in METRICS.items():
        expect(name in metrics, f"no {name} among", sorted(metrics))
        equal((metrics[name]["unit"], shape_of(metrics[name])), (unit, shape), name)
    expect(not [name for name in metrics if name.startswith("system.")], "metrics of the host", sorted(metrics))
    equal(collector.times(), times_of(done.samples), "times of the points")
    for mode in ("user", "system"):
        series = collector.series("process.cpu.time", cpu_mode=mode)
        start = series[0][0]
        equal([series[0], len(series)], [(start, start, 0), len(done.samples) + 1],
              f"a point of 0 at the start of {mode}")
        equal({one[0] for one in series}, {start}, "start")
        began = done.summary["started_ms"] * 1000000
        expect(began - 10**9 < start <= began, "start", start, began)
        expect(all(one[2] <= two[2] for one, two in zip(series, series[1:])), "it falls", series)
    total = sum(collector.series("process.cpu.time", cpu_mode=mode)[-1][2] for mode in ("user", "system"))
    expect(abs(total - done.summary["cpu"]["total_secs"]) <= TICK, total, done.summary["cpu"])
    rusage = sum(int(minutes) * 60 + float(secs) for minutes, secs in re.findall(r"(\d+)m([\d.]+)s", done.stdout)[:2])
    expect(0 <= total - rusage + TICK <= 3 * TICK, f"{total} s sent, the shell knows of {rusage} s")
    scenario.check_nothing_left()


def check_span(scenario, done):
    span = scenario.collector.span()
    attributes = attributes_of(span)
    equal([span["name"], span["kind"], span["status"]["code"], "parentSpanId" in span], ["sh", 1, 2, False], "span")
    equal(span["status"]["message"], "exit status 3", "status")
    equal([int(span[key]) // 1000000 for key in ("startTimeUnixNano", "endTimeUnixNano")],
          [done.summary["started_ms"], done.summary["finished_ms"]], "times")
    equal([attributes["process.exit.code"], attributes["error.type"]], [3, "failed"], "attributes")
    equal(attributes["resource_tracker.cpu.total_secs"], done.summary["cpu"]["total_secs"], "CPU time")
    equal(attributes["resource_tracker.verdict.text"], done.summary["verdict"]["text"], "verdict")


@test(limit=30)
def the_metrics_and_the_span_of_a_short_job():
    with OtlpScenario() as scenario:
        done = job(scenario, BURN + "sleep .3; times; exit 3", "-n", "nightly", interval="0.2")
        check_job(scenario, done)
        check_span(scenario, done)
        taken = scenario.collector.taken
        equal([(one.path, one.headers["Content-Encoding"]) for one in taken],
              [("/v1/metrics", "gzip"), ("/v1/traces", "gzip")], "requests")
        resource = scenario.collector.resource()
        equal([one.whole["schemaUrl"] for one in taken], ["https://opentelemetry.io/schemas/1.44.0"] * 2, "schema")
    equal([resource["service.name"], resource["process.executable.name"], resource["host.name"]],
          ["nightly", "sh", socket.gethostname()], "resource")
    expect(resource["process.pid"] == done.samples[0]["tracked_pid"], resource)
    equal(resource["process.command_args"][:2], ["sh", "-c"], "command")
    expect(re.fullmatch(r"\d{8}T\d{6}Z-[0-9a-f]{8}", resource["service.instance.id"]), resource)


@test(limit=30)
def the_same_as_json():
    with OtlpScenario() as scenario:
        done = job(scenario, BURN + "sleep .3; times; exit 3", OTEL_EXPORTER_OTLP_PROTOCOL="http/json")
        check_job(scenario, done)
        check_span(scenario, done)
        equal({one.headers["Content-Type"] for one in scenario.collector.taken}, {"application/json"}, "type")


@together
def a_sample_is_a_point_of_the_first_interval():
    """rate() knows what a job did that ended before its second sample."""
    with OtlpScenario() as scenario:
        job(scenario, BURN + "exit 3", interval="10")
        series = scenario.check().series("process.cpu.time", cpu_mode="user")
        equal([len(series), series[0][2], series[1][2] > 0], [2, 0, True], "points")


@together
def differences():
    with OtlpScenario() as scenario:
        done = job(scenario, BURN + "sleep .3; exit 3", OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta",
                   TRACKER_OTLP_HOST="1")
        metrics = scenario.check().metrics()
        series = scenario.collector.series("process.cpu.time", cpu_mode="user")
        system = scenario.collector.series("process.cpu.time", cpu_mode="system")
    equal(shape_of(metrics["process.cpu.time"]), (DELTA, True), "counter")
    equal(shape_of(metrics["process.memory.usage"]), (CUMULATIVE, False), "sum that falls")
    equal("system.disk.io" in metrics, False, "a counter since the boot")
    equal(len(series), len(done.samples), "points")
    for before, after in zip(series, series[1:]):
        expect(abs(after[0] - before[1]) <= 2000000, "a gap, or an overlap", before, after)
    total = sum(one[2] for one in series + system)
    expect(abs(total - done.summary["cpu"]["total_secs"]) <= TICK, total, done.summary["cpu"])


@together
def not_compressed():
    with OtlpScenario() as scenario:
        job(scenario, OTEL_EXPORTER_OTLP_COMPRESSION="gzip", OTEL_EXPORTER_OTLP_METRICS_COMPRESSION="none")
        equal(["Content-Encoding" in one.headers for one in scenario.check().taken], [False, True], "compressed")


@together
def headers_are_decoded():
    with OtlpScenario() as scenario:
        job(scenario, OTEL_EXPORTER_OTLP_HEADERS="api-key=s%20e%3Dc%2C, X-Scope = a=b ,,",
            OTEL_EXPORTER_OTLP_TRACES_HEADERS="only-spans=1")
        metrics, spans = [one.headers for one in scenario.check().taken]
    equal([metrics.get("api-key"), metrics.get("X-Scope"), "only-spans" in metrics], ["s e=c,", "a=b", False],
          "of metrics")
    equal([spans.get("api-key"), spans.get("only-spans")], [None, "1"], "of spans")


def endpoints(env, want):
    with OtlpScenario() as scenario:
        url = scenario.collector.url
        words = [word.replace("URL", url) for word in env.pop("words", "").split()]
        env = {name: value and value.replace("URL", url) for name, value in {"TRACKER_OTLP": None, **env}.items()}
        job(scenario, "exit 3", *words, **env)
        equal([one.path for one in scenario.check().taken], want, "paths")


METRICS_ENDPOINT, TRACES_ENDPOINT = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
BOTH = ["/v1/metrics", "/v1/traces"]
for what, given, paths in (
        ("--otlp=URL", {"words": "--otlp=URL"}, BOTH),
        ("a prefix and a slash", {"words": "--otlp=URL/otlp/"}, ["/otlp/v1/metrics", "/otlp/v1/traces"]),
        ("the address of the metrics as in manuals", {"TRACKER_OTLP": "URL/api/v1/otlp/v1/metrics"},
         ["/api/v1/otlp/v1/metrics", "/api/v1/otlp/v1/traces"]),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", {"words": "--otlp", "OTEL_EXPORTER_OTLP_ENDPOINT": "URL/x"},
         ["/x/v1/metrics", "/x/v1/traces"]),
        ("the endpoint of metrics as it is", {"TRACKER_OTLP": "1", METRICS_ENDPOINT: "URL/here/v1/metrics"},
         ["/here/v1/metrics"]),
        ("an endpoint without a path", {"TRACKER_OTLP": "yes", METRICS_ENDPOINT: "URL"}, ["/"]),
        ("endpoints of both", {"TRACKER_OTLP": "true", METRICS_ENDPOINT: "URL/m", TRACES_ENDPOINT: "URL/traces"},
         ["/m", "/traces"]),
        ("the endpoint of metrics before that of both", {"TRACKER_OTLP": "on", METRICS_ENDPOINT: "URL/m",
                                                         "OTEL_EXPORTER_OTLP_ENDPOINT": "URL"},
         ["/m", "/v1/traces"]),
        ("our own setting before theirs", {"TRACKER_OTLP": "URL", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9",
                                           METRICS_ENDPOINT: "http://127.0.0.1:9"}, BOTH),
        ("OTEL_* alone", {"OTEL_EXPORTER_OTLP_ENDPOINT": "URL", METRICS_ENDPOINT: "URL", "OTEL_SERVICE_NAME": "x"}, []),
        ("TRACKER_OTLP=0", {"TRACKER_OTLP": "0", "OTEL_EXPORTER_OTLP_ENDPOINT": "URL"}, []),
        ("OTEL_SDK_DISABLED", {"TRACKER_OTLP": "URL", "OTEL_SDK_DISABLED": "true"}, []),
        ("no exporter for metrics", {"TRACKER_OTLP": "URL", "OTEL_METRICS_EXPORTER": "none"}, ["/v1/traces"]),
        ("no exporter for spans", {"TRACKER_OTLP": "URL", "OTEL_TRACES_EXPORTER": "none"}, ["/v1/metrics"]),
        ("no exporter", {"TRACKER_OTLP": "URL", "OTEL_METRICS_EXPORTER": "none", "OTEL_TRACES_EXPORTER": "none"}, [])):
    together_as(f"endpoints: {what}", endpoints, given, paths)


@together
def the_table_of_the_configuration_file():
    with OtlpScenario() as scenario:
        (scenario.directory / "resource-tracker.toml").write_text(
            f'[otlp]\nendpoint = "{scenario.collector.url}/toml"\nhost = true\n', encoding="ascii")
        job(scenario, TRACKER_OTLP=None)
        equal([one.path for one in scenario.check().taken], ["/toml/v1/metrics", "/toml/v1/traces"], "paths")
        expect("system.memory.usage" in scenario.collector.metrics(), "no metrics of the host")


def refused(env, *words):
    with OtlpScenario() as scenario:
        done = scenario.run("-q", "--", "touch", "ran", env=env).ended(125, *words)
        equal([(scenario.directory / "ran").exists(), scenario.collector.connections, len(done.stderr.splitlines())],
              [False, 0, 1], f"it started, or said much: {done.stderr}")
        expect("s3cr3t" not in done.stderr, "a secret:", done.stderr)


HEADERS = "OTEL_EXPORTER_OTLP_HEADERS"
for what, given, said in (
        ("grpc", {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, ["grpc", "4318"]),
        ("grpc for metrics", {"OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}, ["grpc", "4318"]),
        ("another protocol", {"OTEL_EXPORTER_OTLP_PROTOCOL": "thrift"}, ["http/protobuf"]),
        ("a client's key", {"OTEL_EXPORTER_OTLP_CLIENT_KEY": "/key.pem"}, ["client certificates"]),
        ("a header of ours", {HEADERS: "content-type=s3cr3t"}, [HEADERS, "header 1"]),
        ("the length", {HEADERS: "a=b,Content-Length=s3cr3t"}, [HEADERS, "header 2"]),
        ("no value", {HEADERS: "s3cr3t"}, [HEADERS]),
        ("no name", {HEADERS: "=s3cr3t"}, [HEADERS]),
        ("a broken name", {HEADERS: "a b=s3cr3t"}, [HEADERS]),
        ("a line break", {HEADERS: "a=s3cr3t%0d%0ax: y"}, [HEADERS]),
        ("a broken escape", {HEADERS: "a=s3cr3t%zz"}, [HEADERS]),
        ("too many", {HEADERS: ",".join(f"a{i}=s3cr3t" for i in range(99))}, [HEADERS]),
        ("too long", {HEADERS: "a=" + "s3cr3t" * 4000}, [HEADERS]),
        ("a long URL", {"TRACKER_OTLP": "https://a/" + "x" * 1100}, ["OTLP endpoint", "too long"]),
        ("no URL", {"TRACKER_OTLP": "collector:4318"}, ["OTLP endpoint"]),
        ("another host in the clear", {"TRACKER_OTLP": "http://collector.example"}, ["TRACKER_ALLOW_HTTP"]),
        ("their endpoint in the clear", {"TRACKER_OTLP": "1", METRICS_ENDPOINT: "http://collector.example"},
         ["TRACKER_ALLOW_HTTP"])):
    together_as(f"refused before the start: {what}", refused, given, *said)


def over_tls(env, is_trusted):
    if not shutil.which("openssl"):
        raise tap.Skip("needs openssl")
    with OtlpScenario() as scenario:
        place = scenario.directory
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=fake", "-addext",
                        "subjectAltName=IP:127.0.0.1", "-keyout", place / "key", "-out", place / "crt"],
                       check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(place / "crt", place / "key")
        env = {name: str(place / value) for name, value in env.items()}
        with Collector(tls=context) as collector:
            done = job(scenario, "exit 3", is_silent=is_trusted, TRACKER_OTLP=collector.url, **env,
                       **({} if is_trusted else HASTY))
            equal([collector.violations, collector.kinds()],
                  [[], ["resourceMetrics", "resourceSpans"] if is_trusted else []], "requests")
        expect(is_trusted or "certificate" in done.stderr, done.stderr)


for what, given, wanted in (("a certificate of theirs", {"OTEL_EXPORTER_OTLP_CERTIFICATE": "crt"}, True),
                            ("that of the metrics", {"OTEL_EXPORTER_OTLP_METRICS_CERTIFICATE": "crt"}, True),
                            ("not trusted", {}, False)):
    together_as(f"TLS: {what}", over_tls, given, wanted)


# ---- the resource

def service(env, words, want):
    with OtlpScenario() as scenario:
        job(scenario, "exit 3", *words, **env)
        resource = scenario.check().resource()
        equal({key: resource.get(key) for key in want}, want, "resource")


GIVEN = "service.name=given,team=a%20b,host.name=other,deployment.environment.name=%C3%BC"
for what, given, words_, wanted in (
        ("the program", {}, [], {"service.name": "sh"}),
        ("the name of the job", {}, ["-n", "nightly"], {"service.name": "nightly"}),
        ("given attributes", {"OTEL_RESOURCE_ATTRIBUTES": GIVEN}, ["-n", "nightly", "--env", "prod"],
         {"service.name": "given", "team": "a b", "host.name": "other", "deployment.environment.name": "\u00fc"}),
        ("OTEL_SERVICE_NAME", {"OTEL_RESOURCE_ATTRIBUTES": GIVEN, "OTEL_SERVICE_NAME": "named"}, ["-n", "nightly"],
         {"service.name": "named"}),
        ("broken attributes", {"OTEL_RESOURCE_ATTRIBUTES": "a,=b,c=%zz,d=%ff,f=%00,e=1"}, [],
         {"a": None, "": None, "c": None, "d": None, "f": None, "e": "1"}),
        ("tags and a project", {}, ["--tag", "k\u00e9y=v", "--project-name", "p"],
         {"resource_tracker.tag.k\u00e9y": "v", "service.namespace": "p"}),
        ("omitted facts", {"TRACKER_OMIT": "host_hostname,host_id"}, [],
         {"host.name": None, "host.id": None, "host.arch": {"x86_64": "amd64"}.get(os.uname().machine, "arm64")}),
        ("Slurm", {"SLURM_JOB_ID": "77", "SLURM_JOB_NAME": "train"}, [], {"slurm.job.id": "77"})):
    together_as(f"resource: {what}", service, given, words_, wanted)


def odd_texts(**more):
    """Bytes that are not UTF-8, wherever they can come from."""
    bad = os.fsdecode(b"x\xff\xc3")
    with OtlpScenario() as scenario:
        place = scenario.directory / bad
        place.symlink_to("/bin/sh")
        done = scenario.run("-q", "-n", bad, "--tag", f"{bad}={bad}", "--", place, "-c", "exit 3", bad, "\x01\u2028",
                            env={"OTEL_SERVICE_NAME": bad, "OTEL_RESOURCE_ATTRIBUTES": f"{bad}=1,b={bad}",
                                 "TRACESTATE": f"a={bad}",
                                 "TRACEPARENT": f"00-{ID}-{PARENT}-01", **more})
        equal(done.status, 3, done.stderr)
        equal(scenario.check().kinds(), ["resourceMetrics", "resourceSpans"], "requests")
        scenario.check_nothing_left()


together_as("texts that are not UTF-8", odd_texts)
together_as("texts that are not UTF-8, as JSON", lambda: odd_texts(OTEL_EXPORTER_OTLP_PROTOCOL="http/json"))


@together
def a_masked_command():
    with OtlpScenario() as scenario:
        scenario.run("-q", "--", "true", "--password", "hunter2secret", "--token=abc987secret").ended(0, is_silent=True)
        resource = scenario.check().resource()
        equal(len(resource["process.command_args"]), 4, f"words of {resource}")
        expect("secret" not in json.dumps([one.message for one in scenario.collector.taken]), "a secret", resource)


@together
def no_command():
    with OtlpScenario() as scenario:
        scenario.run("-q", "--", "true", "secret", env={"TRACKER_SEND_COMMAND": "no"}).ended(0, is_silent=True)
        expect("process.command_args" not in scenario.check().resource(), scenario.collector.resource())
        expect("secret" not in json.dumps([one.message for one in scenario.collector.taken]), "the command is sent")


@together
def a_host_without_a_job():
    with OtlpScenario() as scenario:
        with scenario.start("-q", "-i", "0.1", env={"TRACKER_OTLP_HOST": "1"}) as tracker:
            wait_for(lambda: scenario.collector.taken, "metrics")
            tracker.send(15)
            wait_done(tracker).ended(0, is_silent=True)
        metrics, resource = scenario.check().metrics(), scenario.collector.resource()
    expect("system.cpu.time" in metrics and "process.cpu.time" not in metrics and "process.uptime" not in metrics,
           sorted(metrics))
    equal([resource["service.name"], "process.pid" in resource], ["resource-tracker", False], "resource")


@together
def metrics_of_the_host():
    with OtlpScenario() as scenario:
        done = job(scenario, "sleep .3; exit 3", TRACKER_OTLP_HOST="yes")
        metrics = scenario.check().metrics()
        memory = {attributes_of(point)["system.memory.state"] for point in metrics["system.memory.usage"]["points"]}
        limit = scenario.collector.series("system.memory.limit")
        filesystems = metrics.get("system.filesystem.usage", {"points": []})["points"]
        sent = [attributes_of(point) for point in filesystems]
    equal(memory, {"used", "free", "buffers", "cached"}, "states")
    equal(shape_of(metrics["system.cpu.time"]), (CUMULATIVE, True), "CPU time")
    expect(abs(limit[0][2] - os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")) < 64 << 20, "memory", limit)
    equal(len(limit), len(done.samples), "points")
    for attributes in sent:
        expect({"system.device", "system.filesystem.mountpoint", "system.filesystem.type"} <= set(attributes),
               attributes)


# ---- the trace

def trace(env, check, command="echo $TRACEPARENT"):
    with OtlpScenario() as scenario:
        done = scenario.run("-q", "--", "sh", "-c", command, env=env).ended(0, is_silent=True)
        check(scenario.check(), done.stdout.strip())


def is_root(collector, shown):
    span = collector.span()
    equal([shown, "parentSpanId" in span], [f"00-{span['traceId']}-{span['spanId']}-01", False], "variable and parent")
    expect(re.fullmatch("[0-9a-f]{32}", span["traceId"]) and span["traceId"] != ID, span)


def is_child(collector, shown):
    span = collector.span()
    equal([span["traceId"], span["parentSpanId"], span["traceState"]], [ID, PARENT, "a=1,b=2"], "span")
    expect(re.fullmatch("[0-9a-f]{16}", span["spanId"]) and span["spanId"] != PARENT, span)
    equal(shown, f"00-{ID}-{span['spanId']}-01", "variable")


def not_sampled(collector, shown):
    equal([collector.spans(), shown], [[], f"00-{ID}-{PARENT}-00"], "spans, and the variable")


def stays(value):
    return lambda collector, shown: equal([collector.spans(), shown], [[], value], "spans, and the variable")


GOOD = f"00-{ID}-{PARENT}-01"
for what, given, compare in (
        ("none is given", {}, is_root),
        ("under the caller's", {"TRACEPARENT": GOOD, "TRACESTATE": "a=1,b=2"}, is_child),
        ("with flags of the future", {"TRACEPARENT": f"cc-{ID}-{PARENT}-09-more", "TRACESTATE": "a=1,b=2"}, is_child),
        ("not sampled", {"TRACEPARENT": f"00-{ID}-{PARENT}-00"}, not_sampled),
        ("no spans wanted", {"TRACEPARENT": GOOD, "OTEL_TRACES_EXPORTER": "none"}, stays(GOOD)),
        *((f"malformed: {bad[:60]}", {"TRACEPARENT": bad}, is_root) for bad in (
            "x", f"00-{ID}", f"00-{ID.upper()}-{PARENT}-01", f"00-{'0' * 32}-{PARENT}-01", f"00-{ID}-{'0' * 16}-01",
            f"00-{ID}-{PARENT}-1", f"00-{ID}-{PARENT}-zz", f"ff-{ID}-{PARENT}-01", f"zz-{ID}-{PARENT}-01",
            f"00-{ID}-{PARENT}-01-more", f"00-{ID}0-{PARENT}-01"))):
    together_as(f"trace: {what}", trace, given, compare)


@together
def a_tracker_below_a_tracker():
    with OtlpScenario() as scenario:
        binary = os.environ["RESOURCE_TRACKER"]
        scenario.run("-q", "--", binary, "-q", "--", "true").ended(0, is_silent=True)
        spans = {span["name"]: span for _, span in scenario.check().spans()}
        equal(sorted(spans), ["resource-tracker", "true"], "spans")
        equal([spans["true"]["traceId"], spans["true"]["parentSpanId"]],
              [spans["resource-tracker"]["traceId"], spans["resource-tracker"]["spanId"]], "the inner one")


@together
def without_otlp_the_variable_stays():
    env = {"TRACEPARENT": GOOD, "SENTINEL_API_TOKEN": None, "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}
    with Scenario() as scenario:
        done = scenario.run("-q", "--", "sh", "-c", "echo $TRACEPARENT", env=env)
        equal([done.status, done.stdout], [0, GOOD + "\n"], done.stderr)


@together
def marks_are_events_of_the_span():
    with OtlpScenario() as scenario:
        done = job(scenario, '"$RT" --mark load; sleep .3; "$RT" --mark train; sleep .3; exit 3',
                   RT=os.environ["RESOURCE_TRACKER"])
        scenario.check()
        events = [(event["name"], attributes_of(event)) for event in scenario.collector.span().get("events", [])]
    equal([name for name, _ in events], [phase["name"] for phase in done.summary["phases"]], "events")
    expect({"load", "train"} <= {name for name, _ in events}, events)
    expect(all("resource_tracker.wall_secs" in attributes for _, attributes in events), events)


# ---- batches

@together
def more_rows_than_a_request_takes():
    with OtlpScenario() as scenario:
        done = job(scenario, "sleep 2.5; exit 3", interval="0.01", TRACKER_UPLOAD_INTERVAL="60")
        collector = scenario.check()
        equal(collector.times(), times_of(done.samples), "times of the points")
        equal(sorted(set(collector.times())), collector.times(), "times that are all different")
        expect(len(collector.taken) >= 3 or len(done.samples) <= 128,
               f"{len(collector.taken)} requests, {len(done.samples)} samples")
        scenario.check_nothing_left()


@together
def an_interval_of_their_variable():
    with OtlpScenario() as scenario:
        with scenario.start("-q", "-i", "0.1", "--", "sleep", "60",
                            env={"TRACKER_UPLOAD_INTERVAL": "60", "OTEL_METRIC_EXPORT_INTERVAL": "1000"}) as tracker:
            wait_for(lambda: len(scenario.collector.taken) >= 2, "two requests")
            tracker.send(15)
            wait_done(tracker)
        points = [len(one.items[0]["sum"]["dataPoints"]) for one in scenario.check().taken
                  if "resourceMetrics" in one.message]
        expect(points[0] > 4, "points of the first request", points)


def halved(code, is_json):
    with OtlpScenario() as scenario:
        sizes = []

        def too_large(request):
            sizes.append(request.length)
            return Status(code, when="before") if is_metrics(request) and request.length > LIMIT_BYTES else None

        scenario.collector.behave = too_large
        more = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"} if is_json else {}
        done = job(scenario, "sleep 1.5; exit 3", interval="0.02", TRACKER_UPLOAD_INTERVAL="60",
                   OTEL_EXPORTER_OTLP_COMPRESSION="none", **more)
        equal(scenario.check().times(), times_of(done.samples), f"times of the points, requests of {sizes} bytes")
        scenario.check_nothing_left()


LIMIT_BYTES = 40000
together_as("413: in halves", halved, 413, False)


@together
def one_row_that_is_too_large_is_left_out():
    with OtlpScenario(lambda request: Status(413) if is_metrics(request) else None) as scenario:
        done = job(scenario, "sleep .3; exit 3", is_silent=False)
        equal(scenario.check().kinds(), ["resourceSpans"], "requests")
        expect("413" in done.stderr and done.stderr.count("413") == 1, done.stderr)
        scenario.check_nothing_left()


# ---- answers

def partial(body, words, is_json=False):
    with OtlpScenario() as scenario:
        scenario.collector.body = body
        more = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"} if is_json else {}
        done = job(scenario, "sleep 1.6; exit 3", is_silent=not words, OTEL_TRACES_EXPORTER="none", **more)
        equal(scenario.check().times(), times_of(done.samples), "times of the points")
        equal(len(done.stderr.splitlines()), 1 if words else 0, f"lines of {done.stderr!r}")
        for word in words:
            expect(word in done.stderr, f"no {word!r} in", done.stderr)
        scenario.check_nothing_left()


for what, answered, said in (
        ("nothing", b"", []), ("an empty message", b"\n\x00", []), ("a remark alone", field(1, field(2, b"hm")), []),
        ("rejections", field(1, field(1, 5) + field(2, b"too\x1b[31m new")),
         [WARNING + "OpenTelemetry rejects 5 data points", ": too", "new"]),
        ("rejections, the other way round", field(1, field(2, b"why") + field(1, 5)),
         ["rejects 5 data points", ": why"]),
        ("rejections without a reason", field(1, field(1, 5)), ["rejects 5 data points of a request; "])):
    together_as(f"partial success: {what}", partial, answered, said)
for what, answered, said in (
        ("nothing", b"{}", []), ("an empty one", b'{"partialSuccess":{}}', []),
        ("rejections", b'{"partialSuccess":{"rejectedDataPoints":"5","errorMessage":"why"}}',
         ["rejects 5 data points", ": why"]),
        ("a number", b'{"partialSuccess":{"rejectedDataPoints":5}}', ["rejects 5 data points"])):
    together_as(f"partial success as JSON: {what}", partial, answered, said, True)

BIG = 60000
for what, answered in (("no protobuf", b"<html>\x00\xff</html>"), ("a length beyond the end", b"\n\x7f\x08"),
                       ("an endless number", b"\x08" + b"\xff" * 50),
                   ("much", field(7, b"x" * 100) * (BIG // 102)), ("groups", b"\x0b\x0c")):
    together_as(f"a success with {what}", partial, answered, [])
    together_as(f"a success as JSON with {what}", partial, answered, [], True)


@together
def an_answer_without_end():
    """More than a server may answer: as if the answer were lost."""
    with OtlpScenario() as scenario:
        scenario.collector.body = b"x" * (5 << 20)
        done = job(scenario, is_silent=False, **HASTY)
        expect("--upload-spool" in done.stderr, done.stderr)
        spool_has(scenario, 1)


def refusal(code, body, words, is_json=False):
    """One of several requests is refused: its rows are dropped, and hold up nothing."""
    with OtlpScenario() as scenario:
        scenario.collector.behave = metrics_fault(Status(code, [("Content-Type", "application/x-protobuf")], body))
        more = {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"} if is_json else {}
        done = job(scenario, "sleep 2.4; exit 3", is_silent=False, **more)
        times, all_times = scenario.check().times(), times_of(done.samples)
        equal(all_times[-len(times):], times, "what came behind the refusal")
        expect(0 < len(times) < len(all_times), f"{len(times)} of {len(all_times)} points")
        warned = [line for line in done.stderr.splitlines() if "refuses" in line]
        equal(len(warned), 1, f"warnings of {done.stderr!r}")
        for word in (str(code), *words):
            expect(word in warned[0], f"no {word!r} in", warned[0])
        expect("\x1b" not in done.stderr and len(done.stderr) < 1200, "stderr", done.stderr)
        equal(len(scenario.collector.spans()), 1, "spans")
        scenario.check_nothing_left()


for what, status_, answered, said, as_json in (
        ("too old", 400, field(1, 3) + field(2, b"too old sample"), ["400 Bad Request", ": too old sample"], False),
        ("in plain words", 400, b"too old sample\n", [": too old sample"], False),
        ("in JSON", 400, b'{"code":3,"message":"too \\u001b[31mold"}', [": too", "old"], True),
        ("wrong temporality", 500, b"invalid temporality and type combination", ["500", ": invalid temporality"],
         False),
        ("garbage", 400, b"\x12\xff\xff\xff\xff\xff\xff\x1b[31m\x00" + b"\x07" * 3000, [], False),
        ("nothing", 400, b"", ["400 Bad Request; "], False)):
    together_as(f"refused: {what}", refusal, status_, answered, said, as_json)


def again(*faults, **env):
    with OtlpScenario() as scenario:
        scenario.collector.behave = metrics_fault(*faults)
        done = job(scenario, "sleep .3; exit 3", TRACKER_GRACE="10", **env)
        times = scenario.check().times()
        equal(sorted(set(times)), times_of(done.samples), "times of the points")
        scenario.check_nothing_left()
        return done, scenario.collector


for what, kinds in (("429 and a date", [Retry429(1, is_date=True)]), ("502", [Status(502)]),
                    ("503 and seconds", [Status(503, [("Retry-After", "1")])]),
                    ("504 twice", [Status(504), Status(504)]), ("a reset", [Reset()])):
    together_as(f"tried again: {what}", again, *kinds)


@together
def a_pause_that_the_server_asks_for():
    done, _ = again(Retry429(2))
    expect(done.secs >= 2, f"it took {done.secs} s")


@together
def a_lost_answer_is_one_duplicate():
    done, collector = again(LostAnswer())
    expect(len(collector.times()) <= 2 * len(done.samples), "more than one duplicate")


def kept(code, env, repair):
    """Wrong settings: the run waits for the right ones."""
    with OtlpScenario() as scenario:
        scenario.collector.behave = lambda request: (
            None if request.get("api-key") == "right" or "/right" in request.path else Status(code))
        done = job(scenario, "exit 3", is_silent=False, **env, **HASTY)
        equal([len(done.warnings()), scenario.collector.taken], [2, []], f"warnings of {done.stderr!r}")
        expect(str(code) in done.stderr and "--upload-spool" in done.stderr, done.stderr)
        spool_has(scenario, 1)
        held = b"".join(path.read_bytes() for path in scenario.spool_files())
        expect(b"s3cr3t" not in held and "s3cr3t" not in done.stderr, "a secret in the spool, or shown")
        equal(scenario.upload_spool(env=env).status, 1, "--upload-spool with the wrong settings")
        repair = {name: value.replace("URL", scenario.collector.url) for name, value in repair.items()}
        scenario.upload_spool(env={**env, **repair}).ended(0)
        equal([scenario.check().kinds(), scenario.collector.times()],
              [["resourceMetrics", "resourceSpans"], times_of(done.samples)], "what arrives")
        scenario.check_nothing_left()
        span = attributes_of(scenario.collector.span())
        equal([span["process.exit.code"], span["resource_tracker.wall_secs"]], [3, done.summary["wall_secs"]], "span")


together_as("401: waits for the right header", kept, 401, {HEADERS: "api-key=s3cr3t"}, {HEADERS: "api-key=right"})
together_as("404: waits for the right address", kept, 404, {}, {"TRACKER_OTLP": "URL/right"})


@together
def a_key_that_a_server_repeats_is_not_shown():
    key = "s3cr3t-key"
    answer = Status(400, body=f"no such key: {key} or t0k3nt0k3n".encode())
    with OtlpScenario(lambda request: answer) as scenario:
        done = job(scenario, is_silent=False, TRACKER_OTLP=scenario.collector.url + "/?token=t0k3nt0k3n",
                   OTEL_EXPORTER_OTLP_HEADERS=f"authorization=Bearer%20{key}", **HASTY)
        expect(key not in done.stderr and "t0k3n" not in done.stderr, done.stderr)


@together
def a_query_stays_behind_the_path_and_out_of_the_spool():
    with OtlpScenario() as scenario:
        scenario.collector.shut_door()
        job(scenario, is_silent=False, TRACKER_OTLP=scenario.collector.url + "/at?token=s3cr3t", **HASTY)
        expect(b"s3cr3t" not in b"".join(path.read_bytes() for path in scenario.spool_files()), "in the spool")
        scenario.collector.open_door()
        scenario.upload_spool(env={"TRACKER_OTLP": scenario.collector.url + "/at?token=s3cr3t"}).ended(0)
        equal({one.target for one in scenario.collector.taken},
              {"/at/v1/metrics?token=s3cr3t", "/at/v1/traces?token=s3cr3t"}, "addresses")


@together
def a_password_does_not_reach_the_command():
    with OtlpScenario() as scenario:
        url = scenario.collector.url.replace("://", "://user:s3cr3t@")
        done = job(scenario, "env; exit 3", TRACKER_OTLP=url)
        expect("s3cr3t" not in done.stdout and "TRACEPARENT=" in done.stdout, done.stdout)


@together
def words_of_any_case():
    with OtlpScenario() as scenario:
        job(scenario, OTEL_SDK_DISABLED="True")
        equal(scenario.collector.taken, [], "requests")
        job(scenario, TRACKER_OTLP=scenario.collector.url, OTEL_TRACES_EXPORTER="None",
            OTEL_EXPORTER_OTLP_COMPRESSION="NONE")
        equal({one.headers.get("Content-Encoding") for one in scenario.collector.taken}, {None}, "encodings")
        equal(scenario.collector.spans(), [], "spans")


@together
def a_password_in_the_address_stays_out_of_the_spool():
    with OtlpScenario() as scenario:
        url = scenario.collector.url.replace("://", "://user:s3cr3t@")
        scenario.collector.shut_door()
        done = job(scenario, "exit 3", is_silent=False, TRACKER_OTLP=url, **HASTY)
        expect("s3cr3t" not in done.stderr, done.stderr)
        expect(b"s3cr3t" not in b"".join(path.read_bytes() for path in scenario.spool_files()), "in the spool")
        scenario.collector.open_door()
        scenario.upload_spool(env={"TRACKER_OTLP": url}).ended(0)
        equal({one.headers.get("Authorization") for one in scenario.check().taken}, {"Basic dXNlcjpzM2NyM3Q="}, "given")


@together
def a_server_without_a_place_for_spans():
    """Prometheus: what it takes has arrived, and nothing waits for the rest."""
    with OtlpScenario(lambda request: None if is_metrics(request) else Status(404)) as scenario:
        done = job(scenario, "exit 3")
        equal([scenario.check().times(), scenario.collector.spans()], [times_of(done.samples), []], "what arrives")
        scenario.check_nothing_left()


# ---- outages

@together
def a_dead_server():
    with OtlpScenario() as scenario:
        scenario.collector.shut_door()
        done = job(scenario, BURN + "sleep .3; exit 3", "-n", "nightly", is_silent=False, TRACEPARENT=GOOD,
                   OTEL_RESOURCE_ATTRIBUTES="a=b", **HASTY)
        expect("refused" in done.stderr and "--upload-spool" in done.stderr, done.stderr)
        spool_has(scenario, 1)
        scenario.collector.open_door()
        scenario.upload_spool(env={"TRACKER_OTLP": None}).ended(0)
        collector = scenario.check()
        equal(collector.times(), times_of(done.samples), "times of the points")
        span = collector.span()
        equal([span["traceId"], span["parentSpanId"], span["status"]["message"]], [ID, PARENT, "exit status 3"], "span")
        equal([collector.resource()["a"], collector.resource()["service.name"]], ["b", "nightly"], "resource")
        total = sum(collector.series("process.cpu.time", cpu_mode=mode)[-1][2] for mode in ("user", "system"))
        expect(abs(total - done.summary["cpu"]["total_secs"]) <= TICK, total, done.summary["cpu"])
        scenario.check_nothing_left()


@test(limit=60)
def a_dead_server_costs_the_grace_time_alone():
    def run(**env):
        with OtlpScenario() as scenario:
            scenario.collector.shut_door()
            began = time.monotonic()
            with scenario.start("-q", "--", "sh", "-c", "echo started", env=env) as tracker:
                equal(tracker.stdout.next(), b"started", "stdout")
                started = time.monotonic() - began
                wait_done(tracker).ended(0)
                return started, time.monotonic() - began

    without = [run(TRACKER_OTLP=None) for _ in range(3)]
    dead = [run(TRACKER_GRACE="1") for _ in range(3)]
    none = [run(TRACKER_GRACE="0") for _ in range(3)]
    tap.diag(f"start and end in s: without {without}, dead {dead}, without grace {none}")
    allowed = 0.3 * PATIENCE
    expect(min(one[0] for one in dead) < min(one[0] for one in without) + allowed, "late start")
    expect(min(one[1] for one in dead) < min(one[1] for one in without) + 1 + allowed, "late end")
    expect(min(one[1] for one in none) < min(one[1] for one in without) + allowed, "late end without grace")


def rss_kib(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1])


def memory(scenario, secs, env, behave=None):
    """VmRSS of a tracker over a run, in KiB."""
    scenario.collector.behave = behave
    with scenario.start("-q", "-i", "0.02", "--", "sleep", "60", env=env) as tracker:
        tracker.wait_ready()
        seen, end = [], time.monotonic() + secs
        while time.monotonic() < end:
            time.sleep(.1)
            seen.append(rss_kib(tracker.pid))
        tracker.send(15)
        wait_done(tracker)
    return seen


def memory_is_flat(behave=None, is_dead=False):
    if SLOW:
        raise tap.Skip("a sanitizer, or an emulator, has memory of its own")
    with OtlpScenario() as scenario:
        if is_dead:
            scenario.collector.shut_door()
        without = memory(scenario, 1, {"TRACKER_OTLP": None})
        seen = memory(scenario, 7, HASTY, behave)
        third = len(seen) // 3
        tap.diag(f"KiB: without {max(without)}, with {seen[0]} to {max(seen)}, "
                 f"first third {max(seen[:third])}, last {max(seen[-third:])}")
        expect(max(seen) <= max(without) + 4096, "more than 4 MiB above a run without", max(seen), max(without))
        expect(statistics.median(seen[-third:]) <= statistics.median(seen[third:2 * third]) + 128, "it grows", seen)


tap.add("memory is flat with a dead server", memory_is_flat, None, True, limit=60)
tap.add("memory is flat with a server", memory_is_flat, limit=60)


@together
def a_server_that_never_answers():
    with OtlpScenario(lambda request: BlackHole()) as scenario:
        began = time.monotonic()
        job(scenario, "exit 3", is_silent=False, OTEL_EXPORTER_OTLP_TIMEOUT="300", TRACKER_GRACE="5")
        expect(time.monotonic() - began < 10 * PATIENCE, "it took long")
        expect(scenario.collector.connections > 1, "one attempt alone, for all its timeout")
        spool_has(scenario, 1)


@together
def a_tracker_that_is_killed():
    with OtlpScenario() as scenario:
        samples = scenario.directory / "samples.jsonl"
        with scenario.start("-i", "0.1", "-o", samples, "--", "sh", "-c", "cat >/dev/null",
                            stdin=subprocess.PIPE) as tracker:
            wait_for(lambda: len(scenario.collector.taken) >= 1, "a request")
            count = samples.read_bytes().count(b"\n")
            wait_for(lambda: samples.read_bytes().count(b"\n") > count + 3, "more samples")
            tracker.send(9)
            equal(tracker.wait(), 137, "status")
        scenario.upload_spool(env={"TRACKER_OTLP": None}).ended(0)
        collector = scenario.check()
        times = times_of(written(samples))
        arrived = collector.times()
        expect(len(set(arrived) ^ set(times)) <= 1, "lost, or new", set(arrived) ^ set(times))
        equal(len(set(arrived)), len(arrived), "duplicates")
        span = collector.span()
        equal(["status" in span and span["status"] or {}, span["name"]], [{}, "sh"], "how it ended is not known")
        expect(int(span["endTimeUnixNano"]) >= int(span["startTimeUnixNano"]), span)
        scenario.check_nothing_left()


@together
def killed_between_the_parts_of_a_batch():
    """What was sent of it is known to --upload-spool."""
    with OtlpScenario() as scenario:
        waiting = [None, Status(503, [("Retry-After", "60")])]
        scenario.collector.behave = lambda request: waiting.pop(0) if len(waiting) > 1 else waiting[0]
        samples = scenario.directory / "samples.jsonl"
        with scenario.start("-i", "0.01", "-o", samples, "--", "sh", "-c", "sleep 60",
                            env={"TRACKER_UPLOAD_INTERVAL": "2"}) as tracker:
            wait_for(lambda: len(scenario.collector.requests) >= 2, "two requests")
            time.sleep(.3)
            tracker.send(9)
            tracker.wait()
        scenario.collector.behave = None
        scenario.upload_spool().ended(0)
        times = scenario.check().times()
        known = times_of(written(samples))
        equal(times, known[:len(times)], "what arrives")
        expect(len(known) - len(times) <= 3, "lost", known[len(times):])


@together
def faults_and_a_kill():
    """Nothing is lost, and an answer that is lost costs one duplicate at most."""
    kinds = [fault for fault in all_faults() if getattr(fault, "code", 503) != 500]
    flaky = Flaky(0.3, 2026, kinds)
    with OtlpScenario(flaky) as scenario:
        samples = scenario.directory / "samples.jsonl"
        with scenario.start("-i", "0.05", "-o", samples, "--", "sleep", "60") as tracker:
            wait_for(lambda: len(scenario.collector.taken) >= 6, "six requests", 60)
            tracker.send(9)
            tracker.wait()
        deliver_all(scenario, 20)
        known = times_of(written(samples))
        times = scenario.check().times()
        expect(len(set(known) - set(times)) <= 1 and len(set(times) - set(known)) <= 1, "lost, or new",
               set(known) ^ set(times))
        lost_answers = 1 + len([fault for fault in flaky.picked if fault.when == AFTER])
        metrics = [json.dumps(one.message) for one in scenario.collector.taken if "resourceMetrics" in one.message]
        tap.diag(f"{len(known)} samples, {len(metrics)} requests with metrics, {len(set(metrics))} different, "
                 f"{lost_answers} answers lost")
        expect(len(metrics) - len(set(metrics)) <= lost_answers, "duplicates")


# ---- beside others

@together
def beside_a_bucket():
    """It gets the CSV as it always was."""
    with BucketScenario() as scenario, Collector() as collector:
        scenario.track("-i", "0.1", "--", "sh", "-c", "sleep 1.5",
                       env={"TRACKER_OTLP": collector.url}).ended(0, is_silent=True)
        scenario.check_arrived()
        header = scenario.csv.read_bytes().partition(b"\n")[0]
        rows = len(csv_rows(scenario.csv.read_bytes()))
        for text in scenario.batches().values():
            equal([text.partition(b"\n")[0], b"\t" in text], [header, False], "header, and a tab")
        equal([collector.violations, len(collector.times()), len(collector.spans())], [[], rows, 1], "OTLP")
        scenario.check_nothing_left()


@together
def beside_sentinel_with_a_short_run():
    with OtlpScenario() as scenario:
        scenario.track("--", "true", env={"SENTINEL_API_TOKEN": TOKEN}).ended(0, is_silent=True)
        scenario.check_delivered()
        equal(len(scenario.check().times()), 1, "points")


@together
def beside_sentinel_without_a_row():
    with OtlpScenario() as scenario:
        equal(scenario.track("--", "/nonexistent/program", env={"SENTINEL_API_TOKEN": TOKEN}).status, 127, "status")
        header = scenario.api.run_csv(scenario.the_run())
        equal([header.count("\n"), header[-1:], "\t" in header], [1, "\n", False], f"header {header}")
        scenario.check_nothing_left()
        equal(scenario.check().kinds(), ["resourceSpans"], "OTLP")


@together
def beside_sentinel():
    with OtlpScenario() as scenario:
        scenario.track("-i", "0.1", "--", "sh", "-c", "sleep 1.5",
                       env={"SENTINEL_API_TOKEN": TOKEN}).ended(0, is_silent=True)
        scenario.check_delivered()
        equal(len(scenario.check().times()), len(csv_rows(scenario.csv.read_bytes())), "points")


@together
def one_of_two_is_dead():
    """What is in the spool for the bucket alone is the CSV, too, once it is delivered."""
    with BucketScenario() as scenario, Collector() as collector:
        scenario.s3.shut_door()
        done = scenario.track("-i", "0.1", "--", "sh", "-c", "sleep 1.5", env={"TRACKER_OTLP": collector.url, **HASTY})
        equal([done.status, collector.violations, len(collector.spans())], [0, [], 1], done.stderr)
        rows = len(csv_rows(scenario.csv.read_bytes()))
        equal(len(collector.times()), rows, "points")
        scenario.s3.open_door()
        scenario.deliver(TRACKER_OTLP=collector.url)
        scenario.check_arrived()
        equal([len(collector.times()), len(collector.spans())], [rows, 1], "sent twice")


@together
def the_doctor_knows_it():
    with OtlpScenario() as scenario:
        expect(re.search(f"OTLP +ok +{scenario.collector.url}", scenario.run("--doctor").stdout), "not there")
        equal(scenario.collector.connections, 0, "connections without being asked")
        expect(re.search("OTLP +ok ", scenario.run("--doctor=online").stdout), "not reached")
        scenario.collector.shut_door()
        expect(re.search("OTLP +broken +.*cannot connect", scenario.run("--doctor=online").stdout), "not missed")


if __name__ == "__main__":
    tap.main()
