#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""install.sh as users run it: in several shells, from directories and from a server on loopback, with releases that
are damaged in every way we can think of. After a failure there must be nothing new and nothing gone."""

import contextlib
import hashlib
import http.server
import io
import os
import pathlib
import shutil
import signal
import ssl
import stat
import subprocess
import sys
import tarfile
import tempfile
import threading
import urllib.request

import lib  # noqa: F401, finds those that follow
import tap
import tracker
from release import HOST, ROOT, VERSION, made
from tap import Skip, equal, expect, test
from tracker import directory, wait_until

SCRIPT = ROOT / "install.sh"
NAME = "resource-tracker"
SHELLS = {"sh": ["sh"], "dash": ["dash"], "bash": ["bash", "--posix"], "busybox": ["busybox", "sh"]}
GNU = f"{NAME}-{VERSION}-{HOST}-linux-gnu.tar.gz"
MUSL = f"{NAME}-{VERSION}-{HOST}-linux-musl.tar.gz"
# What the script needs, besides something to download and something to hash with.
TOOLS = ("sh", "uname", "getconf", "ldd", "head", "grep", "cut", "sort", "tar", "gzip", "mktemp", "mkdir", "chmod",
         "cp", "mv", "rm", "rmdir", "cat", "bash", "env")


def shell_words(name):
    program, *rest = SHELLS[name]
    found = shutil.which(program)
    if not found:
        raise Skip(f"no {program} here")
    return [found, *rest]


def snapshot(place):
    """Everything below a directory, with its content."""
    place = pathlib.Path(place)
    return {str(path.relative_to(place)): os.readlink(path) if path.is_symlink() else
            path.read_bytes() if path.is_file() else None for path in place.rglob("*")}


class Scenario:
    """A release in a directory that may be damaged, an empty prefix, a home, and a place for temporary files."""

    def __init__(self, place):
        self.place = place
        self.release, self.prefix = place / "the release", place / "pre fix"
        self.home, self.temporary = place / "home", place / "tmp"
        for path in (self.home, self.temporary):
            path.mkdir()
        shutil.copytree(made()[1], self.release)

    def environment(self, env):
        kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LD_LIBRARY_PATH")}
        return {**kept, "HOME": str(self.home), "TMPDIR": str(self.temporary), **env}

    def words(self, words, shell, source):
        words = [str(word) for word in words]
        if source != "" and "--uninstall" not in words:
            words += ["--from", str(source or self.release)]
        return [*shell_words(shell), str(SCRIPT), *words]

    def run(self, *words, shell="sh", source=None, env=None, **more):
        """The script to its end; the prefix is ours unless words name one."""
        return subprocess.run(self.words(words or ("--prefix", self.prefix), shell, source), text=True, cwd=self.place,
                              env=self.environment(env or {}), capture_output=True, timeout=60, check=False,
                              stdin=subprocess.DEVNULL, **more)

    def refused(self, words, *arguments, **more):
        """It fails with one line that holds the words, and nothing has changed."""
        before = snapshot(self.place)
        done = self.run(*arguments, **more)
        equal((done.returncode, done.stdout, len(done.stderr.splitlines())), (1, "", 1), done.stderr)
        expect(done.stderr.startswith("install.sh: ") and words in done.stderr, words, "not in", done.stderr)
        after = snapshot(self.place)
        equal(sorted(set(before) ^ set(after)), [], "what came or went")
        equal([name for name, value in before.items() if after[name] != value], [], "what changed")
        return done

    def installed(self, prefix=None):
        prefix = prefix or self.prefix
        reported = subprocess.run([prefix / "bin" / NAME, "--version"], capture_output=True, text=True, timeout=20,
                                  check=True)
        expect(reported.stdout.startswith(f"{NAME} {VERSION}\n"), reported.stdout)
        files = {name for name, content in snapshot(prefix).items() if content is not None}
        equal(len(files), 10, sorted(files))
        expect(not [name for name in files if ".new-" in name], files)
        equal(stat.S_IMODE((prefix / "bin" / NAME).stat().st_mode), 0o755, "mode")
        equal(list(self.temporary.iterdir()), [], "temporary files")

    def seal(self):
        """SHA256SUMS made anew, as one who controls the server would."""
        names = sorted(path.name for path in self.release.iterdir() if path.name != "SHA256SUMS")
        rows = [f"{hashlib.sha256((self.release / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
        (self.release / "SHA256SUMS").write_text("".join(rows))

    def tools(self, *names, **scripts):
        """A PATH with these tools only, and small scripts in the place of others."""
        place = self.place / "tools"
        place.mkdir(exist_ok=True)
        for name in names:
            found = shutil.which(name)
            if found and not (place / name).exists():
                (place / name).symlink_to(found)
        for name, text in scripts.items():
            (place / name).unlink(missing_ok=True)
            (place / name).write_text("#!/bin/sh\n" + text)
            (place / name).chmod(0o755)
        return {"PATH": str(place)}


@contextlib.contextmanager
def scenario():
    with directory() as place:
        yield Scenario(place)


@contextlib.contextmanager
def server(release, behaviour="whole"):
    """Serves a release; archives may be cut, be replaced by a page, or never come."""
    stalled, leave = threading.Event(), threading.Event()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            path = release / self.path.lstrip("/")
            content = path.read_bytes() if path.is_file() else None
            if content is None:
                self.send_error(404)
                return
            self.send_response(200)
            is_archive = self.path.endswith(".tar.gz")
            if is_archive and behaviour == "endless":
                self.end_headers()
                with contextlib.suppress(OSError):
                    while not leave.is_set():
                        self.wfile.write(bytes(1 << 20))
                return
            if not (is_archive and behaviour == "cut without a length"):
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if is_archive and behaviour == "stall":
                stalled.set()
                leave.wait(30)
            self.wfile.write(content[:len(content) // 2] if is_archive and behaviour.startswith("cut") else content)

        def log_message(self, *_):
            pass

    listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.server_port}", stalled
    finally:
        leave.set()
        listener.shutdown()
        thread.join()
        listener.server_close()


def install_and_remove(shell):
    with scenario() as here:
        done = here.run("--prefix", here.prefix, shell=shell)
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        expect(done.stdout.startswith(f"{NAME} {VERSION} ({HOST}-linux-"), done.stdout)
        expect("not in your PATH" in done.stdout, done.stdout)
        here.installed()
        equal(here.run("--prefix", here.prefix, shell=shell).returncode, 0, "a second time")
        here.installed()
        (here.prefix / "bin/other").touch()
        done = here.run("--uninstall", "--prefix", here.prefix, shell=shell)
        equal((done.returncode, done.stdout), (0, f"{NAME} is removed from {here.prefix}\n"), done.stderr)
        equal(sorted(snapshot(here.prefix)), ["bin", "bin/other"], "what is left, directories included")
        here.refused("nothing is installed below", "--uninstall", "--prefix", here.prefix, shell=shell)


def refuse_damage(shell):
    """Every damage of a release, in one shell."""
    def cut_archive(here):
        path = here.release / chosen
        path.write_bytes(path.read_bytes()[:-100])

    def turn_a_bit(here):
        content = bytearray((here.release / chosen).read_bytes())
        content[len(content) // 2] ^= 1
        (here.release / chosen).write_bytes(content)

    def edit_sums(change):
        def edit(here):
            path = here.release / "SHA256SUMS"
            path.write_text("".join(change(line) for line in path.read_text().splitlines(True)))
        return edit

    chosen = MUSL
    cases = {
        "cut": (cut_archive, "is not what SHA256SUMS says"), "one bit": (turn_a_bit, "is not what SHA256SUMS says"),
        "no archive": (lambda here: (here.release / chosen).unlink(), "there is no such file"),
        "no sums": (lambda here: (here.release / "SHA256SUMS").unlink(), "there is no such file"),
        "empty sums": (edit_sums(lambda line: ""), "nothing can be verified"),
        "no entry": (edit_sums(lambda line: "" if chosen in line else line), "nothing can be verified"),
        "short hash": (edit_sums(lambda line: line[8:] if chosen in line else line), "is damaged"),
        "odd hash": (edit_sums(lambda line: "g" + line[1:]), "is damaged"),
        "upper case": (edit_sums(lambda line: line[:64].upper() + line[64:]), "is damaged"),
        "two entries": (edit_sums(lambda line: line * 2), "more than one"),
        "path": (edit_sums(lambda line: line.replace("  ", "  ../")), "nothing can be verified"),
        "odd name": (edit_sums(lambda line: line.replace(NAME + "-", NAME + "-$(touch${IFS}x)-")), "can be verified")}
    for name, (harm, words) in cases.items():
        with scenario() as here:
            harm(here)
            here.refused(words, "--prefix", here.prefix, "--libc", "musl", shell=shell)
            tap.diag(f"{name}: {words}")


for each in SHELLS:
    tap.add(f"installs and removes itself in {each}", install_and_remove, each, limit=60)
for each in SHELLS:
    tap.add(f"refuses a damaged release in {each}", refuse_damage, each, limit=90)


@test(limit=60)
def a_cut_sum_file_without_its_last_line_feed_still_counts_whole_lines():
    with scenario() as here:
        text = [line for line in (here.release / "SHA256SUMS").read_text().splitlines() if MUSL in line][0]
        (here.release / "SHA256SUMS").write_text(text)
        equal(here.run("--prefix", here.prefix, "--libc", "musl").returncode, 0, "whole line")
        for keep in (len(text) - 1, 66, 64, 10, 1):
            (here.release / "SHA256SUMS").write_text(text[:keep])
            here.refused("nothing can be verified", "--prefix", here.prefix, "--libc", "musl")


def archive_with(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        for entry, content in entries:
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def ours(content):
    """The entries of the good archive, with another program."""
    with tarfile.open(made()[1] / MUSL) as archive:
        for entry in archive.getmembers():
            yield entry, content if entry.name.startswith("bin/") else archive.extractfile(entry).read()


@test(limit=90)
def nothing_runs_before_it_is_verified():
    with scenario() as here:
        mark = here.place / "mark"
        program = f"#!/bin/sh\ntouch '{mark}'\necho {NAME} {VERSION}\n".encode()
        (here.release / MUSL).write_bytes(archive_with(ours(program)))
        here.refused("is not what SHA256SUMS says", "--prefix", here.prefix, "--libc", "musl")
        expect(not mark.exists(), "it ran")
        here.seal()
        equal(here.run("--prefix", here.prefix, "--libc", "musl").returncode, 0, "with a fitting sum")
        expect(mark.exists(), "the test proves nothing")


@test(limit=90)
def archives_with_other_content_are_refused_even_with_a_fitting_sum():
    def link(entry):
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
        return entry

    good = list(ours(b"#!/bin/sh\necho no\n"))
    cases = (
        ([*good, (tarfile.TarInfo("../evil"), b"")], "other files than expected"),
        ([*good, (tarfile.TarInfo("bin/more"), b"")], "other files than expected"),
        (good[1:], "other files than expected"),
        ([(link(entry) if "man1" in entry.name else entry, b"" if "man1" in entry.name else content)
          for entry, content in ours(b"")], "is no plain file"),
        (good, "does not run here"))
    for entries, words in cases:
        with scenario() as here:
            (here.release / MUSL).write_bytes(archive_with(entries))
            here.seal()
            here.refused(words, "--prefix", here.prefix, "--libc", "musl")
    with scenario() as here:
        (here.release / MUSL).write_bytes(b"no gzip")
        here.seal()
        here.refused("cannot be unpacked", "--prefix", here.prefix, "--libc", "musl")


def from_a_server(tool, behaviour, words):
    if not shutil.which(tool.split()[0]):
        raise Skip(f"no {tool.split()[0]} here")
    with scenario() as here, server(here.release, behaviour) as (address, _):
        env = here.tools(*TOOLS, "sha256sum", *([] if " " in tool else [tool]))
        if " " in tool:
            here.tools(wget=f'exec {shutil.which("busybox")} wget "$@"\n')
        arguments = ("--prefix", here.prefix)
        if words:
            here.refused(words, *arguments, source=address, env=env)
        else:
            done = here.run(*arguments, source=address + "/", env=env)
            equal((done.returncode, done.stderr), (0, ""), done.stdout)
            here.installed()


for each in ("curl", "wget", "busybox wget"):
    tap.add(f"installs from a server with {each}", from_a_server, each, "whole", None, limit=60)
    tap.add(f"refuses what a server cuts off with {each}", from_a_server, each, "cut", "cannot get", limit=60)
    tap.add(f"refuses what a server cuts off silently with {each}", from_a_server, each, "cut without a length",
            "is not what SHA256SUMS says", limit=60)
    tap.add(f"does not fill the disk with {each}", from_a_server, each, "endless", "cannot get", limit=60)


@contextlib.contextmanager
def encrypted(place, address):
    """A proxy that speaks TLS for a server, with a certificate that is not trusted; yields its address."""
    openssl = shutil.which("openssl")
    if not openssl:
        raise Skip("no openssl here")
    subprocess.run([openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=other.example", "-days",
                    "2", "-keyout", place / "key", "-out", place / "crt"], check=True, capture_output=True, timeout=60)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(place / "crt", place / "key")
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # all that the wget of BusyBox speaks, with old ciphers
    context.set_ciphers("ALL:@SECLEVEL=0")

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):  # pylint: disable=invalid-name
            with urllib.request.urlopen(address + self.path, timeout=20) as answer:
                content = answer.read()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_):
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_):  # a client that refuses the certificate
            pass

    with Server(("127.0.0.1", 0), Handler) as listener:
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        thread = threading.Thread(target=listener.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"https://127.0.0.1:{listener.server_address[1]}"
        finally:
            listener.shutdown()
            thread.join(10)


@test(limit=120)
def https_without_verification_is_refused():
    busybox = shutil.which("busybox")
    if not busybox:
        raise Skip("no busybox here")
    with scenario() as here, directory() as keys, server(here.release) as (address, _), \
            encrypted(keys, address) as secure:
        env = here.tools(*TOOLS, "sha256sum", wget=f'exec {busybox} wget "$@"\n')
        arguments = ("--prefix", here.prefix, "--libc", "gnu")
        here.refused("this wget does not check the certificate", *arguments, source=secure, env=env)
        here.refused("--sha256", *arguments, source=secure, env=env)
        # A sum that came on another way is worth what the certificate would be.
        good = hashlib.sha256((here.release / GNU).read_bytes()).hexdigest()
        probe = subprocess.run([busybox, "wget", "-q", "-O", "-", f"{secure}/SHA256SUMS"], capture_output=True,
                               timeout=30, check=False, env=env)
        if probe.returncode != 0:
            raise Skip(f"this busybox has no TLS: {probe.stderr.decode(errors='replace').strip()}")
        here.refused("is not the one with the --sha256", *arguments, "--sha256", "0" * 64, source=secure, env=env)
        done = here.run(*arguments, f"--sha256={good}", source=secure, env=env)
        equal(done.returncode, 0, done.stderr)
        here.installed()
    # Those that verify refuse by themselves.
    for tool in ("curl", "wget"):
        if shutil.which(tool):
            with scenario() as here, directory() as keys, server(here.release) as (address, _), \
                    encrypted(keys, address) as secure:
                env = here.tools(*TOOLS, "sha256sum", tool)
                here.refused("cannot get", "--prefix", here.prefix, source=secure, env=env)


@test(limit=60)
def a_sum_that_is_given_is_kept():
    with scenario() as here:
        good = hashlib.sha256((here.release / GNU).read_bytes()).hexdigest()
        here.refused("is not the one with the --sha256", "--prefix", here.prefix, "--libc", "gnu", "--sha256", "0" * 64)
        # As one who controls the server would: another archive, and sums that fit it.
        (here.release / GNU).write_bytes((here.release / MUSL).read_bytes())
        here.seal()
        here.refused("is not the one with the --sha256", "--prefix", here.prefix, "--libc", "gnu", "--sha256", good)


def need_downloader():
    if not shutil.which("curl") and not shutil.which("wget"):
        raise Skip("neither curl nor wget is installed")


@test(limit=60)
def a_server_without_the_files_is_named():
    need_downloader()
    with scenario() as here, server(here.place / "nothing") as (address, _):
        here.refused(f"cannot get {address}/SHA256SUMS: ", "--prefix", here.prefix, source=address)
    with scenario() as here:
        here.refused("cannot get http://127.0.0.1:1/SHA256SUMS: ", "--prefix", here.prefix, source="http://127.0.0.1:1")


@test(limit=60)
def a_signal_in_the_middle_leaves_nothing():
    need_downloader()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        with scenario() as here, server(here.release, "stall") as (address, stalled):
            before = snapshot(here.place)
            child = subprocess.Popen(here.words(("--prefix", here.prefix), "sh", address), cwd=here.place,
                                     env=here.environment({}), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                     stderr=subprocess.DEVNULL, start_new_session=True)
            try:
                wait_until(stalled.is_set, "the download")
                os.killpg(child.pid, number)
                equal(child.wait(20), 128 + number, "status")
            finally:
                if child.poll() is None:
                    os.killpg(child.pid, signal.SIGKILL)
                    child.wait(20)
            equal(snapshot(here.place), before, "what changed")


@test(limit=60)
def the_build_fits_the_machine():
    cases = (({"uname": 'case $1 in -s) echo Linux ;; *) echo riscv64 ;; esac\n'}, "no build for riscv64"),
             ({"uname": 'case $1 in -s) echo Darwin ;; *) echo arm64 ;; esac\n'}, "this is Darwin"))
    for scripts, words in cases:
        with scenario() as here:
            here.refused(words, "--prefix", here.prefix, env=here.tools(*TOOLS, "sha256sum", **scripts))
    versions = (("echo glibc 2.17\n", "exit 1\n", "gnu"), ("echo glibc 2.16\n", "exit 1\n", "musl"),
                ("echo glibc 3.0\n", "exit 1\n", "gnu"), ("exit 1\n", "echo 'ldd (GNU libc) 2.31'\n", "gnu"),
                ("exit 1\n", "echo 'ldd (Debian GLIBC 2.12-4) 2.12'\n", "musl"),
                ("exit 1\n", "echo 'musl libc (x86_64)' >&2; exit 1\n", "musl"), ("echo\n", "echo\n", "musl"),
                ("echo glibc 2.x\n", "exit 1\n", "musl"))
    for getconf, ldd, want in versions:
        with scenario() as here:
            done = here.run("--prefix", here.prefix, env=here.tools(*TOOLS, "sha256sum", getconf=getconf, ldd=ldd))
            equal(done.returncode, 0, f"{getconf}{ldd}{done.stderr}")
            expect(f"({HOST}-linux-{want})" in done.stdout, getconf, ldd, done.stdout)


@test(limit=60)
def the_tools_of_busybox_are_enough():
    words = shell_words("busybox")
    has = subprocess.run([*words[:1], "--list"], capture_output=True, text=True, timeout=20, check=True).stdout.split()
    with scenario() as here:
        place = here.place / "tools"
        place.mkdir()
        for name in sorted({*TOOLS, "sha256sum"} & set(has)):
            (place / name).symlink_to(shutil.which("busybox"))
        done = here.run("--prefix", here.prefix, env={"PATH": str(place)}, shell="busybox")
        equal((done.returncode, done.stderr), (0, ""), done.stdout)
        expect(f"({HOST}-linux-musl)" in done.stdout, done.stdout)
        here.installed()


@test(limit=60)
def a_program_that_does_not_run_here_is_not_installed():
    other = {"x86_64": "aarch64", "aarch64": "x86_64"}[HOST]
    with scenario() as here:
        env = here.tools(*TOOLS, "sha256sum", uname=f"case $1 in -s) echo Linux ;; *) echo {other} ;; esac\n")
        here.refused(f"the {other}-linux-gnu build does not run here (try --libc musl)", "--prefix", here.prefix,
                     "--libc", "gnu", env=env)
        here.refused(f"the {other}-linux-musl build does not run here, or", "--prefix", here.prefix, "--libc", "musl",
                     env=env)


@test(limit=60)
def tools_that_are_missing_are_named():
    with scenario() as here:
        env = here.tools(*TOOLS)
        here.refused("none of sha256sum, shasum and openssl", "--prefix", here.prefix, env=env)
        here.refused("neither curl nor wget", "--prefix", here.prefix, env=env, source="https://localhost/x")
        for tool in ("shasum", "openssl", "sha256sum"):
            if shutil.which(tool):
                done = here.run("--prefix", here.prefix, env=here.tools(tool, "perl"))
                equal(done.returncode, 0, f"{tool}: {done.stderr}")
                here.tools(**{tool: "echo 0000\n"})
                expect(here.run("--prefix", here.prefix, env=env).returncode != 0, f"{tool} is not asked")
                (here.place / "tools" / tool).unlink()
        (here.place / "tools" / "gzip").unlink()
        here.refused("gzip is missing", "--prefix", here.prefix, env=here.tools("sha256sum"))


@test(limit=60)
def a_program_of_the_same_name_is_left_alone():
    with scenario() as here:
        place = here.prefix / "bin" / NAME
        place.parent.mkdir(parents=True)
        place.write_text("#!/bin/sh\necho resource-tracker 0.1.18\n", encoding="ascii")
        place.chmod(0o755)
        here.refused("is another program of that name; remove it", "--prefix", here.prefix)
        here.refused("is another program of that name; nothing is removed", "--uninstall", "--prefix", here.prefix)
        # One of ours that came in another way is replaced.
        place.write_text("#!/bin/sh\necho resource-tracker 0.0.1\necho mbedTLS 3.6.7\n", encoding="ascii")
        equal(here.run("--prefix", here.prefix).returncode, 0, "status")
        here.installed()


@test(limit=60)
def a_backslash_in_the_prefix_is_no_more_than_that():
    for shell in SHELLS:
        with scenario() as here:
            (here.place / "tool").write_text("precious", encoding="ascii")
            prefix = here.place / "tool\\cfoo\\nbar"
            try:
                done = here.run("--prefix", prefix, shell=shell)
            except Skip:
                continue
            equal((done.returncode, done.stderr), (0, ""), shell)
            here.installed(prefix)
            equal((here.place / "tool").read_text(encoding="ascii"), "precious", shell)


@test(limit=60)
def sums_as_other_systems_write_them_are_taken():
    for change in (lambda line: line + "\r", lambda line: line.replace("  ", " *"),
                   lambda line: line.replace("  ", "  ./")):
        with scenario() as here:
            path = here.release / "SHA256SUMS"
            lines = [change(line) for line in path.read_text(encoding="ascii").splitlines()]
            path.write_text("\n".join(lines) + "\n", encoding="ascii", newline="")
            done = here.run("--prefix", here.prefix)
            equal((done.returncode, done.stderr), (0, ""), lines[0])


@test(limit=60)
def an_archive_with_the_name_of_another_version_is_refused():
    with scenario() as here:
        other = GNU.replace(f"-{VERSION}-", "-9.9.9-")
        (here.release / GNU).rename(here.release / other)
        path = here.release / "SHA256SUMS"
        path.write_text(path.read_text(encoding="ascii").replace(GNU, other), encoding="ascii")
        here.refused(f"{other} holds {NAME} {VERSION}", "--prefix", here.prefix, "--version", "9.9.9", "--libc", "gnu")


@test
def wget_is_kept_from_continuing_without_encryption():
    for source, want in (("https://localhost/x", "http://127.0.0.1:9"), ("http://localhost/x", "unset")):
        with scenario() as here:
            note = here.place / "tmp note"
            env = here.tools(*TOOLS, "sha256sum",
                             wget=f'case $1 in --help) echo --tries --ca-certificate; exit ;; esac\n'
                             f'echo "${{http_proxy-unset}}" >"{note}"\nexit 1\n')
            done = here.run("--prefix", here.prefix, env=env, source=source)
            equal((done.returncode, note.read_text().strip()), (1, want), f"{source}: {done.stderr}")


@test(limit=60)
def words_that_make_no_sense_are_refused():
    for words, arguments, source in (
            ("where from?", (), ""), ("--prefix needs a value", ("--prefix",), ""), ("unknown argument x", ("x",), ""),
            ("--libc is gnu or musl", ("--libc", "glibc"), None), ("is no version", ("--version", "1/2"), None),
            ("names no resource-tracker-9.9-", ("--version", "9.9"), None), ("is no directory", (), "/nowhere"),
            ("is not encrypted", (), "http://example.org/x"), ("only https and http", (), "ftp://example.org"),
            ("name or a password", (), "http://localhost:1@example.org/"),
            ("is not encrypted", (), "http://localhost.x/"), ("is no SHA-256", ("--sha256", "abc"), None)):
        with scenario() as here:
            before = snapshot(here.place)
            done = here.run(*(arguments or ("--libc", "musl")), source=source)
            equal((done.returncode, len(done.stderr.splitlines())), (1, 1), f"{arguments} {source}: {done.stderr}")
            expect(words in done.stderr, words, "not in", done.stderr)
            equal(snapshot(here.place), before, "what changed")
    with scenario() as here:
        done = here.run("--help", source="")
        equal((done.returncode, done.stderr, done.stdout.split()[0]), (0, "", "usage:"), "help")
        done = here.run(f"--prefix={here.prefix}", f"--version=v{VERSION}", source="",
                        env={"RESOURCE_TRACKER_RELEASES": str(here.release)})
        equal(done.returncode, 0, done.stderr)
        here.installed()


@test(limit=60)
def an_installation_that_fails_at_its_last_step_is_taken_back():
    with scenario() as here:
        equal(here.run("--prefix", here.prefix).returncode, 0, "the first")
        (here.prefix / "bin" / NAME).write_bytes(b"an older one")
        for name, target in (("LICENSE", here.prefix / "bin" / NAME), ("README.md", "nowhere")):
            path = here.prefix / "share/doc" / NAME / name
            path.unlink()
            path.symlink_to(target)
        env = here.tools(*TOOLS, "sha256sum")
        place = shutil.which("mv")
        here.tools(mv=f'case "$*" in *_{NAME}) exit 1 ;; esac\nexec {place} "$@"\n')
        here.refused("cannot replace", "--prefix", here.prefix, env=env)
    with scenario() as here:
        env = here.tools(*TOOLS, "sha256sum", mv="exit 1\n")
        here.refused("cannot replace", "--prefix", here.prefix / "new" / "deep", env=env)
    with scenario() as here:
        (here.prefix / "share/zsh/site-functions" / f"_{NAME}").mkdir(parents=True)
        here.refused("is a directory", "--prefix", here.prefix)


@test(limit=60)
def a_prefix_that_cannot_be_written_is_named():
    with scenario() as here:
        here.prefix.write_text("a file")
        here.refused(f"cannot write to {here.prefix}/bin", "--prefix", here.prefix)
    if os.geteuid() != 0:
        raise Skip("the other half needs root, to be another user")
    with tempfile.TemporaryDirectory(prefix="rt-e2e-") as name:
        place = pathlib.Path(name)
        place.chmod(0o755)
        (place / "closed").mkdir(mode=0o755)
        here = Scenario(place)
        for path in (here.home, here.temporary):
            os.chown(path, 65534, 65534)
        as_nobody = {"user": 65534, "group": 65534, "extra_groups": []}
        if subprocess.run(["test", "-r", SCRIPT], check=False, timeout=20, **as_nobody).returncode != 0:
            raise Skip("the user nobody cannot read the script")
        here.refused("give another --prefix", "--prefix", place / "closed", **as_nobody)
        here.refused("give another --prefix", "--prefix", place / "closed/deep/er", **as_nobody)
        done = here.run("--libc", "musl", **as_nobody)
        equal(done.returncode, 0, done.stderr)
        if os.stat("/usr/local").st_uid == 0:
            here.installed(here.home / ".local")


@test
def a_script_that_was_cut_off_does_nothing():
    lines = SCRIPT.read_text().splitlines(True)
    equal(lines[-1], 'main "$@"\n', "the last line")
    with scenario() as here:
        before = snapshot(here.place)
        words = ["sh", "-s", "--", "--from", here.release, "--prefix", here.prefix]
        done = subprocess.run(words, env=here.environment({}), input="".join(lines[:-1]), text=True,
                              capture_output=True, timeout=20, check=False)
        equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "output")
        equal(snapshot(here.place), before, "what changed")
        done = subprocess.run(words, env=here.environment({}), input="".join(lines), text=True, capture_output=True,
                              timeout=20, check=False)
        equal(done.returncode, 0, done.stderr)
        here.installed()


if tracker.SANITIZED:
    print("1..0 # SKIP the installer does not depend on how the program is built")
    sys.exit(0)
tap.main()
