"""`proofmesh verify FILE.lean`: is every proof in it a proof? Needs no broker.

Each theorem is checked by itself, as the learner has proofs checked: in fresh Lean processes, against its own
statement, with its axioms.

Exit code: 0 all accepted, 1 one or more rejected, 2 a file that cannot be read or a statement that
Lean refuses.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import tyro

if TYPE_CHECKING:
    from common.messages import LeanVerifyReply
    from node.lean_proxy.lean_file import WrittenProof
    from node.lean_proxy.verification import Verifier

ACCEPTED, REJECTED, UNREADABLE = 0, 1, 2


@dataclass
class VerifySettings:
    """Check the proofs in a .lean file with Lean's kernel."""

    file: Annotated[Path, tyro.conf.Positional]
    """The file: theorems, each `theorem NAME BINDERS : CONCLUSION := by` with a tactic block."""

    toolchain: str = "pocket"
    """`pocket`, or the command of another toolchain's `lean`."""

    seconds: float = 60.0
    """Time limit for each Lean process."""

    memory_mb: int = 2048
    """Memory limit for each Lean process."""


def main(argv: Sequence[str]) -> int:
    """Entry point; returns the exit code."""
    settings = tyro.cli(VerifySettings, args=list(argv), prog="proofmesh verify")
    from node.lean_proxy.lean_file import UnreadableFile, read_proofs

    try:
        proofs = read_proofs(settings.file.read_text(encoding="utf-8"))
    except OSError as error:
        return _unreadable(f"{settings.file}: {error.strerror}")
    except UnicodeDecodeError as error:
        return _unreadable(f"{settings.file}: not UTF-8 ({error.reason} at byte {error.start})")
    except UnreadableFile as error:
        return _unreadable(f"{settings.file}: {error}")
    return asyncio.run(_verify(settings, proofs))


async def _verify(settings: VerifySettings, proofs: Sequence[WrittenProof]) -> int:
    from node.lean_proxy.pocket.build import PocketBuildError
    from node.lean_proxy.settings import LeanProxySettings
    from node.lean_proxy.toolchain import LeanToolchain
    from node.lean_proxy.verification import Verifier

    try:
        toolchain = LeanToolchain.named(settings.toolchain)
    except PocketBuildError as error:
        return _unreadable(str(error))
    at_once = LeanProxySettings().resolved_verifications()
    verifier = Verifier(toolchain, at_once=at_once, seconds=settings.seconds, memory_mb=settings.memory_mb)
    try:
        checks = [asyncio.create_task(_verify_one(verifier, settings.file, proof)) for proof in proofs]
        codes = []
        for check in checks:  # in the file's order, each as soon as it is known
            code, told = await check
            print(told, file=sys.stderr if code == UNREADABLE else sys.stdout, flush=True)
            codes.append(code)
        return max(codes)
    finally:
        verifier.close()


async def _verify_one(verifier: Verifier, file: Path, proof: WrittenProof) -> tuple[int, str]:
    """The exit code of one proof, and what to print."""
    from node.lean_proxy.verification import VerificationFailed

    try:
        verdict = await verifier.verify(proof.theorem, proof.script)
    except VerificationFailed as error:
        return UNREADABLE, f"proofmesh verify: {file}:{proof.line}: {proof.theorem.name}: {error}"
    return ACCEPTED if verdict.accepted else REJECTED, _told(file, proof, verdict)


def _told(file: Path, proof: WrittenProof, verdict: LeanVerifyReply) -> str:
    where = f"{file}:{proof.line}: {proof.theorem.name}"
    if not verdict.accepted:
        return f"rejected  {where}: {verdict.reason}"
    axioms = ", ".join(verdict.axioms) or "none"
    return f"accepted  {where} (axioms: {axioms}; Lean {verdict.lean_version}; {verdict.elapsed:.2f} s)"


def _unreadable(message: str) -> int:
    print(f"proofmesh verify: {message}", file=sys.stderr)
    return UNREADABLE


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
