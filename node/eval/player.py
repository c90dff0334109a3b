"""The player of an evaluation's attempts: this process (`alone.py`), or the provers of a mesh (`over_mesh.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Protocol

from common.protocol.attempts import Attempt, AttemptOutcome, AttemptResult, Purpose
from common.seeds import derive_seed
from node.eval.plan import Plan
from node.eval.records import AttemptRecord, StatementRecord, standing


class Slots:
    """Limits how many searches run at once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.taken = 0
        self._more = True
        self.over = asyncio.Event()
        """Set when no search runs and none will start: only verifications remain."""
        self._room = asyncio.Event()

    async def take(self) -> Slot:
        """Waits for a free slot and takes it."""
        await self.enter()
        return Slot(self)

    async def enter(self) -> None:
        """Waits for a free slot and counts it as taken."""
        while self.taken >= self.count:
            self._room.clear()
            await self._room.wait()
        self.taken += 1
        self.over.clear()

    def give_back(self) -> None:
        """Frees a slot."""
        self.taken -= 1
        self._room.set()
        self.expect(self._more)

    def expect(self, more: bool) -> None:
        """Sets whether further searches will start."""
        self._more = more
        if self.taken or more:
            self.over.clear()
        else:
            self.over.set()

    def resize(self, count: int) -> None:
        """Changes the number of slots. Running searches beyond it continue."""
        self.count = count
        self._room.set()


class Slot:
    """The slot of one search. The search may leave it for a while and come back; it is freed once at the end."""

    def __init__(self, slots: Slots) -> None:
        self._slots = slots
        self._held = True

    def leave(self) -> None:
        """Frees the slot for another search."""
        if self._held:
            self._held = False
            self._slots.give_back()

    async def come_back(self) -> None:
        """Waits for a free slot and takes it again."""
        if not self._held:
            await self._slots.enter()
            self._held = True


class Player(Protocol):
    """Plays attempts. A failure gives the attempt the standing `undecided`; nothing is raised."""

    slots: Slots

    async def play(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """Plays one attempt to its end, including the verification of its proof. The caller frees the slot."""


def attempt_of(plan: Plan, statement: StatementRecord, number: int, attempt_id: str, **more: object) -> Attempt:
    """The attempt of a pass at a statement. The first pass has the same seed as an evaluation during training."""
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
    """Most whole proofs that a pass samples: half of its simulations if a search follows them."""
    return (plan.budgets.simulations + 1) // 2 if plan.then else plan.budgets.simulations


def seed_of(seed: int, name: str, number: int) -> int:
    """The seed of a pass at a statement."""
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
