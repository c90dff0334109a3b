"""The text of a batch: many candidates in one document, and where each of them stands. Pure.

Four forms of a block, from fast to safe:
- copies: the path once, then a copy of the goal for each candidate, in a focused block of its own (the fewer tactics
  Lean has to report on, the faster: so there is one `refine` for all copies, and one sentinel);
- separate: an example for each candidate, with the path in each (goals that hold metavariables: copies would share
  them; candidates that name a case or a hole: copies are tagged differently);
- probe: a theorem that Lean parses and then refuses unelaborated, to see whether a candidate parses at all.

- confirmation: copies again, of candidates that are expected to close the goal and to leave no message at all.

A candidate stands in parentheses, so it must be a tactic block on its own terms: nothing that follows can complete it.
A candidate's own message, at its own place, shows that Lean went there; where none is expected, a sentinel that speaks
behind it does.
"""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.lean import Step, Theorem
from node.lean.text.script import INDENT, indent_tactic, path_lines
from node.lean.text.statement import statement_lines

COPY = "«proofmesh copy»"
"""Written in guillemets: nobody types it by accident."""

SENTINEL = "proofmesh"
"""What a sentinel says."""


def _preamble(name: str) -> str:
    """The definition of COPY. With another letter it is another command for Lean's server."""
    return f"def {COPY} {{{name} : Sort _}} (a _ : {name}) : {name} := a"


PREAMBLE = _preamble("p")
"""Stands after the header in every document: `refine COPY ?_ ?_` turns a goal into two of the same."""

BRIEF_PREAMBLE = f"""{PREAMBLE}
set_option internal.cmdlineSnapshots false -- {SENTINEL}: brief
set_option internal.cmdlineSnapshots false
set_option internal.cmdlineSnapshots true"""
"""In place of the preamble before a single example: Lean keeps no record of it for an editor, and reports at its end,
which saves a third of the CPU time; but it does not say which candidate it is at.

Lean's server is not made for this option. It forgets where a command ended that was elaborated under it, takes the one
or two commands before that (it depends on Lean's version) for unchanged whatever stands there now, and reads on from
where they ended before. So these must be commands that cannot have changed once Lean comes to them: the last two
options, behind one that stands nowhere else. Headers stand before it, and are compared as ever. Hence also one example
alone, with an echo in it, without which its messages count for nothing. (A Lean that is too old to know the option says
so at its line, where nobody reads it.)"""

RECALL_PREAMBLE = _preamble("r")
"""In place of the preamble when Lean is to give up an example. Lean cancels at once what stands behind a changed
command; but the changed one itself only when a thread is free to look at it, and the example may hold the only one."""

_SENTINEL = f'trace "{SENTINEL}"'

STATE = -1
"""Index of the block that shows the state itself (it runs `skip`)."""


MOST_COPIES = 32
"""In one example. Beyond that the path's share is small, and a candidate that ends the declaration takes more along."""


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

    def holds(self, line: int) -> bool:
        return self.first <= line <= self.last


@dataclass(frozen=True)
class LeanExample:
    """One example of a document: its lines, and its blocks."""

    first: int
    statement: int
    """Last line of the statement."""
    last: int
    blocks: tuple[CandidateBlock, ...]
    form: Form
    end: int = -1
    """Line of the sentinel behind all blocks; -1 when there is none."""


@dataclass(frozen=True)
class LeanDocument:
    text: str
    examples: tuple[LeanExample, ...]
    echo: str = ""
    """What Lean says first of the one example of a brief document."""

    @property
    def brief(self) -> bool:
        """Whether Lean does not say which candidate it is at."""
        return bool(self.echo)

    @property
    def blocks(self) -> tuple[CandidateBlock, ...]:
        return tuple(block for example in self.examples for block in example.blocks)


class Writer:
    """Writes a document example by example, counting lines."""

    def __init__(self, header: str, *, brief: bool = False) -> None:
        """`brief`: there will be one example, and no need to know where Lean is."""
        self._brief = brief
        self._lines = opening(header, BRIEF_PREAMBLE if brief else PREAMBLE).split("\n")[:-1]
        self._examples: list[LeanExample] = []

    def document(self) -> LeanDocument:
        """What was written. Two documents with the same echo are the same."""
        text = "\n".join(self._lines) + "\n"
        if not self._brief:
            return LeanDocument(text, tuple(self._examples))
        assert len(self._examples) == 1
        echo = f"{SENTINEL} {hashlib.blake2b(text.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"
        return LeanDocument(text.replace(MARK, echo, 1), tuple(self._examples), echo)

    def copies(
        self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]], *, show_state: bool
    ) -> None:
        """One example with the candidates on copies of the goal; `show_state`: the goal itself last (block STATE)."""
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
        """One example with candidates that are expected to close copies of the goal, and a sentinel behind each."""
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            lines = [_multiply(prefix, len(candidates))]
            for index, tactic in candidates:
                lines += [*_block(spots, len(lines), index, tactic, prefix, sentinel=True), f"{prefix}{_SENTINEL}"]
            return [*lines, f"{prefix}sorry"]

        self._example(theorem, path, hole, spots, Form.CONFIRMATION)

    def separate(self, theorem: Theorem, path: Sequence[Step], index: int, tactic: str) -> None:
        """An example for one candidate alone."""
        bulleted = not path or len(path[-1].layout[path[-1].branch]) == 1
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            block = _block(spots, 0, index, tactic, prefix, bulleted=bulleted, sentinel=True)
            return [*block, f"{prefix}{_SENTINEL}"]

        self._example(theorem, path, hole, spots, Form.SEPARATE)

    def probe(self, index: int, tactic: str) -> None:
        """A theorem whose name is taken: Lean parses it, and elaborates nothing of it."""
        first = len(self._lines)
        self._lines.append(f"theorem {COPY} : True := by")
        spots: list[_Spot] = []
        self._lines += _block(spots, 0, index, tactic, INDENT, bulleted=False)
        self._examples.append(LeanExample(first, first, len(self._lines) - 1, (spots[0].block(first + 1),), Form.PROBE))

    def _example(
        self, theorem: Theorem, path: Sequence[Step], hole: _Hole, spots: list[_Spot], form: Form, ends: bool = False
    ) -> None:
        """Add an example. `ends`: its last line but one is the sentinel behind all blocks."""
        first = len(self._lines)
        self._lines += statement_lines("example", theorem)
        statement = len(self._lines) - 1
        if self._brief:
            self._lines.append(f'{INDENT}trace "{MARK}"')
        length = 0

        def marked(prefix: str) -> list[str]:
            nonlocal length
            lines = hole(prefix)
            length = len(lines)
            return [prefix + MARK, *lines]

        lines = path_lines(path, marked)
        # The hole's first line may have become part of a bullet's line: the mark says where it went.
        start = next(number for number, line in enumerate(lines) if MARK in line)
        lines[start : start + 2] = [_joined(lines[start], lines[start + 1])]
        begin = len(self._lines) + start
        self._lines += lines
        blocks = tuple(spot.block(begin) for spot in spots)
        end = begin + length - 2 if ends else -1
        self._examples.append(LeanExample(first, statement, len(self._lines) - 1, blocks, form, end))


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
    sentinel: bool

    def block(self, begin: int) -> CandidateBlock:
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
    """Lines of a candidate's block; its place is added to `spots`. `sentinel`: one will stand in the next line."""
    head = f"{prefix}· (" if bulleted else f"{prefix}("
    lines = indent_tactic(tactic, " " * len(head))
    lines[0] = head + lines[0][len(head) :]
    lines.append(" " * (len(head) - 1) + ")")
    spots.append(_Spot(index, at, at + len(lines) - 1, len(prefix), bulleted, sentinel))
    return lines


def _multiply(prefix: str, copies: int) -> str:
    """The tactic that makes so many copies of the goal, and leaves the goal itself behind them."""
    return f"{prefix}refine {COPY} ?_ " + f"({COPY} ?_ " * (copies - 1) + "?_" + ")" * (copies - 1)


def _joined(mark: str, line: str) -> str:
    """The first line of the hole, with the bullets that stand on the mark's line."""
    before = mark[: mark.index(MARK)]
    return before + line[len(before) :]


def opening(header: str, preamble: str = PREAMBLE) -> str:
    """What every document begins with."""
    return f"{header}\n{preamble}\n" if header else f"{preamble}\n"
