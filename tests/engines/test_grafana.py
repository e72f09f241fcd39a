#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The dashboard of the guide: its queries ask for metrics that our program writes, in a language Prometheus knows."""

import gzip
import http.server
import json
import re
import subprocess
import threading
import urllib.error
import urllib.parse

from recipe import BINARY, ROOT, clean_env, directory, engine, free_port, get, program
import tap
from tap import equal, expect, test

DASHBOARD = ROOT / "docs/guide/grafana-dashboard.json"
WORDS = {"sum", "by", "rate", "time", "last_over_time", "label_values"}
LABELS = {"job", "job_name", "instance", "kind"}
UNITS = {"s": "seconds", "By": "bytes", "J": "joules", "W": "watts", "Cel": "celsius"}


def dashboard():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))


def queries():
    """Every query, with a value in place of each variable."""
    page = dashboard()
    texts = [target["expr"] for panel in page["panels"] for target in panel.get("targets", ())]
    values = {"$__rate_interval": "5m", "$__range": "7d", "$job_name": ".*", "$job": ".*"}
    for name, value in values.items():
        texts = [text.replace(name, value) for text in texts]
    return texts


def names_in(text):
    """The metrics that a query asks for."""
    text = re.sub(r'"[^"]*"|\[\w+\]|\bby \([^)]*\)', "", text)
    return set(re.findall(r"[a-z][a-z0-9_]+", text)) - WORDS - LABELS


def names_of_file():
    """What --metrics-file writes here; its table has what this machine lacks."""
    with directory() as place:
        subprocess.run([BINARY, "-q", "-i", "0.1", "--metrics-file", "job.prom", "--", "sleep", "0.4"], cwd=place,
                       env=clean_env(), timeout=15, check=True)
        here = set(re.findall(r"(?m)^# TYPE (\S+)", (place / "job.prom").read_text(encoding="utf-8")))
    source = (ROOT / "src/summary/formats/metrics.c").read_text(encoding="utf-8")
    table = {"resource_tracker_" + name for name in re.findall(r'(?m)^ {4}\{"(\w+)", "', source)}
    expect(here and here <= table, "not in the table:", here - table)
    return here, table


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes requests of OTLP as JSON."""

    def do_POST(self):  # pylint: disable=invalid-name
        body = self.rfile.read(int(self.headers["Content-Length"]))
        body = gzip.decompress(body) if self.headers["Content-Encoding"] == "gzip" else body
        self.server.requests.append(json.loads(body))
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def name_in_prometheus(name, unit, is_counter, is_gauge):
    """As Prometheus names what it gets by OTLP."""
    words = name.replace(".", "_")
    unit = "ratio" if unit == "1" and is_gauge else UNITS.get(unit, "")
    words += f"_{unit}" if unit and not words.endswith(f"_{unit}") else ""
    return f"{words}_total" if is_counter and not words.endswith("_total") else words


def names_of_otlp():
    """What --otlp sends here, as Prometheus names it; its table has what this machine lacks."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector) as server:
        server.requests = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        env = clean_env(OTEL_EXPORTER_OTLP_PROTOCOL="http/json")
        with directory() as place:
            done = subprocess.run([BINARY, "-q", f"--otlp=http://127.0.0.1:{server.server_port}", "--", "sleep", "0.1"],
                                  cwd=place, env=env, timeout=15, capture_output=True, text=True, check=True)
        server.shutdown()
    equal(done.stderr, "", "stderr")
    here = {name_in_prometheus(metric["name"], metric["unit"], metric.get("sum", {}).get("isMonotonic", False),
                               "gauge" in metric)
            for request in server.requests for resource in request.get("resourceMetrics", ())
            for scope in resource["scopeMetrics"] for metric in scope["metrics"]}
    source = (ROOT / "src/stream/targets/otlp_metrics.c").read_text(encoding="utf-8")
    rows = re.findall(r'(?m)^ {4}"([a-z_.]+\.[a-z_.]+) (\S+) ([cghs])[ir] ', source)
    # Names of our own stand there without their first word.
    table = {name_in_prometheus("resource_tracker" * name.startswith(".") + name, unit, kind in "ch", kind == "g")
             for name, unit, kind in rows}
    expect(here and here <= table, "not in the table:", here - table)
    return here, table


@test
def every_query_asks_for_what_is_written():
    file_here, file_table = names_of_file()
    otlp_here, otlp_table = names_of_otlp()
    asked = set().union(*map(names_in, queries()))
    expect(len(asked) > 15 and not asked - file_table - otlp_table, "not written:", asked - file_table - otlp_table)
    for name in ("resource_tracker_memory_need_bytes", "resource_tracker_cpu_seconds_total"):
        expect(name in asked & file_here, name, "is not in the file")
    for name in ("process_cpu_time_seconds_total", "process_memory_usage_bytes", "process_uptime_seconds"):
        expect(name in otlp_here, name, "is not sent", otlp_here)


@test
def the_data_source_is_a_variable():
    page = dashboard()
    variables = {variable["name"]: variable for variable in page["templating"]["list"]}
    equal([variables["datasource"]["type"], variables["datasource"]["query"]], ["datasource", "prometheus"], "variable")
    text = DASHBOARD.read_text(encoding="utf-8")
    equal(text.count('"datasource": {'), text.count('"uid": "${datasource}"'), "data sources")
    equal(text.count('"uid"'), text.count('"uid": "${datasource}"') + 1, "ids: the data source's and the dashboard's")
    asked = [variables[name]["definition"] for name in ("job_name", "job")]
    equal(asked, [variables[name]["query"]["query"] for name in ("job_name", "job")], "queries of the variables")
    known = names_of_file()[0] | names_of_otlp()[0]
    for text in asked:
        expect(names_in(text) <= known, "not written:", text)
    equal(len({panel["id"] for panel in page["panels"]}), len(page["panels"]), "ids of panels")


@test(limit=60)
def prometheus_understands_every_query():
    prometheus = program("prometheus")
    server = f"http://127.0.0.1:{free_port()}"
    with directory() as place:
        (place / "prometheus.yml").write_text("{}\n", encoding="utf-8")
        with engine([prometheus, f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data",
                     f"--web.listen-address={server[7:]}"], f"{server}/-/ready"):
            for text in queries():
                try:
                    get(f"{server}/api/v1/query?{urllib.parse.urlencode({'query': text})}")
                except urllib.error.HTTPError as error:
                    raise AssertionError(f"{text}: {error.read().decode()}") from error


if __name__ == "__main__":
    tap.main()
