"""The display of a run of self-play: a progress bar of the current part, and a line for each finished part."""

from __future__ import annotations

import sys
import time
from types import TracebackType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from common.output.terminal import Console, lines
from node.stp.plan import StpPlan

LINE_EVERY = 15.0
"""Seconds between progress lines if standard error is not a terminal."""


class StpView:
    """Implements `node.stp.work.Watcher` on standard error."""

    def __init__(self, plan: StpPlan) -> None:
        self._plan = plan
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
            disable=not sys.stderr.isatty(),
        )
        self._begun = self._last_line = time.monotonic()
        self._name, self._total = "", 0
        self._task = self._progress.add_task("starting", total=None)

    def __enter__(self) -> StpView:
        self._progress.start()
        self.note(f"self-play {self._plan.name}, records in {self._plan.directory}")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def note(self, text: str) -> None:
        """Print a message."""
        self._console.print(lines(f"[{self._elapsed()}] {text}"), soft_wrap=True)

    def event(self, text: str) -> None:
        """Print a message of the mesh's supervisor."""
        self.note(text)

    def monitor(self, url: str) -> None:
        """Print the monitor's address."""
        if url:
            self.note(f"monitor: {url}")

    def part(self, name: str, total: int) -> None:
        """A part with `total` pieces begins."""
        self._name, self._total = name, total
        self._progress.reset(self._task, description=name, total=total or None)

    def advance(self, done: int) -> None:
        """`done` pieces of the current part are finished."""
        self._progress.update(self._task, completed=done)
        now = time.monotonic()
        if self._progress.disable and now - self._last_line > LINE_EVERY:
            self._last_line = now
            self.note(f"{self._name}: {done:,} of {self._total:,}" if self._total else f"{self._name}: {done:,}")

    def _elapsed(self) -> str:
        seconds = int(time.monotonic() - self._begun)
        return f"{seconds // 60:02}:{seconds % 60:02}"
