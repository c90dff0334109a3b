"""Work queues: messages are published with the broker's confirmation, leased by nodes, and acknowledged with the
broker's confirmation."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Generic

import structlog

from common.bus import counters
from common.bus.connection import Connection
from common.bus.errors import BusError, NotThere, Unanswered
from common.bus.replies import NO_RESPONDERS, Replies, status_of
from common.protocol.messages import AnyMessage, MessageError, decode

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = structlog.get_logger("bus")

ACK_TIMEOUT = 5.0
"""Seconds to wait until the broker confirms an acknowledgement. Without this, the message may be delivered again."""

PULL_GRACE = 2.0
"""Seconds after a pull's own waiting time until the broker's final status counts as lost."""

REFUSED_PAUSE = 1.0
"""Longest pause, in seconds, after a pull that the broker refused. It would refuse the next one, too."""

NOTHING = ("404", "408")
"""The broker's status at the end of a pull without (further) messages: `no messages`, `request expired`."""


MISSING = "the consumer is missing: has the broker created this run's streams?"


class Lease(Generic[AnyMessage]):
    """One message of a work queue. It belongs to this node until `ack_wait` seconds pass without a renewal."""

    def __init__(
        self, raw: Msg, message: AnyMessage, replies: Replies, connection: Connection, ack_wait: float
    ) -> None:
        self.message = message
        self.deliveries = raw.metadata.num_delivered
        """How many times this message was delivered, this time included. More than 1 after a crash or a hand-back."""
        self.sequence = raw.metadata.sequence.stream
        """Its number in the queue. It stays the same when the message is delivered again."""
        self.ack_wait = ack_wait
        self._raw = raw
        self._replies = replies
        self._connection = connection

    async def ack(self) -> None:
        """Acknowledge the message, and wait until the broker confirms that it has removed it.

        Raises Unanswered; then the message may be delivered again. A broker that was killed may have forgotten its last
        few leases, and then ignores their acknowledgements. So repeated work must be harmless.
        """
        await self._replies.ask(self._raw.reply, b"+ACK", timeout=ACK_TIMEOUT)

    async def in_progress(self) -> None:
        """Renew the lease for another `ack_wait` seconds."""
        await self._connection.publish(self._raw.reply, b"+WPI")

    @asynccontextmanager
    async def kept(self) -> AsyncIterator[None]:
        """Renew the lease every third of `ack_wait` while the block runs. So one renewal may be lost."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(self.ack_wait / 3)
                await self.in_progress()

        renewing = asyncio.create_task(renew())
        try:
            yield
        finally:
            renewing.cancel()

    async def hand_back(self, delay: float = 0) -> None:
        """Return the message to the queue. It is delivered again after `delay` seconds, perhaps to another node."""
        await self._connection.publish(self._raw.reply, b"-NAK" + (_delay(delay) if delay else b""))

    async def terminate(self, reason: str) -> None:
        """Never deliver this message again."""
        await self._connection.publish(self._raw.reply, b"+TERM " + reason.encode()[:200])


def _delay(seconds: float) -> bytes:
    return b" " + json.dumps({"delay": int(seconds * 1e9)}).encode()


class Puller:
    """Fetches messages from one durable consumer, one pull at a time."""

    def __init__(self, connection: Connection, replies: Replies, stream: str, consumer: str, ack_wait: float) -> None:
        self.ack_wait = ack_wait
        self.refusal = ""
        """Why the broker refused the last pull; empty: it did not."""
        self._connection = connection
        self._replies = replies
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{consumer}"
        self._consumer = consumer
        self._inbox = connection.client.new_inbox()
        self._queue: asyncio.Queue[tuple[float, Msg | None]] = asyncio.Queue()
        self._subscription: Any = None
        self._pulls = 0
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Subscribe to the inbox that the consumer delivers to."""
        self._subscription = await self._connection.subscribe(f"{self._inbox}.*", self._received)
        self._connection.on_lost.append(lambda: self._queue.put_nowait((time.monotonic(), None)))

    async def lease(self, types: tuple[type[AnyMessage], ...], limit: int, wait: float) -> list[Lease[AnyMessage]]:
        """Up to `limit` leases of queued messages. If there are none, waits up to `wait` seconds for the first."""
        async with self._lock:
            deadline = time.monotonic() + wait
            raw = self._left_over(limit)
            if not raw and await self._connection.wait_connected(wait):
                raw = await self._pull({"batch": limit, "no_wait": True}, limit, 0)
                left = deadline - time.monotonic()
                if not raw and left > 0:
                    raw = await self._pull({"batch": 1, "expires": int(left * 1e9)}, 1, left)
        return [lease for message in raw if (lease := await self._decoded(message, types)) is not None]

    async def close(self) -> None:
        """Hand back messages that were delivered but not taken, so that another node gets them at once."""
        if self._subscription is not None and self._connection.connected:
            await self._subscription.unsubscribe()
            for message in self._left_over(self._queue.qsize()):
                await self._connection.publish(message.reply, b"-NAK")

    async def _received(self, message: Msg) -> None:
        self._queue.put_nowait((time.monotonic(), message))

    def _left_over(self, limit: int) -> list[Msg]:
        """Messages of an earlier pull that was cancelled, without those whose leases may expire soon."""
        messages: list[Msg] = []
        while len(messages) < limit and not self._queue.empty():
            arrived, message = self._queue.get_nowait()
            fresh = time.monotonic() - arrived < self.ack_wait / 2
            if message is not None and fresh and not status_of(message):
                messages.append(message)
        return messages

    async def _pull(self, request: dict[str, Any], limit: int, wait: float) -> list[Msg]:
        self._pulls += 1
        reply = f"{self._inbox}.{self._pulls}"
        messages: list[Msg] = []
        self.refusal = ""
        try:
            async with asyncio.timeout(wait + PULL_GRACE):
                await self._connection.publish(self._next, json.dumps(request).encode(), reply)
                while len(messages) < limit:
                    _, message = await self._queue.get()
                    if message is None:
                        break
                    status = status_of(message)
                    if not status:
                        messages.append(message)
                    elif message.subject == reply:
                        if status not in NOTHING:
                            await self._refused(message, wait)
                        break
        except TimeoutError:
            log.warning("pull without a reply", consumer=self._consumer, got=len(messages))
        return messages

    async def _refused(self, message: Msg, wait: float) -> None:
        reason = (message.headers or {}).get("Description", "")
        if status_of(message) == NO_RESPONDERS:
            reason = MISSING
        self.refusal = reason or f"status {status_of(message)}"
        counters.warn_sometimes("pull refused", self._consumer, reason=reason)
        await asyncio.sleep(min(wait, REFUSED_PAUSE))

    async def _decoded(self, raw: Msg, types: tuple[type[AnyMessage], ...]) -> Lease[AnyMessage] | None:
        try:
            message = decode(raw.data, *types)
        except MessageError as error:
            failure = counters.count_malformed(raw, error)
            await self._connection.publish(raw.reply, b"+TERM " + failure.kind.encode())
            return None
        return Lease(raw, message, self._replies, self._connection, self.ack_wait)


async def api(
    replies: Replies, subject: str, body: dict[str, Any] | None = None, timeout: float = 5.0
) -> dict[str, Any]:
    """One request to the broker's JetStream API. Raises NotThere, BusError (with the broker's message), Unanswered."""
    payload = json.dumps(body).encode() if body else b""
    return check(await replies.ask(f"$JS.API.{subject}", payload, timeout=timeout), subject)


def check(answer: Msg, subject: str) -> dict[str, Any]:
    """The broker's JSON reply. Raises NotThere or BusError if it is an error."""
    content: dict[str, Any] = json.loads(answer.data)
    error = content.get("error")
    if error is None:
        return content
    text = f"{subject}: {error.get('description', error)}"
    raise NotThere(text) if error.get("code") == 404 else BusError(text)


async def publish_durable(
    replies: Replies, subject: str, payload: bytes, message_id: str | None, timeout: float = 5.0
) -> int:
    """Publish into a stream, and wait until the broker confirms it. Returns the sequence number. Raises Unanswered,
    BusError."""
    headers = {"Nats-Msg-Id": message_id} if message_id else None
    try:
        answer = await replies.ask(subject, payload, timeout=timeout, headers=headers)
    except Unanswered as error:
        raise Unanswered(f"{error} (no stream has acknowledged it)") from error
    return int(check(answer, subject)["seq"])
