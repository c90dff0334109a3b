"""A prover in this process, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from node.lean.opened import open_lean
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.prover.player import Watch
from node.proving.prover import TheoremProver, local_prover
from node.proving.settings import ProvingSettings


@asynccontextmanager
async def pocket_prover(watch: Watch | None = None) -> AsyncIterator[TheoremProver]:
    """Pocket Lean with the fixed list of tactics."""
    async with (
        open_lean(LeanProcessSettings(workers=2, sandbox=False), LeanToolchain.pocket()) as lean,
        local_prover(lean, ProvingSettings(policy="tactics"), watch=watch) as prover,
    ):
        yield prover
