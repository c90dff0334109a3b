"""What a `FileVerifier` with pocket Lean says of texts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from typing import Any

from common.lean import Theorem
from node.lean.check.files.proofs_text import ProofsFiles, ProvedStatement, proofs_files
from node.lean.check.files.report import DeclarationVerdict, FileReport
from node.lean.check.files.sources import SourceFile, from_text
from node.lean.check.files.verifier import FileVerifier
from node.lean.toolchain.lean_toolchain import LeanToolchain


@asynccontextmanager
async def file_verifier(toolchain: LeanToolchain | None = None, **changes: Any) -> AsyncIterator[FileVerifier]:
    """A verifier; `changes`: to its limits."""
    limits = {"at_once": 2, "seconds": 60, "memory_mb": 2048, **changes}
    verifier = FileVerifier(toolchain or LeanToolchain.pocket(), **limits)
    try:
        yield verifier
    finally:
        await verifier.close()


@asynccontextmanager
async def own_verifying(toolchain: LeanToolchain | None = None, **changes: Any) -> AsyncIterator[Verifying]:
    """For a test with another Lean or other limits than the fixture `verifying` has."""
    async with file_verifier(toolchain, **changes) as verifier:
        yield Verifying(verifier)


@dataclass(frozen=True)
class Verifying:
    """Asks a verifier about texts."""

    verifier: FileVerifier

    async def of_each(self, *texts: str) -> list[FileReport]:
        """The reports on texts, each by itself."""
        return await asyncio.gather(*map(self.verifier.verify_text, texts))

    async def together(self, *texts: str, sources: Sequence[SourceFile] = (), own: bool = False) -> list[FileReport]:
        """The reports on files A, B, ..., which may import each other, or on other `sources`. `own`: see `verify`."""
        async with aclosing(self.verifier.verify(sources or modules(texts), own=own)) as results:
            return [each.report async for each in results]

    async def compared(
        self, submissions: Sequence[Sequence[SourceFile]], reference: Sequence[SourceFile]
    ) -> list[list[str]]:
        """For each submission, why it does not prove a reference: problems of its files and reasons of the theorems.
        Those that are proved have an empty reason."""
        async with aclosing(self.verifier.compare_many(submissions, reference)) as found:
            return [
                [f"{each.file}: {each.problem}" for each in problems] + [each.reason for each in told]
                async for problems, told, _ in found
            ]


def files_of(proofs: Sequence[tuple[Theorem, str]], header: str = "") -> ProofsFiles:
    """The files of theorems with proofs; `header`: the configured one."""
    proved = [ProvedStatement(each.name, each, script) for each, script in proofs]
    return proofs_files(proved, "a test", "4.28.0", header)


def modules(texts: Sequence[str]) -> list[SourceFile]:
    """Files A, B, ..., which may import each other."""
    return [from_text(text, name, name) for name, text in zip("ABCDEFGH", texts, strict=False)]


def verdicts(reports: Sequence[FileReport]) -> dict[str, DeclarationVerdict]:
    """The verdicts by name. None of the files has a problem."""
    assert not any(each.problem for each in reports), [each.problem for each in reports]
    return {each.name: each for report in reports for each in report.declarations}


def reasons(reports: Sequence[FileReport]) -> dict[str, str]:
    """Why each declaration is rejected, by name; empty for those that are accepted."""
    return {name: each.reason for name, each in verdicts(reports).items()}
