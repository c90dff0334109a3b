"""Writes the candidates of a batch into one Lean document, and records the lines of each candidate. Pure.

A document is a frame followed by `example`s. An example has one of six forms, from the fastest to the most careful:
- terse: `first | <copy the goal, run the candidate, print and close what it leaves> | trace` for each candidate. Lean
  prints no error messages of candidates that fail, and without errors it checks the proofs of all others, so that no
  confirmation is needed. It is for requests that need no error messages.
- copies: the path once, then a copy of the goal for each candidate, each in a focused block. Lean's time grows with the
  number of tactics that it reports on, so one `refine` makes all copies, and one sentinel comes after them all.
- confirmation: copies again, for candidates that seem to close the goal, with a sentinel after each candidate. If
  Lean reports the sentinels and nothing else, all candidates close the goal.
- undone: for goals with metavariables, which copies would share, in requests that need no error messages. Each block is
  `all_goals (<last steps of the path>; <candidate>; fail)` on a copy of the last goal that stood alone. The failure
  makes Lean take back everything that the block did, the metavariables that it assigned included, and report the goals.
  A candidate that leaves no goals runs again in an example of its own.
- separate: an example for one candidate, with the whole path. It is for other goals with metavariables, and for
  candidates that name a case or a hole, because copies have other case tags.
- probe: a theorem whose name is already declared. Lean parses it and elaborates nothing, which shows whether the
  candidate parses.

For a theorem in a file, the command in the file replaces the example, with the candidates in its gap. Such a document
has only one example, because a second copy of the command would declare the same name again.

A sentinel is a `trace` tactic. Its message shows that Lean reached its line. A message at a candidate's lines shows
that Lean reached the candidate. A candidate is in parentheses, so it must be a complete tactic block: the text after it
cannot complete it."""

from __future__ import annotations

import enum
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from common.lean import Step, Theorem
from node.lean.text.script import INDENT, indent_tactic, path_lines
from node.lean.text.statement import import_lines, imports, statement_lines

# --- Writes the text above the examples of a document: a header, or the text of a file. Lean elaborates it -----------
#
# for a header         the header, then a preamble: the definition of COPY, and an option for brief documents
#     for a file's text    its imports, the definition of COPY, the remaining text, then a tail of options
#
# The text of a file can open namespaces and sections and include variables, so COPY is defined before all of these. The
# options that differ between documents are at the end, because Lean elaborates everything after a changed line again.


COPY = "«proofmesh copy»"
"""Name of the definition that copies a goal. The text rules refuse this name, so no candidate can use it."""

SENTINEL = "proofmesh"
"""The message of a sentinel."""


class Opening(enum.Enum):
    """The kind of document that starts with a frame."""

    PLAIN = enum.auto()
    BRIEF = enum.auto()
    """Lean reports once, at the end: see `_SNAPSHOTS_OFF`."""
    RECALL = enum.auto()
    """A document without examples, which makes Lean cancel the previous example. It changes a command of the frame, and
    Lean cancels the text after a changed command at once. To cancel a changed example itself, Lean would need a free
    thread, and that example may occupy the only one."""


def _copy(name: str) -> str:
    """The definition of COPY. Another variable `name` makes it a changed command for Lean's server."""
    return f"def {COPY} {{{name} : Sort _}} (a _ : {name}) : {name} := a"


_SNAPSHOTS_OFF = f"""set_option internal.cmdlineSnapshots false -- {SENTINEL}: brief
set_option internal.cmdlineSnapshots false
set_option internal.cmdlineSnapshots true"""
"""Starts a brief document, which has a single example. Without command-line snapshots, Lean keeps no record of the
example for an editor and reports once, at the end. That saves a third of the CPU time. But while Lean runs, it does not
show which candidate it is running.

Lean's server is not made for switching this option inside a document. For a command that was elaborated under the
option, the server does not know where it ended. When the document is edited, the server therefore treats the one or two
commands before it (depending on Lean's version) as unchanged, whatever their text is now, and continues to read where
they ended last time. So these must be commands that never change: they are the last two options here. The first option,
with its comment, occurs in no other document. The header comes before all three and is compared as usual.

Two rules follow. A brief document has only one example, because a second one would come after such a command. And it
contains an echo, a message that identifies the document: a report without the echo is not used. (A Lean that does not
know the option reports an error in the option's line, which is not read.)"""


@dataclass(frozen=True)
class Frame:
    """The text above the examples of a document."""

    text: str
    """A header, completed with the configured one; or the text of a file above a command."""
    heartbeats: int = 0
    """For a file's text: Lean's `maxHeartbeats` for the examples after it. The text itself runs with Lean's default
    options, as its author runs it. 0 for a header, which runs with the options of the process."""

    @property
    def in_file(self) -> bool:
        """True for the text of a file."""
        return bool(self.heartbeats)

    @property
    def imports(self) -> list[str]:
        """Its import lines. A running process can change neither its imports nor its options."""
        return imports(self.text)

    @property
    def import_lines(self) -> int:
        """Number of lines up to the last import."""
        return import_lines(self.text)

    def fits(self, other: Frame) -> bool:
        """True when a process that was started with this frame can run documents of the other one, and vice versa."""
        return self.in_file == other.in_file and self.imports == other.imports

    def without_commands(self) -> Frame:
        """The frame with its imports only."""
        return Frame("\n".join(self.imports), self.heartbeats)

    def opening(self, kind: Opening = Opening.PLAIN) -> str:
        """The start of a document, with a final line break."""
        if self.in_file:
            return self._file_opening(kind)
        lines = [self.text] if self.text else []
        lines.append(_copy("r" if kind is Opening.RECALL else "p"))
        if kind is Opening.BRIEF:
            lines.append(_SNAPSHOTS_OFF)
        return "\n".join(lines) + "\n"

    def _file_opening(self, kind: Opening) -> str:
        lines = self.text.split("\n", self.import_lines)
        above, below = lines[: self.import_lines], lines[self.import_lines :]
        # The other number makes this a changed command in a recall.
        tail = [f"set_option maxHeartbeats {self.heartbeats + (kind is Opening.RECALL)}"]
        if kind is Opening.BRIEF:
            tail.append(_SNAPSHOTS_OFF)
        return "\n".join([*above, _copy("p"), *below, *tail]) + "\n"


_SENTINEL = f'trace "{SENTINEL}"'

UNSOLVED = "unsolved goals"
"""The start of Lean's message with the goals that a block leaves, and of the message of a block that is undone."""

STATE = -1
"""Index of the block that shows the state itself (it runs `skip`)."""


MOST_COPIES = 32
"""Most copies in one example. With more, the share of time for the path hardly gets smaller, and a candidate that
aborts the whole declaration loses the outcomes of more other candidates."""


class Form(enum.Enum):
    """How an example contains its candidates (see the module's docstring)."""

    TERSE = enum.auto()
    COPIES = enum.auto()
    UNDONE = enum.auto()
    SEPARATE = enum.auto()
    PROBE = enum.auto()
    CONFIRMATION = enum.auto()


@dataclass(frozen=True)
class CandidateBlock:
    """The lines of one candidate, zero-based; `last` is the line of its closing parenthesis."""

    index: int
    first: int
    last: int
    column: int
    """Column of the bullet (copies) or of the opening parenthesis."""
    sentinel: int
    """Line of the sentinel of this candidate, or of the tactic that shows its goals (terse, undone); -1 without one."""
    bulleted: bool
    """True when a bullet `·` precedes it."""

    def holds(self, line: int) -> bool:
        """True when a line (from 0) belongs to the block."""
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
    """Line of the sentinel after all blocks; -1 without one."""
    placed: bool = False
    """True for a command of a file. `statement` is then the line of the gap, and `last` the last line of the gap. The
    file's text after the gap follows it."""


@dataclass(frozen=True)
class LeanDocument:
    text: str
    examples: tuple[LeanExample, ...]
    echo: str = ""
    """A message that is only in Lean's report on this brief document; empty if the document is not brief."""

    @property
    def brief(self) -> bool:
        """True when Lean reports only at the end, without showing which candidate it is running."""
        return bool(self.echo)

    @property
    def blocks(self) -> tuple[CandidateBlock, ...]:
        return tuple(block for example in self.examples for block in example.blocks)


class Writer:
    """Writes a document example by example and counts its lines."""

    def __init__(self, frame: Frame, *, brief: bool = False) -> None:
        """`brief`: the document will have one example, and Lean need not show which candidate it is running."""
        self._brief = brief
        self._lines = frame.opening(Opening.BRIEF if brief else Opening.PLAIN).split("\n")[:-1]
        self._examples: list[LeanExample] = []

    @property
    def brief(self) -> bool:
        """True if the document is brief."""
        return self._brief

    def document(self) -> LeanDocument:
        """The document with the examples so far. Its echo is a digest of its text: equal echoes mean equal texts."""
        text = "\n".join(self._lines) + "\n"
        if not self._brief:
            return LeanDocument(text, tuple(self._examples))
        assert len(self._examples) == 1
        echo = f"{SENTINEL} {hashlib.blake2b(text.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"
        return LeanDocument(text.replace(MARK, echo, 1), tuple(self._examples), echo)

    def terse(self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]]) -> None:
        """Add an example that prints the goals of the candidates that run, and a sentinel for each that fails."""
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            lines: list[str] = []
            for index, tactic in candidates:
                lines += _terse_block(spots, len(lines), index, tactic, prefix)
            return [*lines, f"{prefix}{_SENTINEL}", f"{prefix}sorry"]

        self._example(theorem, path, hole, spots, Form.TERSE, ends=True)

    def copies(
        self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]], *, show_state: bool
    ) -> None:
        """Add an example with the candidates, as (index, tactic), on copies of the goal at the end of the path.

        `show_state`: leave the goal itself open after them (block STATE), so that Lean prints it.
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

    def undone(self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]]) -> None:
        """Add an example that takes back each candidate, and shows the goals of those that run.

        No step after `goal_that_stood_alone` may name a goal, because the copies have other case tags.
        """
        spots: list[_Spot] = []
        alone = goal_that_stood_alone(path)

        def hole(prefix: str) -> list[str]:
            lines: list[str] = []
            for index, tactic in candidates:
                lines += _undone_block(spots, len(lines), index, tactic, path[alone:], prefix)
            return [*lines, f"{prefix}{_SENTINEL}", f"{prefix}sorry"]

        self._example(theorem, path[:alone], hole, spots, Form.UNDONE, ends=True)

    def confirmation(self, theorem: Theorem, path: Sequence[Step], candidates: Sequence[tuple[int, str]]) -> None:
        """Add an example with candidates that probably close copies of the goal, and a sentinel after each."""
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            lines = [_multiply(prefix, len(candidates))]
            for index, tactic in candidates:
                lines += [*_block(spots, len(lines), index, tactic, prefix, sentinel=True), f"{prefix}{_SENTINEL}"]
            return [*lines, f"{prefix}sorry"]

        self._example(theorem, path, hole, spots, Form.CONFIRMATION)

    def separate(self, theorem: Theorem, path: Sequence[Step], index: int, tactic: str) -> None:
        """Add an example for one candidate alone, with the whole path."""
        bulleted = not path or len(path[-1].layout[path[-1].branch]) == 1
        spots: list[_Spot] = []

        def hole(prefix: str) -> list[str]:
            block = _block(spots, 0, index, tactic, prefix, bulleted=bulleted, sentinel=True)
            return [*block, f"{prefix}{_SENTINEL}"]

        self._example(theorem, path, hole, spots, Form.SEPARATE)

    def probe(self, index: int, tactic: str) -> None:
        """Add a theorem whose name is already declared: Lean parses the candidate and elaborates nothing."""
        first = len(self._lines)
        self._lines.append(f"theorem _root_.{COPY} : True := by")
        spots: list[_Spot] = []
        self._lines += _block(spots, 0, index, tactic, INDENT, bulleted=False)
        self._examples.append(LeanExample(first, first, len(self._lines) - 1, (spots[0].block(first + 1),), Form.PROBE))

    def _example(
        self, theorem: Theorem, path: Sequence[Step], hole: _Hole, spots: list[_Spot], form: Form, ends: bool = False
    ) -> None:
        """Add an example: the statement, the path, and at its end the lines of `hole`.

        `spots`: the list to which `hole` adds its blocks when it is called. `ends`: the second last line of the hole is
        the sentinel after all blocks.
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
        # `path_lines` may add bullets in front of the hole's first line. The mark shows where the hole starts. The
        # mark's line, with its bullets, and the hole's first line are then joined into one.
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
        """Add the lines above the path. Returns the indentation of the path."""
        place = theorem.place
        if place is None:
            self._lines += statement_lines("example", theorem)
            return INDENT
        # The parentheses make the whole script one tactic (or one term), whatever text comes before the gap.
        self._lines += (place.before + ("(" if place.tactic else "(by")).split("\n")
        return " " * (place.column + len(INDENT))


_Hole = Callable[[str], list[str]]
"""Returns the lines at the end of a path, for an indentation."""

MARK = "\ufffe"
"""Placeholder for the hole and the echo while a document is written. It is not a Unicode character and the text rules
refuse it, so no candidate contains it."""


@dataclass(frozen=True)
class _Spot:
    """The lines of a block, relative to the first line of the hole."""

    index: int
    first: int
    last: int
    column: int
    bulleted: bool
    sentinel: int
    """Line of the sentinel, or of the tactic that prints the goals; -1 without one."""

    def block(self, begin: int) -> CandidateBlock:
        """The block, for a hole that starts at line `begin` of the document."""
        sentinel = self.sentinel + begin if self.sentinel >= 0 else -1
        return CandidateBlock(self.index, self.first + begin, self.last + begin, self.column, sentinel, self.bulleted)


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
    """The lines of a candidate's block at line `at` of the hole. Adds the block to `spots`.

    `sentinel`: the line after the block will be a sentinel.
    """
    head = f"{prefix}· (" if bulleted else f"{prefix}("
    lines = _parenthesised(head, tactic, ")")
    last = at + len(lines) - 1
    spots.append(_Spot(index, at, last, len(prefix), bulleted, last + 1 if sentinel else -1))
    return lines


def _parenthesised(head: str, tactic: str, end: str) -> list[str]:
    """The lines of a tactic: after `head`, which ends with `(`, and above a line with `end`, which begins with `)`."""
    lines = indent_tactic(tactic, " " * len(head))
    lines[0] = head + lines[0][len(head) :]
    return [*lines, " " * (len(head) - 1) + end]


def _terse_block(spots: list[_Spot], at: int, index: int, tactic: str, prefix: str) -> list[str]:
    """The lines of a candidate's block at line `at` of a hole of the terse form. Adds the block to `spots`.

    If the candidate fails, `first` takes back its copy of the goal. `sorry` closes the goals that it leaves, so that
    Lean reports an error only if something is wrong with a proof.
    """
    first = f"{prefix}first "
    head = f"{first}| refine {COPY} ?_ ?_; focus ("
    lines = _parenthesised(head, tactic, "); trace_state; all_goals sorry")
    lines.append(f"{' ' * len(first)}| {_SENTINEL}")
    last = at + len(lines) - 1
    spots.append(_Spot(index, at, last, len(head) - 1, bulleted=False, sentinel=last - 1))
    return lines


def goal_that_stood_alone(path: Sequence[Step]) -> int:
    """Number of steps that lead to the last state of a path with a single goal. A single goal can be copied."""
    singles = [number for number, step in enumerate(path, 1) if len(step.layout[step.branch]) == 1]
    return singles[-1] if singles else 0


def _undone_block(
    spots: list[_Spot], at: int, index: int, tactic: str, steps: Sequence[Step], prefix: str
) -> list[str]:
    """The lines of a candidate's block at line `at` of a hole of the undone form. Adds the block to `spots`.

    `steps` lead from the copied goal to the state. All of them leave several goals to the candidate, so no bullet of
    theirs encloses it. A bullet would admit its goal when the block fails, and Lean would take nothing back. In
    `first`, as in the terse form, a tactic fails with its first error, and does not go on with `sorry`.
    """
    inside = prefix + 2 * INDENT
    head = f"{inside}first | ("
    own = _parenthesised(head, tactic, ")")
    own += [f"{' ' * (len(head) - 3)}| fail_if_success skip", f'{inside}fail "{UNSOLVED}"']
    lines = [f"{prefix}refine {COPY} ?_ ?_", f"{prefix}· all_goals (", *path_lines(steps, lambda _: own, inside)]
    sentinel = at + len(lines) - 1
    first = sentinel + 1 - len(own)
    spots.append(_Spot(index, first, sentinel - 1, len(head) - 1, bulleted=False, sentinel=sentinel))
    return [*lines, f"{prefix}{INDENT})"]


def _multiply(prefix: str, copies: int) -> str:
    """The tactic that adds `copies` copies of the goal before the goal itself."""
    return f"{prefix}refine {COPY} ?_ " + f"({COPY} ?_ " * (copies - 1) + "?_" + ")" * (copies - 1)


def _joined(mark: str, line: str) -> str:
    """The first line of the hole, after the bullets of the mark's line."""
    bullets = mark[: mark.index(MARK)]
    return bullets + line[len(bullets) :]
