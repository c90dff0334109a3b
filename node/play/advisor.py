"""Tactics and values for single proof states, from any policy, without Lean and without a search: `proofmesh suggest`,
and the suggestions that `proofmesh serve` gives to editors.

    async with Advisor("own:runs/demo") as advisor:
        advice = await advisor.advise("p q : Prop\nh : p ∧ q\n⊢ q ∧ p")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from common.bus import BusError, Here
from common.lean import Theorem
from common.output.command import UserError
from common.protocol.attempts import Attempt, Purpose
from common.settings import PLAIN, SUGGESTIONS, Sampling
from node.lean.text.goals import factorise, split_goals
from node.llm.settings import ModelSettings
from node.play.here import LocalSources
from node.play.policies import address_here, parse, template_here
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.combined import ByTurns
from node.prover.policies.names import OWN, BadPolicy, PolicyName, has_network, joined
from node.prover.policies.policy import Advice, BadAdvice, Policy, Proposal, StateTooLong, log_probabilities
from node.prover.policies.sources import writes_proofs
from node.prover.settings import ProverSettings

if TYPE_CHECKING:
    from types import TracebackType


class BadState(UserError, ValueError):
    """The text is no proof state, or none that the policy can advise on."""


class NoAdvice(UserError):
    """The policy gave no usable answer: its server or its network failed."""

    exit_code = 3


def state_to_advise(text: str) -> str:
    """The state as policies read it: without the tags of its goals, and of several goals the first one with those that
    share a metavariable with it, because a tactic begins with the first. Raises BadState."""
    goals = split_goals(text.replace("\r\n", "\n"))
    if not goals:
        raise BadState("the state is empty: give hypotheses, one a line, and a line `⊢ CONCLUSION`")
    if not all("⊢" in goal for goal in goals):
        raise BadState("the state has a goal without a line `⊢ CONCLUSION`; hypotheses go above it, one a line")
    return next(branch.state for branch in factorise(goals) if 0 in branch.goals)


class Advisor:
    """A policy that is asked for one state at a time. Use it with `async with`: this loads its networks once."""

    def __init__(
        self,
        policy: str,
        *,
        sampling: Sampling = PLAIN,
        models: ModelSettings | None = None,
        threads: int = 1,
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`threads`: for forward passes. Raises BadPolicy."""
        # Policies that take turns have separate searches. Without a search, all are asked.
        self._names = list(dict.fromkeys(replace(name, turn=0) for name in parse(policy)))
        if writers := [name for name in self._names if _writes(name)]:
            raise BadPolicy(f"`{joined(writers)}` writes whole proofs: name a policy that proposes tactics")
        self.policy = joined(self._names)
        """Its name."""
        self.has_values = has_network(self._names)
        """Whether its values are learned."""
        here = Here()
        self._sources = LocalSources(here, OWN, threads, models, note)
        self._policies = AttemptPolicies(here, ProverSettings(policy="", sampling=sampling), self._sources)
        self._opened: Policy | None = None

    async def __aenter__(self) -> Advisor:
        """Raises BadPolicy, and ProvingFailed if no server replies."""
        try:
            for name in self._names:
                await self._sources.open(name)
            await asyncio.to_thread(self._policies.add, self._names)
            # Its tactics are not for a search, so nothing is added to those of the policy (`Purpose.EVAL`).
            attempt = Attempt("suggest", "suggest", _NO_THEOREM, Purpose.EVAL, 0, 0, policy=self.policy)
            policy = self._policies.policy(attempt)
            assert not isinstance(policy, ByTurns), "its parts have one turn"
            self._opened = policy
        except BaseException:
            await self._sources.stop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._sources.stop()

    async def advise(self, text: str, samples: int = SUGGESTIONS, seed: int = 0) -> Advice:
        """Tactics and value for a printed state (see `state_to_advise`). Raises BadState and NoAdvice."""
        assert self._opened is not None, "use it with `async with`"
        state = state_to_advise(text)
        try:
            return await self._opened.advise(state, samples, seed)
        except StateTooLong as error:
            raise BadState(str(error)) from error
        except (BadAdvice, BusError) as error:
            raise NoAdvice(str(error)) from error


def likeliest(advice: Advice) -> list[tuple[Proposal, float]]:
    """The tactics with their log-probabilities, the most probable first."""
    pairs = zip(advice.proposals, log_probabilities(advice.proposals), strict=True)
    return sorted(pairs, key=lambda pair: -pair[1])


_NO_THEOREM = Theorem("suggest", "", "True")
"""In place of the theorem whose state it is, which nobody tells."""


def _writes(name: PolicyName) -> bool:
    return writes_proofs(name, template_here(address_here(name)) if name.is_model else None)
