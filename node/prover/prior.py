"""Prior mass of tactics from the samples of a policy."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from common.messages import SampledTactic

TEMPERATURE = 200.0
"""τ of AlphaProof's pseudocode: log-probabilities of whole tactics hardly matter, sample counts do."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A distinct tactic and its prior mass, not normalised: the search normalises over the legal tactics of a state."""

    tactic: str
    mass: float


def merge_samples(samples: Iterable[SampledTactic], temperature: float = TEMPERATURE) -> list[Proposal]:
    """Distinct tactics in order of their first sample; duplicates add up, incomplete and blank samples are dropped.

    mass(a) = Σ over the samples i that gave a of exp(log p_i / τ), which is count(a) · exp(Σ_tokens log p / τ)
    (AlphaProof, pseudocode; τ = `temperature`).
    """
    mass: dict[str, float] = {}
    for sample in samples:
        tactic = sample.tactic.strip()
        if sample.complete and tactic:
            mass[tactic] = mass.get(tactic, 0.0) + math.exp(sample.log_probability / temperature)
    return [Proposal(tactic, total) for tactic, total in mass.items()]
