#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Open MPI: every rank with a tracker of its own, whose CPU time is the kernel's."""

import json
import os
import shutil

from recipe import check_cpu, check_parts, directory, expect, follow_in, program, solver
import tap
from tap import equal, test

RANKS = 4


@test(limit=60)
def every_rank_has_a_summary_with_its_own_cpu_time():
    program("mpirun")
    with directory() as place:
        solver(place, "OMPI_COMM_WORLD_RANK")
        env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        done = follow_in(place, "mpi.md", "mpirun", **env)
        equal([done.returncode, done.stdout, done.stderr], [0, "", ""], "the recipe")
        names = sorted(path.name for path in place.glob("needs-*.json"))
        equal(names, [f"needs-{rank}.json" for rank in range(RANKS)], "files")
        for rank in range(RANKS):
            check_cpu(json.loads((place / names[rank]).read_text(encoding="utf-8")), place / f"truth-{rank}")
        if shutil.which("jq"):
            rows = follow_in(place, "mpi.md", "ranks").stdout.split("\n")[:-1]
            cpu = [float(row.split("\t")[1]) for row in rows]
            expect(len(cpu) == RANKS and cpu == sorted(cpu), "rows by CPU time", rows)


@test(limit=180)
def many_ranks_are_one_run():
    program("mpirun")
    with directory() as place:
        solver(place, "OMPI_COMM_WORLD_RANK")
        env = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_rmaps_base_oversubscribe": "1"}
        done = follow_in(place, "mpi.md", "parts", timeout=150, **env)
        equal([done.returncode, done.stdout], [0, ""], done.stderr)
        check_parts(place, 64)
        expect("64 parts on 1 node" in done.stderr and "--ntasks=64" in done.stderr, done.stderr)


if __name__ == "__main__":
    tap.main()
