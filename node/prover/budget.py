"""What an attempt may cost: simulations, tactics sent to Lean, seconds. It ends with whichever ends first."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from common.attempts import Attempt, Ended

T = TypeVar("T")

SIMULATIONS_PER_LEAF = 8
"""At most one leaf in flight per this many simulations of the budget: virtual losses must not decide a small search."""


class TimeIsUp(Exception):
    """The attempt's seconds are over."""


@dataclass(slots=True)
class Turn:
    """An expansion's place in the order of selection."""

    before: asyncio.Event | None
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """The budget of one attempt, and what is left of it."""

    def __init__(self, attempt: Attempt, clock: Callable[[], float] = time.perf_counter) -> None:
        self._simulations = attempt.simulations or math.inf
        self._lean_attempts = attempt.lean_attempts or math.inf
        self._seconds = attempt.seconds or math.inf
        self._samples = max(1, attempt.samples)
        self._clock = clock
        self._began = clock()
        self._last: Turn | None = None
        self.lean_attempts = 0
        """Tactics granted and not given back."""

    def start(self) -> None:
        """The attempt begins now."""
        self._began = self._clock()

    def pause(self, seconds: float) -> None:
        """Do not count the last so many seconds."""
        self._began += seconds

    @property
    def seconds(self) -> float:
        """Time since the start, pauses not counted."""
        return self._clock() - self._began

    def leaves(self, most: int) -> int:
        """Expansions that may be in flight at once: `most`, or fewer in a small search."""
        simulations = min(self._simulations, self._lean_attempts / self._samples)
        return max(1, int(min(most, simulations / SIMULATIONS_PER_LEAF)))

    def ended(self, simulations: int) -> Ended | None:
        """Which budget is used up after so many simulations; None: none of them."""
        if simulations >= self._simulations:
            return Ended.SIMULATIONS
        if self.lean_attempts >= self._lean_attempts:
            return Ended.LEAN_ATTEMPTS
        return Ended.SECONDS if self.seconds >= self._seconds else None

    def simulations_left(self, done: int, wanted: int) -> int:
        """How many simulations may follow so many, `wanted` at most."""
        return int(max(0, min(wanted, self._simulations - done)))

    def turn(self) -> Turn:
        """The next expansion's turn to ask for Lean attempts."""
        self._last = Turn(self._last.done if self._last else None)
        return self._last

    async def grant(self, turn: Turn, wanted: int) -> int:
        """How many tactics an expansion may send to Lean, `wanted` at most.

        Whoever was selected first is granted first, also when its tactics come last: so a limit cuts a search off at
        the same place, however fast its policy answers.
        """
        if self._lean_attempts < math.inf:
            if turn.before is not None:
                await turn.before.wait()
            wanted = int(min(wanted, self._lean_attempts - self.lean_attempts))
        self.lean_attempts += wanted
        turn.done.set()
        return wanted

    def give_back(self, count: int) -> None:
        """Tactics that were granted have to be sent again."""
        self.lean_attempts -= count

    async def in_time(self, work: Awaitable[T]) -> T:
        """The result of some work; it is cancelled when time is up first. Raises TimeIsUp, and what the work raises."""
        if self._seconds == math.inf:
            return await work
        task = asyncio.ensure_future(work)
        try:
            if (left := self._seconds - self.seconds) > 0:
                await asyncio.wait({task}, timeout=left)
                if task.done():
                    return task.result()
            raise TimeIsUp
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)

    def describe(self, ended: Ended) -> str:
        """The end for the person who reads it."""
        match ended:
            case Ended.SIMULATIONS:
                return f"{self._simulations} simulations"
            case Ended.LEAN_ATTEMPTS:
                return f"{self._lean_attempts} Lean attempts"
            case Ended.SECONDS:
                return f"{self._seconds:g} seconds"
            case Ended.EXHAUSTED:
                return "no tactic is left to try"
