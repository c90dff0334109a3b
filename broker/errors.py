"""Errors of the broker."""

from __future__ import annotations


class BrokerError(Exception):
    """The broker cannot run. The message says why, and what to do."""
