#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The release artefacts: what they hold, that they come out the same, that their check sees what is wrong."""

import copy
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile

import lib  # noqa: F401, finds those that follow
import tap
import tracker
from release import EPOCH, HOST, ROOT, TARGETS, VERSION, made, package, program, write_build
from tap import Skip, equal, expect, test
from tracker import directory

sys.path.insert(0, str(ROOT / "packaging"))
import payload  # noqa: E402
import sbom  # noqa: E402

NAME = "resource-tracker"
DEB_ARCH = {"x86_64": "amd64", "aarch64": "arm64"}
ARCHIVE_FILES = {
    "bin/resource-tracker": 0o755, "share/bash-completion/completions/resource-tracker": 0o644,
    "share/doc/resource-tracker/CHANGELOG.md": 0o644, "share/doc/resource-tracker/LICENSE": 0o644,
    "share/doc/resource-tracker/LICENSES.linked": 0o644, "share/doc/resource-tracker/README.md": 0o644,
    "share/fish/vendor_completions.d/resource-tracker.fish": 0o644, "share/man/man1/resource-tracker.1": 0o644,
    "share/man/man5/resource-tracker.toml.5": 0o644, "share/zsh/site-functions/_resource-tracker": 0o644}


def archive_of(out, target):
    return out / f"{NAME}-{VERSION}-{target}.tar.gz"


def need(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        raise Skip(f"no {' and no '.join(missing)} here")


def run(words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, timeout=60, check=False, **more)
    equal(done.returncode, 0, f"{words[0]}: {done.stderr[-500:]}")
    return done.stdout


@test(limit=120)
def every_artefact_is_made_and_listed():
    _, out = made()
    names = {f"{NAME}-{VERSION}-{target}.{end}" for target in TARGETS for end in ("tar.gz", "spdx.json")}
    names |= {f"{NAME}-{VERSION}-linux-{arch}.tar.gz" for arch in ("amd64", "arm64")}
    names |= {"install.sh", "SHA256SUMS"}
    if shutil.which("dpkg-deb"):
        names |= {f"{NAME}_{VERSION}_{arch}.deb" for arch in ("amd64", "arm64")}
    if shutil.which("rpmbuild"):
        names |= {f"{NAME}-{VERSION}-1.{arch}.rpm" for arch in ("x86_64", "aarch64")}
    equal({path.name for path in out.iterdir()}, names, "artefacts")
    rows = (out / "SHA256SUMS").read_text().splitlines()
    equal([row.split("  ")[1] for row in rows], sorted(names - {"SHA256SUMS"}), "names in SHA256SUMS")
    for row in rows:
        value, name = row.split("  ")
        equal(hashlib.sha256((out / name).read_bytes()).hexdigest(), value, name)


@test(limit=120)
def the_archive_of_published_download_lines_has_the_program_at_its_top():
    """curl -L URL | tar -xzf - resource-tracker"""
    need("tar")
    _, out = made()
    for arch, machine in (("amd64", "x86_64"), ("arm64", "aarch64")):
        archive = out / f"{NAME}-{VERSION}-linux-{arch}.tar.gz"
        with directory() as place:
            run(["tar", "-xzf", "-", NAME], input=archive.read_bytes(), cwd=place)
            equal([path.name for path in place.iterdir()], [NAME], "what was asked for")
            equal((place / NAME).read_bytes(), program(machine), "the program of the glibc build")
            expect(os.access(place / NAME, os.X_OK), "not executable")
        with tarfile.open(archive) as entries:
            equal(entries.getnames(), ["LICENSE", "LICENSES.linked", NAME], arch)


@test(limit=120)
def an_archive_unpacks_below_any_prefix():
    _, out = made()
    for target in TARGETS:
        with tarfile.open(archive_of(out, target)) as archive:
            entries = archive.getmembers()
        equal({entry.name: entry.mode for entry in entries}, ARCHIVE_FILES, target)
        equal([entry.name for entry in entries], sorted(ARCHIVE_FILES), "order")
        marks = {(entry.isreg(), entry.uid, entry.gid, entry.mtime) for entry in entries}
        equal(marks, {(True, 0, 0, int(EPOCH))}, target)
        equal(archive_of(out, target).read_bytes()[:10].hex(), "1f8b0800000000000203", "head of gzip")
    with directory() as prefix:
        run(["tar", "-xzf", archive_of(out, f"{HOST}-linux-gnu"), "-C", prefix])
        reported = run([prefix / "bin" / NAME, "--version"]).decode()
        expect(reported.startswith(f"{NAME} {VERSION}\n"), reported)
        equal((prefix / f"share/man/man1/{NAME}.1").read_bytes(), (ROOT / f"man/{NAME}.1").read_bytes(), "manual")


@test(limit=120)
def the_licences_are_those_that_the_program_prints():
    _, out = made()
    reported = tracker.run(["--licenses"]).stdout
    for target in TARGETS:
        with tarfile.open(archive_of(out, target)) as archive:
            text = archive.extractfile(f"share/doc/{NAME}/LICENSES.linked").read().decode()
        expect(text.startswith(reported), target)
        equal("Rich Felker" in text[len(reported):], target.endswith("musl"), f"notice of musl in {target}")
        expect(len(text) > len(reported) or not target.endswith("musl"), target)


@test(limit=120)
def another_umask_zone_language_and_place_make_the_same_bytes():
    stage, out = made()
    with directory() as other:
        shutil.copytree(stage, other / "stage")
        for path in (other / "stage").rglob("*"):
            os.utime(path, (1, 1))
        package("make", "--stage", other / "stage", "--out", other / "deep" / "out", umask=0o077, cwd=other,
                TZ="Asia/Kathmandu", LC_ALL="C", HOME=str(other))
        equal({path.name for path in (other / "deep/out").iterdir()}, {path.name for path in out.iterdir()}, "names")
        for path in out.iterdir():
            expect((other / "deep/out" / path.name).read_bytes() == path.read_bytes(), f"{path.name} differs")


@test(limit=150)
def the_check_is_content_and_lintian_too():
    stage, out = made()
    done = package("check", "--stage", stage, "--out", out)
    expect(re.search(r"^package: \d+ files checked, 0 complaints$", done.stdout, re.M), done.stdout)
    if "lintian is not installed" in done.stdout:
        raise Skip("no lintian here")


@test(limit=120)
def the_check_sees_what_is_wrong():
    stage, _ = made()
    target = f"{HOST}-linux-musl"
    tar_name, spdx_name = f"{NAME}-{VERSION}-{target}.tar.gz", f"{NAME}-{VERSION}-{target}.spdx.json"

    def damage_tar(out):
        files = [payload.File(path, b"x", mode) for path, mode in ARCHIVE_FILES.items()]
        (out / tar_name).write_bytes(payload.tar_gz(files, 5))

    def damage_spdx(out):
        spdx = json.loads((out / spdx_name).read_text())
        del spdx["packages"][1]
        (out / spdx_name).write_text(json.dumps(spdx))

    cases = ((damage_tar, ["has an odd type, owner or date", "not the content that SHA256SUMS names", "other bytes"]),
             (damage_spdx, ["does not exist", "linked are ['mbedtls', 'musl', 'zlib']"]),
             (lambda out: (out / tar_name).unlink(), [f"names {tar_name}, which is not there", "is missing"]),
             (lambda out: (out / f"{NAME}-0.0.1-x.tar.gz").write_bytes(b""), ["does not name resource-tracker-0.0."]),
             (lambda out: (out / "SHA256SUMS").write_text("what\n"), ["not one hash", f"does not name {tar_name}"]),
             (lambda out: (out / "SHA256SUMS").unlink(), ["SHA256SUMS: No such file"]))
    for harm, words in cases:
        with directory() as out:
            package("--stage", stage, "--out", out, "--targets", target)
            harm(out)
            done = package("check", "--stage", stage, "--out", out, "--targets", target, check=False)
            equal(done.returncode, 1, done.stderr)
            for word in words:
                expect(word in done.stderr, word, "not in", done.stderr)


@test(limit=60)
def a_stage_that_does_not_fit_is_refused_with_one_line():
    target = f"{HOST}-linux-gnu"
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}.get(HOST, "x86_64")
    bad_name = [{"name": "a/b", "version": "1", "license": "MIT"}]
    strange = [{"name": "libfoo", "version": "1", "license": "MIT"}]
    cases = ((lambda stage: None, "no usable build"),
             (lambda stage: write_build(stage, target, program(HOST), version="9.9"), f"wanted {target} {VERSION}"),
             (lambda stage: write_build(stage, target, program(HOST), target="x"), f"wanted {target} {VERSION}"),
             (lambda stage: write_build(stage, target, program(other)), f"is no program for {HOST}"),
             (lambda stage: write_build(stage, target, b"#!/bin/sh\n"), f"is no program for {HOST}"),
             (lambda stage: write_build(stage, target, program(HOST)[:4096]), "holds no licences"),
             (lambda stage: write_build(stage, target, program(HOST), libraries=strange), "no licence text of libfoo"),
             (lambda stage: write_build(stage, target, program(HOST), libraries=bad_name), "a usable name"),
             (lambda stage: write_build(stage, target, program(HOST), libraries=[{}]), "without name, version"))
    for prepare, words in cases:
        with directory() as work:
            prepare(work / "stage")
            done = package("--stage", work / "stage", "--out", work / "out", "--targets", target, check=False)
            equal((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
            expect(words in done.stderr, words, "not in", done.stderr)
            expect(not (work / "out").exists(), "something was made")


@test(limit=60)
def a_distributor_names_himself():
    need("dpkg-deb")
    stage, _ = made()
    target = f"{HOST}-linux-gnu"
    with directory() as out:
        package("--stage", stage, "--out", out, "--targets", target,
                PACKAGE_MAINTAINER="Some Distribution <a@example.org>", PACKAGE_RELEASE="2",
                PACKAGE_HOMEPAGE="https://example.org/")
        path = out / f"{NAME}_{VERSION}-2_{DEB_ARCH[HOST]}.deb"
        fields = run(["dpkg-deb", "--field", path]).decode()
        for line in (f"Version: {VERSION}-2", "Maintainer: Some Distribution <a@example.org>",
                     "Homepage: https://example.org/"):
            expect(line + "\n" in fields, fields)
    for name, value in (("PACKAGE_MAINTAINER", "a name"), ("PACKAGE_MAINTAINER", "a <b@c>\nDepends: x"),
                        ("PACKAGE_RELEASE", "1 2"), ("PACKAGE_HOMEPAGE", "here"), ("SOURCE_DATE_EPOCH", "today")):
        done = package("--stage", stage, "--out", "/nonexistent", check=False, **{name: value})
        equal((done.returncode, len(done.stderr.splitlines())), (1, 1), f"{name}={value}: {done.stderr}")


@test(limit=60)
def a_debian_package_installs_and_goes_without_a_trace():
    need("dpkg", "dpkg-deb")
    _, out = made()
    path = out / f"{NAME}_{VERSION}_{DEB_ARCH[HOST]}.deb"
    with directory() as root:
        for name in ("var/lib/dpkg/updates", "var/lib/dpkg/info"):
            (root / name).mkdir(parents=True)
        (root / "var/lib/dpkg/status").touch()
        before = {item for item in root.rglob("*") if "dpkg" not in str(item.relative_to(root))}
        # The tests may run without root, and the throw-away root has no libc6.
        dpkg = ["dpkg", f"--root={root}", "--force-not-root", "--force-bad-path", "--force-depends", "--log=/dev/null"]
        run([*dpkg, "-i", path])
        reported = run([root / "usr/bin" / NAME, "--version"]).decode()
        expect(reported.startswith(f"{NAME} {VERSION}\n"), reported)
        page = gzip.decompress((root / f"usr/share/man/man1/{NAME}.1.gz").read_bytes())
        equal(page, (ROOT / f"man/{NAME}.1").read_bytes(), "manual")
        expect((root / f"usr/share/zsh/vendor-completions/_{NAME}").is_file(), "no completion for zsh")
        text = (root / f"usr/share/doc/{NAME}/copyright").read_text()
        expect("License: Zlib\n" in text and "provided 'as-is'" in text and "common-licenses/Apache-2.0" in text, text)
        log = gzip.decompress((root / f"usr/share/doc/{NAME}/changelog.Debian.gz").read_bytes()).decode()
        expect(log.startswith(f"{NAME} ({VERSION}) ") and "Tue, 14 Nov 2023 22:13:20 +0000" in log, log)
        equal(run([*dpkg, "--verify", NAME]), b"", "what dpkg finds changed")
        run([*dpkg, "-r", NAME])
        after = {item for item in root.rglob("*") if "dpkg" not in str(item.relative_to(root))}
        equal(after, before, "what is left")


@test(limit=60)
def the_installed_size_and_the_sums_of_a_debian_package_are_true():
    need("dpkg-deb")
    _, out = made()
    for arch in DEB_ARCH.values():
        path = out / f"{NAME}_{VERSION}_{arch}.deb"
        with directory() as work:
            run(["dpkg-deb", "-R", path, work])
            sums = dict(reversed(line.split("  ")) for line in (work / "DEBIAN/md5sums").read_text().splitlines())
            equal(sorted(item.name for item in (work / "DEBIAN").iterdir()), ["control", "md5sums"], "control files")
            shutil.rmtree(work / "DEBIAN")
            files = [item for item in work.rglob("*") if item.is_file()]
            have = {str(item.relative_to(work)): hashlib.md5(item.read_bytes()).hexdigest() for item in files}
            equal(have, sums, "sums")
            directories = sum(item.is_dir() for item in work.rglob("*")) + 1
            kib = sum(-(-item.stat().st_size // 1024) for item in files) + directories
        equal(run(["dpkg-deb", "--field", path, "Installed-Size"]).decode().strip(), str(kib), arch)


@test(limit=60)
def an_rpm_package_holds_the_same_files():
    need("rpmbuild", "rpm", "rpm2cpio", "cpio")
    stage, out = made()
    for arch in DEB_ARCH:
        path = out / f"{NAME}-{VERSION}-1.{arch}.rpm"
        with directory() as work:
            database = ["--dbpath", work / "db"]
            reported = run(["rpm", *database, "-qp", "--qf", "%{ARCH} %{LICENSE}", path]).decode()
            equal(reported, f"{arch} Apache-2.0 AND Zlib", "architecture and licence")
            needs = [line for line in run(["rpm", *database, "-qp", "--requires", path]).decode().splitlines()
                     if not line.startswith("rpmlib(")]
            equal(needs, ["libc.so.6(GLIBC_2.17)(64bit)"], "requirements")
            run(["cpio", "-idm", "--quiet"], input=run(["rpm2cpio", path]), cwd=work)
            names = {str(item.relative_to(work / "usr")) for item in (work / "usr").rglob("*") if item.is_file()}
            equal(names, set(ARCHIVE_FILES), "files")
            equal((work / "usr/bin" / NAME).read_bytes(), (stage / f"{arch}-linux-gnu" / NAME).read_bytes(), "program")


@test(limit=60)
def a_bill_of_materials_names_what_is_linked_in():
    _, out = made()
    for target in TARGETS:
        spdx = json.loads((out / f"{NAME}-{VERSION}-{target}.spdx.json").read_text())
        equal(sbom.complaints(spdx), [], target)
        packages = {package["name"]: package for package in spdx["packages"]}
        want = {NAME, "mbedtls", "zlib"} | ({"musl"} if target.endswith("musl") else set())
        equal(set(packages), want, target)
        equal(packages["mbedtls"]["checksums"], [{"algorithm": "SHA256", "checksumValue": "a" * 64}], "hash")
        equal(packages["mbedtls"]["licenseDeclared"], "Apache-2.0 OR GPL-2.0-or-later", "licence")
        equal(packages["zlib"]["downloadLocation"], "NOASSERTION", "place")
        equal(spdx["creationInfo"]["created"], "2023-11-14T22:13:20Z", "date")
        entry = [file for file in spdx["files"] if file["fileName"] == f"./bin/{NAME}"][0]
        value = hashlib.sha256(program(target.split("-")[0])).hexdigest()
        expect({"algorithm": "SHA256", "checksumValue": value} in entry["checksums"], "hash of the program")


@test(limit=60)
def a_broken_bill_of_materials_is_seen():
    _, out = made()
    good = json.loads((out / f"{NAME}-{VERSION}-{TARGETS[0]}.spdx.json").read_text())
    cases = ((lambda d: d.update(spdxVersion="SPDX-2.2"), "not SPDX-2.3"),
             (lambda d: d.pop("dataLicense"), "dataLicense"), (lambda d: d.pop("name"), "no name"),
             (lambda d: d.update(documentNamespace="a b"), "no URI"),
             (lambda d: d["creationInfo"].pop("creators"), "creators"),
             (lambda d: d["creationInfo"].update(created="now"), "no date"),
             (lambda d: d["creationInfo"].update(creators=["me"]), "odd creator"),
             (lambda d: d["packages"][0].pop("downloadLocation"), "no downloadLocation"),
             (lambda d: d["packages"][0].pop("packageVerificationCode"), "no packageVerificationCode"),
             (lambda d: d["packages"][1].update(SPDXID="zlib"), "no usable"),
             (lambda d: d["packages"].append(d["packages"][1]), "not the only"),
             (lambda d: d["files"][0]["checksums"].pop(0), "no SHA1"),
             (lambda d: d["files"][0]["checksums"][0].update(checksumValue="12"), "SHA1 is not one"),
             (lambda d: d["relationships"].pop(0), "describes nothing"),
             (lambda d: d["relationships"][1].update(relatedSpdxElement="SPDXRef-x"), "SPDXRef-x does not exist"))
    for harm, words in cases:
        spdx = copy.deepcopy(good)
        harm(spdx)
        found = sbom.complaints(spdx)
        expect(any(words in line for line in found), words, "not in", found)


@test
def the_image_takes_only_what_its_context_holds():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    allowed = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    sources = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    programs = [f"dist/stage/{target}/{NAME}" for target in TARGETS if target.endswith("musl")]
    equal(sorted(source for source in sources if source.startswith("dist/")), sorted(programs), "programs")
    equal(sorted(sources), sorted(allowed), "what is copied, and what the context holds")
    for source in sources:
        expect(source in programs or (ROOT / source).is_file(), f"there is no {source}")


if tracker.SANITIZED:
    print("1..0 # SKIP packages do not depend on how the program is built")
    sys.exit(0)
tap.main()
