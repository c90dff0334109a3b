"""Keeps a measurement within its time, and tells who waits for it how far it is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator


class Pace:
    """Runs of a measurement: no more begin after `limit` seconds, so it ends soon after."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def runs(self, repeats: int, what: str) -> Iterator[int]:
        """Numbers of runs, at least one: a measurement that is late has fewer, and says how many it has."""
        for number in range(repeats):
            if number and self.elapsed > self._limit:
                self.say(f"{what}: {number} of {repeats} runs, the limit of {self._limit:g} s is over")
                return
            yield number

    def say(self, text: str) -> None:
        """A line on standard error; standard output has the result alone."""
        print(f"[{self.elapsed:5.1f} s] {text}", file=sys.stderr, flush=True)
