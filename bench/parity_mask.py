#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Masking of command lines: ours and the rules of the Rust tracker (0.1.18) over the same two collections.

Usage: bench/parity_mask.py PROGRAM [--docs FILE]. Ours is the program itself: the command lines are replayed as
recordings. The Rust tracker masks only what it sends to Sentinel, so its rules are written down here, from its source.
Exit status 1 where ours leaves a secret, or masks more than one command line without any.
"""

import argparse
import collections
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
DATA = HERE.parent / "tests" / "data" / "mask"
PIECE, LONG = 8, 12  # of a long secret no eight characters may be left
FALSE_MASKS_MAX = 1
BEGIN, END = "<!-- masking: begin -->", "<!-- masking: end -->"

OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
RUST_RULES = (
    (r"(?i)Bearer\s+[A-Za-z0-9\-._~+/]+=*", "[BEARER]"),
    (r"\b(?:4\d{3}|5[1-5]\d{2}|6011|3[47]\d{2})[- ]?\d{4}[- ]?\d{4}[- ]?\d{4}\b", "[CC]"),
    (r"\b\d{3}-\d{2}-\d{4}\b", "[SSN]"),
    (r"[a-zA-Z0-9._%+\-]+@[a-zA-Z0-9.\-]+\.[a-zA-Z]{2,}", "[EMAIL]"),
    (rf"\b{OCTET}(?:\.{OCTET}){{3}}\b", "[IP]"),
    (r"(?:\+1[\s.\-]?)?(?:\(\d{3}\)|\d{3})[\s.\-]?\d{3}[\s.\-]?\d{4}", "[PHONE]"),
)
ENTROPY_BYTES, ENTROPY_BITS = 16, 4.5

# What is left of the secrets depends on where they stand, so the table is by that.
NESTING = {"-c", "-lc", "-e", "ssh", "-r", "-Command"}
POSITIONS = (
    ("in the string of sh -c, ssh, python -c and the like",
     lambda case: NESTING & set(case["argv"]) and stands(case, r"\s")),
    ("in a URL", lambda case: stands(case, r"://")),
    ("in a header", lambda case: stands(case, r"^(-H|--header=)?['\"]?[A-Za-z-]+: ?\S")),
    ("in a key in PEM", lambda case: case["kind"].startswith("pem")),
    ("in JSON, a list of pairs or a connection string", lambda case: stands(case, r"[{,;&]")),
    ("behind NAME= or --name=", lambda case: stands(case, r"[^=]=[^=]")),
    ("a word of its own", lambda case: True),
)


def stands(case, pattern):
    """Is there an argument with a secret that matches?"""
    return any(re.search(pattern, word) for word in case["argv"] if any(secret in word for secret in case["secrets"]))


def load(name):
    with open(DATA / f"{name}.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def entropy(text):
    data = text.encode("utf-8", "surrogateescape")
    counts = collections.Counter(data)
    return -sum(n / len(data) * math.log2(n / len(data)) for n in counts.values())


def rust_word(match):
    word = match.group(0)
    return "[SECRET]" if len(word.encode()) >= ENTROPY_BYTES and entropy(word) >= ENTROPY_BITS else word


def mask_as_rust(argument):
    """One argument; the Rust tracker does not look at its neighbours."""
    if argument.startswith("-----BEGIN"):
        return "[KEY]"
    is_page = argument.startswith(("http://", "https://")) and ("." not in argument or re.search(r"[?&=]", argument))
    if argument.startswith("ftp://") or is_page:
        return re.sub(r"^\S+", "[URL]", argument, count=1)
    for pattern, placeholder in RUST_RULES:
        argument = re.sub(pattern, placeholder, argument)
    return re.sub(r"\S+", rust_word, argument)


def mask_as_ours(program, cases):
    """By replaying one recording per command line, all in one file."""
    with tempfile.TemporaryDirectory() as directory:
        recording, replayed = pathlib.Path(directory) / "in.jsonl", pathlib.Path(directory) / "out.jsonl"
        with open(recording, "w", encoding="utf-8") as out:
            for i, case in enumerate(cases):
                sample = {"timestamp_secs": 1700000000 + i, "timestamp_ms": (1700000000 + i) * 1000, "elapsed_secs": 1,
                          "run": {"interval_secs": 1, "command": case["argv"]}}
                out.write(json.dumps(sample) + "\n")
        subprocess.run([program, "-c", "/dev/null", "--from", str(recording), "-o", str(replayed), "-f", "json"],
                       check=True, timeout=120, stderr=subprocess.DEVNULL)
        with open(replayed, encoding="utf-8") as lines:
            masked = [json.loads(line)["run"]["command"] for line in lines]
    if len(masked) != len(cases):
        raise SystemExit(f"parity: {len(masked)} of {len(cases)} command lines came back")
    return masked


def leaks(case, masked):
    """Is a secret, or a piece of a long one, still there? The marks around a PEM block are none."""
    text = "\0".join(masked)
    for secret in case["secrets"]:
        pieces = [secret[i:i + PIECE] for i in range(len(secret) - PIECE + 1)] if len(secret) >= LONG else []
        if "-----" in secret:
            pieces = [piece for piece in pieces if "-" not in piece]
        if secret in text or any(piece in text for piece in pieces):
            return True
    return False


def position_of(case):
    return next(name for name, holds in POSITIONS if holds(case))


def compare(program):
    """Rows of the table, and whether ours is good."""
    secrets, innocent = load("secrets"), load("innocent")
    ours = mask_as_ours(program, secrets)
    rust = [[mask_as_rust(word) for word in case["argv"]] for case in secrets]
    groups = {name: [0, 0, 0] for name, _ in POSITIONS}
    for case, by_ours, by_rust in zip(secrets, ours, rust):
        group = groups[position_of(case)]
        group[0] += 1
        group[1] += leaks(case, by_ours)
        group[2] += leaks(case, by_rust)
    rows = [(f"secrets: {name}", count, f"{a} leak", f"{b} leak") for name, (count, a, b) in groups.items() if count]
    total = [sum(group[i] for group in groups.values()) for i in range(3)]
    rows.append(("**secrets, all**", total[0], f"**{total[1]} leak**", f"**{total[2]} leak**"))
    false_ours = sum(masked != case["argv"] for case, masked in zip(innocent, mask_as_ours(program, innocent)))
    false_rust = sum([mask_as_rust(word) for word in case["argv"]] != case["argv"] for case in innocent)
    rows.append(("**no secret in it**", len(innocent), f"**{false_ours} masked**", f"**{false_rust} masked**"))
    return rows, total[1] == 0 and false_ours <= FALSE_MASKS_MAX


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--docs", metavar="FILE", help="renew the table in this file")
    args = parser.parse_args()
    rows, is_good = compare(args.program)
    lines = ["| command lines | how many | ours (`auto`) | the Rust tracker's rules |", "|---|---|---|---|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    print("\n".join(lines))
    if args.docs:
        path = pathlib.Path(args.docs)
        before, _, rest = path.read_text(encoding="utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        path.write_text(before + BEGIN + "\n" + "\n".join(lines) + "\n" + END + after, encoding="utf-8")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
