"""The budget of an attempt: simulations, tactics sent to Lean, seconds. The attempt ends when one is used up."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from common.protocol.attempts import Attempt, Ended

T = TypeVar("T")

SIMULATIONS_PER_LEAF = 8
"""At most one leaf in flight per this many simulations of the budget: virtual losses must not decide a small search."""


class TimeIsUp(Exception):
    """The attempt's time limit is over."""


@dataclass(slots=True)
class Turn:
    """An expansion's place in the order of selection."""

    before: asyncio.Event | None
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Budget:
    """The budget of one attempt, and its use so far."""

    def __init__(self, attempt: Attempt, clock: Callable[[], float] = time.perf_counter) -> None:
        self._simulations = attempt.simulations or math.inf
        self._lean_attempts = attempt.lean_attempts or math.inf
        self._seconds = attempt.seconds or math.inf
        self._samples = max(1, attempt.samples)
        self._clock = clock
        self._began = clock()
        self._last: Turn | None = None
        self.lean_attempts = 0
        """Tactics that were granted and not given back."""

    def start(self) -> None:
        """Start the clock."""
        self._began = self._clock()

    def pause(self, seconds: float) -> None:
        """Exclude the last `seconds` from the attempt's time."""
        self._began += seconds

    @property
    def seconds(self) -> float:
        """Seconds since the start, without pauses."""
        return self._clock() - self._began

    def leaves(self, most: int) -> int:
        """Expansions that may be in flight at once: `most`, or fewer in a small search."""
        simulations = min(self._simulations, self._lean_attempts / self._samples)
        return max(1, int(min(most, simulations / SIMULATIONS_PER_LEAF)))

    def ended(self, simulations: int) -> Ended | None:
        """Which limit is reached after this number of simulations; None if no limit is."""
        if simulations >= self._simulations:
            return Ended.SIMULATIONS
        if self.lean_attempts >= self._lean_attempts:
            return Ended.LEAN_ATTEMPTS
        return Ended.SECONDS if self.seconds >= self._seconds else None

    def simulations_left(self, simulations: int, requested: int) -> int:
        """How many of the requested simulations are allowed after this number of simulations."""
        return int(max(0, min(requested, self._simulations - simulations)))

    def turn(self) -> Turn:
        """The turn of the next selected expansion in the order of grants."""
        self._last = Turn(self._last.done if self._last else None)
        return self._last

    async def grant(self, turn: Turn, requested: int) -> int:
        """How many of the requested tactics an expansion may send to Lean.

        Grants follow the order of selection, even if the policy replies in another order. So a limit cuts a search off
        at the same place, however fast the policy is.
        """
        if self._lean_attempts < math.inf:
            if turn.before is not None:
                await turn.before.wait()
            requested = int(min(requested, self._lean_attempts - self.lean_attempts))
        self.lean_attempts += requested
        turn.done.set()
        return requested

    def give_back(self, count: int) -> None:
        """Return granted tactics to the budget, because their outcomes were lost."""
        self.lean_attempts -= count

    async def in_time(self, work: Awaitable[T]) -> T:
        """Await some work; cancel it when the time is up. Raises TimeIsUp, and what the work raises."""
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
        """The reached limit, as text for the attempt's message."""
        match ended:
            case Ended.SIMULATIONS:
                return f"{self._simulations} simulations"
            case Ended.LEAN_ATTEMPTS:
                return f"{self._lean_attempts} Lean attempts"
            case Ended.SECONDS:
                return f"{self._seconds:g} seconds"
            case Ended.EXHAUSTED:
                return "no tactic is left to try"
