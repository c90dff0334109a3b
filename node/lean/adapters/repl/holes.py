"""Fills a hole of a text with tactics. A hole is the place of a `sorry`. Pure.

A proof state is stored as the text around its hole and the tactics in the hole, so it remains when its process ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from node.lean.text.lexing import lex
from node.lean.text.script import indent_tactic
from node.lean.worker.document import SENTINEL
from node.lean.worker.process import Position


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
