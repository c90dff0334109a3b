"""`proofmesh verify PATH...`: checks whether every theorem in files, folders and projects is proved. Needs no broker.

Each file is compiled in a sandbox. Then Lean's kernel checks every compiled theorem again, and lists the axioms that it
uses (`node.lean.check.files`). `--against` compares a submission with a reference: it must prove all theorems of the
reference.

Exit code: 0 all accepted, 1 one or more rejected, 2 at least one file cannot be read or compiled.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from common.config import config_file, load_lean
from common.limits import Natural, Positive, Timeout
from common.output.command import UserError, command
from common.output.visible import say
from common.settings import LeanSettings


@dataclass
class VerifySettings:
    """Check the proofs in Lean files with Lean's kernel."""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Lean files, folders with .lean files below them, and Lake projects."""

    against: str = ""
    """A reference: a file, a folder, or a statement (`theorem NAME ... : ...`), with `sorry` for proofs. The files must
    prove its theorems: with the same names and types, the same definitions in them, and no new axioms."""

    all: bool = False
    """Also give verdicts on definitions, structures and instances."""

    strict: bool = False
    """Reject a theorem whose statement depends on definitions, instances, notation or macros of the file itself."""

    second_kernel: bool = False
    """Also check each proof with a second, independent kernel, written in Python. It needs some seconds to read the
    library once. What it cannot check is not accepted."""

    json: bool = False
    """Print one JSON document instead of lines."""

    table: bool = False
    """Print a table instead of lines, as on a terminal."""

    jobs: Natural = 0
    """Files checked at once; 0: one per core."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """The Lean version, project and header; section [lean] of --config."""

    config: Path | None = None
    """A TOML file with a section [lean]; flags win over it."""

    seconds: Timeout = 60.0
    """Time limit for each Lean process, which checks one file. 0.02 s are added for each line of the file."""

    memory_mb: Positive = 2048
    """Memory limit for each Lean process."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, read-only files, no child processes."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    file = config_file(argv)
    default = VerifySettings(paths=(), lean=load_lean(file), config=file)
    return command(VerifySettings, list(argv), _verify, prog="proofmesh verify", default=default)


async def _verify(settings: VerifySettings) -> int:
    from node.command.proofs.verdicts import Report, reference_of, toolchain_of, verify_all
    from node.lean.check.files.sources import collect
    from node.lean.check.files.verifier import FileVerifier
    from node.lean.check.second.calling import SecondKernel
    from node.lean.process.protections import READS_NOT_CONFINED

    if not settings.paths:
        raise UserError("no path given: name files or folders")
    # 1. Lean, the reference, and how far Lean is confined here.
    toolchain = await asyncio.to_thread(toolchain_of, settings)
    reference = reference_of(settings.against)
    for note in toolchain.notes:
        say(f"proofmesh verify: {note}", file=sys.stderr)
    if settings.sandbox:
        toolchain = await toolchain.confined()
        if gaps := toolchain.protections.gaps():
            say(f"proofmesh verify: Lean processes are not confined in: {', '.join(gaps)}", file=sys.stderr)
        if not toolchain.protections.reads:
            say(f"proofmesh verify: {READS_NOT_CONFINED}", file=sys.stderr)
    # 2. The files. Each verdict is printed when it is known, unless a table or JSON is asked for.
    at_once = settings.jobs or len(os.sched_getaffinity(0))
    second = SecondKernel(toolchain) if settings.second_kernel else None
    verifier = FileVerifier(
        toolchain, at_once=at_once, seconds=settings.seconds, memory_mb=settings.memory_mb, second=second
    )
    table = settings.table or (sys.stdout.isatty() and not settings.json)
    report = Report(form="json" if settings.json else "table" if table else "lines", strict=settings.strict)
    project = Path(toolchain.project) if toolchain.project else None
    try:
        groups, shown = collect(settings.paths, project), ", ".join(map(str, settings.paths))
        bare = not toolchain.default_header
        await verify_all(verifier, groups, reference, report, everything=settings.all, shown=shown, bare=bare)
        return report.finish()
    finally:
        await verifier.close()
        if second is not None:
            await second.close()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
