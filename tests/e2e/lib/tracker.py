# SPDX-License-Identifier: Apache-2.0
"""The tracker as a user runs it: started in an empty directory with a clean environment, its lines read as they come.

RESOURCE_TRACKER names the binary. Every process is ended through its own Popen object.
"""

import atexit
import contextlib
import errno
import fcntl
import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from tap import Skip, expect

ROOT = pathlib.Path(__file__).resolve().parents[3]
BINARY = os.environ.get("RESOURCE_TRACKER", "")
if not BINARY or not os.access(BINARY, os.X_OK):
    print("Bail out! RESOURCE_TRACKER does not name a program")
    sys.exit(1)


def for_everyone(program):
    """The program, or where root built it in a directory that is closed to others a copy that they may run as well."""
    path = pathlib.Path(os.path.abspath(program))
    if os.geteuid() != 0 or all(parent.stat().st_mode & 0o001 for parent in path.parents):
        return str(path)
    shelf = pathlib.Path(tempfile.mkdtemp(prefix="rt-e2e-"))
    owner = os.getpid()
    atexit.register(lambda: os.getpid() == owner and shutil.rmtree(shelf, ignore_errors=True))
    shelf.chmod(0o755)
    return shutil.copy(path, shelf)


BINARY = for_everyone(BINARY)
WAIT_SECS = 8
STDERR_PIPE_BYTES = 1 << 20
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]{1,4})?")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


def is_sanitized():
    """A sanitizer's run time has costs, allocations and descriptors of its own."""
    if os.environ.get("SANITIZED") == "1":
        return True
    content = pathlib.Path(BINARY).read_bytes()
    return b"__asan_" in content or b"__ubsan_" in content or b"__tsan_" in content


SANITIZED = is_sanitized()
# Either takes several times as long as the program does by itself, and more memory (EMULATED: tools/arm64-tests).
SLOW = SANITIZED or os.environ.get("EMULATED") == "1"
# How much later than planned something may happen on a loaded machine before it counts as wrong.
PATIENCE_SECS = 2.0 if SLOW else 0.5


def clean_env(**more):
    """This environment without anything that the tracker takes as a setting."""
    ours = ("TRACKER_", "SENTINEL_", "AWS_", "LC_", "LANG", "LD_PRELOAD", "GITHUB_", "GITLAB_", "CI_", "SLURM_",
            "KUBERNETES_", "BUILDKITE", "JENKINS_", "AIRFLOW_CTX_", "METAFLOW_", "MF_", "NXF_", "https_proxy",
            "HTTPS_PROXY", "http_proxy", "no_proxy", "NO_PROXY", "SSL_CERT_", "OTEL_",
            "TRACEPARENT", "TRACESTATE", "BAGGAGE")
    env = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    env.update(more)
    return env


@contextlib.contextmanager
def directory():
    """A fresh directory that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="rt-e2e-") as name:
        yield pathlib.Path(name)


def of_machine(stderr):
    """The diagnostics, without what is due to qemu-user alone: a program that it runs cannot execute itself again, so
    the helper that asks devices dies."""
    if os.environ.get("EMULATED") != "1" or not stderr:
        return stderr
    note = r"resource-tracker: warning: \w+: the process that read [^\n]* died[^\n]*\n"
    return re.sub(note if isinstance(stderr, str) else note.encode(), "" if isinstance(stderr, str) else b"", stderr)


def run(args, env=None, cwd=None, **more):
    """Runs the tracker to its end (for calls that end by themselves) with text streams."""
    with directory() as empty:
        done = subprocess.run([BINARY, *args], env=clean_env(**(env or {})), cwd=cwd or empty, text=True,
                              errors="surrogateescape", stdin=subprocess.DEVNULL, timeout=WAIT_SECS, check=False,
                              **{"capture_output": True, **more})
    done.stderr = of_machine(done.stderr)
    return done


def wait_until(condition, what, secs=WAIT_SECS):
    """Polls for something that has no descriptor to wait on; returns the first true value."""
    deadline = time.monotonic() + secs
    while True:
        value = condition()
        if value:
            return value
        expect(time.monotonic() < deadline, f"waited {secs} s in vain for {what}")
        time.sleep(0.01)


def is_memory_v1():
    """Is the memory controller bound to a v1 hierarchy? Then a group of v2 has nothing of it."""
    lines = pathlib.Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    return any("memory" in line.split(":")[1].split(",") for line in lines)


def cgroup_messages(text):
    """stderr of a run with --cgroup, but for the line that there always is where memory is counted by v1."""
    lines = text.splitlines(keepends=True)
    return "".join(line for line in lines if not (is_memory_v1() and "counted by cgroup v1" in line))


def remove_group(group, secs=WAIT_SECS):
    """Removes a cgroup that a test made, once what still runs in it has been killed. The kernel may call a group busy
    for a moment after its last process has gone."""
    def is_gone():
        with contextlib.suppress(OSError):  # gone, or one for threads, in which nothing runs
            for pid in (group / "cgroup.procs").read_text(encoding="ascii").split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        try:
            group.rmdir()
        except FileNotFoundError:
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            return False
        return True

    wait_until(is_gone, f"the end of what runs in {group}", secs)


class Lines:
    """Reads whole lines from a descriptor as they come."""

    def __init__(self, fd):
        self.fd = fd
        self.rest = b""
        self.ended = False

    def _fill(self, deadline, what):
        ready, _, _ = select.select([self.fd], [], [], max(0, deadline - time.monotonic()))
        expect(ready, f"no {what} in time; so far {self.rest[:200]!r}")
        try:
            chunk = os.read(self.fd, 65536)
        except OSError:  # a terminal whose other side is closed
            chunk = b""
        self.rest += chunk
        self.ended = not chunk

    def next(self, secs=WAIT_SECS):
        deadline = time.monotonic() + secs
        while b"\n" not in self.rest:
            expect(not self.ended, f"the stream ended; rest {self.rest[:200]!r}")
            self._fill(deadline, "line")
        line, self.rest = self.rest.split(b"\n", 1)
        return line.removesuffix(b"\r")

    def take(self, count, secs=WAIT_SECS):
        return [self.next(secs) for _ in range(count)]

    def all(self, secs=WAIT_SECS):
        """The lines up to the end of the stream; what follows the last LF stays in `rest`."""
        deadline = time.monotonic() + secs
        while not self.ended:
            self._fill(deadline, "end of the stream")
        *lines, self.rest = self.rest.split(b"\n")
        return [line.removesuffix(b"\r") for line in lines]


class Tracker:
    """A running tracker. Its stderr is kept unless a descriptor is given for it: in a file where a command is run, else
    in a wide pipe, since without a command a file there would get the samples."""

    def __init__(self, *args, env=None, cwd=None, before=(), program=(BINARY,), signals=(), **streams):
        self.stack = contextlib.ExitStack()
        self.cwd = pathlib.Path(cwd or self.stack.enter_context(directory()))
        self.stderr_file = self.stack.enter_context(tempfile.TemporaryFile())
        self.stderr_pipe, kept = None, self.stderr_file
        if "--" not in args and "stderr" not in streams:
            self.stderr_pipe, kept = os.pipe()
            self.stack.callback(os.close, self.stderr_pipe)
            os.set_blocking(self.stderr_pipe, False)
            with contextlib.suppress(OSError):
                fcntl.fcntl(kept, fcntl.F_SETPIPE_SZ, STDERR_PIPE_BYTES)
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": kept, **streams}

        def usual_signals():
            # The caller of the tests may ignore them (nohup, a shell's background job).
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            for number, disposition in signals:
                signal.signal(number, disposition)

        self.started = time.monotonic()
        self.process = subprocess.Popen([*before, *program, *map(os.fsencode, args)], env=clean_env(**(env or {})),
                                        cwd=self.cwd, preexec_fn=usual_signals, **streams)
        if self.stderr_pipe is not None:
            os.close(kept)
        self.stdout = Lines(self.process.stdout.fileno()) if self.process.stdout else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(WAIT_SECS)
        if self.process.stdout:
            self.process.stdout.close()
        self.stack.close()

    @property
    def pid(self):
        return self.process.pid

    def links(self):
        """Descriptor number to what it leads to."""
        links = {}
        with contextlib.suppress(FileNotFoundError):
            for name in os.listdir(f"/proc/{self.pid}/fd"):
                with contextlib.suppress(FileNotFoundError):
                    links[int(name)] = os.readlink(f"/proc/{self.pid}/fd/{name}")
        return links

    def is_ready(self):
        """Does it wait for its first event? Where it takes samples, their timer runs then."""
        links = self.links()
        timers = [fd for fd, link in links.items() if "timerfd" in link]
        if not timers or self.state() != "S":
            return False
        if not any("eventfd" in link for link in links.values()):
            return True
        infos = [pathlib.Path(f"/proc/{self.pid}/fdinfo/{fd}").read_text(encoding="ascii") for fd in timers]
        return any("it_value:" in info and "it_value: (0, 0)" not in info for info in infos)

    def wait_ready(self):
        wait_until(self.is_ready, "the tracker's event loop")

    def state(self):
        """Its state letter in /proc."""
        text = pathlib.Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rsplit(")", 1)[1].split()[0]

    def stderr(self):
        with contextlib.suppress(BlockingIOError):
            while self.stderr_pipe is not None and (piece := os.read(self.stderr_pipe, 65536)):
                self.stderr_file.seek(0, os.SEEK_END)
                self.stderr_file.write(piece)
        self.stderr_file.seek(0)
        return of_machine(self.stderr_file.read().decode("utf-8", "surrogateescape"))

    def send(self, number):
        self.process.send_signal(number)

    def wait(self, secs=WAIT_SECS):
        """Its exit status, or 128+n like a shell when signal n killed it."""
        status = self.process.wait(secs)
        return 128 - status if status < 0 else status

    def stop(self, number=signal.SIGTERM, secs=WAIT_SECS):
        self.send(number)
        return self.wait(secs)

    def close_stdout(self):
        self.process.stdout.close()


def parse(line):
    """One JSON sample, strictly: numbers as the contract has them, no blanks, no NaN."""
    text = line.decode("utf-8") if isinstance(line, bytes) else line
    bare = STRING.sub('""', text)
    expect(re.fullmatch(r'[][{}:,"0-9.a-z-]*', bare), "not compact JSON with plain numbers:", bare)
    for word in re.findall(r"[^][{}:,\"]+", bare):
        expect(word in ("null", "true", "false") or NUMBER.fullmatch(word), f"a value that must not be: {word}")
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(word):
    raise AssertionError(f"{word} is not JSON")


def file_lines(path):
    """The whole lines of a file as bytes; the file must end with LF where it holds anything."""
    for _ in range(100):  # a write of several pages can be seen half done
        content = pathlib.Path(path).read_bytes()
        if not content or content.endswith(b"\n"):
            break
        time.sleep(0.01)
    expect(not content or content.endswith(b"\n"), "the last line is cut:", content[-200:])
    return content.split(b"\n")[:-1]


def wait_file_lines(path, count, secs=WAIT_SECS):
    """Until the file holds at least that many lines."""
    path = pathlib.Path(path)
    wait_until(lambda: path.exists() and path.read_bytes().count(b"\n") >= count, f"{count} lines in {path.name}", secs)


def need_strace():
    """The words that run something below strace; skips where that is not possible."""
    if SANITIZED:
        raise Skip("leak detection of a sanitizer build does not work below strace")
    strace = shutil.which("strace")
    if not strace:
        raise Skip("strace is not installed")
    probe = subprocess.run([strace, "-o", "/dev/null", "true"], capture_output=True, timeout=WAIT_SECS, check=False)
    if probe.returncode != 0:
        raise Skip("ptrace is not permitted")
    return strace


TRACE_LINE = re.compile(r"(\d+) +(?:<\.\.\. \w+ resumed>|([a-z_0-9]+)\()(.*)")


def trace_calls(text):
    """The calls in a log of `strace -f -o`, as (thread, name, arguments and result), in the order in which they ended.
    A call that another thread interrupted stands there in two parts."""
    calls, begun = [], {}
    for thread, name, rest in (match.groups() for match in map(TRACE_LINE.match, text.splitlines()) if match):
        if name and rest.endswith("<unfinished ...>"):
            begun[thread] = (name, rest.removesuffix("<unfinished ...>"))
        elif name:
            calls.append((thread, name, rest))
        elif thread in begun:
            name, start = begun.pop(thread)
            calls.append((thread, name, start + rest))
    return calls


# As much of what a call reads as holds any diskstats that is read at once.
STRACE_BYTES = 65536
DISKSTATS_ROW = re.compile(r"(?:^|\\n) *(\d+) +(\d+) ([A-Za-z]\S*) \d+ ")


def diskstats_rows(tick):
    """The devices in what a tick read of diskstats; a file that took several reads is put together again."""
    parts = [re.match(r'\d+, "(.*)"', arguments) for name, arguments in tick if name in ("read", "pread64")]
    return set(DISKSTATS_ROW.findall("".join(part[1] for part in parts if part)))


def listing_calls(names):
    """How many of these system calls of a tick list the processes, which is due once a second where their number cannot
    be read from the links of /proc: in every PID namespace but the first."""
    lists = names.count("getdents64")
    is_first = os.stat("/proc/self/ns/pid").st_ino == 0xEFFFFFFC
    return lists + 3 if lists and not is_first else 0  # it goes back to the start, and reads its clock before and after


def grid_index(sample, interval):
    """Which slot of the sampling grid a sample was taken for."""
    return round((sample["elapsed_secs"] - (sample["tracker"]["late_ms"] or 0) / 1e3) / interval)
