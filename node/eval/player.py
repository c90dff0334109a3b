"""What plays the attempts of an evaluation: this process (`alone.py`), or the provers of a mesh (`over_mesh.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from common.attempts import Attempt, AttemptOutcome, AttemptResult, Purpose
from common.seeds import derive_seed
from node.eval.plan import Plan
from node.eval.records import AttemptRecord, StatementRecord, standing


class Slots:
    """How many searches may be at work at once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken = 0
        self._more = True
        self.over = asyncio.Event()
        """No search is at work, and none will be: only verifications are."""
        self._room = asyncio.Event()

    async def take(self) -> Slot:
        """Wait until there is room for one more."""
        await self.enter()
        return Slot(self)

    async def enter(self) -> None:
        """Wait until there is room, and take it."""
        while self.taken >= self.count:
            self._room.clear()
            await self._room.wait()
        self.taken += 1
        self.over.clear()

    def give_back(self) -> None:
        """There is room for one more."""
        self.taken -= 1
        self._room.set()
        self.expect(self._more)

    def expect(self, more: bool) -> None:
        """Say whether further searches are to begin."""
        self._more = more
        if self.taken or more:
            self.over.clear()
        else:
            self.over.set()

    def resize(self, count: int) -> None:
        """So many from now on; those at work beyond that go on."""
        self.count = count
        self._room.set()


class Slot:
    """The room of one search. It may be left to others for a while, and is given back once."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._held = True

    def leave(self) -> None:
        """Let another search begin."""
        if self._held:
            self._held = False
            self._slots.give_back()

    async def come_back(self) -> None:
        """Wait until there is room again."""
        if not self._held:
            await self._slots.enter()
            self._held = True


class Player(Protocol):
    """Plays attempts. What fails in it is the attempt's standing `undecided`, and nothing is raised."""

    slots: Slots

    async def play(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """One attempt at a statement, to its end: a proof is verified. The slot is given back by the caller."""


def attempt_of(plan: Plan, statement: StatementRecord, number: int, attempt_id: str, **more: object) -> Attempt:
    """The attempt of a pass at a statement. The first pass has the seed of an evaluation within a run."""
    return Attempt(
        attempt_id=attempt_id,
        theorem_id=statement.name,
        theorem=statement.theorem,
        purpose=Purpose.EVAL,
        simulations=plan.budgets.simulations,
        seed=seed_of(plan.seed, statement.name, number),
        samples=plan.samples,
        method=plan.method,
        correct=plan.correct,
        then=plan.then,
        first=number * proofs_of_a_pass(plan),
        lean_attempts=plan.budgets.lean_attempts,
        seconds=plan.budgets.seconds,
        **more,  # type: ignore[arg-type]
    )


def proofs_of_a_pass(plan: Plan) -> int:
    """How many whole proofs a pass asks for at most: half of its simulations where a search goes on behind them."""
    return (plan.budgets.simulations + 1) // 2 if plan.then else plan.budgets.simulations


def seed_of(seed: int, name: str, number: int) -> int:
    """Seed of a pass at a statement."""
    return derive_seed(seed, "eval", name, *([number] if number else []))


def record_of(
    result: AttemptResult, name: str, number: int, *, proof: Mapping[str, object] | None = None
) -> AttemptRecord:
    """The record of a result. `proof`: script and axioms of a verified proof."""
    decided = standing(result.outcome, result.statistics)
    ended = result.statistics.ended
    return AttemptRecord(
        name=name,
        number=number,
        standing=decided,
        ended=ended or ("" if result.outcome is AttemptOutcome.PROVED else result.outcome),
        reason="" if result.outcome is AttemptOutcome.PROVED else result.message,
        statistics=result.statistics,
        sources=result.proof.sources() if result.proof else {},
        **(proof or {}),  # type: ignore[arg-type]
    )
