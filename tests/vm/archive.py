# SPDX-License-Identifier: Apache-2.0
"""What the guests are made of, from the Debian archive that this machine installs from.

Packages are downloaded through a private state of apt (nothing is installed here, no right is needed), unpacked with
dpkg and kept in build-tools/vm, so that a second run needs no network.
"""

import os
import pathlib
import re
import shutil
import subprocess

KEYRING = pathlib.Path("/usr/share/keyrings/debian-archive-keyring.gpg")
DOWNLOAD_SECS = 300
DEFAULT_SUITE = "bookworm"
DEPENDS = re.compile(r"^\s*Depends: (linux-image-\S+)$", re.MULTILINE)


class Missing(Exception):
    """Something that a guest needs cannot be had here; the words say what."""


def call(words, secs=DOWNLOAD_SECS, **more):
    """Runs a command to its end and returns its stdout; its failure is a Missing."""
    try:
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=secs, check=False,
                              stdin=subprocess.DEVNULL, **more)
    except FileNotFoundError as error:
        raise Missing(f"{words[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise Missing(f"{words[0]} took longer than {secs} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{words[0]}: {said[-1] if said else f'exit status {done.returncode}'}")
    return done.stdout


def mirror():
    """Where Debian's own packages come from on this machine."""
    for line in call(["apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)"], 30).splitlines():
        label, _, uri = line.partition(" ")
        if label == "Debian" and uri:
            return uri
    raise Missing("this machine does not install from Debian")


def host_suite():
    """The suite that programs built on this machine fit to."""
    words = dict(line.split("=", 1) for line in pathlib.Path("/etc/os-release").read_text(encoding="utf-8").splitlines()
                 if "=" in line)
    return words.get("VERSION_CODENAME", "").strip('"') or DEFAULT_SUITE


class Archive:
    """One suite of one architecture."""

    def __init__(self, cache, suite, arch):
        self.suite, self.arch = suite, arch
        self.directory = pathlib.Path(cache).resolve() / f"{suite}-{arch}"
        self.state = self.directory / "apt"
        settings = (
            "Dir::Etc::SourceList=/dev/null", f"Dir::Etc::SourceParts={self.state}",
            "Dir::Etc::PreferencesParts=/dev/null", f"Dir::State::Lists={self.state}/lists",
            f"Dir::State::status={self.state}/status", f"Dir::Cache={self.state}/cache", "Debug::NoLocking=1",
            "Acquire::Check-Valid-Until=false", "Acquire::Retries=2", "Acquire::http::Timeout=30",
            "Acquire::Languages=none", f"APT::Architecture={arch}", f"APT::Architectures={arch}",
            "APT::Install-Recommends=false", "APT::Sandbox::User=")
        self.options = ["-qq", *(word for setting in settings for word in ("-o", setting))]

    def _update(self):
        if (self.state / "updated").exists():
            return
        if not KEYRING.exists():
            raise Missing(f"{KEYRING} is not there")
        for name in ("lists/partial", "cache/archives/partial"):
            (self.state / name).mkdir(parents=True, exist_ok=True)
        (self.state / "status").touch()
        (self.state / "vm.sources").write_text(
            f"Types: deb\nURIs: {mirror()}\nSuites: {self.suite}\nComponents: main\nArchitectures: {self.arch}\n"
            f"Signed-By: {KEYRING}\n", encoding="utf-8")
        call(["apt-get", *self.options, "update"])
        (self.state / "updated").touch()

    def _unpack(self, name, fetch):
        """The directory NAME with what `fetch` has downloaded into a directory; made once."""
        target = self.directory / name
        if target.is_dir():
            return target
        self._update()
        part = self.directory / f"{name}.{os.getpid()}"
        debs = self.directory / f"{name}.{os.getpid()}.debs"
        try:
            for directory in (part, debs):
                directory.mkdir(parents=True)
            fetch(debs)
            packages = sorted(debs.rglob("*.deb"))
            if not packages:
                raise Missing(f"{self.suite} has nothing for {name}")
            for package in packages:
                call(["dpkg", "-x", package, part])
            if not target.is_dir():  # another run may have been faster
                part.rename(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
            shutil.rmtree(debs, ignore_errors=True)
        return target

    def kernel(self, meta):
        """The directory with the kernel that a meta package stands for (boot/vmlinuz-*, lib/modules/*)."""

        def fetch(debs):
            found = DEPENDS.findall(call(["apt-cache", *self.options, "depends", meta]))
            if not found:
                raise Missing(f"{self.suite} has no {meta} for {self.arch}")
            call(["apt-get", *self.options, "download", f"{found[0]}:{self.arch}"], cwd=debs)

        return self._unpack(meta, fetch)

    def packages(self, name, *wanted):
        """A directory with packages and all that they depend on."""

        def fetch(debs):
            (debs / "partial").mkdir()
            call(["apt-get", *self.options, "-o", f"Dir::Cache::archives={debs}", "--download-only", "-y", "install",
                  *wanted])

        return self._unpack(name, fetch)
