"""Judges whole proofs and tactics with Lean.

Whole proofs: the statement comes from the data set, the tactic block from the completion. Lean elaborates both. A text
without errors is verified in fresh processes, including its axioms (`node.lean.snippets`).

Tactics: Lean elaborates the proof so far followed by the tactic. The remaining goals are in Lean's error at the `by` of
the statement. If goals remain, the tactics of the budget are tried.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import Any

from common.lean import Theorem
from node.lean.snippets.snippet import Snippet, SnippetResult
from node.lean.text.goals import split_goals
from node.lean.text.lexing import lex
from node.rewards.asking import Desk, Unavailable
from node.rewards.reading import Row, snippet_of


class Verdict(enum.StrEnum):
    """The result of checking a completion."""

    VERIFIED = "verified"
    """A whole proof that Lean's kernel accepts, and that uses only Lean's standard axioms."""
    REJECTED = "rejected"
    """A whole proof that Lean rejects, or that the text rules forbid."""
    NO_PROOF = "no proof"
    """No proof to check: empty, cut off, prose, `sorry`."""
    LIMIT = "limit"
    """A limit of time, memory or length was reached, or Lean's process crashed repeatedly."""
    ERROR = "error"
    """A tactic that fails, or that the text rules forbid."""
    UNCHANGED = "unchanged"
    """A tactic that succeeds and leaves the proof state as it was, such as `skip`."""
    LEGAL = "legal"
    """A tactic that succeeds, changes the state, and leaves at least as many goals as before."""
    CLOSES_GOAL = "closes goal"
    """A tactic that leaves fewer goals than before."""
    WITHIN_BUDGET = "within budget"
    """A tactic after which the remaining budget proves the theorem."""
    CLOSES_THEOREM = "closes theorem"
    """A tactic that completes the proof of the theorem; the whole proof is verified."""
    UNKNOWN = "unknown"
    """No verdict, because Lean did not answer. It implies nothing about the completion."""


@dataclass(frozen=True)
class RewardValues:
    """The reward for each verdict. For `unknown` the reward is None."""

    verified: float = 1.0
    rejected: float = 0.0
    """Also for completions without a proof, and for those that reach a limit."""
    error: float = 0.0
    unchanged: float = 0.0
    legal: float = 0.1
    closes_goal: float = 0.3
    within_budget: float = 0.7
    closes_theorem: float = 1.0

    def of(self, verdict: Verdict) -> float | None:
        """The reward for a verdict."""
        return {
            Verdict.VERIFIED: self.verified,
            Verdict.REJECTED: self.rejected,
            Verdict.NO_PROOF: self.rejected,
            Verdict.LIMIT: self.rejected,
            Verdict.ERROR: self.error,
            Verdict.UNCHANGED: self.unchanged,
            Verdict.LEGAL: self.legal,
            Verdict.CLOSES_GOAL: self.closes_goal,
            Verdict.WITHIN_BUDGET: self.within_budget,
            Verdict.CLOSES_THEOREM: self.closes_theorem,
        }.get(verdict)


@dataclass(frozen=True)
class Judged:
    """The verdict on a completion."""

    verdict: Verdict
    reason: str = ""
    """Why the verdict is not better, or why there is none, in words."""


TRIES = 3
"""Attempts at a text if Lean's process crashes. Later ones use a fresh process: another text may have caused the
crash."""

REASON_CHARACTERS = 300

_OWN = re.compile(r"timed out|memory limit|ran out of memory|^the snippet (?:has|says)")
"""Errors that the text causes; all others are failures of the checker."""
_ENDED = "Lean REPL process ended"
_UNSOLVED = "unsolved goals"
_DECLARED = "has already been declared"
_CASE = re.compile(r"^case [^\n]*\n")
_METAVARIABLE = re.compile(r"\?m\.\d+|\?u\.\d+")


@dataclass(frozen=True)
class Budget:
    """Tactics that may follow the judged tactic."""

    finishers: tuple[str, ...] = ()
    """On every remaining goal, the first of these tactics that succeeds is run."""
    depth: int = 1
    """How many times in a row this is done, each time on all remaining goals."""

    def scripts(self, row: Row) -> list[str]:
        """Tactic blocks that may complete a proof."""
        blocks = ["\n".join(row.remaining)] if row.remaining else []
        if self.finishers and self.depth:
            # The proof fails if goals remain at its end. In all rounds but the last, `skip` keeps a goal for the next
            # round.
            choice = " | ".join(f"({each})" for each in self.finishers)
            rounds = [f"all_goals (first | {choice} | skip)"] * (self.depth - 1)
            blocks.append("\n".join([*rounds, f"all_goals (first | {choice})"]))
        return blocks


@dataclass(frozen=True)
class _Elaborated:
    """Lean's result for a text."""

    result: SnippetResult
    goals: int | None
    """Number of remaining goals, if they are the only error; 0: a complete proof. None: there is another error."""
    at_statement: bool
    """True when the first error is in the lines of the statement."""
    state: tuple[str, ...] = ()
    """The remaining goals, without the names of cases and in no order."""


class Asker:
    """Judges completions through a desk, with a time limit."""

    def __init__(self, desk: Desk, seconds: float) -> None:
        """`seconds`: time limit for the elaboration of each text."""
        self._desk = desk
        self._seconds = seconds

    async def proof(self, row: Row, script: str) -> Judged:
        """Judges a whole proof. Raises Unavailable."""
        elaborated = await self._elaborated(row, script)
        if elaborated.result.verdict.accepted:
            return Judged(Verdict.VERIFIED)
        if elaborated.result.error:
            return Judged(Verdict.LIMIT, elaborated.result.error)
        await self._stated(row, elaborated)
        return Judged(Verdict.REJECTED, _reason(elaborated.result))

    async def tactic(self, row: Row, tactic: str, budget: Budget) -> Judged:
        """Judges a tactic. Raises Unavailable, also if the tactics before it fail."""
        lexed = lex(tactic)
        if lexed.problem:
            return Judged(Verdict.ERROR, f"does not parse: {lexed.problem}")
        before = await self._state_before(row)
        path = "\n".join([*row.steps, tactic])
        elaborated = await self._elaborated(row, path)
        if elaborated.result.error:
            return Judged(Verdict.LIMIT, elaborated.result.error)
        if elaborated.goals is None:
            await self._stated(row, elaborated)
            return Judged(Verdict.ERROR, _reason(elaborated.result))
        if elaborated.goals == 0:
            return Judged(Verdict.CLOSES_THEOREM)
        if elaborated.state == before:
            return Judged(Verdict.UNCHANGED, "it does not change the proof state")
        for continuation in budget.scripts(row):
            if (await self._elaborated(row, f"{path}\n{continuation}")).result.verdict.accepted:
                return Judged(Verdict.WITHIN_BUDGET)
        return Judged(Verdict.CLOSES_GOAL if elaborated.goals < len(before) else Verdict.LEGAL)

    async def _state_before(self, row: Row) -> tuple[str, ...]:
        """The goals before the tactic. Raises Unavailable if the tactics before do not lead to a goal."""
        elaborated = await self._elaborated(row, "\n".join(row.steps) or "skip")
        if elaborated.goals:
            return elaborated.state
        if not row.steps:
            await self._stated(row, elaborated)
        why = elaborated.result.error or _reason(elaborated.result) or "no goal remains after them"
        raise Unavailable(f"the tactics before the state do not lead to it: {why}")

    async def _stated(self, row: Row, elaborated: _Elaborated) -> None:
        """Raises Unavailable if Lean rejects the statement itself, so that no proof can be judged."""
        if not elaborated.at_statement:
            return
        alone = await self._check(snippet_of(row.theorem, "sorry")[0])
        if errors := _errors(alone):
            raise Unavailable(f"Lean rejects the statement: {errors[0]['data'][:REASON_CHARACTERS]}")

    async def _elaborated(self, row: Row, script: str) -> _Elaborated:
        tried = []
        for theorem in row.theorems(script):
            tried.append(await self._under_its_name(theorem, script))
            if tried[-1].goals is not None:
                return tried[-1]
        return tried[-1] if _DECLARED in _reason(tried[0].result) else tried[0]

    async def _under_its_name(self, theorem: Theorem, script: str) -> _Elaborated:
        code, line = snippet_of(theorem, script)
        result = await self._check(code)
        if result.verdict.accepted:
            return _Elaborated(result, 0, False)
        errors = _errors(result)
        own = [each for each in errors if each["pos"]["line"] == line and each["data"].startswith(_UNSOLVED)]
        state = _goals(own[0]["data"]) if len(own) == len(errors) == 1 else ()
        at_statement = bool(errors) and errors[0]["pos"]["line"] <= line and not own
        return _Elaborated(result, len(state) or None, at_statement, state)

    async def _check(self, code: str) -> SnippetResult:
        """Raises Unavailable."""
        for number in range(TRIES):
            # The header is from the data set and may declare syntax. A script cannot: the text rules forbid commands.
            snippet = Snippet(code, self._seconds, fresh=number > 0, allow_own_syntax=True)
            result = await self._desk.check(snippet)
            if not result.error.startswith(_ENDED):
                break
        if result.error and not _OWN.search(result.error) and not result.error.startswith(_ENDED):
            raise Unavailable(result.error)
        return result


def _goals(text: str) -> tuple[str, ...]:
    """The goals of a printed proof state, in an order that does not depend on theirs."""
    goals = (_CASE.sub("", goal, count=1) for goal in split_goals(text))
    return tuple(sorted(_METAVARIABLE.sub("?", goal) for goal in goals))


def _errors(result: SnippetResult) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = (result.response or {}).get("messages", [])
    return [each for each in messages if each["severity"] == "error"]


def _reason(result: SnippetResult) -> str:
    return result.verdict.reason[:REASON_CHARACTERS]
