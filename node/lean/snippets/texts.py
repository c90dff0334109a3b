"""Which lines of a snippet import. Pure."""

from __future__ import annotations

import re

_BLANK = re.compile(r"(?:\s+|--[^\n]*)*")
_IMPORT = re.compile(r"(?:(?:public|meta|private)\s+)*(?:import|prelude|module)\b[^\n]*")
_COMMENT_SIGN = re.compile(r"/-|-/")


def leading_imports(text: str) -> tuple[str, ...]:
    """The lines up to the last import at a text's beginning, where only blank lines and comments may come between."""
    at = end = 0
    while True:
        at = _behind_blank(text, at)
        match = _IMPORT.match(text, at)
        if match is None:
            return tuple(text[:end].split("\n")) if end else ()
        at = end = match.end()


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
