"""Texts with tactics in place of a `sorry`. Pure.

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
