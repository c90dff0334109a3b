"""A prover in this process, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.proving.local_lean import local_lean
from node.proving.settings import ProvingSettings
from node.proving.solo import SoloProver, Watch


@asynccontextmanager
async def local_prover(watch: Watch | None = None) -> AsyncIterator[SoloProver]:
    """Pocket Lean with the fixed list of tactics."""
    async with local_lean(LeanProcessSettings(workers=2, sandbox=False), LeanToolchain.pocket()) as lean:
        yield SoloProver(lean, ProvingSettings(policy="tactics"), watch=watch)
