"""How long to wait before asking again: pure, so that it is tested without a broker."""

from __future__ import annotations

FIRST = 0.05
"""Seconds: some two hundred round trips to the broker; a restarted node is back in about this time."""

LONGEST = 5.0
"""Seconds: the longest pause between two tries, so that a node that returns is found soon."""


class RetryDelay:
    """Exponential back-off with jitter, which follows a server's own estimate where it gives one."""

    def __init__(self) -> None:
        self._failures = 0

    def after(self, retry_after: float | None, jitter: float) -> float:
        """Seconds to wait after one more failure. `retry_after`: from a Busy answer. `jitter` in [0, 1).

        Busy: about what the server said, more with every repetition, since it counts others that wait too.
        Unanswered: doubling.
        """
        base = FIRST * 2**self._failures if retry_after is None else max(0.0, retry_after) * 1.5**self._failures
        self._failures = min(self._failures + 1, 16)
        return min(LONGEST, base) * (0.5 + jitter)
