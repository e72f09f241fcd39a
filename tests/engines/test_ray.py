#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray starts its workers by the recipe."""

import json

from recipe import directory, execute, program, text_of
import tap
from tap import equal, expect, test
from tracker import wait_until


@test(limit=150)
def every_worker_has_a_summary():
    program("ray")
    with directory() as place:
        (place / "job.py").write_text(text_of("ray-dask-spark.md", "ray"), encoding="utf-8")
        done = execute(["python", "job.py"], place, timeout=120, HOME=str(place), RAY_TMPDIR=str(place),
                       RAY_AUTH_MODE="disabled", RAY_USAGE_STATS_ENABLED="0")
        equal(done.returncode, 0, done.stderr)
        rows = [line.split() for line in done.stdout.splitlines()]
        equal([row[0] for row in rows], list("0123"), done.stdout)
        for name in {row[1] for row in rows}:
            wait_until((place / name).exists, name)
            summary = json.loads((place / name).read_text(encoding="utf-8"))
            expect(summary["job_name"] == "etl" and summary["command"][0] == "python", summary["command"])
            expect(summary["cpu"]["total_secs"] > 0.1, summary["cpu"])


if __name__ == "__main__":
    tap.main()
