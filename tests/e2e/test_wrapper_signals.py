#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Signals for a command below the tracker, its terminal and job control, and the tracker as PID 1."""

import contextlib
import os
import signal
import subprocess
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import (COUNTER, END, ENDED_BY_TEST, PASSED_ON, WAITER, Job, Session, ask, children, need_pid_namespace,
                 python, ready_pid, state_of, status_of, wait_signals_taken, wait_state, wrap)
from tap import Skip, equal, expect, test
from tracker import BINARY, PATIENCE_SECS, SANITIZED, SLOW, Tracker, clean_env, directory, parse, wait_until

CTRL_C, CTRL_Z, CTRL_BACKSLASH = b"\x03", b"\x1a", b"\x1c"

# Stops itself with the given signal when a line comes in, twice, and ends with status 6 at the third; reports SIGUSR1.
STOPS_ITSELF = """
import os, signal, sys
signal.alarm(40)
signal.signal(signal.SIGUSR1, lambda number, _: os.write(1, b"%d\\n" % number))
print("ready", os.getpid(), flush=True)
for _ in range(2):
    sys.stdin.readline()
    os.kill(os.getpid(), int(sys.argv[1]))
    print("again", flush=True)
sys.stdin.readline()
sys.exit(6)
"""

# When a line comes in it sends SIGUSR1 to its whole process group, or has a child do it that stays for a while.
SIGNALS_ITS_GROUP = COUNTER.replace("while True:", """
sys.stdin.readline()
sender = os.fork() if sys.argv[1] == "child" else 0
if sender == 0:
    os.kill(0, signal.SIGUSR1)
    if sys.argv[1] == "child":
        os.closerange(0, 3)
        signal.alarm(10)
        signal.sigwait([signal.SIGRTMAX])
while True:""")

# Fifty orphans that end at once; how many of them are zombies after all had time to be reaped.
ORPHANS = """
import os, time
for _ in range(50):
    if os.fork() == 0:
        if os.fork() == 0:
            time.sleep(0.01)
        os._exit(0)
    os.wait()
def zombies():
    count = 0
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                count += stat.read().rsplit(")", 1)[1].split()[0] == "Z"
        except OSError:
            pass
    return count
deadline = time.monotonic() + 5
time.sleep(0.05)
while zombies() and time.monotonic() < deadline:
    time.sleep(0.01)
print(zombies(), flush=True)
"""


def next_signal(lines, but=None):
    """The next signal that the command reports, leaving out one that it may or may not see."""
    return next(number for number in (int(line) for line in iter(lines.next, None)) if number != but)


def settle(tracker_pid, lines, number=None, but=None):
    """Until the tracker has dealt with all it was sent: the next signal through it must be the next that arrives."""
    wait_signals_taken(tracker_pid)
    marker = signal.SIGUSR2 if number == signal.SIGUSR1 else signal.SIGUSR1
    os.kill(tracker_pid, marker)
    equal(next_signal(lines, but), marker, "the signal that arrives next")


# Passing on


def arrives_once_each_time(number):
    with Job("-q", command=python(COUNTER)) as job:
        job.wait_command()
        for _ in range(2):
            job.send(number)
            equal(int(job.stdout.next()), number, "the signal that arrives")
        settle(job.pid, job.stdout, number)
        equal(job.finish(), ([], ENDED_BY_TEST), "more signals, exit status")
        equal(job.stderr(), "", "stderr")


for name_ in PASSED_ON:
    tap.add(f"{name_} arrives once each time", arrives_once_each_time, getattr(signal, name_))


@test
def all_of_them_arrive_while_samples_are_taken():
    with Job("-i", "0.01", command=python(COUNTER)) as job:
        job.wait_command()
        for name in PASSED_ON:
            job.send(getattr(signal, name))
        got = sorted(int(line) for line in job.stdout.take(len(PASSED_ON)))
        equal(got, sorted(getattr(signal, name) for name in PASSED_ON), "signals")
        equal(job.finish(), ([], ENDED_BY_TEST), "more signals, exit status")


def ends_the_command(number):
    with Job("-i", "60", command=["sh", "-c", "echo ready $$; exec sleep 30"]) as job:
        job.wait_command()
        equal(job.stop(number, 2 + PATIENCE_SECS), 128 + number, "exit status")
        lines = job.stderr().splitlines()
        equal(len(lines), 1, f"samples {lines}")
        expect(0 < parse(lines[0])["elapsed_secs"] < 20, lines)


for name_ in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    tap.add(f"{name_} ends the command, then comes the final sample", ends_the_command, getattr(signal, name_))


@test
def a_command_that_ignores_signals_goes_on_and_so_does_the_tracker():
    line = "trap '' TERM INT HUP QUIT USR1 USR2; echo ready $$; read x; exit 9"
    with Job("-q", command=["sh", "-c", line], stdin=subprocess.PIPE) as job:
        job.wait_command()
        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2", "SIGTERM"):
            job.send(getattr(signal, name))
            wait_signals_taken(job.pid)
        equal(job.process.poll(), None, "still running")
        wait_state(job.command_pid, "S", "the command")
        job.process.stdin.close()
        equal(job.wait(), 9, "exit status")


@test
def a_command_that_handles_a_signal_decides_the_status():
    with Job("-q", command=["sh", "-c", "trap 'exit 17' TERM; echo ready $$; while :; do sleep 0.05; done"]) as job:
        job.wait_command()
        equal(job.stop(signal.SIGTERM, 2 + PATIENCE_SECS), 17, "exit status")


@test(limit=60)
def a_signal_right_after_the_start_is_not_lost():
    for count in range(40):
        with Job("-q", command=["sleep", "6"]) as job:
            time.sleep(count * (0.002 if SLOW else 0.0002))  # hits another moment of the start each time
            equal(job.stop(signal.SIGTERM, 4), 128 + signal.SIGTERM, f"exit status in run {count}")
            equal(job.stdout.all(2), [], "stdout, which ends with the command")


def own_group_signal_arrives_once(who):
    """The tracker is paused meanwhile: what it would send on cannot melt into the first signal then."""
    with Job("-q", command=python(SIGNALS_ITS_GROUP, who), start_new_session=True, stdin=subprocess.PIPE) as job:
        job.wait_command()
        job.send(signal.SIGSTOP)
        wait_state(job.pid, "T", "the tracker")
        job.process.stdin.close()
        equal(int(job.stdout.next()), signal.SIGUSR1, "the signal that arrives")
        job.send(signal.SIGCONT)
        settle(job.pid, job.stdout, signal.SIGUSR1, but=signal.SIGCONT)
        rest, status = job.finish()
        equal((set(rest) - {signal.SIGCONT}, status), (set(), ENDED_BY_TEST), "more signals, exit status")


tap.add("a signal of the command to its own group arrives once", own_group_signal_arrives_once, "itself")
tap.add("a signal of a child of the command to the group arrives once", own_group_signal_arrives_once, "child")


@test
def works_below_and_above_timeout():
    for words in (["timeout", "0.3", *wrap(["sleep", "20"])], wrap(["timeout", "0.3", "sleep", "20"])):
        began = time.monotonic()
        equal(ask(words).returncode, 124, f"exit status of {words}")
        expect(time.monotonic() - began < 0.3 + 2 * PATIENCE_SECS, "ended late")


@test
def works_below_nohup():
    with Job("-q", command=python(WAITER, 4), before=["nohup"], stdin=subprocess.PIPE) as job:
        job.wait_command()
        job.send(signal.SIGHUP)
        wait_signals_taken(job.pid)
        equal(job.process.poll(), None, "still running")
        job.process.stdin.close()
        equal(job.wait(), 4, "exit status")


# Stopping without a terminal


def stopped_and_continued_from_outside(new_session):
    """The command is paused with kill -STOP and kill -CONT; the tracker must not be left behind stopped."""
    with Job("-q", command=python(WAITER, 7), stdin=subprocess.PIPE, start_new_session=new_session) as job:
        pid = job.wait_command()
        for _ in range(2):
            os.kill(pid, signal.SIGSTOP)
            wait_state(pid, "T", "the command")
            time.sleep(0.1)  # whatever the tracker does about it
            os.kill(pid, signal.SIGCONT)
            wait_state(pid, "S", "the command")
        job.process.stdin.close()
        equal(job.wait(2 + PATIENCE_SECS), 7, "exit status")


tap.add("a command paused from outside ends with its status", stopped_and_continued_from_outside, False)
tap.add("a command paused from outside in a session of its own ends with its status",
        stopped_and_continued_from_outside, True)


@test
def a_tracker_that_is_paused_alone_disturbs_no_other_process():
    with Job("-i", "0.02", "-o", "out", command=python(WAITER, 7), stdin=subprocess.PIPE) as job:
        pid = job.wait_command()
        job.send(signal.SIGSTOP)
        wait_state(job.pid, "T", "the tracker")
        wait_state(pid, "S", "the command")
        job.process.stdin.close()
        wait_state(pid, "Z", "the command")
        job.send(signal.SIGCONT)
        equal(job.wait(1 + PATIENCE_SECS), 7, "exit status")


@test(limit=60)
def a_tracker_that_is_stopped_and_continued_alone_does_so_with_the_command():
    with Session(wrap(python(COUNTER)), foreground=False) as session:
        pid = ready_pid(session.screen)
        for _ in range(8):
            os.kill(session.pid, signal.SIGTSTP)
            equal(session.event(), "stopped", "what the shell hears")
            wait_state(pid, "T", "the command")
            os.kill(session.pid, signal.SIGCONT)
            equal(session.event(), "continued", "what the shell hears")
            wait_state(pid, "S", "the command")
        os.kill(pid, END)
        equal(session.event(), f"exited {ENDED_BY_TEST}", "the end")


@test
def SIGCONT_to_the_tracker_wakes_the_command():
    with Job("-q", command=python(COUNTER), start_new_session=True) as job:
        pid = job.wait_command()
        os.kill(pid, signal.SIGSTOP)
        wait_state(pid, "T", "the command")
        job.send(signal.SIGCONT)
        equal(int(job.stdout.next()), signal.SIGCONT, "the signal that arrives")
        equal(job.finish()[1], ENDED_BY_TEST, "exit status")


# On a terminal


@test
def the_command_has_the_terminal():
    code = "import os; print(*map(os.isatty, range(3)), os.tcgetpgrp(0), os.getpgrp(), os.getsid(0))"
    with Session(wrap(python(code))) as session:
        words = session.screen.next().decode().split()
        equal(words, ["True"] * 3 + [str(session.pid)] * 2 + [str(session.leader)],
              "terminal of stdin, stdout and stderr, foreground group, group, session")
        equal(session.event(), "exited 0", "the end")


def of_the_terminal_arrives_once(number, cause):
    """Also when the tracker is paused meanwhile: what it would send on cannot melt into the first signal then."""
    with Session(wrap(python(COUNTER))) as session:
        pid = ready_pid(session.screen)
        for attempt in range(4):
            if attempt >= 2:
                os.kill(session.pid, signal.SIGSTOP)
                equal(session.event(), "stopped", "what the shell hears")
            cause(session, attempt)
            equal(next_signal(session.screen, but=signal.SIGCONT), number, "the signal that arrives")
            if attempt >= 2:
                os.kill(session.pid, signal.SIGCONT)
                equal(session.event(), "continued", "what the shell hears")
            settle(session.pid, session.screen, but=signal.SIGCONT)
        os.kill(pid, END)
        equal(session.event(), f"exited {ENDED_BY_TEST}", "the end")
        equal([line for line in session.screen.all() if int(line) != signal.SIGCONT], [], "more signals")


for words_, number_, cause_ in (
        ("Ctrl-C", signal.SIGINT, lambda session, _: session.type(CTRL_C)),
        ("Ctrl-Backslash", signal.SIGQUIT, lambda session, _: session.type(CTRL_BACKSLASH)),
        ("a new size of the window", signal.SIGWINCH, lambda session, attempt: session.resize(30 + attempt, 90))):
    tap.add(f"{words_} arrives once each time", of_the_terminal_arrives_once, number_, cause_)


@test
def Ctrl_C_ends_the_command_and_the_tracker():
    with Session(wrap(["sh", "-c", "echo ready $$; exec sleep 30"])) as session:
        ready_pid(session.screen)
        session.type(CTRL_C)
        equal(session.event(), f"killed {int(signal.SIGINT)}", "the end")


@test
def Ctrl_C_ends_a_loop_of_the_shell_and_not_only_one_round():
    loop = 'for i in 1 2 3; do "$0" -q --summary=never sh -c "echo ready \\$\\$; exec sleep 30"; echo next; done'
    with Session(["/bin/bash", "-c", loop, BINARY]) as session:
        ready_pid(session.screen)
        session.type(CTRL_C)
        equal(session.event(), f"killed {int(signal.SIGINT)}", "the end of the shell")
        equal(session.screen.all(), [], "what else was printed")


@test
def a_terminal_that_goes_away_ends_the_command_and_the_tracker():
    with Session(wrap(["sh", "-c", "echo ready $$; exec sleep 30"], "-i", "0.05")) as session:
        pid = int(next(line for line in iter(session.screen.next, None) if line.startswith(b"ready")).split()[1])
        os.close(session.ours)
        wait_state(pid, "XZ", "the command")
        wait_state(session.pid, "XZ", "the tracker")


@test
def Ctrl_Z_stops_both_and_continuing_the_group_continues_both():
    with Session(wrap(python(COUNTER), "-i", "0.05", "-o", "out")) as session:
        pid = ready_pid(session.screen)
        for _ in range(2):
            session.type(CTRL_Z)
            equal(session.event(), "stopped", "what the shell hears")
            wait_state(pid, "T", "the command")
            equal(state_of(session.pid), "T", "state of the tracker")
            session.proceed()
            wait_state(pid, "S", "the command")
            os.kill(session.pid, signal.SIGUSR1)
            equal(next_signal(session.screen, but=signal.SIGCONT), signal.SIGUSR1, "the signal that arrives")
        os.kill(pid, END)
        equal(session.event(), f"exited {ENDED_BY_TEST}", "the end")


@test
def Ctrl_Z_stops_nothing_when_the_command_ignores_it():
    code = "import signal; signal.signal(signal.SIGTSTP, signal.SIG_IGN)\n" + COUNTER
    with Session(wrap(python(code))) as session:
        pid = ready_pid(session.screen)
        session.type(CTRL_Z)
        settle(session.pid, session.screen)
        wait_state(pid, "S", "the command")
        wait_state(session.pid, "S", "the tracker")
        os.kill(pid, END)
        equal(session.event(), f"exited {ENDED_BY_TEST}", "the only thing that the shell hears")


# At Ctrl-Z it takes a while, says so, and stops itself with the given signal, as an editor does.
TIDIES_UP = """
import os, signal, sys, time
def tidy_and_stop(number, _):
    time.sleep(0.2)
    os.write(1, b"tidy\\n")
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), int(sys.argv[1]))
signal.alarm(40)
signal.signal(signal.SIGTSTP, tidy_and_stop)
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
sys.exit(11)
"""


def the_shell_waits_for_tidying(number):
    """A shell that took the terminal back too early would fight over its modes with the command."""
    with Session(wrap(python(TIDIES_UP, int(number)))) as session:
        pid = ready_pid(session.screen)
        session.type(CTRL_Z)
        equal(session.event(), "stopped", "what the shell hears")
        equal(state_of(pid), "T", "state of the command when the shell hears of it")
        equal(session.screen.next(), b"tidy", "what the command says")
        session.proceed()
        session.type(b"\n")
        equal(session.event(), "exited 11", "the end")


for name_ in ("SIGTSTP", "SIGSTOP"):
    tap.add(f"Ctrl-Z waits for a command that tidies up before it stops by {name_}", the_shell_waits_for_tidying,
            getattr(signal, name_))


def the_shell_notices(number, wake):
    """A command that stops itself alone takes the tracker with it, or the shell would wait for ever."""
    with Session(wrap(python(STOPS_ITSELF, int(number)), "-i", "0.05", "-o", "out")) as session:
        pid = ready_pid(session.screen)
        for _ in range(2):
            settle(session.pid, session.screen)  # or the first SIGCONT would wake it from the second stop
            session.type(b"\n")
            equal(session.event(), "stopped", "what the shell hears")
            wait_state(pid, "T", "the command")
            wake(session.pid, signal.SIGCONT)
            equal(session.event(), "continued", "what the shell hears")
            equal(session.screen.next(), b"again", "what the command says")
        session.type(b"\n")
        equal(session.event(), "exited 6", "the end")


for name_ in ("SIGTSTP", "SIGTTIN", "SIGTTOU"):
    tap.add(f"the shell notices a command that stops itself by {name_} and wakes both", the_shell_notices,
            getattr(signal, name_), os.killpg)
tap.add("SIGCONT to the tracker alone wakes a command that stopped itself", the_shell_notices, signal.SIGTSTP, os.kill)


@test
def a_signal_for_a_stopped_job_arrives_when_it_goes_on():
    with Session(wrap(["sh", "-c", "echo ready $$; exec sleep 30"])) as session:
        pid = ready_pid(session.screen)
        session.type(CTRL_Z)
        equal(session.event(), "stopped", "what the shell hears")
        wait_state(pid, "T", "the command")
        os.kill(session.pid, signal.SIGTERM)
        os.killpg(session.pid, signal.SIGCONT)
        event = session.event()
        equal(session.event() if event == "continued" else event, f"exited {128 + signal.SIGTERM}", "the end")


@test
def samples_on_a_terminal_that_stops_background_writers_stop_nothing():
    code = ("import signal; signal.alarm(40); signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
            "open('ready', 'w').close(); signal.sigwait([signal.SIGUSR1]); raise SystemExit(5)")
    with Session(wrap(python(code), "-i", "0.05", "-f", "json"), foreground=False, tostop=True) as session:
        wait_until((session.cwd / "ready").exists, "the command")
        for line in session.screen.take(4):
            parse(line)
        expect(state_of(session.pid) in "SR", f"the tracker is in state {state_of(session.pid)}")
        os.kill(session.pid, signal.SIGUSR1)
        equal(session.event(), "exited 5", "the only thing that the shell hears")
        parse(session.screen.all()[-1])


@test
def a_background_command_that_reads_is_stopped_and_the_shell_notices():
    with Session(wrap(["sh", "-c", "read line; exit 3"]), foreground=False) as session:
        equal(session.event(), "stopped", "what the shell hears")


# As PID 1


def as_first(*options, command, **more):
    """The tracker as PID 1 of a namespace, and the PID that it has out here."""
    job = Job(*options, command=command, before=need_pid_namespace(), **more)
    return job, lambda: wait_until(lambda: children(job.pid), "the tracker")[0]


@test
def as_PID_1_the_status_is_right():
    for line, status in (("exit 0", 0), ("exit 7", 7), ("exit 255", 255), ("kill -9 $$", 137), ("kill -TERM $$", 143)):
        job, _ = as_first("-o", "out", command=["sh", "-c", f"echo $PPID; {line}"])
        with job:
            equal((job.wait(), job.stdout.all()), (status, [b"1"]), f"status and parent of {line!r}")
            equal(job.stderr(), "", "stderr")


@test
def as_PID_1_signals_from_outside_arrive_once():
    job, find = as_first("-q", command=python(COUNTER))
    with job:
        job.stdout.next()
        tracker = find()
        command = children(tracker)[0]
        for name in PASSED_ON:
            number = getattr(signal, name)
            os.kill(tracker, number)
            equal(int(job.stdout.next()), number, "the signal that arrives")
            settle(tracker, job.stdout, number)
        os.kill(command, END)
        equal((job.stdout.all(), job.wait()), ([], ENDED_BY_TEST), "more signals, exit status")


@test
def as_PID_1_it_reaps_orphans():
    job, _ = as_first("-q", "-i", "60", command=python(ORPHANS))
    with job:
        equal(int(job.stdout.next()), 0, "zombies")
        equal(job.wait(), 0, "exit status")


@test
def as_PID_1_it_ends_with_the_command():
    job, _ = as_first("-i", "60", command=["sh", "-c", "sleep 30 & exit 8"])
    with job:
        equal(job.wait(2 + PATIENCE_SECS), 8, "exit status")
        sample = parse(job.stderr().splitlines()[0])
        expect(sample["tracked_pid"] > 1, f"tracked_pid {sample['tracked_pid']}")


# The start of the command, widened by tests/fake/slow_start.c


def need_library(variable):
    library = os.environ.get(variable, "")
    if not os.path.exists(library):
        raise Skip(f"{variable} does not name a library")
    if SANITIZED:
        raise Skip("no library can be loaded before that of a sanitizer")
    return os.path.abspath(library)


@contextlib.contextmanager
def slow_start(moment):
    """A FIFO at which the start waits, and the environment that makes it wait there."""
    library = need_library("SLOW_START_LIB")
    with directory() as empty:
        fifo = empty / "fifo"
        os.mkfifo(fifo)
        yield fifo, {"LD_PRELOAD": library, f"SLOW_START_{moment}": str(fifo)}


def try_release(fifo):
    try:
        os.close(os.open(fifo, os.O_WRONLY | os.O_NONBLOCK))
    except OSError:
        return False
    return True


def release(fifo, pid=None):
    """Until a process waits at the FIFO, which then goes on, or this one has ended."""
    wait_until(lambda: try_release(fifo) or (pid and state_of(pid) in "XZ"), "the start to go on")


def is_without(pid, number):
    """Does a process live to which this signal is not pending?"""
    try:
        return state_of(pid) not in "XZ" and not int(status_of(pid)["ShdPnd"], 16) & 1 << number - 1
    except FileNotFoundError:
        return False


@test
def a_signal_between_the_start_and_the_exec_reaches_the_command():
    with slow_start("EXEC") as (fifo, env), Job("-q", command=["sleep", "30"], env=env) as job:
        wait_until(lambda: children(job.pid), "the process of the command")
        pid = children(job.pid)[0]
        job.send(signal.SIGUSR1)
        wait_until(lambda: not is_without(pid, signal.SIGUSR1), "SIGUSR1 to be passed on")
        release(fifo, pid)
        equal(job.wait(), 128 + signal.SIGUSR1, "exit status")


@test
def Ctrl_Z_before_the_exec_stops_both():
    with slow_start("EXEC") as (fifo, env), Session(wrap(["sleep", "0.2"], "-q"), env=env) as session:
        wait_until(lambda: children(session.pid), "the process of the command")
        session.type(CTRL_Z)
        equal(session.event(), "stopped", "what the shell hears")
        session.proceed()
        release(fifo)
        equal(session.event(), "exited 0", "the end")


@test
def Ctrl_C_just_before_the_fork_is_not_lost():
    with slow_start("FORK") as (fifo, env), Session(wrap(["sleep", "30"], "-q"), env=env) as session:
        wait_state(session.pid, "S", "the tracker")
        session.type(CTRL_C)
        wait_until(lambda: int(status_of(session.pid)["ShdPnd"], 16) & 1 << signal.SIGINT - 1, "SIGINT to be pending")
        release(fifo)
        equal(session.event(), f"killed {int(signal.SIGINT)}", "the end")


@test
def suspend_in_a_shell_gives_the_terminal_back():
    with Session(wrap(["/bin/bash", "--norc", "--noprofile", "-i"], "-q", "--summary=never")) as session:
        wait_until(lambda: children(session.pid), "the shell")
        session.type(b"suspend\n")
        equal(session.event(), "stopped", "what the shell above hears")
        session.proceed()
        session.type(b"exit 5\n")
        equal(session.event(), "exited 5", "the end")


# A library with a thread that blocks no signal, preloaded by tests/fake/other_thread.c, in the tracker alone.


def beside_a_thread(command, variable="LD_PRELOAD"):
    return {variable: need_library("OTHER_THREAD_LIB")}, ["env", "-u", variable, *command]


@test(limit=60)
def beside_a_foreign_thread_the_end_is_noticed():
    for variable in ("LD_PRELOAD", "LD_AUDIT"):
        env, command = beside_a_thread(["sh", "-c", "exit 7"], variable)
        for _ in range(20):
            with Job("-q", command=command, env=env) as job:
                equal(job.wait(), 7, f"exit status with {variable}")


@test
def beside_a_foreign_thread_a_signal_at_the_very_end_is_harmless():
    env, command = beside_a_thread(["env", "-u", "OTHER_THREAD_SIGNAL", "sh", "-c", "exit 7"])
    for _ in range(5):
        with Job("-q", command=command, env={**env, "OTHER_THREAD_SIGNAL": "1"}) as job:
            equal(job.wait(), 7, "exit status")


@test
def beside_a_foreign_thread_signals_arrive_once_each():
    env, command = beside_a_thread(python(COUNTER))
    with Job("-i", "0.05", "-o", "out", command=command, env=env) as job:
        job.wait_command()
        for name in PASSED_ON:
            number = getattr(signal, name)
            job.send(number)
            equal(next_signal(job.stdout), number, "the signal that arrives")
        equal(job.finish(), ([], ENDED_BY_TEST), "more signals, exit status")


@test
def beside_a_foreign_thread_Ctrl_Z_stops_both():
    env, command = beside_a_thread(python(COUNTER))
    with Session(wrap(command, "-i", "0.05", "-o", "out"), env=env) as session:
        pid = ready_pid(session.screen)
        session.type(CTRL_Z)
        equal(session.event(), "stopped", "what the shell hears")
        wait_state(pid, "T", "the command")
        session.proceed()
        wait_state(pid, "S", "the command")
        os.kill(pid, END)
        equal(session.event(), f"exited {ENDED_BY_TEST}", "the end")


@test
def beside_a_foreign_thread_ignored_signals_stay_ignored_in_the_command():
    env, command = beside_a_thread(["sh", "-c", "grep SigIgn /proc/self/status"])
    words = ["sh", "-c", 'trap "" HUP USR2; exec "$@"', "sh", *wrap(command)]
    said = ask(words, env={**clean_env(), **env}).stdout
    mask = int(said.split()[1], 16)
    expect(mask & 1 << signal.SIGHUP - 1 and mask & 1 << signal.SIGUSR2 - 1, said)


@test
def beside_a_foreign_thread_host_mode_ends_with_its_last_sample():
    env, _ = beside_a_thread([])
    with Tracker("-i", "60", "-o", "out", env=env) as tracker:
        wait_until(lambda: (tracker.cwd / "out").exists(), "the output")
        equal(tracker.stop(signal.SIGTERM, 2 + PATIENCE_SECS), 0, "exit status")
        equal(len((tracker.cwd / "out").read_bytes().splitlines()), 1, "samples")


if __name__ == "__main__":
    tap.main()
