"""Keeps child processes running: starts them, restarts those that crash, stops them in order.

Children are process groups that end with this process, also on kill -9 (`common.life.process`). Their output goes to
files, so this process can never block them.
"""

from __future__ import annotations

import asyncio
import enum
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from common.life.logging import keep_small
from common.life.process import kill_group, spawn_child
from common.output.command import Exit
from common.watch.logs import in_words, parsed
from node.mesh.restarts import GiveUp, RestartHistory, RestartRules

LOGS_EVERY = 10.0
"""Seconds between checks of the size of the children's logs."""

LAST_LINES = 12
"""Lines of a child's log that are shown when it ends the mesh."""


@dataclass(frozen=True)
class ChildSpec:
    """One child process to keep running."""

    name: str
    argv: Sequence[str]
    log: Path
    """Its standard output and error, appended; rotated when it has grown large (`common.life.logging.keep_small`)."""
    rank: int = 0
    """Children of a lower rank are stopped first; those of one rank together."""
    ends_mesh: bool = False
    """If it ends with code 0, the work of the mesh is done. For other children, every end counts as a crash."""
    optional: bool = False
    """If it cannot be kept running, the mesh goes on without it."""
    env: Mapping[str, str] | None = field(default=None, repr=False)
    """Its environment; None: that of this process."""


class ChildState(enum.StrEnum):
    """The state of a child, as its supervisor sees it."""

    WAITING = "waiting"
    RUNNING = "running"
    RESTARTING = "restarting"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class Child:
    """One child's process and history."""

    def __init__(self, spec: ChildSpec, rules: RestartRules) -> None:
        self.spec = spec
        self.state = ChildState.WAITING
        self.history = RestartHistory(rules)
        self.process: asyncio.subprocess.Process | None = None
        self.restarts = 0
        self.note = ""
        """Why it was last restarted, or why it failed for good."""
        self._log_start = 0

    @property
    def pid(self) -> int | None:
        return self.process.pid if self.process is not None and self.process.returncode is None else None

    def uptime(self) -> float:
        """Seconds since its last start; 0 if it does not run."""
        return time.monotonic() - self.history.started_at if self.pid is not None else 0.0

    async def spawn(self) -> None:
        """Start the process. Raises OSError if there is no such program, or if its log is not writable."""
        self.spec.log.parent.mkdir(parents=True, exist_ok=True)
        with self.spec.log.open("ab") as output:
            self._log_start = output.tell()
            self.process = await spawn_child(self.spec.argv, env=self.spec.env, stdout=output, stderr=output)
        self.history.started(time.monotonic())
        self.state = ChildState.RUNNING

    def last_words(self, lines: int = LAST_LINES) -> str:
        """The last lines of the log of its last process, for people."""
        try:
            with self.spec.log.open("rb") as file:
                # A rotation may have emptied the log since this process started.
                start = self._log_start if self._log_start <= self.spec.log.stat().st_size else 0
                file.seek(start)
                written = file.read().strip().splitlines()[-lines:]
        except OSError:
            return ""
        last = "\n".join(in_words(parsed(line, self.spec.name)) for line in written)
        return "\n".join(last.splitlines()[-lines:])


class ChildFailed(RuntimeError):
    """A child could not be kept running. The message has its last lines. `code`: its exit code; 1 if it has none."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


Listener = Callable[[str], None]
"""Gets one line of text for every start, crash and stop."""


class Supervisor:
    """Keeps children running until one finishes the work, one fails for good, or `stop` is called.

    async with Supervisor(specs, rules) as supervisor:
        await supervisor.wait()
    """

    def __init__(self, specs: Sequence[ChildSpec], rules: RestartRules, listener: Listener = lambda line: None) -> None:
        self.children = [Child(spec, rules) for spec in specs]
        self._listener = listener
        self._tasks: dict[Child, asyncio.Task[None]] = {}
        self._end: asyncio.Future[str] | None = None
        self._watching_logs: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start all children, and return at once. `wait` raises their failures."""
        self._end = asyncio.get_running_loop().create_future()
        for child in self.children:
            self._tasks[child] = asyncio.create_task(self._keep(child), name=child.spec.name)
        self._watching_logs = asyncio.create_task(self._keep_logs_small(), name="logs")

    async def wait(self) -> str:
        """Wait for the end. Returns the name of the child that finished the work. Raises ChildFailed."""
        assert self._end is not None, "start() comes first"
        return await asyncio.shield(self._end)

    async def stop(self, grace: float = 20.0) -> None:
        """Stop all children in order of rank: SIGTERM, and SIGKILL for the whole group after `grace` seconds."""
        if self._watching_logs is not None:
            self._watching_logs.cancel()
            await asyncio.gather(self._watching_logs, return_exceptions=True)
        for rank in sorted({child.spec.rank for child in self.children}):
            await asyncio.gather(*(self._stop(child, grace) for child in self.children if child.spec.rank == rank))
        if self._end is not None and self._end.done():
            self._end.exception()  # marks the exception as retrieved, in case nobody called `wait`

    async def __aenter__(self) -> Supervisor:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _keep(self, child: Child) -> None:
        """Keep one child running until it is done, fails for good, or this task is cancelled."""
        try:
            while True:
                await child.spawn()
                self._listener(f"{child.spec.name}: started (process {child.pid})")
                assert child.process is not None
                code = await child.process.wait()
                await kill_group(child.process, grace=0)  # ends processes that it had started
                if child.spec.ends_mesh and code == 0:
                    child.state = ChildState.DONE
                    self._finish(child.spec.name)
                    return
                if code == Exit.DRAINED:
                    child.state = ChildState.DONE
                    self._listener(f"{child.spec.name}: has left, as it was asked to")
                    return
                if not await self._wait_to_restart(child, code):
                    return
        except OSError as error:
            self._fail(child, f"cannot be started: {error}")

    async def _keep_logs_small(self) -> None:
        """Rotate large logs while the children run."""
        while True:
            for log in {child.spec.log for child in self.children}:
                await asyncio.to_thread(keep_small, log)
            await asyncio.sleep(LOGS_EVERY)

    async def _wait_to_restart(self, child: Child, code: int) -> bool:
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        decision = child.history.died(time.monotonic(), code)
        if isinstance(decision, GiveUp):
            self._fail(child, f"{how}; {decision.reason}", code)
            return False
        child.state, child.note = ChildState.RESTARTING, how
        child.restarts += 1
        self._listener(f"{child.spec.name}: {how}; restarting it in {decision.delay:g} s")
        await asyncio.sleep(decision.delay)
        return True

    async def _stop(self, child: Child, grace: float) -> None:
        task = self._tasks.get(child)
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if child.process is not None:
            if child.pid is not None:
                self._listener(f"{child.spec.name}: stopping")
            await kill_group(child.process, grace)
        if child.state in (ChildState.WAITING, ChildState.RUNNING, ChildState.RESTARTING):
            child.state = ChildState.STOPPED

    def _finish(self, name: str) -> None:
        self._listener(f"{name}: done")
        if self._end is not None and not self._end.done():
            self._end.set_result(name)

    def _fail(self, child: Child, why: str, code: int = 1) -> None:
        child.state, child.note = ChildState.FAILED, why
        words = child.last_words()
        shown = "".join(f"\n    {line}" for line in words.splitlines())
        message = f"{child.spec.name} {why}" + (f". Its last lines:{shown}" if shown else "")
        message += f"\n  (whole log: {child.spec.log})"
        if child.spec.optional:
            self._listener(f"{message}\n  going on without it")
            return
        if self._end is not None and not self._end.done():
            self._end.set_exception(ChildFailed(message, code))
