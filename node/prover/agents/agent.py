"""Plays one attempt with a tree search: asks the policy and Lean, with several expansions in flight.

Expansions are fed in the order of selection, not in the order in which replies arrive. So an attempt is determined by
its seed and the contents of the replies, not by their timing (unless its budget has a time limit).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Collection
from dataclasses import replace

from common.lean import ProofTree
from common.protocol.attempts import Attempt, AttemptOutcome, Ended, Purpose
from common.seeds import derive_seed
from node.prover.agents.attempt_agent import IDLE_SIMULATIONS, AttemptAgent, Expansion, Playing, unsolved
from node.prover.agents.budget import TimeIsUp, Turn
from node.prover.agents.environment import Environment
from node.prover.policies.combined import ByTurns, Player
from node.prover.policies.policy import Advice, Policy, Proposal, StateTooLong
from node.prover.search.methods import ProofSearch, begin, check_method
from node.prover.search.negation import NegatingSearch
from node.prover.search.simulation import Leaf, SearchStatistics
from node.prover.search.turns import TurnSearch

TOO_MANY_REFUSALS = "too many refused proofs ([prover.search] max_refusals)"


class Agent(AttemptAgent):
    """One attempt at one theorem, by tree search."""

    def __init__(
        self,
        attempt: Attempt,
        policy: Policy | ByTurns,
        environment: Environment,
        playing: Playing,
    ) -> None:
        super().__init__(attempt, environment, playing)
        self.search: ProofSearch | None = None
        self._players = policy.players if isinstance(policy, ByTurns) else (Player(policy),)
        self._leaves = self._budget.leaves(playing.leaves)
        self._parameters = playing.parameters
        self._idle = 0

    def _statistics(self) -> SearchStatistics | None:
        return self.search.statistics if self.search else None

    def _nodes(self) -> int:
        if isinstance(self.search, TurnSearch):
            return self.search.nodes
        return len(self.search.tree.nodes) if self.search else 0

    def _proof(self) -> ProofTree | None:
        return self.search.proof(self.attempt.failed) if self.search else None

    async def _played(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """Raises BadStatement, BusError, BadAdvice, UnknownMethod."""
        check_method(self.attempt.method)
        try:
            root = await self._timed(self._environment.open())
            search = self.search = self._begun(root)
            ended = await self._simulate(search)
        except TimeIsUp:
            ended = Ended.SECONDS
        if ended is None:
            return AttemptOutcome.PROVED, "", None
        statistics = self._statistics() or SearchStatistics()
        outcome, lost = unsolved(statistics, ended)
        too_many_refusals = statistics.proofs_rejected >= self._parameters.max_refusals
        limit = TOO_MANY_REFUSALS if too_many_refusals else self._budget.describe(ended)
        negations = self.search.summary() if isinstance(self.search, NegatingSearch) else ""
        words = [limit, lost, self._refusals(statistics), negations]
        return outcome, "; ".join(filter(None, words)), ended

    def _begun(self, root: str) -> ProofSearch:
        """Start the search at this root state, with one tree for each policy that takes turns."""
        method, parameters, seed = self.attempt.method, self._parameters, search_seed(self.attempt)
        if len(self._players) == 1:
            search = begin(method, root, parameters, seed)
            if not parameters.negate_below:
                return search
            return NegatingSearch(search, lambda state: begin(method, state, parameters, seed), parameters)
        numbers = [parameters.beside(network=each.has_values) for each in self._players]
        return TurnSearch([begin(method, root, each, seed) for each in numbers])

    async def _simulate(self, search: ProofSearch) -> Ended | None:
        """Run simulations within the budget: keep `leaves` expansions in flight, and feed the oldest. Returns None if a
        proof was found and accepted. Raises TimeIsUp, BusError, BadAdvice."""
        window: deque[tuple[Leaf, asyncio.Task[Expansion | None]]] = deque()
        try:
            while not search.exhausted:
                self._select(search, window)
                if not window:
                    return self._budget.ended(search.statistics.simulations) or Ended.EXHAUSTED
                leaf, task = window[0]
                expansion = await self._budget.in_time(task)
                window.popleft()
                self._feed(search, leaf, expansion)
                while search.solved:
                    proof = search.proof()
                    if await self._accepted(proof):
                        return None
                    search.reject(proof)
                    if search.statistics.proofs_rejected >= self._parameters.max_refusals:
                        return Ended.EXHAUSTED
                if self._idle >= IDLE_SIMULATIONS and not self.attempt.simulations:
                    return Ended.EXHAUSTED
            return Ended.EXHAUSTED
        finally:
            for leaf, task in window:
                task.cancel()
                search.abandon(leaf)
            await asyncio.gather(*(task for _, task in window), return_exceptions=True)

    def _select(self, search: ProofSearch, window: deque[tuple[Leaf, asyncio.Task[Expansion | None]]]) -> None:
        """Start simulations until `leaves` expansions are in flight."""
        began = time.perf_counter()
        simulations = search.statistics.simulations
        while len(window) < self._leaves and self._budget.ended(simulations + len(window)) is None:
            leaf = search.select()
            if leaf is None:
                break
            window.append((leaf, asyncio.create_task(self._expand(leaf, self._budget.turn()))))
        self.account.seconds_search += time.perf_counter() - began

    def _feed(self, search: ProofSearch, leaf: Leaf, expansion: Expansion | None) -> None:
        """Finish a simulation with its expansion."""
        if expansion is None:
            search.abandon(leaf)
            return
        began = time.perf_counter()
        tried = search.statistics.tactics_tried
        advice, outcomes = expansion.advice, expansion.outcomes
        counted = search.feed(leaf, advice.proposals, advice.value, outcomes, exhausted=advice.exhausted)
        self.account.seconds_search += time.perf_counter() - began
        self.account.note_weights(advice.weights)
        if self._playing.on_expansion is not None and leaf.search is not None and leaf.search in search.trees:
            self._playing.on_expansion(leaf.search, leaf.node.index, expansion)
        if search.solved:
            self.account.solved_at_seconds = self._budget.seconds
        if not counted:
            self._budget.give_back(len(outcomes))
            return
        self._budget.give_back(sum(not outcome.is_tactic_outcome for outcome in outcomes.values()))
        self._idle = 0 if search.statistics.tactics_tried > tried else self._idle + 1
        self._playing.on_simulation()

    async def _advice(self, leaf: Leaf, seed: int) -> Advice:
        """The tactics that the leaf gives, or else the policy's advice. A state that is too long for the policy gets
        no tactics; if it is the root state, the attempt fails. Raises BusError, BadAdvice."""
        if leaf.given:
            return Advice([Proposal(tactic, 1.0) for tactic in leaf.given], 0.0, samples=0)
        try:
            return await self._players[leaf.turn].policy.advise(leaf.state, self.attempt.samples, seed)
        except StateTooLong as error:
            if not leaf.path:
                raise
            return error.advice()

    async def _expand(self, leaf: Leaf, turn: Turn) -> Expansion | None:
        """Ask the policy for tactics, and Lean for outcomes of the new ones. None if the limit on Lean attempts is
        reached."""
        began = time.perf_counter()
        seed = node_seed(self.attempt, leaf.number, leaf.round)
        advice = await self._advice(leaf, seed)
        advised = time.perf_counter()
        self.account.seconds_policy += advised - began
        self.account.note_advice(advice)
        new = list(dict.fromkeys(p.tactic for p in advice.proposals if p.tactic not in leaf.tried))
        granted = await self._budget.grant(turn, len(new))
        if granted < len(new):
            if not granted:
                return None
            advice, new = cut_off(advice, set(new[granted:])), new[:granted]
        asked = time.perf_counter()
        outcomes = await self._environment.run(leaf.path, new)
        self._playing.on_outcomes(outcomes.values())
        self.account.seconds_lean += time.perf_counter() - asked
        self.account.expansions += 1
        return Expansion(advice, outcomes)


def cut_off(advice: Advice, left_out: Collection[str]) -> Advice:
    """The advice without some of its tactics. The state does not count as exhausted."""
    proposals = [proposal for proposal in advice.proposals if proposal.tactic not in left_out]
    return replace(advice, proposals=proposals, exhausted=False)


def node_seed(attempt: Attempt, number: int, round: int) -> int:
    """The seed of a state's samples: derived from the attempt's seed and id, the state's index, and the sampling round.

    Evaluations leave out the attempt's id, so the same theorem with the same seed gets the same seeds before and after
    training.
    """
    return derive_seed(attempt.seed, identity(attempt), number, round)


def search_seed(attempt: Attempt) -> int:
    """The seed of the random choices that a search makes."""
    return derive_seed(attempt.seed, identity(attempt), "search")


def identity(attempt: Attempt) -> str:
    """The part of the seeds that identifies an attempt; empty for evaluations."""
    return "" if attempt.purpose is Purpose.EVAL else attempt.attempt_id
