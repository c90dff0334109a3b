"""The text of a batch: many candidates in one document, and where each of them stands. Pure.

Three forms of a block, from fast to safe:
- copies: the path once, then a copy of the goal for each candidate, in a focused block of its own;
- separate: an example for each candidate, with the path in each (goals that hold metavariables: copies would share
  them; candidates that name a case or a hole: copies are tagged differently);
- probe: a theorem that Lean parses and then refuses unelaborated, to see whether a candidate parses at all.

A candidate stands in parentheses, so it must be a tactic block on its own terms: nothing that follows can complete it.
After each block stands a sentinel, whose message shows that Lean went on there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.lean import Step, Theorem
from common.script import INDENT, indent_tactic, path_lines

COPY = "«proofmesh copy»"
"""Written in guillemets: nobody types it by accident."""

PREAMBLE = f"def {COPY} {{p : Sort _}} (a _ : p) : p := a"
"""Stands after the header in every document: `refine COPY ?_ ?_` turns a goal into two of the same."""

SENTINEL = "proofmesh"

STATE = -1
"""Index of the block that shows the state itself (it runs `skip`)."""


@dataclass(frozen=True)
class Block:
    """Where one candidate stands. Lines are zero-based; `last` is the line of its closing parenthesis."""

    index: int
    first: int
    last: int
    column: int
    """Of the bullet (copies) or of the opening parenthesis."""
    sentinel: int
    """Line of the sentinel."""
    bulleted: bool
    path: tuple[int, int]
    """Lines of the path that leads to it, from the example's first line up to the block (exclusive)."""

    def holds(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(frozen=True)
class Example:
    """One example of a document: its lines, its statement's lines, and its blocks."""

    first: int
    statement: int
    """Last line of the statement."""
    last: int
    blocks: tuple[Block, ...]
    probe: bool = False


@dataclass(frozen=True)
class Document:
    text: str
    examples: tuple[Example, ...]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(block for example in self.examples for block in example.blocks)


class Writer:
    """Writes a document example by example, counting lines."""

    def __init__(self, header: str) -> None:
        self._lines = opening(header).split("\n")
        self._examples: list[Example] = []

    def document(self) -> Document:
        return Document("\n".join(self._lines) + "\n", tuple(self._examples))

    def copies(self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]]) -> None:
        """One example with the candidates on copies of the goal, and the goal itself last (block STATE).

        The copies are made one at a time, so that without the last candidates the text is the same, and what Lean
        has elaborated of it stays good.
        """
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            lines: list[str] = []
            for index, tactic in candidates:
                lines.append(f"{prefix}refine {COPY} ?_ ?_")
                lines += _block(spots, len(lines), index, tactic, prefix, bulleted=True)
            return lines + _block(spots, len(lines), STATE, "skip", prefix, bulleted=True)

        self._example(theorem, path, hole, spots)

    def separate(self, theorem: Theorem, path: Sequence[Step], index: int, tactic: str) -> None:
        """An example for one candidate alone."""
        bulleted = not path or len(path[-1].layout[path[-1].branch]) == 1
        spots: list[_Spot] = []
        self._example(theorem, path, lambda prefix: _block(spots, 0, index, tactic, prefix, bulleted=bulleted), spots)

    def probe(self, index: int, tactic: str) -> None:
        """A theorem whose name is taken: Lean parses it, and elaborates nothing of it."""
        first = len(self._lines)
        self._lines.append(f"theorem {COPY} : True := by")
        spots: list[_Spot] = []
        self._lines += _block(spots, 0, index, tactic, INDENT, bulleted=False)[:-1]
        block = spots[0].block(first + 1, first)
        self._examples.append(Example(first, first, len(self._lines) - 1, (block,), probe=True))

    def _example(self, theorem: Theorem, path: Sequence[Step], hole: _Hole, spots: list[_Spot]) -> None:
        first = len(self._lines)
        self._lines += statement_lines("example", theorem)
        statement = len(self._lines) - 1
        lines = path_lines(path, lambda prefix: [prefix + MARK, *hole(prefix)])
        # The hole's first line may have become part of a bullet's line: the mark says where it went.
        start = next(number for number, line in enumerate(lines) if MARK in line)
        lines[start : start + 2] = [_joined(lines[start], lines[start + 1])]
        self._lines += lines
        begin = statement + 1 + start
        blocks = tuple(spot.block(begin, statement + 1) for spot in spots)
        self._examples.append(Example(first, statement, len(self._lines) - 1, blocks))


_Hole = Callable[[str], list[str]]

MARK = "\ufffe"
"""Stands on a line of its own in front of the hole while a document is written (not a character: never in a text)."""


@dataclass(frozen=True)
class _Spot:
    """A block's place relative to the first line of the hole."""

    index: int
    first: int
    last: int
    column: int
    bulleted: bool

    def block(self, begin: int, path_first: int) -> Block:
        first, last = self.first + begin, self.last + begin
        return Block(self.index, first, last, self.column, last + 1, self.bulleted, (path_first, first - 1))


def _block(spots: list[_Spot], at: int, index: int, tactic: str, prefix: str, *, bulleted: bool) -> list[str]:
    """Lines of a candidate's block and its sentinel; its place is added to `spots`."""
    head = f"{prefix}· (" if bulleted else f"{prefix}("
    lines = indent_tactic(tactic, " " * len(head))
    lines[0] = head + lines[0][len(head) :]
    lines.append(" " * (len(head) - 1) + ")")
    spots.append(_Spot(index, at, at + len(lines) - 1, len(prefix), bulleted))
    return [*lines, f'{prefix}trace "{SENTINEL}"']


def _joined(mark: str, line: str) -> str:
    """The first line of the hole, with the bullets that stand on the mark's line."""
    before = mark[: mark.index(MARK)]
    return before + line[len(before) :]


BY_COLUMN = len("  : Prop) := ")
"""Where `by` stands in the last line of a statement."""


def opening(header: str) -> str:
    """What every document begins with."""
    return f"{header}\n{PREAMBLE}\n" if header else f"{PREAMBLE}\n"


def statement_lines(keyword: str, theorem: Theorem) -> list[str]:
    """`KEYWORD BINDERS : (CONCLUSION : Prop) := by`.

    In parentheses of its own, a conclusion cannot go on behind its end; and `example` would prove any type.
    """
    binders = f" {theorem.binders.strip()}" if theorem.binders.strip() else ""
    return [*f"{keyword}{binders} : ({theorem.conclusion.strip()}".split("\n"), "  : Prop) := by"]
