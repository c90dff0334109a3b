"""What can go wrong between a node and the broker."""

from __future__ import annotations

from common.messages import FailureKind


class BusError(Exception):
    """Base of everything that the bus raises."""


class BusUnavailable(BusError):
    """The broker could not be reached in the given time, or it refused the credentials."""


class Unanswered(BusError):
    """Nobody answered: no node serves the subject, the answer did not come in time, or the broker was lost meanwhile.

    The request may have been carried out all the same; asking again must be harmless.
    """


class BusyError(BusError):
    """Every server that was asked has a full queue: ask again after `retry_after` seconds."""

    def __init__(self, retry_after: float, reason: str) -> None:
        super().__init__(f"{reason}; retry after {retry_after:.3f} s")
        self.retry_after = retry_after
        self.reason = reason


class RemoteFailure(BusError):
    """The server cannot answer this request, and asking again will not help."""

    def __init__(self, reason: str, kind: FailureKind) -> None:
        super().__init__(f"{kind}: {reason}")
        self.reason = reason
        self.kind = kind


class NotThere(BusError):
    """The object (or the stream or bucket of the run) does not exist."""


class DigestMismatch(BusError):
    """An object is not what its digest promised. Nothing was written."""


class StreamConflict(BusError):
    """A stream or consumer exists with a configuration that cannot be changed into the wanted one."""
