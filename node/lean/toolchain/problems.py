"""The error for a Lean that cannot be used."""

from __future__ import annotations


class LeanProblem(Exception):
    """Lean cannot be used as configured; the text says what is wrong and what to do. Programs end with code 2."""
