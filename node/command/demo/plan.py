"""Plans the demo for the speed of this machine (`common.pace`), and tells the user the expected time. Pure.

Reinforcement learning goes on until it reaches `[learner.plan] transitions` and `training_steps`, so it takes longer on
a slow machine. Only the budget of the evaluations' searches must be planned, since it must be the same before and after
learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FAST_ENOUGH = 0.85
"""Share of the reference's speed from which the plan needs no warnings."""

WARM_START = 2.9
"""Minutes on any machine: its time is limited (`[learner.warm_start] seconds`); a slow machine does fewer steps."""

EVALUATION = 0.7
"""Minutes of the recipe's evaluation on the reference machine."""

LEARNING = 4.0
"""Minutes until the reference machine reaches the recipe's numbers of transitions and training steps."""

CLOSING = 0.5

LONGEST_EVALUATION = 1.9
"""Most minutes of an evaluation; beyond this, its searches get fewer simulations."""

FEWEST_SIMULATIONS = 6


@dataclass(frozen=True)
class DemoPlan:
    """The plan of a demo run."""

    simulations: int
    """Simulations of each search of the evaluations."""
    words: str
    """A line about the expected time, for the user."""


def plan_for(share: float, cores: int, recipe: dict[str, Any]) -> DemoPlan:
    """The plan for a machine with `cores` cores and this share of the reference's speed."""
    learner = recipe.get("learner", {})
    plan, simulations = learner.get("plan", {}), int(learner.get("evaluation", {}).get("simulations", 16))
    limit, minutes = float(plan.get("limit_minutes", 28.0)), float(plan.get("minutes", 7.0))
    share = max(share, 0.01)
    fewer = min(simulations, max(FEWEST_SIMULATIONS, int(simulations * LONGEST_EVALUATION * share / EVALUATION)))
    evaluations = 2 * EVALUATION / share * fewer / simulations
    expected = WARM_START + evaluations + max(minutes, LEARNING / share) + CLOSING
    words = f"{cores} core{'s' if cores > 1 else ''} with {share:.0%} of the power of two idle ones: "
    if share >= FAST_ENOUGH:
        return DemoPlan(simulations, f"{words}this takes about {expected:.0f} minutes")
    words += f"this takes about {min(expected, limit):.0f} minutes, at most {limit + 1:.0f}"
    if fewer < simulations:
        words += f", and its evaluations search with {fewer} simulations in place of {simulations}"
    if expected > limit:
        words += ". That is too little time for all of it: expect a smaller gain"
    return DemoPlan(fewer, words)
