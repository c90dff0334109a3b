"""A prover in this process, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from node.lean.opened import OpenedLean
from node.prover.player import Watch
from node.proving.prover import TheoremProver, local_prover
from node.proving.settings import ProvingSettings


@asynccontextmanager
async def pocket_prover(lean: OpenedLean, watch: Watch | None = None) -> AsyncIterator[TheoremProver]:
    """The fixed list of tactics, without the library's search, which takes seconds for what is false."""
    async with local_prover(lean, ProvingSettings(policy="tactics", searching=[]), watch=watch) as prover:
        yield prover
