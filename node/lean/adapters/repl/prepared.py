"""The text that Lean elaborates for a command: the environment's text, inserted lines, the command. Pure.

Lean's messages have positions in this text. Clients need positions in the command, so this module converts them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from node.lean.adapters.repl.protocol import CommandPosition
from node.lean.gaps.gap import characters, utf16
from node.lean.text.lexing import lex
from node.lean.text.statement import import_lines
from node.lean.trace.infotree import Span
from node.lean.worker.process import Position

_END = re.compile(r"end\b")
"""Ends a section or namespace, which also resets the options that were set inside."""


@dataclass(frozen=True)
class Prepared:
    """The text for Lean, with the positions of the command's lines. Lines are zero-based."""

    text: str
    code: str
    """The command alone."""
    rows: tuple[int, ...]
    """The line in `text` of each line of the command."""

    @classmethod
    def of(cls, before: str, code: str, inserted: Sequence[str] = ()) -> Prepared:
        """`before`: the environment's text, empty or with a final line break. `inserted`: lines that are added after
        the imports of the command, and again after each `end`, which may reset them."""
        lines = code.split("\n")
        lexed = lex(code) if inserted else None
        closed = [bool(_END.match(line)) for line in lexed.code.split("\n")] if lexed and not lexed.problem else []
        first = 0 if before else import_lines(code)
        written = before.split("\n")[:-1]
        rows = []
        for number, line in enumerate(lines):
            if inserted and (number == first or (number > first and closed and closed[number - 1])):
                written += inserted
            rows.append(len(written))
            written.append(line)
        return cls("\n".join(written), code, tuple(rows))

    def position(self, offset: int) -> Position:
        """The position in the text of a character of the command, in the language server's units."""
        row, column = self._row(offset)
        return Position(self.rows[row], utf16(self._lines[row][:column]))

    def place(self, position: Position) -> CommandPosition | None:
        """The position in the command for a position in the text; None if it is outside the command."""
        row = self._row_of_line.get(position.line)
        return None if row is None else CommandPosition(row + 1, characters(self._lines[row], position.character))

    def place_of(self, offset: int) -> CommandPosition:
        """The position in the command of one of its characters."""
        row, column = self._row(offset)
        return CommandPosition(row + 1, column)

    def offsets(self, span: Span) -> tuple[int, int] | None:
        """The start and end characters in the command of Lean's span (lines from 1, columns in characters); None if the
        span starts outside the command."""
        start = self._offset(*span.start)
        if start is None:
            return None
        end = self._offset(*span.end)
        return start, len(self.code) if end is None else end

    @cached_property
    def _lines(self) -> list[str]:
        return self.code.split("\n")

    @cached_property
    def _starts(self) -> list[int]:
        """The first character of each line of the command."""
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    @cached_property
    def _row_of_line(self) -> dict[int, int]:
        """The command's line for a line of the text."""
        return {line: row for row, line in enumerate(self.rows)}

    def _offset(self, line: int, column: int) -> int | None:
        row = self._row_of_line.get(line - 1)
        return None if row is None else min(self._starts[row] + column, len(self.code))

    def _row(self, offset: int) -> tuple[int, int]:
        begin = self.code.rfind("\n", 0, offset) + 1
        return self.code.count("\n", 0, offset), offset - begin
