"""Idle Lean processes that wait for a request with their imports, so that a library is imported only once."""

from __future__ import annotations

from node.lean.worker.frames import Frame
from node.lean.worker.process import LeanProcess


class Spares:
    """Parked processes, shared by all workers of a pool. If there are more than `most`, the oldest ones are killed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parked: list[tuple[LeanProcess, Frame]] = []
        """Processes with their frames, the least recently parked first."""

    async def park(self, process: LeanProcess, frame: Frame) -> None:
        """Keep a process for later. `frame`: the frame of its document."""
        self._parked.append((process, frame))
        for old, _ in self._drop(len(self._parked) - self._most):
            await old.kill()

    def take(self, needed: Frame) -> tuple[LeanProcess, Frame] | None:
        """Remove and return a process that fits a frame, with the process's own frame; None if no process fits."""
        for index in reversed(range(len(self._parked))):
            process, frame = self._parked[index]
            if process.alive and frame.fits(needed):
                return self._parked.pop(index)
        return None

    def processes(self) -> list[LeanProcess]:
        """The parked processes."""
        return [process for process, _ in self._parked]

    async def stop(self) -> None:
        """Kill all parked processes."""
        for process, _ in self._drop(len(self._parked)):
            await process.kill()

    def _drop(self, number: int) -> list[tuple[LeanProcess, Frame]]:
        """Remove and return the `number` least recently parked processes."""
        dropped = self._parked[: max(0, number)]
        self._parked = self._parked[len(dropped) :]
        return dropped
