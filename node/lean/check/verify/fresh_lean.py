"""Starts fresh Lean processes for verification, with their options, limits and search path."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from node.lean.process.fresh import FinishedProcess, Limits, WatchedProcess, run_fresh, run_watched
from node.lean.toolchain.lean_toolchain import LeanToolchain

HEARTBEATS = 1_000_000
"""Lean's `maxHeartbeats` for a whole proof. It is 25 times the limit of one tactic in a search, because all tactics of
a proof count together."""

OPTIONS = ("--json", "-DautoImplicit=false", f"-DmaxHeartbeats={HEARTBEATS}")

MANY = ("-Dlinter.all=false", "-DmaxErrors=1000000")
"""Options for many proofs in one file: no linters, which cost time and affect no verdict, and no limit on errors."""


class FreshLean:
    """Starts Lean for a verifier."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits) -> None:
        self.toolchain = toolchain
        self.limits = limits
        """Limits of each process that works on a single proof."""

    async def compile(self, folder: Path, module: str) -> FinishedProcess:
        """Compile one file in a process that may write into this folder. Raises OutOfLimits."""
        return await self.run(folder, _compiling(module), writable=True)

    async def run(
        self, folder: Path, arguments: Sequence[str], path: Sequence[Path] = (), *, writable: bool = False
    ) -> FinishedProcess:
        """Run Lean in a folder. `path`: folders with modules that it may import. Raises OutOfLimits."""
        return await run_fresh(
            [*self.toolchain.command, *OPTIONS, *arguments],
            environment=self.toolchain.with_modules(path),
            folder=folder,
            limits=self.limits,
            keeper=self.toolchain.keeper([folder] if writable else [], [folder, *path]),
        )

    async def compile_many(
        self, folder: Path, module: str, seconds: float, patience: Callable[[bytes], float]
    ) -> WatchedProcess:
        """Compile a file of many parts. `seconds`: time limit for all of it; `patience`: see `run_watched`."""
        return await self.run_many(folder, _compiling(module), (), seconds, patience, writable=True)

    async def run_many(
        self,
        folder: Path,
        arguments: Sequence[str],
        path: Sequence[Path],
        seconds: float,
        patience: Callable[[bytes], float],
        *,
        writable: bool = False,
    ) -> WatchedProcess:
        """Run Lean on a file of many parts. `seconds`: time limit for all of it; `patience`: see `run_watched`."""
        return await run_watched(
            [*self.toolchain.command, *OPTIONS, *MANY, *arguments],
            environment=self.toolchain.with_modules(path),
            folder=folder,
            limits=replace(self.limits, seconds=seconds),
            patience=patience,
            keeper=self.toolchain.keeper([folder] if writable else [], [folder, *path]),
        )

    async def version(self, folder: Path) -> str:
        """The version from `lean --version`. Raises OutOfLimits."""
        finished = await run_fresh(
            [*self.toolchain.command, "--version"],
            environment=self.toolchain.environment,
            folder=folder,
            limits=self.limits,
            keeper=self.toolchain.keeper(),
        )
        match = re.search(r"version ([^,)\s]+)", finished.output)
        return match.group(1) if match else finished.output.strip()[:80]


def _compiling(module: str) -> list[str]:
    return ["-o", f"{module}.olean", f"{module}.lean"]
