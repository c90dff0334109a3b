"""Lean processes that wait until a request needs their imports again, so that a library is imported once."""

from __future__ import annotations

from node.lean.worker.frames import Frame
from node.lean.worker.process import LeanProcess


class Spares:
    """Parked processes, shared by all workers of a pool; beyond `most`, the least recently parked one is killed."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._parked: list[tuple[LeanProcess, Frame]] = []
        """With their frames, the least recently parked first."""

    async def park(self, process: LeanProcess, frame: Frame) -> None:
        """Keep a process, whose document has this frame, for later."""
        self._parked.append((process, frame))
        for old, _ in self._drop(len(self._parked) - self._most):
            await old.kill()

    def take(self, needed: Frame) -> tuple[LeanProcess, Frame] | None:
        """A process that fits a frame, and its own frame; None when there is none. The caller owns it from then on."""
        for index in reversed(range(len(self._parked))):
            process, frame = self._parked[index]
            if process.alive and frame.fits(needed):
                return self._parked.pop(index)
        return None

    def processes(self) -> list[LeanProcess]:
        """The parked processes."""
        return [process for process, _ in self._parked]

    async def stop(self) -> None:
        """Kill them all."""
        for process, _ in self._drop(len(self._parked)):
            await process.kill()

    def _drop(self, number: int) -> list[tuple[LeanProcess, Frame]]:
        """Take out the `number` least recently parked ones."""
        dropped = self._parked[: max(0, number)]
        self._parked = self._parked[len(dropped) :]
        return dropped
