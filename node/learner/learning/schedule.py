"""Decides when to train and for how many steps, from the collected transitions and the training time so far. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from common.limits import Duration, Factor, Positive, Share


@dataclass
class ScheduleSettings:
    """When to train, and for how long. Collecting goes on during training unless `pause` stops it."""

    fresh: Positive = 200
    """Transitions new to the replay buffer after which training starts; it starts earlier if `steps_limit` steps are
    due."""
    patience: Duration = 30.0
    """Seconds after which training starts with fewer new transitions."""
    reuse: Factor = 12.0
    """How often a transition is trained on, on average: steps = transitions * reuse / batch."""
    steps_limit: Positive = 40
    """Most steps of one training phase: bounds how long inference is paused or uses old weights."""
    pause: Literal["auto", "always", "never"] = "auto"
    """Whether inference pauses while the trainer works. `auto`: only nodes whose GPU the trainer uses, and as long as
    `pause_budget` lasts; else both go on, and the GPU or the operating system divides the work."""
    pause_budget: Share = 0.1
    """Largest share of the time of reinforcement learning in which inference may be paused. Beyond it the trainer waits
    (`always`), or works beside inference (`auto`)."""
    training_budget: Share = 1.0
    """Without pauses: largest share of that time in which the trainer may work, beside search. It is one process of
    many, so the operating system gives it its part of the cores."""
    checkpoint_every: Positive = 100
    """Steps between checkpoints, besides those at the end of a phase (the pseudocode's 1,000 are for larger
    batches)."""


@dataclass
class TrainingTime:
    """How long the trainer has worked, and how long a step takes. Times are seconds of reinforcement learning."""

    worked: float = 0.0
    paused: float = 0.0
    """Part of `worked` in which inference was paused."""
    total: float = 0.0
    """Seconds of reinforcement learning so far."""
    per_step: float = 0.0
    """Seconds of a step in the latest training phase, without the overhead of the phase; 0: not known yet."""

    @property
    def paused_share(self) -> float:
        return self.paused / self.total if self.total > 0 else 0.0

    @property
    def share(self) -> float:
        return self.worked / self.total if self.total > 0 else 0.0

    def saw(self, seconds: float, stepping: float, steps: int, *, paused: bool) -> None:
        """Count a training phase that took `seconds`, of which its steps took `stepping`."""
        self.worked += seconds
        self.total += seconds
        if paused:
            self.paused += seconds
        if steps:
            self.per_step = stepping / steps

    def affordable(self, budget: float) -> int | None:
        """Steps after which the trainer's share of the time equals `budget` (below 1); None: not known yet.

        worked + n·s <= budget · (total + n·s), solved for n.
        """
        if self.per_step <= 0:
            return None
        return int((budget * self.total - self.worked) / ((1 - budget) * self.per_step))


PROBE_STEPS = 4
"""Steps of the first training phase, which measures how long a step takes."""


def steps_owed(settings: ScheduleSettings, batch: int, transitions: int, steps: int) -> int:
    """Steps that remain until the transitions are trained on `reuse` times on average, after `steps` steps."""
    return max(0, round(transitions * settings.reuse / batch) - steps)


def steps_due(
    settings: ScheduleSettings, batch: int, owed: int, waited: float, time: TrainingTime, budget: float
) -> int:
    """Steps to train now; 0: go on collecting.

    `owed`: remaining steps for the transitions collected so far; `waited`: seconds since the last training phase;
    `budget`: largest share of the time for the trainer.
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
    # The overhead of a phase (parking, new weights) does not depend on its steps, so a few affordable steps wait.
    return min(due, affordable) if affordable >= min(due, settings.steps_limit // 2) else 0


def rate_factor(first: float, share_done: float | None) -> float:
    """Factor of the learning rates after the warm start: falls linearly from `first` to a tenth of it.

    `share_done`: share of reinforcement learning (or its control) that is done; None: it has no end, so no decay.
    """
    return first if share_done is None else first * (1 - 0.9 * min(1.0, max(0.0, share_done)))
