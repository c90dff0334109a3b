"""When to train, and for how many steps: pure, from what has been collected and how long the trainer has worked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common.limits import Duration, Factor, Positive, Share


@dataclass
class ScheduleSettings:
    """When to train, and how long at once. Collecting goes on meanwhile unless `pause` says otherwise."""

    fresh: Positive = 200
    """Transitions that are new to the replay buffer, after which training starts; earlier where a phase is full."""
    patience: Duration = 30.0
    """Seconds after which it starts with fewer."""
    reuse: Factor = 12.0
    """Times that a transition is trained on, on average, over its life: steps = transitions * reuse / batch."""
    steps_limit: Positive = 40
    """Most steps of one training phase: bounds how long inference waits, or acts with old weights."""
    pause: Literal["auto", "always", "never"] = "auto"
    """Whether inference stands still while the trainer works. `auto`: only where the trainer has GPUs, which inference
    may share; on a CPU both go on, and the system divides the cores."""
    pause_budget: Share = 0.1
    """Largest share of the time of reinforcement learning in which inference may be paused."""
    training_budget: Share = 1.0
    """Where nothing is paused: largest share of that time in which the trainer may work, beside search. It is one
    process of many, so the system gives it its part of the cores."""
    checkpoint_every: Positive = 100
    """Steps between checkpoints, besides those at the end of a phase (the pseudocode's 1,000 are for larger
    batches)."""


@dataclass
class TrainingTime:
    """How long the trainer has worked, and how long steps take. Times are seconds of reinforcement learning."""

    worked: float = 0.0
    paused: float = 0.0
    """Of these, seconds in which inference stood still."""
    total: float = 0.0
    per_step: float = 0.0
    """Seconds of a step, as the latest training phase showed; 0: not known yet. What a phase costs besides is not in
    it."""

    @property
    def paused_share(self) -> float:
        return self.paused / self.total if self.total > 0 else 0.0

    @property
    def share(self) -> float:
        return self.worked / self.total if self.total > 0 else 0.0

    def saw(self, seconds: float, stepping: float, steps: int, *, paused: bool) -> None:
        """A training phase took `seconds`, of which its steps `stepping`. Time goes on meanwhile."""
        self.worked += seconds
        self.total += seconds
        if paused:
            self.paused += seconds
        if steps:
            self.per_step = stepping / steps

    def affordable(self, budget: float) -> int | None:
        """Steps after which the trainer's share is the budget, which is below 1; None: not known yet.

        worked + n·s <= budget · (total + n·s), solved for n.
        """
        if self.per_step <= 0:
            return None
        return int((budget * self.total - self.worked) / ((1 - budget) * self.per_step))


PROBE_STEPS = 4
"""Steps of the first training phase, which shows how long a step takes."""


def steps_owed(settings: ScheduleSettings, batch: int, transitions: int, steps: int) -> int:
    """Steps until each of so many transitions has been trained on as often as it should, `steps` having been taken."""
    return max(0, round(transitions * settings.reuse / batch) - steps)


def steps_due(
    settings: ScheduleSettings, batch: int, owed: int, waited: float, time: TrainingTime, budget: float
) -> int:
    """Steps to train now; 0: go on collecting.

    `owed`: steps for what has been collected so far; `waited`: seconds since the last training phase; `budget`: largest
    share of the time for the trainer.
    """
    enough = owed >= min(settings.steps_limit, settings.fresh * settings.reuse / batch)
    if not owed or not (enough or waited >= settings.patience) or time.share > budget:
        return 0
    due = min(settings.steps_limit, owed)
    if budget >= 1:
        return due
    affordable = time.affordable(budget)
    if affordable is None:
        return min(due, PROBE_STEPS)
    # A phase costs the same for few steps as for many (parking, new weights), so a small part of what is due waits.
    return min(due, affordable) if affordable >= min(due, settings.steps_limit // 2) else 0


def rate_factor(first: float, share_done: float | None) -> float:
    """Learning rates after the warm start, relative to its own: from `first` linearly down to a tenth of that.

    `share_done`: of reinforcement learning (or its control), by time or steps; None: no end in sight, no decay.
    """
    return first if share_done is None else first * (1 - 0.9 * min(1.0, max(0.0, share_done)))


def wanted_outstanding(slots: int, ahead: float = 1.5, least: int = 4) -> int:
    """Attempts to keep outstanding for provers with so many free-or-busy slots in all: enough that none waits, and
    few that were chosen before the latest outcomes were known. `least` is there for the first prover that comes."""
    return max(least, round(slots * ahead))
