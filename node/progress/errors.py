"""Errors of progress models."""

from __future__ import annotations


class ProgressError(ValueError):
    """A progress model is missing, or cannot be used. The text says which one, and why."""
