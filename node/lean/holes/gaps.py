"""A gap in a Lean file: a `sorry`, what is missing there, and the theorem that it makes. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.lean import Theorem
from common.places import Context, Place
from node.lean.files.commands import Command, Text
from node.lean.files.judging import name_in
from node.lean.files.report import FileMessage

LENGTH = len("sorry")


@dataclass(frozen=True)
class CommandSpan:
    """A command of a file, in characters of the file's text, in whole lines at its beginning."""

    start: int
    """Where a line begins. Commands that share a line are one span."""
    end: int
    """Where the next one begins."""
    line: int
    """Its first line, from 1: of its documentation, if it has any."""
    last_line: int
    keyword: str
    name: str = ""
    """What it declares; empty where it declares nothing."""
    error: str = ""
    """The first error that Lean reports in it, with its line; empty when there is none."""
    blocked: str = ""
    """The first command above it that fails and that others can depend on without naming it; empty where none does."""


@dataclass(frozen=True)
class Gap:
    """A `sorry` of a file."""

    start: int
    """In characters of the file's text."""
    line: int
    """From 1."""
    column: int
    """From 0, in characters."""
    name: str
    """The declaration that it stands in; `example` and its like where that has no name."""
    command: CommandSpan
    tactic: bool
    """Whether a tactic stands there; otherwise a term."""
    goal: str
    """As Lean shows it; empty where it shows none."""
    reason: str = ""
    """Why it is left alone; empty where a proof is missing."""

    @property
    def end(self) -> int:
        return self.start + LENGTH

    @property
    def conclusion(self) -> str:
        """What is to be proved there, in one line."""
        return " ".join(self.goal.partition("⊢")[2].split()) or "?"

    def place(self, text: str) -> Place:
        """Where it is, for Lean. `text`: the file's."""
        command = self.command
        return Place(
            Context.of(text[: command.start]),
            text[command.start : self.start],
            text[self.end : command.end],
            self.tactic,
        )

    def theorem(self, text: str) -> Theorem:
        """What is to be proved. `text`: the file's."""
        return Theorem(self.name, "", self.conclusion, place=self.place(text))


@dataclass
class FileGaps:
    """What was found in a file."""

    text: str
    problem: str = ""
    """Why Lean cannot read the file at all; empty when it can."""
    gaps: list[Gap] = field(default_factory=list)
    """In the order of the file."""
    errors: list[FileMessage] = field(default_factory=list)
    """Those that the file has as it stands."""
    commands: list[CommandSpan] = field(default_factory=list)

    @property
    def open(self) -> list[Gap]:
        """Those where a proof is missing."""
        return [gap for gap in self.gaps if not gap.reason]


class Lines:
    """Positions in a text by line (from 1) and column (from 0), and back."""

    def __init__(self, text: str) -> None:
        self.length = len(text)
        self._starts = [0]
        for number, char in enumerate(text, 1):
            if char == "\n":
                self._starts.append(number)

    def offset(self, line: int, column: int) -> int:
        """The character at a line and column; of one behind the end, the end."""
        if line > len(self._starts):
            return self.length
        return min(self._starts[max(line, 1) - 1] + column, self.length)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]


def spans(
    text: Text, commands: Sequence[Command], errors: Sequence[FileMessage], original: str, above: int
) -> list[CommandSpan]:
    """The commands of a file, by characters and lines of the file's own text.

    `text`, `commands`: as they were compiled: lines are those of `original`, but some are longer; `errors`: Lean's;
    `original`: a header of ours and the file's text; `above`: characters of that header, which is whole lines.
    """
    lines, shift = Lines(original), original.count("\n", 0, above)
    begun: list[tuple[int, Command]] = []
    for command in commands:
        start = lines.offset(command.line, command.start - text.offset(command.line, 0))
        begin = lines.offset(command.line, 0)
        alone = not original[begin:start].strip()  # otherwise it is taken together with what it shares a line with
        if begin >= above and (alone or not begun):
            begun.append((begin, command))
    found: list[CommandSpan] = []
    blocked = ""
    for number, (start, command) in enumerate(begun):
        end = begun[number + 1][0] if number + 1 < len(begun) else len(original)
        first, last = lines.place(start)[0], lines.place(max(start, end - 1))[0]
        error = next((each for each in errors if first <= each.line <= last), None)
        said = f"line {error.line - shift}: {first_line_of(error.text)}" if error else ""
        place = (start - above, end - above, first - shift, last - shift)
        found.append(CommandSpan(*place, command.keyword, name_in(text, command), said, blocked))
        if said and not command.neutral:
            blocked = blocked or said
    return found


def first_line_of(message: str) -> str:
    """The first line of one of Lean's messages, with the next where that ends with a colon."""
    lines = [" ".join(line.split()) for line in message.strip().split("\n")]
    text = lines[0]
    if text.endswith(":") and len(lines) > 1:
        text = f"{text} {lines[1]}"
    return text if len(text) <= 200 else f"{text[:197]}..."
