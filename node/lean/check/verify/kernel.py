"""Fresh Lean processes for verification, and the kernel's judgement of what they compiled, as data."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from node.lean.check.verify.judge import AnswerRequest, Pair, ProofsRequest, Reply
from node.lean.process.dialog import Dialog
from node.lean.process.fresh import FinishedProcess, Limits, OutOfLimits, WatchedProcess, run_fresh, run_watched
from node.lean.toolchain import judge
from node.lean.toolchain.lean_toolchain import LeanToolchain

# --- Starts fresh Lean processes for verification, with their options, limits and search path ------------------------


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


def _compiling(module: str) -> list[str]:
    return ["-o", f"{module}.olean", f"{module}.lean"]


# --- Has Lean's kernel check compiled files as data: no process that judges imports a file that a user's code --------
#
# A child process of ours reads the compiled files and writes their declarations (`judge.py`, `olean/declarations.py`).
# A fresh process that has imported only the library makes these declarations anew and gives each one to the kernel. The
# child then reads the kernel's answer.


ANSWER_BYTES = 64 * 2**20
"""Longest answer of the kernel's process."""

SECONDS_PER_MEGABYTE = 10.0
"""Added to the time limit of the kernel's process for each megabyte of declarations."""


class KernelProcess:
    """Runs a fresh process that has the toolchain's kernel check declarations."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: where it runs; it must exist."""
        self._toolchain = toolchain
        self.limits = limits
        self._folder = folder

    async def answer(self, declarations: Path) -> str:
        """The answer to the declarations in a file. Raises OutOfLimits, also if the process fails."""
        megabytes = declarations.stat().st_size / 2**20
        if self._toolchain.kernel:
            command, environment = [*self._toolchain.kernel, str(declarations)], {**self._toolchain.environment}
            files = [str(declarations)]
        else:
            command, environment = judge.command(self._toolchain, declarations), judge.environment(self._toolchain)
            files = command[-2:]  # the program, and the declarations
        finished = await run_fresh(
            command,
            environment=environment,
            folder=self._folder,
            limits=Limits(self.limits.seconds + SECONDS_PER_MEGABYTE * megabytes, self.limits.memory_mb),
            keeper=self._toolchain.keeper((), files),
            output_bytes=ANSWER_BYTES,
        )
        if finished.code:
            said = (finished.errors or finished.output).strip()[-400:]
            raise OutOfLimits(f"the kernel's process ended with code {finished.code}{': ' + said if said else ''}")
        return finished.output


class ProofJudge:
    """Judges compiled proofs. Call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: for its files; it must exist."""
        self._folder = folder
        self._limits = limits
        self._toolchain = toolchain
        self._kernel = KernelProcess(toolchain, limits, folder)
        self._idle: list[tuple[Dialog, Path]] = []
        """Children that wait for a request, each with the only folder that it may write to."""

    async def judge(self, statements: Path, proofs: Path, pairs: Sequence[Pair]) -> Reply:
        """The verdicts on pairs of a statement and a proof in two compiled files. Raises OutOfLimits."""
        dialog, folder = self._idle.pop() if self._idle else self._reader()
        declarations = folder / "declarations"
        try:
            request = ProofsRequest(str(statements), str(proofs), str(declarations), list(pairs))
            reply = await dialog.ask(request, Reply)
            if not reply.problem:
                answer = await self._kernel.answer(declarations)
                reply = await dialog.ask(AnswerRequest(answer), Reply)
            declarations.unlink(missing_ok=True)
        except BaseException:
            await dialog.close()
            shutil.rmtree(folder, ignore_errors=True)
            raise
        self._idle.append((dialog, folder))
        return reply

    def _reader(self) -> tuple[Dialog, Path]:
        folder = Path(tempfile.mkdtemp(prefix="judge-", dir=self._folder))
        keeper = self._toolchain.keeper([folder], [self._folder], packages=True)
        return Dialog("node.lean.check.verify.judge", self._limits, keeper), folder

    async def close(self) -> None:
        """End its children."""
        idle, self._idle = self._idle, []
        for dialog, _ in idle:
            await dialog.close()

    def close_now(self) -> None:
        """Kill its children without waiting for their end."""
        for dialog, _ in self._idle:
            dialog.kill_now()
