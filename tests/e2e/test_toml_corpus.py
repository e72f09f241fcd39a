#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the TOML decoder over the toml-test corpus (its list for TOML 1.0.0) and reports in TAP.

TOML_DECODER names the decoder, TOML_CORPUS the directory with files-toml-1.0.0, valid/ and invalid/. A valid file must
decode to the values of its .json; an invalid one must be refused with status 1 and a message "LINE:COLUMN: ...".
Where Python's own tomllib is at hand, its verdict on every file is compared with the corpus as well, as a check on
the corpus: a difference is shown as a diagnostic and fails nothing.
"""

import json
import math
import os
import pathlib
import re
import subprocess
import sys

try:
    import tomllib
except ImportError:
    tomllib = None

ROOT = pathlib.Path(__file__).resolve().parents[2]
DECODER = os.environ.get("TOML_DECODER", "")
CORPUS = pathlib.Path(os.environ.get("TOML_CORPUS") or ROOT.parent / "shared" / "testdata" / "toml-test")
LIST_NAME = "files-toml-1.0.0"
CASES = 709  # of that list
SECONDS_MAX = 20


def normal_datetime(text):
    """T and Z in upper case, a fraction without trailing zeros."""
    text = text.upper().replace(" ", "T")
    return re.sub(r"\.(\d*?)0*(?=$|[Z+-])", lambda match: "." + match[1] if match[1] else "", text)


def same_float(left, right):
    if math.isnan(left) or math.isnan(right):
        return math.isnan(left) and math.isnan(right)
    return left == right and math.copysign(1, left) == math.copysign(1, right)


def is_tagged(value):
    return isinstance(value, dict) and set(value) == {"type", "value"} and isinstance(value["type"], str)


def same(got, want):
    if is_tagged(want):
        if not is_tagged(got) or got["type"] != want["type"]:
            return False
        left, right = got["value"], want["value"]
        if want["type"] == "float":
            return same_float(float(left), float(right))
        if want["type"] == "integer":
            return int(left) == int(right)
        if want["type"] in ("datetime", "datetime-local", "date-local", "time-local"):
            return normal_datetime(left) == normal_datetime(right)
        return left == right
    if isinstance(want, dict):
        return isinstance(got, dict) and got.keys() == want.keys() and all(same(got[key], want[key]) for key in want)
    return (isinstance(got, list) and isinstance(want, list) and len(got) == len(want)
            and all(same(left, right) for left, right in zip(got, want)))


def check_valid(path, done):
    if done.returncode != 0:
        return f"refused: {done.stderr.decode('utf-8', 'replace').strip()}"
    want = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    return "" if same(json.loads(done.stdout), want) else f"decoded to {done.stdout.decode().strip()}"


def check_invalid(done):
    if done.returncode != 1:
        return f"exit status {done.returncode} instead of 1"
    message = done.stderr.decode("utf-8", "replace").removesuffix("\n")
    if not re.match(r"[1-9]\d*:[1-9]\d*: \S", message):
        return f"message without a place: {message!r}"
    if not message.isprintable():
        return f"message with control characters: {message!r}"
    return ""


def check(name):
    path = CORPUS / name
    try:
        done = subprocess.run([DECODER], input=path.read_bytes(), capture_output=True, timeout=SECONDS_MAX, check=False)
    except subprocess.TimeoutExpired:
        return "timed out"
    return check_valid(path, done) if name.startswith("valid/") else check_invalid(done)


def tomllib_agrees(name):
    try:
        tomllib.loads((CORPUS / name).read_bytes().decode("utf-8"))
        accepted = True
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        accepted = False
    return accepted == name.startswith("valid/")


def main():
    if not (CORPUS / LIST_NAME).is_file():
        print(f"1..0 # SKIP the {CASES} cases of toml-test: no corpus in {CORPUS} (TOML_CORPUS names it)")
        return 0
    if not DECODER:
        print("Bail out! TOML_DECODER is not set")
        return 1
    lines = (CORPUS / LIST_NAME).read_text(encoding="utf-8").split()
    names = [line for line in lines if line.endswith(".toml")]
    print(f"1..{len(names)}")
    if len(names) != CASES:
        print(f"# CASES is {CASES}, the list has {len(names)}")
    failed = 0
    for number, name in enumerate(names, 1):
        problem = check(name)
        failed += bool(problem)
        print(f"{'not ok' if problem else 'ok'} {number} - {name}")
        if problem:
            print(f"# {problem}")
    if tomllib:
        differing = [name for name in names if not tomllib_agrees(name)]
        print(f"# tomllib agrees with the corpus on {len(names) - len(differing)} of {len(names)} files")
        for name in differing:
            print(f"# tomllib differs on {name}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
