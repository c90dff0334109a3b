"""`proofmesh fill PATH...`: searches for a proof of each `sorry` in Lean files, and prints the changes as a diff.

A `sorry` (gap) is searched at its place in the file, so local hypotheses, variables, notation and namespaces are in
scope. The whole file is verified with the new proofs before any of them is shown. `--write` writes them atomically,
keeps mode and owner, and never overwrites a file that has changed meanwhile. Results are cached, so a second run
continues after the first one. Ctrl-C ends the searches, and shows (or writes) the proofs so far.

The diff goes to standard output (for `patch -p0` or `git apply -p0`), everything else to standard error.
Exit code: 0 every gap is filled, 1 some gaps are left (or the file has other errors), 2 a file cannot be read, compiled
or written, 3 no search is possible (no mesh), 130 interrupted before anything was proved.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.config import config_file, load, load_lean
from common.limits import Natural, Positive, Timeout
from common.output.command import Exit, UserError, command
from common.settings import LeanSettings
from node.command.projects import lean_for
from node.proving.settings import ProvingSettings

if TYPE_CHECKING:
    from node.proving.fill_run import FillWork


@dataclass
class FillSettings:
    """Replace `sorry`s in Lean files by proofs."""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Lean files, folders with .lean files below them, and Lake projects."""

    write: bool = False
    """Also write the proofs into the files."""

    only: str = ""
    """Fill only the gaps on this line (a number), or in this declaration (a name)."""

    seconds: Timeout = 20.0
    """Time budget of the search, for each gap."""

    simulations: Positive = 2000
    """Search budget: expansions of proof states, for each gap."""

    jobs: Natural = 0
    """Concurrent searches, and Lean workers; 0: sized to this machine."""

    again: bool = False
    """Search all gaps again, also those with cached results of earlier runs."""

    proving: Annotated[ProvingSettings, tyro.conf.arg(name="")] = field(default_factory=ProvingSettings)
    """The policy and the search; section [prove] of --config."""

    url: str = ""
    """Broker of a running mesh, whose provers then search; empty: search in this process."""

    run: str = "demo"
    """Name of that mesh's run."""

    json: bool = False
    """Print one JSON document instead of the diff and the messages."""

    table: bool = False
    """Print a table of all gaps at the end."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config. A file in a Lake project uses that
    project."""

    config: Path | None = None
    """A TOML file with sections [lean] and [prove]; flags win over it."""

    file_seconds: Timeout = 300.0
    """Time limit for each Lean process that elaborates a whole file."""

    memory_mb: Positive = 2048
    """Memory limit for each of these processes."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, read-only files, no child processes."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    file = config_file(argv)
    default = FillSettings(paths=(), proving=load(ProvingSettings, file, "prove"), lean=load_lean(file), config=file)
    return command(
        FillSettings, list(argv), _fill, prog="proofmesh fill", description=__doc__, default=default, log="error"
    )


async def _fill(settings: FillSettings) -> int:
    from common.life.waiting import ended_by
    from node.command.proofs.fill_report import FillReport
    from node.lean.toolchain.find import find
    from node.prover.policies.names import BadPolicy
    from node.proving.fill_run import FillRun

    if not settings.paths:
        raise UserError("no path given: name files or folders")
    try:
        # 1. What can be wrong before anything is searched. The folder of a model is often mistyped: before Lean starts.
        if "hf:" in settings.proving.policy and not settings.url:
            from node.play import policies

            proving = settings.proving
            policies.check(proving.policy, proving.method, proving.then, proving.correct)
        toolchain = await asyncio.to_thread(find, lean_for(settings.lean, settings.paths))
        # 2. The searches, until all gaps are tried or Ctrl-C.
        report = FillReport("json" if settings.json else "table" if settings.table else "lines")
        for note in toolchain.notes:
            report.note(note)
        if settings.sandbox:
            toolchain = await toolchain.confined()
            if gaps := toolchain.protections.gaps():
                report.note(f"Lean processes are not confined in: {', '.join(gaps)}")
        stopping = asyncio.Event()

        def interrupted() -> None:
            report.interrupted = True
            report.note("interrupted: what is proved is verified now; Ctrl-C again ends at once")

        async with AsyncExitStack() as stack:
            stack.enter_context(ended_by(signal.SIGINT, stopping=stopping, heard=interrupted))
            stack.enter_context(report)
            try:
                await FillRun(work_of(settings), toolchain, report, stopping, stack).all()
            except asyncio.CancelledError:
                if not stopping.is_set():  # cancelled by something other than a second Ctrl-C
                    raise
                return Exit.INTERRUPTED
    except BadPolicy as error:
        raise UserError(f"--policy: {error}") from error
    # 3. The results.
    if settings.only and not report.interrupted and not any(row.done for row in report.files):
        report.unreadable(", ".join(map(str, settings.paths)), f"no `sorry` in it matches --only {settings.only}")
    return report.finish()


def work_of(settings: FillSettings) -> FillWork:
    """The work that the command line describes."""
    from node.proving.fill_run import FillWork

    return FillWork(
        paths=settings.paths,
        write=settings.write,
        only=settings.only,
        seconds=settings.seconds,
        simulations=settings.simulations,
        jobs=settings.jobs,
        again=settings.again,
        proving=settings.proving,
        url=settings.url,
        run=settings.run,
        lean=settings.lean,
        file_seconds=settings.file_seconds,
        memory_mb=settings.memory_mb,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
