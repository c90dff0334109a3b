"""Places in a text where tactics go: each `sorry` is one. Pure.

A proof state is kept as the text around its hole and the tactics in it, so it outlives the process that showed it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.lean.text.lexing import lex
from node.lean.text.script import indent_tactic
from node.lean.worker.frames import SENTINEL
from node.lean.worker.framing import Position

_SORRY = re.compile(r"(?<![\w.'!?])sorry(?![\w'!?])")
_MANY_TIMES = re.compile(r"(\b(all_goals|any_goals|repeat'?|iterate( \d+)?)|<;>)[(\s]*$")
"""What stands before a tactic that runs more than once: its `sorry` has no one place to be filled in."""


@dataclass(frozen=True)
class Hole:
    """A place in a text."""

    before: str
    after: str
    tactic: bool
    """Whether a tactic stands there; otherwise a term."""
    every: bool = False
    """All goals that are open there are in view, not the first one alone."""

    @property
    def column(self) -> int:
        return len(self.before) - (self.before.rfind("\n") + 1)


@dataclass(frozen=True)
class Mention:
    """A `sorry` in a text."""

    start: int
    many: bool
    """It may run more than once."""

    @property
    def end(self) -> int:
        return self.start + len("sorry")

    def moved(self, by: int) -> Mention:
        """The same in a text that has so many characters before this one."""
        return Mention(self.start + by, self.many)


@dataclass(frozen=True)
class Filled:
    """A text with tactics in its hole, the last of which is the one asked about. Lines are zero-based."""

    text: str
    first: int
    """Line where that tactic begins."""
    sentinel: Position
    """Behind it: speaks if Lean gets there."""
    start: int
    """Of the tactic in the text."""
    indent: int
    """Columns by which its lines are indented."""


def mentions(text: str) -> list[Mention]:
    """Every `sorry` of a text, outside comments and strings."""
    code = lex(text).code
    return [Mention(match.start(), bool(_MANY_TIMES.search(code[: match.start()]))) for match in _SORRY.finditer(code)]


def leaves_out(tactic: str) -> bool:
    """Whether a tactic says itself that it leaves something without a proof."""
    return bool(re.search(r"\b(sorry|admit|sorryAx|stop)\b", lex(tactic).code))


def fill(hole: Hole, script: Sequence[str], tactic: str) -> Filled:
    """The text with a script in its hole, then `tactic`, then a sentinel, and the end of what is left.

    Only the main goal is in view, as in the REPL, unless the hole says otherwise; each tactic stands in parentheses, so
    nothing behind it completes it.
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


def position(text: str, at: int) -> Position:
    """Line and column (in UTF-16 units) of a character."""
    begin = text.rfind("\n", 0, at) + 1
    return Position(text.count("\n", 0, at), utf16(text[begin:at]))


def utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the first 65,536 count twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def characters(line: str, units: int) -> int:
    """How many characters of a line so many UTF-16 units are."""
    if line.isascii():
        return min(units, len(line))
    count = 0
    for char in line:
        if units <= 0:
            break
        units -= 2 if char > "\uffff" else 1
        count += 1
    return count
