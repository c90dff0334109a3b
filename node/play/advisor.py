"""Tactics and values for single proof states, from any policy of this process or of a mesh, without Lean and without a
search: `proofmesh suggest`, and the suggestions that `proofmesh serve` gives to editors.

    async with Advisor("own:runs/demo") as advisor:
        advice = await advisor.advise("p q : Prop\nh : p ∧ q\n⊢ q ∧ p")
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from common.bus import BusError, Here
from common.lean import Theorem
from common.output.command import UserError
from common.protocol.attempts import Attempt, Purpose
from common.settings import PLAIN, SUGGESTIONS, Sampling
from node.lean.text.goals import factorise, split_goals
from node.llm.settings import ModelSettings
from node.play import policies
from node.play.here import LocalSources
from node.play.policies import address_here, check_for_mesh, template_here
from node.prover.policies.attempt_policy import AttemptPolicies
from node.prover.policies.combined import ByTurns
from node.prover.policies.names import INFERENCE, OWN, BadPolicy, PolicyName, has_network, joined, parse
from node.prover.policies.policy import Advice, BadAdvice, Policy, Proposal, StateTooLong, log_probabilities
from node.prover.policies.sources import template_of, writes_proofs
from node.prover.settings import ProverSettings

if TYPE_CHECKING:
    from types import TracebackType


CONNECT_SECONDS = 3.0
"""Seconds to wait for the broker of a mesh."""

PATIENCE = 30.0
"""Seconds to wait for an answer in all: a person waits."""


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
        url: str = "",
        run: str = "demo",
        note: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`models`, `threads`: for models of this process. `url`, `run`: a mesh, whose inference nodes are asked; an
        empty policy is then its network. Raises BadPolicy."""
        if url:
            check_for_mesh(policy or INFERENCE)
        # Policies that take turns have separate searches. Without a search, all are asked.
        names = parse(policy or INFERENCE, INFERENCE) if url else policies.parse(policy)
        self._names = list(dict.fromkeys(replace(name, turn=0) for name in names))
        if writers := [name for name in self._names if _writes(name, served=bool(url))]:
            raise BadPolicy(f"`{joined(writers)}` writes whole proofs: name a policy that proposes tactics")
        self.policy = joined(self._names)
        """Its name."""
        self.has_values = has_network(self._names)
        """Whether its values are learned."""
        self._url, self._run = url, run
        self._models, self._threads, self._note = models, threads, note
        self._settings = ProverSettings(policy="", sampling=sampling, policy_patience=PATIENCE)
        self._stack = AsyncExitStack()
        self._opened: Policy | None = None

    async def __aenter__(self) -> Advisor:
        """Raises BadPolicy, NoAdvice if there is no such mesh, and ProvingFailed if no server replies."""
        async with AsyncExitStack() as stack:
            opened = await (self._open_there(stack) if self._url else self._open_here(stack))
            await asyncio.to_thread(opened.add, self._names)
            # Its tactics are not for a search, so nothing is added to those of the policy (`Purpose.EVAL`).
            attempt = Attempt("suggest", "suggest", _NO_THEOREM, Purpose.EVAL, 0, 0, policy=self.policy)
            policy = opened.policy(attempt)
            assert not isinstance(policy, ByTurns), "its parts have one turn"
            self._opened = policy
            self._stack = stack.pop_all()
        return self

    async def _open_here(self, stack: AsyncExitStack) -> AttemptPolicies:
        here = Here()
        sources = LocalSources(here, OWN, self._threads, self._models, self._note)
        stack.push_async_callback(sources.stop)
        for name in self._names:
            await sources.open(name)
        return AttemptPolicies(here, self._settings, sources)

    async def _open_there(self, stack: AsyncExitStack) -> AttemptPolicies:
        from common.bus import Bus, BusSettings
        from node.play.mesh import check_served
        from node.prover.policies.sources import MeshSources

        try:
            broker = BusSettings(url=self._url)
            bus = await Bus.connect(broker, run=self._run, name="suggest", wait=CONNECT_SECONDS, outage=PATIENCE)
            stack.push_async_callback(bus.close)
            await check_served(bus, self.policy)
        except BusError as error:
            raise NoAdvice(str(error)) from error
        return AttemptPolicies(bus, self._settings, MeshSources(bus, self._names, (), patience=PATIENCE))

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._stack.aclose()

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


def _writes(name: PolicyName, *, served: bool) -> bool:
    template = None if not name.is_model else template_of(name) if served else template_here(address_here(name))
    return writes_proofs(name, template)
