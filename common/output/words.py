"""Formats counts, and text from outside, for people. Pure functions."""

from __future__ import annotations


def number_of(count: int, thing: str) -> str:
    """`1 attempt`, `2,000 attempts`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
