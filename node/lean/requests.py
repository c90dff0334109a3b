"""Answers a `lean.run` request: text rules and cache first, the backend for the remaining candidates."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.lean import BadContext, BadStatement, Outcome, OutcomeKind, TacticRule
from common.limits import MOST_CANDIDATES
from common.protocol.messages import Busy, Failure, FailureKind, LeanRunReply, LeanRunRequest, Message
from node.lean.backend import Backend, BackendDown, BackendFull, BatchResult, OutcomeCache, TacticBatch
from node.lean.gaps.contexts import ContextModules
from node.lean.text.allowed import theorem_problem
from node.lean.text.lexing import lex
from node.lean.text.rules import statement_problem, tactic_problem

LEAST_SECONDS = 0.05
"""Shortest timeout of a candidate, so that a request with a tiny timeout does not make every tactic fail."""

RETRY_SECONDS = 1.0
"""Seconds before a retry, in the Busy reply while Lean does not start."""

INACCESSIBLE = "✝"
"""Lean prints this after the name of an inaccessible hypothesis. Lean's parser does not accept it."""


@dataclass
class Counts:
    """Counters for metrics and heartbeats."""

    candidates: int = 0
    cache_hits: int = 0
    failures: int = 0
    """Requests that got Busy because Lean or its server was down."""
    outcomes: dict[OutcomeKind, int] = field(default_factory=lambda: dict.fromkeys(OutcomeKind, 0))


@dataclass
class Requests:
    """Answers `lean.run` requests with a backend and a cache."""

    backend: Backend
    cache: OutcomeCache
    longest: float
    """Longest timeout of a candidate in seconds, whatever a request asks for; the shortest is LEAST_SECONDS."""
    contexts: ContextModules | None = None
    """Compiles long texts above gaps into modules. None: workers elaborate these texts for each batch."""
    node: str = ""
    """The node that answers, if others may, too: askers come back to it for states that it has kept."""
    counts: Counts = field(default_factory=Counts)
    problem: str | None = None
    """Why Lean does not start; None when it does."""

    async def run(self, request: LeanRunRequest) -> Message:
        """Returns LeanRunReply, Busy, or Failure (BAD_STATEMENT if Lean or a text rule refuses the statement)."""
        theorem = request.theorem
        # The text rules are for single statements. A statement at a place in a file is elaborated as the file has it.
        problem = "" if theorem.place is not None else statement_problem(theorem.binders, theorem.conclusion)
        if problem := problem or theorem_problem(theorem):
            return Failure(reason=problem, kind=FailureKind.BAD_STATEMENT)
        if theorem.place is not None and not self.backend.in_files:
            problem = 'theorems in files need Lean\'s own workers: [lean] backend = "worker"'
            return Failure(reason=problem, kind=FailureKind.BAD_STATEMENT)
        if len(request.tactics) > MOST_CANDIDATES:
            return Failure(reason=f"{len(request.tactics)} candidates; at most {MOST_CANDIDATES} in one request")
        settled = self._without_lean(request)
        unsettled = [tactic for tactic in dict.fromkeys(request.tactics) if tactic not in settled]
        state = self.cache.state(theorem, request.path)
        elapsed, holder = 0.0, ""
        if unsettled or state is None:
            try:
                result = await self.backend.attempt(await self._batch(request, unsettled, state))
            except BackendFull as error:
                return Busy(retry_after=error.retry_after, reason=str(error))
            except (BadStatement, BadContext) as error:
                return Failure(reason=str(error), kind=FailureKind.BAD_STATEMENT)
            except BackendDown as error:
                self.problem = str(error)
                self.counts.failures += 1
                return Busy(retry_after=RETRY_SECONDS, reason=self.problem)
            self.problem = None
            state, elapsed, holder = result.state, result.elapsed, self.node if result.kept else ""
            self._learn(request, result, unsettled)
            settled |= dict(zip(unsettled, result.outcomes, strict=True))
        self._count(settled, request)
        outcomes = tuple(settled[tactic] for tactic in request.tactics)
        return LeanRunReply(state or "", outcomes, elapsed, self.longest, holder)

    def _without_lean(self, request: LeanRunRequest) -> dict[str, Outcome]:
        """The outcomes that `screen` or the cache gives, by tactic."""
        settled: dict[str, Outcome] = {}
        for tactic in request.tactics:
            outcome = screen(tactic, request.theorem.rule)
            if outcome is None:
                outcome = self.cache.outcome(request.theorem, request.path, tactic, message=request.messages)
                self.counts.cache_hits += outcome is not None
            if outcome is not None:
                settled[tactic] = outcome
        return settled

    async def _batch(self, request: LeanRunRequest, tactics: list[str], state: str | None) -> TacticBatch:
        parsed = frozenset(tactic for tactic in tactics if self.cache.parses(request.theorem, tactic))
        timeout = min(self.longest, max(LEAST_SECONDS, request.timeout))
        theorem = request.theorem if self.contexts is None else await self.contexts.shortened(request.theorem)
        return TacticBatch(theorem, request.path, tuple(tactics), timeout, state, parsed, request.messages)

    def _learn(self, request: LeanRunRequest, result: BatchResult, tactics: list[str]) -> None:
        if result.state:
            self.cache.learn_state(request.theorem, request.path, result.state)
        for tactic, outcome in zip(tactics, result.outcomes, strict=True):
            self.cache.learn(request.theorem, request.path, tactic, outcome)

    def _count(self, settled: dict[str, Outcome], request: LeanRunRequest) -> None:
        self.counts.candidates += len(request.tactics)
        for tactic in request.tactics:
            self.counts.outcomes[settled[tactic].kind] += 1


def screen(tactic: str, rule: TacticRule | None = None) -> Outcome | None:
    """The outcome of a tactic that its text alone decides; None if Lean has to run the tactic. `rule`: the tactics that
    the theorem's proof may have.

    Unclosed brackets, strings or comments give ERROR, not REFUSED, because Lean's parser would not accept them either.
    """
    problem = tactic_problem(tactic, rule)
    if problem:
        return Outcome(OutcomeKind.REFUSED, message=problem)
    lexed = lex(tactic)
    problem = lexed.problem
    if not problem and INACCESSIBLE in lexed.code and "«" not in lexed.code:
        problem = f"{INACCESSIBLE!r} marks a hypothesis that no tactic can name"
    return Outcome(OutcomeKind.ERROR, message=f"does not parse: {problem}") if problem else None
