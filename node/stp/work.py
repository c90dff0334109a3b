"""The context that all parts of a run of self-play share: recipe, store, data, network and progress display."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from common.life import faults
from node.stp.data import RunData
from node.stp.network import Network
from node.stp.plan import StpPlan
from node.stp.proving import Proving
from node.stp.settings import StpSettings
from node.stp.store import Part, Stage, StpStore

NOTED_EVERY = 5.0
"""Seconds after which the time spent is recorded, so that a kill loses little of it."""


class Watcher(Protocol):
    """Displays the progress of a run."""

    def note(self, text: str) -> None:
        """Show a message."""

    def part(self, name: str, total: int) -> None:
        """Begin a part with `total` items; 0: the number is unknown."""

    def advance(self, done: int) -> None:
        """`done` items of the part are finished."""


@dataclass
class Work:
    """One run of self-play."""

    plan: StpPlan
    store: StpStore
    data: RunData
    network: Network
    proving: Proving
    watcher: Watcher

    @property
    def settings(self) -> StpSettings:
        return self.plan.settings

    @property
    def directory(self) -> Path:
        """The run's folder."""
        return self.plan.directory

    def reach(self, round: int, stage: Stage, *, weights: int | None = None, checkpoint: str | None = None) -> None:
        """Mark a stage of a round as reached. Tests may kill the process before and after."""
        faults.reach(f"stp-{round}:before-{stage}")
        self.store.reach(round, stage, time.time(), weights=weights, checkpoint=checkpoint)
        faults.reach(f"stp-{round}:{stage}")

    @contextmanager
    def timed(self, round: int, part: Part, total: int = 0) -> Iterator[Meter]:
        """Add the time of the block to a part of a round."""
        meter = Meter(self, round, part)
        self.watcher.part(f"round {round}: {part}", total)
        try:
            yield meter
        finally:
            meter.spend()


class Meter:
    """Reports a part's progress to the watcher, and records the time that it takes."""

    def __init__(self, work: Work, round: int, part: Part) -> None:
        self._work, self._round, self._part = work, round, part
        self._since = time.monotonic()

    def at(self, done: int) -> None:
        """`done` items are finished."""
        faults.reach(f"stp-{self._round}:{self._part}")
        self._work.watcher.advance(done)
        if time.monotonic() - self._since > NOTED_EVERY:
            self.spend()

    def spend(self) -> None:
        """Record the time since the last record."""
        now = time.monotonic()
        self._work.store.spend(self._round, self._part, now - self._since)
        self._since = now
