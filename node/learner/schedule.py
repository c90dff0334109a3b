"""When to train, and for how many steps: pure, from what has been collected and how much of the time was paused."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class ScheduleSettings:
    """Collecting alternates with training, which holds the compute."""

    fresh: int = 200
    """Transitions that are new to the replay buffer, after which training starts."""
    patience: float = 30.0
    """Seconds after which it starts with fewer (at least one)."""
    reuse: float = 12.0
    """Times that a transition is trained on, on average, over its life: steps = fresh * reuse / batch."""
    steps_limit: int = 40
    """Most steps of one training phase: bounds how long inference waits."""
    pause_budget: float = 0.3
    """Largest share of the time of reinforcement learning in which inference may be paused."""
    checkpoint_every: int = 100
    """Steps between checkpoints, besides those at the end of a phase (the pseudocode's 1,000 are for larger
    batches)."""


@dataclass
class Pauses:
    """The share of time paused. Times are seconds of reinforcement learning."""

    paused: float = 0.0
    total: float = 0.0

    @property
    def fraction(self) -> float:
        return self.paused / self.total if self.total > 0 else 0.0


def steps_due(settings: ScheduleSettings, batch: int, fresh: int, waited: float, pauses: Pauses) -> int:
    """Steps to train now; 0: go on collecting.

    `fresh`: transitions not yet trained on; `waited`: seconds since the last training phase.
    """
    enough = fresh >= settings.fresh or (fresh > 0 and waited >= settings.patience)
    if not enough or pauses.fraction > settings.pause_budget:
        return 0
    return max(1, min(settings.steps_limit, round(fresh * settings.reuse / batch)))


def wanted_outstanding(slots: int, ahead: float = 1.5, least: int = 4) -> int:
    """Attempts to keep outstanding for provers with so many free-or-busy slots in all: enough that none waits, and
    few that were chosen before the latest outcomes were known. `least` is there for the first prover that comes."""
    return max(least, round(slots * ahead))
