# SPDX-License-Identifier: Apache-2.0
"""A small release to test packages and the installer with: a stage made of the program under test, and what
tools/package makes of it. The program of the other architecture is the same file under another name in its header."""

import atexit
import functools
import json
import os
import pathlib
import platform
import shutil
import struct
import subprocess
import tempfile

from tap import Skip, equal
from tracker import BINARY, ROOT

TOOL = ROOT / "tools" / "package"
TARGETS = ("x86_64-linux-gnu", "aarch64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-musl")
MACHINES = {"x86_64": 62, "aarch64": 183}
HOST = platform.machine()
EPOCH = "1700000000"
VERSION = subprocess.run([TOOL, "version"], capture_output=True, text=True, check=True, timeout=20).stdout.strip()
LIBRARIES = [{"name": "mbedtls", "version": "3.6.7", "license": "Apache-2.0", "sha256": "a" * 64},
             {"name": "zlib", "version": "1.3.1", "license": "Zlib", "sha256": "b" * 64}]
MUSL = {"name": "musl", "version": "1.2.5", "license": "MIT", "sha256": None}


def facts(target, more):
    libraries = [*LIBRARIES, MUSL] if target.endswith("musl") else LIBRARIES
    return {"target": target, "version": VERSION, "compiler": "gcc 12.2.0", "libc": "glibc 2.17", "gpu": True,
            "libraries": libraries, **more}


def write_build(stage, target, content, /, **more):
    """One build of a stage; more changes what its build.json says."""
    directory = pathlib.Path(stage) / target
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "resource-tracker").write_bytes(content)
    (directory / "build.json").write_text(json.dumps(facts(target, more)), encoding="utf-8")


@functools.cache
def program(arch):
    """The program under test, stripped, with the mark of the architecture."""
    with tempfile.TemporaryDirectory(prefix="rt-e2e-") as work:
        stripped = pathlib.Path(work) / "stripped"
        if not shutil.which("strip"):
            raise Skip("no strip here")
        if subprocess.run(["strip", "-o", stripped, BINARY], check=False, timeout=60).returncode != 0:
            raise Skip("strip does not know this program")
        content = bytearray(stripped.read_bytes())
    if struct.unpack_from("<H", content, 18)[0] != MACHINES.get(HOST):
        raise Skip(f"the program is not one for {HOST}")
    struct.pack_into("<H", content, 18, MACHINES[arch])
    return bytes(content)


def package(*words, check=True, umask=-1, cwd=None, **env):
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PACKAGE_")}
    done = subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=150, umask=umask, cwd=cwd,
                          env={**kept, "SOURCE_DATE_EPOCH": EPOCH, **env}, check=False)
    if check:
        equal((done.returncode, done.stderr), (0, ""), f"package {words}: {done.stdout}")
    return done


@functools.cache
def made():
    """The directories of the stage and of the artefacts, made once, removed at the end."""
    if HOST not in MACHINES:
        raise Skip(f"there are no builds for {HOST}")
    work = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-"))
    atexit.register(shutil.rmtree, work, True)
    for target in TARGETS:
        write_build(work / "stage", target, program(target.split("-")[0]))
    package("--stage", work / "stage", "--out", work / "out")
    return work / "stage", work / "out"
