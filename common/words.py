"""Numbers of things, and foreign text, as people read them. Pure."""

from __future__ import annotations


def number_of(count: int, thing: str) -> str:
    """`1 attempt`, `2,000 attempts`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def printable(text: str, instead: str = " ") -> str:
    """Text of others, with something instead of what a terminal would obey."""
    return "".join(char if char.isprintable() else instead for char in text)
