"""Accesses the text of a Lean file by Lean's positions. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cached_property

from node.lean.trace.infotree import Position, Span

_IMPORT = re.compile(r"^[ \t]*(?:(?:public|meta|private)\s+)*import(?:\s+all)?[ \t]+(.+)$", re.MULTILINE)
_CONTEXT = re.compile(r"^[ \t]*((?:open|variable|universe|namespace|section)\b.*)$", re.MULTILINE)


class LeanSource:
    """The text of a file. Positions count characters (code points), as in Lean."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    def offset(self, position: Position) -> int:
        """Character offset of a position."""
        line, column = position
        return self._starts[line - 1] + column if line <= len(self._starts) else len(self.text)

    def position(self, offset: int) -> Position:
        """The position of a character offset."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1]

    def slice(self, span: Span) -> str:
        return self.text[self.offset(span.start) : self.offset(span.end)]

    def tactic(self, span: Span) -> str:
        """The text of a tactic moved to column 0: further lines lose the indentation of the first one."""
        return dedent(self.slice(span), span.start[1])

    @property
    def imports(self) -> list[str]:
        """Names of the imported modules."""
        return [name for line in _IMPORT.findall(self.text) for name in line.split("--")[0].split()]

    def context(self, end: Position) -> list[str]:
        """The `open`, `variable`, `universe`, `namespace` and `section` lines before a position."""
        return _CONTEXT.findall(self.text[: self.offset(end)])


def dedent(text: str, columns: int) -> str:
    """Remove up to `columns` leading spaces from each line below the first."""
    first, *further = text.split("\n")
    cut = [line[min(columns, len(line) - len(line.lstrip(" "))) :].rstrip() for line in further]
    return "\n".join([first.rstrip(), *cut]).rstrip()
