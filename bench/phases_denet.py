#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Changes found in the labelled runs of tests/unit/phase_series.c: ours beside denet's.

    pip install 'denet[report]' pandas
    PHASES_OUT=/tmp/phases.jsonl build/tests/test_phases && bench/phases_denet.py /tmp/phases.jsonl

denet's detection is called on the same points, through its own reduction to slots, with the columns it has (no GPU). A
change that is found is right within one interval or 2 % of the run. Variant 0 is the one our method was made with.
"""

import json
import sys

import pandas
from denet import report


def by_denet(points, regimes):
    frame = pandas.DataFrame(points, columns=["t", "cpu", "mem_mib", "read_rate", "gpu"])
    frame[["write_rate", "rx_rate", "tx_rate"]] = 0.0
    columns = ["cpu", "mem_mib", "read_rate", "write_rate"]
    # A regime is given by its first and last point: it begins where the one before it ended.
    found = report._detect_regimes(report._slotted(frame), regimes, columns)
    return [regime["t1"] for regime in found[:-1]]


def right_ones(wanted, found, end):
    left = list(found)
    right = 0
    for change in wanted:
        near = [other for other in left if abs(other - change) <= max(1, end * 0.02)]
        if near:
            left.remove(near[0])
            right += 1
    return right


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        runs = [json.loads(line) for line in lines]
    ways = {
        "ours": lambda run: run["found"],
        "denet": lambda run: by_denet(run["points"], 6),
        "denet, up to 12 regimes": lambda run: by_denet(run["points"], 12),
    }
    sets = {
        "variant 0": lambda run: run["variant"] == 0,
        "other variants": lambda run: run["variant"] > 0,
        "other variants without GPUs": lambda run: run["variant"] > 0 and not any(point[4] for point in run["points"]),
    }
    for title, belongs in sets.items():
        for name, find in ways.items():
            right = found = wanted = 0
            for run in filter(belongs, runs):
                changes = find(run)
                right += right_ones(run["changes"], changes, run["points"][-1][0])
                found += len(changes)
                wanted += len(run["changes"])
            print(f"{title}: {name}: F1 {2 * right / (found + wanted):.3f} ({right} of {wanted}, {found} found)")


if __name__ == "__main__":
    main()
