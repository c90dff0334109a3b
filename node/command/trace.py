"""`proofmesh trace PATH...`: extracts every tactic of Lean files, with the states before and after it. Needs no broker.

Accepts files, folders, Lake projects, and git repositories as URL@COMMIT (https://..., git@HOST:..., file://... or a
local folder; COMMIT has 40 characters, or is a branch or tag). Projects are not built: run `lake build` in them first,
or use `--lean.toolchain pocket` for files that need no project. Theorems with errors are reported and skipped. Each
file's result is saved in OUT/files, so an interrupted run resumes where it stopped.

Exit code: 0 all files were traced (theorems with errors included), 1 some file could not be traced, 2 wrong arguments.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from common.limits import Natural, Positive, Timeout
from common.output.command import Exit, UserError, command
from common.output.visible import say
from common.settings import LeanSettings

if TYPE_CHECKING:
    from node.lean.trace.records import TracedFile
    from node.lean.trace.session import Work


JOB_MB = 3000
"""Memory to plan for each job if `jobs` is 0: Lean with a large library."""


@dataclass
class TraceSettings:
    """Extract every tactic of Lean files: states before and after, text, position, premises, remaining steps."""

    paths: Annotated[list[str], tyro.conf.Positional] = field(default_factory=list)
    """Files, folders, Lake projects, or URL@COMMIT: a git repository, which is cloned into the cache."""

    out: Path = Path("trace")
    """Folder for the results."""

    format: list[Literal["proofmesh", "leandojo", "leantree", "transitions", "progress"]] = field(
        default_factory=lambda: ["proofmesh"]
    )
    """Output formats, one or several: proofmesh (theorems.jsonl, steps.jsonl), leandojo (leandojo/), leantree
    (leantree.jsonl), transitions (transitions.jsonl.gz, as in a theorem bank), progress (progress.jsonl, for
    LeanProgress and `proofmesh train progress`)."""

    context: bool = False
    """Also write contexts.jsonl: the text above each theorem, by the digest in the theorem's rows."""

    split: bool = True
    """Split `rw` lists, case blocks, `<;>`, `have ... := by`, `calc` into atomic steps, where Lean accepts them."""

    jobs: Natural = 0
    """Files at once; 0: as many as cores and memory allow."""

    fresh: bool = False
    """Ignore results of earlier runs."""

    seconds: Timeout = 600.0
    """Time limit for Lean on one file."""

    memory_mb: Positive = 8192
    """Memory limit for Lean on one file."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version and project. Files in a Lake project use that project, unless you name another one here."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    return command(TraceSettings, list(argv), _trace, prog="proofmesh trace")


def _trace(settings: TraceSettings) -> int:
    from node.lean.trace.formats import write
    from node.lean.trace.session import run_all

    try:
        settings.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"--out {settings.out}: cannot be a folder ({error.strerror})") from error
    works = works_of(settings)
    for warning in warnings_of(works):
        say(f"proofmesh trace: note: {warning}", file=sys.stderr)
    with TraceProgress(len(works)) as progress:
        run_all(works, jobs_of(settings), progress.add, fresh=settings.fresh)
    for path in write(works, settings.out, formats_of(settings)):
        say(path)
    say(progress.summary())
    return Exit.FAILED if progress.failed else Exit.DONE


def works_of(settings: TraceSettings) -> list[Work]:
    """The files to trace, each with its Lean. Raises NoSource, LeanProblem, PocketBuildError."""
    from node.lean.trace.session import plan
    from node.lean.trace.sources import groups, toolchain_of
    from node.lean.trace.tracing import TraceLimits, Tracer

    limits = TraceLimits(seconds=settings.seconds, memory_mb=settings.memory_mb)
    # All toolchains first, so that a missing one is reported before any file is planned.
    toolchains = [(group, toolchain_of(group, settings.lean)) for group in groups(settings.paths)]
    works = []
    for group, toolchain in toolchains:
        folder = Path(toolchain.project or group.root)
        works += plan(group, Tracer(toolchain, folder, limits, settings.split), settings.out)
    return works


def warnings_of(works: Sequence[Work]) -> list[str]:
    """Warnings about the files before they are traced."""
    groups = dict.fromkeys(work.group for work in works)
    return [warning for group in groups if (warning := group.warning())]


def formats_of(settings: TraceSettings) -> list[str]:
    """The formats to write."""
    return [*settings.format, *(["contexts"] if settings.context else [])]


def jobs_of(settings: TraceSettings) -> int:
    """The number of files to trace at once."""
    if settings.jobs:
        return settings.jobs
    from common.machine import read_machine

    machine = read_machine()
    return max(1, min(machine.cores, machine.memory_mb // JOB_MB))


# --- the progress on standard error: a bar, counts, and each error once -----------------------------------------------


ERROR_CHARACTERS = 300
"""Most characters of an error to print; the whole text is in the results."""


class TraceProgress:
    """A context manager that shows the progress of a run."""

    def __init__(self, files: int) -> None:
        self.failed = self.again = self.files = 0
        self.theorems = self.wrong = self.steps = self.split = self.blocks = self.without_tree = 0
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        from common.output.terminal import Console

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
        from common.output.terminal import line

        first = error.split("\n")[0][:ERROR_CHARACTERS]
        self._console.print(line(f"{place}: {first}"), soft_wrap=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
