"""Writes the curves of a stage to metrics.jsonl (format: common/curves.py), and to trackers, and shows its progress."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from common.curves import decode_line, encode_line
from common.files import append_line, write_whole
from common.output.visible import say
from common.watch.tracking import Tracked

SAY_EVERY = 20.0
"""Seconds between lines of progress where standard error is no terminal: an hour's log has 180 of them."""


class StageJournal:
    """Writes one line for each report: {"time", "step", "values"}. A continued run appends."""

    def __init__(self, path: Path, total: int, *, first: bool, tracked: Tracked | None = None) -> None:
        """`first`: whether this is the first rank, the only one that writes. `tracked` gets the reports, too."""
        self._tracked = tracked
        self._path, self._first, self._total = path, first, total
        self._progress: Any = None
        self._task: Any = None
        self._said_at = time.monotonic()

    def __enter__(self) -> StageJournal:
        if self._first and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            from common.output.terminal import Console

            columns = (
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                TextColumn("{task.description}", markup=False),
            )
            self._progress = Progress(*columns, console=Console(stderr=True))
            self._progress.start()
            self._task = self._progress.add_task("", total=self._total)
        return self

    def __exit__(self, *_: object) -> None:
        if self._tracked is not None:
            self._tracked.close()
        if self._progress is not None:
            self._progress.stop()

    def trim(self, step: int) -> None:
        """Delete lines after a step, because the steps are repeated, and an incomplete last line."""
        if not self._first or not self._path.exists():
            return
        lines = self._path.read_bytes().splitlines(keepends=True)
        remaining = [line for line in lines if (point := decode_line(line)) is not None and point.step <= step]
        if remaining != lines:  # do not replace an unchanged file: a monitor may be reading it
            write_whole(self._path, b"".join(remaining))

    def at(self, step: int, text: str) -> None:
        """Update the progress bar; where there is none, print a line now and then."""
        if self._progress is not None:
            self._progress.update(self._task, completed=step, description=text)
        elif time.monotonic() - self._said_at >= SAY_EVERY:
            self._said_at = time.monotonic()
            self.say(f"step {step:,} of {self._total:,}: {text}")

    def write(self, step: int, values: dict[str, float]) -> None:
        """One line, whole or not at all. Raises OSError."""
        if not self._first:
            return
        append_line(self._path, encode_line(time.time(), step, values))
        if self._tracked is not None:
            self._tracked.write(step, values)

    def say(self, text: str) -> None:
        """Print a line for the user."""
        if not self._first:
            return
        if self._progress is not None:
            self._progress.console.print(text, highlight=False, markup=False)
        else:
            say(text, file=sys.stderr, flush=True)
