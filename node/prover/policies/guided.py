"""Adds a progress model to a policy: its predicted remaining steps (LeanProgress, arXiv 2502.17925) give the value of
a state, or rank the tactics of an expansion."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from node.progress.data import question
from node.progress.guidance import Guidance, ProgressError, ProgressSource
from node.prover.policies.names import BadPolicy
from node.prover.policies.policy import Advice, BadAdvice, NoTactics, Policy, Proposal
from node.prover.search.turns import ByTurns, wrapped


@dataclass(frozen=True)
class Guide:
    """A progress model, and the settings of its use."""

    source: ProgressSource
    guidance: Guidance

    @property
    def words(self) -> str:
        """Identifies the guide in records of results: the digest of the weights, and the settings."""
        return f"{self.source.digest} {self.guidance.words}"

    async def open(self) -> None:
        """Load the model. Raises BadPolicy."""
        try:
            await self.source.open()
        except ProgressError as error:
            raise BadPolicy(f"progress: {error}") from error
        except ModuleNotFoundError as error:
            raise BadPolicy(f"progress: needs {error.name}: pip install 'proofmesh[trainers]'") from error


def open_guide(name: str, guidance: Guidance) -> Guide | None:
    """The guide with this progress model; None if `name` is empty. Raises BadPolicy."""
    try:
        return Guide(ProgressSource(name), guidance) if name else None
    except ProgressError as error:
        raise BadPolicy(f"progress: {error}") from error


def with_guide(policy: Policy | ByTurns, guide: Guide | None) -> Policy | ByTurns:
    """The policy with the guide; each policy, if several take turns."""
    if guide is None or isinstance(policy, NoTactics):
        return policy
    return wrapped(policy, lambda each: GuidedPolicy(each, guide))


class GuidedPolicy:
    """`node.prover.policies.policy.Policy` with values and priors from predicted steps."""

    def __init__(self, policy: Policy, guide: Guide) -> None:
        self._policy = policy
        self._source, self._guidance = guide.source, guide.guidance

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """The guided advice. Raises what the policy raises, and BadAdvice if the progress model fails."""
        advice = await self._policy.advise(state, samples, seed)
        use = self._guidance.use
        try:
            if use in ("rank", "both"):
                advice = replace(advice, proposals=await self._ranked(state, advice.proposals))
            if use in ("value", "both"):
                advice = replace(advice, value=await self._value(state, advice))
        except ProgressError as error:
            raise BadAdvice(f"progress: {error}") from error
        return advice

    async def _value(self, state: str, advice: Advice) -> float:
        """V = -steps. If the model predicts steps after tactics only: one plus the fewest steps after any proposal."""
        if self._source.answers_states:
            steps = (await self._source.steps([question(state)]))[0]
        elif advice.proposals:
            steps = 1 + min(await self._after(state, advice.proposals))
        else:
            return advice.value
        share = self._guidance.share
        return -share * max(steps, 1.0) + (1 - share) * advice.value

    async def _ranked(self, state: str, proposals: Sequence[Proposal]) -> list[Proposal]:
        """Multiply each prior mass by exp(-β · (steps - fewest steps)), and sort by mass. Subtracting the fewest steps
        keeps the tactics of a state far from its end comparable with those of other states."""
        if not proposals:
            return []
        steps = await self._after(state, proposals)
        least = min(steps)
        beta = self._guidance.exponent
        ranked = [_weighed(each, beta * (count - least)) for each, count in zip(proposals, steps, strict=True)]
        return sorted(ranked, key=lambda each: -each.mass)

    async def _after(self, state: str, proposals: Sequence[Proposal]) -> list[float]:
        return await self._source.steps([question(state, each.tactic) for each in proposals])


def _weighed(proposal: Proposal, penalty: float) -> Proposal:
    """The proposal with its prior multiplied by exp(-penalty)."""
    log_probability = proposal.log_probability
    return replace(
        proposal,
        mass=proposal.mass * math.exp(-penalty),
        log_probability=None if log_probability is None else log_probability - penalty,
    )
