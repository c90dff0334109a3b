"""Curves of a stage: lines in metrics.jsonl (their form: common/curves.py), and progress for who watches."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from common.curves import append_line, decode_line, encode_line
from common.files import write_whole
from node.training.tracked import Tracked


class StageJournal:
    """Writes one line for each report: {"time", "step", "values"}; a run that goes on appends."""

    def __init__(self, path: Path, total: int, *, first: bool, tracked: Tracked | None = None) -> None:
        """`first`: whether this is the rank that writes; the others' reports go nowhere. `tracked` gets them, too."""
        self._tracked = tracked
        self._path, self._first, self._total = path, first, total
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> StageJournal:
        if self._first and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
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
        """Forget lines after a step: they come again. A torn last line goes, too."""
        if not self._first or not self._path.exists():
            return
        lines = self._path.read_bytes().splitlines(keepends=True)
        kept = [line for line in lines if (point := decode_line(line)) is not None and point.step <= step]
        if kept != lines:  # else it stays the file that it is, which a monitor may be reading
            write_whole(self._path, b"".join(kept))

    def at(self, step: int, text: str) -> None:
        """Move the bar."""
        if self._progress is not None:
            self._progress.update(self._task, completed=step, description=text)

    def write(self, step: int, values: dict[str, float]) -> None:
        """One line, whole or not at all. Raises OSError."""
        if not self._first:
            return
        append_line(self._path, encode_line(time.time(), step, values))
        if self._tracked is not None:
            self._tracked.write(step, values)

    def say(self, text: str) -> None:
        """A line for who watches."""
        if not self._first:
            return
        if self._progress is not None:
            self._progress.console.print(text, highlight=False, markup=False)
        else:
            print(text, file=sys.stderr, flush=True)
