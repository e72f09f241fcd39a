#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spark in local mode by the recipe: the whole, and its Python workers alone."""

import json
import shutil

from recipe import directory, follow_in, program, script, text_of
import tap
from tap import Skip, equal, expect, test
from tracker import wait_until

JOB = """import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.config("spark.ui.enabled", "false").getOrCreate()
def work(secs):
    start = time.process_time()
    while time.process_time() - start < secs:
        pass
    return secs
print(spark.sparkContext.parallelize([0.4, 0.5], 2).map(work).collect())
spark.stop()
"""


@test(limit=150)
def the_whole_and_its_python_workers():
    program("spark-submit")
    if not shutil.which("java"):
        raise Skip("no java")
    with directory() as place:
        script(place / "tracked-python", text_of("ray-dask-spark.md", "tracked-python"))
        (place / "etl.py").write_text(JOB, encoding="utf-8")
        done = follow_in(place, "ray-dask-spark.md", "spark", timeout=120, SPARK_LOCAL_IP="127.0.0.1", HOME=str(place),
                         SPARK_LOCAL_DIRS=str(place))
        equal([done.returncode, done.stdout], [0, "[0.4, 0.5]\n"], done.stderr)
        name = wait_until(lambda: next(place.glob("python-*.json"), None), "the summary of Python")
        workers, whole = (json.loads(path.read_text(encoding="utf-8")) for path in (name, place / "needs.json"))
    expect(0.9 <= workers["cpu"]["total_secs"] <= whole["cpu"]["total_secs"], workers["cpu"], whole["cpu"])
    equal([workers["job_name"], whole["job_name"]], ["etl-python", "etl"], "names")


if __name__ == "__main__":
    tap.main()
