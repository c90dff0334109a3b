"""One `lean --worker` process: start it with a header, edit its document, wait until its diagnostics are final.

The process has a group of its own, dies with us, and is killed with its group when it passes the memory limit, or a
deadline without giving up what it is at. A worker that died is not repaired: its owner starts another.
"""

from __future__ import annotations

import asyncio
import contextlib
import enum
import resource
import time
from collections import deque
from dataclasses import dataclass, field

import msgspec

from common.process import kill_group, spawn_child
from node.lean.toolchain.lean_toolchain import LeanToolchain
from node.lean.worker import framing
from node.lean.worker.framing import Diagnostic

URI = "file:///proofmesh/Batch.lean"
"""The document's name. The file does not exist: Lean reads the text that we send."""

READ_BYTES = 1 << 20

STDERR_LINES = 50
"""Kept of the process's standard error, for the message when it dies."""

REPORT_DELAY_MS = 2
"""Between two reports of diagnostics and progress: the default of 200 would dominate every edit, and 0 costs a third
more CPU for reports that nobody reads (measured with `proofmesh bench lean`)."""

RECALL_LEAST_SECONDS, RECALL_MOST_SECONDS = 0.3, 10.0
"""Patience with a worker that is to give up what it is at: what another start would take, within these limits (pocket
Lean starts in 0.2 s and gives up in a few ms)."""

CPU_SECONDS_BEYOND = 5
"""CPU seconds beyond a deadline at which the kernel kills a worker by itself, should this process be stopped."""


class Ending(enum.StrEnum):
    """Why the diagnostics of an edit never became final."""

    DIED = "died"
    TIMEOUT = "timeout"
    MEMORY = "memory"


class WorkerEnded(Exception):
    """The process is gone. `lines`: the lines of the document that it had not finished; `diagnostics`: what it said."""

    def __init__(
        self, ending: Ending, reason: str, lines: list[int], diagnostics: list[Diagnostic], seconds_stuck: float
    ) -> None:
        super().__init__(reason)
        self.diagnostics = diagnostics
        self.ending = ending
        self.reason = reason
        self.lines = lines
        self.seconds_stuck = seconds_stuck
        """Seconds since it last made progress."""


@dataclass(frozen=True)
class WorkerOptions:
    """Limits and options of a worker process."""

    heartbeats: int = 40_000
    """Lean's `maxHeartbeats` for one declaration: about two seconds of elaboration, a fifth of Lean's default."""
    memory_mb: int = 1024
    """Memory beyond what its header took, at which the process is killed."""
    start_seconds: float = 60.0
    """Limit for start and header (a large library takes long to import)."""
    loading_seconds: float = 60.0
    """A request whose header is being loaded for longer is answered: ask again. The loading goes on."""
    spares: int = 2
    """Processes that are kept beside the workers for headers that come again; the least recently used ends first."""
    extra: tuple[str, ...] = ()
    """More arguments for `lean`."""

    def arguments(self) -> list[str]:
        """Command-line arguments of the worker.

        Lean reports all diagnostics; linters would only cost time.
        """
        options = {
            "server.reportDelayMs": REPORT_DELAY_MS,
            "maxErrors": 1_000_000,
            "maxHeartbeats": self.heartbeats,
            "linter.all": "false",
            # As in verification, where the statement is a term: a free name is an error, not one more binder.
            "autoImplicit": "false",
        }
        # One task thread: there are as many workers as cores, and a second thread costs a third more CPU an edit.
        return ["--worker", "-j1", *(f"-D{name}={value}" for name, value in options.items()), *self.extra, URI]


@dataclass
class LeanProcess:
    """A running worker. Use `start`, then `edit` one at a time."""

    toolchain: LeanToolchain
    options: WorkerOptions
    process: asyncio.subprocess.Process
    edits: int = 0
    started_in: float = 0.0
    """Seconds that its start took, with the header."""
    worked: float = 0.0
    """Seconds that its edits took."""
    header_mb: float = 0.0
    """Memory of its own when the header was done."""
    _decoder: framing.Decoder = field(default_factory=framing.Decoder)
    _inbox: deque[framing.Incoming] = field(default_factory=deque)
    _stderr: deque[str] = field(default_factory=lambda: deque(maxlen=STDERR_LINES))
    _drain: asyncio.Task[None] | None = None
    _published: msgspec.Raw | None = None
    _progress: msgspec.Raw | None = None
    _last_sign: float = 0.0
    _over_memory: bool = False

    @classmethod
    async def start(cls, toolchain: LeanToolchain, options: WorkerOptions, text: str) -> LeanProcess:
        """Start a process on a document, and wait until Lean has elaborated it.

        Raises WorkerEnded, FileNotFoundError. What Lean says about the text is in `opening`.
        """
        started = time.monotonic()
        process = await spawn_child(
            [*toolchain.command, *options.arguments()],
            env=toolchain.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            keeper=toolchain.protections.keeper(),
            limit=READ_BYTES,
        )
        worker = cls(toolchain, options, process)
        worker._drain = asyncio.create_task(worker._drain_stderr(), name=f"stderr of Lean {process.pid}")
        # No core files: they are large, and hold nothing that anybody reads.
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, 0))
        worker._send("initialize", {"capabilities": {}, "initializationOptions": {"editDelay": 0}}, 0)
        document = {"uri": URI, "languageId": "lean", "version": 0, "text": text}
        try:
            worker._send("textDocument/didOpen", {"textDocument": document, "dependencyBuildMode": "never"})
            worker.opening = await worker._final(options.start_seconds, options.start_seconds)
        except BaseException:
            await worker.kill()
            raise
        worker.started_in = time.monotonic() - started
        worker.header_mb = own_mb(process.pid)
        return worker

    opening: list[Diagnostic] = field(default_factory=list)

    @property
    def alive(self) -> bool:
        return self.process.returncode is None and not self.process.stdin.is_closing()  # type: ignore[union-attr]

    async def edit(self, text: str, *, silence: float, limit: float, work: float = 0.0) -> list[Diagnostic]:
        """Replace the whole document and return its final diagnostics.

        `silence`: seconds without progress after which the worker counts as stuck, if it has used `work` seconds of CPU
        by then (on a busy machine it may not have had them); `limit`: seconds in all.
        Raises WorkerEnded; the process has been killed then, unless it ran out of time: `recall` or `kill` it.
        """
        started = time.monotonic()
        self.edits += 1
        document = {"uri": URI, "version": self.edits}
        self._send("textDocument/didChange", {"textDocument": document, "contentChanges": [{"text": text}]})
        try:
            return await self._final(silence, limit, work)
        except WorkerEnded as end:
            if end.ending is not Ending.TIMEOUT:
                await self.kill()
            raise
        except BaseException:  # cancelled in the middle of an edit it cannot be used again either
            await self.kill()
            raise
        finally:
            self.worked += time.monotonic() - started

    async def recall(self, text: str) -> bool:
        """After an edit that ran out of time: whether Lean gives it up for this text, and can be used again.

        Lean looks whether its document has changed between two steps of a tactic; what never looks (the kernel) keeps
        the process, which is killed then.
        """
        seconds = min(RECALL_MOST_SECONDS, max(RECALL_LEAST_SECONDS, self.started_in))
        try:
            await self.edit(text, silence=seconds, limit=seconds)
        except WorkerEnded:
            await self.kill()
            return False
        return True

    async def kill(self) -> None:
        """Kill the process and its group at once, and wait for its end."""
        await kill_group(self.process, grace=0)
        if self._drain is not None:
            await asyncio.gather(self._drain, return_exceptions=True)

    def resident_mb(self) -> float:
        """Resident memory in MB, 0 when the process is gone."""
        return resident_mb(self.process.pid)

    def grown_mb(self) -> float:
        """Memory in MB that it has taken since its header was done."""
        return own_mb(self.process.pid) - self.header_mb

    def cpu_seconds(self) -> float:
        """CPU seconds that the process has used."""
        return cpu_seconds(self.process.pid)

    def over_memory(self) -> None:
        """Kill it because of its memory; whoever waits for diagnostics is told so."""
        self._over_memory = True
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def _final(self, silence: float, limit: float, work: float = 0.0) -> list[Diagnostic]:
        """The last diagnostics of the current version, when Lean says that there will be no more."""
        request = self.edits + 1
        self._send("textDocument/waitForDiagnostics", {"uri": URI, "version": self.edits}, request)
        self._published = self._progress = None
        used = self._limit_cpu(limit)
        end = time.monotonic() + limit
        self._last_sign = time.monotonic()
        while True:
            patience = min(self._last_sign + silence, end) - time.monotonic()
            try:
                async with asyncio.timeout(max(patience, 0.001)):
                    message = await self._receive()
            except TimeoutError:
                if self.cpu_seconds() - used >= work or time.monotonic() >= end:
                    raise self._ended(Ending.TIMEOUT, "no answer in time") from None
                self._last_sign = time.monotonic()
                continue
            if message is None:
                code = await self.process.wait()
                ending = Ending.MEMORY if self._over_memory else Ending.DIED
                raise self._ended(ending, f"the Lean process ended with code {code}")
            if message.method == "textDocument/publishDiagnostics":
                # Kept undecoded: Lean repeats them all at every step, and only the last are read.
                self._published = message.params
            elif message.method == "$/lean/fileProgress":
                self._advance(message.params)
            elif message.id == request and not message.method:
                return self._diagnostics()

    def _advance(self, params: msgspec.Raw) -> None:
        if self._progress is None or bytes(self._progress) != bytes(params):
            self._last_sign = time.monotonic()
        self._progress = params

    def _diagnostics(self) -> list[Diagnostic]:
        return framing.decode_diagnostics(self._published).diagnostics if self._published is not None else []

    def _ended(self, ending: Ending, reason: str) -> WorkerEnded:
        said = "; ".join(self._stderr)
        return WorkerEnded(
            ending,
            f"{reason}: {said[-400:]}" if said else reason,
            framing.decode_progress(self._progress).lines if self._progress is not None else [],
            self._diagnostics(),
            time.monotonic() - self._last_sign,
        )

    async def _receive(self) -> framing.Incoming | None:
        """The next message, None at the end of the stream."""
        assert self.process.stdout is not None
        while not self._inbox:
            data = await self.process.stdout.read(READ_BYTES)
            if not data:
                return None
            try:
                self._inbox.extend(self._decoder.feed(data))
            except framing.FramingError as error:
                self._stderr.append(str(error))
                return None
        return self._inbox.popleft()

    def _send(self, method: str, params: object, request_id: int | None = None) -> None:
        assert self.process.stdin is not None
        # Writing to a dead process's pipe is not an error here: reading finds its end, with the reason.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            self.process.stdin.write(framing.encode(method, params, request_id))

    def _limit_cpu(self, seconds: float) -> float:
        """Let the kernel kill the worker if it uses more CPU than an edit may, even if this process is stopped.

        Returns the CPU seconds that it has used so far."""
        used = cpu_seconds(self.process.pid)
        most = int(used + 2 * seconds) + CPU_SECONDS_BEYOND  # elaboration may use two threads
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self.process.pid, resource.RLIMIT_CPU, (most, resource.RLIM_INFINITY))
        return used

    async def _drain_stderr(self) -> None:
        """Read standard error for ever, so that the pipe never fills; keep the last lines."""
        assert self.process.stderr is not None
        while data := await self.process.stderr.read(65536):
            self._stderr.extend(data.decode(errors="replace").splitlines()[-STDERR_LINES:])


def resident_mb(pid: int) -> float:
    """Resident memory of a process in MB, 0 when there is none."""
    return _pages(pid)[0] * resource.getpagesize() / 2**20


def own_mb(pid: int) -> float:
    """Resident memory in MB without pages of files: compiled modules are mapped, so that all processes share them, and
    the system takes these pages back when it needs room. (Mathlib's are gigabytes.)"""
    resident, shared = _pages(pid)
    return (resident - shared) * resource.getpagesize() / 2**20


def _pages(pid: int) -> tuple[int, int]:
    """Resident pages, and those of them that belong to files (/proc/PID/statm, second and third field)."""
    try:
        with open(f"/proc/{pid}/statm") as file:  # noqa: PTH123 - read ten times a second for every worker
            fields = file.read().split()
            return int(fields[1]), int(fields[2])
    except (FileNotFoundError, ProcessLookupError, IndexError):
        return 0, 0


def cpu_seconds(pid: int) -> float:
    """CPU seconds that a process has used so far (/proc/PID/stat: utime and stime, in clock ticks)."""
    import os

    try:
        with open(f"/proc/{pid}/stat") as file:  # noqa: PTH123
            fields = file.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
