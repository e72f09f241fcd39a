#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of many ranks, for --from 'DIR/*.jsonl.gz' --parts.

parts_recordings.py RECORDING DIR RANKS SAMPLES PER_NODE: the recording is a real one, as JSON lines; its second sample
is varied and written as many times as there are samples. All ranks have the same numbers but in their first samples.
"""

import gzip
import json
import pathlib
import random
import sys


def varied(value):
    if isinstance(value, dict):
        return {key: varied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [varied(item) for item in value]
    if isinstance(value, float):
        return round(value * random.uniform(.9, 1.1), 4)
    return int(value * random.uniform(.999, 1.001)) if isinstance(value, int) and value > 100000 else value


def line(sample, start, secs, pid):
    sample = {**sample, "timestamp_secs": start + secs, "timestamp_ms": (start + secs) * 1000, "tracked_pid": pid}
    sample["elapsed_secs"] = float(secs)
    if "run" not in sample:
        sample["actual_interval_ms"] = 1000
    return json.dumps(sample, separators=(",", ":")) + "\n"


def main():
    recording, directory, ranks, samples, per_node = sys.argv[1:]
    with open(recording, encoding="utf-8") as file:
        first, usual = (json.loads(next(file)) for _ in range(2))
    first["run"]["interval_secs"] = 1.0
    start, pid = first["timestamp_secs"], first["tracked_pid"]
    random.seed(1)
    following = gzip.compress("".join(line(varied(usual), start, secs, pid)
                                      for secs in range(2, int(samples) + 1)).encode(), 6)
    for rank in range(int(ranks)):
        node = rank // int(per_node)
        first["run"]["metadata"] = {"rank": str(rank), "world_size": ranks, "node": f"node-{node:04}"}
        head = gzip.compress(line(first, start, 1, pid).encode())
        (pathlib.Path(directory) / f"{rank:04}.jsonl.gz").write_bytes(head + following)


if __name__ == "__main__":
    main()
