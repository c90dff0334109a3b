"""Plays what is missing of an evaluation, several attempts at once, and keeps each record when it comes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from node.eval.folder import EvaluationFolder
from node.eval.player import Player, Slot
from node.eval.records import AttemptRecord, Standing, StatementRecord

TRIES = 3
"""Of an attempt that infrastructure keeps from being decided, within one run of the command."""

FAILURES = 20
"""Attempts in a row that are undecided, after which the machinery is held to be broken."""


class EvaluationFailed(RuntimeError):
    """The machinery fails again and again; the text says how."""


Due = tuple[StatementRecord, int]
"""A statement, and the pass."""


def due(statements: Sequence[StatementRecord], attempts: Iterable[AttemptRecord], passes: int) -> list[Due]:
    """What is missing: pass by pass, in the order of the statements. Undecided attempts are to be played again; what
    Lean does not take needs no second one."""
    latest = {(each.name, each.number): each for each in attempts}
    refused = {each.name for each in latest.values() if each.standing is Standing.NOT_ELABORATED}
    refused |= {each.name for each in statements if each.refused}
    return [
        (statement, number)
        for number in range(passes)
        for statement in statements
        if statement.name not in refused
        and ((found := latest.get((statement.name, number))) is None or not found.decided)
    ]


class Runner:
    """Plays attempts until none is due, or `stopping` is set."""

    def __init__(
        self,
        player: Player,
        folder: EvaluationFolder,
        stopping: asyncio.Event,
        recorded: Callable[[AttemptRecord], None] = lambda record: None,
    ) -> None:
        self._player = player
        self._folder = folder
        self._stopping = stopping
        self._recorded = recorded
        self._playing: set[asyncio.Task[None]] = set()
        self._refused: set[str] = set()
        self._failures = 0

    async def run(self, missing: Sequence[Due]) -> None:
        """Play them. What is not decided when `stopping` is set is dropped. Raises EvaluationFailed, FolderError."""
        stop = asyncio.create_task(self._stopping.wait())
        self._player.slots.expect(more=True)
        try:
            for statement, number in self._wanted(missing):
                slot = await self._slot(stop)
                if slot is None:
                    return
                self._playing.add(asyncio.create_task(self._one(statement, number, slot)))
            self._player.slots.expect(more=False)
            while self._playing and not stop.done():
                await self._something(stop)
        finally:
            for task in (stop, *self._playing):
                task.cancel()
            await asyncio.gather(stop, *self._playing, return_exceptions=True)

    async def _slot(self, stop: asyncio.Task[bool]) -> Slot | None:
        """Room for one more search; None when it is to stop. Raises what an attempt that plays has raised."""
        taking = asyncio.create_task(self._player.slots.take())
        try:
            while not (taking.done() or stop.done()):
                await self._something(stop, taking)
            return None if stop.done() else taking.result()
        finally:
            taking.cancel()

    async def _something(self, *others: asyncio.Task[Any]) -> None:
        """Wait until an attempt or one of some other tasks ends. Raises what an attempt has raised."""
        await asyncio.wait({*self._playing, *others}, return_when=asyncio.FIRST_COMPLETED)
        ended = {task for task in self._playing if task.done()}
        self._playing -= ended
        for task in ended:
            task.result()

    def _wanted(self, missing: Sequence[Due]) -> Iterator[Due]:
        """Without statements of which it has turned out that Lean does not take them."""
        return (each for each in missing if each[0].name not in self._refused)

    async def _one(self, statement: StatementRecord, number: int, slot: Slot) -> None:
        try:
            record = await self._decided(statement, number, slot)
        finally:
            slot.leave()
        if record.standing is Standing.NOT_ELABORATED:
            self._refused.add(statement.name)
        self._folder.add(record)
        self._recorded(record)
        self._failures = self._failures + 1 if record.standing is Standing.UNDECIDED else 0
        if self._failures >= FAILURES:
            raise EvaluationFailed(
                f"{FAILURES} attempts in a row failed for reasons of the machinery, the last one: {record.reason}"
            )

    async def _decided(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """The attempt, tried again while infrastructure fails."""
        tries = 0
        while True:
            tries += 1
            await slot.come_back()
            record = await self._player.play(statement, number, slot)
            if record.standing is not Standing.UNDECIDED or tries == TRIES:
                return msgspec.structs.replace(record, tries=tries, time=round(time.time(), 3))
