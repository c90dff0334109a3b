"""Priors of tactics, from the samples of a policy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from common.protocol.messages import SampledTactic

TEMPERATURE = 200.0
"""τ of AlphaProof's pseudocode. It is so high that sample counts decide, and log-probabilities hardly matter."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A distinct tactic and its prior mass. The search normalises the masses over the legal tactics of a state."""

    tactic: str
    mass: float
    log_probability: float | None = None
    """Log-probability of the tactic's text under the policy; None: the policy has none."""
    source: str = ""
    """The parts of a mixture that propose it, joined by `+`; empty: the policy is not a mixture."""


def ranked(tactics: Sequence[str]) -> list[Proposal]:
    """Proposals from an ordered list of distinct tactics. Prior mass falls from 1 to 1/2, so the order breaks ties."""
    return [Proposal(tactic, 1.0 - 0.5 * rank / len(tactics)) for rank, tactic in enumerate(tactics)]


def merge_samples(samples: Iterable[SampledTactic], temperature: float = TEMPERATURE) -> list[Proposal]:
    """The distinct tactics of the samples, in order of first occurrence, with their prior masses.

    mass(a) = Σ exp(log p_i / τ) over the samples i equal to a, which is count(a) · exp(Σ_tokens log p / τ)
    (AlphaProof, pseudocode; τ = `temperature`). Incomplete and blank samples are dropped.
    """
    mass: dict[str, float] = {}
    log_probability: dict[str, float] = {}
    for sample in samples:
        tactic = sample.tactic.strip()
        if sample.complete and tactic:
            mass[tactic] = mass.get(tactic, 0.0) + math.exp(sample.log_probability / temperature)
            log_probability[tactic] = max(log_probability.get(tactic, -math.inf), sample.log_probability)
    return [Proposal(tactic, total, log_probability[tactic]) for tactic, total in mass.items()]


def log_probabilities(proposals: Sequence[Proposal]) -> list[float]:
    """The log-probability of each proposal. If any is missing, the logarithms of the normalised priors, for all
    proposals: the two kinds cannot be compared within one state."""
    from_policy = [proposal.log_probability for proposal in proposals if proposal.log_probability is not None]
    if len(from_policy) == len(proposals):
        return from_policy
    total = sum(proposal.mass for proposal in proposals)
    return [math.log(proposal.mass / total) if proposal.mass > 0 else -math.inf for proposal in proposals]
