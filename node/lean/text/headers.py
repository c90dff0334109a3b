"""Finds the imports of a Lean text, and combines headers: the commands before a theorem. Pure.

Imports decide what a process has to load. They stand at the beginning of a text, with only white space and comments
between them.
"""

from __future__ import annotations

import re
from functools import lru_cache

from node.lean.text.lexing import comment_end

_BLANK = re.compile(r"(?:\s+|--[^\n]*)*")
_IMPORT = re.compile(r"(?:(?:public|meta|private)\s+)*(?:import|prelude|module)\b[^\n]*")

CACHED_TEXTS = 256
"""Number of texts whose imports are cached: every request for a file of thousands of lines needs them again."""


def imports(text: str) -> list[str]:
    """The `import`, `prelude` and `module` lines at the beginning of a text."""
    return [line for line, _ in _imports(text)]


def import_lines(text: str) -> int:
    """Number of lines up to and including the last import; 0 if there is none."""
    end = imports_end(text)
    return text.count("\n", 0, end) + 1 if end else 0


def imports_end(text: str) -> int:
    """Character offset of the end of the last import; 0 if there is none."""
    located = _imports(text)
    return located[-1][1] if located else 0


def leading_imports(text: str) -> tuple[str, ...]:
    """The lines up to and including the last import, with comments and blank lines between them."""
    return tuple(text.split("\n", import_lines(text))[: import_lines(text)])


def completed(own: str, configured: str) -> str:
    """The configured header followed by a theorem's own one; only the own one if that has imports."""
    if not own.strip():
        return configured
    return own if not configured or imports(own) else f"{configured}\n{own}"


@lru_cache(maxsize=CACHED_TEXTS)
def _imports(text: str) -> tuple[tuple[str, int], ...]:
    """The text and the end offset of each import."""
    located: list[tuple[str, int]] = []
    at = 0
    while True:
        at = _behind_blank(text, at)
        match = _IMPORT.match(text, at)
        if match is None:
            return tuple(located)
        at = match.end()
        located.append((match.group().strip(), at))


def _behind_blank(text: str, at: int) -> int:
    """End of the white space and comments that begin at an offset. Block comments nest."""
    while True:
        match = _BLANK.match(text, at)
        assert match is not None
        at = match.end()
        if not text.startswith("/-", at):
            return at
        end = comment_end(text, at)
        if end < 0:
            return len(text)
        at = end
