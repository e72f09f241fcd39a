# SPDX-License-Identifier: Apache-2.0
"""Tests of a program that qemu-user runs (tools/arm64-tests, docs/decisions/0019): what it cannot do is skipped.

tests/meson.build sets, for such a build only: EMULATOR, the words that start a program under the emulator;
EMULATED_PROGRAM, the tracker that they start; EMULATOR_LIMITS, the path of the list of what is skipped, and why.
"""

import json
import os
import pathlib
import subprocess
import sys

# $0: the emulator; then the command.
BINARY_FORMAT = r"""
set -e
mount -t binfmt_misc none /mnt
magic='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
printf '%s' ":arm64-tests:M::$magic:$mask:$0:F" >/mnt/register
exec "$@"
"""
NAMESPACE_SECS = 30


def prepare(names):
    """Before the tests of this file are run: the reasons to skip some of them, by name. Does not return where all of
    them are skipped, or where they have to be run in a namespace whose kernel starts the emulator by itself."""
    if "EMULATOR" not in os.environ:
        return {}
    suite = "e2e " + pathlib.Path(sys.argv[0]).stem.removeprefix("test_")
    limits = json.loads(pathlib.Path(os.environ["EMULATOR_LIMITS"]).read_text(encoding="utf-8"))
    reasons = {name: row["reason"] for row in limits["cannot"] for name in row["tests"].get(suite, [])}
    if "*" in reasons:
        _skip_all(reasons["*"])
    unknown = set(reasons) - set(names)
    if unknown:
        print(f"Bail out! {os.environ['EMULATOR_LIMITS']} names tests that are not there: {', '.join(sorted(unknown))}")
        sys.exit(1)
    if suite in limits["executes_itself"]:
        _enter_namespace()
    return reasons


def _skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def _enter_namespace():
    """Runs this file again in a user namespace with a binary format of its own (Linux 6.7), unless the kernel executes
    programs for arm64 anyway."""
    emulator, *options = os.environ["EMULATOR"].split()
    os.environ["QEMU_CPU"] = options[options.index("-cpu") + 1]
    program = [os.environ["EMULATED_PROGRAM"], "--version"]
    if _can_run(program):
        return
    words = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", BINARY_FORMAT, emulator]
    if not _can_run([*words, *program]):
        _skip_all("no binary format can be had in a user namespace here")
    os.execvp(words[0], [*words, sys.executable, *sys.argv])


def _can_run(words):
    try:
        return subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=NAMESPACE_SECS, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
