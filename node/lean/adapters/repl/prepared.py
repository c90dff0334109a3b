"""The text that Lean elaborates for a command: the environment's text, inserted lines, the command. Pure.

Lean's messages have positions in this text. Clients need positions in the command, so this module converts them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import msgspec

from node.lean.adapters.repl.protocol import CommandPosition, ProofStatus
from node.lean.gaps.gap import characters, utf16
from node.lean.text.lexing import lex
from node.lean.text.script import indent_tactic
from node.lean.text.statement import import_lines
from node.lean.trace.infotree import Span
from node.lean.worker.document import SENTINEL
from node.lean.worker.process import Position

_END = re.compile(r"end\b")
"""Ends a section or namespace, which also resets the options that were set inside."""


@dataclass(frozen=True)
class Prepared:
    """The text for Lean, with the positions of the command's lines. Lines are zero-based."""

    text: str
    code: str
    """The command alone."""
    rows: tuple[int, ...]
    """The line in `text` of each line of the command."""

    @classmethod
    def of(cls, before: str, code: str, inserted: Sequence[str] = ()) -> Prepared:
        """`before`: the environment's text, empty or with a final line break. `inserted`: lines that are added after
        the imports of the command, and again after each `end`, which may reset them."""
        lines = code.split("\n")
        lexed = lex(code) if inserted else None
        closed = [bool(_END.match(line)) for line in lexed.code.split("\n")] if lexed and not lexed.problem else []
        first = 0 if before else import_lines(code)
        written = before.split("\n")[:-1]
        rows = []
        for number, line in enumerate(lines):
            if inserted and (number == first or (number > first and closed and closed[number - 1])):
                written += inserted
            rows.append(len(written))
            written.append(line)
        return cls("\n".join(written), code, tuple(rows))

    def position(self, offset: int) -> Position:
        """The position in the text of a character of the command, in the language server's units."""
        row, column = self._row(offset)
        return Position(self.rows[row], utf16(self._lines[row][:column]))

    def place(self, position: Position) -> CommandPosition | None:
        """The position in the command for a position in the text; None if it is outside the command."""
        row = self._row_of_line.get(position.line)
        return None if row is None else CommandPosition(row + 1, characters(self._lines[row], position.character))

    def place_of(self, offset: int) -> CommandPosition:
        """The position in the command of one of its characters."""
        row, column = self._row(offset)
        return CommandPosition(row + 1, column)

    def offsets(self, span: Span) -> tuple[int, int] | None:
        """The start and end characters in the command of Lean's span (lines from 1, columns in characters); None if the
        span starts outside the command."""
        start = self._offset(*span.start)
        if start is None:
            return None
        end = self._offset(*span.end)
        return start, len(self.code) if end is None else end

    @cached_property
    def _lines(self) -> list[str]:
        return self.code.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        """The first character of each line of the command."""
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    @cached_property
    def _row_of_line(self) -> dict[int, int]:
        """The command's line for a line of the text."""
        return {line: row for row, line in enumerate(self.rows)}

    def _offset(self, line: int, column: int) -> int | None:
        row = self._row_of_line.get(line - 1)
        return None if row is None else min(self._starts[row] + column, len(self.code))

    def _row(self, offset: int) -> tuple[int, int]:
        begin = self.code.rfind("\n", 0, offset) + 1
        return self.code.count("\n", 0, offset), offset - begin


# --- holes: the places of `sorry`, filled with tactics ----------------------------------------------------------------
# A proof state is stored as the text around its hole and the tactics in the hole, so it remains when its process ends.


@dataclass(frozen=True)
class Hole:
    """A place in a text."""

    before: str
    after: str
    tactic: bool
    """True for the place of a tactic, False for the place of a term."""
    every: bool = False
    """True when a tactic in the hole sees all open goals, False when it sees only the first one."""

    @property
    def column(self) -> int:
        return len(self.before) - (self.before.rfind("\n") + 1)


@dataclass(frozen=True)
class Filled:
    """A text with tactics in its hole. The last tactic is the requested one. Lines are zero-based."""

    text: str
    first: int
    """First line of the last tactic."""
    sentinel: Position
    """Position of the sentinel after the last tactic. Its message shows that Lean reached it."""
    start: int
    """First character of the last tactic in the text."""
    indent: int
    """Columns by which its lines are indented."""


def leaves_out(tactic: str) -> bool:
    """True when a tactic contains `sorry` or a similar word, and so leaves something without a proof."""
    return bool(re.search(r"\b(sorry|admit|sorryAx|stop)\b", lex(tactic).code))


def fill(hole: Hole, script: Sequence[str], tactic: str) -> Filled:
    """The text with a script in its hole, then `tactic`, then a sentinel, then `sorry` for the remaining goals.

    The tactics see only the main goal, as in the REPL, unless `hole.every` is set. Each tactic is in parentheses, so
    the text after it cannot complete it.
    """
    head = ("((" if hole.every else "(focus (") if hole.tactic else "(by focus ("
    column = hole.column + len(head)
    pad = "\n" + " " * column
    earlier = [line for item in script for line in wrapped(item)]
    lines = [*earlier, *wrapped(tactic)]
    opening = hole.before + head
    start = len(opening) + len(pad.join(earlier)) + (len(pad) if earlier else 0) + 1
    sentinel = opening.count("\n") + len(lines)
    lines += [f'trace "{SENTINEL}"', "all_goals sorry"]
    text = f"{opening}{pad.join(lines)}\n{' ' * column}))" + hole.after
    first = opening.count("\n") + len(earlier)
    return Filled(text, first, Position(sentinel, column), start, column + 1)


def wrapped(tactic: str) -> list[str]:
    """A tactic in parentheses, line by line."""
    first, *others = indent_tactic(tactic, "")
    return ["(" + first, *(" " + line for line in others), ")"]


# --- proof states, stored as texts ------------------------------------------------------------------------------------


class ProofState(msgspec.Struct, frozen=True):
    """A state on which a tactic can run: a hole of a text, and the tactics in the hole so far."""

    hole: Hole | None
    """None if there is no single place: a `sorry` that runs for several goals."""
    script: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    sorry: bool = False
    """True when the script leaves something without a proof."""
    closed: str = ""
    """Its status when no goal is left, if the proof around the hole decides it; empty if the script decides it."""

    @property
    def status(self) -> str:
        """The status that the state itself shows. For a state without goals, Lean may report an error as well."""
        if self.goals:
            return ProofStatus.OPEN
        return self.closed or (ProofStatus.HAS_SORRY if self.sorry else ProofStatus.COMPLETED)


def status_around(left: Sequence[str], place: int, places: int, sorry: bool) -> str:
    """The status of a `sorry` in a tactic after it is proved, given the proof around it; empty if this decides nothing.

    `left`: the goals that the tactic leaves. `place`: the number of this `sorry` among `places` in the tactic, from 0.
    `sorry`: the proof so far leaves something out. They are proved in order, so later ones are still open.
    """
    if left or place < places - 1:
        return ProofStatus.HAS_METAVARIABLES
    return ProofStatus.HAS_SORRY if sorry or place else ""
