"""Formats counts, and text from outside, for people. Pure functions."""

from __future__ import annotations


def number_of(count: int, thing: str) -> str:
    """`1 attempt`, `2,000 attempts`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def printable(text: str, instead: str = " ") -> str:
    """The text with unprintable characters replaced, so that it cannot contain terminal control sequences."""
    return "".join(char if char.isprintable() else instead for char in text)
