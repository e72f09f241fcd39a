# SPDX-License-Identifier: Apache-2.0
"""Makes the release programs: one Meson cross build per target, staged with a description of what is in it.

x86_64 is built by gcc, arm64 by clang and lld: docs/decisions/0016-release-builds.md says why. The same sources and
pins give the same bytes, wherever they lie.
"""

import json
import os
import pathlib
import re
import shutil

from common import PINS, ROOT, Failure, call, parts_of, say
from toolchains import clang_directory, clang_words, gcc_words, glibc_directory, musl_directory, zig

SETUP_SECS = 300
BUILD_SECS = 900

# What makes the arm64 program small enough. Nothing needs frame pointers: there are no unwind tables either.
CLANG_COMPILE = ["-fomit-frame-pointer"]
CLANG_LINK = ["-Wl,-O2", "-Wl,--icf=safe", "-Wl,-mllvm,-inline-threshold=0", "-Wl,-mllvm,-machine-outliner-reruns=2"]
# Kernels with pages of 64 KiB must be able to protect what is only read after the start.
CLANG_LINK += ["-static-libgcc", "-Wl,-z,max-page-size=65536", "-Wl,-z,common-page-size=65536"]

MACHINE = """
[host_machine]
system = 'linux'
cpu_family = '{machine}'
cpu = '{machine}'
endian = 'little'

[properties]
needs_exe_wrapper = true
"""


def libc_words(target):
    """Headers, start files and library of the C library of the target, and of no other."""
    machine, libc = parts_of(target)
    directory = glibc_directory(machine) if libc == "gnu" else musl_directory(machine)
    if libc == "musl":
        return ["-isystem", directory / "include", f"-B{directory}/lib/", f"-L{directory}/lib"]
    return ["-isystem", directory / "usr/include", f"--sysroot={directory}", f"-B{directory}/usr/lib/",
            f"-L{directory}/usr/lib", f"-L{directory}/lib"]


def compiler_words(target):
    machine, libc = parts_of(target)
    if machine == "x86_64":
        return [*gcc_words(), *libc_words(target)]
    runtime = glibc_directory(machine) / "gcc"
    return [*clang_words(machine, libc), f"-B{runtime}", f"-L{runtime}", *libc_words(target),
            f"--ld-path={clang_directory()}/ld.lld", "--end-no-unused-arguments"]


def cross_file(target, root):
    """Everything that Meson should know of the target; what the compiler is given does not depend on this directory."""
    machine, libc = parts_of(target)
    is_clang = machine != "x86_64"
    archiver = [zig(), "ar"] if is_clang else [PINS["gcc"]["program"].replace("gcc", "gcc-ar")]
    compile_args = [f"-ffile-prefix-map={root}/=", *(CLANG_COMPILE if is_clang else [])]
    link_args = ["-Wl,-s", *(CLANG_LINK if is_clang else []), *(["-static-pie"] if libc == "musl" else [])]

    def quoted(words):
        return "[" + ", ".join(f"'{word}'" for word in words) + "]"

    return (f"[binaries]\nc = {quoted(compiler_words(target))}\nar = {quoted(archiver)}\n\n[built-in options]\n"
            f"c_args = {quoted(compile_args)}\nc_link_args = {quoted(link_args)}\n{MACHINE.format(machine=machine)}")


def wrap_of(name, root):
    pairs = (line.split(" = ", 1) for line in (root / f"subprojects/{name}.wrap").read_text().splitlines())
    return {pair[0]: pair[1] for pair in pairs if len(pair) == 2}


def check_libraries(root):
    """A release has the libraries that the wraps name, never those of the machine that it is made on."""
    for name in ("mbedtls", "zlib"):
        directory = root / "subprojects" / wrap_of(name, root)["directory"]
        if not directory.is_dir():
            raise Failure(f"{directory.relative_to(root)} is missing: tools/setup build fetches it")


def libraries(target, root):
    licenses = {"mbedtls": "Apache-2.0", "zlib": "Zlib"}
    found = []
    for name, license_name in licenses.items():
        wrap = wrap_of(name, root)
        found.append({"name": name, "version": wrap["directory"].removeprefix(f"{name}-"), "license": license_name,
                      "sha256": wrap["source_hash"]})
    if parts_of(target)[1] == "musl":
        found.append({"name": "musl", **{key: PINS["musl"][key] for key in ("version", "license", "sha256")}})
    return found


def epoch(root):
    """When the sources are from: what the caller says, else the last commit."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if given:
        return given
    return call(["git", "-C", root, "log", "-1", "--format=%ct"], secs=20, what="the time of the last commit").strip()


def describe(target, directory, root, source_date):
    """What the packager gets to know."""
    machine, libc = parts_of(target)
    project = json.loads((directory / "meson-info/intro-projectinfo.json").read_text(encoding="utf-8"))
    compiler = "gcc" if machine == "x86_64" else "clang"
    return {
        "target": target,
        "version": project["version"],
        "compiler": f"{compiler} {PINS[compiler]['version']} ({PINS[compiler]['package']})",
        "libc": f"glibc {PINS[f'glibc-2.17-{machine}']['version']} or newer" if libc == "gnu"
                else f"musl {PINS['musl']['version']}, static",
        "gpu": "with NVML" if libc == "gnu" else "without NVML",
        "source_date_epoch": int(source_date),
        "libraries": libraries(target, root),
    }


def build(target, jobs, root=ROOT, stage=None, source_date=None):
    """Builds a target from the sources in root, and returns the path of the staged program."""
    check_libraries(root)
    source_date = source_date or epoch(root)
    stage = stage or root / "dist/stage"
    directory = root / "build-dist" / target
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    cross = directory.with_suffix(".ini")
    cross.write_text(cross_file(target, root), encoding="utf-8")
    env = {"SOURCE_DATE_EPOCH": source_date, "LC_ALL": "C", "CFLAGS": "", "LDFLAGS": "", "CPPFLAGS": ""}
    say(f"{target}: build")
    options = []
    if parts_of(target)[1] == "musl":
        options = ["-Dgpu=disabled", f"-Dnotices=musl={musl_directory(parts_of(target)[0])}/COPYRIGHT"]
    printed = call(["meson", "setup", directory, "--cross-file", cross, "--wrap-mode=nodownload", "-Db_lto=true",
                    "-Ddebug=false", *options], cwd=root, secs=SETUP_SECS, what=f"{target}: meson", more_env=env)
    if not re.search(r"TLS comes from mbedTLS, our own build", printed):
        raise Failure(f"{target}: mbedTLS would not be our own build\n{printed[-800:]}")
    call(["ninja", "-C", directory, f"-j{jobs}", "resource-tracker"], cwd=root, secs=BUILD_SECS,
         what=f"{target}: ninja", more_env=env)
    staged = pathlib.Path(stage) / target
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir(parents=True)
    shutil.copy(directory / "resource-tracker", staged / "resource-tracker")
    (staged / "resource-tracker").chmod(0o755)
    text = json.dumps(describe(target, directory, root, source_date), indent=2)
    (staged / "build.json").write_text(text + "\n", encoding="utf-8")
    say(f"{target}: {(staged / 'resource-tracker').stat().st_size} bytes")
    return staged / "resource-tracker"
