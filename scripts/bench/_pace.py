"""Limits the time of a benchmark, and prints its progress."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

from common.output.visible import say


class Pace:
    """The runs of a measurement. None begins after `limit` seconds, so the measurement ends soon after."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._start = time.perf_counter()

    @property
    def elapsed(self) -> float:
        return time.perf_counter() - self._start

    def runs(self, repeats: int, what: str) -> Iterator[int]:
        """Yields the numbers of the runs, at least one. After the time limit there are fewer than `repeats`, which is
        printed."""
        for number in range(repeats):
            if number and self.elapsed > self._limit:
                self.say(f"{what}: {number} of {repeats} runs; the time limit of {self._limit:g} s is over")
                return
            yield number

    def say(self, text: str) -> None:
        """Print a line on standard error, since standard output has only the result."""
        say(f"[{self.elapsed:5.1f} s] {text}", file=sys.stderr, flush=True)
