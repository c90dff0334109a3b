"""Plays one attempt: a pure search against a policy and Lean, several expansions in flight.

Expansions are fed in the order in which they were selected, whatever the order in which their answers arrive. So an
attempt depends on its seed and on the answers, not on how fast they come.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass

from common.bus import BusError
from common.lean import BadStatement, Outcome
from common.messages import Attempt, AttemptOutcome, AttemptResult, AttemptStatistics, Purpose
from common.seeds import derive_seed
from node.prover.environment import Environment
from node.prover.parameters import SearchParameters
from node.prover.policy import Advice, BadAdvice, Policy
from node.prover.search import ExpandRequest, Search, SearchStatistics

SIMULATIONS_PER_LEAF = 8
"""At most one leaf in flight per this many simulations of the budget: virtual losses must not decide a small search."""


@dataclass(slots=True)
class Account:
    """What an attempt has cost so far. Seconds of policy and Lean are waiting times, summed over expansions that
    overlap."""

    expansions: int = 0
    seconds_policy: float = 0.0
    seconds_lean: float = 0.0
    seconds_search: float = 0.0
    """The search's own computing time."""
    weights_first: int = 0
    weights_last: int = 0

    def note_weights(self, version: int) -> None:
        self.weights_first = self.weights_first or version
        self.weights_last = version


class Agent:
    """One attempt at one theorem."""

    def __init__(
        self,
        attempt: Attempt,
        policy: Policy,
        environment: Environment,
        *,
        prover_id: str,
        leaves: int,
        on_simulation: Callable[[], None] = lambda: None,
        on_outcomes: Callable[[Collection[Outcome]], None] = lambda outcomes: None,
        parameters: SearchParameters | None = None,
        on_expansion: Callable[[Search, int, Expansion], None] | None = None,
    ) -> None:
        """`leaves`: expansions in flight, at most. `on_simulation` is called after each simulation, `on_outcomes` with
        what Lean said of each expansion's tactics; `on_expansion` with each expansion that the search took in, and the
        state's index."""
        self.attempt = attempt
        self.account = Account()
        self.search: Search | None = None
        self._policy = policy
        self._environment = environment
        self._prover_id = prover_id
        self._leaves = max(1, min(leaves, attempt.simulations // SIMULATIONS_PER_LEAF))
        self._on_simulation = on_simulation
        self._on_outcomes = on_outcomes
        self._on_expansion = on_expansion
        self._parameters = parameters or SearchParameters()

    async def play(self) -> AttemptResult:
        """The attempt's result, whatever happens. Only cancellation passes through."""
        start = time.perf_counter()
        try:
            outcome, message = await self._search()
        except BadStatement as error:
            outcome, message = AttemptOutcome.BAD_STATEMENT, str(error)
        except (BusError, BadAdvice) as error:
            outcome, message = AttemptOutcome.ERROR, f"{type(error).__name__}: {error}"
        return self._result(outcome, message, time.perf_counter() - start)

    async def _search(self) -> tuple[AttemptOutcome, str]:
        """The outcome, and a word on it. Raises BadStatement, BusError, BadAdvice."""
        began = time.perf_counter()
        root = await self._environment.open()
        self.account.seconds_lean += time.perf_counter() - began
        search = self.search = Search(root, self._parameters)
        await self._simulate(search)
        if search.solved:
            return AttemptOutcome.PROVED, ""
        outcome, lost = unsolved(search.statistics)
        reason = "no tactic is left to try" if search.exhausted else f"{search.statistics.simulations} simulations"
        return outcome, lost or reason

    async def _simulate(self, search: Search) -> None:
        """Simulations up to the budget: keep `leaves` expansions in flight, feed the oldest, go on."""
        window: deque[tuple[ExpandRequest, asyncio.Task[Expansion]]] = deque()
        try:
            while not search.finished:
                self._select(search, window)
                if not window:
                    return
                request, task = window[0]
                expansion = await task
                window.popleft()
                self._feed(search, request, expansion)
        finally:
            for request, task in window:
                task.cancel()
                search.abandon(request.node_id)
            await asyncio.gather(*(task for _, task in window), return_exceptions=True)

    def _select(self, search: Search, window: deque[tuple[ExpandRequest, asyncio.Task[Expansion]]]) -> None:
        """Begin simulations until enough expansions are in flight."""
        began = time.perf_counter()
        budget = self.attempt.simulations - search.statistics.simulations
        while len(window) < min(self._leaves, budget) and (request := search.select()) is not None:
            window.append((request, asyncio.create_task(self._expand(request))))
        self.account.seconds_search += time.perf_counter() - began

    def _feed(self, search: Search, request: ExpandRequest, expansion: Expansion) -> None:
        """Finish a simulation with its expansion."""
        began = time.perf_counter()
        advice = expansion.advice
        counted = search.feed(
            request.node_id, advice.proposals, advice.value, expansion.outcomes, exhausted=advice.exhausted
        )
        self.account.seconds_search += time.perf_counter() - began
        self.account.note_weights(advice.weights)
        if self._on_expansion is not None:
            self._on_expansion(search, request.node_id, expansion)
        if counted:
            self._on_simulation()

    async def _expand(self, request: ExpandRequest) -> Expansion:
        """Ask the policy, then Lean about what it has not tried here yet."""
        began = time.perf_counter()
        seed = node_seed(self.attempt, request.node_id, request.round)
        advice = await self._policy.advise(request.state, self.attempt.samples, seed)
        advised = time.perf_counter()
        new = [proposal.tactic for proposal in advice.proposals if proposal.tactic not in request.tried]
        outcomes = await self._environment.run(request.path, new)
        self._on_outcomes(outcomes.values())
        self.account.seconds_policy += advised - began
        self.account.seconds_lean += time.perf_counter() - advised
        self.account.expansions += 1
        return Expansion(advice, outcomes)

    def _result(self, outcome: AttemptOutcome, message: str, seconds: float) -> AttemptResult:
        attempt, search = self.attempt, self.search
        return AttemptResult(
            attempt_id=attempt.attempt_id,
            theorem_id=attempt.theorem_id,
            purpose=attempt.purpose,
            prover_id=self._prover_id,
            outcome=outcome,
            message=message,
            proof=search.proof() if outcome is AttemptOutcome.PROVED and search else None,
            statistics=self._statistics(seconds),
        )

    def _statistics(self, seconds: float) -> AttemptStatistics:
        account, search = self.account, self.search
        return AttemptStatistics(
            simulations=search.statistics.simulations if search else 0,
            expansions=account.expansions,
            expansions_lost=search.statistics.expansions_lost if search else 0,
            nodes=len(search.tree.nodes) if search else 0,
            tactics_tried=search.statistics.tactics_tried if search else 0,
            tactics_failed=search.statistics.tactics_failed if search else 0,
            seconds=seconds,
            seconds_policy=account.seconds_policy,
            seconds_lean=account.seconds_lean,
            weights_first=account.weights_first,
            weights_last=account.weights_last,
        )


@dataclass(frozen=True, slots=True)
class Expansion:
    """What came back for an expansion."""

    advice: Advice
    outcomes: dict[str, Outcome]


def unsolved(statistics: SearchStatistics) -> tuple[AttemptOutcome, str]:
    """What a search without a proof says about the theorem, and why it says less than it might.

    With an expansion lost it says nothing: a tactic of that state might have been the proof's. With more than half of
    them lost there was no search to speak of.
    """
    lost = statistics.expansions_lost
    if not lost:
        return AttemptOutcome.FAILED, ""
    outcome = AttemptOutcome.ERROR if 2 * lost > statistics.simulations else AttemptOutcome.UNDECIDED
    return outcome, f"{lost} of {statistics.simulations} expansions were lost by lean-proxies"


def node_seed(attempt: Attempt, node_id: int, round: int) -> int:
    """The seed of a state's samples: from the attempt's seed, its id, the state's index, and how often it was sampled.

    Evaluations leave the id out: the same theorem under the same seed is sampled alike before and after training.
    """
    identity = "" if attempt.purpose is Purpose.EVAL else attempt.attempt_id
    return derive_seed(attempt.seed, identity, node_id, round)
