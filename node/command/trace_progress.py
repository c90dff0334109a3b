"""The progress display of `proofmesh trace` on standard error: a bar, counts, and each error once."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from common.output.terminal import Console
from common.output.terminal import line as one_line

if TYPE_CHECKING:
    from node.lean.trace.records import TracedFile
    from node.lean.trace.session import Work

ERROR_CHARACTERS = 300
"""Most characters of an error to print; the whole text is in the results."""


class TraceProgress:
    """A context manager that shows the progress of a run."""

    def __init__(self, files: int) -> None:
        self.failed = self.again = self.files = 0
        self.theorems = self.wrong = self.steps = self.split = self.blocks = self.without_tree = 0
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
        self._console = Console(stderr=True, highlight=False)
        self._bar = Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=self._console)
        self._task = self._bar.add_task("tracing", total=files)

    def __enter__(self) -> TraceProgress:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._bar.stop()

    def add(self, work: Work, traced: TracedFile, earlier: bool) -> None:
        """Count one file, and print its errors."""
        self.files += 1
        self.again += earlier
        if traced.error:
            self.failed += 1
            self._print(work.name, traced.error)
        for theorem in traced.theorems:
            self.theorems += 1
            self.wrong += bool(theorem.error)
            if theorem.error:
                self._print(f"{work.name}:{theorem.start[0]}: {theorem.name or theorem.kind}", theorem.error)
            for block in theorem.blocks:
                self.blocks += 1
                self.split += block.split
                self.without_tree += bool(block.problem)
                self.steps += len(block.steps)
        self._bar.update(self._task, advance=1, description=f"{self.theorems} theorems, {self.steps} steps")

    def summary(self) -> str:
        """The counts, in one line."""
        parts = [f"{self.files} files ({self.again} of an earlier run, {self.failed} failed)"]
        parts.append(f"{self.theorems} theorems ({self.wrong} that Lean does not accept)")
        parts.append(
            f"{self.blocks} tactic blocks ({self.split} split and checked, {self.without_tree} without a tree)"
        )
        return "; ".join([*parts, f"{self.steps} steps"])

    def _print(self, place: str, error: str) -> None:
        first = error.split("\n")[0][:ERROR_CHARACTERS]
        self._console.print(one_line(f"{place}: {first}"), soft_wrap=True)
