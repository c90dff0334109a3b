"""Answers a `lean.run` request: text rules and cache first, a backend for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.lean import BadStatement, Outcome, OutcomeKind
from common.messages import Busy, Failure, FailureKind, LeanRunReply, LeanRunRequest, Message
from common.places import BadContext
from node.lean.backend import Backend, BackendDown, BackendFull, BatchResult, TacticBatch
from node.lean.cache import OutcomeCache
from node.lean.contexts.modules import ContextModules
from node.lean.text.lexing import lex
from node.lean.text.rules import statement_problem, tactic_problem

MAX_CANDIDATES = 256
"""In one request: their outcomes must fit into one message."""

LEAST_SECONDS = 0.05
"""For a candidate: no tactic is to fail because a request left it no time at all."""

RETRY_SECONDS = 1.0
"""When to ask again while Lean does not start."""

INACCESSIBLE = "✝"
"""What Lean prints behind the name of a hypothesis that no tactic can name; its parser knows no such character."""


@dataclass
class Counts:
    """What this proxy has done, for metrics and heartbeats."""

    candidates: int = 0
    cache_hits: int = 0
    failures: int = 0
    """Requests that Lean or its server could not take: answered `busy`, to be asked again."""
    outcomes: dict[OutcomeKind, int] = field(default_factory=lambda: dict.fromkeys(OutcomeKind, 0))


@dataclass
class Requests:
    """Answers requests with a backend and a cache."""

    backend: Backend
    cache: OutcomeCache
    longest: float
    """Most seconds for a candidate, whatever a request asks for; the least is LEAST_SECONDS."""
    contexts: ContextModules | None = None
    """Makes modules of long texts above gaps; None: workers elaborate these as they stand."""
    counts: Counts = field(default_factory=Counts)
    problem: str | None = None
    """Why Lean does not start; None when it does."""

    async def run(self, request: LeanRunRequest) -> Message:
        """LeanRunReply, Busy, or Failure (BAD_STATEMENT where Lean or the rules refuse the statement)."""
        theorem = request.theorem
        # A place holds text of a file: Lean elaborates that as it stands, and no rule of ours is asked.
        problem = "" if theorem.place is not None else statement_problem(theorem.binders, theorem.conclusion)
        if problem:
            return Failure(reason=problem, kind=FailureKind.BAD_STATEMENT)
        if theorem.place is not None and not self.backend.in_files:
            problem = 'theorems in files need Lean\'s own workers: [lean] backend = "worker"'
            return Failure(reason=problem, kind=FailureKind.BAD_STATEMENT)
        if len(request.tactics) > MAX_CANDIDATES:
            return Failure(reason=f"{len(request.tactics)} candidates; at most {MAX_CANDIDATES} in one request")
        settled = self._known(request)
        unsettled = [tactic for tactic in dict.fromkeys(request.tactics) if tactic not in settled]
        state = self.cache.state(theorem, request.path)
        elapsed = 0.0
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
            state, elapsed = result.state, result.elapsed
            self._learn(request, result, unsettled)
            settled |= dict(zip(unsettled, result.outcomes, strict=True))
        self._count(settled, request)
        return LeanRunReply(state=state or "", outcomes=tuple(settled[t] for t in request.tactics), elapsed=elapsed)

    def _known(self, request: LeanRunRequest) -> dict[str, Outcome]:
        """Outcomes that need no Lean: those of `screen`, and those in the cache."""
        known: dict[str, Outcome] = {}
        for tactic in request.tactics:
            outcome = screen(tactic)
            if outcome is None:
                outcome = self.cache.outcome(request.theorem, request.path, tactic)
                self.counts.cache_hits += outcome is not None
            if outcome is not None:
                known[tactic] = outcome
        return known

    async def _batch(self, request: LeanRunRequest, tactics: list[str], state: str | None) -> TacticBatch:
        parsed = frozenset(tactic for tactic in tactics if self.cache.parses(request.theorem, tactic))
        timeout = min(self.longest, max(LEAST_SECONDS, request.timeout))
        theorem = request.theorem if self.contexts is None else await self.contexts.shortened(request.theorem)
        return TacticBatch(theorem, request.path, tuple(tactics), timeout, state, parsed)

    def _learn(self, request: LeanRunRequest, result: BatchResult, tactics: list[str]) -> None:
        if result.state:
            self.cache.learn_state(request.theorem, request.path, result.state)
        for tactic, outcome in zip(tactics, result.outcomes, strict=True):
            self.cache.learn(request.theorem, request.path, tactic, outcome)

    def _count(self, settled: dict[str, Outcome], request: LeanRunRequest) -> None:
        self.counts.candidates += len(request.tactics)
        for tactic in request.tactics:
            self.counts.outcomes[settled[tactic].kind] += 1


def screen(tactic: str) -> Outcome | None:
    """The outcome of a tactic that Lean need not see, from its text alone; None for the others.

    Unclosed brackets, strings or comments make an ERROR, not a REFUSED: Lean's parser would not accept them either.
    """
    problem = tactic_problem(tactic)
    if problem:
        return Outcome(OutcomeKind.REFUSED, message=problem)
    lexed = lex(tactic)
    problem = lexed.problem
    if not problem and INACCESSIBLE in lexed.code and "«" not in lexed.code:
        problem = f"{INACCESSIBLE!r} marks a hypothesis that no tactic can name"
    return Outcome(OutcomeKind.ERROR, message=f"does not parse: {problem}") if problem else None
