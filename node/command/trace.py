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
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from common.lean_settings import LeanSettings
from common.limits import Natural, Positive, Timeout
from common.output.visible import say

if TYPE_CHECKING:
    from node.lean.trace.session import Work

TRACED, SOME_FAILED, USAGE_ERROR = 0, 1, 2

JOB_MB = 3000
"""Memory to plan for each job if `jobs` is 0: Lean with a large library."""


@dataclass
class TraceSettings:
    """Extract every tactic of Lean files: states before and after, text, position, premises, remaining steps."""

    paths: Annotated[list[str], tyro.conf.Positional]
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
    settings = tyro.cli(TraceSettings, args=list(argv), prog="proofmesh trace")
    from node.command.trace_progress import TraceProgress
    from node.lean.toolchain.lean_toolchain import LeanProblem
    from node.lean.toolchain.pocket.build import PocketBuildError
    from node.lean.trace.formats.writing import write
    from node.lean.trace.session import run_all
    from node.lean.trace.worktrees import NoSource

    try:
        works = works_of(settings)
    except (NoSource, LeanProblem, PocketBuildError) as error:
        say(f"proofmesh trace: {error}", file=sys.stderr)
        return USAGE_ERROR
    for warning in warnings_of(works):
        say(f"proofmesh trace: note: {warning}", file=sys.stderr)
    with TraceProgress(len(works)) as progress:
        run_all(works, jobs_of(settings), progress.add, fresh=settings.fresh)
    for path in write(works, settings.out, formats_of(settings)):
        say(path)
    say(progress.summary())
    return SOME_FAILED if progress.failed else TRACED


def works_of(settings: TraceSettings) -> list[Work]:
    """The files to trace, each with its Lean. Raises NoSource, LeanProblem, PocketBuildError."""
    from node.lean.trace.elaborating import TraceLimits
    from node.lean.trace.session import plan
    from node.lean.trace.sources import groups, toolchain_of
    from node.lean.trace.tracing import Tracer

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
    from common.sizing import read_machine

    machine = read_machine()
    return max(1, min(machine.cores, machine.memory_mb // JOB_MB))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
