"""What a `FileVerifier` with pocket Lean says of texts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from typing import Any

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


async def of_each(*texts: str, **changes: Any) -> list[FileReport]:
    """The reports on texts, each by itself."""
    async with file_verifier(**changes) as verifier:
        return await asyncio.gather(*map(verifier.verify_text, texts))


def modules(texts: Sequence[str]) -> list[SourceFile]:
    """Files A, B, ..., which may import each other."""
    return [from_text(text, name, name) for name, text in zip("ABCDEFGH", texts, strict=False)]


async def together(
    *texts: str, sources: Sequence[SourceFile] = (), toolchain: LeanToolchain | None = None
) -> list[FileReport]:
    """The reports on files A, B, ..., which may import each other, or on other `sources`."""
    async with (
        file_verifier(toolchain) as verifier,
        aclosing(verifier.verify(sources or modules(texts))) as results,
    ):
        return [each.report async for each in results]


def verdicts(reports: Sequence[FileReport]) -> dict[str, DeclarationVerdict]:
    """The verdicts by name. None of the files has a problem."""
    assert not any(each.problem for each in reports), [each.problem for each in reports]
    return {each.name: each for report in reports for each in report.declarations}


def reasons(reports: Sequence[FileReport]) -> dict[str, str]:
    """Why each declaration is rejected, by name; empty for those that are accepted."""
    return {name: each.reason for name, each in verdicts(reports).items()}
