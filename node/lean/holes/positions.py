"""Places in a text as Lean's language server counts them. Pure."""

from __future__ import annotations

from node.lean.worker.framing import Position


def position(text: str, at: int) -> Position:
    """Line and column (in UTF-16 units) of a character."""
    begin = text.rfind("\n", 0, at) + 1
    return Position(text.count("\n", 0, at), utf16(text[begin:at]))


def utf16(text: str) -> int:
    """Length in UTF-16 units: characters beyond the first 65,536 count twice."""
    return len(text) + sum(char > "\uffff" for char in text)


def characters(line: str, units: int) -> int:
    """How many characters of a line so many UTF-16 units are."""
    if line.isascii():
        return min(units, len(line))
    count = 0
    for char in line:
        if units <= 0:
            break
        units -= 2 if char > "\uffff" else 1
        count += 1
    return count
