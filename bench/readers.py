# SPDX-License-Identifier: Apache-2.0
"""The samples of every tool under the same keys. What a tool does not report is left out; `raw` holds its own words.

time_secs            when, in seconds since 1970 (whole seconds where the tool rounds)
interval_secs        the time that the sample stands for
tree_cpu_secs        CPU time of the tracked tree within the interval; tree_user_secs, tree_system_secs
tree_cores           CPUs in use by the tree
tree_rss_mib, tree_pss_mib, tree_memory_mib (what the tool calls the memory of the tree)
tree_read_bytes, tree_write_bytes, tree_children
host_cores, host_used_mib, host_read_bytes, host_write_bytes, host_recv_bytes, host_sent_bytes, host_processes
tracker_cpu_secs, tracker_rss_mib, late_ms, missed   what the tool says of itself
"""

import csv
import json
import pathlib


def take(source, pairs):
    """The values that are there, under their new names."""
    found = {name: source.get(key) for name, key in pairs.items()}
    return {name: value for name, value in found.items() if value is not None}


def total(items, key):
    values = [item[key] for item in items if item.get(key) is not None]
    return sum(values) if values else None


def json_lines(path):
    for line in pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("{"):
            try:
                yield json.loads(line)
            except ValueError:
                continue  # the last line of a tool that was ended in the middle of it


def exact_mib(sample, raw, names):
    """Memory to the byte, where a tool has it beside whole MiB."""
    for name, key in names.items():
        if raw.get(key) is not None:
            sample[name] = raw[key] / (1 << 20)


def read_json(path):
    """The lines of ours and of the Rust tool, whose names agree where both have them."""
    samples = []
    for raw in json_lines(path):
        cpu, own = raw["cpu"], raw.get("tracker") or {}
        sample = {"time_secs": raw.get("timestamp_ms", raw["timestamp_secs"] * 1000) / 1000, "raw": raw}
        sample |= take(cpu, {"tree_user_secs": "process_utime_secs", "tree_system_secs": "process_stime_secs",
                             "tree_cores": "process_cores_used", "tree_rss_mib": "process_rss_mib",
                             "tree_pss_mib": "process_pss_mib", "tree_read_bytes": "process_disk_read_bytes",
                             "tree_write_bytes": "process_disk_write_bytes", "tree_children": "process_child_count",
                             "host_processes": "process_count"})
        exact_mib(sample, cpu, {"tree_rss_mib": "process_rss_bytes", "tree_pss_mib": "process_pss_bytes"})
        if "tree_user_secs" in sample and "tree_system_secs" in sample:
            sample["tree_cpu_secs"] = sample["tree_user_secs"] + sample["tree_system_secs"]
        if raw.get("actual_interval_ms") is not None:
            sample["interval_secs"] = raw["actual_interval_ms"] / 1000
        sample |= take(own, {"tracker_cpu_secs": "cpu_secs", "tracker_rss_mib": "rss_mib", "late_ms": "late_ms",
                             "missed": "missed_samples"})
        exact_mib(sample, own, {"tracker_rss_mib": "rss_bytes"})
        sample |= take(raw.get("memory") or {}, {"host_used_mib": "used_mib"})
        samples.append(sample)
    return samples


PYTHON_KEYS = {
    "time_secs": "timestamp", "tree_user_secs": "process_utime", "tree_system_secs": "process_stime",
    "tree_cores": "process_cpu_usage", "tree_memory_mib": "process_memory_mib", "tree_children": "process_children",
    "tree_read_bytes": "process_disk_read_bytes", "tree_write_bytes": "process_disk_write_bytes",
    "host_processes": "system_processes", "host_cores": "system_cpu_usage", "host_used_mib": "system_memory_used_mib",
    "host_read_bytes": "system_disk_read_bytes", "host_write_bytes": "system_disk_write_bytes",
    "host_recv_bytes": "system_net_recv_bytes", "host_sent_bytes": "system_net_sent_bytes",
}
# The Python package with psutil takes PSS, and so does the one with procfs on Linux.
SYSTEM_PREFIX = "system_"


def numbers(row):
    """A row of CSV with numbers for texts that are numbers; empty fields are left out."""
    result = {}
    for name, text in row.items():
        try:
            result[name] = float(text)
        except (TypeError, ValueError):
            if text:
                result[name] = text
    return result


def read_python_csv(path):
    """The combined CSV of the Python package; the one of its SystemTracker alone has no prefixes."""
    samples, previous = [], None
    with open(path, newline="", encoding="utf-8", errors="replace") as file:
        for row in csv.DictReader(file):
            raw = numbers(row)
            if "timestamp" not in raw:
                continue
            if "system_utime" not in raw and "processes" in raw:
                raw = {"timestamp": raw["timestamp"]} | {SYSTEM_PREFIX + name: value for name, value in raw.items()}
            sample = take(raw, PYTHON_KEYS) | {"raw": raw}
            if "tree_user_secs" in sample and "tree_system_secs" in sample:
                sample["tree_cpu_secs"] = sample["tree_user_secs"] + sample["tree_system_secs"]
            if previous is not None:
                sample["interval_secs"] = sample["time_secs"] - previous
            previous = sample["time_secs"]
            samples.append(sample)
    return samples


def read_psrecord(path):
    """Lines of elapsed seconds, CPU in per cent, real and virtual memory in MB; a sample covers the time before it.

    The elapsed time starts with the tool, so that `time_secs` counts from there.
    """
    samples, previous = [], 0.0
    for line in pathlib.Path(path).read_text(encoding="utf-8", errors="replace").splitlines():
        words = line.split()
        if line.startswith("#") or len(words) < 4:
            continue
        elapsed, percent, rss_mib = (float(word) for word in words[:3])
        interval = elapsed - previous
        samples.append({"time_secs": elapsed, "interval_secs": interval, "tree_cores": percent / 100,
                        "tree_cpu_secs": percent / 100 * interval, "tree_rss_mib": rss_mib, "raw": line})
        previous = elapsed
    return samples


def read_gnu_time(path):
    """The one line of `time -f`: user, system and elapsed seconds, the largest RSS of a single process in KiB."""
    words = pathlib.Path(path).read_text(encoding="utf-8").splitlines()[-1].split()
    user, system, elapsed, rss_kib = (float(word) for word in words)
    return [{"tree_user_secs": user, "tree_system_secs": system, "tree_cpu_secs": user + system,
             "interval_secs": elapsed, "largest_rss_mib": rss_kib / 1024, "raw": words}]
