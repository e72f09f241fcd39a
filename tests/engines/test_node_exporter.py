#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""node_exporter takes the file of --metrics-file as it is."""

import re

from recipe import directory, engine, follow, free_port, get, program
import tap
from tap import equal, expect, test

LINE = re.compile(r"(?m)^(resource_tracker_\w+)(?:\{(.*)\})? (\S+)$")


def series(text):
    """Name and labels, in any order, to value."""
    return {(name, *sorted(labels.split(","))): float(value) for name, labels, value in LINE.findall(text)}


@test(limit=60)
def every_metric_of_the_recipe_arrives():
    exporter = program("prometheus-node-exporter")
    with directory() as textfiles:
        at = f"127.0.0.1:{free_port()}"
        with engine([exporter, "--collector.disable-defaults", "--collector.textfile",
                     f"--collector.textfile.directory={textfiles}", f"--web.listen-address={at}"], f"http://{at}/"):
            done = follow("prometheus.md", "node_exporter", TEXTFILES=str(textfiles))
            equal([done.returncode, done.stdout, done.stderr], [3, "", ""], "the recipe")
            page = get(f"http://{at}/metrics")
        written = series((textfiles / "nightly.prom").read_text(encoding="utf-8"))
        arrived = series(page)
        expect("node_textfile_scrape_error 0\n" in page, "node_exporter refuses the file", page)
        equal(arrived, written, "what arrives")
        equal(written.get(("resource_tracker_exit_code", 'job_name="nightly"')), 3, "exit code")
        expect(len(written) > 12, written)


if __name__ == "__main__":
    tap.main()
