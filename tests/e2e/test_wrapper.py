#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command below the tracker: how it is found and started, where its streams and samples go, and whose exit status
comes out."""

import contextlib
import json
import os
import pathlib
import resource
import signal
import statistics
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import WAITER, Job, ask, both, open_fds, python, validate, wait_state, wrap
from tap import Skip, equal, expect, test
from tracker import BINARY, PATIENCE_SECS, SLOW, clean_env, directory, file_lines, parse, wait_file_lines, wait_until

MANY_RUNS_SECS = 120 if SLOW else 40
# Default action "ignore"; those that stop, and 32 and 33, which belong to the C library, are left out.
HARMLESS = (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH)
NOT_DEADLY = (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU, 32, 33)


def script(path, text, mode=0o755):
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return path


def end_with(status, secs=0.0):
    """A command that takes its time and ends with a status."""
    return ["sh", "-c", f"sleep {secs}; exit {status}" if secs else f"exit {status}"]


# Exit status


@test(limit=MANY_RUNS_SECS)
def every_exit_status_is_passed_on():
    loop = 'for i in $(seq 0 255); do "$0" -q -- sh -c "exit $i"; echo "$i $?"; done'
    done = ask(["bash", "-c", loop, BINARY], timeout=MANY_RUNS_SECS)
    got = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    equal(len(got), 256, "runs")
    equal([pair for pair in got if pair[0] != pair[1]], [], "statuses that differ (want, got)")
    equal(done.stderr, b"", "stderr")


@test(limit=MANY_RUNS_SECS)
def death_by_any_signal_is_128_and_its_number():
    numbers = [number for number in range(1, 65) if number not in (*NOT_DEADLY, signal.SIGINT, signal.SIGQUIT)]
    loop = 'ulimit -c 0; for i in "$@"; do "$0" -q -- sh -c "kill -$i \\$\\$; exit 7"; echo "$i $?"; done'
    done = ask(["bash", "-c", loop, BINARY, *map(str, numbers)], timeout=MANY_RUNS_SECS)
    want = [(number, 7 if number in HARMLESS else 128 + number) for number in numbers]
    equal([tuple(map(int, line.split())) for line in done.stdout.splitlines()], want, "(signal, status)")
    equal(done.stderr, b"", "stderr")


@test
def the_tracker_exits_and_is_not_killed_itself():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP):
        done = subprocess.run(wrap(["sh", "-c", f"kill -{int(number)} $$"]), env=clean_env(), timeout=8, check=False)
        equal(done.returncode, 128 + number, f"return code after {number.name}")


def permit_cores():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


@test
def a_command_that_died_of_ctrl_c_takes_the_tracker_with_it_after_the_last_sample():
    """As timeout does it, and without a core: so a shell that runs it in a loop ends the loop."""
    for number in (signal.SIGINT, signal.SIGQUIT):
        with directory() as empty:
            line = f"ulimit -S -c 0; kill -{int(number)} $$"
            done = subprocess.run(wrap(["sh", "-c", line], "-o", "out"), env=clean_env(), timeout=8, check=False,
                                  cwd=empty, preexec_fn=permit_cores)
            equal(done.returncode, -number, f"return code after {number.name}")
            samples = (empty / "out").read_text(encoding="utf-8").splitlines()
            equal(json.loads(samples[-1])["end"]["signal"], number, "the signal in the last sample")
            equal([path.name for path in empty.iterdir() if path.name.startswith("core")], [], "cores")


@test
def the_caller_gets_the_cpu_time_of_the_command():
    burn = python("import time\nwhile time.process_time() < 0.3: pass")
    for options in ((), ("-o", "out")):
        with directory() as empty:
            process = subprocess.Popen(wrap(burn, "-q" if not options else "-i1", *options), env=clean_env(), cwd=empty)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = status
            equal(status, 0, "status")
            expect(usage.ru_utime + usage.ru_stime >= 0.29, f"{usage.ru_utime + usage.ru_stime} s with {options}")


@test
def sampling_does_not_change_the_status():
    for options in ([], ["-f", "csv"], ["-o", "-"], ["-o", "out"]):
        equal(ask(wrap(end_with(77, 0.1), "-i", "0.01", *options)).returncode, 77, f"exit status with {options}")


# Finding the command


def cannot_run(command, status, env=None, files=()):
    with directory() as place:
        for name, text, mode in files:
            script(place / name, text, mode)
        # Not the caller's PATH: a directory in it that may not be searched makes every name "permission denied".
        done = ask(wrap(command, "-i", "1"), cwd=place, env={**clean_env(PATH="/usr/bin:/bin"), **(env or {})})
    error = done.stderr.decode("utf-8", "replace")
    equal(done.returncode, status, f"exit status ({error!r})")
    equal(done.stdout, b"", "stdout")
    equal(error.count("\n"), 1, f"lines in {error!r}")
    expect(error.startswith("resource-tracker: error: ") and error.endswith("\n"), f"not an error line: {error!r}")
    name = os.fsencode(command[0])
    expect(not name.isascii() or b"\n" in name or name in done.stderr, f"{name} is not named in {error!r}")


for words_, command_, status_, more_ in (
        ("a name that is not in PATH", ["no-such-command-here", "x"], 127, {}),
        ("a path that does not exist", ["./nope"], 127, {}),
        ("an empty name", [""], 127, {}),
        ("an empty name with arguments", ["", "true"], 127, {}),
        ("a file that is not executable", ["/etc/passwd"], 126, {}),
        ("a directory", ["/etc"], 126, {}),
        ("a directory in this one", ["./"], 126, {}),
        ("a file in PATH that is not executable", ["data"], 126,
         {"env": {"PATH": "."}, "files": [("data", "", 0o644)]}),
        ("a script whose interpreter is missing", ["./odd"], 127, {"files": [("odd", "#!/no/such/shell\n", 0o755)]}),
        ("two dashes after two dashes", ["--", "true"], 127, {}),
        ("a name with a line break", ["no\nsuch"], 127, {}),
        ("a name that is not UTF-8", [b"no\xff\xfesuch"], 127, {}),
        ("a very long name", ["x" * 200], 127, {})):
    tap.add(f"cannot run {words_}: status {status_} and one line",
            lambda command, status, more: cannot_run(command, status, **more), command_, status_, more_)


@test
def what_env_can_find_is_found():
    with directory() as place:
        (place / "later").mkdir()
        script(place / "here", "#!/bin/sh\necho here; exit 5\n")
        script(place / "twice", "no rights", 0o644)
        script(place / "later" / "twice", "#!/bin/sh\necho later; exit 6\n")
        script(place / "bare", "echo bare $0 $# $1; exit 3\n")
        script(place / "empty", "")
        script(place / "-x", "#!/bin/sh\necho dash; exit 4\n")
        paths = [":/usr/bin:/bin", "/usr/bin:/bin:", "/usr/bin::/no/such", "", ".", f"/no/such:{place}", None,
                 f"{place}:{place}/later", f"{place}/here:{place}"]
        found = 0
        for path in paths:
            env = {**clean_env(), "PATH": path} if path is not None else \
                {name: value for name, value in clean_env().items() if name != "PATH"}
            for command in (["here"], ["./here"], ["twice"], ["bare", "a b", "c"], ["./bare"], ["empty"], ["-x"],
                            ["sh"], ["later/twice"], ["no-such"]):
                want = ask(["/usr/bin/env", "--", *command], cwd=place, env=env)
                got = ask(wrap(command), cwd=place, env=env)
                equal((got.returncode, got.stdout), (want.returncode, want.stdout), f"{command} with PATH={path!r}")
                found += want.returncode < 126
    expect(found > 40, f"only {found} commands were found")


# Arguments


@test
def options_behind_the_command_belong_to_it():
    for start in (["-q"], ["-q", "--"], ["--quiet", "--interval=2", "--"]):
        words = ["-q", "--version", "-i", "0", "--", "--nope", "-"]
        done = ask([BINARY, *start, "printf", "%s\\n", *words])
        equal((done.returncode, done.stdout.decode().split(), done.stderr), (0, words, b""), f"result with {start}")


@test
def arguments_arrive_unchanged():
    odd = [bytes(range(1, 256)), b"", b"\xff\xfe", b"a\nb", b" ", b"'\"\\$HOME*", "käse 名".encode(), b"x" * 100000]
    bare, wrapped = both(["printf", "%s\\0", *odd])
    equal(bare.stdout, b"".join(word + b"\0" for word in odd), "what the bare command printed")
    expect(wrapped.stdout == bare.stdout, "the arguments differ:", wrapped.stdout[:500])
    equal((wrapped.returncode, wrapped.stderr), (0, b""), "status and stderr")


@test
def the_name_is_given_as_it_was_typed():
    with directory() as place:
        (place / "link").symlink_to("/bin/sh")
        for name in ("./link", f"{place}/link", "link"):
            env = {**clean_env(), "PATH": f"{place}:/bin:/usr/bin"}
            done = ask(wrap([name, "-c", "tr '\\0' ' ' < /proc/$$/cmdline"]), cwd=place, env=env)
            equal(done.stdout.split()[0], name.encode(), "argv[0]")


# Streams


@test
def streams_pass_through_untouched():
    data = os.urandom(1 << 20)
    for options in (["-q"], ["-i", "0.01", "-o", "out"]):
        done = ask(wrap(["cat"], *options), input=data)
        expect(done.stdout == data, f"stdout differs: {len(done.stdout)} bytes")
        equal((done.returncode, done.stderr), (0, b""), "status and stderr")
        done = ask(wrap(["sh", "-c", "cat >&2"], *options), input=data)
        expect(done.stderr == data, f"stderr differs: {len(done.stderr)} bytes")
        equal((done.returncode, done.stdout), (0, b""), "status and stdout")


@test
def samples_and_the_command_share_stderr_line_by_line():
    done = ask(wrap(["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo \"line $i\" >&2; sleep 0.03; done"], "-i", "0.01"))
    lines = done.stderr.splitlines()
    theirs = [line for line in lines if line.startswith(b"line")]
    equal(theirs, [b"line %d" % i for i in range(1, 9)], "the command's lines")
    samples = [parse(line) for line in lines if line not in theirs]
    expect(len(samples) >= 5, f"{len(samples)} samples")
    equal((done.returncode, done.stdout), (0, b""), "status and stdout")


@test
def samples_go_where_they_are_sent():
    with directory() as place:
        command = ["sh", "-c", "echo out; echo err >&2"]
        for options, want in ((["-q"], (0, 0, 0)), (["-i", "9"], (0, 1, 0)), (["-o", "-"], (1, 0, 0)),
                              (["-o", "f"], (0, 0, 1))):
            done = ask(wrap(command, *options), cwd=place)
            in_file = file_lines(place / "f") if (place / "f").exists() else []
            got = [[line for line in lines if line.startswith(b"{")] for lines in
                   (done.stdout.splitlines(), done.stderr.splitlines(), in_file)]
            equal(tuple(map(len, got)), want, f"samples in (stdout, stderr, file) with {options}")
            for line in sum(got, []):
                parse(line)
            equal(done.stdout.splitlines()[0], b"out", "first line of stdout")
            expect(b"err\n" in done.stderr, done.stderr)


# Samples


@test
def true_gives_exactly_one_sample():
    for format_ in ("json", "csv"):
        done = ask(wrap(["true"], "-f", format_))
        equal((done.returncode, done.stdout), (0, b""), "status and stdout")
        equal(len(done.stderr.splitlines()), 1 if format_ == "json" else 2, f"lines on stderr {done.stderr!r}")
    sample = parse(ask(wrap(["true"], "-i", "1")).stderr.splitlines()[0])
    expect(0 < sample["elapsed_secs"] < 1, f"elapsed_secs {sample['elapsed_secs']}")
    expect("actual_interval_ms" not in sample, "actual_interval_ms in the only sample")
    expect(isinstance(sample["tracked_pid"], int), f"tracked_pid {sample['tracked_pid']}")
    equal(sample["job_name"], None, "job_name")
    validate(sample)


@test
def two_and_a_half_intervals_give_three_samples():
    done = ask(wrap(["sh", "-c", "echo $$; exec sleep 1"], "-i", "0.4", "-n", "näme", "-o", "-"))
    pid, *lines = done.stdout.splitlines()
    samples = [parse(line) for line in lines]
    final = samples[-1]["elapsed_secs"]
    expect(1 <= final < 1 + PATIENCE_SECS, f"the last sample at {final} s")
    missed = sum(sample["tracker"]["missed_samples"] for sample in samples)
    equal(len(samples), int(final / 0.4) + 1 - missed, f"samples until {final} s")
    expect(len(samples) == 3 or final >= 1.2 or missed, f"{len(samples)} samples")
    for sample in samples:
        equal((sample["tracked_pid"], sample["job_name"]), (int(pid), "näme"), "tracked_pid and job_name")
        validate(sample)


@test
def csv_has_the_full_columns_and_the_pid_of_the_command():
    done = ask(wrap(["sh", "-c", "echo $$; exec sleep 0.25"], "-i", "0.1", "-f", "csv", "-o", "-"))
    pid, header, *rows = done.stdout.splitlines()
    names = header.decode().split(",")
    equal(len(names), 33, "columns")
    equal([names[place] for place in (0, 1, 20, 21, 31)],
          ["timestamp", "system_processes", "system_gpu_utilized", "process_pid", "process_gpu_utilized"], "columns")
    expect(len(rows) >= 2, f"rows {rows}")
    for row in rows:
        fields = row.split(b",")
        equal((len(fields), fields[21]), (33, pid), "fields and process_pid")
    system = ask(wrap(["true"], "-f", "csv", "--csv-columns", "system", "-o", "-")).stdout.splitlines()
    equal((len(system), system[0].count(b",")), (2, 20), "lines and commas of the short table")


# Start and end


def must_not_run(options, env=None, files=()):
    with directory() as place:
        for name, text in files:
            (place / name).write_text(text, encoding="utf-8")
        done = ask(wrap(["touch", "ran"], *options), cwd=place, env={**clean_env(), **(env or {})})
        equal(done.returncode, 125, f"exit status {done.stderr!r}")
        equal((done.stdout, done.stderr.count(b"\n")), (b"", 1), f"stdout and lines on stderr {done.stderr!r}")
        expect(done.stderr.startswith(b"resource-tracker: error: "), done.stderr)
        expect(not (place / "ran").exists(), "the command was run")


for words_, options_, more_ in (
        ("an output in a directory that is not there", ["-o", "no/such/out"], {}),
        ("an output that is a directory", ["-o", "."], {}),
        ("an interval of nothing", ["-i", "0"], {}),
        ("an interval in the environment", ["-q"], {"env": {"TRACKER_INTERVAL": "abc"}}),
        ("a malformed file of settings", ["-q"], {"files": [("resource-tracker.toml", "[tracker\n")]}),
        ("an unknown option", ["--nope"], {}),
        ("an unknown short option", ["-Z"], {})):
    tap.add(f"125 and nothing is run with {words_}", lambda options, more: must_not_run(options, **more), options_,
            more_)


@test(limit=30)
def the_end_is_noticed_at_once():
    took = {"bare": [], "wrapped": []}
    for _ in range(7):
        for name, words in (("bare", ["sleep", "0.3"]), ("wrapped", wrap(["sleep", "0.3"], "-o", "out"))):
            began = time.monotonic()
            equal(ask(words).returncode, 0, "exit status")
            took[name].append(time.monotonic() - began)
    more = statistics.median(took["wrapped"]) - statistics.median(took["bare"])
    tap.diag(f"{more * 1000:.1f} ms more than bare")
    expect(more < (0.4 if SLOW else 0.06), f"{more} s more than bare: {took}")


@test
def the_end_of_the_command_is_the_end_whatever_its_children_do():
    with Job("-i", "60", command=["sh", "-c", "sleep 30 >&- 2>&- <&- & echo ready $!; exit 8"]) as job:
        orphan = job.wait_command()
        equal(job.wait(2 + PATIENCE_SECS), 8, "exit status")
        wait_state(orphan, "S", "the child that was left")


@test
def orphans_do_not_pile_up():
    code = ("import os, sys, time\n"
            "for _ in range(50):\n"
            "    if os.fork() == 0:\n"
            "        os.fork() and os._exit(0)\n"
            "        os._exit(0)\n"
            "    os.wait()\n"
            "print('ready', os.getpid(), flush=True)\n"
            "sys.stdin.read()\n")
    with Job("-q", "-i", "60", command=python(code), stdin=subprocess.PIPE) as job:
        pid = job.wait_command()
        mine = pathlib.Path(f"/proc/{job.pid}/task/{job.pid}/children")
        wait_until(lambda: mine.read_text(encoding="ascii").split() == [str(pid)], "the orphans to be reaped")
        job.process.stdin.close()
        equal(job.wait(), 0, "exit status")


@test
def killing_the_tracker_leaves_the_command_alone_and_nothing_behind():
    with directory() as place:
        (place / "work").mkdir()
        names = ("HOME", "TMPDIR", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR")
        code = WAITER.replace("sys.exit(", "open('done', 'w').write('x'); sys.exit(")
        with Job("-i", "0.02", "-o", "out", command=python(code, 0), stdin=subprocess.PIPE, cwd=place / "work",
                 env={name: str(place) for name in names}) as job:
            pid = job.wait_command()
            wait_file_lines(place / "work" / "out", 2)
            job.send(signal.SIGKILL)
            equal(job.wait(), 128 + signal.SIGKILL, "exit status")
            wait_state(pid, "S", "the command")
            job.process.stdin.close()
            wait_until((place / "work" / "done").exists, "the command's end")
        left = sorted(str(path.relative_to(place)) for path in place.rglob("*"))
        equal(left, ["work", "work/done", "work/out"], "files")


# Outputs that fail


def undisturbed(*options, redirection="", **more):
    """Whatever becomes of the samples, the command runs to its end and its status comes out; returns the warnings."""
    began = time.monotonic()
    command = ["sh", "-c", "sleep 0.3; echo end; exit 7"]
    done = ask(["sh", "-c", f'exec "$@" {redirection}', "sh", *wrap(command, "-i", "0.01", *options)], **more)
    took = time.monotonic() - began
    equal((done.returncode, done.stdout), (7, b"end\n"), f"status and stdout ({done.stderr!r})")
    expect(took < 0.3 + 1 + 2 * PATIENCE_SECS, f"took {took} s")
    return [line for line in (done.stderr or b"").decode().splitlines() if not line.startswith("{")]


def one_warning(lines, words):
    """While it lasts; at the end there may be a line about what was lost."""
    expect(all(line.startswith("resource-tracker: warning: ") for line in lines), lines)
    equal(sum(words in line for line in lines), 1, f"lines with {words!r} in {lines}")
    expect(len(lines) <= 2, lines)


@test
def a_stderr_that_takes_nothing_does_not_disturb_the_command():
    undisturbed(redirection="2>&-")
    undisturbed(redirection="2>/dev/full")
    undisturbed(redirection="<&- 2>&-")


@test
def a_full_pipe_on_stderr_does_not_disturb_the_command():
    reader, writer = os.pipe()
    with open_fds(reader, writer):
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x")
        os.set_blocking(writer, True)
        undisturbed(stderr=writer)
        expect(os.get_blocking(writer), "O_NONBLOCK is left on the pipe")


@test
def a_broken_pipe_on_stderr_does_not_disturb_the_command():
    reader, writer = os.pipe()
    os.close(reader)
    with open_fds(writer):
        undisturbed(stderr=writer)


@test
def a_full_device_is_one_warning():
    one_warning(undisturbed("-o", "/dev/full"), "No space left on device")


@test
def a_full_disk_is_one_warning():
    own = "-m" if os.geteuid() == 0 else "-rm"
    line = 'mount -t tmpfs -o size=16k none "$PWD" && cd "$PWD" && exec "$@"'
    with directory() as place:
        if ask(["unshare", own, "sh", "-c", line, "sh", "true"], cwd=place).returncode != 0:
            raise Skip("namespaces are not permitted")
        words = wrap(end_with(7, 0.4), "-i", "0.01", "-o", "out")
        done = ask(["unshare", own, "sh", "-c", line, "sh", *words], cwd=place)
    equal((done.returncode, done.stdout), (7, b""), f"status and stdout ({done.stderr!r})")
    one_warning(done.stderr.decode().splitlines(), "No space left on device")


@test
def a_limit_on_the_size_of_files_is_one_warning():
    one_warning(undisturbed("-o", "out", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))),
                "File too large")


@test
def a_reader_that_goes_away_is_one_warning_and_the_command_goes_on():
    with Job("-i", "0.02", "-o", "-", command=python(WAITER, 7), stdin=subprocess.PIPE) as job:
        lines = job.stdout.take(3)
        while not any(line.startswith(b"ready") for line in lines):
            lines.append(job.stdout.next())
        job.close_stdout()
        wait_until(job.stderr, "the warning")
        time.sleep(0.2)  # ten more samples have nowhere to go
        equal(job.process.poll(), None, "still running")
        job.process.stdin.close()
        equal(job.wait(1 + PATIENCE_SECS), 7, "exit status")
        one_warning(job.stderr().splitlines(), "stdout")


if __name__ == "__main__":
    tap.main()
