"""The text of a batch: many candidates in one Lean document, and where each of them stands. Pure.

A document is a frame (`frames.py`) and `example`s. A theorem that stands in a file takes the place of an example there:
its command as it is, with the candidates in its gap; then a document holds one example only, because the command names
what it declares. An example has one of four forms, here from the fastest to the most
careful:
- copies: the path once, then a copy of the goal for each candidate, each in a focused block of its own. Lean's time
  grows with the tactics that it reports on, so one `refine` makes all copies, and one sentinel stands behind them all.
- confirmation: copies again, for candidates that seem to close the goal, with a sentinel behind each candidate. If
  Lean reports the sentinels and nothing else, all of them close it.
- separate: an example for one candidate, with the whole path. For goals that hold metavariables, which copies would
  share, and for candidates that name a case or a hole, because copies have other case tags.
- probe: a theorem whose name is taken, so Lean parses it and elaborates nothing: does the candidate parse at all?

A sentinel is a `trace` tactic: its message shows that Lean came to its line. A candidate's own message, at its own
place, shows the same. A candidate stands in parentheses, so it must be a whole tactic block: nothing behind it can
complete it.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.lean import Step, Theorem
from node.lean.text.script import INDENT, indent_tactic, path_lines
from node.lean.text.statement import statement_lines
from node.lean.worker.frames import COPY, SENTINEL, Frame, Opening

_SENTINEL = f'trace "{SENTINEL}"'

STATE = -1
"""Index of the block that shows the state itself (it runs `skip`)."""


MOST_COPIES = 32
"""In one example. With more, the path's share of the time hardly falls any further, and a candidate that ends the whole
declaration spoils the outcomes of more others."""


class Form(enum.Enum):
    """How the candidates of an example stand there."""

    COPIES = enum.auto()
    SEPARATE = enum.auto()
    PROBE = enum.auto()
    CONFIRMATION = enum.auto()


@dataclass(frozen=True)
class CandidateBlock:
    """Where one candidate stands. Lines are zero-based; `last` is the line of its closing parenthesis."""

    index: int
    first: int
    last: int
    column: int
    """Of the bullet (copies) or of the opening parenthesis."""
    sentinel: int
    """Line of the sentinel behind it; -1 when it has none of its own."""
    bulleted: bool
    """Whether it stands behind a bullet `·`."""

    def holds(self, line: int) -> bool:
        """Whether a line (from 0) is one of its lines."""
        return self.first <= line <= self.last


@dataclass(frozen=True)
class LeanExample:
    """One example of a document: its lines (from 0), and its blocks."""

    first: int
    statement: int
    """Last line of the statement."""
    last: int
    blocks: tuple[CandidateBlock, ...]
    form: Form
    end: int = -1
    """Line of the sentinel behind all blocks; -1 when there is none."""
    placed: bool = False
    """Whether it is a command of a file. `statement` is then the line of the gap, and `last` the gap's own last line:
    what the file says behind the gap comes after it."""


@dataclass(frozen=True)
class LeanDocument:
    text: str
    examples: tuple[LeanExample, ...]
    echo: str = ""
    """A message that only Lean's report on this brief document holds; empty for documents that are not brief."""

    @property
    def brief(self) -> bool:
        """Whether Lean reports at the end only, without showing which candidate it is at."""
        return bool(self.echo)

    @property
    def blocks(self) -> tuple[CandidateBlock, ...]:
        return tuple(block for example in self.examples for block in example.blocks)


class Writer:
    """Writes a document example by example, counting lines."""

    def __init__(self, frame: Frame, *, brief: bool = False) -> None:
        """`brief`: the document will have one example; Lean need not show which candidate it is at."""
        self._brief = brief
        self._lines = frame.opening(Opening.BRIEF if brief else Opening.PLAIN).split("\n")[:-1]
        self._examples: list[LeanExample] = []

    def document(self) -> LeanDocument:
        """The document as written so far. The echo is a digest of the text: equal echoes mean equal documents."""
        text = "\n".join(self._lines) + "\n"
        if not self._brief:
            return LeanDocument(text, tuple(self._examples))
        assert len(self._examples) == 1
        echo = f"{SENTINEL} {hashlib.blake2b(text.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"
        return LeanDocument(text.replace(MARK, echo, 1), tuple(self._examples), echo)

    def copies(
        self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]], *, show_state: bool
    ) -> None:
        """An example with the candidates, as (index, tactic), on copies of the goal at the end of the path.

        `show_state`: the goal itself is left open behind them (block STATE), so Lean prints it.
        """
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            lines = [_multiply(prefix, len(candidates))] if candidates else []
            for index, tactic in candidates:
                lines += _block(spots, len(lines), index, tactic, prefix)
            if show_state:
                return lines + _block(spots, len(lines), STATE, "skip", prefix)
            return [*lines, f"{prefix}{_SENTINEL}", f"{prefix}sorry"]

        self._example(theorem, path, hole, spots, Form.COPIES, ends=not show_state)

    def confirmation(self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]]) -> None:
        """An example with candidates that are expected to close copies of the goal, and a sentinel behind each."""
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            lines = [_multiply(prefix, len(candidates))]
            for index, tactic in candidates:
                lines += [*_block(spots, len(lines), index, tactic, prefix, sentinel=True), f"{prefix}{_SENTINEL}"]
            return [*lines, f"{prefix}sorry"]

        self._example(theorem, path, hole, spots, Form.CONFIRMATION)

    def separate(self, theorem: Theorem, path: Sequence[Step], index: int, tactic: str) -> None:
        """An example for one candidate alone, with the whole path."""
        bulleted = not path or len(path[-1].layout[path[-1].branch]) == 1
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            block = _block(spots, 0, index, tactic, prefix, bulleted=bulleted, sentinel=True)
            return [*block, f"{prefix}{_SENTINEL}"]

        self._example(theorem, path, hole, spots, Form.SEPARATE)

    def probe(self, index: int, tactic: str) -> None:
        """A theorem whose name is taken: Lean parses the candidate, and elaborates nothing."""
        first = len(self._lines)
        self._lines.append(f"theorem _root_.{COPY} : True := by")
        spots: list[_Spot] = []
        self._lines += _block(spots, 0, index, tactic, INDENT, bulleted=False)
        self._examples.append(LeanExample(first, first, len(self._lines) - 1, (spots[0].block(first + 1),), Form.PROBE))

    def _example(
        self, theorem: Theorem, path: Sequence[Step], hole: _Hole, spots: list[_Spot], form: Form, ends: bool = False
    ) -> None:
        """Add an example: the statement, the path, and at its end the lines of `hole`.

        `spots`: where `hole` writes the blocks, filled in when it is called. `ends`: the hole's last line but one is
        the sentinel behind all blocks.
        """
        first = len(self._lines)
        prefix = self._statement(theorem)
        statement = len(self._lines) - 1
        if self._brief:
            self._lines.append(f'{prefix}trace "{MARK}"')
        length = 0

        def marked(prefix: str) -> list[str]:
            nonlocal length
            lines = hole(prefix)
            length = len(lines)
            return [prefix + MARK, *lines]

        lines = path_lines(path, marked, prefix)
        # `path_lines` may have put the hole's first line behind a bullet. The mark shows where it went: there the
        # mark's line, with its bullets, and the hole's first line are made into one.
        start = next(number for number, line in enumerate(lines) if MARK in line)
        lines[start : start + 2] = [_joined(lines[start], lines[start + 1])]
        begin = len(self._lines) + start
        self._lines += lines
        blocks = tuple(spot.block(begin) for spot in spots)
        end = begin + length - 2 if ends else -1
        last = len(self._lines) - 1
        if theorem.place is not None:
            self._lines += f"{prefix}){theorem.place.after}".rstrip("\n").split("\n")
        self._examples.append(LeanExample(first, statement, last, blocks, form, end, placed=theorem.place is not None))

    def _statement(self, theorem: Theorem) -> str:
        """Add the lines above the path; returns the indentation of the path."""
        place = theorem.place
        if place is None:
            self._lines += statement_lines("example", theorem)
            return INDENT
        # The parentheses make one tactic (or one term) of the whole script, whatever the gap stands behind.
        self._lines += (place.before + ("(" if place.tactic else "(by")).split("\n")
        return " " * (place.column + len(INDENT))


_Hole = Callable[[str], list[str]]
"""Gives the lines at the end of a path, for an indentation."""

MARK = "\ufffe"
"""Stands for the place of the hole, and of the echo, while a document is written. Not a Unicode character, and refused
by the text rules: it is in no candidate."""


@dataclass(frozen=True)
class _Spot:
    """A block's place relative to the first line of the hole."""

    index: int
    first: int
    last: int
    column: int
    bulleted: bool
    sentinel: bool

    def block(self, begin: int) -> CandidateBlock:
        """The block, for a hole that begins at this line of the document."""
        last = self.last + begin
        return CandidateBlock(
            self.index, self.first + begin, last, self.column, last + 1 if self.sentinel else -1, self.bulleted
        )


def _block(
    spots: list[_Spot],
    at: int,
    index: int,
    tactic: str,
    prefix: str,
    *,
    bulleted: bool = True,
    sentinel: bool = False,
) -> list[str]:
    """Lines of a candidate's block at line `at` of the hole; its place is added to `spots`.

    `sentinel`: whether the line behind the block will be a sentinel.
    """
    head = f"{prefix}· (" if bulleted else f"{prefix}("
    lines = indent_tactic(tactic, " " * len(head))
    lines[0] = head + lines[0][len(head) :]
    lines.append(" " * (len(head) - 1) + ")")
    spots.append(_Spot(index, at, at + len(lines) - 1, len(prefix), bulleted, sentinel))
    return lines


def _multiply(prefix: str, copies: int) -> str:
    """The tactic that puts so many copies of the goal before the goal itself."""
    return f"{prefix}refine {COPY} ?_ " + f"({COPY} ?_ " * (copies - 1) + "?_" + ")" * (copies - 1)


def _joined(mark: str, line: str) -> str:
    """The first line of the hole, behind the bullets of the mark's line."""
    bullets = mark[: mark.index(MARK)]
    return bullets + line[len(bullets) :]
