"""Reads, writes and watches a run's state in key-value buckets. The registry of nodes is a bucket whose entries
expire."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Any, Generic

import structlog
from nats.errors import Error as NatsError
from nats.js.api import DeliverPolicy
from nats.js.errors import APIError
from nats.js.errors import Error as JetStreamError

from common.bus import counters
from common.bus.connection import Connection
from common.bus.errors import BusError, NotThere
from common.bus.leases import publish_durable
from common.bus.replies import Replies, status_of
from common.bus.stored import stored
from common.protocol.messages import AnyMessage, MessageError, decode

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = structlog.get_logger("bus")

API_TIMEOUT = 5.0
"""Timeout in seconds of one operation on a bucket. It normally takes the broker less than a millisecond."""

WATCH_LOOK = 10.0
"""Seconds between looks whether the bucket of a watch was deleted and made again."""

WATCH_RETRY = 0.5
"""Seconds until a watch that could not be set up (the broker's streams are still starting) is retried."""


def _deleted(message: Msg) -> bool:
    headers = message.headers or {}
    return headers.get("KV-Operation") in ("DEL", "PURGE") or "Nats-Marker-Reason" in headers


async def put(replies: Replies, bucket: str, key: str, payload: bytes) -> int:
    """Set a key; returns its revision."""
    return await publish_durable(replies, f"$KV.{bucket}.{key}", payload, None, API_TIMEOUT)


async def delete(replies: Replies, bucket: str, key: str) -> None:
    """Remove a key and its history."""
    headers = {"KV-Operation": "PURGE", "Nats-Rollup": "sub"}
    await replies.ask(f"$KV.{bucket}.{key}", b"", timeout=API_TIMEOUT, headers=headers)


async def get(replies: Replies, bucket: str, key: str) -> Msg | None:
    """The last value of a key, or None."""
    answer = await replies.ask(f"$JS.API.DIRECT.GET.KV_{bucket}.$KV.{bucket}.{key}", b"", timeout=API_TIMEOUT)
    if status_of(answer) == "404" or (not status_of(answer) and _deleted(answer)):
        return None
    if status_of(answer):
        raise BusError(f"{bucket} {key}: {(answer.headers or {}).get('Description', status_of(answer))}")
    return answer


async def get_all(replies: Replies, bucket: str) -> list[Msg]:
    """The last values of all keys. Raises Unanswered, NotThere, BusError."""
    messages = await stored(replies, f"KV_{bucket}")
    last = {(message.headers or {})["Nats-Subject"]: message for message in messages}
    return [message for message in last.values() if not _deleted(message)]


def decoded(message: Msg, *types: type[AnyMessage]) -> AnyMessage | None:
    """The message of a value; None if it cannot be decoded (counted, logged)."""
    try:
        return decode(message.data, *types)
    except MessageError as error:
        counters.count_malformed(message, error)
        return None


class Watch(Generic[AnyMessage]):
    """Follows one subject of a stream: a key, with its current value first, then every change; or all stored messages.
    It begins again after every reconnect, and after the stream was deleted and made again."""

    def __init__(
        self,
        connection: Connection,
        jetstream: Any,
        stream: str,
        subject: str,
        kinds: tuple[type[AnyMessage], ...],
        callback: Callable[[AnyMessage | None, float], None],
        *,
        channel: str,
        all_stored: bool = False,
    ) -> None:
        """`callback` gets the value, and how many seconds the broker had it when this watch began; 0: less. `channel`:
        its name in `common.protocol.channels`, for metrics."""
        self.subject = subject
        self._channel = channel
        self._connection = connection
        self._jetstream = jetstream
        self._stream = stream
        self._kinds = kinds
        self._callback = callback
        self._all_stored = all_stored
        self._inner: Any = None
        self._began: datetime | None = None
        """The broker's time when this watch began; None: the broker does not say it."""
        self._stopped = False
        self._generation = 0
        self._made = ""
        """When the stream was made."""
        self._restarting = asyncio.Lock()

    async def start(self) -> None:
        """Start watching. Raises NotThere if the run has no such bucket or stream."""
        try:
            await self._subscribe()
        except (JetStreamError, NatsError) as error:
            raise NotThere(f"{self.subject}: {error}; has the broker created this run's streams?") from error
        self._connection.on_returned.append(self._restart)
        self._connection.spawn(self._follow_stream())

    async def unsubscribe(self) -> None:
        """Stop watching."""
        self._stopped = True
        if self._restart in self._connection.on_returned:
            self._connection.on_returned.remove(self._restart)
        await self._drop()

    async def _subscribe(self) -> None:
        self._generation += 1
        generation = self._generation
        # Ages are differences of the broker's own times, since this machine's clock may show something else.
        self._made, self._began = await self._times()

        async def received(message: Msg) -> None:
            if generation == self._generation:
                self._see(message)

        self._inner = await self._jetstream.subscribe(
            self.subject,
            stream=self._stream,
            cb=received,
            ordered_consumer=True,
            deliver_policy=DeliverPolicy.ALL if self._all_stored else DeliverPolicy.LAST_PER_SUBJECT,
        )
        if self._all_stored:
            return
        info = await self._inner.consumer_info()
        if info.num_pending == 0 and self._inner.delivered == 0:
            self._call(None)

    async def _times(self) -> tuple[str, datetime | None]:
        """When the stream was made, and the broker's time now. Raises JetStreamError, NatsError."""
        answer = await self._connection.client.request(f"$JS.API.STREAM.INFO.{self._stream}", timeout=API_TIMEOUT)
        info = json.loads(answer.data)
        if "error" in info:
            APIError.from_error(info["error"])  # raises it
        return info["created"], datetime.fromisoformat(info["ts"]) if "ts" in info else None

    async def _follow_stream(self) -> None:
        """Subscribe again when the stream was made again: the old consumer is gone, and the client library would ask
        the new stream only for what comes after the old one's last message."""
        while not self._stopped:
            await asyncio.sleep(WATCH_LOOK)
            try:
                made, _ = await self._times()
            except (JetStreamError, NatsError):
                continue  # not there yet, or no broker
            if made != self._made and not self._stopped:
                await self._restart()

    async def _restart(self) -> None:
        """Create a new consumer, since a restarted broker has forgotten the old one. Retries until it succeeds."""
        async with self._restarting:  # one restart at a time, also if the connection is lost again meanwhile
            while not (self._stopped or await self._tried()):  # noqa: ASYNC110 - there is no event to wait for
                await asyncio.sleep(WATCH_RETRY)

    async def _tried(self) -> bool:
        await self._drop()
        try:
            await self._subscribe()
        except (JetStreamError, NatsError) as error:
            counters.warn_sometimes("watch waits for the broker's streams", self.subject, error=str(error))
            return False
        return True

    async def _drop(self) -> None:
        self._generation += 1
        inner, self._inner = self._inner, None
        if inner is not None and not inner._closed and not self._connection.client.is_closed:
            await inner.unsubscribe()

    def _see(self, message: Msg) -> None:
        if _deleted(message):
            self._call(None)
        elif (value := decoded(message, *self._kinds)) is not None:
            stored = message.metadata.timestamp
            self._call(value, max(0.0, (self._began - stored).total_seconds()) if self._began else 0.0)

    def _call(self, value: AnyMessage | None, age: float = 0.0) -> None:
        try:
            self._callback(value, age)
        except Exception:
            counters.HANDLER_ERRORS.labels(self._channel).inc()
            log.exception("state callback failed", key=self.subject)


def messages_of(answers: list[Msg], *kinds: type[AnyMessage]) -> list[AnyMessage]:
    """The messages of all values that can be decoded."""
    return [value for answer in answers if (value := decoded(answer, *kinds)) is not None]
