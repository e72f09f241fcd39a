# SPDX-License-Identifier: Apache-2.0
"""Builds the small C programs of the bench."""

import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent


def build(name, place, *flags):
    """The program or library made from bench/NAME.c, or None where that cannot be done here."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    if not compiler:
        return None
    result = pathlib.Path(place) / f"{pathlib.Path(name).name}.built"
    words = [compiler, "-std=c17", "-D_GNU_SOURCE", "-Os", *flags, "-o", str(result), str(HERE / f"{name}.c")]
    done = subprocess.run(words, capture_output=True, timeout=60, check=False)
    return str(result) if done.returncode == 0 else None
