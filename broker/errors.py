"""What keeps a broker from running."""

from __future__ import annotations


class BrokerError(Exception):
    """The broker cannot run; the message says why, and what to do."""
