#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Snakemake runs the recipe, and reads our benchmark file as its own."""

import os
import subprocess

from recipe import BINARY, clean_env, directory, program, text_of
import tap
from tap import equal, expect, test

HEADER = "s h:m:s max_rss max_vms max_uss max_pss io_in io_out mean_load cpu_time".split()


@test(limit=120)
def the_recipe_of_the_guide():
    snakemake = program("snakemake")
    with directory() as place:
        (place / "resource-tracker").symlink_to(BINARY)
        (place / "Snakefile").write_text(text_of("metaflow-airflow.md", "snakemake"), encoding="utf-8")
        env = clean_env(PATH=f"{place}:{os.environ['PATH']}", HOME=str(place))
        done = subprocess.run([snakemake, "--cores", "1", "--quiet", "all"], cwd=place, env=env, text=True,
                              capture_output=True, timeout=100, check=False)
        equal(done.returncode, 0, done.stderr)
        equal((place / "hits.tsv").read_text(), "hit\n", "output")
        header, row = [line.split("\t") for line in (place / "needs/search.tsv").read_text().splitlines()]
    equal(header, HEADER, "header")
    values = dict(zip(header, row))
    expect(0.2 <= float(values["s"]) < 5 and values["h:m:s"] == "0:00:00", values)
    expect(values["max_vms"] == "NA" and float(values["max_rss"]) > 0.5, values)


if __name__ == "__main__":
    tap.main()
