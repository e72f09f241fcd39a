#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Completion in real shells: flags, values, files, PIDs, and the words of the command left to the command.

bash and zsh are driven through a terminal: the line is typed, every match is inserted into it, and the line is then
run as the arguments of a function that shows them. fish lists its matches itself.
"""

import contextlib
import os
import pathlib
import pty
import select
import shutil
import subprocess
import sys
import tempfile
import time

import lib  # noqa: F401, finds those that follow
import tap
from tap import Skip, equal, expect, test

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "completions"
WAIT_SECS = 15
PACKAGE = pathlib.Path(os.environ.get("BASH_COMPLETION", "/usr/share/bash-completion/bash_completion"))

# A command with a completion of its own, which says what it was given.
BASH_SETUP = r"""
PS1= PS2= HISTFILE=
bind 'set enable-bracketed-paste off'
bind '"\C-x": insert-completions'
show() { printf '<<%s' "${#}"; printf '|%s' "$@"; printf '>>\n'; }
_fakecmd() { COMPREPLY=("at-$COMP_CWORD-${COMP_WORDS[0]}-$2"); }
complete -F _fakecmd fakecmd
"""

ZSH_SETUP = r"""
PS1= PS2= RPS1= HISTFILE=
unsetopt prompt_cr prompt_sp
unset zle_bracketed_paste
fpath=("$SCRIPTS" $fpath)
autoload -Uz compinit && compinit -u -D
show() { printf '<<%s' "${#}"; printf '|%s' "$@"; printf '>>\n'; }
_fakecmd() { compadd -U -- "at-$((CURRENT - 1))-$words[1]-$PREFIX"; }
compdef _fakecmd fakecmd
zle -C all-matches complete-word _generic
bindkey '^X' all-matches
zstyle ':completion:all-matches::::' completer _all_matches _complete
zstyle ':completion:all-matches:*' insert true
"""

FISH_SETUP = r"""
complete -c fakecmd -x -a '(echo at-(count (commandline -opc))-(commandline -opc)[1]-(commandline -ct))'
source $SCRIPTS/resource-tracker.fish
complete "--do-complete=$LINE"
"""


def path_with(place):
    """A PATH that finds the command of the tests first."""
    return f"{place}/bin:{os.environ['PATH']}"


class Shell:
    """An interactive shell on a terminal of its own."""

    def __init__(self, words, setup, cwd, env):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=cwd, start_new_session=True,
                                        env={**os.environ, "TERM": "xterm", "COLUMNS": "2000", **env})
        os.close(slave)
        self.seen = b""
        path = pathlib.Path(cwd) / ".setup"
        path.write_text(setup + "\nshow rea\"\"dy\n", encoding="utf-8")
        self.type(f". {path}\n")
        self.until(b"<<1|ready>>")

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, mark):
        deadline = time.monotonic() + WAIT_SECS
        while mark not in self.seen:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.master], [], [], max(0, left))
            expect(ready, f"no {mark!r} in {self.seen[-600:]!r}")
            self.seen += os.read(self.master, 65536)
        before, self.seen = self.seen.split(mark, 1)
        return before

    def matches(self, line):
        """The words that stand in the place of the last word of the line when every match is inserted."""
        self.type(line + "\x18\x01show \n")
        self.until(b"<<")
        words = self.until(b">>").decode().split("|")[1:]
        return words[len(line.split(" ")) - 1:]

    def close(self):
        self.process.kill()
        self.process.wait(WAIT_SECS)
        os.close(self.master)


class Fish:
    """fish completes without a terminal."""

    def __init__(self, cwd):
        self.cwd = cwd

    def matches(self, line):
        done = subprocess.run(["fish", "--no-config", "-c", FISH_SETUP], cwd=self.cwd, capture_output=True, text=True,
                              env={**os.environ, "LINE": line, "SCRIPTS": str(SCRIPTS), "PATH": path_with(self.cwd)},
                              timeout=WAIT_SECS, check=False)
        equal(done.stderr, "", "stderr of fish")
        return [row.split("\t")[0] for row in done.stdout.splitlines()]

    def close(self):
        pass


@contextlib.contextmanager
def shell(name):
    """A shell in a directory with two files and a subdirectory."""
    words = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}
    program = name.split()[0]
    if not shutil.which(program):
        raise Skip(f"{program} is not installed")
    if name == "bash with its package" and not PACKAGE.exists():
        raise Skip("bash-completion is not installed")
    with tempfile.TemporaryDirectory(prefix="rt-e2e-") as place:
        for file in ("run.jsonl", "run.csv"):
            (pathlib.Path(place) / file).touch()
        (pathlib.Path(place) / "rundir").mkdir()
        (pathlib.Path(place) / "bin").mkdir()
        (pathlib.Path(place) / "bin" / "fakecmd").write_text("#!/bin/sh\n", encoding="utf-8")
        (pathlib.Path(place) / "bin" / "fakecmd").chmod(0o755)
        if program == "fish":
            yield Fish(place)
            return
        source = f"\n. {PACKAGE}\n" if name == "bash with its package" else "\n"
        setup = ZSH_SETUP if program == "zsh" else source + f". {SCRIPTS}/resource-tracker.bash\n" + BASH_SETUP
        opened = Shell(words[program], setup, place, {"SCRIPTS": str(SCRIPTS), "HOME": place, "ZDOTDIR": place,
                                                    "PATH": path_with(place)})
        try:
            yield opened
        finally:
            opened.close()


def offers_flags(name):
    with shell(name) as it:
        got = {word.rstrip("=") for word in it.matches("resource-tracker --su")}
        equal(got, {"--summary", "--summary-json", "--summary-markdown"}, "flags that begin with --su")
        equal([word.rstrip("=") for word in it.matches("resource-tracker -q --no-s")],
              ["--no-subreaper"], "negative form")
        everything = {word.rstrip("=") for word in it.matches("resource-tracker --")}
        for flag in ("--pid", "--from", "--live", "--report", "--doctor", "--licenses", "--tag", "--version"):
            expect(flag in everything, f"{flag} is not offered: {sorted(everything)}")
        expect("--subreaper" not in everything, "a flag that changes nothing is offered")


def offers_values(name):
    with shell(name) as it:
        equal(sorted(it.matches("resource-tracker -f ")), ["csv", "json"], "formats after -f")
        equal(sorted(it.matches("resource-tracker --format ")), ["csv", "json"], "formats after --format")
        equal(it.matches("resource-tracker -q --format c"), ["csv"], "formats that begin with c")
        equal(it.matches("resource-tracker -qf j"), ["json"], "formats after a cluster of letters")
        equal(it.matches("resource-tracker --summary=al"), ["--summary=always"], "values after =")
        equal(it.matches("resource-tracker --doctor=o"), ["--doctor=online"], "values of --doctor")
        sets = ["auto", "full", "python", "system"]
        equal(sorted(it.matches("resource-tracker --csv-columns ")), sets, "column sets")


def offers_files_and_pids(name):
    with shell(name) as it:
        for flag in ("-o", "--from", "--report", "-qo"):
            got = [word.rstrip("/") for word in it.matches(f"resource-tracker {flag} run")]
            equal(sorted(got), ["run.csv", "run.jsonl", "rundir"], f"files after {flag}")
        equal([word.rstrip("/") for word in it.matches("resource-tracker --sysroot run")], ["rundir"], "directories")
        expect(str(os.getpid()) in it.matches("resource-tracker --pid "), "our own PID is not offered")


COMMANDS = [
    "resource-tracker fakecmd x", "resource-tracker -q -- fakecmd x", "resource-tracker -o run.csv fakecmd x",
    "resource-tracker --tag a=b fakecmd x", "resource-tracker --format=csv --tag k=a:b fakecmd x",
    "resource-tracker -i 1 -qf csv fakecmd x", "resource-tracker --summary fakecmd x",
    "resource-tracker --no-subreaper -n fakecmd fakecmd x", "resource-tracker --job-name nightly fakecmd x",
]


def leaves_the_command_alone(name):
    with shell(name) as it:
        for line in COMMANDS:
            equal(it.matches(line), ["at-1-fakecmd-x"], f"what {line!r} becomes")
        equal(it.matches("resource-tracker -q fakecmd --format --su"), ["at-2-fakecmd---su"], "flags of the command")
        expect("fakecmd" in it.matches("resource-tracker -f csv fakec"), "the command is not offered")
        expect("fakecmd" in it.matches("resource-tracker -- fakec"), "the command is not offered after --")


@test
def the_scripts_are_well_formed():
    for words, name in ((["bash", "-n"], "resource-tracker.bash"), (["zsh", "-n"], "_resource-tracker"),
                        (["fish", "-n"], "resource-tracker.fish")):
        if not shutil.which(words[0]):
            tap.diag(f"{words[0]} is not installed")
            continue
        done = subprocess.run([*words, SCRIPTS / name], capture_output=True, text=True, timeout=WAIT_SECS, check=False)
        equal((done.returncode, done.stderr), (0, ""), f"what {words} says about {name}")


for shell_name in ("bash", "bash with its package", "zsh", "fish"):
    for step in (offers_flags, offers_values, offers_files_and_pids, leaves_the_command_alone):
        tap.add(f"{shell_name} {step.__name__.replace('_', ' ')}", step, shell_name, limit=60)

if __name__ == "__main__":
    sys.exit(tap.main())
