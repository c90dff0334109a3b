"""Searches for a proof or a disproof of a target, verifies it, and writes it as Lean text."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from common.lean import Theorem
from common.life.waiting import as_they_end
from common.places import Place
from common.protocol.attempts import AttemptOutcome
from common.protocol.messages import LeanVerifyReply
from node.lean.text.script import filled, written
from node.play.attempts import ProvingFailed
from node.proving.prover import Budget, Found, TheoremProver
from node.proving.statements import Target

PROVED, DISPROVED, FAILED, BAD_STATEMENT, ERROR = "proved", "disproved", "failed", "bad-statement", "error"


@dataclass(frozen=True)
class Answer:
    """The result for a target."""

    name: str
    outcome: str
    """`proved`, `disproved`, `failed`, `bad-statement`, or `error` for a failure of infrastructure."""
    proof: str = ""
    """The indented block of tactics that follows `:= by`."""
    lean: str = ""
    """The theorem (or the file's command) with its proof; for a disproof, the negation."""
    replacement: str = ""
    """The text that replaces the `sorry`, if the target is one."""
    reason: str = ""
    by: str = ""
    """The source of the proof."""
    axioms: tuple[str, ...] = ()
    simulations: int = 0
    seconds: float = 0.0
    """Time of search and verification."""


@dataclass(frozen=True)
class _Side:
    """The result of a search for the statement or for its negation."""

    theorem: Theorem
    found: Found
    verdict: LeanVerifyReply | None = None

    @property
    def proved(self) -> bool:
        return self.verdict is not None and self.verdict.accepted


async def answer(prover: TheoremProver, target: Target, budget: Budget, *, disprove: bool = False) -> Answer:
    """Search for a proof; with `disprove` concurrently for a proof of the negation. The first accepted proof counts."""
    began = time.monotonic()
    try:
        if disprove and target.negations:
            side, negated = await _either(
                _side(prover, target.readings, budget), _side(prover, target.negations, budget)
            )
        else:
            side, negated = await _side(prover, target.readings, budget), False
    except ProvingFailed as error:
        return Answer(target.name, ERROR, reason=str(error), seconds=round(time.monotonic() - began, 2))
    return _answered(target, side, negated, round(time.monotonic() - began, 2))


async def _side(prover: TheoremProver, readings: Sequence[Theorem], budget: Budget) -> _Side:
    """Search and verify the first reading that Lean can elaborate. Raises ProvingFailed."""
    refused: _Side | None = None
    for theorem in readings:
        found = await prover.find(theorem, budget)
        if found.outcome is AttemptOutcome.BAD_STATEMENT:
            refused = refused or _Side(theorem, found)
            continue
        proved = found.outcome is AttemptOutcome.PROVED
        return _Side(theorem, found, await prover.verify(theorem, found.script) if proved else None)
    assert refused is not None
    return refused


async def _either(statement: Coroutine[Any, Any, _Side], negation: Coroutine[Any, Any, _Side]) -> tuple[_Side, bool]:
    """The side that is proved first, and whether it is the negation. The statement's side if neither is proved.

    Raises ProvingFailed.
    """
    proving, disproving = asyncio.create_task(statement), asyncio.create_task(negation)
    try:
        async for task in as_they_end(proving, disproving):
            side = task.result()
            if side.proved:
                return side, task is disproving
            if task is proving and side.found.outcome is AttemptOutcome.BAD_STATEMENT:
                return side, False
        return proving.result(), False
    finally:
        proving.cancel()
        disproving.cancel()
        await asyncio.gather(proving, disproving, return_exceptions=True)


def _answered(target: Target, side: _Side, negated: bool, seconds: float) -> Answer:
    found, verdict = side.found, side.verdict

    def without_proof(outcome: str, reason: str) -> Answer:
        return Answer(target.name, outcome, reason=reason, simulations=found.simulations, seconds=seconds)

    if found.outcome is AttemptOutcome.BAD_STATEMENT:
        return without_proof(BAD_STATEMENT, found.reason)
    if verdict is None:
        return without_proof(FAILED, found.reason or "no proof found")
    if not verdict.accepted:
        return without_proof(FAILED, f"Lean does not accept the proof that was found: {verdict.reason}")
    place = side.theorem.place
    axioms = ", ".join(verdict.axioms) or "none"
    return Answer(
        target.name,
        DISPROVED if negated else PROVED,
        proof="\n".join(f"  {line}" if line else "" for line in found.script),
        lean=written(side.theorem, found.script),
        replacement=replacement(place, found.script) if place and target.gap and not negated else "",
        reason=f"accepted by Lean {verdict.lean_version}, axioms: {axioms}"
        + (verdict.reason and f"; {verdict.reason}"),
        by=found.by,
        axioms=verdict.axioms,
        simulations=found.simulations,
        seconds=seconds,
    )


def replacement(place: Place, script: Sequence[str]) -> str:
    """The text that replaces the `sorry` of a gap."""
    command = filled(place, script)
    before = place.before if command.startswith(place.before) else place.before.rstrip(" ")
    return command[len(before) : len(command) - len(place.after)]
