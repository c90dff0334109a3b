"""`proofmesh verify PATH...`: is every proof in these files and folders a proof? Needs no broker.

Each theorem is checked by itself, as the learner has proofs checked: in fresh Lean processes, against its own
statement, with its axioms.

Exit code: 0 all accepted, 1 one or more rejected, 2 a file that cannot be read or a statement that Lean refuses
(whatever became of the others).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

from common.config import check_flags, config_file, load_lean
from common.lean_settings import LeanSettings
from common.limits import Natural, Positive, Timeout

if TYPE_CHECKING:
    from node.lean.text.proof_file import WrittenProof
    from node.lean.verify.verifier import Verifier
    from node.mesh.verify_report import Row


@dataclass
class VerifySettings:
    """Check the proofs in .lean files with Lean's kernel."""

    paths: Annotated[tuple[Path, ...], tyro.conf.Positional]
    """Files, and folders with .lean files below them: theorems, each `theorem NAME BINDERS : CONCLUSION := by` with a
    tactic block."""

    json: bool = False
    """Print one JSON document instead of lines."""

    table: bool = False
    """Print a table instead of lines, as on a terminal."""

    jobs: Natural = 0
    """Checks at once, each of one proof or of a batch; 0 takes one per two cores."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header; section [lean] of --config."""

    config: Path | None = None
    """A TOML file with a section [lean]; flags win over it."""

    seconds: Timeout = 60.0
    """Time limit for each Lean process."""

    memory_mb: Positive = 2048
    """Memory limit for each Lean process."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, files read-only, no processes of their own."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code. Raises ConfigError."""
    file = config_file(argv)
    default = VerifySettings(paths=(), lean=load_lean(file), config=file)
    settings = tyro.cli(VerifySettings, args=list(argv), default=default, prog="proofmesh verify")
    from node.mesh.verify_report import UNREADABLE

    check_flags(settings)
    if not settings.paths:
        print("proofmesh verify: give it files or folders to check", file=sys.stderr)
        return UNREADABLE
    return asyncio.run(_verify(settings))


async def _verify(settings: VerifySettings) -> int:
    from node.lean.settings import LeanProcessSettings
    from node.lean.toolchain.find import find
    from node.lean.toolchain.problems import LeanProblem
    from node.lean.verify.verifier import Verifier
    from node.mesh.verify_report import UNREADABLE, Report

    try:
        toolchain = find(settings.lean)
    except LeanProblem as error:
        print(f"proofmesh verify: {error}", file=sys.stderr)
        return UNREADABLE
    for note in toolchain.notes:
        print(f"proofmesh verify: {note}", file=sys.stderr)
    if settings.sandbox:
        toolchain = await toolchain.confined()
        if gaps := toolchain.protections.gaps():
            print(f"proofmesh verify: Lean processes are not confined in: {', '.join(gaps)}", file=sys.stderr)
    at_once = settings.jobs or LeanProcessSettings().resolved_verifications()
    verifier = Verifier(toolchain, at_once=at_once, seconds=settings.seconds, memory_mb=settings.memory_mb)
    table = settings.table or (sys.stdout.isatty() and not settings.json)
    report = Report("json" if settings.json else "table" if table else "lines")
    try:
        async for row in _rows(verifier, settings.paths):
            report.add(row)
        return report.finish()
    finally:
        await verifier.stop()


async def _rows(verifier: Verifier, paths: Sequence[Path]) -> AsyncIterator[Row]:
    """The verdicts, in the order of files and theorems, each as soon as it and those before it are known."""
    from node.mesh.verify_files import read
    from node.mesh.verify_report import ProofVerdict, Row

    checks: list[Row | asyncio.Task[Row]] = []
    for file, proofs, problem in read(paths):
        if problem:
            checks.append(Row(str(file), 0, "", ProofVerdict.UNREADABLE, problem))
        checks += [asyncio.create_task(_verify_one(verifier, file, proof)) for proof in proofs]
    try:
        for check in checks:
            yield check if isinstance(check, Row) else await check
    finally:
        for check in checks:
            if isinstance(check, asyncio.Task):
                check.cancel()


async def _verify_one(verifier: Verifier, file: Path, proof: WrittenProof) -> Row:
    """What became of one proof."""
    from node.lean.verify.verifier import VerificationFailed
    from node.mesh.verify_report import ProofVerdict, Row

    name = proof.theorem.name
    try:
        verdict = await verifier.verify(proof.theorem, proof.script)
    except VerificationFailed as error:
        return Row(str(file), proof.line, name, ProofVerdict.UNREADABLE, str(error))
    return Row(
        str(file),
        proof.line,
        name,
        ProofVerdict.ACCEPTED if verdict.accepted else ProofVerdict.REJECTED,
        verdict.reason,
        verdict.axioms,
        verdict.lean_version,
        round(verdict.elapsed, 3),
        verdict.rechecked,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
