#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The shell of Nextflow's tasks, without Nextflow: what it makes of the list is done here by hand."""

import ast
import json
import re

from recipe import BINARY, directory, execute, script, text_of
import tap
from tap import equal, expect, test

PLACE = "/usr/local/bin/resource-tracker"


def shell():
    """The list of the recipe, with our program in its place."""
    text = text_of("metaflow-airflow.md", "nextflow")
    words = ast.literal_eval(re.fullmatch(r"process\.shell = (\[.*\])\n", text)[1])
    equal(words[0], PLACE, "the program")
    expect(not any(re.search(r"[\s'\"\\$]", word) for word in words), "not one word each:", words)
    return [BINARY, *words[1:]]


def run_task(body):
    """As .command.run does it: the list is the first line of .command.sh, and that line starts it; by bash, which is
    looked for in the list where a task has outputs of its environment."""
    words = shell()
    with directory() as place:
        script(place / ".command.sh", f"#!{' '.join(words)}\n{body}\n")
        line = (place / ".command.sh").read_text(encoding="utf-8").splitlines()[0].removeprefix("#!")
        script(place / ".command.run", f"#!/bin/bash\nset -e\nset -u\n{line} {place}/.command.sh\n")
        done = execute(["bash", ".command.run"], place)
        summary = json.loads((place / ".needs.json").read_text(encoding="utf-8"))
    return done, summary


@test
def a_task_runs_and_leaves_its_summary():
    done, summary = run_task("echo out; echo err >&2; [ -n \"$BASH_VERSION\" ]")
    equal([done.returncode, done.stdout, done.stderr], [0, "out\n", "err\n"], "the task")
    equal([summary["result"]["exit_code"], summary["command"][:2]], [0, ["/bin/bash", "-ue"]], "summary")


@test
def a_task_fails_as_before():
    for body, status in (("false; true", 1), ("echo $not_set", 1), ("exit 7", 7)):
        done, summary = run_task(body)
        equal([done.returncode, summary["result"]["exit_code"]], [status, status], body)


if __name__ == "__main__":
    tap.main()
