"""The phases of a run, as a pure state machine: from the progress and the plan it derives the next phase.

    warm-start -> evaluate-before -> rl (or control) -> evaluate-after -> done

A plan may leave out the evaluations, or have no end (`minutes` None). Times are seconds in which the run was running,
over all its processes: a run that is stopped and started again continues where it was.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from common.limits import Duration, Natural

WARM_START = "warm-start"
EVALUATE_BEFORE = "evaluate-before"
REPEAT_BEFORE = "repeat-before"
RL = "rl"
CONTROL = "control"
EVALUATE_AFTER = "evaluate-after"
DONE = "done"

EVALUATIONS = {EVALUATE_BEFORE: "before", REPEAT_BEFORE: "before-again", EVALUATE_AFTER: "after"}
"""Phases that evaluate, with the labels of their evaluations."""


@dataclass
class PlanSettings:
    """The phases of the run and when they end."""

    evaluate: bool = False
    """Evaluate on test statements before and after, and end the run with a summary."""
    repeat: bool = False
    """Evaluate twice before learning, to measure the noise."""
    minutes: Duration | None = None
    """Minutes of reinforcement learning; none: no end."""
    expansions: Natural = 0
    """End reinforcement learning once its attempts have expanded so many states, whatever the machine's speed; 0: no
    such end."""
    until_decided: bool = False
    """End reinforcement learning earlier if every train statement is proved or disproved."""
    transitions: Natural = 0
    """If `limit_minutes` is set: go on beyond `minutes` until this many transitions are found, for slow machines."""
    training_steps: Natural = 0
    """The same, for the number of training steps."""
    control_steps: Natural | None = None
    """Supervised steps in place of reinforcement learning."""
    limit_minutes: Duration | None = None
    """Minutes in which the whole run must end; reinforcement learning is cut short for it."""

    @property
    def limit(self) -> float | None:
        """Seconds in which the whole run must end."""
        return self.limit_minutes * 60 if self.limit_minutes is not None else None


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    phase: str = WARM_START
    worked: float = 0.0
    """Seconds in all phases."""
    learned: float = 0.0
    """Seconds of reinforcement learning."""
    evaluation: float = 0.0
    """Seconds that the first evaluation took; the last one will take about as long."""
    steps: int = 0
    """Steps of the control."""
    transitions: int = 0
    """Transitions found by reinforcement learning."""
    training_steps: int = 0
    """Training steps of reinforcement learning."""
    expansions: int = 0
    """Expansions of its recorded attempts."""
    undecided: int | None = None
    """Train theorems that are neither proved nor disproved nor refused; None: not counted."""


EVALUATION_MARGIN = 1.25
"""Time reserved for the evaluation after learning, relative to the one before: it tries longer proofs."""

GOAL_TURN = 5.0
"""Seconds that `learning_left` returns when the minutes are over and a goal is not reached: the time until then is
unknown."""

CLOSING = 20.0
"""Seconds reserved for publishing the last weights, for stopping and for the summary."""


def tick(progress: Progress, seconds: float) -> Progress:
    """Add time to the current phase."""
    return replace(
        progress,
        worked=progress.worked + seconds,
        learned=progress.learned + (seconds if progress.phase == RL else 0.0),
        evaluation=progress.evaluation + (seconds if progress.phase == EVALUATE_BEFORE else 0.0),
    )


def finished(progress: Progress, plan: PlanSettings) -> bool:
    """True if reinforcement learning has reached its end by time, by expansions or by decided theorems, or its control
    by steps. The other phases end when their work is done (`advance`)."""
    if progress.phase == RL:
        if plan.expansions and progress.expansions >= plan.expansions:
            return True
        if plan.until_decided and progress.undecided == 0:
            return True
        left = learning_left(progress, plan)
        return left is not None and left <= 0
    return progress.phase == CONTROL and progress.steps >= (plan.control_steps or 0)


def learning_left(progress: Progress, plan: PlanSettings) -> float | None:
    """Least remaining seconds of reinforcement learning; None: no end."""
    limits = [left for left in (minutes_left(progress, plan), limit_left(progress, plan)) if left is not None]
    if not limits:
        return None
    if goals_met(progress, plan) < 1:
        limits[0] = max(limits[0], GOAL_TURN)
    return min(limits)


def longest_left(progress: Progress, plan: PlanSettings) -> float | None:
    """Most remaining seconds of reinforcement learning; None: no end."""
    limit = limit_left(progress, plan)
    return limit if limit is not None else minutes_left(progress, plan)


def minutes_left(progress: Progress, plan: PlanSettings) -> float | None:
    """Seconds until the plan's minutes are over."""
    return plan.minutes * 60 - progress.learned if plan.minutes is not None else None


def limit_left(progress: Progress, plan: PlanSettings) -> float | None:
    """Seconds until learning must end, so that the phases after it fit into the limit."""
    if plan.limit is None:
        return None
    after = progress.evaluation * EVALUATION_MARGIN if plan.evaluate else 0.0
    return plan.limit - progress.worked - after - CLOSING


def goals_met(progress: Progress, plan: PlanSettings) -> float:
    """Share of the goals that is reached, from 0 to 1. It is 1 without goals, and without a limit, because goals only
    count under a limit."""
    if plan.limit is None or plan.minutes is None:
        return 1.0
    shares = [1.0]
    if plan.transitions:
        shares.append(progress.transitions / plan.transitions)
    if plan.training_steps:
        shares.append(progress.training_steps / plan.training_steps)
    return min(shares)


def share_done(progress: Progress, plan: PlanSettings) -> float | None:
    """Share of reinforcement learning, or of its control, that is done, from 0 to 1; None: it has no end.

    It is the smaller of the share of the minutes and the share of the goals, but at least the share of the limit and
    that of the expansions.
    """
    if plan.control_steps is not None:
        return progress.steps / plan.control_steps if plan.control_steps else 1.0
    by_minutes = share_of_time(progress.learned, minutes_left(progress, plan))
    by_limit = share_of_time(progress.learned, limit_left(progress, plan))
    if by_minutes is not None:
        by_minutes = min(by_minutes, goals_met(progress, plan))
    by_expansions = progress.expansions / plan.expansions if plan.expansions else None
    shares = [share for share in (by_minutes, by_limit, by_expansions) if share is not None]
    return min(1.0, max(shares)) if shares else None


def share_of_time(passed: float, left: float | None) -> float | None:
    """Share of a time that has passed; None: it has no end."""
    return None if left is None else passed / max(passed + max(left, 0.0), 1e-9)


def advance(progress: Progress, plan: PlanSettings) -> Progress:
    """The next phase."""
    order = [WARM_START]
    if plan.evaluate:
        order += [EVALUATE_BEFORE, REPEAT_BEFORE] if plan.repeat else [EVALUATE_BEFORE]
    order.append(RL if plan.control_steps is None else CONTROL)
    if plan.evaluate:
        order.append(EVALUATE_AFTER)
    order.append(DONE)
    place = order.index(progress.phase) if progress.phase in order else 0
    return replace(progress, phase=order[min(place + 1, len(order) - 1)])
