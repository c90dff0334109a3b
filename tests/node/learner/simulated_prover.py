"""A prover to choose theorems for: hidden difficulties, chances that grow with the budget and with what was learned."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from node.learner.choosing.matchmaker import Matchmaker, MatchmakerSettings
from tests.node.learner.builders import choose


@dataclass(frozen=True)
class Simulated:
    """What a simulated run came to."""

    solved: int
    """Distinct statements."""
    again: int
    """Attempts on statements that had failed before."""
    late: int
    """Distinct statements that failed at first and were solved later."""
    skill: float
    """Of the prover at the end; a statement of this difficulty is proved with chance 1/2 at the first budget."""


LEVELS, SPREAD = 8, 0.7


def simulate(settings: MatchmakerSettings, statements: int, attempts: int, seed: int) -> Simulated:
    """Play attempts one after another. The difficulty of a statement is its level, and a part that nothing tells.

    A statement of difficulty d is proved with chance 1 / (1 + exp(-3 (skill + ln(budget / first budget) - d))), so a
    budget that is 2.7 times as large helps as much as a level. A proof teaches as much as it was unlikely, once a
    statement.
    """
    generator = np.random.default_rng(seed)
    levels = generator.integers(LEVELS, size=statements)
    difficulties = levels + generator.normal(0.0, SPREAD, size=statements)
    names = [f"t{index}" for index in range(statements)]
    matchmaker = Matchmaker(names, settings, seed, groups=[int(level) for level in levels])
    skill, solved, failed, late, again = 0.0, set(), set(), 0, 0
    for number in range(attempts):
        choice = choose(matchmaker, number)
        assert choice is not None
        index = int(choice.theorem_id[1:])
        matchmaker.dispatched(choice.theorem_id)
        again += index in failed
        edge = skill + math.log(choice.simulations / settings.budget) - difficulties[index]
        chance = 1.0 / (1.0 + math.exp(-3.0 * edge))
        proved = not choice.disproof and generator.random() < chance
        if proved and index not in solved:
            solved.add(index)
            late += index in failed
            skill += 0.02 * (1.0 - chance)
        if not proved:
            failed.add(index)
        matchmaker.recorded(choice.theorem_id, choice.disproof, "proved" if proved else "failed")
    return Simulated(len(solved), again, late, skill)
