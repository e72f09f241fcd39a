# SPDX-License-Identifier: Apache-2.0
"""The gates of release programs. Each is a function that raises Failure; all are tried, and every failure is shown."""

import json
import os
import pathlib
import pwd

from common import ROOT, Failure, parts_of, say
from elf import dynamic, header, needed, private_versions, sections, segments, versions
from trials import TRIALS

SIZE_MAX = {"gnu": 800 * 1024, "musl": 1024 * 1024}
GLIBC_MAX = (2, 17)
NEEDED_ALLOWED = {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"}
MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
# Kernels for arm64 have pages of 4, 16 or 64 KiB.
PAGE_BYTES = {"x86_64": 4096, "aarch64": 65536}


def require(condition, words):
    if not condition:
        raise Failure(words)


def gate_machine(path, target):
    machine = header(path).get("Machine")
    require(machine == MACHINES[parts_of(target)[0]], f"made for {machine}")


def gate_size(path, target):
    size, limit = path.stat().st_size, SIZE_MAX[parts_of(target)[1]]
    require(size <= limit, f"{size} bytes, at most {limit}")
    return f"{size} bytes of {limit}"


def gate_stripped(path, _target):
    kept = [name for name in sections(path) if name in (".symtab", ".strtab") or name.startswith(".debug")]
    require(not kept, f"not stripped: {kept}")


def gate_libraries(path, target):
    found = needed(path)
    allowed = NEEDED_ALLOWED if parts_of(target)[1] == "gnu" else set()
    require(set(found) <= allowed, f"needs {sorted(set(found) - allowed)}")
    if parts_of(target)[1] == "gnu":
        require("libc.so.6" in found, "does not need libc.so.6: is it static?")
    else:
        require(all(item.kind != "INTERP" for item in segments(path)), "asks for a loader")
    return ", ".join(found) or "none"


def gate_versions(path, target):
    if parts_of(target)[1] != "gnu":
        return None
    found = versions(path)
    require(found, "asks for no version of glibc")
    require(found[-1] <= GLIBC_MAX, f"asks for GLIBC_{'.'.join(map(str, found[-1]))}")
    require(not private_versions(path), f"asks for {private_versions(path)}")
    return f"GLIBC_{'.'.join(map(str, found[-1]))}"


def gate_hardening(path, target):
    entries = dict(dynamic(path))
    kinds = {item.kind: item.flags for item in segments(path)}
    require(header(path)["Type"].startswith("DYN") and "PIE" in entries.get("FLAGS_1", ""), "no PIE")
    require("GNU_RELRO" in kinds, "no RELRO")
    require(parts_of(target)[1] == "musl" or "NOW" in entries.get("FLAGS_1", ""), "symbols are bound late")
    require("E" not in kinds.get("GNU_STACK", "E"), "the stack is executable")
    require(not {"RPATH", "RUNPATH", "TEXTREL"} & set(entries), f"has {sorted(entries)}")
    require(all(not {"W", "E"} <= set(item.flags) for item in segments(path)), "writable code")


def gate_pages(path, target):
    """Loads on the largest pages of its machine, and what is read-only after the start ends with such a page."""
    page = PAGE_BYTES[parts_of(target)[0]]
    found = segments(path)
    require(all(item.align % page == 0 and (item.address - item.offset) % page == 0 for item in found
                if item.kind == "LOAD"), f"segments are not made for pages of {page} bytes")
    require(all((item.address + item.bytes) % page == 0 for item in found if item.kind == "GNU_RELRO"),
            f"RELRO does not end with a page of {page} bytes")


def gate_paths(path, _target):
    """Nothing of the machine that it was made on."""
    content = path.read_bytes()
    user = pwd.getpwuid(os.getuid())
    unwanted = {f"{ROOT}/", str(pathlib.Path.home()) + "/", user.pw_dir.rstrip("/") + "/", "build-dist", "build-tools",
                "subprojects/", "/tmp/", f"/home/{user.pw_name}/", f"{user.pw_name}@"}
    found = sorted(word for word in unwanted if len(word) > 2 and word.encode() in content)
    require(not found, f"holds {found}")


def gate_description(path, target):
    reported = json.loads((path.parent / "build.json").read_text(encoding="utf-8"))
    require(reported["target"] == target and reported["version"] and reported["libraries"], f"build.json: {reported}")


STATIC_GATES = (gate_machine, gate_size, gate_stripped, gate_libraries, gate_versions, gate_hardening, gate_pages,
                gate_paths, gate_description)


def try_gate(target, gate, path):
    """True: passed."""
    name = gate.__name__.removeprefix("gate_").removeprefix("trial_").replace("_", " ")
    try:
        words = gate(path, target)
    except Failure as failure:
        say(f"{target}: {name}: FAILED: {failure}")
        return False
    if words is not None:
        say(f"{target}: {name}: {words}")
    return True


def check(targets):
    """Returns the exit status."""
    failures = 0
    for target in targets:
        path = ROOT / "dist/stage" / target / "resource-tracker"
        if not path.is_file():
            raise Failure(f"{path.relative_to(ROOT)} is missing: tools/dist build {target} makes it")
        gates = (*STATIC_GATES, *TRIALS)
        passed = sum(try_gate(target, gate, path) for gate in gates)
        failures += len(gates) - passed
        say(f"{target}: {passed} of {len(gates)} gates passed")
    return 1 if failures else 0
