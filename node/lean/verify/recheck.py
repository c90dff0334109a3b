"""Has the kernel check every declaration of a compiled module again, in a process that runs no code of the module.

This detects declarations that bypassed the kernel: those that elaboration-time code added to the environment, and
.olean files that the compiler did not write. Full toolchains use `leanchecker` (part of Lean since 4.28). Pocket Lean's
kernel runs through `toolchain/pocket/kernel.py`.
"""

from __future__ import annotations

import asyncio
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from node.lean.olean.module import Module
from node.lean.olean.plan import Step, steps, uses
from node.lean.olean.region import BadOlean
from node.lean.olean.terms import Terms
from node.lean.process.fresh import FinishedProcess, Limits, run_fresh
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.verify.verdicts import PROOF

WHOLE_MODULE = ""
"""In place of a declaration's name: the whole module is rejected."""


class Rechecker:
    """Runs a toolchain's `leanchecker`, or pocket Lean's kernel. Call `find` first."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: where it runs and writes its plans; it must exist."""
        self._toolchain = toolchain
        self._limits = limits
        self._folder = folder
        self._prefix = Path()
        self.available = bool(toolchain.kernel)
        """True if this toolchain can check again; valid after `find`."""
        self.name = "kernel" if toolchain.kernel else ""
        """The program that checks again; empty if there is none."""

    async def find(self) -> None:
        """Look for `leanchecker` in the folder of `lean`. Raises OutOfLimits."""
        if self._toolchain.kernel:
            return
        command = [*self._toolchain.command, "--print-prefix"]
        finished = await self._run(command, self._toolchain.environment, self._folder)
        self._prefix = Path(finished.output.strip())
        self.available = finished.code == 0 and self._prefix.is_absolute() and self._program.is_file()
        self.name = "leanchecker" if self.available else ""

    async def problem(self, folder: Path, path: Sequence[Path]) -> str:
        """Why the compiled proof in a folder is rejected; empty if it is accepted or this toolchain cannot check it.

        `path`: folders with modules that it may import. Raises OutOfLimits.
        """
        if not self.available:
            return ""
        if not self._toolchain.kernel:
            return await self._leanchecker(folder, path, PROOF)
        try:
            rejected = await asyncio.to_thread(self._read_and_plan, folder / f"{PROOF}.olean")
        except (BadOlean, OSError) as error:
            return f"the compiled proof cannot be read: {error}"
        problems = await self.replay(*rejected, path)
        return next((f"the kernel rejects {name}: {reason}" for name, reason in problems.items()), "")

    @staticmethod
    def _read_and_plan(olean: Path) -> tuple[list[str], list[Step]]:
        terms = Terms()
        module = Module(olean, terms)
        try:
            return list(module.imports), steps(str(olean), module, uses(module, terms))
        finally:
            module.close()

    async def rejected(
        self, module: str, imports: Sequence[str], plan: list[Step], path: Sequence[Path]
    ) -> dict[str, str]:
        """The rejected declarations with the reasons, by name; WHOLE_MODULE for all of them. Raises OutOfLimits.

        `imports`, `plan`: of the module, read by `olean`; `path`: folders with the module and the modules it imports.
        """
        if self._toolchain.kernel:
            return await self.replay(imports, plan, path)
        if self.available and (problem := await self._leanchecker(self._folder, path, module)):
            return {WHOLE_MODULE: problem}
        return {}

    async def replay(self, library: Sequence[str], plan: list[Step], path: Sequence[Path]) -> dict[str, str]:
        """The declarations that pocket Lean's kernel rejects, with the reasons, by name. Raises OutOfLimits."""
        handle, file = tempfile.mkstemp(prefix="plan-", suffix=".json", dir=self._folder)
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as stream:
                json.dump({"library": list(library), "steps": plan}, stream)
            command = [*self._toolchain.kernel, file]
            finished = await self._run(command, self._toolchain.with_modules(path), self._folder)
        finally:
            Path(file).unlink(missing_ok=True)
        try:
            rejected: dict[str, str] = json.loads(finished.output)["rejected"]
        except (ValueError, KeyError):
            output = (finished.errors or finished.output).strip()[-400:]
            return {WHOLE_MODULE: f"the kernel ended with code {finished.code}{': ' + output if output else ''}"}
        return rejected

    async def _leanchecker(self, folder: Path, path: Sequence[Path], module: str) -> str:
        """Why `leanchecker` rejects a compiled module; empty if it accepts it."""
        # Without LEAN_SYSROOT, leanchecker starts `lean` to find the library; confinement allows no other process.
        environment = self._toolchain.with_modules(path) | {"LEAN_SYSROOT": str(self._prefix)}
        finished = await self._run([str(self._program), module], environment, folder)
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
