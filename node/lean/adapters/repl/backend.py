"""The `repl` backend: runs candidates on REPL processes, one after the other, each on its own proof state.

A REPL runs one candidate at a time. If the process crashes, either this candidate or the process itself is the cause,
so the candidate runs once more on a fresh process. The same holds after a lack of memory, because a REPL never frees
old states. Processes are replaced between batches before they use too much memory.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

from common.lean import Outcome, OutcomeKind
from node.lean.adapters.repl.link import ReplEnded, ReplLink, ReplProcess, ReplState
from node.lean.adapters.repl.service import CONFINED
from node.lean.adapters.run import AdapterRun, NotReplayed, Places
from node.lean.backend import BackendDown, BatchResult, TacticBatch, state_key
from node.lean.process.child import Ending
from node.lean.process.protections import SCRIPTS, program_files
from node.lean.text.statement import imports
from node.lean.toolchain import lake
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.plan import CRASHES_ALONE, KINDS
from node.lean.worker.process import WorkerOptions

RECYCLE_COMMANDS = 500
"""Commands after which a process is replaced. Some REPLs crash after a few hundred commands, and the environment or
state that each command adds is never freed."""

RECYCLE_STARTS = 20
"""A process is replaced only if it has also worked this many times as long as its start took. Starts therefore take at
most a twentieth of the time, even with a large library."""

TRIES = 3
"""Processes that may fail to reach a batch's state before the whole batch fails."""

PASSED_ON = ("HOME", "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "ELAN_HOME", "VIRTUAL_ENV")
"""Variables of our environment that the REPL's command gets, in addition to the toolchain's."""


@dataclass
class ReplBackend:
    """Runs batches on REPL processes, which start on demand. Use it from one event loop."""

    in_files: ClassVar[bool] = False
    header_seconds: ClassVar[float] = 0.0

    toolchain: LeanToolchain
    """Gives the REPL's environment and folder, and the header of theorems."""
    command: tuple[str, ...]
    options: WorkerOptions
    workers: int
    queue: int
    """Most batches that wait for a process."""
    restarts: int = 0
    _idle: list[ReplLink] = field(default_factory=list)
    _busy: list[ReplLink] = field(default_factory=list)
    _scratch: tempfile.TemporaryDirectory[str] | None = None
    _seconds: float = 0.05

    def __post_init__(self) -> None:
        self._places = Places(self.workers, self.queue)

    def start(self) -> None:
        """Get ready. Processes start on demand."""
        self._scratch = tempfile.TemporaryDirectory(prefix="proofmesh-repl-")

    async def stop(self) -> None:
        """Kill all processes. Open attempts end with CancelledError."""
        await self._places.cancel()
        await asyncio.gather(*(link.process.kill() for link in (*self._idle, *self._busy)))
        self._idle.clear()
        if self._scratch is not None:
            self._scratch.cleanup()

    @property
    def waiting(self) -> int:
        return self._places.waiting

    @property
    def live(self) -> int:
        return len(self._idle) + len(self._busy)

    def processes(self) -> list[ReplProcess]:
        """Live REPL processes."""
        return [link.process for link in (*self._idle, *self._busy)]

    def resident_mb(self) -> float:
        return sum(process.resident_mb() for process in self.processes())

    async def attempt(self, batch: TacticBatch) -> BatchResult:
        """Run a batch. Raises BackendFull, BackendDown, BadStatement."""
        return await self._places.attend(self._attempt(batch), "REPL batch")

    async def _attempt(self, batch: TacticBatch) -> BatchResult:
        async with self._places.hold(min(5.0, max(0.02, self._seconds * self.waiting / 2 / self.workers))):
            began = time.monotonic()
            run = _ReplRun(batch, self.toolchain.header(batch.theorem.header))
            # If a process ends, the run records that, and goes on with another process.
            while not run.done:
                try:
                    async with self._link(run) as link:
                        await run.go(link)
                except ReplEnded as end:
                    self.restarts += 1
                    run.failed(end)
            elapsed = time.monotonic() - began
            self._seconds += 0.05 * (elapsed - self._seconds)
            return run.result(elapsed)

    @asynccontextmanager
    async def _link(self, run: _ReplRun) -> AsyncIterator[ReplLink]:
        """A process that only this run uses. Afterwards it becomes idle, or is killed if it is worn or surplus."""
        link = await self._idle_link(run) or await self._new(run)
        self._busy.append(link)
        try:
            yield link
        except (ReplEnded, asyncio.CancelledError):
            await link.process.kill()
            raise
        finally:
            self._busy.remove(link)
            if link.process.alive and not self._worn(link) and self.live < self.workers:
                link.warm = state_key(run.batch.theorem, ())
                self._idle.append(link)
            else:
                await link.process.kill()

    async def _idle_link(self, run: _ReplRun) -> ReplLink | None:
        """An idle process with the imports of the run, preferably one whose last theorem was the same."""
        self._idle = [link for link in self._idle if link.process.alive]
        matching = [link for link in self._idle if link.imports == run.imports]
        key = state_key(run.batch.theorem, ())
        link = next((link for link in matching if link.warm == key), None)
        if link is None and self.live < self.workers:
            return None  # start another process, so that the idle ones stay warm for their theorems
        link = link or next(iter(matching), None)
        if link is not None:
            self._idle.remove(link)
        elif self._idle:
            await self._idle.pop(0).process.kill()
        return link

    async def _new(self, run: _ReplRun) -> ReplLink:
        """Start a process. Raises BackendDown."""
        assert self._scratch is not None
        scratch = Path(self._scratch.name)
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"TMPDIR": str(scratch)}
        # Commands such as `lake env repl` start the REPL as a child process.
        protections = self.toolchain.protections.without("processes", "the REPL's command may start others")
        if protections.mechanisms:
            environment[CONFINED] = "1"
        try:
            process = await ReplProcess.start(
                self.command,
                {**environment, **self.toolchain.environment},
                self.options.memory_mb,
                folder=self.toolchain.project or None,
                keeper=replace(self.toolchain, protections=protections).keeper(
                    [scratch], _command_files(self.command), packages=True
                ),
            )
        except OSError as error:
            raise BackendDown(f"the REPL does not start as {' '.join(self.command)!r}: {error}") from error
        return ReplLink(process, self.options.start_seconds, self.options.heartbeats, run.imports)

    def _worn(self, link: ReplLink) -> bool:
        """True when a process should be replaced before its next batch."""
        process = link.process
        old = process.commands >= RECYCLE_COMMANDS and process.worked >= RECYCLE_STARTS * link.started_in
        return old or process.grown_mb() > self.options.memory_mb / 2


def _command_files(command: Sequence[str]) -> list[str]:
    """What the REPL's command reads, besides the toolchain: programs, elan's toolchains, and what its arguments name.

    Of a program that Lake has built (`FOLDER/.lake/build/bin/repl`), that is its project.
    """
    files = [*program_files(command), *SCRIPTS, str(lake.elan_home(os.environ))]
    for argument in command:
        if os.sep in argument and Path(argument).exists():
            path = Path(argument).absolute()
            project = next((each.parent for each in path.parents if each.name == ".lake"), None)
            files += [*program_files((argument,)), *([str(project)] if project else [])]
    return files


class _ReplRun(AdapterRun):
    """A batch and its progress, which continues on another process if one ends."""

    def __init__(self, batch: TacticBatch, header: str) -> None:
        super().__init__(batch)
        self.header = header
        self.imports = tuple(imports(header))
        self.done = False
        self._unfinished: dict[str, Outcome] = {}
        """Outcomes of candidates that timed out or ended the process. If the parser rejects such a candidate, it gets
        the parser's error instead."""
        self._running: str | None = None
        """The candidate that the process is running."""
        self._failures = 0
        """Processes that ended before the first candidate."""

    async def go(self, link: ReplLink) -> None:
        """Run the remaining candidates, one after the other. Raises BadStatement, ReplEnded."""
        batch, self._running = self.batch, None
        await link.environment(self.header)
        try:
            state = await link.state(batch.theorem, self.header, batch.path, batch.timeout)
        except NotReplayed as error:
            self.give_up(str(error))
            return
        await self.settle_rest(state.text, lambda tactic: self._settle(link, state, tactic))
        self.done = True

    async def _settle(self, link: ReplLink, state: ReplState, tactic: str) -> Outcome:
        batch, self._running = self.batch, tactic
        if tactic not in self._unfinished:
            outcome = await link.attempt(batch.theorem, self.header, batch.path, state, tactic, batch.timeout)
            if outcome.kind not in KINDS.values():
                self._running = None
                return outcome
            self._unfinished[tactic] = outcome
        parser_error = await link.parser_refuses(self.header, tactic, batch.timeout)
        self._running = None
        return Outcome(OutcomeKind.ERROR, message=parser_error) if parser_error else self._unfinished[tactic]

    def failed(self, end: ReplEnded) -> None:
        """Record that the process ended. Raises BackendDown."""
        tactic, self._running = self._running, None
        if tactic is not None and tactic in self._unfinished:  # the process ended while only parsing it
            self.outcomes[tactic] = self._unfinished[tactic]
        elif tactic is not None:
            if self.count_crash(tactic) >= CRASHES_ALONE or end.ending is Ending.TIMEOUT:
                self._unfinished[tactic] = Outcome(KINDS[end.ending], message=str(end))
        else:
            self._state_failed(end)

    def _state_failed(self, end: ReplEnded) -> None:
        """Record that the process ended before it reached the state. Raises BackendDown."""
        self._failures += 1
        if self._failures >= TRIES and self.batch.path:
            self.give_up(f"the state cannot be shown: {end}")
        elif self._failures >= TRIES:
            raise BackendDown(f"the REPL cannot open the theorem: {end}") from end

    def give_up(self, reason: str) -> None:
        super().give_up(reason)
        self.done = True
