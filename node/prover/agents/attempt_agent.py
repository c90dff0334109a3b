"""The base class of agents that play an attempt: budget, costs, final verification, and the result."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, field
from typing import TypeVar

from common.bus import BusError
from common.lean import BadStatement, Outcome, ProofTree
from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Ended, SampledProof
from node.prover.agents.account import Account
from node.prover.agents.budget import Budget
from node.prover.agents.environment import Environment
from node.prover.policies.policy import Advice, BadAdvice
from node.prover.policies.proofs import ProofsUnavailable
from node.prover.search.methods import ProofSearch, UnknownMethod
from node.prover.search.parameters import SearchParameters
from node.prover.search.simulation import SearchStatistics

T = TypeVar("T")

IDLE_SIMULATIONS = 1000
"""An attempt without a limit on simulations counts as exhausted after this many in a row without a new tactic for Lean.
Otherwise a policy that repeats itself would never use up a budget of Lean attempts."""

Verify = Callable[[ProofTree], Awaitable[str]]
"""Final verification of a proof. Returns the reason why it is refused; empty if it is accepted. Raises BusError."""


@dataclass(frozen=True)
class Playing:
    """How attempts are played, and who hears of it."""

    prover_id: str
    leaves: int = 1
    """Most expansions in flight."""
    parameters: SearchParameters = field(default_factory=SearchParameters)
    has_values: bool = False
    """Whether the policy's values are learned."""
    verify: Verify | None = None
    """Checks every proof that is found; after a refusal the attempt goes on within its budget. None: the first proof is
    the result, and whole proofs that workers did not finish count as failed."""
    on_simulation: Callable[[], None] = lambda: None
    """Called after each simulation."""
    on_outcomes: Callable[[Collection[Outcome]], None] = lambda outcomes: None
    """Called with Lean's outcomes of each expansion."""
    on_expansion: Callable[[ProofSearch, int, Expansion], None] | None = None
    """Called with each expansion that is fed to a search, the search, and the state's index there."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """The replies of policy and Lean for an expansion."""

    advice: Advice
    outcomes: dict[str, Outcome]


class AttemptAgent(ABC):
    """One attempt at one theorem."""

    def __init__(self, attempt: Attempt, environment: Environment, playing: Playing) -> None:
        self.attempt = attempt
        self.account = Account()
        self._budget = Budget(attempt)
        self._environment = environment
        self._playing = playing
        self._refusal = ""
        """The reason why verification refused the last proof; empty if it accepted it."""

    @property
    def lean_attempts(self) -> int:
        """Tactics, or whole proofs, sent to Lean so far."""
        return self._budget.lean_attempts

    @property
    def simulations(self) -> int:
        """Expansions counted, or proofs sampled, so far."""
        statistics = self._statistics()
        return statistics.simulations if statistics else 0

    @abstractmethod
    async def _played(self) -> tuple[AttemptOutcome, str, Ended | None]:
        """The outcome, a message, and which limit ended an attempt without a proof. Raises BadStatement, BusError,
        BadAdvice, UnknownMethod, ProofsUnavailable."""

    @abstractmethod
    def _statistics(self) -> SearchStatistics | None:
        """The statistics so far; None if the theorem was not opened."""

    @abstractmethod
    def _nodes(self) -> int:
        """Number of states in the tree."""

    @abstractmethod
    def _proof(self) -> ProofTree | None:
        """The proof, if there is one."""

    def _proofs(self) -> tuple[SampledProof, ...]:
        """All proofs, for attempts with `every_proof`."""
        return ()

    async def play(self) -> AttemptResult:
        """The attempt's result. All expected errors become results; cancellation is raised."""
        budget = self._budget
        budget.start()
        ended = None
        try:
            outcome, message, ended = await self._played()
        except BadStatement as error:
            outcome, message = AttemptOutcome.BAD_STATEMENT, str(error)
        except (BusError, BadAdvice, UnknownMethod, ProofsUnavailable) as error:
            outcome, message = AttemptOutcome.ERROR, f"{type(error).__name__}: {error}"
        proved = outcome is AttemptOutcome.PROVED
        return AttemptResult(
            attempt_id=self.attempt.attempt_id,
            theorem_id=self.attempt.theorem_id,
            purpose=self.attempt.purpose,
            prover_id=self._playing.prover_id,
            outcome=outcome,
            message=message,
            proof=self._proof() if proved else None,
            proofs=self._proofs() if proved else (),
            statistics=self.account.statistics(
                self._statistics(),
                nodes=self._nodes(),
                seconds=budget.seconds + self.account.seconds_verify,
                lean_attempts=budget.lean_attempts,
                ended=ended,
                proved=proved,
            ),
        )

    async def _accepted(self, proof: ProofTree) -> bool:
        """Whether verification accepts a proof. Expansions in flight continue; the attempt's clock is paused.

        Raises BusError.
        """
        if self._playing.verify is None:
            return True
        began = time.perf_counter()
        try:
            self._refusal = await self._playing.verify(proof)
        finally:
            seconds = time.perf_counter() - began
            self.account.seconds_verify += seconds
            self._budget.pause(seconds)
        return not self._refusal

    async def _timed(self, work: Awaitable[T]) -> T:
        """Await work of Lean within the attempt's time limit. Raises TimeIsUp, and what the work raises."""
        began = time.perf_counter()
        try:
            return await self._budget.in_time(work)
        finally:
            self.account.seconds_lean += time.perf_counter() - began

    def _refusals(self, statistics: SearchStatistics) -> str:
        """The number of refused proofs, as text; empty if there are none."""
        refused = statistics.proofs_rejected
        return f"proofs refused by verification: {refused}, the last one: {self._refusal}" if refused else ""


def unsolved(statistics: SearchStatistics, ended: Ended = Ended.SIMULATIONS) -> tuple[AttemptOutcome, str]:
    """The outcome of an attempt without a proof, and a message about its limits.

    - A lost expansion: UNDECIDED, because a lost tactic might have been part of a proof.
    - More than half of the expansions lost: ERROR, because there was hardly a search.
    - The time limit is over: UNDECIDED, because a faster machine would have searched more.
    - The time limit is over before the first simulation: ERROR.
    - Otherwise: FAILED.
    """
    if ended is Ended.SECONDS and not statistics.simulations:
        return AttemptOutcome.ERROR, "over before the first simulation"
    lost = statistics.expansions_lost
    if not lost:
        return (AttemptOutcome.UNDECIDED if ended is Ended.SECONDS else AttemptOutcome.FAILED), ""
    outcome = AttemptOutcome.ERROR if 2 * lost > statistics.simulations else AttemptOutcome.UNDECIDED
    return outcome, f"{lost} of {statistics.simulations} expansions were lost by lean-proxies"
