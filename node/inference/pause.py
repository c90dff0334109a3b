"""The learner's hold on the compute, as a state machine: no clock, no I/O. Times are Unix seconds.

The hold has an epoch and an end. It comes as a request that wants an acknowledgement and as state in the bucket, in
any order and more than once. It runs out by itself, so a learner that died cannot stop inference for ever.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class PauseClock:
    """Whether this node is held, until when, and how much of its life it was."""

    started: float
    epoch: int = -1
    until: float = 0.0
    _held_since: float | None = None
    _held: float = 0.0

    def hold(self, epoch: int, until: float, now: float) -> bool:
        """Take (or renew, or shorten) the hold. False: stale, an older epoch than the one that holds, or already
        over."""
        self._settle(now)
        if until <= now or (self.paused(now) and epoch < self.epoch):
            return False
        self.epoch, self.until = epoch, until
        if self._held_since is None:
            self._held_since = now
        return True

    def release(self, epoch: int, now: float) -> bool:
        """End the hold. False: stale, a newer epoch holds."""
        self._settle(now)
        if self.paused(now) and epoch < self.epoch:
            return False
        self.epoch, self.until = epoch, 0.0
        self._count(now)
        return True

    def paused(self, now: float) -> bool:
        return now < self.until

    def remaining(self, now: float) -> float:
        """Seconds until the hold runs out; 0 when there is none."""
        return max(0.0, self.until - now)

    def fraction(self, now: float) -> float:
        """Share of time paused since the start."""
        self._settle(now)
        current = now - self._held_since if self._held_since is not None else 0.0
        return (self._held + current) / max(now - self.started, 1e-9)

    def _settle(self, now: float) -> None:
        """A hold that ran out in the meantime counts up to its end."""
        if self._held_since is not None and not self.paused(now):
            self._count(min(now, max(self.until, self._held_since)))

    def _count(self, now: float) -> None:
        if self._held_since is not None:
            self._held += now - self._held_since
            self._held_since = None
