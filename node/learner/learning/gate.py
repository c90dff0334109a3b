"""The gate before publishing: compares new weights with the best earlier ones, and rejects clearly worse ones.

The measure is the chance that K samples contain the right tactic, on held-out transitions. They come from the held-out
theorems of the warm start, and from proofs that search has found since (`Replay.held_out`). Both kinds count half. The
measurement costs one forward pass over a few hundred transitions; a comparison by search would take minutes.

The gate detects damage, not progress. A policy that proves twice as many theorems, with other tactics, may lose up to a
tenth of these chances. A policy damaged by ten large steps loses a third (LOG.md, Learning on any machine).
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from common.limits import Natural, Share
from common.records.transitions import Ref


@dataclass
class GateSettings:
    """How weights are checked before they are published."""

    transitions: Annotated[int, Meta(ge=0, le=10_000)] = 192
    """Number of held-out transitions measured of each kind: of the warm start, and of proofs found by search; 0
    publishes without a measurement."""
    loss: Share = 0.15
    """Weights that have lost a larger share of the mean chance are not published; training continues from them."""
    least: Natural = 24
    """A kind of held-out transitions counts only from this number on."""


Chances = Mapping[Ref, float]
"""For each transition the chance that K samples contain its tactic."""


@dataclass(frozen=True)
class Comparison:
    """Candidate weights compared with the best published weights, on the same transitions."""

    best: float
    """Mean chance under the best weights; each kind of transitions counts the same."""
    candidate: float
    """Mean chance under the candidate weights."""
    error: float
    """Standard error of the difference, paired by transition."""
    compared: int
    """Number of compared transitions."""

    def is_damage(self, loss: float) -> bool:
        """True if the candidate, plus one standard error, has lost more than this share of the best weights' chance."""
        return self.candidate + self.error < self.best * (1 - loss)


def chance(log_probability: float, samples: int) -> float:
    """The chance that a tactic is among K samples: 1 - (1 - p)^K."""
    return -math.expm1(samples * math.log1p(-min(math.exp(log_probability), 1 - 1e-9)))


def compare(best: Chances, candidate: Chances, kinds: Sequence[Sequence[Ref]], least: int) -> Comparison | None:
    """Compare two weights on the transitions that both were measured on. Kinds with fewer than `least` such transitions
    are ignored. Returns None if no kind remains."""
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
