"""Plays the missing attempts of an evaluation, several at once, and writes each record when the attempt ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from common.output.command import Exit, UserError
from node.eval.folder import EvaluationFolder
from node.eval.player import Player, Slot
from node.eval.records import AttemptRecord, Standing, StatementRecord

TRIES = 3
"""How often one run of the command plays an attempt that fails because of infrastructure."""

FAILURES = 20
"""After this many undecided attempts in a row the evaluation stops with an error."""


class EvaluationFailed(UserError, RuntimeError):
    """Too many attempts in a row failed because of infrastructure; the text has the last reason."""

    exit_code = Exit.UNAVAILABLE


Due = tuple[StatementRecord, int]
"""A statement, and the number of the pass."""


def due(statements: Sequence[StatementRecord], attempts: Iterable[AttemptRecord], passes: int) -> list[Due]:
    """The missing attempts, pass by pass, in the order of the statements. Undecided attempts are played again. A
    statement that does not elaborate gets no further attempts."""
    latest = {(each.name, each.number): each for each in attempts}
    refused = {each.name for each in latest.values() if each.standing is Standing.NOT_ELABORATED}
    refused |= {each.name for each in statements if each.refused}
    return [
        (statement, number)
        for number in range(passes)
        for statement in statements
        if statement.name not in refused
        and ((record := latest.get((statement.name, number))) is None or not record.decided)
    ]


class Runner:
    """Plays attempts until none is missing, or `stopping` is set."""

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
        """Plays the missing attempts. When `stopping` is set, running attempts are cancelled and not recorded. Raises
        EvaluationFailed, FolderError."""
        stop = asyncio.create_task(self._stopping.wait())
        self._player.slots.expect(more=True)
        try:
            for statement, number in self._playable(missing):
                slot = await self._slot(stop)
                if slot is None:
                    return
                self._playing.add(asyncio.create_task(self._one(statement, number, slot)))
            self._player.slots.expect(more=False)
            while self._playing and not stop.done():
                await self._next_end(stop)
        finally:
            for task in (stop, *self._playing):
                task.cancel()
            await asyncio.gather(stop, *self._playing, return_exceptions=True)

    async def _slot(self, stop: asyncio.Task[bool]) -> Slot | None:
        """Waits for a free slot; returns None if `stop` is set first. Raises the errors of running attempts."""
        taking = asyncio.create_task(self._player.slots.take())
        try:
            while not (taking.done() or stop.done()):
                await self._next_end(stop, taking)
            return None if stop.done() else taking.result()
        finally:
            taking.cancel()

    async def _next_end(self, *others: asyncio.Task[Any]) -> None:
        """Waits until an attempt or one of the other tasks ends. Raises the errors of attempts."""
        await asyncio.wait({*self._playing, *others}, return_when=asyncio.FIRST_COMPLETED)
        ended = {task for task in self._playing if task.done()}
        self._playing -= ended
        for task in ended:
            task.result()

    def _playable(self, missing: Sequence[Due]) -> Iterator[Due]:
        """The missing attempts, without statements that an attempt found not to elaborate."""
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
                f"{FAILURES} attempts in a row failed because of infrastructure, the last one with: {record.reason}"
            )

    async def _decided(self, statement: StatementRecord, number: int, slot: Slot) -> AttemptRecord:
        """Plays an attempt, again if infrastructure fails, at most TRIES times."""
        tries = 0
        while True:
            tries += 1
            await slot.come_back()
            record = await self._player.play(statement, number, slot)
            if record.standing is not Standing.UNDECIDED or tries == TRIES:
                return msgspec.structs.replace(record, tries=tries, time=round(time.time(), 3))
