#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a command below the tracker is given by the kernel and its caller: the same as without the tracker."""

import json
import os
import resource
import signal

import lib  # noqa: F401, finds those that follow
import tap
from job import DESCRIPTORS, ask, both, python, wrap
from tap import Skip, equal, expect, test
from tracker import BINARY, SANITIZED, clean_env, directory

OURS = (b"SENTINEL_API_TOKEN=", b"SENTINEL_API_KEY=", b"TRACKER_HTTP_HEADERS=")
ODD_STATE_FILES = ("limits", "personality", "oom_score_adj", "timerslack_ns", "coredump_filter", "cgroup", "loginuid")
CHANGING_LINES = ("Name", "State", "Tgid", "Ngid", "Pid", "PPid", "NStgid", "NSpid", "Vm", "Rss", "Hugetlb", "SigQ",
                  "Threads", "voluntary", "nonvoluntary", "FDSize")
STAT_FIELDS = {"pgrp": 2, "session": 3, "tty_nr": 4, "tpgid": 5, "nice": 16, "exit_signal": 35, "rt_priority": 37,
               "policy": 38}


def same_lines(got, want, what):
    differ = sorted(set(got) ^ set(want))
    expect(got == want, f"{what}: {differ if differ else (got, want)}")


def same_state(prepare):
    """What the kernel says about the command is what it says without us, after anything the caller may have done."""
    if SANITIZED and prepare is limit_core_files:
        raise Skip("a sanitizer's run time turns core files off")
    names = [f"/proc/self/{name}" for name in ODD_STATE_FILES if os.path.exists(f"/proc/self/{name}")]
    for command in (["cat", *names], ["pwd", "-P"]):
        bare, wrapped = both(command, preexec_fn=prepare)
        same_lines(wrapped.stdout.decode().splitlines(), bare.stdout.decode().splitlines(), f"output of {command}")
    lines = [[line for line in done.stdout.decode().splitlines() if not line.startswith(CHANGING_LINES)]
             for done in both(["cat", "/proc/self/status"], preexec_fn=prepare)]
    for name in ("SigBlk", "SigIgn", "SigCgt", "Umask"):
        expect(any(line.startswith(name) for line in lines[0]), f"no {name} in {lines[0]}")
    same_lines(lines[1], lines[0], "lines of status")
    fields = []
    for done in both(["cat", "/proc/self/stat"], preexec_fn=prepare):
        words = done.stdout.decode().rsplit(")", 1)[1].split()
        fields.append({name: words[place] for name, place in STAT_FIELDS.items()})
    equal(fields[1], fields[0], "fields of stat")


def ignore(*numbers):
    return lambda: [signal.signal(number, signal.SIG_IGN) for number in numbers]


def ignore_everything():
    """All but what cannot be, and in a sanitizer build what its run time handles itself."""
    handled = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE} if SANITIZED else set()
    ignore(*(set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP} - handled))()


def limit_core_files():
    resource.setrlimit(resource.RLIMIT_CORE, (4096, 8192))


def block(*numbers):
    return lambda: signal.pthread_sigmask(signal.SIG_BLOCK, numbers)


for words_, prepare_ in (
        ("by default", None),
        ("with a umask", lambda: os.umask(0o027)),
        ("with a nice value", lambda: os.nice(5)),
        ("on one CPU", lambda: os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])),
        ("with few descriptors, soft", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 3000))),
        ("with few descriptors, hard", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, 200))),
        ("with core files", limit_core_files),
        ("with limits on stack and CPU time", lambda: (resource.setrlimit(resource.RLIMIT_STACK, (1 << 22, 1 << 23)),
                                                       resource.setrlimit(resource.RLIMIT_CPU, (50, 60)))),
        ("with SIGCHLD ignored", ignore(signal.SIGCHLD)),
        ("with SIGHUP ignored", ignore(signal.SIGHUP)),
        ("with SIGINT and SIGQUIT ignored", ignore(signal.SIGINT, signal.SIGQUIT)),
        ("with SIGPIPE and SIGXFSZ ignored", ignore(signal.SIGPIPE, signal.SIGXFSZ)),
        ("with SIGTSTP, SIGTTIN and SIGTTOU ignored", ignore(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)),
        ("with everything ignored", ignore_everything),
        ("with SIGUSR1 blocked", block(signal.SIGUSR1)),
        ("with SIGCHLD and SIGTERM blocked", block(signal.SIGCHLD, signal.SIGTERM)),
        ("with everything blocked", block(*signal.valid_signals()))):
    tap.add(f"the command's state is that of a bare run {words_}", same_state, prepare_)


@test
def the_status_is_right_whatever_the_caller_ignores_or_blocks():
    for prepare in (ignore(signal.SIGCHLD), ignore_everything, block(signal.SIGCHLD), block(*signal.valid_signals())):
        for line, status in (("exit 33", 33), ("exec sleep 0.1", 0), ("kill -9 $$", 137)):
            done = ask(wrap(["sh", "-c", line], "-i", "0.02", "-o", "out"), preexec_fn=prepare)
            equal((done.returncode, done.stderr), (status, b""), f"status and stderr of {line}")


@test
def the_environment_is_that_of_the_caller_without_our_secrets():
    env = {os.fsencode(name): os.fsencode(value) for name, value in clean_env().items()}
    env.update({b"ODD": b"\xff\xfe\n=x", b"EMPTY": b"", b"TRACKER_JOB_NAME": b"n", b"TRACKER_GRACE": b"0",
                b"SENTINEL_API_URL": b"http://127.0.0.1:9", b"SENTINEL_API_TOKEN": b"secret-a", b"A_LAST": b"1",
                b"SENTINEL_API_KEY": b"secret-b", b"TRACKER_HTTP_HEADERS": b"X-Key=secret-c",
                b"SENTINEL_API_TOKENS": b"2"})
    bare, wrapped = both(["env", "-0"], env=env)
    want = [word for word in bare.stdout.split(b"\0") if not word.startswith(OURS)]
    equal(len(want), len(bare.stdout.split(b"\0")) - 3, "variables that stay")
    got = wrapped.stdout.split(b"\0")
    equal([word.partition(b"=")[0] for word in got if word not in want], [b"TRACKER_SOCKET"], "what is added")
    same_lines([word for word in got if not word.startswith(b"TRACKER_SOCKET=")], want, "environment of the command")
    expect(b"secret" not in wrapped.stderr, wrapped.stderr)


def same_descriptors(options, redirections):
    found = []
    for words in ([], [BINARY, *options, "-i", "0.01", "--"]):
        with directory() as place:
            (place / "data").write_text("first\nsecond\n", encoding="utf-8")
            line = f'exec {redirections} 7<data 9>>more; read -r x <&7; exec "$@"'
            done = ask(["sh", "-c", line, "sh", *words, *python(DESCRIPTORS, "found")], cwd=place)
            equal(done.returncode, 0, f"exit status {done.stderr!r}")
            found.append(json.loads((place / "found").read_text(encoding="utf-8")))
    equal(found[0]["7"][3], 6, "where the bare command finds descriptor 7")
    equal(found[1], found[0], "descriptors (kind, flags, flags, place)")


for options_ in (["-q"], [], ["-o", "out"], ["-o", "-"]):
    for redirections_ in ("", "<&-", ">&-", "2>&-", "<&- >&-", "<&- >&- 2>&-"):
        tap.add(f"the same descriptors with [{' '.join(options_)}] and [{redirections_}]", same_descriptors, options_,
                redirections_)


@test
def few_descriptors_are_enough():
    for count in (24, 32):
        limit = (count, count)
        done = ask(wrap(["sh", "-c", "sleep 0.1; exit 9"], "-i", "0.02", "-o", "out"),
                   preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_NOFILE, limit))
        equal(done.returncode, 9, f"exit status with {count} descriptors; {done.stderr!r}")


if __name__ == "__main__":
    tap.main()
