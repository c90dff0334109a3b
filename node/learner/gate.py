"""Keeps damage from the mesh: weights are published unless they know much less than the best before them.

What is measured is how often K samples would contain the right tactic, on transitions that are never trained on: of the
warm start's held-out theorems, and of proofs that search has found since (`Replay.held_out`). Both count half. It costs
one forward pass over a few hundred transitions, where a comparison by search would cost minutes.

This sees damage, not progress. A policy that proves twice as many theorems, in ways of its own, has lost up to a tenth
of these chances; one that ten large steps have damaged, a third (LOG.md, Learning on any machine).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from common.limits import Natural, Share
from node.learner.replay.replay import Ref


@dataclass
class GateSettings:
    """What is measured before weights are published."""

    transitions: Annotated[int, Meta(ge=0, le=10_000)] = 192
    """Held-out transitions of each kind that are measured: of the warm start, and of what search has found; 0 publishes
    without a measurement."""
    loss: Share = 0.15
    """Weights that have lost a larger share of the mean chance are held back, and trained on."""
    least: Natural = 24
    """Held-out transitions of a kind from which on it counts."""


Chances = Mapping[Ref, float]
"""By transition: the chance that K samples contain its tactic."""


@dataclass(frozen=True)
class Comparison:
    """Weights that may be published beside the best ones so far, on the same transitions."""

    best: float
    """Mean chance under the best weights; each kind of transitions counts the same."""
    candidate: float
    error: float
    """Standard error of the difference, transition by transition."""
    compared: int
    """Transitions."""

    def is_damage(self, loss: float) -> bool:
        """The candidate has lost more than this share of the best weights' chance, beyond a standard error."""
        return self.candidate + self.error < self.best * (1 - loss)


def chance(log_probability: float, samples: int) -> float:
    """Of a tactic to be among so many samples: 1 - (1 - p)^K."""
    return -math.expm1(samples * math.log1p(-min(math.exp(log_probability), 1 - 1e-9)))


def compare(best: Chances, candidate: Chances, kinds: Sequence[Sequence[Ref]], least: int) -> Comparison | None:
    """The two on the transitions that both were measured on. Kinds with fewer than `least` of them do not count; None:
    none is left."""
    both = [[ref for ref in kind if ref in best and ref in candidate] for kind in kinds]
    counted = [kind for kind in both if len(kind) >= max(2, least)]
    if not counted:
        return None
    error = 0.0
    for kind in counted:
        error += statistics.variance(candidate[ref] - best[ref] for ref in kind) / len(kind)
    return Comparison(
        statistics.fmean(statistics.fmean(best[ref] for ref in kind) for kind in counted),
        statistics.fmean(statistics.fmean(candidate[ref] for ref in kind) for kind in counted),
        math.sqrt(error) / len(counted),
        sum(map(len, counted)),
    )
