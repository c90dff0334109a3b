"""Drives one `lean --worker` process: starts it with a header, edits its document, waits for the final diagnostics.

The process is killed if it exceeds its memory limit, or if it exceeds a deadline and does not cancel its elaboration.
The owner of a dead process starts another one."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import msgspec

from node.lean.process.child import ConfinedChild, Ending
from node.lean.settings import LeanProcessSettings
from node.lean.toolchain.lean_toolchain import LeanToolchain

# --- Limits and options of worker processes, and their command line --------------------------------------------------


URI = "file:///proofmesh/Batch.lean"
"""The document's name. The file does not exist: Lean reads the text that we send."""

REPORT_DELAY_MS = 2
"""Milliseconds between two reports of diagnostics and progress. The default of 200 would be most of an edit's time, and
0 costs a third more CPU for reports that are not read (measured with `proofmesh bench lean`)."""

LOADING_SECONDS = 5.0
"""Seconds before a request that waits for a header import gets Busy. Provers (and LeanTree clients, through their
server) then retry. They would not wait much longer for a reply."""


@dataclass(frozen=True)
class WorkerOptions:
    """Limits and options of a worker process."""

    heartbeats: int = 40_000
    """Lean's `maxHeartbeats` for one declaration: about two seconds of elaboration, a fifth of Lean's default."""
    memory_mb: int = 1024
    """Memory in MB, in addition to the header's, at which the process is killed."""
    start_seconds: float = 60.0
    """Time limit of the start with its header (importing a large library takes long)."""
    loading_seconds: float = 60.0
    """Seconds before a request that waits for a header import gets Busy. The import continues."""
    spares: int = 6
    """Idle processes that stay alive with their header for later requests. The least recently used one ends first."""
    in_file: bool = False
    """True for texts of files: they run with Lean's default options, for which they were written."""
    extra: tuple[str, ...] = ()
    """More arguments for `lean`."""

    def arguments(self) -> list[str]:
        """Command-line arguments of the worker: Lean reports all diagnostics, and runs no linters, to save time."""
        options = {
            "server.reportDelayMs": REPORT_DELAY_MS,
            "maxErrors": 1_000_000,
            "linter.all": "false",
        }
        if not self.in_file:
            # As in verification, where the statement is a term: an unbound name is an error, not an implicit binder.
            options |= {"maxHeartbeats": self.heartbeats, "autoImplicit": "false"}
        # One task thread: there are as many workers as cores, and a second thread costs a third more CPU per edit.
        return ["--worker", "-j1", *(f"-D{name}={value}" for name, value in options.items()), *self.extra, URI]


def worker_options(settings: LeanProcessSettings) -> WorkerOptions:
    """The worker options for these settings."""
    return WorkerOptions(
        heartbeats=settings.resolved_heartbeats(),
        memory_mb=settings.memory_mb,
        start_seconds=settings.lean.header_seconds,
        loading_seconds=LOADING_SECONDS,
        spares=settings.spares,
    )


# --- JSON-RPC messages in the framing of the language server protocol: a `Content-Length` header, then JSON. No I/O --


MAX_FRAME_BYTES = 64 * 1024 * 1024
"""Largest message that is accepted. The response to a batch of 100 candidates is well below 1 MB."""

_SEPARATOR = b"\r\n\r\n"


class Position(msgspec.Struct, frozen=True):
    """Zero-based line, and column in UTF-16 units."""

    line: int
    character: int


class Range(msgspec.Struct, frozen=True):
    start: Position
    end: Position


class Diagnostic(msgspec.Struct, frozen=True, rename="camel"):
    """One of Lean's messages about a document."""

    range: Range
    message: str
    severity: int = 1
    """1 error, 2 warning, 3 information, 4 hint."""
    full_range: Range | None = None
    """Lean's extension: the complete range. `range` ends at the end of the first line."""

    @property
    def lines(self) -> tuple[int, int]:
        """First and last line (zero-based) of the text that the message is about."""
        whole = self.full_range or self.range
        return whole.start.line, whole.end.line

    @property
    def is_error(self) -> bool:
        return self.severity == 1


class Incoming(msgspec.Struct, frozen=True):
    """A message from the server. Its parameters stay undecoded, because most of them are never needed."""

    method: str = ""
    id: int | str | None = None
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class DiagnosticsParams(msgspec.Struct, frozen=True):
    """`textDocument/publishDiagnostics`."""

    diagnostics: list[Diagnostic]
    version: int = -1


class _Processing(msgspec.Struct, frozen=True):
    range: Range


class ProgressParams(msgspec.Struct, frozen=True):
    """`$/lean/fileProgress`: the unfinished parts of the document."""

    processing: list[_Processing]

    @property
    def lines(self) -> list[int]:
        """First lines of the unfinished parts, in the document's order."""
        return sorted(item.range.start.line for item in self.processing)


class FramingError(ValueError):
    """The bytes do not follow the protocol: the process must be replaced."""


_incoming = msgspec.json.Decoder(Incoming)
_progress = msgspec.json.Decoder(ProgressParams)
_diagnostics = msgspec.json.Decoder(DiagnosticsParams)


def encode(method: str, params: Any, request_id: int | None = None) -> bytes:
    """A request (with an id) or a notification (without)."""
    message = {"jsonrpc": "2.0", "method": method, "params": params}
    if request_id is not None:
        message["id"] = request_id
    body = msgspec.json.encode(message)
    return b"Content-Length: %d\r\n\r\n" % len(body) + body


def decode_diagnostics(params: msgspec.Raw) -> DiagnosticsParams:
    """The parameters of `textDocument/publishDiagnostics`. Raises FramingError."""
    try:
        return _diagnostics.decode(params)
    except msgspec.DecodeError as error:
        raise FramingError(f"malformed diagnostics: {error}") from error


def decode_progress(params: msgspec.Raw) -> ProgressParams:
    """The parameters of `$/lean/fileProgress`. Raises FramingError."""
    try:
        return _progress.decode(params)
    except msgspec.DecodeError as error:
        raise FramingError(f"malformed progress report: {error}") from error


class Decoder:
    """Splits a byte stream into messages. The stream arrives in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> Iterator[Incoming]:
        """Add bytes, and yield the messages that are now complete. Raises FramingError."""
        self._buffer += data
        while True:
            if self._length is None and not self._read_header():
                return
            assert self._length is not None
            if len(self._buffer) < self._length:
                return
            body = bytes(self._buffer[: self._length])
            del self._buffer[: self._length]
            self._length = None
            try:
                yield _incoming.decode(body)
            except msgspec.DecodeError as error:
                raise FramingError(f"not a JSON-RPC message: {error}") from error

    def _read_header(self) -> bool:
        """Read the length of the next message. Returns False if its header is incomplete."""
        end = self._buffer.find(_SEPARATOR)
        if end < 0:
            if len(self._buffer) > 4096:
                raise FramingError(f"no message header in {len(self._buffer)} bytes: {bytes(self._buffer[:80])!r}")
            return False
        for line in bytes(self._buffer[:end]).split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length" and value.strip().isdigit():
                self._length = int(value)
        if self._length is None or self._length > MAX_FRAME_BYTES:
            raise FramingError(f"malformed message header: {bytes(self._buffer[:end])[:200]!r}")
        del self._buffer[: end + len(_SEPARATOR)]
        return True


READ_BYTES = 1 << 20

RECALL_LEAST_SECONDS, RECALL_MOST_SECONDS = 0.3, 10.0
"""Bounds of the time that a worker gets to cancel an example. Between them it gets the time that its start took (pocket
Lean starts in 0.2 s and cancels in a few ms)."""

CPU_SECONDS_BEYOND = 5
"""CPU seconds beyond a deadline after which the operating system kills a worker, in case this process is suspended."""


class WorkerEnded(Exception):
    """There are no final diagnostics: the process crashed, timed out or exceeded its memory limit.

    `lines`: first lines (from 0) of the unfinished parts of the document. `diagnostics`: those until then.
    """

    def __init__(
        self, ending: Ending, reason: str, lines: list[int], diagnostics: list[Diagnostic], seconds_stuck: float
    ) -> None:
        super().__init__(reason)
        self.diagnostics = diagnostics
        self.ending = ending
        self.reason = reason
        self.lines = lines
        self.seconds_stuck = seconds_stuck
        """Seconds since its last progress."""


@dataclass
class LeanProcess:
    """A running worker. Call `start`, then `edit`, one edit at a time."""

    toolchain: LeanToolchain
    options: WorkerOptions
    child: ConfinedChild
    edits: int = 0
    opening: list[Diagnostic] = field(default_factory=list)
    """Diagnostics of the document that it was started with."""
    started_in: float = 0.0
    """Seconds that its start took, including the header."""
    worked: float = 0.0
    """Seconds that its edits took."""
    edit_cpu: float = 0.0
    """CPU seconds of its last edit; 0 if it ended the process."""
    _cpu_before: float = 0.0
    """CPU seconds before that edit."""
    _decoder: Decoder = field(default_factory=Decoder)
    _inbox: deque[Incoming] = field(default_factory=deque)
    _published: msgspec.Raw | None = None
    """The last diagnostics, undecoded."""
    _progress: msgspec.Raw | None = None
    """The last progress report, undecoded."""
    _last_progress: float = 0.0
    """Monotonic time at which the progress last changed."""

    @classmethod
    async def start(cls, toolchain: LeanToolchain, options: WorkerOptions, text: str) -> Self:
        """Start a process with a document, and wait until Lean has elaborated it.

        Lean's diagnostics of the document are in `opening`. Raises WorkerEnded, OSError.
        """
        started = time.monotonic()
        child = await ConfinedChild.start(
            [*toolchain.command, *options.arguments()],
            environment=toolchain.environment,
            keeper=toolchain.keeper(),
            memory_mb=options.memory_mb,
            stdin=asyncio.subprocess.PIPE,
            line_bytes=READ_BYTES,
        )
        child.drain_stderr()
        worker = cls(toolchain, options, child)
        worker._send("initialize", {"capabilities": {}, "initializationOptions": {"editDelay": 0}}, 0)
        document = {"uri": URI, "languageId": "lean", "version": 0, "text": text}
        try:
            worker._send("textDocument/didOpen", {"textDocument": document, "dependencyBuildMode": "never"})
            worker.opening = await worker._final(options.start_seconds, options.start_seconds)
        except BaseException:
            await worker.kill()
            raise
        worker.started_in = time.monotonic() - started
        # The limit is for the memory after the header: a header may use as much as it needs.
        child.guard.base_mb = child.own_mb()
        child.guard.start()
        return worker

    @property
    def pid(self) -> int:
        return self.child.pid

    @property
    def alive(self) -> bool:
        """True when it can take an edit."""
        return self.child.alive and not self.child.stdin.is_closing()

    async def edit(self, text: str, *, silence: float, limit: float, work: float = 0.0) -> list[Diagnostic]:
        """Replace the whole document and return its final diagnostics.

        `silence`: seconds without progress after which the worker is stuck, if it has used `work` seconds of CPU. (On a
        busy machine it may not have got them.) `limit`: seconds in total.
        Raises WorkerEnded. After a timeout the process still runs, and the caller must `recall` or `kill` it. In all
        other cases it has been killed.
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
        except BaseException:  # cancelled: the next edit would read the responses to this one
            await self.kill()
            raise
        finally:
            self.worked += time.monotonic() - started
            self.edit_cpu = max(0.0, self.cpu_seconds() - self._cpu_before)

    async def recall(self, text: str) -> bool:
        """Cancel an edit that timed out, by replacing the document with `text`.

        Returns False if the replacement fails too: the process is then killed.
        Lean checks between two steps of a tactic whether its document has changed. The kernel never checks.
        """
        seconds = min(RECALL_MOST_SECONDS, max(RECALL_LEAST_SECONDS, self.started_in))
        try:
            await self.edit(text, silence=seconds, limit=seconds)
        except WorkerEnded:
            await self.kill()
            return False
        return True

    async def kill(self) -> None:
        """Kill the process with its process group, and wait for its end."""
        await self.child.kill()

    @property
    def header_mb(self) -> float:
        """Its own memory in MB after its header."""
        return self.child.guard.base_mb

    def resident_mb(self) -> float:
        """Resident memory in MB; 0 if the process has ended."""
        return self.child.resident_mb()

    def grown_mb(self) -> float:
        """Memory in MB that it has added since its header."""
        return self.child.guard.grown_mb()

    def cpu_seconds(self) -> float:
        """CPU seconds that the process has used."""
        return self.child.cpu_seconds()

    async def _final(self, silence: float, limit: float, work: float = 0.0) -> list[Diagnostic]:
        """The final diagnostics of the document's current version. Parameters and errors are those of `edit`."""
        request = self.edits + 1
        self._send("textDocument/waitForDiagnostics", {"uri": URI, "version": self.edits}, request)
        self._published = self._progress = None
        self._cpu_before = self._limit_cpu(limit)
        deadline = time.monotonic() + limit
        self._last_progress = time.monotonic()
        while True:
            patience = min(self._last_progress + silence, deadline) - time.monotonic()
            try:
                async with asyncio.timeout(max(patience, 0.001)):
                    message = await self._receive()
            except TimeoutError:
                if self.cpu_seconds() - self._cpu_before >= work or time.monotonic() >= deadline:
                    raise self._ended(Ending.TIMEOUT, "no answer in time") from None
                # On a busy machine the worker has not had its CPU time yet, so wait for another `silence` seconds.
                self._last_progress = time.monotonic()
                continue
            if message is None:
                code = await self.child.process.wait()
                ending = Ending.MEMORY if self.child.guard.exceeded else Ending.DIED
                raise self._ended(ending, f"the Lean process ended with code {code}")
            if message.method == "textDocument/publishDiagnostics":
                # Do not decode it: Lean repeats all diagnostics at each step, and only the last report is read.
                self._published = message.params
            elif message.method == "$/lean/fileProgress":
                self._advance(message.params)
            elif message.id == request and not message.method:
                return self._diagnostics()

    def _advance(self, params: msgspec.Raw) -> None:
        """Record a progress report. Only a report that differs from the last one counts as progress."""
        if self._progress is None or bytes(self._progress) != bytes(params):
            self._last_progress = time.monotonic()
        self._progress = params

    def _diagnostics(self) -> list[Diagnostic]:
        return decode_diagnostics(self._published).diagnostics if self._published is not None else []

    def _ended(self, ending: Ending, reason: str) -> WorkerEnded:
        return WorkerEnded(
            ending,
            self.child.with_stderr(reason),
            decode_progress(self._progress).lines if self._progress is not None else [],
            self._diagnostics(),
            time.monotonic() - self._last_progress,
        )

    async def _receive(self) -> Incoming | None:
        """The next message; None at the end of the stream, or if the bytes do not follow the protocol."""
        while not self._inbox:
            data = await self.child.stdout.read(READ_BYTES)
            if not data:
                return None
            try:
                self._inbox.extend(self._decoder.feed(data))
            except FramingError as error:
                self.child.note(str(error))
                return None
        return self._inbox.popleft()

    def _send(self, method: str, params: object, request_id: int | None = None) -> None:
        # A write error means that the process is dead. The next read reports that, with the reason.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError, RuntimeError):
            self.child.stdin.write(encode(method, params, request_id))

    def _limit_cpu(self, seconds: float) -> float:
        """Make the operating system kill the worker if it uses more CPU time than an edit of `seconds` can need.

        Returns the CPU seconds that the worker has used so far.
        """
        used = self.cpu_seconds()
        self.child.allow_cpu_until(int(used + 2 * seconds) + CPU_SECONDS_BEYOND)  # elaboration may use two threads
        return used
