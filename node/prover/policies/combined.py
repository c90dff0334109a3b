"""Policies made of other policies: mixtures, policies that take turns, exploration, and rules for tactics.

A mixture proposes the tactics of all its parts, each with its share of the prior mass.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from common.bus import BusError
from common.lean import TacticRule
from node.lean.text.rules import tactic_problem
from node.prover.policies.fixed import candidates
from node.prover.policies.goal_tactics import read_goal
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

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """The proposals of all parts; exhausted if all parts are. Raises the error of the first failed part, if all
        fail or `strict` is set."""
        replies = await asyncio.gather(*(_ask(part, state, samples, seed, again) for part in self.parts))
        too_long = [reply for reply in replies if isinstance(reply, StateTooLong)]
        # A state that is too long for some parts only is no failure: these parts propose nothing there.
        if len(too_long) < sum(part.share > 0 for part in self.parts):
            replies = [reply.advice() if isinstance(reply, StateTooLong) else reply for reply in replies]
        advices = [(part, reply) for part, reply in zip(self.parts, replies, strict=True) if isinstance(reply, Advice)]
        if not any(part.share for part, _ in advices) or (self.strict and len(advices) < len(replies)):
            raise next(reply for reply in replies if isinstance(reply, Exception))
        return mixed(advices)


async def _ask(part: Part, state: str, samples: int, seed: int, again: bool) -> Advice | BusError | BadAdvice:
    try:
        return await part.policy.advise(state, samples if part.share else 1, seed, again)
    except (BusError, BadAdvice) as error:
        return error


def mixed(advices: Sequence[tuple[Part, Advice]]) -> Advice:
    """Combine the advice of several parts: the value of the first, and the sum of all samples.

    The masses of a part sum to its normalised share among the parts that propose something. A tactic of two parts gets
    the sum of both masses.
    """
    # 1. Masses and sources of each tactic.
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
    # 2. Proposals. Log-probabilities of different policies cannot be compared: keep them only if one part replied.
    alone = {each.tactic: each.log_probability for each in advices[0][1].proposals} if len(advices) == 1 else {}
    proposals = [
        Proposal(tactic, portion, alone.get(tactic), source="+".join(sources.get(tactic, ())))
        for tactic, portion in mass.items()
    ]
    # 3. What else the parts say.
    tokens = [advice.tokens for _, advice in advices if advice.tokens is not None]
    return Advice(
        proposals,
        advices[0][1].value,
        exhausted=all(advice.exhausted for _, advice in proposing),
        weights=max(advice.weights for _, advice in advices),
        samples=sum(advice.drawn for _, advice in advices),
        tokens=sum(tokens) if tokens else None,
    )


# ----------------------------------------------------------------------------------------------------------------------
# Policies that take turns: each has a search of its own (`node.prover.search.turns`).


@dataclass(frozen=True)
class Player:
    """One of several policies that take turns."""

    policy: Policy
    has_values: bool = False
    """Whether its values are learned."""


@dataclass(frozen=True)
class ByTurns:
    """Policies that search in turn, each in a separate tree. None sees the proposals of another."""

    players: tuple[Player, ...]


def wrapped(policy: Policy | ByTurns, wrap: Callable[[Policy], Policy]) -> Policy | ByTurns:
    """The policy after `wrap`; if several policies take turns, each of them after `wrap`."""
    if isinstance(policy, ByTurns):
        return ByTurns(tuple(Player(wrap(each.policy), each.has_values) for each in policy.players))
    return wrap(policy)


# ----------------------------------------------------------------------------------------------------------------------
# Exploration in training attempts: adds a few tactics of the fixed list to the policy's samples.
#
# A policy learns from the theorems that it proves. It cannot learn from tactics that it never samples. AlphaZero adds
# Dirichlet noise to the root's priors for the same reason; here actions are text, so the noise has to be extra tactics.
# Evaluations do not explore.


EXPLORED_SHARE = 0.25
"""Share of the prior mass that all explored tactics get together (AlphaZero's share of noise)."""

LEADING_SHARE = 0.25
"""Share of the expansions in which one explored tactic gets the largest mass, so that the search goes on behind it.
With small equal parts a search tries them, and never visits a state to which one leads."""


class ExploringPolicy:
    """A policy that adds up to `count` tactics of the fixed list to its proposals, drawn with the request's seed."""

    def __init__(self, policy: Policy, count: int, rule: TacticRule | None = None) -> None:
        """`rule`: the tactics that the proof may have; the others are not drawn."""
        self._policy = policy
        self._count = count
        self._rule = rule

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """The policy's advice with more proposals. Raises what the policy raises."""
        advice = await self._policy.advise(state, samples, seed, again)
        return replace(advice, proposals=explored(advice.proposals, state, self._count, seed, self._rule))


def explored(
    proposals: list[Proposal], state: str, count: int, seed: int, rule: TacticRule | None = None
) -> list[Proposal]:
    """The proposals, followed by up to `count` new tactics of the fixed list, each with an equal part of
    EXPLORED_SHARE. In LEADING_SHARE of all cases, the first of them comes before all proposals in the search."""
    proposed = {proposal.tactic for proposal in proposals}
    unproposed = [tactic for tactic in candidates(read_goal(state)) if tactic not in proposed]
    if rule is not None:
        unproposed = [tactic for tactic in unproposed if not tactic_problem(tactic, rule)]
    generator = random.Random(seed)
    chosen = generator.sample(unproposed, min(count, len(unproposed)))
    if not chosen:
        return proposals
    mass = sum(proposal.mass for proposal in proposals)
    each = EXPLORED_SHARE / (1.0 - EXPLORED_SHARE) * (mass or 1.0) / len(chosen)
    masses = [each] * len(chosen)
    if proposals and generator.random() < LEADING_SHARE:
        masses[0] = 1.001 * max(proposal.mass for proposal in proposals)
    return [*proposals, *(Proposal(tactic, part) for tactic, part in zip(chosen, masses, strict=True))]


class RuledPolicy:
    """A policy without the tactics that a rule refuses. They cost no Lean attempt. Lean's side refuses them, too."""

    def __init__(self, policy: Policy, rule: TacticRule) -> None:
        self._policy = policy
        self._rule = rule

    async def advise(self, state: str, samples: int, seed: int, again: bool = False) -> Advice:
        """The policy's advice with the proposals that the rule takes. Raises what the policy raises."""
        advice = await self._policy.advise(state, samples, seed, again)
        taken = [each for each in advice.proposals if not tactic_problem(each.tactic, self._rule)]
        return replace(advice, proposals=taken, samples=advice.drawn)
