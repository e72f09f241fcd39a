# SPDX-License-Identifier: Apache-2.0
"""Is what lies in the directory of artefacts what should lie there? Every function yields complaints as lines."""

import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import tarfile
import tempfile

import deb_package
import rpm_package
import sbom
from payload import NAME, TOOL_SECS_MAX, flat_name, flat_payload, gzip_bytes, run_tool, tar_payload

SUMS = "SHA256SUMS"
OURS = re.compile(rf"{NAME}[-_].*\.(tar\.gz|deb|rpm|spdx\.json)|install\.sh|{SUMS}")
LINTIAN_BAD = re.compile(r"^[EW]: ")


def artefact_names(directory):
    paths = pathlib.Path(directory).iterdir()
    return sorted(path.name for path in paths if path.is_file() and OURS.fullmatch(path.name))


def sums_text(directory):
    """Sorted by name, as sha256sum --check reads it."""
    names = [name for name in artefact_names(directory) if name != SUMS]
    rows = [(hashlib.sha256((pathlib.Path(directory) / name).read_bytes()).hexdigest(), name) for name in names]
    return "".join(f"{value}  {name}\n" for value, name in rows)


def sums_complaints(directory):
    try:
        listed = (pathlib.Path(directory) / SUMS).read_text(encoding="utf-8")
    except OSError as error:
        yield f"{SUMS}: {error.strerror}"
        return
    want = dict(reversed(line.split("  ", 1)) for line in sums_text(directory).splitlines())
    rows = [line.split("  ", 1) for line in listed.splitlines()]
    have = {row[1]: row[0] for row in rows if len(row) == 2}
    if len(have) != len(rows) or list(have) != sorted(have):
        yield f"{SUMS}: not sorted, or not one hash and one name per line"
    yield from (f"{SUMS} names {name}, which is not there" for name in have if name not in want)
    yield from (f"{SUMS} does not name {name}" for name in want if name not in have)
    yield from (f"{name}: not the content that {SUMS} names" for name, value in want.items()
                if have.get(name, value) != value)


def tar_complaints(path, payload, settings):
    """The archive must hold exactly the payload, owned by root, of one date."""
    head = path.read_bytes()[:10]
    if head != gzip_bytes(b"")[:10]:
        yield f"{path.name}: gzip holds a name or a time"
    want = {file.path: file for file in payload}
    with tarfile.open(path, "r:gz") as archive:
        entries = archive.getmembers()
        names = [entry.name for entry in entries]
        if names != sorted(want):
            yield f"{path.name}: holds {names}, wanted {sorted(want)}"
        for entry in entries:
            if not entry.isreg() or entry.uid or entry.gid or entry.mtime != settings.epoch:
                yield f"{path.name}: {entry.name} has an odd type, owner or date"
            elif entry.name in want and (archive.extractfile(entry).read() != want[entry.name].content
                                         or entry.mode != want[entry.name].mode):
                yield f"{path.name}: {entry.name} has not the content or the mode of the build"


def not_checked(words):
    """What a tool that is missing leaves open: a complaint in CI, else a word."""
    if os.environ.get("CI"):
        yield words
    else:
        print(f"package: {words}")


def lintian_complaints(paths):
    """Errors and warnings of Debian's checker; it runs once for all, because its start is what takes the time."""
    if not shutil.which("lintian"):
        yield from not_checked("lintian is not installed, the Debian packages are not checked by it")
        return
    words = ["lintian", "--allow-root", "--no-cfg", "--tag-display-limit", "0", *map(str, paths)]
    try:
        # It leaves files behind.
        with tempfile.TemporaryDirectory(prefix="rt-lintian-") as place:
            done = subprocess.run(words, capture_output=True, text=True, timeout=TOOL_SECS_MAX, check=False,
                                  env=os.environ | {"TMPDIR": place})
    except subprocess.TimeoutExpired:
        yield f"lintian did not end within {TOOL_SECS_MAX} s"
        return
    yield from (f"lintian: {line}" for line in done.stdout.splitlines() if LINTIAN_BAD.match(line))
    if done.returncode not in (0, 2):
        yield f"lintian ended with {done.returncode}: {done.stderr.strip()[-300:]}"


def deb_complaints(path, build, settings):
    fields = run_tool(["dpkg-deb", "--field", path], settings.epoch)
    for key, value in (("Version", settings.debian_version), ("Depends", "libc6 (>= 2.17)"),
                       ("Architecture", deb_package.ARCHITECTURES[build.arch]), ("Maintainer", settings.maintainer)):
        if f"{key}: {value}\n" not in fields:
            yield f"{path.name}: {key} is not {value}"
    listing = run_tool(["dpkg-deb", "--contents", path], settings.epoch)
    names = sorted(line.split(None, 5)[5].removeprefix("./") for line in listing.splitlines() if line.startswith("-"))
    want = [file.path for file in deb_package.payload(build, settings)]
    if names != want:
        yield f"{path.name}: holds {names}, wanted {want}"
    yield from (f"{path.name}: owner of {line}" for line in listing.splitlines() if " root/root " not in line)
    want = {file.path: (file.mode, file.content) for file in deb_package.payload(build, settings)}
    with tempfile.TemporaryDirectory(prefix="rt-deb-") as place:
        run_tool(["dpkg-deb", "--extract", path, place], settings.epoch)
        for name in set(names) & set(want):
            file = pathlib.Path(place, name)
            if (file.stat().st_mode & 0o7777, file.read_bytes()) != want[name]:
                yield f"{path.name}: {name} has not the content or the mode of the build"


def rpm_complaints(path, build, settings):
    if not shutil.which("rpm"):
        yield from not_checked(f"rpm is not installed, {path.name} is not looked into")
        return
    # rpm makes a database even to look into a file.
    with tempfile.TemporaryDirectory(prefix="rt-rpm-") as database:
        listing = run_tool(["rpm", "--dbpath", database, "-qp", "--qf", "[%{FILENAMES} %{FILEDIGESTS}\\n]", path.name],
                           settings.epoch, cwd=path.parent)
    have = dict(line.split(" ", 1) for line in listing.splitlines() if not line.endswith(" "))
    want = {"/" + file.path: hashlib.sha256(file.content).hexdigest() for file in rpm_package.payload(build)}
    if have != want:
        yield f"{path.name}: other files than wanted: {sorted(set(have.items()) ^ set(want.items()))[:6]}"


def sbom_complaints(path, build):
    try:
        spdx = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        yield f"{path.name}: {error}"
        return
    yield from (f"{path.name}: {line}" for line in sbom.complaints(spdx))
    linked = {library["name"] for library in build.facts["libraries"]}
    named = {package["name"] for package in spdx.get("packages", [])} - {NAME}
    if linked != named:
        yield f"{path.name}: names {sorted(named)}, linked are {sorted(linked)}"


def all_complaints(directory, builds, settings):
    """Sums first, then every artefact of every build."""
    directory = pathlib.Path(directory)
    yield from sums_complaints(directory)
    for maker, tool in ((deb_package, "dpkg-deb"), (rpm_package, "rpmbuild")):
        if not maker.is_possible():
            yield from not_checked(f"{tool} is not installed, its packages were not made")
    for build in builds:
        parts = [(f"{NAME}-{settings.version}-{build.target}.tar.gz", tar_complaints, (tar_payload(build), settings)),
                 (sbom.file_name(build, settings), sbom_complaints, (build,))]
        if not build.is_static:
            parts.append((flat_name(build, settings), tar_complaints, (flat_payload(build), settings)))
        if not build.is_static and deb_package.is_possible():
            parts.append((deb_package.file_name(build, settings), deb_complaints, (build, settings)))
        if not build.is_static and rpm_package.is_possible():
            parts.append((rpm_package.file_name(build, settings), rpm_complaints, (build, settings)))
        for name, check, more in parts:
            if (directory / name).is_file():
                yield from check(directory / name, *more)
            else:
                yield f"{name} is missing"
    packages = sorted(directory.glob(f"{NAME}_{settings.debian_version}_*.deb"))
    if packages:
        yield from lintian_complaints(packages)


def differences(one, other):
    """Artefacts of two runs that are not the same bytes."""
    names = sorted({*artefact_names(one), *artefact_names(other)})
    for name in names:
        paths = [pathlib.Path(directory) / name for directory in (one, other)]
        if not all(path.is_file() for path in paths) or paths[0].read_bytes() != paths[1].read_bytes():
            yield f"{name}: another run makes other bytes of it"
