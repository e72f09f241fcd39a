#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--live on a terminal: the block stays at the bottom, the command's output stays whole, and nothing is left behind."""

import contextlib
import os
import pathlib
import re
import select
import signal
import subprocess
import termios
import time

import lib  # noqa: F401, finds those that follow
import tap
from job import Session, children, python, state_of, status_of
from screen import Screen
from tap import equal, expect, test
from tracker import BINARY, PATIENCE_SECS, WAIT_SECS, directory, file_lines, run, wait_until

ROWS, COLUMNS = 24, 80
CTRL_C, CTRL_Z, CTRL_S, CTRL_Q, CTRL_BACKSLASH = b"\x03", b"\x1a", b"\x13", b"\x11", b"\x1c"
HEADLINE = re.compile(r"── (host, )?\d+ (s|min \d\d s|h \d\d min|d \d\d h)"
                      r"(, (\d+ process(es)?|first sample at .* s))?[: ]")
LABELS = ("CPU", "MEM", "GPU", "DISK", "NET")
BLOCK_LINE = re.compile(r"^(CPU|MEM|GPU|DISK|NET)  |/s, |/s  |[▁▂▃▄▅▆▇█]")
OPTIONS = ("-i", "0.1", "--summary=never", "--live")

# Says what it is given, then waits for a line and ends with status 3.
SAYS = """
import os, signal, sys
signal.alarm(40)
os.write(1, sys.argv[1].encode())
sys.stdin.readline()
sys.exit(3)
"""

# A line after each line that comes in; the text says what is written then.
SAYS_NEXT = """
import os, signal, sys
signal.alarm(40)
for text in sys.argv[1:]:
    os.write(1, text.encode())
    sys.stdin.readline()
"""

# Takes single keys between two texts, as an editor does: one key ends that, another the command.
TAKES_KEYS = """
import os, signal, sys, termios
signal.alarm(40)
before = termios.tcgetattr(0)
os.write(1, sys.argv[1].encode())
os.read(0, 1)
mode = termios.tcgetattr(0)
mode[3] &= ~(termios.ICANON | termios.ECHO)
termios.tcsetattr(0, termios.TCSANOW, mode)
os.write(1, sys.argv[2].encode())
os.read(0, 1)
os.write(1, sys.argv[3].encode())
termios.tcsetattr(0, termios.TCSANOW, before)
if len(sys.argv) > 4:
    os.read(0, 1)
    os.write(1, sys.argv[4].encode())
"""

HIDES_TYPING = """
import os, signal, sys, termios
signal.alarm(40)
mode = termios.tcgetattr(0)
mode[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, mode)
os.write(1, b"Password: ")
sys.stdin.readline()
os.write(1, b"\\n")
"""

COUNTS = """
import os, signal, sys, time
signal.alarm(60)
pause = float(sys.argv[2])
for number in range(int(sys.argv[1])):
    os.write(1 + number % 2, b"line %d of many\\n" % number)
    if pause:
        time.sleep(pause)
"""

# Letters one by one, never a LF; the last one of a row comes with the first of the next one, as making room for the
# block moves a cursor that rests between them.
DRIPS = """
import os, signal, sys, time
signal.alarm(60)
count, columns = int(sys.argv[1]), int(sys.argv[2])
letters = b""
for number in range(count):
    letters += b"%c" % (97 + number % 26)
    if (number + 1) % columns != 0:
        os.write(1, letters)
        letters = b""
        time.sleep(0.004)
"""

# As many bytes as the terminal will take, in writes of any length.
FLOODS = """
import os, signal
signal.alarm(60)
text = b"".join(b"flood %d\\n" % number for number in range(40000))
at = 0
while at < len(text):
    at += os.write(1, text[at:at + 1 + at * 7919 % 3000])
"""


class Terminal(Session):
    """A session on a terminal of a known size, whose other side is a Screen."""

    def __init__(self, *command, options=OPTIONS, term="xterm", locale="C.UTF-8", more=(), **session):
        self.picture = Screen(ROWS, COLUMNS)
        self.raw = b""
        self.ended = False
        words = ["/usr/bin/env", f"TERM={term}", f"LC_ALL={locale}", *more, BINARY, *options]
        super().__init__(words + (["--", *command] if command else []), **session)

    @staticmethod
    def _set_modes(theirs, tostop):
        Session._set_modes(theirs, tostop)
        mode = termios.tcgetattr(theirs)
        mode[1] |= termios.OPOST | termios.ONLCR
        mode[0] |= termios.IXON
        termios.tcsetattr(theirs, termios.TCSANOW, mode)
        termios.tcsetwinsize(theirs, (ROWS, COLUMNS))

    def hide_typing(self):
        mode = termios.tcgetattr(self.ours)
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(self.ours, termios.TCSANOW, mode)

    def read(self, secs, at_most=65536):
        """Shows what comes within that time; false at the end."""
        ready, _, _ = select.select([self.ours], [], [], max(0, secs))
        if ready and not self.ended:
            try:
                data = os.read(self.ours, at_most)
            except OSError:  # the other end is closed
                data = b""
            self.raw += data
            self.picture.feed(data)
            self.ended = not data
        return not self.ended

    def until(self, condition, what, secs=WAIT_SECS):
        deadline = time.monotonic() + secs
        while not condition():
            left = deadline - time.monotonic()
            expect(left > 0 and self.read(left), f"no {what} in time:", *self.picture.lines())

    def settle(self, secs=0.3):
        """Shows everything that comes for a while."""
        deadline = time.monotonic() + secs
        while time.monotonic() < deadline and self.read(deadline - time.monotonic()):
            pass

    def block(self):
        """The row of the headline, where the whole block stands at the bottom and the rest scrolls; else None."""
        lines = self.picture.lines()
        heads = [row for row, line in enumerate(lines) if HEADLINE.match(line)]
        if len(heads) != 1:
            return None
        labels = [line.split()[0] if line else "" for line in lines[heads[0] + 1:]]
        wanted = [label for label in LABELS if label != "GPU" or "GPU" in labels]
        is_whole = labels == wanted and (self.picture.top, self.picture.bottom) == (0, heads[0] - 1)
        return heads[0] if is_whole else None

    def block_lines(self):
        """All that looks like a line of the block, wherever it is."""
        return [line for line in self.picture.history() if HEADLINE.search(line) or BLOCK_LINE.search(line)]

    def expect_no_block(self):
        equal(self.block_lines(), [], "lines of the block")

    def wait_block(self):
        self.until(lambda: self.block() is not None, "block at the bottom")

    def wait_hidden(self):
        """Until the last that came is the end of the block."""
        self.until(lambda: self.raw.endswith(b"\x1b7\x1b[r\x1b8"), "hidden block")

    def wait_text(self, text):
        """Until the command's first line and the block are there."""
        self.until(lambda: self.picture.line(0) == text and self.block() is not None, f"{text} and the block")

    def wait_update(self):
        """Until the block was drawn anew and nothing more comes for a moment."""
        seen = self.raw.count(b"\x1b[1;")
        self.until(lambda: self.raw.count(b"\x1b[1;") > seen, "update")
        self.drain(0.03)
        self.until(lambda: self.block() is not None, "block after the update")

    def drain(self, quiet_secs):
        """Shows everything until nothing comes for that long."""
        while select.select([self.ours], [], [], quiet_secs)[0] and self.read(0):
            pass

    def end(self, event):
        """Until the job has ended like that; everything it wrote is shown."""
        deadline = time.monotonic() + WAIT_SECS
        while True:
            ready, _, _ = select.select([self.events.fd, self.ours], [], [], max(0, deadline - time.monotonic()))
            expect(ready, "no end in time:", *self.picture.lines())
            if self.ours in ready and not self.ended:
                self.read(0)
            if self.events.fd in ready:
                break
        equal(self.event(), event, "what the leader hears")
        self.drain(0.1)

    def expect_clean(self, lines, column=None):
        """Only the command's output is there, the cursor is behind it, and the whole screen scrolls."""
        equal(self.picture.history(), lines, "what is left on the terminal")
        expect(self.picture.scrolls_all(), "the scroll region stays", self.picture.top, self.picture.bottom)
        equal(self.picture.unknown, [], "unknown sequences")
        rows = len(lines) - len(self.picture.above)
        want = (rows, 0) if column is None else (rows - 1, column)
        equal((self.picture.row, self.picture.column), want, "cursor")


@test
def the_block_is_at_the_bottom_and_gone_at_the_end():
    with Terminal(*python(SAYS, "one\ntwo\n")) as terminal:
        terminal.wait_text("one")
        terminal.wait_update()
        equal(terminal.picture.lines()[:3], ["one", "two", ""], "what the command says")
        equal((terminal.picture.row, terminal.picture.column), (2, 0), "cursor")
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one", "two"])


@test
def a_full_screen_makes_room():
    said = [f"line {number}" for number in range(ROWS * 2)]
    with Terminal(*python(SAYS, "\n".join(said) + "\n")) as terminal:
        terminal.until(lambda: said[-1] in terminal.picture.lines(), "all lines")
        terminal.wait_block()
        terminal.wait_update()
        head = terminal.block()
        equal(terminal.picture.lines()[:head], [*said[-(head - 1):], ""], "what the command says")
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(said)


@test(limit=40)
def a_thousand_lines_at_once():
    for pause in (0, 0.002):
        with Terminal(*python(COUNTS, 1000, pause), options=("-i", "0.01", "--summary=never", "--live")) as terminal:
            terminal.end("exited 0")
            terminal.expect_clean([f"line {number} of many" for number in range(1000)])
            expect(pause == 0 or b"\x1b7" in terminal.raw, "nothing was drawn")


@test(limit=40)
def a_reader_that_is_slow():
    with Terminal(*python(FLOODS), options=("-i", "0.02", "--summary=never", "--live")) as terminal:
        terminal.settle(0.2)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            terminal.read(0, at_most=700)
            time.sleep(0.001)
        terminal.end("exited 0")
        terminal.expect_clean([f"flood {number}" for number in range(40000)])


@test
def a_line_that_grows_letter_by_letter():
    count = COLUMNS * 3 + 25
    with Terminal(*python(DRIPS, count, COLUMNS), options=("-i", "0.3", "--summary=never", "--live")) as terminal:
        terminal.end("exited 0")
        said = "".join(chr(97 + number % 26) for number in range(count))
        equal(len("".join(terminal.picture.history())), count, "letters")
        terminal.expect_clean([said[at:at + COLUMNS] for at in range(0, count, COLUMNS)], column=count % COLUMNS)


@test(limit=40)
def a_cursor_behind_the_last_column_stays_there():
    said = "".join(chr(97 + number % 26) for number in range(COLUMNS))
    for _ in range(5):
        with Terminal(*python(SAYS_NEXT, "", said, "and on\n"),
                      options=("-i", "0.5", "--summary=never", "--live")) as terminal:
            terminal.hide_typing()
            terminal.wait_block()
            terminal.type(b"\n")
            terminal.wait_text(said)
            terminal.wait_update()
            terminal.type(b"\n")
            terminal.until(lambda text=terminal: "nd on" in text.picture.line(1), "second text")
            rested = terminal.raw[terminal.raw.index(said.encode()):]
            terminal.type(b"\n")
            terminal.end("exited 0")
        if b"\x1bD" not in rested:  # no room was made meanwhile
            terminal.expect_clean([said, "and on"])
            return
    expect(False, "five times room was made within three updates")


@test
def colours_of_the_command_stay_its_own():
    with Terminal(*python(SAYS_NEXT, "\x1b[31mred", " still\x1b[0m plain", "\n")) as terminal:
        terminal.wait_text("red")
        terminal.wait_update()
        terminal.type(b"\n")
        terminal.until(lambda: "plain" in terminal.picture.line(0), "second text")
        terminal.wait_update()
        equal([colours for _, colours in terminal.picture.cells[0][:15]], ["31"] * 9 + [""] * 6, "colours")
        terminal.type(b"\n")
        terminal.type(b"\n")
        terminal.end("exited 0")
        terminal.expect_clean(["red still plain"])


@test
def a_command_that_clears_or_resets_the_screen():
    for what in ("\x1b[H\x1b[2J", "\x1b[r\x1b[H\x1b[J", "\x1bc"):
        many = [f"many {number}" for number in range(ROWS + 5)]
        with Terminal(*python(SAYS_NEXT, "before\n", what + "after\n", "\n".join(many) + "\n")) as terminal:
            terminal.wait_text("before")
            terminal.type(b"\n")
            terminal.until(lambda text=terminal: text.picture.line(0) == "after", "text after it")
            terminal.wait_update()
            terminal.type(b"\n")
            terminal.until(lambda text=terminal: many[-1] in text.picture.lines(), "more text")
            terminal.wait_update()
            terminal.type(b"\n")
            terminal.end("exited 0")
            shown = terminal.picture.history()
            equal(shown[shown.index("after"):], ["after", *many], "what is left")
            expect(terminal.picture.scrolls_all(), "the scroll region stays")


@test
def a_command_that_resets_and_fills_the_screen_at_once():
    lines = "".join(f"filled {number}\n" for number in range(ROWS + 5))
    with Terminal(*python(SAYS_NEXT, "before\n", "\x1bc" + lines, "one\ntwo\n")) as terminal:
        terminal.wait_text("before")
        terminal.type(b"\n")
        terminal.until(lambda: f"filled {ROWS + 4}" in terminal.picture.lines(), "text after it")
        terminal.until(lambda: terminal.picture.row <= terminal.picture.bottom < ROWS - 1, "a cursor above the block")
        terminal.type(b"\n")
        terminal.until(lambda: "two" in terminal.picture.lines(), "last text")
        terminal.settle()
        terminal.type(b"\n")
        terminal.end("exited 0")
        # What was drawn before the reset was noticed is still there, also beside the first line.
        first, second = terminal.picture.history()[-2:]
        expect(first.startswith("one") and second == "two", "what is left:", first, second)
        expect(terminal.picture.scrolls_all(), "the scroll region stays")


@test
def a_command_that_writes_into_the_bottom_lines():
    """What it has there is lost, all that it says later is not."""
    for row in range(ROWS - 4, ROWS + 1):
        said = [f"line {number}" for number in range(ROWS)]
        with Terminal(*python(SAYS_NEXT, "\n".join(said) + "\n", f"\x1b[{row};5Hthere", "\rone\ntwo\n")) as terminal:
            terminal.until(lambda text=terminal: said[-1] in text.picture.lines(), "all lines")
            terminal.wait_block()
            terminal.type(b"\n")
            terminal.until(lambda text=terminal: text.picture.row <= text.picture.bottom < ROWS - 1 and
                           text.picture.column == 9, "a cursor above the block")
            terminal.wait_update()
            equal(len(terminal.block_lines()), ROWS - terminal.block(), "lines of the block")
            terminal.type(b"\n")
            terminal.until(lambda text=terminal: "two" in text.picture.lines(), "last text")
            terminal.wait_update()
            equal(len(terminal.block_lines()), ROWS - terminal.block(), "lines of the block")
            terminal.type(b"\n")
            terminal.end("exited 0")
            terminal.expect_no_block()
            lines = terminal.picture.history()
            equal((lines[:ROWS], lines[-2:]), (said, ["one", "two"]), "what is left")
            expect(terminal.picture.scrolls_all(), "the scroll region stays")


@test
def a_command_that_ends_in_the_bottom_lines():
    for row in range(ROWS - 4, ROWS + 1):
        with Terminal(*python(SAYS_NEXT, "one\n", f"\x1b[{row};5Hthere"),
                      options=("-i", "1", *OPTIONS[2:])) as terminal:
            terminal.wait_text("one")
            terminal.type(b"\n")
            terminal.until(lambda text=terminal: "there" in text.picture.line(row - 1), "text in the block")
            terminal.type(b"\n")
            terminal.end("exited 0")
            terminal.expect_no_block()
            equal(terminal.picture.line(0), "one", "first line")
            expect(terminal.picture.scrolls_all(), "the scroll region stays")


@test
def a_command_that_scrolls_everything():
    """It moves the block up itself: that one copy stays, and no other is made."""
    with Terminal(*python(SAYS_NEXT, "before\n", "\x1b[r\x1b[24;1H" + "\n" * 8, "one\ntwo\n")) as terminal:
        terminal.wait_text("before")
        terminal.type(b"\n")
        terminal.until(lambda: b"\x1b[r\x1b[24;1H" in terminal.raw, "the command's reset")
        terminal.until(lambda: terminal.picture.row <= terminal.picture.bottom < ROWS - 1, "a cursor above the block")
        terminal.type(b"\n")
        terminal.until(lambda: "two" in terminal.picture.lines(), "last text")
        terminal.settle(1)
        terminal.type(b"\n")
        terminal.end("exited 0")
        expect(len(terminal.block_lines()) <= 6, "more than one block is left:", *terminal.picture.history())
        equal(terminal.picture.history()[-2:], ["one", "two"], "last lines")
        expect(terminal.picture.scrolls_all(), "the scroll region stays")


def single_keys(begin, end, seen):
    with Terminal(*python(TAKES_KEYS, "one\n", begin, end, "last\n")) as terminal:
        terminal.wait_text("one")
        terminal.type(b"\n")
        terminal.wait_hidden()
        equal(terminal.picture.line(terminal.picture.row), seen, "the cursor's line")
        terminal.expect_no_block()
        shown = len(terminal.raw)
        terminal.settle(0.6)
        equal(terminal.raw[shown:], b"", "bytes while keys are taken")
        terminal.type(b"x")
        terminal.wait_block()
        terminal.wait_update()
        terminal.type(b"\n")
        terminal.end("exited 0")
        terminal.expect_no_block()
        equal(terminal.picture.history()[-1], "last", "last line")
        expect(terminal.picture.scrolls_all(), "the scroll region stays")


for with_what, texts in {
        "at a prompt": ("> ", "\n", ">"),
        "on all of the screen": ("\x1b[H\x1b[2Jfull", "\x1b[24;1H\n", "full"),
        "on the other screen": ("\x1b[?1049h\x1b[1;24r\x1b[H\x1b[2Jfull", "\x1b[?1049l", "full")}.items():
    tap.add(f"single keys {with_what}", single_keys, *texts)


@test
def the_other_screen_is_left_at_the_end():
    """The block was on the first screen, where it could not be reached."""
    with Terminal(*python(TAKES_KEYS, "one\n", "\x1b[?1049h\x1b[Hfull", "\x1b[?1049llast\n")) as terminal:
        terminal.wait_text("one")
        terminal.type(b"\n")
        terminal.wait_hidden()
        equal(terminal.picture.lines(), ["full"] + [""] * (ROWS - 1), "the other screen")
        terminal.type(b"x")
        terminal.end("exited 0")
        terminal.expect_clean(["one", "last"])


@test
def single_keys_from_the_beginning():
    with Terminal("/bin/sh", "-c", "stty -icanon; echo full; sleep 1",
                  options=("-i", "0.3", *OPTIONS[2:])) as terminal:
        terminal.end("exited 0")
        equal(terminal.raw, b"full\r\n", "bytes on the terminal")


@test
def a_password_is_asked_for_above_the_block():
    with Terminal(*python(HIDES_TYPING)) as terminal:
        terminal.wait_text("Password:")
        terminal.wait_update()
        terminal.type(b"secret\n")
        terminal.end("exited 0")
        terminal.expect_clean(["Password:"])


@test
def a_signal_ends_it():
    with Terminal(*python(SAYS, "working\n")) as terminal:
        terminal.wait_text("working")
        os.kill(terminal.pid, signal.SIGTERM)
        terminal.end("exited 143")
        terminal.expect_clean(["working"])


@test
def control_c_ends_it():
    with Terminal("/bin/sh", "-c", "echo working; exec sleep 40") as terminal:
        terminal.wait_text("working")
        terminal.type(CTRL_C)
        terminal.end("killed 2")
        terminal.expect_clean(["working"])


@test
def a_command_that_is_not_found():
    with Terminal("no-such-command-anywhere") as terminal:
        terminal.end("exited 127")
        expect(b"\x1b" not in terminal.raw, "escapes:", terminal.raw)
        expect(b"no-such-command-anywhere" in terminal.raw, "no word:", terminal.raw)


@test
def stopped_and_continued():
    with Terminal(*python(SAYS, "one\n")) as terminal:
        terminal.wait_text("one")
        terminal.type(CTRL_Z)
        terminal.end("stopped")
        terminal.expect_clean(["one"])
        terminal.proceed()
        terminal.wait_block()
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one"])


def resized(rows, columns, pulls):
    said = [f"line {number}" for number in range(40)]
    with Terminal(*python(SAYS_NEXT, "\n".join(said) + "\n", "more\n")) as terminal:
        terminal.until(lambda: said[-1] in terminal.picture.lines(), "all lines")
        terminal.wait_block()
        terminal.wait_update()
        terminal.picture.resize(rows, columns, pulls)
        terminal.resize(rows, columns)
        terminal.wait_block()
        terminal.wait_update()
        equal(terminal.picture.line(terminal.picture.row - 1), said[-1], "above the cursor")
        terminal.type(b"\n")
        terminal.until(lambda: terminal.picture.line(terminal.picture.row - 1) == "more", "more text")
        terminal.wait_update()
        terminal.type(b"\n")
        terminal.end("exited 0")
        terminal.expect_clean([*said, "more"])


for size in ((40, 80), (40, 120), (12, 80), (24, 31), (12, 40), (24, 200)):
    for pulled in (False, True):
        tap.add(f"resized to {size[0]} rows and {size[1]} columns{', lines come back' if pulled else ''}",
                resized, *size, pulled)


@test
def too_small_a_window_shows_nothing_until_it_grows():
    with Terminal(*python(SAYS, "one\n")) as terminal:
        terminal.wait_text("one")
        terminal.picture.resize(9, 80)
        terminal.resize(9, 80)
        terminal.until(lambda: terminal.picture.history() == ["one"], "wiped block")
        terminal.settle()
        terminal.expect_clean(["one"])
        terminal.picture.resize(ROWS, 29)
        terminal.resize(ROWS, 29)
        terminal.settle()
        terminal.expect_clean(["one"])
        terminal.picture.resize(ROWS, COLUMNS)
        terminal.resize(ROWS, COLUMNS)
        terminal.wait_block()
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one"])


@test
def the_host_alone():
    for word, event in ((CTRL_C, "exited 0"), (CTRL_BACKSLASH, f"exited {128 + signal.SIGQUIT}")):
        with Terminal() as terminal:
            terminal.wait_block()
            expect(": " not in terminal.picture.line(terminal.block()), "a name without a job")
            terminal.type(CTRL_Z)
            terminal.end("stopped")
            terminal.expect_clean([])
            terminal.proceed()
            terminal.wait_block()
            terminal.type(word)
            terminal.end(event)
            terminal.expect_clean([])


@test
def a_root_that_has_ended_is_not_counted():
    with subprocess.Popen(["/bin/sh", "-c", "sleep 40 & read line"], stdin=subprocess.PIPE) as root:
        (child,) = wait_until(lambda: children(root.pid), "child")
        with Terminal(options=(*OPTIONS, "--pid", str(root.pid))) as terminal:
            terminal.until(lambda: any(", 2 processes " in line for line in terminal.picture.lines()), "both")
            root.kill()
            root.wait()
            terminal.until(lambda: any(", 1 process " in line for line in terminal.picture.lines()), "the child alone")
            os.kill(child, signal.SIGKILL)
            terminal.until(lambda: any(", 0 processes " in line for line in terminal.picture.lines()), "the end of it")
            terminal.type(CTRL_C)
            terminal.end("exited 0")


@test
def the_host_alone_is_resized():
    with Terminal() as terminal:
        terminal.wait_block()
        terminal.picture.resize(30, 60)
        terminal.resize(30, 60)
        terminal.wait_block()
        equal(terminal.picture.bottom + 1 + len(terminal.picture.lines()[terminal.block():]), 30, "rows")
        os.kill(terminal.pid, signal.SIGTERM)
        terminal.end("exited 0")
        terminal.expect_clean([])


@test
def a_terminal_that_is_halted_holds_up_no_sample():
    with directory() as place, Terminal(*python(SAYS, "one\n"),
                                        options=(*OPTIONS, "-o", str(place / "run.jsonl"))) as terminal:
        terminal.wait_text("one")
        terminal.type(CTRL_S)
        terminal.settle()
        samples = len(file_lines(place / "run.jsonl"))
        seen = len(terminal.raw)
        terminal.settle(1)
        equal(len(terminal.raw), seen, "bytes on a halted terminal")
        expect(len(file_lines(place / "run.jsonl")) >= samples + 5 / (1 + PATIENCE_SECS), "samples were held up")
        terminal.type(CTRL_Q)
        terminal.wait_update()
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one"])


@test
def words_of_ours_come_above_the_block():
    with Terminal(*python(SAYS, "one\n"), options=(*OPTIONS, "-v")) as terminal:
        terminal.wait_block()
        terminal.wait_update()
        terminal.type(b"\n")
        terminal.end("exited 3")
        lines = terminal.picture.history()
        expect(any("the command ended with status 3" in line for line in lines), "no word of the end:", lines)
        terminal.expect_no_block()
        expect(terminal.picture.scrolls_all(), "the scroll region stays")


@test
def in_the_background_nothing_is_drawn():
    for tostop in (False, True):
        with Terminal(*python("import time; time.sleep(1)"), foreground=False, tostop=tostop) as terminal:
            terminal.end("exited 0")
            expect(b"\x1b" not in terminal.raw, "escapes:", terminal.raw)


@test
def a_locale_without_utf8_gets_ascii():
    for locale in ("C", "POSIX", "en_US.ISO-8859-1"):
        with Terminal(*python(SAYS, "one\n"), locale=locale) as terminal:
            terminal.until(lambda text=terminal: text.picture.line(ROWS - 1).startswith("NET "), "block")
            terminal.type(b"\n")
            terminal.end("exited 3")
            terminal.expect_clean(["one"])
            terminal.raw.decode("ascii")


@test
def hostile_names_are_shown_as_text():
    name = "evil\x1b[2J\x1b]0;title\x07\n日本\u202e"
    with Terminal(*python(SAYS, "one\n"), options=(*OPTIONS, "-n", name)) as terminal:
        terminal.wait_block()
        head = terminal.picture.line(terminal.block())
        expect("evil?[2J?]0;title??日本?" in head, "headline:", head)
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one"])


@test
def without_colours_where_they_are_not_wanted():
    for more, want in ((["NO_COLOR=1"], {b""}), ([], {b"", b"2", b"36"})):
        with Terminal(*python(SAYS, "one\n"), more=more) as terminal:
            terminal.wait_block()
            terminal.type(b"\n")
            terminal.end("exited 3")
            equal(set(re.findall(rb"\x1b\[([0-9;]*)m", terminal.raw)), want, "colours")


@test
def the_block_comes_before_the_first_sample():
    with Terminal(*python(SAYS, "one\n"), options=("-i", "30", *OPTIONS[2:])) as terminal:
        terminal.wait_text("one")
        expect("first sample at 30 s" in terminal.picture.line(terminal.block()), terminal.picture.lines())
        terminal.until(lambda: "── 2 s, first sample at" in terminal.picture.line(terminal.block() or 0), "clock")
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one"])


@test
def values_say_of_how_much_and_the_network_whose_it_is():
    with Terminal(*python(SAYS, "one\n")) as terminal:
        terminal.wait_text("one")
        terminal.until(lambda: " of " in terminal.picture.line(terminal.block() + 1), "values")
        lines = terminal.picture.lines()[terminal.block():]
        expect(re.match(r"CPU  \[[#-]{10}\] [0-9.]+ of [0-9.]+ cores?  ", lines[1]), lines)
        expect(re.match(r"MEM  \[[#-]{10}\] [0-9.]+ [KMGT]iB of [0-9.]+ [KMGT]iB  ", lines[2]), lines)
        # A network without interfaces has no rate.
        expect(re.match(r"NET  (-|host in [0-9.]+ [kMG]?B/s, out [0-9.]+ [kMG]?B/s  )", lines[-1]), lines)
        terminal.type(b"\n")
        terminal.end("exited 3")
        terminal.expect_clean(["one"])


def guards_of(tracker):
    """The processes that put the terminal in order; others that ask devices come and go."""
    guards = []
    for pid in children(tracker):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if status_of(pid)["Name"] == "rt-terminal":
                guards.append(pid)
    return guards


@test
def a_killed_tracker_leaves_the_terminal_as_it_was():
    words = " ".join([BINARY, *OPTIONS, "--", "sleep", "40"])
    with Terminal(options=(), more=["/bin/sh", "-c", f"echo one; {words}; sleep 41"]) as terminal:
        terminal.wait_text("one")
        tracker = children(terminal.pid)[0]
        started = children(tracker)
        try:
            guard = wait_until(lambda: guards_of(tracker), "its guard")
            equal(len(guard), 1, "processes that guard the terminal")
            expect(os.getpgid(guard[0]) == guard[0], "it is in the tracker's group")
            os.kill(tracker, signal.SIGKILL)
            terminal.until(lambda: terminal.picture.scrolls_all() and not terminal.block_lines(), "restored terminal")
            equal(terminal.picture.history()[0], "one", "first line")
            equal(terminal.picture.unknown, [], "unknown sequences")
            wait_until(lambda: state_of(guard[0]) in "XZ", "its end")
        finally:
            for pid in started:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


@test
def nothing_watches_over_a_terminal_without_a_block():
    with Terminal(*python(SAYS, "one\n"), options=("-i", "0.1", "--summary=never")) as terminal:
        terminal.until(lambda: terminal.picture.line(0) == "one", "text")
        terminal.settle()
        equal(guards_of(terminal.pid), [], "processes that guard the terminal")
        terminal.type(b"\n")
        terminal.end("exited 3")


@test
def a_terminal_that_can_do_nothing_is_left_alone():
    for term in ("dumb", "unknown", ""):
        with Terminal(*python("import time; time.sleep(0.5)"), term=term) as terminal:
            terminal.end("exited 0")
            expect(b"\x1b" not in terminal.raw, "escapes:", terminal.raw)


@test
def no_terminal_no_escapes():
    done = run([*OPTIONS, "--", "/bin/sh", "-c", "echo one; sleep 0.5; echo two >&2; exit 4"],
               env={"TERM": "xterm", "LC_ALL": "C.UTF-8"})
    equal((done.returncode, done.stdout), (4, "one\n"), "status and stdout")
    expect("\x1b" not in done.stderr and "two\n" in done.stderr, "stderr:", done.stderr)


@test
def with_a_file_for_stderr_the_terminal_is_left_alone():
    with directory() as place:
        path = pathlib.Path(place) / "stderr"
        words = " ".join([BINARY, *OPTIONS, "--", "sleep", "0.5"])
        with Terminal(options=(), more=["/bin/sh", "-c", f"exec {words} 2>{path}"]) as terminal:
            terminal.end("exited 0")
            equal(terminal.raw, b"", "bytes on the terminal")
            expect(b"\x1b" not in path.read_bytes(), "escapes in the file")


if __name__ == "__main__":
    tap.main()
