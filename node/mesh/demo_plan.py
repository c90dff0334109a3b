"""What the demo does on this machine, and what it tells the person who waits: pure, from how much work the machine does
(`common.pace`).

Reinforcement learning goes on until it has found and trained enough (`[learner.plan] transitions`, `training_steps`),
so a slower machine takes longer, and one that becomes slower meanwhile, too. What has to be chosen before is how long
the searches of the evaluations are: they must be the same before and after.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FAST_ENOUGH = 0.85
"""Share of the reference's work from which on nothing is said of the machine."""

WARM_START = 2.9
"""Minutes on any machine: its time is limited (`[learner.warm_start] seconds`), and a slow machine does less in it."""

EVALUATION = 0.7
"""Minutes that the recipe's evaluation takes on the reference."""

LEARNING = 4.0
"""Minutes after which the reference has found and trained what the recipe asks for."""

CLOSING = 0.5

LONGEST_EVALUATION = 1.9
"""Minutes of an evaluation from which on its searches become shorter."""

FEWEST_SIMULATIONS = 6


@dataclass(frozen=True)
class DemoPlan:
    """What the demo does with its time."""

    simulations: int
    """Of each search of the evaluations."""
    words: str
    """What to tell the person who waits."""


def plan_for(share: float, cores: int, recipe: dict[str, Any]) -> DemoPlan:
    """The plan for a machine that does this share of the reference's work with so many cores."""
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
        words += ". That is too little for all of it: expect a smaller gain"
    return DemoPlan(fewer, words)
