"""A Lean file of many parts with a mark behind each, and what Lean's messages say of every part. Pure.

A mark is the command `#print "TOKEN"`, with a token that nobody can guess. Its message, at its place, shows that Lean
read a command there: the part before it ended where we ended it. So a message belongs to the part in whose lines it
stands, and a part without its mark is not judged.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from node.lean.verify.verdicts import LeanMessage


@dataclass(frozen=True)
class PartedFile:
    """The text, and where in it the marks are."""

    text: str
    tokens: tuple[str, ...]
    marks: tuple[int, ...]
    """Line of each mark; the lines of a part are those behind the mark before it. The first mark ends the header."""


@dataclass(frozen=True)
class PartReport:
    """What Lean said of one part."""

    messages: tuple[LeanMessage, ...]
    complete: bool
    """Whether it began and ended at its marks."""

    @property
    def errors(self) -> list[str]:
        """Texts of its errors."""
        return [message.data for message in self.messages if message.severity == "error"]


@dataclass(frozen=True)
class FileReport:
    """What Lean said of a file."""

    parts: tuple[PartReport, ...]
    astray: tuple[str, ...]
    """Errors that belong to no part: of the header, or without a place."""

    @property
    def reached(self) -> int:
        """Parts that are complete, up to the first that is not."""
        return next((number for number, part in enumerate(self.parts) if not part.complete), len(self.parts))


def parted_file(header: str, parts: Sequence[Sequence[str]], tokens: Sequence[str]) -> PartedFile:
    """A file of a header and parts (lines each). `tokens`: one for the header's mark, then one for each part's."""
    lines: list[str] = []
    marks = []
    for part, token in zip([[header], *parts], tokens, strict=True):
        lines += "\n".join(part).split("\n")
        lines.append(f'#print "{token}"')
        marks.append(len(lines))
    return PartedFile("\n".join(lines) + "\n", tuple(tokens), tuple(marks))


def read_report(file: PartedFile, messages: Sequence[LeanMessage]) -> FileReport:
    """Sort Lean's messages about a file by its parts."""
    found: list[list[LeanMessage]] = [[] for _ in file.marks]
    marked = [False] * len(file.marks)
    astray = []
    for message in messages:
        number = bisect_left(file.marks, message.pos.line) if message.pos else len(file.marks)
        if number >= len(file.marks):
            if message.severity == "error":
                astray.append(message.data)
        elif message.pos and message.pos.line == file.marks[number] and message.data == file.tokens[number]:
            marked[number] = True
        else:
            found[number].append(message)
    astray += [message.data for message in found[0] if message.severity == "error"]
    parts = [
        PartReport(tuple(found[number]), marked[number - 1] and marked[number]) for number in range(1, len(file.marks))
    ]
    return FileReport(tuple(parts), tuple(astray))
