"""Requests, without a broker: who answers them (`Asking`), errors, the back-off before a retry, patience with a broker.

`Asking` is what a node of a mesh (`common.bus.Bus`) and code of one process (`Here`) have in common. Nothing here
imports the client library, so code that handles errors does not load it.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

import structlog

from common.output.command import Exit, UserError
from common.protocol.messages import Busy, Failure, FailureKind, Message


class BusError(UserError):
    """Base class of all errors of the bus."""

    exit_code = Exit.UNAVAILABLE


class BusUnavailable(BusError):
    """The broker could not be reached in the given time, or it refused the credentials."""


class BadKey(BusError):
    """A key of a verifier or of a node cannot be used. The message names the file or the text, and what to do."""

    exit_code = Exit.UNUSABLE


class NotAllowed(BusError):
    """The broker does not let this node's key do that."""


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


class TooManyWaiting(BusError):
    """As many attempts of this client wait as one may have. They are taken one after another, so a retry helps."""


class StreamConflict(BusError):
    """A stream or consumer exists with a configuration that cannot be changed to the requested one."""


# ----------------------------------------------------------------------------------------------------------------------
# The back-off before a retry. Pure, so that it can be tested without a broker.

FIRST = 0.05
"""Seconds before the first retry: some two hundred round trips to the broker. A restarted node is back in about this
time."""

LONGEST = 5.0
"""Longest pause in seconds between two tries, so that a restarted node is found soon."""


class RetryDelay:
    """Exponential back-off with jitter. If the server gives an estimate, the back-off follows it."""

    def __init__(self) -> None:
        self._failures = 0

    def after(self, retry_after: float | None, jitter: float) -> float:
        """Seconds to wait after one more failure. `retry_after`: from a Busy reply. `jitter` in [0, 1).

        After Busy: about the server's estimate, longer with every repetition, since other clients also wait. Without a
        reply: doubling.
        """
        base = FIRST * 2**self._failures if retry_after is None else max(0.0, retry_after) * 1.5**self._failures
        self._failures = min(self._failures + 1, 16)
        return min(LONGEST, base) * (0.5 + jitter)


# ----------------------------------------------------------------------------------------------------------------------
# Retries operations on the broker until they succeed.

T = TypeVar("T")

FIRST_PAUSE, LONGEST_PAUSE, JITTER = 0.25, 5.0, 0.25
"""Seconds: the first pause doubles up to the longest pause; a random part up to JITTER is added. A broker needs one to
three seconds to restart."""

log = structlog.get_logger("bus")


async def persistently(
    send: Callable[[], Awaitable[T]],
    complaint: str,
    *,
    tries: int | None = None,
    until: Callable[[], bool] = lambda: False,
    **context: str,
) -> T:
    """Retry `send` until it succeeds, with a pause after every BusError, while the broker is unreachable or full.

    Each failure is logged as `complaint` with its `context`. Raises the last BusError after `tries` attempts, or if
    `until()` is true after a failure.
    """
    import stamina

    # Each failure is logged here, so stamina's own log lines are switched off.
    stamina.instrumentation.set_on_retry_hooks(())

    def should_retry(error: Exception) -> bool:
        if not isinstance(error, BusError):
            return False
        log.warning(complaint, reason=str(error), **context)
        return not until()

    async for attempt in stamina.retry_context(
        on=should_retry,
        attempts=tries,
        timeout=None,
        wait_initial=FIRST_PAUSE,
        wait_max=LONGEST_PAUSE,
        wait_jitter=JITTER,
    ):
        with attempt:
            return await send()
    raise AssertionError("stamina ends with a result or an error")


# ----------------------------------------------------------------------------------------------------------------------
# Requests to whoever serves a subject: nodes of a mesh (`Bus`), or handlers of the same process (`Here`).

R = TypeVar("R", bound=Message)

Handler = Callable[[Any], Awaitable[Message]]
"""Answers a request with a reply, Busy or Failure."""


class Asking(Protocol):
    """Requests that wait for a reply."""

    async def ask(self, subject: str, message: Message, reply: type[R], *, timeout: float, patience: float) -> R:
        """Send a request, and again until a reply arrives.

        `timeout`: seconds before a request to another node is sent again. `patience`: most seconds in total; time
        without a connection to the broker does not count. Raises Unanswered or BusyError when the time is over,
        RemoteFailure at once, OversizedMessage.
        """

    async def request(self, subject: str, message: Message, reply: type[R], *, timeout: float) -> R:
        """Send a request once. `timeout` in seconds. Raises Unanswered, BusyError, RemoteFailure, OversizedMessage."""


class Here:
    """`Asking` within one process: a table from subjects to handlers. There is no broker, and messages are not encoded.

    A handler answers in its own time, so `timeout` is not used. What it raises reaches the asker.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, Handler] = {}

    def serve(self, subject: str, handler: Handler) -> None:
        """Let a handler answer the requests on a subject."""
        self._handlers[subject] = handler

    async def ask(self, subject: str, message: Message, reply: type[R], *, timeout: float, patience: float) -> R:
        """Ask the subject's handler, and again while it is busy. Raises as `Asking.ask`, and what the handler
        raises."""
        end = time.monotonic() + patience
        delay = RetryDelay()
        while True:
            try:
                return await self.request(subject, message, reply, timeout=timeout)
            except BusyError as busy:
                pause = delay.after(busy.retry_after, random.random())
                if time.monotonic() + pause >= end:
                    raise
            await asyncio.sleep(pause)

    async def request(self, subject: str, message: Message, reply: type[R], *, timeout: float) -> R:
        """Ask the subject's handler once."""
        handler = self._handlers.get(subject)
        if handler is None:
            raise Unanswered(f"{subject}: nothing in this process serves it")
        match await handler(message):
            case Busy() as busy:
                raise BusyError(busy.retry_after, busy.reason)
            case Failure() as failure:
                raise RemoteFailure(failure.reason, failure.kind)
            case answer if isinstance(answer, reply):
                return answer
            case answer:
                raise TypeError(f"{subject}: {type(answer).__name__} in place of {reply.__name__}")
