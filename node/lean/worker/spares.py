"""Lean processes that wait until their imports are asked for again: a library is not imported anew for each request."""

from __future__ import annotations

from collections.abc import Sequence

from node.lean.text.headers import imports
from node.lean.worker.process import LeanProcess


class Spares:
    """Parked processes, shared by all workers of a pool; beyond `most` the least recently parked ends."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parked: list[tuple[LeanProcess, str]] = []
        """With their headers, the least recently parked first."""

    async def park(self, process: LeanProcess, header: str) -> None:
        """Keep a process, whose document has this header, for later."""
        self._parked.append((process, header))
        for old, _ in self._drop(len(self._parked) - self._most):
            await old.kill()

    def take(self, wanted: Sequence[str]) -> tuple[LeanProcess, str] | None:
        """A process with these imports, and its header; None when there is none. It is the caller's then."""
        for index in reversed(range(len(self._parked))):
            process, header = self._parked[index]
            if process.alive and imports(header) == wanted:
                return self._parked.pop(index)
        return None

    def processes(self) -> list[LeanProcess]:
        """Those that wait here."""
        return [process for process, _ in self._parked]

    async def stop(self) -> None:
        """End them all."""
        for process, _ in self._drop(len(self._parked)):
            await process.kill()

    def _drop(self, number: int) -> list[tuple[LeanProcess, str]]:
        """The first ones, no longer kept. Dead ones go as well: they were killed while nobody looked."""
        dropped = self._parked[: max(0, number)]
        self._parked = self._parked[len(dropped) :]
        return dropped
