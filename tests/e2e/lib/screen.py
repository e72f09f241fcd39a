# SPDX-License-Identifier: Apache-2.0
"""A small terminal: what a VT100 and its successors make of text, scroll regions and cursor movement.

Bytes go in with feed(); cells, cursor, scroll region and what has scrolled out at the top can be looked at. A sequence
that it does not know is kept in `unknown`, so that a test can insist that there was none.
"""

import codecs
import re

CSI = re.compile(r"\x1b\[([?>]?)([0-9;]*)([@-~])")
TAB_COLUMNS = 8


class Screen:
    """rows x columns cells, each a character and the colours it was written with."""

    def __init__(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.cells = [self._blank() for _ in range(rows)]
        self.above = []  # what has scrolled out
        self.row = self.column = 0
        self.wraps = False  # the next character begins a new line
        self.colours = ""
        self.top, self.bottom = 0, rows - 1
        self.saved = None
        self.main = None  # cells, cursor and saved cursor of the first screen while the other one is shown
        self.unknown = []
        self.rest = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def _blank(self):
        return [(" ", "")] * self.columns

    def line(self, row):
        return "".join(character for character, _ in self.cells[row]).rstrip()

    def lines(self):
        """What is on the screen, from top to bottom."""
        return [self.line(row) for row in range(self.rows)]

    def history(self):
        """All lines, those that have scrolled out as well, without the blank ones at the end."""
        lines = self.above + self.lines()
        while lines and not lines[-1]:
            lines.pop()
        return lines

    def scrolls_all(self):
        return (self.top, self.bottom) == (0, self.rows - 1)

    def feed(self, data):
        text = self.rest + self.decoder.decode(data)
        at = 0
        while at < len(text):
            if text[at] != "\x1b":
                self._put(text[at])
                at += 1
                continue
            used = self._escape(text, at)
            if not used:
                break
            at += used
        self.rest = text[at:]

    def _escape(self, text, at):
        """Obeys the sequence that begins there; its length, or 0 where more has to come."""
        if len(text) < at + 2:
            return 0
        if text[at + 1] == "[":
            match = CSI.match(text, at)
            if match:
                self._control(*match.groups())
                return match.end() - at
            if re.fullmatch(r"\x1b\[[?>]?[0-9;]*", text[at:at + 40]):
                return 0
        actions = {"7": self._save, "8": self._restore, "D": self._down, "M": self._up, "c": self._reset}
        action = actions.get(text[at + 1], lambda: self.unknown.append(text[at:at + 2]))
        action()
        return 2

    def _put(self, character):
        if character == "\r":
            self.column, self.wraps = 0, False
        elif character == "\n":
            self._down()
        elif character == "\b":
            self.column, self.wraps = max(0, self.column - 1), False
        elif character == "\t":
            self.column = min(self.columns - 1, (self.column // TAB_COLUMNS + 1) * TAB_COLUMNS)
        elif character == "\a":
            pass
        elif ord(character) < 0x20:
            self.unknown.append(character)
        else:
            if self.wraps:
                self.column = 0
                self._down()
            self.cells[self.row][self.column] = (character, self.colours)
            self.wraps = self.column == self.columns - 1
            self.column = min(self.column + 1, self.columns - 1)

    def _down(self):
        self.wraps = False
        if self.row == self.bottom:
            gone = self.cells.pop(self.top)
            self.cells.insert(self.bottom, self._blank())
            if self.top == 0 and not self.main:
                self.above.append("".join(character for character, _ in gone).rstrip())
        elif self.row < self.rows - 1:
            self.row += 1

    def _up(self):
        self.wraps = False
        if self.row == self.top:
            self.cells.pop(self.bottom)
            self.cells.insert(self.top, self._blank())
        elif self.row > 0:
            self.row -= 1

    def _save(self):
        self.saved = (self.row, self.column, self.wraps, self.colours)

    def _restore(self):
        self.row, self.column, self.wraps, self.colours = self.saved or (0, 0, False, "")
        self.row, self.column = min(self.row, self.rows - 1), min(self.column, self.columns - 1)

    def _reset(self):
        fresh = Screen(self.rows, self.columns)
        fresh.above, fresh.unknown, fresh.decoder = self.above + self.history_on_screen(), self.unknown, self.decoder
        self.__dict__.update(fresh.__dict__)

    def history_on_screen(self):
        """What a reset takes off the screen; kept, so that a test still finds it."""
        return [line for line in self.lines() if line]

    def _control(self, kind, numbers, letter):
        given = [int(number) if number else 0 for number in numbers.split(";")]
        count = max(1, given[0])
        if (kind, numbers) == ("?", "1049") and letter in "hl":
            self._switch(letter == "h")
        elif kind:
            self.unknown.append(f"CSI {kind}{numbers}{letter}")
        elif letter == "m":
            self.colours = "" if given == [0] else f"{self.colours};{numbers}".strip(";")
        elif letter in "JK":
            self._erase(letter, given[0])
        elif letter == "r":
            self._set_region(given)
        elif letter in "ABCDGH":
            self._move(letter, count, given)
        else:
            self.unknown.append(f"CSI {numbers}{letter}")

    def _switch(self, to_other):
        """The other screen begins blank and keeps no history; the scroll region belongs to both."""
        if to_other and not self.main:
            self._save()
            self.main = (self.cells, self.saved)
            self.cells, self.saved = [self._blank() for _ in range(self.rows)], None
        elif not to_other and self.main:
            self.cells, self.saved = self.main
            self.main = None
            self._restore()

    def _move(self, letter, count, given):
        self.wraps = False
        if letter == "A":
            self.row = max(self.top if self.row >= self.top else 0, self.row - count)
        elif letter == "B":
            self.row = min(self.bottom if self.row <= self.bottom else self.rows - 1, self.row + count)
        elif letter == "C":
            self.column = min(self.columns - 1, self.column + count)
        elif letter == "D":
            self.column = max(0, self.column - count)
        elif letter == "G":
            self.column = min(self.columns, count) - 1
        else:
            self.row = min(self.rows, count) - 1
            self.column = min(self.columns, max(1, given[1] if len(given) > 1 else 1)) - 1

    def _set_region(self, given):
        top = max(1, given[0])
        bottom = given[1] if len(given) > 1 and given[1] else self.rows
        if top < bottom <= self.rows:
            self.top, self.bottom = top - 1, bottom - 1
            self.row = self.column = 0
            self.wraps = False

    def _erase(self, letter, mode):
        first, last = {0: (self.column, self.columns), 1: (0, self.column + 1), 2: (0, self.columns)}[mode]
        for column in range(first, last):
            self.cells[self.row][column] = (" ", "")
        if letter == "J":
            rows = {0: range(self.row + 1, self.rows), 1: range(self.row), 2: range(self.rows)}[mode]
            for row in rows:
                self.cells[row] = self._blank()

    def resize(self, rows, columns, pulls=False):
        """As terminals do it: the cursor's line stays; when it grows, lines come back from above where it `pulls`."""
        while self.row >= rows:
            self.above.append(self.line(0))
            self.cells.pop(0)
            self.row -= 1
        del self.cells[rows:]
        self.columns = columns
        while pulls and self.above and len(self.cells) < rows:
            self.cells.insert(0, [(character, "") for character in self.above.pop()])
            self.row += 1
        self.cells = [(cells + self._blank())[:columns] for cells in self.cells]
        self.cells += [self._blank() for _ in range(rows - len(self.cells))]
        self.rows = rows
        self.column = min(self.column, columns - 1)
        self.wraps = False
        self.top, self.bottom = 0, rows - 1
