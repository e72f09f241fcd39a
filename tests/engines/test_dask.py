#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Dask's workers run by the recipe; its summary has what they used."""

import json
import subprocess

from recipe import daemon, directory, execute, free_port, our_env, program, text_of
import tap
from tap import equal, expect, test

JOB = """import os, sys, time
from distributed import Client
client = Client(sys.argv[1], timeout=60)
client.wait_for_workers(2, timeout=60)
def work(part):
    while time.process_time() < 1.5 + part / 10:
        pass
    return os.getpid(), time.process_time()
last = dict(client.gather(client.map(work, range(8))))
print(sum(last.values()))
client.shutdown()
"""


@test(limit=150)
def the_workers_are_in_the_summary():
    dask = program("dask")
    at = f"tcp://127.0.0.1:{free_port()}"
    with directory() as place:
        (place / "job.py").write_text(JOB, encoding="utf-8")
        with daemon([dask, "scheduler", "--host", at, "--no-dashboard"], place, HOME=str(place)), \
                subprocess.Popen(["sh", "-c", text_of("ray-dask-spark.md", "dask")], cwd=place, text=True,
                                 env=our_env(place, SCHEDULER=at, HOME=str(place)), stderr=subprocess.PIPE) as workers:
            try:
                done = execute(["python", "job.py", at], place, timeout=100, HOME=str(place))
                equal(done.returncode, 0, done.stderr)
                errors = workers.communicate(timeout=30)[1]
            finally:
                workers.terminate()
        equal(workers.returncode, 0, errors)
        name, = place.glob("needs-*.json")
        summary = json.loads(name.read_text(encoding="utf-8"))
    expect(summary["cpu"]["total_secs"] >= float(done.stdout) > 3, summary["cpu"]["total_secs"], done.stdout)
    expect(summary["cpu"]["processes_peak"] >= 3, "a nanny and two workers", summary["cpu"]["processes_peak"])


if __name__ == "__main__":
    tap.main()
