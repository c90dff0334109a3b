"""The state that the learner's parts share: the run's directory, database, settings and connection, and its events."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from common.bus import Bus, BusError, persistently
from common.life.node import NodeContext
from common.life.waiting import wait_first
from common.protocol.attempts import TRAINED_PURPOSES, AttemptOutcome, Purpose
from common.records.rows import Verdict
from common.records.store import Store, StoreThread
from node.learner.algorithms.algorithm import Algorithm
from node.learner.choosing.data import Data
from node.learner.choosing.matchmaker import Matchmaker
from node.learner.replay.replay import Replay
from node.learner.run.directory import RunDirectory
from node.learner.run.journal import TRANSITIONS, LearnerJournal
from node.learner.settings import LearnerSettings

R = TypeVar("R")


class Stopping(Exception):
    """The node stops while a request still waits for the broker."""


@dataclass(frozen=True)
class Recorded:
    """A result that was recorded just now."""

    attempt_id: str
    theorem_id: str
    purpose: str
    verdict: Verdict
    expansions: int


@dataclass
class Run:
    """One run in this process."""

    ctx: NodeContext
    settings: LearnerSettings
    directory: RunDirectory
    store: StoreThread
    data: Data
    matchmaker: Matchmaker
    replay: Replay
    journal: LearnerJournal
    algorithm: Algorithm
    """Decides what is attempted, how, and what is learned from it."""
    on_recorded: list[Callable[[Recorded], None]] = field(default_factory=list)
    judging: Counter[str] = field(default_factory=Counter)
    """By purpose, the number of attempts whose proofs are being verified. They are outstanding, but hold no search
    slot, so other attempts may begin."""
    on_judging: list[Callable[[], None]] = field(default_factory=list)
    """Called when the verification of a proof begins."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a result was recorded; ends `wait`."""

    @property
    def bus(self) -> Bus:
        return self.ctx.bus

    @property
    def log(self) -> Any:
        return self.ctx.log

    @property
    def stopping(self) -> bool:
        return self.ctx.stopping.is_set()

    @contextmanager
    def judged(self, purpose: str) -> Iterator[None]:
        """Count an attempt of this purpose as waiting for the verification of its proof."""
        self.judging[purpose] += 1
        for hear in self.on_judging:
            hear()
        try:
            yield
        finally:
            self.judging[purpose] -= 1

    async def recorded(self, event: Recorded) -> None:
        """Notify the learner's parts of a recorded result."""
        if event.purpose in TRAINED_PURPOSES:
            self.matchmaker.recorded(event.theorem_id, event.purpose == Purpose.DISPROVE, event.verdict.outcome)
        if event.verdict.outcome == AttemptOutcome.PROVED:
            await self.fill_replay()
        for hear in self.on_recorded:
            hear(event)
        self.changed.set()

    async def fill_replay(self) -> int:
        """Add new transitions from the database to the replay buffer; returns how many were new.

        Raises RunDirectoryError.
        """
        added = 0
        while rows := await self.store.call(Store.examples, self.replay.last_id):
            added += self.replay.add(rows)
        TRANSITIONS.set(len(self.replay))
        return added

    async def wait(self, seconds: float) -> None:
        """Wait until a result was recorded, the node stops, or `seconds` have passed."""
        await wait_first(self.changed, self.ctx.stopping, timeout=seconds)
        self.changed.clear()

    async def persistently(self, send: Callable[[], Awaitable[R]], complaint: str) -> R:
        """Retry until the broker accepts the request; each failure is logged as `complaint`. Raises Stopping if the
        node stops meanwhile."""
        try:
            return await persistently(send, complaint, until=lambda: self.stopping)
        except BusError as error:
            raise Stopping(complaint) from error


def now() -> float:
    """Unix time."""
    return time.time()
