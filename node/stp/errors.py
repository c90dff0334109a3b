"""Errors of self-play for the user."""

from __future__ import annotations


class StpError(Exception):
    """One line: what is wrong, where, and what to do."""
