"""What a Lean text imports, and headers: the commands before a theorem. Pure.

Imports decide what a process has to load. They stand at the beginning of a text, and only white space and comments may
come between them.
"""

from __future__ import annotations

import re
from functools import lru_cache

_BLANK = re.compile(r"(?:\s+|--[^\n]*)*")
_IMPORT = re.compile(r"(?:(?:public|meta|private)\s+)*(?:import|prelude|module)\b[^\n]*")
_COMMENT_SIGN = re.compile(r"/-|-/")

KEPT = 256
"""Texts whose imports are remembered: each request for a file of thousands of lines asks for them again."""


def imports(text: str) -> list[str]:
    """The lines at a text's beginning that import modules, or say `prelude` or `module`."""
    return [line for line, _ in _imports(text)]


def import_lines(text: str) -> int:
    """Number of lines up to the last import, that included; 0 without imports."""
    end = imports_end(text)
    return text.count("\n", 0, end) + 1 if end else 0


def imports_end(text: str) -> int:
    """Where the last import ends, in characters; 0 without imports."""
    found = _imports(text)
    return found[-1][1] if found else 0


def leading_imports(text: str) -> tuple[str, ...]:
    """The lines up to the last import, comments and blank lines between them included."""
    return tuple(text.split("\n", import_lines(text))[: import_lines(text)])


def completed(own: str, configured: str) -> str:
    """A theorem's header with the configured one: before it, unless it imports by itself; alone where it is empty."""
    if not own.strip():
        return configured
    return own if not configured or imports(own) else f"{configured}\n{own}"


@lru_cache(maxsize=KEPT)
def _imports(text: str) -> tuple[tuple[str, int], ...]:
    """Each import as its text and where that ends."""
    found: list[tuple[str, int]] = []
    at = 0
    while True:
        at = _behind_blank(text, at)
        match = _IMPORT.match(text, at)
        if match is None:
            return tuple(found)
        at = match.end()
        found.append((match.group().strip(), at))


def _behind_blank(text: str, at: int) -> int:
    """Where white space and comments end that begin at a place. Block comments nest."""
    while True:
        match = _BLANK.match(text, at)
        assert match is not None
        at = match.end()
        if not text.startswith("/-", at):
            return at
        depth = 0
        for sign in _COMMENT_SIGN.finditer(text, at):
            depth += 1 if sign.group() == "/-" else -1
            if not depth:
                at = sign.end()
                break
        else:
            return len(text)
