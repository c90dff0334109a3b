"""Answers a `lean.run` request: rules and cache first, Lean for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from common.lean import Outcome, OutcomeKind
from common.messages import Busy, Failure, LeanRunReply, LeanRunRequest, Message
from node.lean_proxy.cache import OutcomeCache, state_key
from node.lean_proxy.lexing import lex
from node.lean_proxy.pool import Pool, PoolFull
from node.lean_proxy.rules import statement_problem, tactic_problem
from node.lean_proxy.worker.plan import Plan
from node.lean_proxy.worker.process import WorkerEnded
from node.lean_proxy.worker.runner import BadHeader

MAX_CANDIDATES = 256
"""In one request: their outcomes must fit into one message."""

PROBE_ABOVE = 1.0
"""Candidates of a batch that probably do not parse, above which it pays to probe first. Each costs an edit of about
4 ms when it is met in the batch; a probe costs an edit, and 0.2 ms for each candidate."""

INACCESSIBLE = "✝"
"""What Lean prints behind the name of a hypothesis that cannot be named; its parser knows no such character."""

GARBAGE_MEMORY = 0.02
"""Weight of a candidate in the running share of those that do not parse: about the last 50 count."""


@dataclass
class Counts:
    """What this proxy has done, for metrics and heartbeats."""

    candidates: int = 0
    cache_hits: int = 0
    outcomes: dict[OutcomeKind, int] = field(default_factory=lambda: dict.fromkeys(OutcomeKind, 0))


@dataclass
class Requests:
    """Answers requests with a pool and a cache."""

    pool: Pool
    cache: OutcomeCache
    longest: float
    """Most seconds for a candidate, whatever a request asks for."""
    counts: Counts = field(default_factory=Counts)
    problem: str | None = None
    """Why Lean does not start; None when it does."""
    garbage: float = 0.0
    """Running share of candidates that do not parse."""

    async def run(self, request: LeanRunRequest) -> Message:
        """LeanRunReply, Busy, or Failure(kind="bad-statement")."""
        theorem = request.theorem
        problem = statement_problem(theorem.binders, theorem.conclusion)
        if problem:
            return Failure(reason=problem, kind="bad-statement")
        if len(request.tactics) > MAX_CANDIDATES:
            return Failure(reason=f"{len(request.tactics)} candidates; at most {MAX_CANDIDATES} in one request")
        settled = self._known(request)
        open_ = [tactic for tactic in dict.fromkeys(request.tactics) if tactic not in settled]
        state = self.cache.state(theorem, request.path)
        elapsed = 0.0
        if open_ or state is None:
            plan = self._plan(request, open_, state)
            try:
                timeout = min(self.longest, max(0.05, request.timeout))
                elapsed = await self.pool.run(plan, timeout=timeout, warm=state_key(theorem, ()))
            except PoolFull as error:
                return Busy(retry_after=error.retry_after, reason=str(error))
            except BadHeader as error:
                return Failure(reason=str(error), kind="bad-statement")
            except (WorkerEnded, OSError) as error:
                self.problem = f"Lean does not start: {error}"
                return Busy(retry_after=1.0, reason=self.problem)
            self.problem = None
            if plan.bad_statement:
                return Failure(reason=plan.bad_statement, kind="bad-statement")
            state = plan.state or ""
            self._learn(request, plan, open_)
            settled |= {tactic: plan.outcomes[index] for index, tactic in enumerate(open_)}
        self._count(settled, request)
        return LeanRunReply(state=state or "", outcomes=tuple(settled[t] for t in request.tactics), elapsed=elapsed)

    def _known(self, request: LeanRunRequest) -> dict[str, Outcome]:
        """Outcomes that need no Lean: refused by the rules, not closed in themselves, or remembered."""
        known: dict[str, Outcome] = {}
        for tactic in request.tactics:
            outcome = screen(tactic)
            if outcome is None:
                outcome = self.cache.outcome(request.theorem, request.path, tactic)
                self.counts.cache_hits += outcome is not None
            if outcome is not None:
                known[tactic] = outcome
        return known

    def _plan(self, request: LeanRunRequest, tactics: list[str], state: str | None) -> Plan:
        theorem = request.theorem
        unknown = [i for i, tactic in enumerate(tactics) if not self.cache.parses(theorem.header, tactic)]
        return Plan(
            theorem,
            request.path,
            dict(enumerate(tactics)),
            state=state,
            probe=frozenset(unknown) if self.garbage * len(unknown) > PROBE_ABOVE else frozenset(),
            alone=frozenset(i for i, tactic in enumerate(tactics) if lex(tactic).unusual),
        )

    def _learn(self, request: LeanRunRequest, plan: Plan, tactics: list[str]) -> None:
        if plan.state:
            self.cache.learn_state(request.theorem, request.path, plan.state)
        for index, tactic in enumerate(tactics):
            self.cache.learn(request.theorem, request.path, tactic, plan.outcomes[index])
            self.garbage += GARBAGE_MEMORY * ((index in plan.unparsable) - self.garbage)

    def _count(self, settled: dict[str, Outcome], request: LeanRunRequest) -> None:
        self.counts.candidates += len(request.tactics)
        for tactic in request.tactics:
            self.counts.outcomes[settled[tactic].kind] += 1


def screen(tactic: str) -> Outcome | None:
    """The outcome of a tactic that is not shown to Lean; None for the others.

    Text that is not closed in itself is an error of the tactic, not a breach of the rules: Lean's parser says no more.
    """
    problem = tactic_problem(tactic)
    if problem:
        return Outcome(OutcomeKind.REFUSED, message=problem)
    lexed = lex(tactic)
    problem = lexed.problem
    if not problem and INACCESSIBLE in lexed.code and "«" not in lexed.code:
        problem = f"{INACCESSIBLE!r} marks a hypothesis that no tactic can name"
    return Outcome(OutcomeKind.ERROR, message=f"does not parse: {problem}") if problem else None
