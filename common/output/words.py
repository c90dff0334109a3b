"""Formats counts and shares for people. Pure functions."""

from __future__ import annotations

import math


def number_of(count: int, thing: str) -> str:
    """`1 attempt`, `2,000 attempts`."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def percent(share: float) -> str:
    """`63.1%`; a dash if the share is unknown."""
    return "–" if math.isnan(share) else f"{100 * share:.1f}%"


def interval(low: float, high: float) -> str:
    """`59.8 to 66.0%`; empty if it is unknown."""
    return "" if math.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}%"


def amount(number: float) -> str:
    """A number of statements, such as `1,204`; with several passes it may be a fraction, such as `80.25`."""
    return f"{number:,.0f}" if abs(number - round(number)) < 1e-9 else f"{number:,.2f}"


def duration(seconds: float) -> str:
    """`59s`, `3m05s`, `2h07m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
