"""Exceptions of the bus."""

from __future__ import annotations

from common.protocol.messages import FailureKind


class BusError(Exception):
    """Base class of all errors of the bus."""


class BusUnavailable(BusError):
    """The broker could not be reached in the given time, or it refused the credentials."""


class BadKey(BusError):
    """A key of a verifier cannot be used. The message names the file or the text, and what to do."""


class Unanswered(BusError):
    """A request got no reply: no node serves the subject, the reply was late, or the connection was lost meanwhile.

    The request may still have been carried out, so a retry must be harmless.
    """


class BusyError(BusError):
    """The server's queue is full: retry after `retry_after` seconds."""

    def __init__(self, retry_after: float, reason: str) -> None:
        super().__init__(f"{reason}; retry after {retry_after:.3f} s")
        self.retry_after = retry_after
        self.reason = reason


class RemoteFailure(BusError):
    """The server cannot answer this request, and a retry will not help."""

    def __init__(self, reason: str, kind: FailureKind) -> None:
        super().__init__(f"{kind}: {reason}")
        self.reason = reason
        self.kind = kind


class NotThere(BusError):
    """The object (or the stream or bucket of the run) does not exist."""


class DigestMismatch(BusError):
    """An object does not match its digest. Nothing was written."""


class NoRoom(BusError):
    """The broker's disk limit is too low for the requested size. A retry will not help."""


class StreamConflict(BusError):
    """A stream or consumer exists with a configuration that cannot be changed to the requested one."""
