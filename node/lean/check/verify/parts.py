"""Joins many parts to one Lean file with a mark behind each, and sorts Lean's messages by part. Pure.

A mark is the command `#print "TOKEN"` with an unguessable random token. Its message at its own line shows that Lean
read a command there, so the part before it ended where we ended it. A message belongs to the part whose lines contain
it. A part whose marks have no message gets no verdict.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from node.lean.check.verify.verdicts import LeanMessage


@dataclass(frozen=True)
class PartedFile:
    """The text of a file with its marks."""

    text: str
    tokens: tuple[str, ...]
    marks: tuple[int, ...]
    """Line of each mark. The first mark ends the header; a part's lines are those between two marks."""


@dataclass(frozen=True)
class PartReport:
    """Lean's messages on one part."""

    messages: tuple[LeanMessage, ...]
    complete: bool
    """True if the part began and ended at its marks."""

    @property
    def errors(self) -> list[str]:
        """Texts of the part's errors."""
        return [message.data for message in self.messages if message.severity == "error"]


@dataclass(frozen=True)
class FileReport:
    """Lean's messages on a file."""

    parts: tuple[PartReport, ...]
    stray_errors: tuple[str, ...]
    """Errors that belong to no part: those in the header and those without a position."""

    @property
    def reached(self) -> int:
        """Number of complete parts before the first incomplete one."""
        return next((number for number, part in enumerate(self.parts) if not part.complete), len(self.parts))


def parted_file(header: str, parts: Sequence[Sequence[str]], tokens: Sequence[str]) -> PartedFile:
    """Join a header and parts (lists of lines). `tokens`: one for the header's mark, then one for each part."""
    lines: list[str] = []
    marks = []
    for part, token in zip([[header], *parts], tokens, strict=True):
        lines += "\n".join(part).split("\n")
        lines.append(f'#print "{token}"')
        marks.append(len(lines))
    return PartedFile("\n".join(lines) + "\n", tuple(tokens), tuple(marks))


def read_report(file: PartedFile, messages: Sequence[LeanMessage]) -> FileReport:
    """Sort Lean's messages about a file by its parts."""
    sections: list[list[LeanMessage]] = [[] for _ in file.marks]  # the header's, then each part's
    marked = [False] * len(file.marks)
    stray_errors = []
    for message in messages:
        number = bisect_left(file.marks, message.pos.line) if message.pos else len(file.marks)
        if number >= len(file.marks):
            if message.severity == "error":
                stray_errors.append(message.data)
        elif message.pos and message.pos.line == file.marks[number] and message.data == file.tokens[number]:
            marked[number] = True
        else:
            sections[number].append(message)
    stray_errors += [message.data for message in sections[0] if message.severity == "error"]
    parts = [
        PartReport(tuple(sections[number]), marked[number - 1] and marked[number])
        for number in range(1, len(file.marks))
    ]
    return FileReport(tuple(parts), tuple(stray_errors))
