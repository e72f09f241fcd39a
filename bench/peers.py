# SPDX-License-Identifier: Apache-2.0
"""The tools that we are compared with: installs what it can reach into bench/peers/ and says how each is called.

What is out of reach is left out with a word (`why_missing`); the bench never fails because a peer is missing.
`tools(program)` gives all of them, ours first. Installations are kept; remove bench/peers/ to make them anew.
"""

import contextlib
import fcntl
import os
import pathlib
import shlex
import shutil
import subprocess
import sys

import readers
from section import Tool, clean_env

HERE = pathlib.Path(__file__).resolve().parent
PLACE = HERE / "peers"
RUNNER = str(HERE / "python_runner.py")
RUST_VERSION = "0.1.18"
PYTHON_VERSION = "0.5.0"
PSUTIL_VERSION = "7.2.2"
PSRECORD_VERSION = "1.4"
CARGO_SECS = 900
PIP_SECS = 240


class Missing(Exception):
    """A tool is not at hand; the text says why."""


def run(argv, secs, **more):
    """Output of a command that must end well."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=secs,
                              check=False, **more)
    except subprocess.TimeoutExpired as reason:
        raise Missing(f"{os.path.basename(argv[0])} did not end within {secs} s") from reason
    except OSError as reason:
        raise Missing(f"{argv[0]}: {reason.strerror}") from reason
    if done.returncode != 0:
        words = (done.stderr or done.stdout).strip().splitlines()
        raise Missing(f"{os.path.basename(argv[0])} failed: {words[-1] if words else done.returncode}"[:200])
    return done.stdout


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def seconds(value):
    return f"{value:g}"


def tracker(name, version, program, start, fits):
    """A tool with the flags that ours and the Rust program share."""
    return Tool(
        name=name, version=version, kind="tracker", program=program, argv_nothing=[program, "--version"],
        argv_wrap=lambda command, interval, output:
            [*start(interval, output), "--", *command] if fits(interval) else None,
        argv_host=lambda interval, output: start(interval, output) if fits(interval) else None,
        argv_attach=lambda pid, interval, output:
            [*start(interval, output), "--pid", str(pid)] if fits(interval) else None,
        read_samples=readers.read_json, directory=program)


def ours(program):
    """The program under test; nothing in the working directory or the environment is a setting for it."""
    version = run([program, "--version"], 10).splitlines()[0].split()[-1]
    none = str(PLACE / "no-such-file.toml")

    def start(interval, output):
        samples = ["-o", str(output)] if output else ["-q"]
        return [program, "-c", none, "-i", seconds(interval), *samples]

    def fits(interval):
        return interval >= 0.01

    return tracker("ours", version, program, start, fits)


def install_rust():
    program = PLACE / "rust" / "bin" / "resource-tracker"
    if program.exists() and run([str(program), "--version"], 10).split()[-1:] == [RUST_VERSION]:
        return str(program)
    cargo = shutil.which("cargo") or shutil.which("cargo", path=os.path.expanduser("~/.cargo/bin"))
    if not cargo:
        raise Missing("there is no cargo to build it with")
    say(f"building the Rust resource-tracker {RUST_VERSION} (some minutes, once)")
    env = os.environ | {"CARGO_NET_RETRY": "1", "CARGO_HTTP_TIMEOUT": "20", "CARGO_BUILD_JOBS": "2",
                        "CARGO_TARGET_DIR": str(PLACE / "rust-build"),
                        "PATH": os.path.dirname(cargo) + os.pathsep + os.environ.get("PATH", os.defpath)}
    try:
        run([cargo, "install", "--quiet", "--locked", "--force", "--root", str(PLACE / "rust"), "--version",
             RUST_VERSION, "resource-tracker"], CARGO_SECS, env=env)
    finally:
        shutil.rmtree(PLACE / "rust-build", ignore_errors=True)
    return str(program)


def rust():
    program = install_rust()

    def start(interval, output):
        return [program, "-i", str(int(interval)), *(["-o", str(output)] if output else ["--quiet"])]

    def fits(interval):
        return interval >= 1 and interval == int(interval)

    return tracker("rust", RUST_VERSION, program, start, fits)


def install_python(name, packages):
    """A virtual environment with exactly these packages; its interpreter."""
    directory = PLACE / name
    stamp, python = directory / "installed", directory / "bin" / "python3"
    if stamp.exists() and stamp.read_text(encoding="utf-8").split() == packages:
        return str(python)
    shutil.rmtree(directory, ignore_errors=True)
    say(f"installing {', '.join(packages)} into bench/peers/{name}")
    interpreter = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    try:
        run([interpreter, "-m", "venv", str(directory)], PIP_SECS)
        run([str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--timeout", "20",
             "--retries", "1", *packages], PIP_SECS)
        run([str(python), "-m", "compileall", "-q", str(directory / "lib")], PIP_SECS)
    except Missing:
        shutil.rmtree(directory, ignore_errors=True)
        raise
    stamp.write_text(" ".join(packages) + "\n", encoding="utf-8")
    return str(python)


def site_directory(python):
    return run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], 20).strip()


def python_tool(name, packages, version):
    """The package as it comes, or with psutil beside it, which it then prefers to its own reading of procfs."""
    python = install_python(name, packages)

    def start(mode, interval, output):
        return [python, RUNNER, mode, str(output or "-"), seconds(interval)]

    return Tool(
        name=name, version=version, kind="tracker", program=python,
        argv_nothing=[python, "-c", "import resource_tracker"],
        argv_wrap=lambda command, interval, output: [*start("wrap", interval, output), *command],
        argv_host=lambda interval, output: start("host", interval, output),
        argv_attach=lambda pid, interval, output: [*start("attach", interval, output), str(pid)],
        read_samples=readers.read_python_csv, env={"PYTHONDONTWRITEBYTECODE": "1"}, directory=site_directory(python))


def psrecord():
    python = install_python("psrecord", [f"psutil=={PSUTIL_VERSION}", f"psrecord=={PSRECORD_VERSION}"])
    program = str(pathlib.Path(python).parent / "psrecord")

    def start(what, interval, output):
        return [program, what, "--include-children", "--interval", seconds(interval), "--log",
                str(output or os.devnull)]

    return Tool(
        name="psrecord", version=PSRECORD_VERSION, kind="tracker", program=program, argv_nothing=[program, "--help"],
        argv_wrap=lambda command, interval, output: start(shlex.join(command), interval, output),
        argv_attach=lambda pid, interval, output: start(str(pid), interval, output),
        read_samples=readers.read_psrecord, env={"PYTHONDONTWRITEBYTECODE": "1"}, directory=site_directory(python))


def gnu_time():
    program = shutil.which("time", path="/usr/bin:/bin:/usr/local/bin")
    if not program:
        raise Missing("/usr/bin/time is not installed (tools/setup bench)")
    version = run(["dpkg-query", "-W", "-f", "${Version}", "time"], 10) if shutil.which("dpkg-query") else "unknown"
    return Tool(
        name="gnu-time", version=version, kind="wrapper", program=program, argv_nothing=[program, "--version"],
        argv_wrap=lambda command, _interval, output:
            [program, "-f", "%U %S %e %M", "-o", str(output or os.devnull), *command],
        read_samples=readers.read_gnu_time, directory=program)


def sh():
    return Tool(name="sh", version="", kind="wrapper", program="/bin/sh", argv_nothing=["/bin/sh", "-c", ":"],
                argv_wrap=lambda command, _interval, _output: ["/bin/sh", "-c", shlex.join(command) + "; exit $?"])


def bare():
    return Tool(name="bare", version="", kind="wrapper", argv_nothing=["/bin/true"],
                argv_wrap=lambda command, _interval, _output: list(command))


PEERS = {
    "rust": rust,
    "python": lambda: python_tool("python", [f"resource-tracker=={PYTHON_VERSION}"], PYTHON_VERSION),
    "python-psutil": lambda: python_tool(
        "python-psutil", [f"resource-tracker=={PYTHON_VERSION}", f"psutil=={PSUTIL_VERSION}"],
        f"{PYTHON_VERSION} + psutil {PSUTIL_VERSION}"),
    "psrecord": psrecord,
    "gnu-time": gnu_time,
    "sh": sh,
    "bare": bare,
}


@contextlib.contextmanager
def alone():
    """Only one process at a time installs."""
    PLACE.mkdir(exist_ok=True)
    with open(PLACE / "lock", "w", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def peer(name):
    try:
        with alone():
            tool = PEERS[name]()
        # It must start at all: a kept installation may be of a machine that has changed since.
        run(tool.argv_nothing, 30, env=clean_env() | (tool.env or {}))
        return tool
    except Missing as reason:
        return Tool(name=name, version="", kind="missing", why_missing=str(reason))


def tools(program):
    """Every tool, ours first; the ones out of reach say why."""
    found = [ours(os.path.abspath(program)), *(peer(name) for name in PEERS)]
    for tool in found:
        if tool.why_missing:
            say(f"{tool.name} is left out: {tool.why_missing}")
    return found


if __name__ == "__main__":
    for each in tools(sys.argv[1]):
        print(f"{each.name}\t{each.version or '-'}\t{each.why_missing or each.program or 'as it is'}")
