#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Slurm on one node: steps of several tasks, batch scripts and arrays, as the guide has them."""

import contextlib
import json
import os
import shutil
import socket
import sys

from recipe import (check_cpu, check_parts, daemon, directory, execute, follow_in, free_port, program, script, solver,
                    text_of)
import tap
from tap import Skip, equal, expect, test

TASKS, PARTS = 4, 64
# More CPUs and memory than the machine may have, so that the recipes fit: nothing here holds a job to them.
CONFIG = """ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthInfo=socket={place}/munge
SlurmUser=root
StateSaveLocation={place}/state
SlurmdSpoolDir={place}/spool
SlurmctldPidFile={place}/controller.pid
SlurmdPidFile={place}/node.pid
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
DefMemPerCPU=64
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 RealMemory=16384
PartitionName=main Nodes=ALL Default=YES
"""


def server(name):
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin")
    if not found:
        raise Skip(f"no {name}")
    if os.geteuid() != 0:
        raise Skip("only root may start Slurm")
    return found


@contextlib.contextmanager
def cluster():
    """A directory with a cluster of one node, and the environment of its commands."""
    program("sbatch")
    munged, controller, node = (server(name) for name in ("munged", "slurmctld", "slurmd"))
    with directory() as place, contextlib.ExitStack() as servers:
        for name in ("state", "spool"):
            (place / name).mkdir()
        env = {"SLURM_CONF": str(place / "slurm.conf")}
        (place / "slurm.conf").write_text(CONFIG.format(host=socket.gethostname().split(".")[0], place=place,
                                                        controller=free_port(), node=free_port()), encoding="utf-8")
        key = place / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))
        files = [f"--{name}-file={place}/munge.{name}" for name in ("key", "pid", "log", "seed")]
        words = [munged, "--foreground", "--force", "--num-threads=1", f"--socket={place}/munge", *files]
        servers.enter_context(daemon(words, place))((place / "munge").exists)
        servers.enter_context(daemon([controller, "-D"], place, **env))
        wait = servers.enter_context(daemon([node, "-D"], place, **env))
        wait(lambda: "idle" in execute(["sinfo", "-h", "-o", "%T"], place, **env).stdout)
        servers.callback(execute, ["scancel", "-u", "root"], place, **env)
        yield place, env


def submit(place, name, env, *options):
    """Submits a script of the guide and waits for the job; what its log says, by the number in the array."""
    (place / "job.sh").write_text(text_of("slurm.md", name), encoding="utf-8")
    done = execute(["sbatch", "--wait", "--parsable", *options, "job.sh"], place, timeout=60, **env)
    equal([done.returncode, done.stderr], [0, ""], name)
    return done.stdout.strip()


def check_step(place, env):
    solver(place, "SLURM_PROCID")
    done = follow_in(place, "slurm.md", "srun", timeout=60, SLURM_NTASKS=str(TASKS), **env)
    equal([done.returncode, done.stdout, done.stderr], [0, "", ""], "srun")
    for task in range(TASKS):
        summary = json.loads((place / f"needs-{task}.json").read_text(encoding="utf-8"))
        check_cpu(summary, place / f"truth-{task}")
        equal([summary["job_name"], summary["metadata"]["executor"], summary["metadata"]["rank"]],
              ["resource-tracker", "slurm", str(task)], "name, executor and rank")


def check_parts_of_step(place, env):
    for truth in place.glob("truth-*"):
        truth.unlink()
    done = follow_in(place, "slurm.md", "srun-parts", timeout=150, SLURM_NTASKS=str(PARTS), SLURM_OVERCOMMIT="1", **env)
    equal([done.returncode, done.stdout, done.stderr], [0, "", ""], "srun and its parts")
    check_parts(place, PARTS)


def check_batch(place, env):
    script(place / "python", f"#!/bin/sh\nexec {sys.executable} \"$@\"\n")
    (place / "train.py").write_text("import time\ntime.sleep(.3)\n", encoding="utf-8")
    job = submit(place, "batch", env)
    log = (place / f"train-{job}.log").read_text(encoding="utf-8")
    expect("finished" in log and "train" in log, log)
    expect((place / f"train-{job}.jsonl").stat().st_size > 0, "no samples")


def check_array(place, env):
    script(place / "simulate", "#!/bin/sh\nsleep 0.$1\n")
    job = submit(place, "array", env)
    for task in range(1, 6):
        lines = (place / f"simulate-{task}.jsonl").read_text(encoding="utf-8").splitlines()
        samples = [json.loads(line) for line in lines]
        metadata = next(sample["run"]["metadata"] for sample in samples if "run" in sample)
        equal([{sample["job_name"] for sample in samples}, metadata],
              [{"simulate"}, {"executor": "slurm", "external_run_id": f"{job}_{task}", "task_name": str(task)}],
              "job name and metadata")
    done = follow_in(place, "slurm.md", "array-summary")
    expect(done.returncode == 0 and "5 runs" in done.stdout + done.stderr, done.stdout, done.stderr)


@test(limit=280)
def steps_batch_scripts_and_arrays():
    with cluster() as (place, env):
        check_step(place, env)
        check_parts_of_step(place, env)
        check_batch(place, env)
        check_array(place, env)


if __name__ == "__main__":
    tap.main()
