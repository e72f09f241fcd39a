# SPDX-License-Identifier: Apache-2.0
"""A server for OTLP/HTTP that takes protobuf and JSON, strictly: a field that it does not know, a text that is not
UTF-8 and a value of the wrong type are violations. What it has taken looks the same for both: as the JSON mapping.
"""

import gzip
import json
import struct

from fake_http import Answer, Server
from stream_scenario import Scenario
from tap import equal, expect

# Of opentelemetry-proto 1.11: number, name and type of the fields; [TYPE] for repeated ones.
ATTRIBUTES = ["KeyValue"]
SCHEMA = {
    "metrics": {1: ("resourceMetrics", ["ResourceMetrics"])},
    "traces": {1: ("resourceSpans", ["ResourceSpans"])},
    "ResourceMetrics": {1: ("resource", "Resource"), 2: ("scopeMetrics", ["ScopeMetrics"]), 3: ("schemaUrl", "text")},
    "ResourceSpans": {1: ("resource", "Resource"), 2: ("scopeSpans", ["ScopeSpans"]), 3: ("schemaUrl", "text")},
    "Resource": {1: ("attributes", ATTRIBUTES)},
    "ScopeMetrics": {1: ("scope", "Scope"), 2: ("metrics", ["Metric"]), 3: ("schemaUrl", "text")},
    "ScopeSpans": {1: ("scope", "Scope"), 2: ("spans", ["Span"]), 3: ("schemaUrl", "text")},
    "Scope": {1: ("name", "text"), 2: ("version", "text")},
    "Metric": {1: ("name", "text"), 2: ("description", "text"), 3: ("unit", "text"), 5: ("gauge", "Gauge"),
               7: ("sum", "Sum")},
    "Gauge": {1: ("dataPoints", ["Point"])},
    "Sum": {1: ("dataPoints", ["Point"]), 2: ("aggregationTemporality", "enum"), 3: ("isMonotonic", "bool")},
    "Point": {2: ("startTimeUnixNano", "fixed64"), 3: ("timeUnixNano", "fixed64"), 4: ("asDouble", "double"),
              6: ("asInt", "sfixed64"), 7: ("attributes", ATTRIBUTES)},
    "KeyValue": {1: ("key", "text"), 2: ("value", "AnyValue")},
    "AnyValue": {1: ("stringValue", "text"), 2: ("boolValue", "bool"), 3: ("intValue", "int64"),
                 4: ("doubleValue", "double"), 5: ("arrayValue", "ArrayValue")},
    "ArrayValue": {1: ("values", ["AnyValue"])},
    "Span": {1: ("traceId", "id"), 2: ("spanId", "id"), 3: ("traceState", "text"), 4: ("parentSpanId", "id"),
             5: ("name", "text"), 6: ("kind", "enum"), 7: ("startTimeUnixNano", "fixed64"),
             8: ("endTimeUnixNano", "fixed64"), 9: ("attributes", ATTRIBUTES), 11: ("events", ["Event"]),
             15: ("status", "Status")},
    "Event": {1: ("timeUnixNano", "fixed64"), 2: ("name", "text"), 3: ("attributes", ATTRIBUTES)},
    "Status": {2: ("message", "text"), 3: ("code", "enum")},
}
WIRES = {"enum": 0, "bool": 0, "int64": 0, "fixed64": 1, "sfixed64": 1, "double": 1}  # all others: 2
JSON_TYPES = {"enum": int, "bool": bool, "int64": str, "fixed64": str, "sfixed64": str, "double": (int, float),
              "text": str, "id": str}
CUMULATIVE, DELTA = 2, 1


def varint(data, at):
    value = shift = 0
    while True:
        byte, at = data[at], at + 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """Number, wire type and value of each field of a message; an exception where it is broken."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        else:
            size = 8
            if tag & 7 == 2:
                size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            if tag & 7 not in (1, 2) or at > len(data):
                raise ValueError(f"field {tag >> 3} of wire type {tag & 7}")
        yield tag >> 3, tag & 7, value


def scalar(kind, value):
    if kind in ("enum", "bool"):
        return bool(value) if kind == "bool" else value
    if kind == "int64":
        return str(value - (1 << 64 if value >> 63 else 0))
    if kind in ("fixed64", "sfixed64"):
        return str(int.from_bytes(value, "little", signed=kind == "sfixed64"))
    if kind == "double":
        return struct.unpack("<d", value)[0]
    return value.hex() if kind == "id" else value.decode("utf-8")


def decode(data, kind):
    """A message of protobuf in the JSON mapping."""
    message = {}
    for number, wire, value in fields(data):
        name, what = SCHEMA[kind][number]
        inner = what[0] if isinstance(what, list) else what
        if wire != WIRES.get(inner, 2):
            raise ValueError(f"{kind}.{name} of wire type {wire}")
        value = decode(value, inner) if inner in SCHEMA else scalar(inner, value)
        if isinstance(what, list):
            message.setdefault(name, []).append(value)
        elif name in message:
            raise ValueError(f"{kind}.{name} twice")
        else:
            message[name] = value
    return message


def check_json(value, kind):
    """Raises an exception where the JSON mapping of a message is wrong; leaves out empty lists, as protobuf does."""
    types = dict(SCHEMA[kind].values())
    for key, item in list(value.items()):
        what = types[key]
        if not isinstance(what, list):
            if what in SCHEMA:
                check_json(item, what)
            elif not isinstance(item, JSON_TYPES[what]) or (isinstance(item, bool) and what != "bool"):
                raise ValueError(f"{kind}.{key} is {item!r}")
            continue
        for each in item:
            check_json(each, what[0])
        if not item:
            del value[key]


def plain(value):
    """An AnyValue as Python has it."""
    (kind, inner), = value.items()
    if kind == "arrayValue":
        return [plain(item) for item in inner.get("values", [])]
    return int(inner) if kind == "intValue" else inner


def attributes_of(owner):
    pairs = [(pair["key"], plain(pair["value"])) for pair in owner.get("attributes", [])]
    equal(len(dict(pairs)), len(pairs), f"different keys of {pairs}")
    return dict(pairs)


def shape_of(metric):
    """"gauge", or temporality and monotony of a sum."""
    total = metric.get("sum")
    return (total["aggregationTemporality"], total.get("isMonotonic", False)) if total else "gauge"


class Taken:
    """A request that was taken: its path, its headers, its message, and the body that this was decoded from."""

    def __init__(self, request, message, body):
        self.path, self.headers, self.message, self.body = request.path, dict(request.headers), message, body
        self.target = request.target

    @property
    def whole(self):
        return next(iter(self.message.values()))[0]

    @property
    def items(self):
        scopes, = (self.whole[key] for key in ("scopeMetrics", "scopeSpans") if key in self.whole)
        return scopes[0].get("metrics", []) + scopes[0].get("spans", [])


class Collector(Server):
    """`taken` has what it has accepted; `body` is the body of a success, None for the usual one."""

    def __init__(self, behave=None, tls=None):
        self.taken, self.body = [], None
        super().__init__(tls=tls, behave=behave)

    def handle(self, request):
        kind = "traces" if "traces" in request.path else "metrics"
        body = gzip.decompress(request.body) if request.get("Content-Encoding") == "gzip" else request.body
        if request.method != "POST" or request.query not in ("", "token=s3cr3t", "token=t0k3nt0k3n"):
            self.dislike(f"{request.method} {request.target}")
        is_json = request.get("Content-Type") == "application/json"
        try:
            if is_json:
                message = json.loads(body)
                check_json(message, kind)
            else:
                equal(request.get("Content-Type"), "application/x-protobuf", "Content-Type")
                message = decode(body, kind)
        except (ValueError, KeyError, IndexError, AssertionError, AttributeError) as error:
            self.dislike(f"{kind}: {error!r} in {body[:2000]!r}")
            return Answer(400)
        self.taken.append(Taken(request, message, body))
        usual = b'{"partialSuccess":{}}' if is_json else b"\n\x00"
        return Answer(200, [("Content-Type", request.get("Content-Type"))], usual if self.body is None else self.body)

    def kinds(self):
        return [key for one in self.taken for key in one.message]

    def spans(self):
        return [(attributes_of(one.whole["resource"]), span) for one in self.taken if "resourceSpans" in one.message
                for span in one.items]

    def span(self):
        equal(len(self.spans()), 1, "spans")
        return self.spans()[0][1]

    def resource(self):
        """The attributes that all requests have."""
        found = [attributes_of(one.whole["resource"]) for one in self.taken]
        expect(found and all(one == found[0] for one in found), "resources", found)
        return found[0]

    def metrics(self):
        """Name to metric, its dataPoints from all requests together."""
        found = {}
        for metric in (metric for one in self.taken if "resourceMetrics" in one.message for metric in one.items):
            data = metric.get("sum") or metric["gauge"]
            known = found.setdefault(metric["name"], {**metric, "points": []})
            equal([metric["unit"], shape_of(metric)], [known["unit"], shape_of(known)],
                  f"unit and kind of {metric['name']}")
            known["points"] += data["dataPoints"]
        return found

    def series(self, name, **attributes):
        """(start, time, value) of the points of a series, by dots in place of underscores in the attributes."""
        wanted = {key.replace("_", "."): value for key, value in attributes.items()}
        return [(int(point.get("startTimeUnixNano", 0)), int(point["timeUnixNano"]),
                 point["asDouble"] if "asDouble" in point else int(point["asInt"]))
                for point in self.metrics().get(name, {"points": []})["points"] if attributes_of(point) == wanted]

    def times(self):
        """When the samples were taken that have arrived, in order of arrival."""
        return [time // 1000000 for _, time, _ in self.series("process.uptime")]


class OtlpScenario(Scenario):
    """A tracker that sends to `collector` alone, unless a test says more."""

    def __init__(self, behave=None, **more):
        super().__init__(**more)
        self.collector = Collector(behave)

    def __exit__(self, *what):
        self.collector.stop()
        super().__exit__(*what)

    def env(self, **more):
        return super().env(**{"SENTINEL_API_TOKEN": None, "TRACKER_OTLP": self.collector.url, **more})

    def check(self):
        equal(self.collector.violations, [], "violations")
        return self.collector

    def check_nothing_left(self):
        equal(self.spool_files(), [], "files in the spool")


def field(number, data):
    """A field of a message, for answers: bytes, or a small number."""
    if isinstance(data, int):
        return bytes([number << 3, data])
    size = len(data)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + data

