"""The `repl` backend: candidates run on REPL processes, one after the other, each on a proof state of its own.

A REPL runs one candidate at a time. So when the process ends, either that candidate or the process itself is to blame.
After a death the candidate is tried once more on a fresh process. After a lack of memory, too, because a REPL never
frees its old states; processes are replaced between batches before that happens.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from common.lean import Outcome, OutcomeKind
from node.lean.adapters.places import Places
from node.lean.adapters.repl.link import ReplLink, ReplState
from node.lean.adapters.repl.process import ReplEnded, ReplProcess
from node.lean.adapters.repl.service import CONFINED
from node.lean.adapters.run import AdapterRun, NotReplayed
from node.lean.backend import BackendDown, BatchResult, TacticBatch
from node.lean.cache import state_key
from node.lean.process.child import Ending
from node.lean.text.headers import imports
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker.options import WorkerOptions
from node.lean.worker.plan import CRASHES_ALONE, KINDS

RECYCLE_COMMANDS = 500
"""Commands after which a process is replaced: REPL processes are known to die after some hundreds, and each command
leaves an environment or a state behind that is never freed."""

RECYCLE_STARTS = 20
"""It has worked that many times as long as it took to start, too: so a large library costs a twentieth at most."""

TRIES = 3
"""Processes that may fail at a batch's state before the batch is given up."""

PASSED_ON = ("HOME", "PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "ELAN_HOME", "VIRTUAL_ENV")
"""Variables of our environment that the REPL's command gets, besides the toolchain's."""


@dataclass
class ReplBackend:
    """Runs batches on REPL processes, started on demand. Used from one event loop."""

    in_files: ClassVar[bool] = False

    toolchain: LeanToolchain
    """What the REPL runs on: its environment, its folder, the header of theorems."""
    command: tuple[str, ...]
    options: WorkerOptions
    workers: int
    queue: int
    """Batches that may wait for a process, in all."""
    restarts: int = 0
    _idle: list[ReplLink] = field(default_factory=list)
    _busy: list[ReplLink] = field(default_factory=list)
    _scratch: tempfile.TemporaryDirectory[str] | None = None
    _seconds: float = 0.05

    def __post_init__(self) -> None:
        self._places = Places(self.workers, self.queue)

    def start(self) -> None:
        """Get ready; processes start on demand."""
        self._scratch = tempfile.TemporaryDirectory(prefix="proofmesh-repl-")

    async def stop(self) -> None:
        """Kill all processes; attempts that are open end with CancelledError."""
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
        """A process for this run alone; idle afterwards if it is sound and not worn out, else killed."""
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
        """An idle process that has the imports: the one that has the theorem, if possible."""
        self._idle = [link for link in self._idle if link.process.alive]
        matching = [link for link in self._idle if link.imports == run.imports]
        key = state_key(run.batch.theorem, ())
        link = next((link for link in matching if link.warm == key), None)
        if link is None and self.live < self.workers:
            return None  # there is room for another process: the idle ones stay warm for their own theorems
        link = link or next(iter(matching), None)
        if link is not None:
            self._idle.remove(link)
        elif self._idle:
            await self._idle.pop(0).process.kill()
        return link

    async def _new(self, run: _ReplRun) -> ReplLink:
        """Another process. Raises BackendDown."""
        assert self._scratch is not None
        scratch = Path(self._scratch.name)
        environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ} | {"TMPDIR": str(scratch)}
        # `lake env repl` and its like start others.
        protections = self.toolchain.protections.without("processes", "the REPL's command may start others")
        if protections.mechanisms:
            environment[CONFINED] = "1"
        try:
            process = await ReplProcess.start(
                self.command,
                {**environment, **self.toolchain.environment},
                self.options.memory_mb,
                folder=self.toolchain.project or None,
                keeper=protections.keeper([scratch]),
            )
        except OSError as error:
            raise BackendDown(f"the REPL does not start as {' '.join(self.command)!r}: {error}") from error
        return ReplLink(process, self.options.start_seconds, self.options.heartbeats, run.imports)

    def _worn(self, link: ReplLink) -> bool:
        process = link.process
        old = process.commands >= RECYCLE_COMMANDS and process.worked >= RECYCLE_STARTS * link.started_in
        return old or process.grown_mb() > self.options.memory_mb / 2


class _ReplRun(AdapterRun):
    """A batch that is carried from process to process until it is done."""

    def __init__(self, batch: TacticBatch, header: str) -> None:
        super().__init__(batch)
        self.header = header
        self.imports = tuple(imports(header))
        self.done = False
        self._unfinished: dict[str, Outcome] = {}
        """Candidates that came to no end. Those that the parser refuses get its error in place of this."""
        self._running: str | None = None
        """The candidate that the process runs."""
        self._failures = 0
        """Processes that ended before the first candidate."""

    async def go(self, link: ReplLink) -> None:
        """Settle one candidate after the other. Raises BadStatement, ReplEnded."""
        batch, self._running = self.batch, None
        await link.environment(self.header)
        try:
            known = await link.state(batch.theorem, self.header, batch.path, batch.timeout)
        except NotReplayed as error:
            self.give_up(str(error))
            return
        await self.settle_rest(known.text, lambda tactic: self._settle(link, known, tactic))
        self.done = True

    async def _settle(self, link: ReplLink, known: ReplState, tactic: str) -> Outcome:
        batch, self._running = self.batch, tactic
        if tactic not in self._unfinished:
            outcome = await link.attempt(batch.theorem, self.header, batch.path, known, tactic, batch.timeout)
            if outcome.kind not in KINDS.values():
                self._running = None
                return outcome
            self._unfinished[tactic] = outcome
        refused = await link.parser_refuses(self.header, tactic, batch.timeout)
        self._running = None
        return Outcome(OutcomeKind.ERROR, message=refused) if refused else self._unfinished[tactic]

    def failed(self, end: ReplEnded) -> None:
        """Learn that the process ended. Raises BackendDown."""
        tactic, self._running = self._running, None
        if tactic is not None and tactic in self._unfinished:  # even parsing it ended the process
            self.outcomes[tactic] = self._unfinished[tactic]
        elif tactic is not None:
            if self.strike(tactic) >= CRASHES_ALONE or end.ending is Ending.TIMEOUT:
                self._unfinished[tactic] = Outcome(KINDS[end.ending], message=str(end))
        else:
            self._state_failed(end)

    def _state_failed(self, end: ReplEnded) -> None:
        """Learn that the process ended over the state itself. Raises BackendDown."""
        self._failures += 1
        if self._failures >= TRIES and self.batch.path:
            self.give_up(f"the state cannot be shown: {end}")
        elif self._failures >= TRIES:
            raise BackendDown(f"the REPL does not show the theorem: {end}") from end

    def give_up(self, reason: str) -> None:
        super().give_up(reason)
        self.done = True
