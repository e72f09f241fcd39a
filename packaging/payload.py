# SPDX-License-Identifier: Apache-2.0
"""What is packed: the stage with its builds, the files of a package, and archives that come out the same every time.

A stage holds TARGET/resource-tracker (stripped) and TARGET/build.json with target, version, compiler, libc, gpu and
libraries [{name, version, license, sha256}]. A payload is a sorted list of Files with paths relative to the prefix.
"""

import dataclasses
import io
import json
import os
import pathlib
import re
import struct
import subprocess
import tarfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAME = "resource-tracker"
TARGETS = ("x86_64-linux-gnu", "aarch64-linux-gnu", "x86_64-linux-musl", "aarch64-linux-musl")
MACHINES = {"x86_64": 62, "aarch64": 183}  # e_machine of an ELF header
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # as packages call them
DOCS = f"share/doc/{NAME}"
DEFAULT_MAINTAINER = f"{NAME} developers <noreply@{NAME}.invalid>"
LICENSES_BYTES_MAX = 1 << 20
TOOL_SECS_MAX = 120
RULE = "-" * 72


class Failure(Exception):
    """Something that the user has to mend, reported in one line."""


@dataclasses.dataclass(frozen=True)
class File:
    """One regular file of a package."""
    path: str
    content: bytes
    mode: int = 0o644


@dataclasses.dataclass(frozen=True)
class Build:
    """One program of the stage with what its build.json says."""
    target: str
    program: bytes
    facts: dict
    licenses: str

    @property
    def arch(self):
        return self.target.split("-")[0]

    @property
    def is_static(self):
        return self.target.endswith("-musl")


@dataclasses.dataclass(frozen=True)
class Settings:
    """What is the same for all packages of a run."""
    version: str
    epoch: int
    maintainer: str
    release: str
    homepage: str

    @property
    def debian_version(self):
        """Without a revision unless one is given, so that the first package of a distribution itself is newer."""
        return f"{self.version}-{self.release}" if self.release else self.version

    @property
    def rpm_release(self):
        return self.release or "1"


def read_text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def project_version():
    found = re.search(r"^\s*version: '([0-9][0-9A-Za-z.+~]*)'", read_text("meson.build"), re.M)
    if not found:
        raise Failure("meson.build: no project version")
    return found.group(1)


def source_epoch():
    """SOURCE_DATE_EPOCH, else the time of the last commit: never the time of the build."""
    given = os.environ.get("SOURCE_DATE_EPOCH", "")
    if not given:
        words = ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"]
        try:
            given = subprocess.run(words, capture_output=True, text=True, timeout=TOOL_SECS_MAX, check=True).stdout
        except (OSError, subprocess.SubprocessError) as error:
            why = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[0]
            raise Failure(f"no date for the archives: SOURCE_DATE_EPOCH is not set, and {why}") from error
    if not re.fullmatch(r"[0-9]{1,10}", given.strip()):
        raise Failure(f"no date for the archives: {given.strip()!r} is no time in seconds (SOURCE_DATE_EPOCH)")
    return int(given)


def settings_from_environment():
    maintainer = os.environ.get("PACKAGE_MAINTAINER") or DEFAULT_MAINTAINER
    release = os.environ.get("PACKAGE_RELEASE") or ""
    homepage = os.environ.get("PACKAGE_HOMEPAGE") or ""
    if not re.fullmatch(r"[^<>@\n]+ <[^<>@\s]+@[^<>@\s]+>", maintainer):
        raise Failure(f"PACKAGE_MAINTAINER must look like 'Name <mail@host>', not {maintainer!r}")
    if not re.fullmatch(r"[0-9A-Za-z.+~]*", release):
        raise Failure(f"PACKAGE_RELEASE must be letters, digits and . + ~, not {release!r}")
    if not re.fullmatch(r"(https?://\S+)?", homepage):
        raise Failure(f"PACKAGE_HOMEPAGE must be a URL, not {homepage!r}")
    return Settings(project_version(), source_epoch(), maintainer, release, homepage)


def license_words(build):
    """All licences that hold at the same time, ours first."""
    linked = [library["license"] for library in build.facts["libraries"]]
    words = dict.fromkeys(["Apache-2.0", *(f"({one})" if " OR " in one else one for one in linked)])
    return " AND ".join(words)


def plain_name(library):
    """mbedtls for Mbed TLS, mbedTLS and mbedtls."""
    return re.sub(r"[^a-z0-9]", "", library["name"].lower())


def packed_licenses(program, where):
    """The text of --licenses, which the program carries as gzip: so that no foreign program has to be run."""
    for found in re.finditer(rb"\x1f\x8b\x08\x00", program):
        unpack = zlib.decompressobj(31)
        try:
            text = unpack.decompress(program[found.start():], LICENSES_BYTES_MAX)
        except zlib.error:
            continue
        if unpack.eof and text.startswith(f"{RULE}\n{NAME}\n{RULE}\n".encode()):
            return text.decode()
    raise Failure(f"{where}: holds no licences")


def whole_licenses(program, facts, where):
    """The text of --licenses and, for linked libraries that it does not name, their notices of packaging/notices."""
    text = packed_licenses(program, where)
    titles = re.sub(r"[^a-z0-9()\n]", "", text.lower())
    for library in facts["libraries"]:
        if plain_name(library) + "(linkedin)" in titles:
            continue
        notice = ROOT / "packaging" / "notices" / f"{plain_name(library)}.txt"
        if not notice.is_file():
            raise Failure(f"{where}: no licence text of {library['name']}; write {notice.relative_to(ROOT)}")
        body = notice.read_text(encoding="utf-8").strip("\n")
        text += f"\n{RULE}\n{library['name']} (linked in)\n{RULE}\n\n{body}\n"
    return text


def load_build(stage, target, version):
    """Reads one build and refuses what does not fit its name."""
    directory = pathlib.Path(stage) / target
    try:
        program = (directory / NAME).read_bytes()
        facts = json.loads((directory / "build.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Failure(f"{directory}: no usable build: {error}") from error
    if facts.get("target") != target or facts.get("version") != version:
        raise Failure(f"{directory}/build.json is of {facts.get('target')} {facts.get('version')}, "
                      f"wanted {target} {version}")
    for library in facts.setdefault("libraries", []):
        missing = [key for key in ("name", "version", "license") if not library.get(key)]
        if missing or not re.fullmatch(r"[0-9A-Za-z.+ _-]+", library["name"]):
            raise Failure(f"{directory}/build.json: a library without {', '.join(missing) or 'a usable name'}")
    is_elf = program[:4] == b"\x7fELF" and len(program) > 64
    if not is_elf or struct.unpack_from("<H", program, 18)[0] != MACHINES[target.split("-")[0]]:
        raise Failure(f"{directory}/{NAME} is no program for {target.split('-')[0]}")
    return Build(target, program, facts, whole_licenses(program, facts, directory / NAME))


def documents(build):
    """What stands in the directory of documents, whatever the package."""
    return [File(f"{DOCS}/README.md", read_text("README.md").encode()),
            File(f"{DOCS}/CHANGELOG.md", read_text("CHANGELOG.md").encode()),
            File(f"{DOCS}/LICENSE", read_text("LICENSE").encode()),
            File(f"{DOCS}/LICENSES.linked", build.licenses.encode())]


def usage_files(zsh_directory="share/zsh/site-functions"):
    """The manual and the completions."""
    return [File(f"share/man/man1/{NAME}.1", read_text(f"man/{NAME}.1").encode()),
            File(f"share/man/man5/{NAME}.toml.5", read_text(f"man/{NAME}.toml.5").encode()),
            File(f"share/bash-completion/completions/{NAME}", read_text(f"completions/{NAME}.bash").encode()),
            File(f"{zsh_directory}/_{NAME}", read_text(f"completions/_{NAME}").encode()),
            File(f"share/fish/vendor_completions.d/{NAME}.fish", read_text(f"completions/{NAME}.fish").encode())]


def tar_payload(build):
    """The files of the archive, relative to any prefix."""
    program = File(f"bin/{NAME}", build.program, 0o755)
    return sorted([program, *usage_files(), *documents(build)], key=lambda file: file.path)


def flat_name(build, settings):
    """The archive whose name and content published download lines expect: `tar -xzf - resource-tracker`."""
    return f"{NAME}-{settings.version}-linux-{ARCHITECTURES[build.arch]}.tar.gz"


def flat_payload(build):
    """The program at the top, and what must come with it."""
    return [File("LICENSE", read_text("LICENSE").encode()), File("LICENSES.linked", build.licenses.encode()),
            File(NAME, build.program, 0o755)]


def gzip_bytes(content):
    """gzip without a name and without a time; the header is written here because Pythons differ about it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = packer.compress(content) + packer.flush()
    header = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03"
    return header + body + struct.pack("<II", zlib.crc32(content), len(content) & 0xFFFFFFFF)


def tar_gz(files, epoch):
    """Sorted, owned by root, dated with the source. Directories are left out: unpacking into
    /usr/local must not change the owner and the mode of what is there."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for file in files:
            entry = tarfile.TarInfo(file.path)
            entry.size, entry.mode, entry.mtime = len(file.content), file.mode, epoch
            entry.uname = entry.gname = "root"
            archive.addfile(entry, io.BytesIO(file.content))
    return gzip_bytes(out.getvalue())


def lay_out(files, directory, epoch):
    """Writes files below a directory with their modes and the date of the source; returns the directories made."""
    directories = {parent for file in files for parent in pathlib.PurePosixPath(file.path).parents
                   if str(parent) != "."}
    for path in sorted(directories):
        (directory / path).mkdir(parents=True, exist_ok=True)
        (directory / path).chmod(0o755)
    for file in files:
        place = directory / file.path
        place.write_bytes(file.content)
        place.chmod(file.mode)
        os.utime(place, (epoch, epoch))
    for path in [*sorted(directories, reverse=True), "."]:
        os.utime(directory / path, (epoch, epoch))
    return sorted(str(path) for path in directories)


def fill(name, values):
    """A template of packaging/ with every @NAME@ replaced."""
    text = read_text(f"packaging/{name}")
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    left = re.search(r"@[A-Z_]+@", text)
    if left:
        raise Failure(f"packaging/{name}: nothing to put for {left.group(0)}")
    return text


def run_tool(words, epoch, **more):
    """Runs a packager with the date of the source, one thread, and words that do not depend on the language here."""
    env = {**os.environ, "SOURCE_DATE_EPOCH": str(epoch), "LC_ALL": "C.UTF-8", "TZ": "UTC", "DPKG_DEB_THREADS_MAX": "1"}
    try:
        done = subprocess.run([str(word) for word in words], env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=TOOL_SECS_MAX, check=False, **more)
    except subprocess.TimeoutExpired as error:
        raise Failure(f"{words[0]} took longer than {TOOL_SECS_MAX} s") from error
    if done.returncode != 0:
        raise Failure(f"{words[0]} failed: {(done.stderr or done.stdout).strip()[-800:]}")
    return done.stdout


def date_words(epoch, form):
    """A date in English whatever the locale: form holds %a and %b only through these tables."""
    moment = time.gmtime(epoch)
    days = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
    months = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
    form = form.replace("%a", days[moment.tm_wday]).replace("%b", months[moment.tm_mon - 1])
    return time.strftime(form, moment)
