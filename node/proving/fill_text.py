"""Writes proofs into the gaps of a file's text, and leaves every other byte unchanged. Pure."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from common.places import NO_CONTEXT, Place
from node.lean.gaps.gap import CommandSpan, FileGaps, Gap
from node.lean.text.script import filled, filled_in_parentheses

Form = Callable[[Place, Sequence[str]], str]
"""Writes a script into a place: in the usual layout, or in parentheses."""

FORMS: tuple[Form, ...] = (filled, filled_in_parentheses)
"""All forms, in the order in which they are tried."""


@dataclass(frozen=True)
class Fill:
    """A proof for a gap."""

    script: tuple[str, ...]
    """Lines of tactics, the first in column 0."""
    form: int = 0
    """Index into FORMS."""


@dataclass(frozen=True)
class Edit:
    """The range of a text to replace, and its new text."""

    start: int
    end: int
    new: str


@dataclass(frozen=True)
class FileText:
    """The content of a file: its bytes, and its text as Lean reads it, with `\\n` as line ends."""

    data: bytes

    @cached_property
    def raw(self) -> str:
        """The text with its original line ends. Raises UnicodeDecodeError."""
        return self.data.decode("utf-8")

    @cached_property
    def text(self) -> str:
        """The text as Lean reads it. Raises UnicodeDecodeError."""
        return self.raw.replace("\r\n", "\n")

    @cached_property
    def newline(self) -> str:
        """The line end of most lines."""
        return "\r\n" if 2 * len(self._returns) > self.raw.count("\n") else "\n"

    @cached_property
    def _returns(self) -> list[int]:
        """The offset in `text` of each carriage return, which Lean does not see."""
        offsets: list[int] = []
        at = self.raw.find("\r\n")
        while at >= 0:
            offsets.append(at - len(offsets))
            at = self.raw.find("\r\n", at + 1)
        return offsets

    def edited(self, edits: Iterable[Edit]) -> str:
        """The file after edits of its text. New lines get the file's usual line end."""
        pieces, at = [], 0
        for edit in sorted(edits, key=lambda each: each.start):
            start, end = self._raw_offset(edit.start), self._raw_offset(edit.end)
            pieces += [self.raw[at:start], edit.new.replace("\n", self.newline)]
            at = end
        return "".join([*pieces, self.raw[at:]])

    def _raw_offset(self, offset: int) -> int:
        return offset + bisect_left(self._returns, offset)


def edits_of(file: FileGaps, fills: Mapping[Gap, Fill]) -> list[Edit]:
    """The edits that write proofs into a file's text."""
    by_command: dict[CommandSpan, dict[Gap, Fill]] = {}
    for gap in sorted(fills, key=lambda gap: gap.start):
        by_command.setdefault(gap.command, {})[gap] = fills[gap]
    return [edit for command, mine in by_command.items() for edit in _in_command(file.text, command, mine)]


def _in_command(text: str, command: CommandSpan, fills: Mapping[Gap, Fill]) -> list[Edit]:
    """The edits of one command, its gaps in order. Each proof is laid out after the proofs above it."""
    edits: list[Edit] = []
    built, at = "", command.start
    for gap, fill in fills.items():
        before, after = built + text[at : gap.start], text[gap.end : command.end]
        made = FORMS[fill.form](Place(NO_CONTEXT, before, after, gap.tactic), fill.script)
        built = made.removesuffix(after)
        # A block may start on a new line. Then the spaces before the gap are removed.
        unchanged = len(before) if built.startswith(before) else len(before.rstrip(" "))
        edits.append(Edit(gap.start - (len(before) - unchanged), gap.end, built[unchanged:]))
        at = gap.end
    return edits


def applied(text: str, edits: Iterable[Edit]) -> str:
    """The text after edits."""
    pieces, at = [], 0
    for edit in sorted(edits, key=lambda each: each.start):
        pieces += [text[at : edit.start], edit.new]
        at = edit.end
    return "".join([*pieces, text[at:]])


def unified_diff(name: str, old: str, new: str) -> str:
    """A diff for `patch -p0` and `git apply -p0`; empty if nothing changes. Only line feeds end lines."""
    shown = f"{name}\t" if " " in name else name
    lines = difflib.unified_diff(_lines(old), _lines(new), shown, shown)
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _lines(text: str) -> list[str]:
    lines = [f"{line}\n" for line in text.split("\n")]
    last = lines.pop().removesuffix("\n")
    return [*lines, last] if last else lines
