"""What finds the gaps of files and verifies them, with one Lean for all tests of this folder."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

import pytest

from node.lean.check.files.verifier import FileVerifier
from node.lean.gaps.finder import GapFinder
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.proving.fill_check import FillVerifier
from tests.background import Background, Elsewhere


class Filling(NamedTuple):
    """Both live in the thread of shared nodes, and may be awaited in the loop of a test."""

    finder: Any
    verifier: Any


@pytest.fixture(scope="package")
def filling(background: Background) -> Iterator[Filling]:
    @asynccontextmanager
    async def opened() -> AsyncIterator[Filling]:
        toolchain = LeanToolchain.pocket()
        finder = GapFinder(toolchain)
        files = FileVerifier(toolchain, at_once=1, seconds=30, memory_mb=2048)
        yield Filling(*(Elsewhere(background, each) for each in (finder, FillVerifier(toolchain, files))))
        await files.close()
        await finder.close()

    with background.opened(opened()) as filling:
        yield filling
