"""A command behind its environment, as Lean gets it: lines of ours may stand before it. Pure.

All that Lean says is about places of this text; clients know the command alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from node.lean.adapters.repl.protocol import CommandPosition
from node.lean.holes.positions import characters, utf16
from node.lean.text.headers import import_lines
from node.lean.text.lexing import lex
from node.lean.trace.infotree import Span
from node.lean.worker.framing import Position

_END = re.compile(r"end\b")
"""Ends a section or namespace, and with it the options that were set inside."""


@dataclass(frozen=True)
class Prepared:
    """The text for Lean, and where the command's lines are in it. Lines are zero-based."""

    text: str
    code: str
    """The command alone."""
    rows: tuple[int, ...]
    """By line of the command, its line in the text."""

    @classmethod
    def of(cls, before: str, code: str, ours: Sequence[str] = ()) -> Prepared:
        """`before`: the environment's text, empty or with a line break at its end; `ours`: lines to stand before the
        command, behind its imports, and again wherever an `end` may have undone them."""
        lines = code.split("\n")
        lexed = lex(code) if ours else None
        closed = [bool(_END.match(line)) for line in lexed.code.split("\n")] if lexed and not lexed.problem else []
        first = 0 if before else import_lines(code)
        written = before.split("\n")[:-1]
        rows = []
        for number, line in enumerate(lines):
            if ours and (number == first or (number > first and closed and closed[number - 1])):
                written += ours
            rows.append(len(written))
            written.append(line)
        return cls("\n".join(written), code, tuple(rows))

    def position(self, offset: int) -> Position:
        """The place in the text of a character of the command, as the language server counts."""
        row, column = self._row(offset)
        return Position(self.rows[row], utf16(self._lines[row][:column]))

    def place(self, position: Position) -> CommandPosition | None:
        """The place in the command of a place in the text; None for one that is not in the command."""
        row = self._found.get(position.line)
        return None if row is None else CommandPosition(row + 1, characters(self._lines[row], position.character))

    def place_of(self, offset: int) -> CommandPosition:
        """The place in the command of one of its characters."""
        row, column = self._row(offset)
        return CommandPosition(row + 1, column)

    def offsets(self, span: Span) -> tuple[int, int] | None:
        """A span of Lean's (lines from 1, columns in characters) as characters of the command; None for one that begins
        elsewhere."""
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
        """By line of the command, its first character."""
        return [0, *accumulate(len(line) + 1 for line in self._lines)]

    @cached_property
    def _found(self) -> dict[int, int]:
        """By line of the text, the command's line."""
        return {line: row for row, line in enumerate(self.rows)}

    def _offset(self, line: int, column: int) -> int | None:
        row = self._found.get(line - 1)
        return None if row is None else min(self._starts[row] + column, len(self.code))

    def _row(self, offset: int) -> tuple[int, int]:
        begin = self.code.rfind("\n", 0, offset) + 1
        return self.code.count("\n", 0, offset), offset - begin
