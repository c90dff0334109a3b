"""What can be wrong with a source of statements."""

from __future__ import annotations


class SourceProblem(ValueError):
    """A source cannot be read; the message says where and why."""
