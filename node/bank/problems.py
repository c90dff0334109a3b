"""The error for a source of statements that cannot be used."""

from __future__ import annotations


class SourceProblem(ValueError):
    """A source cannot be read; the message says where and why."""
