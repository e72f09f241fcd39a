# SPDX-License-Identifier: Apache-2.0
"""What the parts of the bench have in common: a tool under test, what a section is given, and what it hands back."""

import contextlib
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
from typing import Callable, Optional

OURS = ("TRACKER_", "SENTINEL_", "AWS_")


def never(*_):
    """A mode that a tool does not have."""
    return None


@dataclasses.dataclass(frozen=True)
class Tool:
    """A program that is compared. A function `argv_…` gives None where the tool cannot do what is asked.

    `output` is the path that samples go to, or None for nowhere. `read_samples(path)` gives dicts with the keys of
    readers.py; what a tool does not report is not there. `why_missing` is set where the tool is not at hand at all.
    """

    name: str  # ours, rust, python, python-psutil, psrecord, gnu-time, sh, bare
    version: str
    kind: str  # "tracker", or "wrapper" where it takes no samples
    argv_wrap: Callable = never  # (command: list, interval_secs: float, output) -> list or None
    argv_host: Callable = never  # (interval_secs, output) -> list or None; ends on SIGTERM
    argv_attach: Callable = never  # (pid, interval_secs, output) -> list or None; ends on SIGTERM
    read_samples: Callable = never  # (path) -> list of dicts
    env: Optional[dict] = None  # in addition to clean_env()
    why_missing: Optional[str] = None
    program: Optional[str] = None  # the file that is executed
    argv_nothing: Optional[list] = None  # starts and ends at once, like --version
    directory: Optional[str] = None  # what the installation takes on disk

    def environ(self):
        return clean_env() | (self.env or {})


@dataclasses.dataclass
class Section:
    """A part of the results: a table to read, and `values` (plain JSON) for programs."""

    id: str
    title: str
    columns: list
    rows: list = dataclasses.field(default_factory=list)
    notes: list = dataclasses.field(default_factory=list)
    values: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass
class Context:
    """What a section is given. `done` holds the sections measured before, by id."""

    program: str
    tools: list
    quick: bool
    place: pathlib.Path
    done: dict = dataclasses.field(default_factory=dict)
    long: bool = False

    def tool(self, name):
        """The tool of that name if it is at hand, else None."""
        return next((tool for tool in self.tools if tool.name == name and not tool.why_missing), None)

    def trackers(self):
        """The tools at hand that take samples, ours first."""
        return [tool for tool in self.tools if tool.kind == "tracker" and not tool.why_missing]

    def say(self, text):
        print(f"bench: {text}", file=sys.stderr, flush=True)

    @contextlib.contextmanager
    def directory(self, name):
        """A directory of one's own below `place`; the names differ in each call."""
        yield pathlib.Path(tempfile.mkdtemp(prefix=f"{name}-", dir=self.place))


def clean_env():
    """This environment without anything that one of the trackers takes as a setting."""
    return {name: value for name, value in os.environ.items() if not name.startswith(OURS)}


def as_json(section):
    return json.loads(json.dumps(dataclasses.asdict(section), default=str))
