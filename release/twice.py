# SPDX-License-Identifier: Apache-2.0
"""Proves that releases can be made again: builds in two directories of other names must give the same bytes."""

import hashlib
import pathlib
import shutil
import tempfile

from builds import build, epoch
from common import ROOT, call, say

DIRECTORIES = ("a", "another/directory/with-a-longer-name")
LEFT_OUT = (".git", "dist")


def copy_sources(directory):
    """What git knows of, changed or not, and the libraries that are built with us."""
    listed = call(["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"], secs=60,
                  what="git ls-files")
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.is_file() and name.split("/")[0] not in LEFT_OUT:
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, directory / name)
    for library in ROOT.glob("subprojects/*-[0-9]*"):
        if library.is_dir():
            shutil.copytree(library, directory / "subprojects" / library.name, symlinks=True)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "missing"


def twice(targets, jobs):
    """Returns the exit status."""
    source_date = epoch(ROOT)
    found = {target: {"staged": digest(ROOT / "dist/stage" / target / "resource-tracker")} for target in targets}
    with tempfile.TemporaryDirectory(prefix="resource-tracker-dist-") as work:
        directories = [pathlib.Path(work) / name for name in DIRECTORIES]
        directories[0].mkdir()
        copy_sources(directories[0])
        shutil.copytree(directories[0], directories[1], symlinks=True)
        for target in targets:
            for directory in directories:
                program = build(target, jobs, directory, directory / "dist/stage", source_date)
                found[target][directory.name] = digest(program)
                shutil.rmtree(directory / "build-dist")
    failures = 0
    for target, digests in found.items():
        if digests["staged"] == "missing":
            del digests["staged"]
        is_same = len(set(digests.values())) == 1
        failures += not is_same
        say(f"{target}: {'the same bytes' if is_same else 'FAILED: the bytes differ'}: {', '.join(digests.values())}")
    return 1 if failures else 0
