"""JSON-RPC messages in the framing of the language server protocol: a `Content-Length` header, then JSON. No I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

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
