"""How the demo divides its time on this machine: pure, from how much work the machine does (`common.pace`).

The recipe's times are for two idle cores. A slower machine gets longer, up to half an hour, and shorter searches in its
evaluations once those would take most of it. Reinforcement learning itself goes on until it has found and trained
enough (`[learner.plan] transitions`, `training_steps`), so a machine that becomes slower meanwhile is not a loss.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

LONGEST = 28.0
"""Minutes of the whole run at most, on any machine; stopping takes a little more."""

FAST_ENOUGH = 0.85
"""Share of the reference's work from which on the recipe's times hold."""

EVALUATION = 42.0
"""Seconds that the recipe's evaluation takes on the reference."""

LONGEST_EVALUATION = 110.0
"""Seconds of an evaluation from which on its searches become shorter."""

FEWEST_SIMULATIONS = 6

BUSY_SHARE = 0.75
"""A core that does less than this of a reference core's work is slow, or does something else as well."""


@dataclass(frozen=True)
class DemoPlan:
    """What the demo does with its time."""

    limit_minutes: float
    """The whole run ends within so many."""
    simulations: int
    """Of each search of the evaluations."""
    words: str
    """What to tell the person who waits."""


def divide(share: float, cores: int, recipe: dict[str, Any]) -> DemoPlan:
    """The plan for a machine that does this share of the reference's work with so many cores."""
    learner = recipe.get("learner", {})
    limit = float(learner.get("plan", {}).get("limit_minutes", LONGEST))
    simulations = int(learner.get("evaluation", {}).get("simulations", 16))
    machine = f"{cores} core{'s' if cores > 1 else ''} with {share:.0%} of the power of two idle ones"
    if share >= FAST_ENOUGH:
        return DemoPlan(limit, simulations, f"{machine}: all ends within {limit + 1:.0f} minutes")
    longer = min(LONGEST, max(limit, limit / max(share, 0.01)))
    expected = EVALUATION / max(share, 0.01)
    fewer = max(FEWEST_SIMULATIONS, min(simulations, int(simulations * LONGEST_EVALUATION / expected)))
    words = f"{machine}: this takes up to {longer + 1:.0f} minutes in place of {limit + 1:.0f}"
    if share < BUSY_SHARE * cores / 2:
        words += " (other programs are busy, or the cores are slow)"
    if fewer < simulations:
        words += f"; evaluations with {fewer} simulations in place of {simulations}"
    if longer / max(limit / max(share, 0.01), 1e-9) < 0.8:
        words += ". That is too little for all of it: expect a smaller gain"
    return DemoPlan(longer, fewer, words)
