"""Converts character offsets to the positions of Lean's language server, and back. Pure."""

from __future__ import annotations

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
