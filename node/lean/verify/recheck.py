"""`leanchecker`, where the toolchain has one: the kernel checks every declaration of a compiled proof once more.

It finds what never went through the kernel: a declaration that code at elaboration time put into the environment, or an
.olean file that was written by something else than the compiler. Pocket Lean's wheel has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from node.lean.process.fresh import FinishedProcess, Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verdicts import PROOF


class Rechecker:
    """Runs a toolchain's `leanchecker`: `find` it first."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: where it runs; it must exist."""
        self._toolchain = toolchain
        self._limits = limits
        self._folder = folder
        self._prefix = Path()
        self.available = False
        """Whether this toolchain has one; known after `find`."""

    async def find(self) -> None:
        """Look for it beside `lean`. Raises OutOfLimits."""
        command = [*self._toolchain.command, "--print-prefix"]
        finished = await self._run(command, self._toolchain.environment, self._folder)
        self._prefix = Path(finished.output.strip())
        self.available = finished.code == 0 and self._prefix.is_absolute() and self._program.is_file()

    async def problem(self, folder: Path, path: Sequence[Path]) -> str:
        """Why `leanchecker` rejects the compiled proof in a folder; empty when it accepts it, or is not available.

        `path`: the folders of modules that it may import. Raises OutOfLimits.
        """
        if not self.available:
            return ""
        # It would start `lean` to find its library, which it may not.
        environment = self._toolchain.with_modules(path) | {"LEAN_SYSROOT": str(self._prefix)}
        finished = await self._run([str(self._program), PROOF], environment, folder)
        if finished.code == 0:
            return ""
        output = (finished.errors or finished.output).strip()[-400:]
        return f"leanchecker rejects the compiled proof: {output or f'it ended with code {finished.code}'}"

    @property
    def _program(self) -> Path:
        return self._prefix / "bin" / "leanchecker"

    async def _run(self, command: Sequence[str], environment: Mapping[str, str], folder: Path) -> FinishedProcess:
        keeper = self._toolchain.protections.keeper()
        return await run_fresh(command, environment=environment, folder=folder, limits=self._limits, keeper=keeper)
