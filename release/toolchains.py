# SPDX-License-Identifier: Apache-2.0
"""Fetches what release builds are made with, as pins.json names it, into build-tools/toolchains.

Every download is checked against its SHA-256 and tried twice. Of each only what is needed is unpacked: of PyPI's
ziglang the compiler (clang, lld and ar in one program) and its headers; of the npm packages a C library of glibc 2.17
with its headers and the run-time parts of gcc; of musl the sources, which are compiled for both machines.
"""

import hashlib
import pathlib
import re
import shutil
import stat
import sys
import tarfile
import tempfile
import zipfile

from common import PINS, TOOLCHAINS, Failure, call, say

FETCH_SECS = 300
BUILD_SECS = 600
APT_HELPER = "/usr/lib/apt/apt-helper"
SYSROOT_PARTS = ("lib/", "lib64", "usr/include/", "usr/lib/", "usr/lib64")
RUNTIME_FILES = ("crtbeginS.o", "crtendS.o", "crtbegin.o", "crtend.o", "libgcc.a", "libgcc_eh.a")
MUSL_OPTIONS = ["--disable-shared", "CFLAGS=-fPIE -fstack-protector-strong -ffunction-sections -fdata-sections"]
KERNEL_HEADERS = ("linux", "asm", "asm-generic", "drm", "mtd")


def clang_directory():
    return TOOLCHAINS / "clang"


def glibc_directory(machine):
    return TOOLCHAINS / f"glibc-2.17-{machine}"


def musl_directory(machine):
    return TOOLCHAINS / f"musl-{machine}"


def zig():
    return clang_directory() / "zig"


def archive_uris():
    """The Debian archives that this machine installs from."""
    lists = [pathlib.Path("/etc/apt/sources.list"), *sorted(pathlib.Path("/etc/apt/sources.list.d").glob("*"))]
    lines = [line for path in lists if path.is_file() for line in path.read_text(errors="replace").splitlines()]
    found = [uri for line in lines if not line.lstrip().startswith("#")
             for uri in re.findall(r"(?:https?|file)://[^\] ]+/debian/?(?=\s|$)", line)]
    return sorted({uri.rstrip("/") for uri in found})


def fetch_commands(pin, directory):
    """What can fetch it: the ordinary client of where it lies, by the name of the package."""
    if "npm" in pin:
        return [["npm", "pack", "--silent", "--pack-destination", directory, pin["npm"]]]
    if "pip" in pin:
        return [[sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir",
                 "--disable-pip-version-check", "--only-binary", ":all:", "--platform", pin["platform"],
                 "--dest", directory, pin["pip"]]]
    return [[APT_HELPER, "-o", "Acquire::Retries=1", "-o", "Acquire::http::Timeout=20", "-o",
             "Acquire::https::Timeout=20", "download-file", f"{uri}/pool/main/{pin['pool']}", directory / pin["file"],
             f"SHA256:{pin['sha256']}"] for uri in archive_uris()]


def fetch(name, directory):
    """Returns the path of the download, whose content is the pinned one."""
    pin = PINS[name]
    origin = pin.get("npm") or pin.get("pip") or pin["pool"]
    kind = "npm" if "npm" in pin else "PyPI" if "pip" in pin else "the Debian archive"
    commands = fetch_commands(pin, directory)
    if not commands:
        raise Failure(f"{name}: no Debian archive in /etc/apt, out of reach: {origin}")
    why = ""
    for command in commands * 2:
        try:
            call(command, secs=FETCH_SECS, what=f"{name} ({origin})")
        except Failure as failure:
            why = str(failure)
            continue
        path = directory / pin["file"]
        found = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "no such file"
        if found == pin["sha256"]:
            return path
        why = f"{pin['file']}: SHA-256 is {found}, pinned is {pin['sha256']}"
        path.unlink(missing_ok=True)
    raise Failure(f"{name}: {origin} is out of reach from {kind}:\n{why}")


def unpack_clang(path, directory):
    with zipfile.ZipFile(path) as wheel:
        for member in wheel.namelist():
            if member == "ziglang/zig" or member.startswith("ziglang/lib/include/"):
                wheel.extract(member, directory)
    for part in (directory / "ziglang").iterdir():
        part.rename(directory / part.name)
    (directory / "ziglang").rmdir()
    (directory / "zig").chmod(0o755)
    # clang asks for one program that links.
    link = directory / "ld.lld"
    link.write_text('#!/bin/sh\nexec "${0%/*}/zig" ld.lld "$@"\n', encoding="utf-8")
    link.chmod(0o755)


def is_wanted(name, machine):
    """The name inside of our directory; None: not needed."""
    triple = f"{machine}-unknown-linux-gnu"
    name = name.removeprefix("./")
    rest = name.removeprefix(f"{triple}/sysroot/")
    if rest != name and rest.startswith(SYSROOT_PARTS) and not rest.startswith("usr/lib/gconv"):
        return rest
    parts = name.split("/")
    if name.startswith(f"lib/gcc/{triple}/") and parts[-1] in RUNTIME_FILES and len(parts) == 5:
        return f"gcc/{parts[-1]}"
    return None


def unpack_glibc(path, directory, machine):
    with tarfile.open(path) as package:
        inner = package.extractfile(f"package/{machine}-unknown-linux-gnu.tar.xz")
        if not inner:
            raise Failure(f"{path.name}: holds no toolchain")
        with tarfile.open(fileobj=inner, mode="r|xz") as tree:
            for member in tree:
                name = is_wanted(member.name, machine)
                if name:
                    member.name = name
                    if member.islnk():
                        member.linkname = is_wanted(member.linkname, machine)
                    tree.extract(member, directory, set_attrs=False)
    for loader in (directory / "lib").glob("ld-*.so*"):
        if not loader.is_symlink():
            loader.chmod(loader.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)


def clang_words(machine, libc):
    """clang for a machine, without anything of this system."""
    return [zig(), "clang", f"--target={machine}-unknown-linux-{libc}", "--start-no-unused-arguments", "-nostdinc",
            "-isystem", clang_directory() / "lib/include"]


def gcc_words():
    program = PINS["gcc"]["program"]
    include = call([program, "-print-file-name=include"], secs=20, what=program).strip()
    return [program, "-nostdinc", "-isystem", include]


def build_musl(path, directory, machine, jobs):
    """A static musl, with the headers of the kernel that the glibc of the same machine comes with."""
    if re.search(r"[\s'\"\\$:]", str(directory)):
        raise Failure(f"musl cannot be built below {TOOLCHAINS}: its makefile takes no blanks and quotes in a path")
    with tempfile.TemporaryDirectory(dir=TOOLCHAINS, prefix="musl-sources-") as work:
        with tarfile.open(path) as tree:
            tree.extractall(work, filter="data") if hasattr(tarfile, "data_filter") else tree.extractall(work)
        (sources,) = pathlib.Path(work).iterdir()
        compiler = gcc_words() if machine == "x86_64" else [*clang_words(machine, "musl"), "--end-no-unused-arguments"]
        archiver, ranlib = ("ar", "ranlib") if machine == "x86_64" else (f"{zig()} ar", f"{zig()} ranlib")
        what = f"musl for {machine}"
        call(["./configure", f"--target={machine}-linux-musl", f"--prefix={directory}",
              f"CC={' '.join(map(str, compiler))}", f"AR={archiver}", f"RANLIB={ranlib}",
              *MUSL_OPTIONS], cwd=sources, secs=BUILD_SECS, what=what)
        call(["make", f"-j{jobs}", "install-libs", "install-headers"], cwd=sources, secs=BUILD_SECS, what=what)
        shutil.copy(sources / "COPYRIGHT", directory / "COPYRIGHT")
    for name in KERNEL_HEADERS:
        headers = glibc_directory(machine) / "usr/include" / name
        if headers.is_dir():
            shutil.copytree(headers, directory / "include" / name)


def is_done(directory, stamp):
    mark = directory / ".pin"
    return mark.is_file() and mark.read_text(encoding="utf-8") == stamp


def provide(directory, pin_name, fill, inputs=(), options=()):
    """Makes a directory anew unless it is already that of the pin, and of what else it was made from."""
    pins = [PINS[name].get("sha256", PINS[name]["version"]) for name in (pin_name, *inputs)]
    stamp = "\n".join([*pins, *options]) + "\n"
    if is_done(directory, stamp):
        return
    say(f"toolchain: {directory.name}")
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with tempfile.TemporaryDirectory(dir=TOOLCHAINS, prefix="download-") as work:
        fill(fetch(pin_name, pathlib.Path(work)), directory)
    (directory / ".pin").write_text(stamp, encoding="utf-8")


def check_gcc():
    pin = PINS["gcc"]
    version = call([pin["program"], "-dumpfullversion"], secs=20, what=f"{pin['program']} ({pin['package']})").strip()
    if version != pin["version"]:
        raise Failure(f"{pin['program']} is {version}; releases are made with {pin['package']}")


def setup(targets, jobs):
    """Everything that these targets need; the old glibc also for its loader, under which they are tried."""
    machines = {target.split("-")[0] for target in targets}
    TOOLCHAINS.mkdir(parents=True, exist_ok=True)
    if "x86_64" in machines:
        check_gcc()
    if "aarch64" in machines:
        provide(clang_directory(), "clang", unpack_clang)
    for machine in sorted(machines):
        name = f"glibc-2.17-{machine}"
        provide(glibc_directory(machine), name, lambda path, directory, of=machine: unpack_glibc(path, directory, of))
    for target in targets:
        machine, libc = target.split("-")[0], target.split("-")[2]
        if libc == "musl":
            provide(musl_directory(machine), "musl",
                    lambda path, directory, of=machine: build_musl(path, directory, of, jobs),
                    ["gcc" if machine == "x86_64" else "clang", f"glibc-2.17-{machine}"], MUSL_OPTIONS)
