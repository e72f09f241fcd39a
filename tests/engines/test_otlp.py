#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What --otlp sends, held against OpenTelemetry's own schema and its semantic conventions, and passed on by
rotel and OpenTelemetry's Collector."""

import base64
import contextlib
import importlib
import inspect
import json
import os
import pathlib

from recipe import directory, engine, follow, free_port, program, python_packages
import tap
from stream_otlp import CUMULATIVE, OtlpScenario, attributes_of, shape_of
from stream_scenario import wait_for
from tap import Skip, equal, expect, test

OWN = "resource_tracker."
COMMAND = '"$RT" --mark load; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "$RT" --mark train; sleep .3; exit 3'


def imported(name):
    python_packages()
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Skip(f"{error}: see tools/setup engines") from error


def requests_of(**env):
    """The requests of a job with everything that can be in them."""
    with OtlpScenario() as scenario:
        scenario.run("-q", "-i", "0.1", "-n", "nightly", "--tag", "team=a", "--", "sh", "-c", COMMAND, env={
            "RT": os.environ["RESOURCE_TRACKER"], "TRACKER_OTLP_HOST": "1", "OTEL_RESOURCE_ATTRIBUTES": "given=%C3%BC",
            "TRACEPARENT": f"00-{'ab' * 16}-{'cd' * 8}-01", "TRACESTATE": "a=1", **env}).ended(3, is_silent=True)
        collector = scenario.check()
        equal(collector.kinds(), ["resourceMetrics", "resourceSpans"], "requests")
        return collector


def reference_of(one):
    kind, name = ("metrics", "Metrics") if "resourceMetrics" in one.message else ("trace", "Trace")
    module = imported(f"opentelemetry.proto.collector.{kind}.v1.{kind}_service_pb2")
    return getattr(module, f"Export{name}ServiceRequest")()


def with_base64(value):
    """What JSON of OTLP has as hex and JSON of protobuf as base64."""
    if isinstance(value, list):
        return [with_base64(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: base64.b64encode(bytes.fromhex(item)).decode() if key in ("traceId", "spanId", "parentSpanId") else
            with_base64(item) for key, item in value.items()}


def unknown_fields(message, sets):
    """How many fields of a message and of those in it the schema does not know."""
    count = len(sets.UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type:
            count += sum(unknown_fields(item, sets) for item in ([value] if hasattr(value, "ListFields") else value))
    return count


def every_request_is_of_the_schema(env):
    json_format = imported("google.protobuf.json_format")
    sets = imported("google.protobuf.unknown_fields")
    for one in requests_of(**env).taken:
        message, shown = reference_of(one), one.message
        if env.get("OTEL_EXPORTER_OTLP_PROTOCOL") == "http/json":
            json_format.ParseDict(with_base64(json.loads(one.body)), message)  # refuses what it does not know
        else:
            message.ParseFromString(one.body)
            equal(unknown_fields(message, sets), 0, "unknown fields")
        known = reference_of(one)
        json_format.ParseDict(with_base64(shown), known)
        equal(message, known, "what our own decoder has found")


for what, given in (("protobuf", {}), ("JSON", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}),
                    ("differences", {"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": "delta"})):
    tap.add(f"every request is of the schema: {what}", every_request_is_of_the_schema, given, limit=60)


class Meter:
    """What the conventions create, as it is asked for: name to unit and kind."""

    def __init__(self):
        self.found = {}

    def __getattr__(self, name):
        kind = name.removeprefix("create_").removeprefix("observable_")

        def create(name=None, callbacks=None, unit="", description=""):
            del callbacks, description
            self.found[name] = (unit, kind)

        return create


def conventions():
    """Metrics (name to unit and kind) and the names of attributes."""
    root = pathlib.Path(imported("opentelemetry.semconv.schemas").__file__).parent
    meter, attributes = Meter(), set()
    for path in root.glob("**/*.py"):
        parts = path.relative_to(root).with_suffix("").parts
        module = importlib.import_module(".".join(["opentelemetry.semconv", *parts]))
        if "attributes" in path.parts:
            attributes |= {value for value in vars(module).values() if isinstance(value, str)}
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if name.startswith("create_"):
                function(meter, *[lambda: ()] * (len(inspect.signature(function).parameters) - 1))
    return meter.found, attributes


@test(limit=60)
def names_and_units_are_those_of_the_conventions():
    metrics, attributes = conventions()
    collector = requests_of()
    kinds = {"gauge": "gauge", (CUMULATIVE, True): "counter", (CUMULATIVE, False): "up_down_counter"}
    for name, metric in collector.metrics().items():
        known = attributes | ({"resource", "kind"} if name.startswith(OWN) else set())
        for point in metric["points"]:
            expect(set(attributes_of(point)) <= known, f"attributes of {name}", set(attributes_of(point)) - known)
        if not name.startswith(OWN):
            expect(name in metrics, f"there is no {name}")
            equal((metric["unit"], kinds[shape_of(metric)]), metrics[name], name)
    for owner in (collector.resource(), attributes_of(collector.span())):
        odd = {key for key in owner if not key.startswith(OWN)} - attributes - {"given"}
        expect(not odd, "attributes", odd)


@contextlib.contextmanager
def rotel(to):
    """A Collector of others; sends on what it gets; its address."""
    port, grpc = free_port(), free_port()
    words = [program("rotel"), "start", f"--otlp-http-endpoint=127.0.0.1:{port}",
             f"--otlp-grpc-endpoint=127.0.0.1:{grpc}", "--exporter=otlp", f"--otlp-exporter-endpoint={to}",
             "--otlp-exporter-protocol=http"]
    with engine(words, f"http://127.0.0.1:{port}/"):
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def opentelemetry_collector(to):
    """OpenTelemetry's own, where it was built (cmd/otelcorecol of its repository)."""
    collector, port = program("otelcorecol"), free_port()
    part = {"receivers": ["otlp"], "exporters": ["otlp_http"]}
    settings = {"receivers": {"otlp": {"protocols": {"http": {"endpoint": f"127.0.0.1:{port}"}}}},
                "exporters": {"otlp_http": {"endpoint": to}},
                "service": {"pipelines": {"metrics": part, "traces": part},
                            "telemetry": {"metrics": {"level": "none"}}}}
    with directory() as place:
        path = place / "collector.yaml"
        path.write_text(json.dumps(settings), encoding="utf-8")  # JSON is YAML
        with engine([collector, f"--config={path}"], f"http://127.0.0.1:{port}/"):
            yield f"http://127.0.0.1:{port}"


def passed_on(collector, env):
    """It takes the recipe, and what it sends on is the same."""
    with OtlpScenario() as scenario:
        with collector(scenario.collector.url) as address:
            done = follow("opentelemetry.md", "collector", COLLECTOR=address, **env)
            equal([done.returncode, done.stdout, done.stderr], [3, "", ""], "the recipe")
            wait_for(lambda: {"resourceMetrics", "resourceSpans"} <= set(scenario.collector.kinds()),
                     "what it sends on")
        span, resource = scenario.collector.span(), scenario.collector.resource()
        equal([span["name"], span["status"]["code"], resource["service.name"]], ["sh", 2, "nightly"],
              "span and service")
        series = scenario.collector.series("process.cpu.time", cpu_mode="user")
        expect(len(series) >= 2 and series[0][2] == 0 and series[-1][2] > 0, "CPU time", series)


for other in (rotel, opentelemetry_collector):
    for what, given in (("protobuf", {}), ("JSON", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"})):
        tap.add(f"{other.__name__} passes on the recipe: {what}", passed_on, other, given, limit=60)


if __name__ == "__main__":
    tap.main()
