"""Subscriptions with a synchronous callback, and request servers with bounded concurrency.

The client library runs the callbacks of one subscription one after another. So a callback here only decodes the message
and passes it on; each request handler runs as its own task.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any

import structlog

from common.bus import counters
from common.bus.connection import Connection
from common.bus.errors import BusyError, RemoteFailure
from common.bus.signing import Signer
from common.protocol.channels import channel_name
from common.protocol.messages import Busy, Failure, FailureKind, Message, MessageError, decode, encode

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

log = structlog.get_logger("bus")

RETRY_AFTER_BOUNDS = (0.02, 5.0)
"""Shortest and longest `retry_after` of a Busy reply, in seconds. A request to the broker takes 0.2 ms, so a shorter
wait gains nothing. A longer wait leaves free slots unused."""


class Subscription:
    """A subscription that is active until `unsubscribe`."""

    def __init__(self, inner: NatsSubscription, name: str) -> None:
        self._inner = inner
        self.subject = name

    async def unsubscribe(self) -> None:
        """Stop. Queued messages that are not handled yet are dropped."""
        if not self._inner._closed and not self._inner._conn.is_closed:
            await self._inner.unsubscribe()

    async def drain(self, timeout: float) -> None:
        """Stop, and wait at most `timeout` seconds for running handlers."""
        await self.unsubscribe()


class ServedSubscription(Subscription):
    """A served subject: `unsubscribe` stops taking requests, `drain` also waits for running ones."""

    def __init__(self, inner: NatsSubscription, name: str, server: RequestServer) -> None:
        super().__init__(inner, name)
        self._server = server

    @property
    def at_work(self) -> int:
        """The number of running request handlers."""
        return len(self._server.at_work)

    async def drain(self, timeout: float) -> None:
        """Stop taking requests, and wait at most `timeout` seconds for running ones. Then the others are cancelled."""
        await self.unsubscribe()
        tasks = set(self._server.at_work)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=timeout)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)


class ServiceTime:
    """Estimates the time of a request by an exponential moving average, and from it when a slot becomes free."""

    def __init__(self, initial: float = 0.1) -> None:
        self.seconds = initial

    def observe(self, seconds: float) -> None:
        self.seconds += 0.1 * (seconds - self.seconds)

    def retry_after(self, slots: int) -> float:
        """Expected seconds until the next of `slots` busy slots is free, within RETRY_AFTER_BOUNDS."""
        low, high = RETRY_AFTER_BOUNDS
        return min(high, max(low, self.seconds / slots))


class RequestServer:
    """Answers the requests of one subject with at most `limit` concurrent handlers. Further requests get Busy."""

    def __init__(
        self,
        connection: Connection,
        subject: str,
        request: type[Message],
        handler: Callable[[Any], Awaitable[Message]],
        limit: int,
        signer: Signer | None = None,
    ) -> None:
        self._connection = connection
        self._signer = signer
        self._subject = subject
        self._request = request
        self._handler = handler
        self._limit = limit
        self._time = ServiceTime()
        self.at_work: set[asyncio.Task[None]] = set()
        self._busy = counters.BUSY.labels(channel_name(subject))
        self._seconds = counters.SERVED_SECONDS.labels(channel_name(subject))

    async def received(self, message: Msg) -> None:
        """The subscription's callback: starts a handler, or replies Busy or Failure."""
        try:
            request = decode(message.data, self._request)
        except MessageError as error:
            await self._answer(message, counters.count_malformed(message, error))
            return
        if len(self.at_work) >= self._limit:
            self._busy.inc()
            await self._answer(message, Busy(retry_after=self._time.retry_after(self._limit), reason="queue full"))
            return
        task = asyncio.get_running_loop().create_task(self._handle(message, request))
        self.at_work.add(task)
        task.add_done_callback(self.at_work.discard)

    async def _handle(self, message: Msg, request: Message) -> None:
        start = time.perf_counter()
        answer = await self._outcome(request)
        seconds = time.perf_counter() - start
        self._seconds.observe(seconds)
        self._time.observe(seconds)
        await self._answer(message, answer)

    async def _outcome(self, request: Message) -> Message:
        """The handler's reply. Exceptions of the handler become replies, too, so that a request cannot crash a node."""
        try:
            return await self._handler(request)
        except BusyError as error:
            return Busy(retry_after=error.retry_after, reason=error.reason)
        except RemoteFailure as error:
            return Failure(reason=error.reason, kind=error.kind)
        except Exception as error:
            counters.HANDLER_ERRORS.labels(channel_name(self._subject)).inc()
            log.exception("request handler failed", subject=self._subject)
            return Failure(reason=f"{self._subject}: {type(error).__name__}: {error}")

    async def _answer(self, message: Msg, answer: Message) -> None:
        if not message.reply:
            return
        try:
            payload = encode(answer)
        except MessageError as error:
            payload = encode(
                Failure(reason=f"{self._subject}: the reply is too large: {error}", kind=FailureKind.OVERSIZED)
            )
        headers = self._signer.headers(message.subject, message.data, payload) if self._signer is not None else None
        await self._connection.publish(message.reply, payload, headers=headers)


def message_callback(
    types: tuple[type[Message], ...], prefix: str, callback: Callable[[str, Any], None]
) -> Callable[[Msg], Coroutine[Any, Any, None]]:
    """A subscription's callback that decodes each message and calls `callback(subject, message)`, with the subject
    without the run's prefix."""
    skip = len(prefix)

    async def received(message: Msg) -> None:
        try:
            decoded = decode(message.data, *types)
        except MessageError as error:
            counters.count_malformed(message, error)
            return
        subject = message.subject[skip:]
        try:
            callback(subject, decoded)
        except Exception:
            counters.HANDLER_ERRORS.labels(channel_name(subject)).inc()
            log.exception("subscription callback failed", subject=subject)

    return received
