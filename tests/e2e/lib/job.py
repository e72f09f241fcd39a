# SPDX-License-Identifier: Apache-2.0
"""Commands for the wrapper to run, the same commands without it, and a session on a terminal with job control.

What a test starts ends with it: a command is killed together with its tracker, and every helper of a command gives up
by an alarm of its own.
"""

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import termios

from tap import Skip, equal
from tracker import BINARY, ROOT, WAIT_SECS, Lines, Tracker, clean_env, directory, of_machine, wait_until

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA_PATH = ROOT / "docs" / "schema" / "sample.schema.json"
PASSED_ON = ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGCONT", "SIGWINCH", "SIGXCPU",
             "SIGPROF", "SIGVTALRM", "SIGIO", "SIGPWR", "SIGTRAP", "SIGSYS", "SIGPIPE", "SIGXFSZ", "SIGRTMAX")
END = signal.SIGRTMIN
ENDED_BY_TEST = 42

# Reports "ready PID", then the number of every signal it takes, and ends with status 42 at SIGRTMIN.
COUNTER = f"""
import os, signal, sys
signal.alarm(40)
taken = [getattr(signal, name) for name in {PASSED_ON!r}] + [signal.SIGRTMIN]
signal.pthread_sigmask(signal.SIG_BLOCK, taken)
print("ready", os.getpid(), flush=True)
while True:
    number = signal.sigwaitinfo(taken).si_signo
    if number == signal.SIGRTMIN:
        sys.exit({ENDED_BY_TEST})
    print(int(number), flush=True)
"""

# Writes to a file which descriptors are open, of which kind, with which flags, and where they stand.
DESCRIPTORS = """
import fcntl, json, os, stat, sys
found = {}
for fd in range(256):
    try:
        mode = os.fstat(fd).st_mode
    except OSError:
        continue
    place = os.lseek(fd, 0, os.SEEK_CUR) if stat.S_ISREG(mode) else None
    found[fd] = [stat.S_IFMT(mode), fcntl.fcntl(fd, fcntl.F_GETFL), fcntl.fcntl(fd, fcntl.F_GETFD), place]
with open(sys.argv[1], "w") as output:
    json.dump(found, output)
"""

# Says that it is there, waits until its stdin is written to or closed, and ends with the given status.
WAITER = """
import os, signal, sys
signal.alarm(40)
os.write(1, b"ready %d\\n" % os.getpid())
os.read(0, 1)
sys.exit(int(sys.argv[1]))
"""


def python(code, *args):
    """The words that run a piece of Python quickly."""
    return [sys.executable, "-I", "-S", "-c", code, *map(str, args)]


class Job(Tracker):
    """A tracker with a command. The command is killed with it when a test goes wrong."""

    def __init__(self, *options, command, **more):
        super().__init__(*options, "--", *command, **more)
        self.command_pid = self.command_fd = None

    def __exit__(self, *details):
        if self.command_fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.command_fd, signal.SIGKILL)
            os.close(self.command_fd)
        for pid in children(self.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().__exit__(*details)

    def wait_command(self):
        """Until the command reports itself; its PID."""
        self.command_pid = ready_pid(self.stdout)
        with contextlib.suppress(ProcessLookupError):
            self.command_fd = os.pidfd_open(self.command_pid)
        return self.command_pid

    def finish(self):
        """Ends a COUNTER; the signals that it took after those already read, and the exit status."""
        signal.pidfd_send_signal(self.command_fd, END)
        return [int(line) for line in self.stdout.all()], self.wait()


def ready_pid(lines):
    word, pid = lines.next().split()
    equal(word, b"ready", "first word of the command")
    return int(pid)


def children(pid):
    """The children of a process, of all of its threads; none where it is gone."""
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(pathlib.Path(f"/proc/{pid}/task").iterdir()):
            found += [int(word) for word in (path / "children").read_text("ascii").split()]
    return found


def status_of(pid="self"):
    """/proc/PID/status as a dict."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace")
    return dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)


def state_of(pid):
    """The state letter of a process, X where it is gone."""
    try:
        return status_of(pid)["State"][0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def wait_state(pid, letters, what):
    wait_until(lambda: state_of(pid) in letters, f"{what} in state {letters}")


def wait_signals_taken(pid):
    """Until none of the signals to be passed on is pending with a process any more."""
    mask = sum(1 << (getattr(signal, name) - 1) for name in PASSED_ON)
    wait_until(lambda: int(status_of(pid)["ShdPnd"], 16) & mask == 0, "signals to be taken")


def ask(words, cwd=None, env=None, **more):
    """Runs anything to its end, as run() of the tracker but with bytes; status 128+n like a shell."""
    with directory() as empty:
        more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": WAIT_SECS, **more}
        if "input" not in more:
            more.setdefault("stdin", subprocess.DEVNULL)
        done = subprocess.run(words, env=clean_env() if env is None else env, cwd=cwd or empty, check=False, **more)
    if done.returncode < 0:
        done.returncode = 128 - done.returncode
    done.stderr = of_machine(done.stderr)
    return done


def wrap(command, *options):
    """The words that run a command below a silent tracker."""
    return [BINARY, *(options or ["-q", "--summary=never"]), "--", *command]


def both(command, *options, before=(), **more):
    """The same command without and with the tracker in between: two finished processes."""
    with directory() as place:
        return [ask([*before, *words], **{"cwd": place, **more}) for words in (command, wrap(command, *options))]


def validate(sample):
    """Against the schema of samples, where the validator is installed."""
    if not jsonschema:
        raise Skip("python3-jsonschema is not installed")
    schema = json.loads(SCHEMA_PATH.read_text(encoding="utf-8"))
    errors = [f"{'.'.join(map(str, error.absolute_path))}: {error.message[:300]}"
              for error in jsonschema.Draft7Validator(schema).iter_errors(sample)]
    equal(errors, [], "schema errors")


@contextlib.contextmanager
def open_fds(*fds):
    """Closes descriptors at the end, whichever of them are still open."""
    try:
        yield fds
    finally:
        for fd in fds:
            with contextlib.suppress(OSError):
                os.close(fd)


class Session:
    """A session on a pseudo terminal. Its leader runs one command as a job, as a shell with job control does, and
    reports what waitpid says about it: "stopped", "continued", "exited N" or "killed N"."""

    SHELL_IGNORES = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)

    def __init__(self, words, foreground=True, tostop=False, env=None):
        self.env = {**clean_env(), **(env or {})}
        self.stack = contextlib.ExitStack()
        self.cwd = self.stack.enter_context(directory())
        self.ours, theirs = os.openpty()
        self._set_modes(theirs, tostop)
        reader, writer = os.pipe()
        self.stack.enter_context(open_fds(self.ours, reader))
        self.leader = os.fork()
        if self.leader == 0:
            try:
                os.close(self.ours)
                os.close(reader)
                self._lead(theirs, writer, [os.fsencode(word) for word in words], foreground)
            finally:
                os._exit(99)
        os.close(theirs)
        os.close(writer)
        self.screen = Lines(self.ours)
        self.events = Lines(reader)
        self.pid = int(self.events.next().split()[1])

    @staticmethod
    def _set_modes(theirs, tostop):
        mode = termios.tcgetattr(theirs)
        mode[1] &= ~termios.OPOST
        mode[3] &= ~(termios.ECHO | termios.TOSTOP)
        mode[3] |= termios.NOFLSH | (termios.TOSTOP if tostop else 0)
        termios.tcsetattr(theirs, termios.TCSANOW, mode)

    def _lead(self, theirs, writer, words, foreground):
        os.setsid()
        fcntl.ioctl(theirs, termios.TIOCSCTTY, 0)
        for fd in (0, 1, 2):
            os.dup2(theirs, fd)
        os.chdir(self.cwd)
        for number in self.SHELL_IGNORES:
            signal.signal(number, signal.SIG_IGN)
        child = os.fork()
        if child == 0:
            self._become(words, foreground)
        with contextlib.suppress(OSError):
            os.setpgid(child, child)
        os.write(writer, b"started %d\n" % child)
        while True:
            _, status = os.waitpid(child, os.WUNTRACED | os.WCONTINUED)
            if os.WIFSTOPPED(status):
                # The job may have given the terminal to another group; fg will give it back.
                if foreground:
                    os.tcsetpgrp(0, child)
                os.write(writer, b"stopped\n")
            elif os.WIFCONTINUED(status):
                os.write(writer, b"continued\n")
            else:
                how = b"killed %d\n" if os.WIFSIGNALED(status) else b"exited %d\n"
                os.write(writer, how % (os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)))
                os._exit(0)

    def _become(self, words, foreground):
        os.setpgid(0, 0)
        if foreground:
            os.tcsetpgrp(0, os.getpid())
        for number in (*self.SHELL_IGNORES, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.closerange(3, 256)
        os.execve(words[0], words, self.env)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.leader, signal.SIGKILL)
        os.waitpid(self.leader, 0)
        self.stack.close()

    def type(self, text):
        os.write(self.ours, text)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def event(self):
        return self.events.next().decode()

    def proceed(self):
        """Continues the whole job like fg; until the leader has heard of it."""
        os.killpg(self.pid, signal.SIGCONT)
        equal(self.event(), "continued", "what the leader hears")


def need_pid_namespace():
    """The words that run something as PID 1 of a namespace of its own; skips where that is not permitted."""
    words = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    for more in ([], ["--user", "--map-root-user"]):
        with contextlib.suppress(OSError):
            probe = subprocess.run([*words, *more, "true"], capture_output=True, timeout=WAIT_SECS, check=False)
            if probe.returncode == 0:
                return [*words, *more]
    raise Skip("namespaces are not permitted")
