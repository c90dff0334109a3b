"""Plays one attempt: a pure search against a policy and Lean, several expansions in flight.

Expansions are fed in the order in which they were selected, whatever the order in which their answers arrive. So an
attempt depends on its seed and on the answers, not on how fast they come (unless its budget is one of seconds).
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, replace

from common.bus import BusError
from common.lean import BadStatement, Outcome, ProofTree
from common.messages import Attempt, AttemptOutcome, AttemptResult, Ended, Purpose
from common.seeds import derive_seed
from node.prover.account import Account
from node.prover.budget import Budget, TimeIsUp, Turn
from node.prover.environment import Environment
from node.prover.expansion import ExpandRequest
from node.prover.methods import ProofSearch, UnknownMethod, begin, check_method
from node.prover.parameters import SearchParameters
from node.prover.policy import Advice, BadAdvice, Policy
from node.prover.tree_search import SearchStatistics

IDLE_SIMULATIONS = 1000
"""Without a budget of simulations: after this many in a row that brought no new tactic, none is left to try. A policy
that always proposes the same would never use up a budget of Lean attempts."""

Verify = Callable[[ProofTree], Awaitable[str]]
"""Final verification of a proof: the reason why it is refused, empty if it is accepted. Raises BusError."""


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
        verify: Verify | None = None,
        on_expansion: Callable[[ProofSearch, int, Expansion], None] | None = None,
    ) -> None:
        """`leaves`: expansions in flight, at most. `on_simulation` is called after each simulation, `on_outcomes` with
        what Lean said of each expansion's tactics; `on_expansion` with each expansion that the search took in, and the
        state's index. `verify` is asked about every proof that is found; after a refusal the search goes on within its
        budget. None: the first proof is the result."""
        self.attempt = attempt
        self.account = Account()
        self.search: ProofSearch | None = None
        self._budget = Budget(attempt)
        self._policy = policy
        self._environment = environment
        self._prover_id = prover_id
        self._leaves = self._budget.leaves(leaves)
        self._on_simulation = on_simulation
        self._on_outcomes = on_outcomes
        self._on_expansion = on_expansion
        self._parameters = parameters or SearchParameters()
        self._verify = verify
        self._refusal = ""
        self._idle = 0

    @property
    def lean_attempts(self) -> int:
        """Tactics sent to Lean so far."""
        return self._budget.lean_attempts

    @property
    def simulations(self) -> int:
        """Expansions that were backed up so far."""
        return self.search.statistics.simulations if self.search else 0

    async def play(self) -> AttemptResult:
        """The attempt's result, whatever happens. Only cancellation passes through."""
        budget = self._budget
        budget.start()
        ended = None
        try:
            outcome, message, ended = await self._search()
        except BadStatement as error:
            outcome, message = AttemptOutcome.BAD_STATEMENT, str(error)
        except (BusError, BadAdvice, UnknownMethod) as error:
            outcome, message = AttemptOutcome.ERROR, f"{type(error).__name__}: {error}"
        proved = outcome is AttemptOutcome.PROVED
        return AttemptResult(
            attempt_id=self.attempt.attempt_id,
            theorem_id=self.attempt.theorem_id,
            purpose=self.attempt.purpose,
            prover_id=self._prover_id,
            outcome=outcome,
            message=message,
            proof=self.search.proof() if proved and self.search else None,
            statistics=self.account.statistics(
                self.search.statistics if self.search else None,
                nodes=len(self.search.tree.nodes) if self.search else 0,
                seconds=budget.seconds + self.account.seconds_verify,
                lean_attempts=budget.lean_attempts,
                ended=ended,
                proved=proved,
            ),
        )

    async def _search(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """The outcome, a word on it, and what ended a search without proof. Raises BadStatement, BusError, BadAdvice,
        UnknownMethod."""
        check_method(self.attempt.method)
        try:
            root = await self._open()
            search = self.search = begin(self.attempt.method, root, self._parameters, search_seed(self.attempt))
            ended = await self._simulate(search)
        except TimeIsUp:
            ended = Ended.SECONDS
        if ended is None:
            return AttemptOutcome.PROVED, "", None
        statistics = self.search.statistics if self.search else SearchStatistics()
        outcome, lost = unsolved(statistics, ended)
        refused = statistics.proofs_rejected
        words = [
            self._budget.describe(ended),
            lost,
            f"proofs refused by verification: {refused}, the last one: {self._refusal}" if refused else "",
        ]
        return outcome, "; ".join(filter(None, words)), ended

    async def _open(self) -> str:
        began = time.perf_counter()
        try:
            return await self._budget.in_time(self._environment.open())
        finally:
            self.account.seconds_lean += time.perf_counter() - began

    async def _simulate(self, search: ProofSearch) -> Ended | None:
        """Simulations up to the budget: keep `leaves` expansions in flight, feed the oldest, go on. None: a proof is
        found and accepted. Raises TimeIsUp, BusError, BadAdvice."""
        window: deque[tuple[ExpandRequest, asyncio.Task[Expansion | None]]] = deque()
        try:
            while not search.exhausted:
                self._select(search, window)
                if not window:
                    return self._budget.ended(search.statistics.simulations) or Ended.EXHAUSTED
                request, task = window[0]
                expansion = await self._budget.in_time(task)
                window.popleft()
                self._feed(search, request, expansion)
                while search.solved:
                    if await self._accepted(search):
                        return None
                if self._idle >= IDLE_SIMULATIONS and not self.attempt.simulations:
                    return Ended.EXHAUSTED
            return Ended.EXHAUSTED
        finally:
            for request, task in window:
                task.cancel()
                search.abandon(request.node_id)
            await asyncio.gather(*(task for _, task in window), return_exceptions=True)

    def _select(self, search: ProofSearch, window: deque[tuple[ExpandRequest, asyncio.Task[Expansion | None]]]) -> None:
        """Begin simulations until enough expansions are in flight."""
        began = time.perf_counter()
        done = search.statistics.simulations
        while len(window) < self._leaves and self._budget.ended(done + len(window)) is None:
            request = search.select()
            if request is None:
                break
            window.append((request, asyncio.create_task(self._expand(request, self._budget.turn()))))
        self.account.seconds_search += time.perf_counter() - began

    def _feed(self, search: ProofSearch, request: ExpandRequest, expansion: Expansion | None) -> None:
        """Finish a simulation with its expansion."""
        if expansion is None:
            search.abandon(request.node_id)
            return
        began = time.perf_counter()
        tried = search.statistics.tactics_tried
        advice, outcomes = expansion.advice, expansion.outcomes
        counted = search.feed(request.node_id, advice.proposals, advice.value, outcomes, exhausted=advice.exhausted)
        self.account.seconds_search += time.perf_counter() - began
        self.account.note_weights(advice.weights)
        if self._on_expansion is not None:
            self._on_expansion(search, request.node_id, expansion)
        if search.solved:
            self.account.solved_at_seconds = self._budget.seconds
        if not counted:
            self._budget.give_back(len(outcomes))
            return
        self._budget.give_back(sum(not outcome.is_tactic_outcome for outcome in outcomes.values()))
        self._idle = 0 if search.statistics.tactics_tried > tried else self._idle + 1
        self._on_simulation()

    async def _accepted(self, search: ProofSearch) -> bool:
        """Is the present proof the result? If verification refuses it, the search is without it from now on. What is
        in flight goes on meanwhile; time stands still. Raises BusError."""
        if self._verify is None:
            return True
        proof = search.proof()
        began = time.perf_counter()
        try:
            self._refusal = await self._verify(proof)
        finally:
            seconds = time.perf_counter() - began
            self.account.seconds_verify += seconds
            self._budget.pause(seconds)
        if self._refusal:
            search.reject(proof)
        return not self._refusal

    async def _expand(self, request: ExpandRequest, turn: Turn) -> Expansion | None:
        """Ask the policy, then Lean about what it has not tried here yet. None: no tactic may be sent any more."""
        began = time.perf_counter()
        seed = node_seed(self.attempt, request.node_id, request.round)
        advice = await self._policy.advise(request.state, self.attempt.samples, seed)
        advised = time.perf_counter()
        self.account.seconds_policy += advised - began
        self.account.note_advice(advice)
        new = list(dict.fromkeys(p.tactic for p in advice.proposals if p.tactic not in request.tried))
        granted = await self._budget.grant(turn, len(new))
        if granted < len(new):
            if not granted:
                return None
            advice, new = cut_off(advice, set(new[granted:])), new[:granted]
        asked = time.perf_counter()
        outcomes = await self._environment.run(request.path, new)
        self._on_outcomes(outcomes.values())
        self.account.seconds_lean += time.perf_counter() - asked
        self.account.expansions += 1
        return Expansion(advice, outcomes)


@dataclass(frozen=True, slots=True)
class Expansion:
    """What came back for an expansion."""

    advice: Advice
    outcomes: dict[str, Outcome]


def cut_off(advice: Advice, left_out: Collection[str]) -> Advice:
    """The advice without some of its tactics. So the state is not exhausted."""
    kept = [proposal for proposal in advice.proposals if proposal.tactic not in left_out]
    return replace(advice, proposals=kept, exhausted=False)


def unsolved(statistics: SearchStatistics, ended: Ended = Ended.SIMULATIONS) -> tuple[AttemptOutcome, str]:
    """What a search without a proof says about the theorem, and why it says less than it might.

    With an expansion lost it says nothing: a tactic of that state might have been the proof's. With more than half of
    them lost there was no search to speak of. When its time was over it says nothing either: another machine would have
    come further; without a single simulation until then, no search was possible.
    """
    if ended is Ended.SECONDS and not statistics.simulations:
        return AttemptOutcome.ERROR, "over before the first simulation"
    lost = statistics.expansions_lost
    if not lost:
        return (AttemptOutcome.UNDECIDED if ended is Ended.SECONDS else AttemptOutcome.FAILED), ""
    outcome = AttemptOutcome.ERROR if 2 * lost > statistics.simulations else AttemptOutcome.UNDECIDED
    return outcome, f"{lost} of {statistics.simulations} expansions were lost by lean-proxies"


def node_seed(attempt: Attempt, node_id: int, round: int) -> int:
    """The seed of a state's samples: from the attempt's seed, its id, the state's index, and how often it was sampled.

    Evaluations leave the id out: the same theorem under the same seed is sampled alike before and after training.
    """
    return derive_seed(attempt.seed, identity(attempt), node_id, round)


def search_seed(attempt: Attempt) -> int:
    """The seed of a search's own choices."""
    return derive_seed(attempt.seed, identity(attempt), "search")


def identity(attempt: Attempt) -> str:
    """What the seeds of an attempt have besides its own."""
    return "" if attempt.purpose is Purpose.EVAL else attempt.attempt_id
