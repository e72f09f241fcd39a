#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What stands between a fresh clone and its first build and test: tools/setup where something is missing or broken, and
how tools/run-tests sums up. Both run with made-up programs around them, and change nothing of the machine."""

import contextlib
import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test
from tracker import ROOT, directory

# What the scripts take from any system; everything else is played.
REAL = ("sh", "sed", "grep", "sort", "mkdir", "mktemp", "cut", "sha256sum", "cp", "mv", "rm", "dirname", "cat", "env",
        "timeout", "cmp", "python3")
BASE = ["gcc", "libc6-dev", "make", "meson", "ninja-build", "pkg-config"]
CHECK = [*BASE, "libcmocka-dev", "python3"]
WRAPS = {"mbedtls": "mbedtls-3.6.7", "zlib": "zlib-1.3.1"}
FAKES = {
    "dpkg-query": 'for last; do :; done; if grep -qx "$last" "$HERE/installed"; then echo installed; else exit 1; fi',
    "apt-get": 'echo "$@" >>"$HERE/calls"; for word; do ! grep -qxe "$word" "$HERE/broken" || exit 100; done; '
               'for word; do echo "$word" >>"$HERE/installed"; done',
    "apt-cache": 'echo "Package: $2"',
    "id": 'cat "$HERE/uid"',
    "meson": "exit 1",
}


class Clone:
    """A clone as far as tools/setup looks at it, with sources that were already downloaded."""

    def __init__(self, place, installed=(), uid=1000, broken=()):
        self.place = place
        self.bin = place / "bin"
        self.bin.mkdir()
        for name in REAL:
            path = sys.executable if name == "python3" else shutil.which(name)  # no starter of many versions
            if not path:
                raise Skip(f"{name} is not installed")
            (self.bin / name).symlink_to(path)
        for name, text in FAKES.items():
            self.play(name, text)
        for name, lines in (("installed", installed), ("broken", broken), ("uid", [str(uid)]), ("calls", [])):
            (place / name).write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
        (place / "tools").mkdir()
        shutil.copy(ROOT / "tools" / "setup", place / "tools")
        self.sources = place / "subprojects"
        (self.sources / "packagecache").mkdir(parents=True)
        for name, stem in WRAPS.items():
            self.pack(name, stem)

    def play(self, name, text):
        path = self.bin / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/sh\n{text}\n", encoding="ascii")
        path.chmod(0o755)

    def pack(self, name, stem):
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:bz2") as archive:
            member = tarfile.TarInfo(f"{stem}/README")
            archive.addfile(member, io.BytesIO())
        self.store(name, stem, content.getvalue())

    def store(self, name, stem, content):
        """A downloaded archive that is as its wrap file wants it."""
        (self.sources / "packagecache" / f"{stem}.tar.bz2").write_bytes(content)
        ours = self.sources / "packagefiles" / name
        ours.mkdir(parents=True, exist_ok=True)
        (ours / "meson.build").write_text("", encoding="ascii")
        rows = {"directory": stem, "source_filename": f"{stem}.tar.bz2",
                "source_hash": hashlib.sha256(content).hexdigest(), "patch_directory": name}
        text = "[wrap-file]\n" + "".join(f"{key} = {value}\n" for key, value in rows.items())
        (self.sources / f"{name}.wrap").write_text(text, encoding="ascii")

    def setup(self, kind, status=0):
        env = {"PATH": str(self.bin), "HERE": str(self.place), "TMPDIR": str(self.place)}
        done = subprocess.run([self.place / "tools" / "setup", kind], env=env, stdin=subprocess.DEVNULL, text=True,
                              capture_output=True, timeout=60, check=False)
        equal(done.returncode, status, f"exit status (stdout {done.stdout!r}, stderr {done.stderr!r})")
        return done

    def calls(self):
        return (self.place / "calls").read_text(encoding="ascii").splitlines()

    def unpacked(self):
        """The directories of sources that a build would take, and what is in them."""
        known = ("packagecache", "packagefiles")
        return {path.name: sorted(inner.name for inner in path.iterdir()) for path in self.sources.iterdir()
                if path.is_dir() and path.name not in known}

    def check_whole(self):
        equal(self.unpacked(), {name: ["README", "meson.build"] for name in WRAPS.values()}, "sources")
        names = sorted(path.name for path in (self.sources / "packagecache").iterdir())
        equal(names, [f"{name}.tar.bz2" for name in sorted(WRAPS.values())], "what is left in packagecache")


@contextlib.contextmanager
def clone(**more):
    with directory() as place:
        yield Clone(place, **more)


@test
def one_line_says_what_to_install_where_there_is_no_sudo():
    with clone(installed=["gcc", "libc6-dev", "make"]) as here:
        done = here.setup("build", status=1)
        words = "tools/setup: missing packages; an administrator has to run: apt-get install --no-install-recommends"
        expect(done.stderr.startswith(words) and done.stderr.count("\n") == 1, done.stderr)
        # The made-up meson counts as one that came in another way.
        equal(done.stderr.removeprefix(words).split(), ["ninja-build", "pkg-config"], "packages")
        equal(done.stdout, "", "stdout")
        equal(here.calls(), [], "calls of apt-get")


@test
def a_user_without_sudo_goes_on_where_only_optional_packages_are_missing():
    with clone(installed=CHECK) as here:
        done = here.setup("check")
        expect("not installed, tests that need them are skipped:" in done.stdout, done.stdout)
        expect("strace" in done.stdout, done.stdout)
        equal(done.stderr, "", "stderr")
        here.check_whole()


@test
def nothing_is_said_or_done_where_nothing_is_missing():
    with clone(installed=BASE) as here:
        here.setup("build")
        done = here.setup("build")
        equal([done.stdout, done.stderr, here.calls()], ["", "", []], "stdout, stderr, calls of apt-get")
        here.check_whole()


@test
def root_installs_everything_at_once():
    with clone(uid=0) as here:
        here.setup("check")
        installs = [call.split() for call in here.calls() if " install " in call]
        equal(len(installs), 1, "calls")
        expect(all(name in installs[0] for name in ("gcc", "libcmocka-dev", "strace")), installs)
        expect("chromium" not in installs[0], "a browser that nothing drives is installed")


@test
def a_user_with_sudo_installs_through_it():
    with clone(installed=CHECK[:3]) as here:
        here.play("sudo", '[ "$1" != -n ] || shift; echo sudo "$1" >>"$HERE/calls"; exec "$@"')
        here.play("true", "exit 0")
        here.setup("build")
        expect("sudo env" in here.calls() and any(" install " in call for call in here.calls()), here.calls())


@test
def a_sudo_that_asks_for_a_password_without_a_terminal_is_none():
    with clone(installed=CHECK[:3]) as here:
        here.play("sudo", "exit 1")
        done = here.setup("build", status=1)
        expect("an administrator has to run:" in done.stderr and done.stderr.count("\n") == 1, done.stderr)


@test
def an_optional_package_that_cannot_be_installed_is_named_and_done_without():
    with clone(uid=0, broken=["strace"]) as here:
        done = here.setup("check")
        expect("cannot install strace, tests that need it are skipped" in done.stdout, done.stdout)
        installed = (here.place / "installed").read_text(encoding="ascii").split()
        expect("jq" in installed and "gcc" in installed and "strace" not in installed, installed)


@test
def a_package_that_is_needed_and_cannot_be_installed_is_the_end():
    with clone(uid=0, broken=["gcc"]) as here:
        done = here.setup("build", status=1)
        expect("cannot install gcc" in done.stderr, done.stderr)


@test
def sources_are_unpacked_where_tar_lacks_bzip2():
    with clone(installed=BASE) as here:
        here.play("tar", "echo 'tar (child): lbzip2: Cannot exec: No such file or directory' >&2; exit 2")
        here.setup("build")
        here.check_whole()


@test
def what_cannot_be_unpacked_leaves_nothing_and_the_library_of_the_system_is_used():
    with clone(installed=[*BASE, "libmbedtls-dev", "zlib1g-dev"]) as here:
        # Both stop in the middle.
        here.play("tar", 'mkdir -p "$4/mbedtls-3.6.7" "$4/zlib-1.3.1"; exit 2')
        here.play("python3", "exit 1")
        done = here.setup("build")
        equal(done.stdout.count("the library of this system is used"), 2, done.stdout)
        equal(here.unpacked(), {}, "sources")
        equal(list((here.sources / "packagecache").glob("*.??????")), [], "parts")


@test
def an_archive_of_other_content_is_not_used():
    with clone(installed=[*BASE, "libmbedtls-dev"]) as here:
        path = here.sources / "packagecache" / "mbedtls-3.6.7.tar.bz2"
        path.write_bytes(path.read_bytes() + b"x")
        done = here.setup("build")
        expect("mbedtls-3.6.7 cannot be fetched or unpacked" in done.stdout, done.stdout)
        equal(list(here.unpacked()), ["zlib-1.3.1"], "sources")


@test
def the_library_of_the_system_is_asked_for_where_sources_cannot_be_had():
    with clone(installed=BASE) as here:
        here.store("zlib", "zlib-1.3.1", b"no archive")
        done = here.setup("build", status=1)
        expect(done.stderr.endswith("apt-get install --no-install-recommends zlib1g-dev\n"), done.stderr)


def as_rows(tests):
    return "\n".join(json.dumps({"name": name, "result": result, "stdout": text}) for name, result, text in tests)


def sum_up(*tests, returncode=0, alone=()):
    """What run-tests says of these results, and of those of tests that are repeated alone: (name, result, TAP)."""
    with directory() as place:
        (place / "meson-logs").mkdir()
        (place / "rows").write_text(as_rows(tests), encoding="utf-8")
        (place / "alone").write_text(as_rows(alone), encoding="utf-8")
        meson = place / "meson"
        meson.write_text('#!/bin/sh\n'
                         'case "$*" in *"--num-processes 1 "*) from=alone ;; *) from=rows ;; esac\n'
                         f'cp "{place}/$from" "{place}/meson-logs/testlog.json"\nexit {returncode}\n', encoding="utf-8")
        meson.chmod(0o755)
        done = subprocess.run([ROOT / "tools" / "run-tests", place], text=True, capture_output=True, timeout=30,
                              env={**os.environ, "PATH": f"{place}:{os.environ['PATH']}"}, check=False)
    return done.returncode, done.stdout.splitlines()


@test
def skipped_tests_are_summed_up_by_reason_and_failures_come_last():
    status, lines = sum_up(
        ("a", "FAIL", "1..3\nok 1 - x # SKIP strace is not installed\nnot ok 2 - y\n# why\nok 3 - z\n"),
        ("b", "OK", "1..2\nok 1 - p # SKIP strace is not installed\nok 2 - q # SKIP no groups can be made in /a/b\n"),
        ("c", "OK", "1..1\nok 1 - r # SKIP no groups can be made in /a/c\n"),
        ("d", "SKIP", "1..0 # SKIP the 709 cases of toml-test: no corpus\n"), returncode=1)
    equal(status, 1, "exit status")
    equal(lines, ["skipped   2: strace is not installed (such as a: x)",
                  "skipped   2: no groups can be made in /a/b (such as b: q)",
                  "skipped   1: the 709 cases of toml-test: no corpus (d)",
                  "failed: a: y", "    # why", "1 passed, 1 failed, 5 skipped"], "lines")


@test
def a_test_program_that_fails_without_a_word_is_a_failure():
    status, lines = sum_up(("a", "OK", "1..1\nok 1 - x\n"), ("b", "TIMEOUT", "1..2\nok 1 - y\n"), returncode=1)
    equal([status, lines[-2:]], [1, ["failed: b: TIMEOUT", "2 passed, 1 failed"]], "result")


FLAKY = ("p:e2e / e2e tree", "FAIL", "1..2\nok 1 - x\nnot ok 2 - y\n# 3 is not 4\n")
STEADY = ("p:e2e / e2e tree", "OK", "1..2\nok 1 - x\nok 2 - y\n")


@test
def an_end_to_end_test_that_fails_is_repeated_alone_and_that_is_said():
    status, lines = sum_up(FLAKY, ("p:unit / buf", "OK", "1..1\nok 1 - z\n"), returncode=1, alone=[STEADY])
    equal([status, lines[-1]], [0, "3 passed, 0 failed, 1 repeated"], "result")
    equal(lines[:3], ["repeated, alone: p:e2e / e2e tree; the first time:", "failed: p:e2e / e2e tree: y",
                      "    # 3 is not 4"], "what is shown of the first time")
    status, lines = sum_up(FLAKY, returncode=1, alone=[FLAKY])
    equal([status, lines[-1]], [1, "1 passed, 1 failed, 1 repeated"], "where it fails again")


@test
def what_no_timing_explains_is_not_repeated():
    unit = ("p:unit / buf", "FAIL", "1..1\nnot ok 1 - z\n")
    report = ("p:e2e / e2e tree", "FAIL", "1..1\nnot ok 1 - x\n# ERROR: AddressSanitizer: heap-use-after-free\n")
    many = [(f"p:e2e / e2e {name}", "FAIL", "1..1\nnot ok 1 - x\n") for name in "abcd"]
    for case in ([unit], [report], [FLAKY, unit], many):
        status, lines = sum_up(*case, returncode=1, alone=[STEADY])
        equal(status, 1, "exit status")
        expect("repeated" not in lines[-1], lines)


@test
def without_any_test_it_is_a_failure():
    status, lines = sum_up()
    equal([status, lines[-1]], [1, "0 passed, 1 failed"], "result")


if __name__ == "__main__":
    tap.main()
