"""A mixture of policies: proposes the tactics of all parts. Each part has its share of the prior mass."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from common.bus import BusError
from node.prover.policies.policy import Advice, BadAdvice, Policy, Proposal, StateTooLong


@dataclass(frozen=True)
class Part:
    """One policy of a mixture."""

    policy: Policy
    share: float = 1.0
    """Share of the prior mass, relative to the other parts' shares; 0: only its values are used."""
    has_values: bool = False
    """Whether its values are learned. Values of other policies are heuristics that only order states."""
    name: str = ""
    """Its name in results."""
    turn: int = 0
    """Index of its search, if several searches take turns."""


class MixturePolicy:
    """Asks all its parts concurrently."""

    def __init__(self, parts: Sequence[Part], *, strict: bool = False) -> None:
        """The value comes from the first part with learned values, or else from the first part.

        A part that fails is left out of the advice, unless all parts that propose tactics fail. `strict`: one failed
        part makes the whole advice fail, because an evaluation must not go on silently without its network.
        """
        self.parts = tuple(sorted(parts, key=lambda part: not part.has_values))
        self.strict = strict

    async def advise(self, state: str, samples: int, seed: int) -> Advice:
        """The proposals of all parts; exhausted if all parts are. Raises the error of the first failed part, if all
        fail or `strict` is set."""
        replies = await asyncio.gather(*(_ask(part, state, samples, seed) for part in self.parts))
        too_long = [reply for reply in replies if isinstance(reply, StateTooLong)]
        # A state that is too long for some parts only is no failure: these parts propose nothing there.
        if len(too_long) < sum(part.share > 0 for part in self.parts):
            replies = [reply.advice() if isinstance(reply, StateTooLong) else reply for reply in replies]
        advices = [(part, reply) for part, reply in zip(self.parts, replies, strict=True) if isinstance(reply, Advice)]
        if not any(part.share for part, _ in advices) or (self.strict and len(advices) < len(replies)):
            raise next(reply for reply in replies if isinstance(reply, Exception))
        return mixed(advices)


async def _ask(part: Part, state: str, samples: int, seed: int) -> Advice | BusError | BadAdvice:
    try:
        return await part.policy.advise(state, samples if part.share else 1, seed)
    except (BusError, BadAdvice) as error:
        return error


def mixed(advices: Sequence[tuple[Part, Advice]]) -> Advice:
    """Combine the advice of several parts: the value of the first, and the sum of all samples.

    The masses of a part sum to its normalised share among the parts that propose something. A tactic of two parts gets
    the sum of both masses.
    """
    mass: dict[str, float] = {}
    sources: dict[str, list[str]] = {}
    proposing = [(part, advice) for part, advice in advices if part.share > 0]
    shares = sum(part.share for part, advice in proposing if advice.proposals)
    for part, advice in proposing:
        total = sum(proposal.mass for proposal in advice.proposals)
        for proposal in advice.proposals:
            portion = proposal.mass / total * part.share / shares
            mass[proposal.tactic] = mass.get(proposal.tactic, 0.0) + portion
            if source := proposal.source or part.name:
                sources.setdefault(proposal.tactic, []).append(source)
    tokens = [advice.tokens for _, advice in advices if advice.tokens is not None]
    # Log-probabilities of different policies cannot be compared: keep them only if one part replied.
    alone = {each.tactic: each.log_probability for each in advices[0][1].proposals} if len(advices) == 1 else {}
    proposals = [
        Proposal(tactic, portion, alone.get(tactic), source="+".join(sources.get(tactic, ())))
        for tactic, portion in mass.items()
    ]
    return Advice(
        proposals,
        advices[0][1].value,
        exhausted=all(advice.exhausted for _, advice in proposing),
        weights=max(advice.weights for _, advice in advices),
        samples=sum(advice.drawn for _, advice in advices),
        tokens=sum(tokens) if tokens else None,
    )
