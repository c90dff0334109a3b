"""Keeps harm from the mesh: weights are published only if they are not worse, beyond noise, than the best before them.

What is measured is how often K samples would contain the right tactic, on transitions that are never trained on: of the
warm start's held-out theorems, and of proofs that search has found since (`Replay.held_out`). Both count half, so what
was known cannot be forgotten for what is new, nor the other way round. It costs one forward pass over a few hundred
transitions, where a comparison by search would cost minutes.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from common.limits import Natural
from node.learner.replay.replay import Ref

TOLERANCE = 0.5
"""Standard errors below zero from which a difference counts as harm. So a third of equal weights are held back, which
costs little: they are trained on, and measured again after the next training phase."""


@dataclass
class GateSettings:
    """What is measured before weights are published."""

    transitions: Natural = 192
    """Held-out transitions of each kind that are measured: of the warm start, and of what search has found; 0 publishes
    without a measurement."""
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

    @property
    def harmful(self) -> bool:
        """The candidate is worse beyond noise."""
        return self.candidate - self.best < -TOLERANCE * self.error


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
