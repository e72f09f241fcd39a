# SPDX-License-Identifier: Apache-2.0
"""What a program file says of itself, read with readelf, which knows the files of every machine."""

import collections
import re

from common import call

READ_SECS = 30

# Of a program header: bytes are those in memory.
Segment = collections.namedtuple("Segment", "kind offset address bytes flags align")


def readelf(path, *options):
    return call(["readelf", "-W", *options, path], secs=READ_SECS, what=f"readelf {path}", more_env={"LC_ALL": "C"})


def header(path):
    return dict(re.findall(r"^\s*([A-Za-z]+):\s+(.+?)\s*$", readelf(path, "-h"), re.M))


def dynamic(path):
    """Every entry of the dynamic section: (tag, words)."""
    return re.findall(r"^ 0x[0-9a-f]+ \((\w+)\)\s+(.*?)\s*$", readelf(path, "-d"), re.M)


def needed(path):
    return [re.sub(r".*\[(.*)\]", r"\1", words) for tag, words in dynamic(path) if tag == "NEEDED"]


def segments(path):
    """Every program header."""
    row = r"^  ([A-Z_]+)\s+(0x\w+) (0x\w+) 0x\w+ 0x\w+ (0x\w+) ([RWE ]{3}) (0|0x\w+)$"
    return [Segment(kind, int(offset, 16), int(address, 16), int(size, 16), flags.replace(" ", ""), int(align, 16))
            for kind, offset, address, size, flags, align in re.findall(row, readelf(path, "-l"), re.M)]


def sections(path):
    return re.findall(r"^  \[ *\d+\] (\S+)\s+[A-Z]", readelf(path, "-S"), re.M)


def versions(path):
    """Every GLIBC version that a symbol asks for, as numbers: [(2, 2, 5), (2, 17)]."""
    found = set(re.findall(r"Name: GLIBC_([0-9.]+)", readelf(path, "-V")))
    return sorted(tuple(int(part) for part in version.split(".")) for version in found)


def private_versions(path):
    return re.findall(r"Name: (GLIBC_[A-Z]\w*)", readelf(path, "-V"))
