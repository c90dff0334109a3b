"""Fresh Lean processes for verification, and the kernel's judgement of what they compiled, as data."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from node.lean.check.verify.headers import KeptHeader, KeptHeaders
from node.lean.check.verify.judge import AnswerRequest, Pair, ProofsRequest, Reply
from node.lean.olean.declarations import Declarations
from node.lean.olean.terms import Terms
from node.lean.process.child import READ_BYTES, ConfinedChild
from node.lean.process.dialog import Dialog
from node.lean.process.fresh import (
    FILE_BYTES,
    FinishedProcess,
    Limits,
    OutOfLimits,
    WatchedProcess,
    run_fresh,
    run_watched,
)
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
        self.headers = KeptHeaders(toolchain, OPTIONS)

    async def compile(self, folder: Path, module: str, kept: KeptHeader | None = None) -> FinishedProcess:
        """Compile one file in a process that may write into this folder. `kept`: what it starts from. Raises
        OutOfLimits."""
        start, read = ([], []) if kept is None else (kept.arguments, [kept.folder])
        return await self.run(folder, [*start, *_compiling(module)], read=read, writable=True)

    async def run(
        self,
        folder: Path,
        arguments: Sequence[str],
        path: Sequence[Path] = (),
        *,
        read: Sequence[Path] = (),
        writable: bool = False,
    ) -> FinishedProcess:
        """Run Lean in a folder. `path`: folders with modules that it may import; `read`: others that it may read.
        Raises OutOfLimits."""
        return await run_fresh(
            [*self.toolchain.command, *OPTIONS, *arguments],
            environment=self.toolchain.with_modules(path),
            folder=folder,
            limits=self.limits,
            keeper=self.toolchain.keeper([folder] if writable else [], [folder, *path, *read]),
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
# Another one that has imported only the library makes these declarations anew and gives each one to the kernel. The
# first child then reads the kernel's answer.
#
# A process of the kernel goes on to the next declarations with the same imports, from the library alone: a full Lean
# takes seconds to get there. It only reads its standard input.


ANSWER_BYTES = 64 * 2**20
"""Longest answer of the kernel's process."""

SECONDS_PER_MEGABYTE = 10.0
"""Added to the time limit of the kernel's process for each megabyte of declarations."""

KEPT = 2
"""Most idle processes of the kernel."""

KEPT_MB = 256.0
"""A process is not kept when its memory has grown by so much."""


@dataclass
class _Kernel:
    """A process of the kernel."""

    child: ConfinedChild
    imports: tuple[str, ...]
    """The library that it loads with its first declarations."""
    clean_mb: float = 0.0
    """Its own memory after its first answer; 0 before."""


class KernelProcess:
    """Has the toolchain's kernel check declarations, in processes that are kept for the next ones. Use it from one
    event loop, and call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: where its processes run; it must exist."""
        self._toolchain = toolchain
        self.limits = limits
        self._folder = folder
        self._idle: list[_Kernel] = []
        """The least recently used first."""
        self._preparing: tuple[tuple[str, ...], asyncio.Task[None]] | None = None
        """The library that a new process loads, and the task for it."""
        self.starts = 0
        """Number of processes so far."""

    def prepare(self, imports: Iterable[str]) -> None:
        """Have a process load these modules behind `Init` while Lean compiles, if none has them."""
        library = tuple(dict.fromkeys(("Init", *imports)))
        known = any(each.imports == library for each in self._idle)
        if not known and (self._preparing is None or self._preparing[1].done()):
            self._preparing = library, asyncio.create_task(self._load(library), name="kernel")

    async def _load(self, imports: tuple[str, ...]) -> None:
        with tempfile.TemporaryDirectory(dir=self._folder) as folder, contextlib.suppress(OutOfLimits, OSError):
            nothing = Path(folder) / "declarations"
            nothing.write_bytes(Declarations(Terms()).written(imports, []))
            await self._ask(await self._start(imports), nothing)

    async def answer(self, declarations: Path, imports: Sequence[str] = ()) -> str:
        """The answer to the declarations in a file. `imports`: the modules that it names as its imports, to find a
        process that has them already. Raises OutOfLimits, also if the process fails."""
        library = tuple(imports)
        if self._preparing is not None and self._preparing[0] == library:
            await asyncio.wait([self._preparing[1]])
        if (kernel := next((each for each in self._idle if each.imports == library), None)) is not None:
            self._idle.remove(kernel)
            # What earlier declarations did to the process must not count against these.
            with contextlib.suppress(_Died):
                return await self._ask(kernel, declarations)
        return await self._ask(await self._start(library), declarations)

    async def _start(self, imports: tuple[str, ...]) -> _Kernel:
        self.starts += 1
        toolchain = self._toolchain
        command = toolchain.kernel or judge.command(toolchain)
        child = await ConfinedChild.start(
            command,
            environment=toolchain.environment if toolchain.kernel else judge.environment(toolchain),
            keeper=toolchain.keeper((), () if toolchain.kernel else command[-1:]),  # it reads the program
            folder=self._folder,
            memory_mb=self.limits.memory_mb,
            file_bytes=FILE_BYTES,
            stdin=asyncio.subprocess.PIPE,
        )
        child.drain_stderr()
        return _Kernel(child, imports)

    async def _ask(self, kernel: _Kernel, declarations: Path) -> str:
        """Raises OutOfLimits."""
        child, size = kernel.child, declarations.stat().st_size
        seconds = self.limits.seconds + SECONDS_PER_MEGABYTE * size / 2**20
        child.guard.base_mb = child.own_mb() if kernel.clean_mb else 0.0
        try:
            async with child.guard, asyncio.timeout(seconds):
                answer = await self._exchanged(child, declarations, size)
        except TimeoutError:
            await child.kill()
            raise OutOfLimits(f"not done after {seconds:g} s") from None
        except BaseException:
            await child.kill()
            raise
        kernel.clean_mb = kernel.clean_mb or max(1.0, child.own_mb())
        self._idle.append(kernel)
        if child.own_mb() - kernel.clean_mb > KEPT_MB:
            await self._idle.pop().child.kill()
        elif len(self._idle) > KEPT:
            await self._idle.pop(0).child.kill()
        return answer

    async def _exchanged(self, child: ConfinedChild, declarations: Path, size: int) -> str:
        """Send declarations and read the answer to them. Raises OutOfLimits."""
        nonce = secrets.token_hex(16).encode()
        try:
            child.stdin.write(b"%d %s\n" % (size, nonce))
            with declarations.open("rb") as file:
                while part := file.read(READ_BYTES):
                    child.stdin.write(part)
                    await child.stdin.drain()
            length, said = (await child.stdout.readline()).split()
            if said != nonce or int(length) > ANSWER_BYTES:
                raise ValueError
            return (await child.stdout.readexactly(int(length))).decode(errors="replace")
        except (ConnectionError, ValueError, asyncio.IncompleteReadError):
            if child.guard.exceeded:
                raise _Died(f"more than {self.limits.memory_mb} MB of memory") from None
            code = await child.process.wait() if child.stdout.at_eof() else None
            ended = "gave no answer" if code is None else f"ended with code {code}"
            raise _Died(child.with_stderr(f"the kernel's process {ended}")) from None

    async def close(self) -> None:
        """End its processes."""
        if self._preparing is not None:
            await asyncio.wait([self._preparing[1]])
        idle, self._idle = self._idle, []
        await asyncio.gather(*(kernel.child.kill() for kernel in idle))


class _Died(OutOfLimits):
    """The process ended before it has answered."""


class Readers:
    """Child processes of ours that read compiled files (`process/dialog.py`), kept for the next ones. Call `close` at
    the end."""

    def __init__(self, module: str, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`module`: what each child runs; `folder`: all that a child may read, and what it writes is below."""
        self._module = module
        self._toolchain = toolchain
        self._limits = limits
        self._folder = folder
        self._idle: list[tuple[Dialog, Path]] = []

    @asynccontextmanager
    async def borrowed(self) -> AsyncIterator[tuple[Dialog, Path]]:
        """A child for the block, and the only folder to which it may write. It is ended if the block raises."""
        dialog, written = self._idle.pop() if self._idle else self._new()
        kept = False
        try:
            yield dialog, written
            kept = dialog.own_mb() < KEPT_MB
        finally:
            if kept:
                self._idle.append((dialog, written))
            else:
                await dialog.close()
                shutil.rmtree(written, ignore_errors=True)

    def _new(self) -> tuple[Dialog, Path]:
        written = Path(tempfile.mkdtemp(prefix="reader-", dir=self._folder))
        keeper = self._toolchain.keeper([written], [self._folder], packages=True)
        return Dialog(self._module, self._limits, keeper), written

    async def close(self) -> None:
        """End the idle children."""
        idle, self._idle = self._idle, []
        await asyncio.gather(*(dialog.close() for dialog, _ in idle))


class ProofJudge:
    """Judges compiled proofs. Call `close` at the end."""

    def __init__(self, toolchain: LeanToolchain, limits: Limits, folder: Path) -> None:
        """`folder`: for its files; it must exist."""
        self._kernel = KernelProcess(toolchain, limits, folder)
        self._readers = Readers("node.lean.check.verify.judge", toolchain, limits, folder)

    def prepare(self, imports: Iterable[str]) -> None:
        """Have the kernel's process load these modules while Lean compiles."""
        self._kernel.prepare(imports)

    async def judge(self, statements: Path, proofs: Path, pairs: Sequence[Pair]) -> Reply:
        """The verdicts on pairs of a statement and a proof in two compiled files. Raises OutOfLimits."""
        async with self._readers.borrowed() as (dialog, folder):
            declarations = folder / "declarations"
            request = ProofsRequest(str(statements), str(proofs), str(declarations), list(pairs))
            reply = await dialog.ask(request, Reply)
            if not reply.problem:
                answer = await self._kernel.answer(declarations, reply.imports)
                reply = await dialog.ask(AnswerRequest(answer), Reply)
            declarations.unlink(missing_ok=True)
        return reply

    async def close(self) -> None:
        """End its children."""
        await asyncio.gather(self._kernel.close(), self._readers.close())
