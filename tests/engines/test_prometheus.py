#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prometheus 3 takes the recipe by OTLP, and what PromQL says of the job is what our summary says."""

import contextlib
import json
import os
import urllib.parse

from recipe import ROOT, directory, engine, follow, free_port, get, text_of
import tap
from tap import Skip, equal, expect, test

TICK = 0.0101
PROMETHEUS = ROOT / "build-tools/engines/prometheus"


def query(at, text):
    """The value of the only series."""
    answer = json.loads(get(f"http://{at}/api/v1/query?{urllib.parse.urlencode({'query': text})}"))
    equal(len(answer["data"]["result"]), 1, f"series of {text}: {answer}")
    return float(answer["data"]["result"][0]["value"][1])


@contextlib.contextmanager
def prometheus():
    """As the guide starts it; its address."""
    if not os.access(PROMETHEUS, os.X_OK):
        raise Skip("no Prometheus 3: ENGINES_PROMETHEUS=1 tools/setup engines")
    with directory() as place:
        at = f"127.0.0.1:{free_port()}"
        (place / "prometheus.yml").write_text(text_of("opentelemetry.md", "prometheus.yml"), encoding="utf-8")
        words = [str(PROMETHEUS), f"--config.file={place}/prometheus.yml", f"--storage.tsdb.path={place}/data",
                 f"--web.listen-address={at}", *text_of("opentelemetry.md", "prometheus options").split()]
        with engine(words, f"http://{at}/-/ready"):
            yield at


def what_promql_says_is_what_the_summary_says(env):
    with prometheus() as at, directory() as place:
        summary = place / "summary.json"
        done = follow("opentelemetry.md", "prometheus", PROMETHEUS=f"http://{at}", TRACKER_SUMMARY_JSON=str(summary),
                      **env)
        equal([done.returncode, done.stdout, done.stderr], [3, "", ""], "the recipe")
        known = json.loads(summary.read_text(encoding="utf-8"))
        queries = text_of("opentelemetry.md", "promql").splitlines()
        got = [query(at, line) for line in queries if line and not line.startswith("#")]
        names = json.loads(get(f"http://{at}/api/v1/label/__name__/values"))["data"]
        info = json.loads(get(f"http://{at}/api/v1/query?query=target_info"))["data"]["result"][0]["metric"]
    expect(abs(got[0] - known["cpu"]["total_secs"]) <= TICK, f"{got[0]} s of CPU time, our summary says {known['cpu']}")
    expect(abs(got[1] / 1048576 - known["memory"]["rss_peak_mib"]) < 0.001, got, known["memory"])
    expect({"process_cpu_time_seconds_total", "process_memory_usage_bytes", "process_uptime_seconds"} <= set(names),
           names)
    equal([info["job"], info["process_executable_name"]], ["nightly", "sh"], "target_info")


for what, given in (("protobuf", {}), ("JSON", {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}),
                    ("not compressed", {"OTEL_EXPORTER_OTLP_COMPRESSION": "none"})):
    tap.add(f"what promql says is what the summary says: {what}", what_promql_says_is_what_the_summary_says, given,
            limit=120)


@test(limit=120)
def differences_are_refused_with_one_warning():
    with prometheus() as at:
        done = follow("opentelemetry.md", "prometheus", PROMETHEUS=f"http://{at}",
                      OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta")
    equal([done.returncode, done.stderr.count("500"), "temporality" in done.stderr], [3, 1, True], done.stderr)


if __name__ == "__main__":
    tap.main()
