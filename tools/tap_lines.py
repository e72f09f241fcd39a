# SPDX-License-Identifier: Apache-2.0
"""Reads the lines of TAP that every test program prints; nothing else in the project knows the format."""

import dataclasses
import re
from typing import Optional

RESULT = re.compile(r"(not )?ok\s+\d+\s*(?:-\s*)?(.*)")
PLAN = re.compile(r"1\.\.(\d+)\s*(.*)")
SKIP = re.compile(r"#\s*skip\S*\s*", re.I)
NO_REASON = "no reason given"


@dataclasses.dataclass
class Result:
    """One test; skip is why it was not run, None where it was."""
    is_ok: bool
    name: str
    skip: Optional[str]


@dataclasses.dataclass
class Plan:
    """How many tests there are; skip as above, for all of them."""
    count: int
    skip: Optional[str]


def parse(line):
    """A Result, a Plan, or None for any other line."""
    plan, result = PLAN.match(line), RESULT.match(line)
    if plan:
        return Plan(int(plan[1]), _skip(plan[2])[1])
    if result:
        name, skip = _skip(result[2])
        return Result(not result[1], name, skip)
    return None


def _skip(text):
    """What is before the directive, and the reason behind it."""
    found = SKIP.search(text)
    return (text[:found.start()].strip(), text[found.end():].strip() or NO_REASON) if found else (text.strip(), None)
