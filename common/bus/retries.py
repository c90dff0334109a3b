"""The back-off before a retry. Pure, so that it can be tested without a broker."""

from __future__ import annotations

FIRST = 0.05
"""Seconds before the first retry: some two hundred round trips to the broker. A restarted node is back in about this
time."""

LONGEST = 5.0
"""Longest pause in seconds between two tries, so that a restarted node is found soon."""


class RetryDelay:
    """Exponential back-off with jitter. If the server gives an estimate, the back-off follows it."""

    def __init__(self) -> None:
        self._failures = 0

    def after(self, retry_after: float | None, jitter: float) -> float:
        """Seconds to wait after one more failure. `retry_after`: from a Busy reply. `jitter` in [0, 1).

        After Busy: about the server's estimate, longer with every repetition, since other clients also wait. Without a
        reply: doubling.
        """
        base = FIRST * 2**self._failures if retry_after is None else max(0.0, retry_after) * 1.5**self._failures
        self._failures = min(self._failures + 1, 16)
        return min(LONGEST, base) * (0.5 + jitter)
