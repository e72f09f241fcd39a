#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Pushgateway takes the metrics as they are."""

from recipe import engine, follow, free_port, get, program
import tap
from tap import equal, expect, test


@test(limit=60)
def the_metrics_of_the_recipe_are_in_the_group_of_the_job():
    gateway = program("prometheus-pushgateway")
    at = f"127.0.0.1:{free_port()}"
    with engine([gateway, f"--web.listen-address={at}"], f"http://{at}/-/ready"):
        done = follow("prometheus.md", "pushgateway", PUSHGATEWAY=f"http://{at}")
        equal([done.returncode, done.stdout, done.stderr], [3, "", ""], "the recipe")
        page = get(f"http://{at}/metrics")
    expect('resource_tracker_exit_code{instance="",job="nightly",job_name="nightly"} 3\n' in page, page)
    expect('resource_tracker_cpu_seconds_total{instance="",job="nightly",job_name="nightly",mode="user"}' in page, page)


if __name__ == "__main__":
    tap.main()
