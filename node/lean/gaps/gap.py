"""Converts character offsets to the positions of Lean's language server, and back. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from common.lean import Context, Place, Theorem
from node.lean.check.files.commands import Command, Text
from node.lean.check.files.judging import name_in
from node.lean.check.files.report import FileMessage
from node.lean.worker.process import Position


def position(text: str, at: int) -> Position:
    """Line and column (in UTF-16 units) of the character at an offset."""
    begin = text.rfind("\n", 0, at) + 1
    return Position(text.count("\n", 0, at), utf16(text[begin:at]))


def utf16(text: str) -> int:
    """Length in UTF-16 units. Characters beyond the first 65,536 code points count twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def characters(line: str, units: int) -> int:
    """Number of characters in the first `units` UTF-16 units of a line."""
    if line.isascii():
        return min(units, len(line))
    count = 0
    for char in line:
        if units <= 0:
            break
        units -= 2 if char > "\uffff" else 1
        count += 1
    return count


# --- Describes a gap in a Lean file: a `sorry`, its goal, and the theorem to prove. Pure -----------------------------


LENGTH = len("sorry")


@dataclass(frozen=True)
class CommandSpan:
    """A command of a file, in character offsets. It starts at the beginning of a line."""

    start: int
    """Start of its first line. Commands that share a line are one span."""
    end: int
    """Start of the next span."""
    line: int
    """Its first line, from 1; a documentation comment belongs to the command."""
    last_line: int
    keyword: str
    name: str = ""
    """Name of its declaration; empty if it declares nothing."""
    error: str = ""
    """The first error that Lean reports in it, with its line; empty if there is none."""
    blocked: str = ""
    """Error of the first failing command above that others can depend on without naming it; empty if there is none."""


@dataclass(frozen=True)
class Gap:
    """A `sorry` of a file."""

    start: int
    """Character offset in the file's text."""
    line: int
    """Line, from 1."""
    column: int
    """Column in characters, from 0."""
    name: str
    """The declaration that contains it; the keyword (as `example`) if the declaration has no name."""
    command: CommandSpan
    tactic: bool
    """True if it is a tactic, False if it is a term."""
    goal: str
    """The goal as Lean shows it; empty if Lean shows none."""
    reason: str = ""
    """Why no proof can be searched for it; empty if one can."""

    @property
    def end(self) -> int:
        return self.start + LENGTH

    @property
    def conclusion(self) -> str:
        """The conclusion of its goal, in one line."""
        return " ".join(self.goal.partition("⊢")[2].split()) or "?"

    def place(self, text: str) -> Place:
        """The place of the gap in the text of the file."""
        command = self.command
        return Place(
            Context.of(text[: command.start]),
            text[command.start : self.start],
            text[self.end : command.end],
            self.tactic,
        )

    def theorem(self, text: str) -> Theorem:
        """The theorem to prove. `text`: the text of the file."""
        return Theorem(self.name, "", self.conclusion, place=self.place(text))


@dataclass
class FileGaps:
    """The gaps of a file."""

    text: str
    problem: str = ""
    """Why Lean cannot process the file at all; empty if it can."""
    gaps: list[Gap] = field(default_factory=list)
    """The gaps in the order of the file."""
    errors: list[FileMessage] = field(default_factory=list)
    """Lean's errors in the unchanged file."""
    commands: list[CommandSpan] = field(default_factory=list)

    @property
    def open(self) -> list[Gap]:
        """The gaps where a proof is missing."""
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
        """Offset of the character at a line and column; the length of the text if this is behind its end."""
        if line > len(self._starts):
            return self.length
        return min(self._starts[max(line, 1) - 1] + column, self.length)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of the character at an offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]


def spans(
    text: Text, commands: Sequence[Command], errors: Sequence[FileMessage], original: str, above: int
) -> list[CommandSpan]:
    """The commands of a file, with offsets and lines in the file's own text.

    `text`, `commands`: as they were compiled. They have the lines of `original`, but some lines are longer.
    `errors`: Lean's errors.
    `original`: our header followed by the file's text; `above`: length of the header, which consists of whole lines.
    """
    lines, shift = Lines(original), original.count("\n", 0, above)
    begun: list[tuple[int, Command]] = []
    for command in commands:
        start = lines.offset(command.line, command.start - text.offset(command.line, 0))
        begin = lines.offset(command.line, 0)
        alone = not original[begin:start].strip()  # otherwise it joins the span of the command before it in the line
        if begin >= above and (alone or not begun):
            begun.append((begin, command))
    result: list[CommandSpan] = []
    blocked = ""
    for number, (start, command) in enumerate(begun):
        end = begun[number + 1][0] if number + 1 < len(begun) else len(original)
        first, last = lines.place(start)[0], lines.place(max(start, end - 1))[0]
        error = next((each for each in errors if first <= each.line <= last), None)
        problem = f"line {error.line - shift}: {first_line_of(error.text)}" if error else ""
        place = (start - above, end - above, first - shift, last - shift)
        result.append(CommandSpan(*place, command.keyword, name_in(text, command), problem, blocked))
        if problem and not command.neutral:
            blocked = blocked or problem
    return result


def first_line_of(message: str) -> str:
    """The first line of a message from Lean, joined with the second if it ends with a colon."""
    lines = [" ".join(line.split()) for line in message.strip().split("\n")]
    text = lines[0]
    if text.endswith(":") and len(lines) > 1:
        text = f"{text} {lines[1]}"
    return text if len(text) <= 200 else f"{text[:197]}..."
