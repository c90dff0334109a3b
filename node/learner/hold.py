"""The learner's hold on the compute, as a state machine: no clock, no I/O. Times are Unix seconds.

It is taken for an epoch, renewed while the trainer works, released at the end. A learner that cannot renew it must stop
using the compute before it runs out, because then inference goes on.
"""

from __future__ import annotations

from dataclasses import dataclass

from common.messages import PauseHold

LENGTH = 15.0
"""Seconds of a hold: how long inference stands still when a learner dies."""

RENEW_EVERY = LENGTH / 3
"""Two renewals may fail before the hold runs out."""


@dataclass
class Hold:
    """One learner's hold. `epoch` counts up over the run, also over learners (`seen`)."""

    epoch: int = 0
    until: float = 0.0

    def seen(self, state: PauseHold | None) -> None:
        """What the bucket says at start: epochs go on from there."""
        if state is not None:
            self.epoch = max(self.epoch, state.epoch)

    def take(self, now: float) -> PauseHold:
        """Begin a new epoch."""
        self.epoch += 1
        return self.renew(now)

    def renew(self, now: float) -> PauseHold:
        """The state to publish. Call `confirmed` when the broker has it."""
        return PauseHold(epoch=self.epoch, until=now + LENGTH)

    def confirmed(self, state: PauseHold) -> None:
        """The broker has this state: the compute is ours until it runs out."""
        if state.epoch == self.epoch:
            self.until = state.until

    def release(self) -> PauseHold:
        """End the epoch."""
        self.until = 0.0
        return PauseHold(epoch=self.epoch, until=0.0)

    def ours(self, now: float, margin: float = 2.0) -> bool:
        """True while the compute may be used for at least `margin` seconds more."""
        return now + margin < self.until
