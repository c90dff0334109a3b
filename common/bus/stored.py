"""What the broker stores for a run: work queues, streams that are read whole, the state's keys, files.

In reading order: leases of a work queue, all messages of a stream, keys and their watches, files with checked digests.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import os
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable
from contextlib import asynccontextmanager
from datetime import datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic

import structlog
from nats.errors import Error as NatsError
from nats.js.errors import Error as JetStreamError, NotFoundError

from common.bus import connection
from common.bus.asking import BusError, DigestMismatch, NotThere, TooManyWaiting, Unanswered
from common.bus.connection import NO_RESPONDERS, Connection, Replies, status_of
from common.bus.names import MOST_LEASED, answers_stream
from common.files import file_digest
from common.life.waiting import wait_first
from common.protocol.attempts import MAX_PARTS
from common.protocol.messages import AnyMessage, MessageError, decode
from common.protocol.subjects import answer, channel_name

if TYPE_CHECKING:
    from nats.aio.msg import Msg
    from nats.aio.subscription import Subscription as NatsSubscription

log = structlog.get_logger("bus")

ACK_TIMEOUT = 5.0
"""Seconds to wait until the broker confirms an acknowledgement. Without this, the message may be delivered again."""

PULL_GRACE = 2.0
"""Seconds after a pull's own waiting time until the broker's final status counts as lost."""

REFUSED_PAUSE = 1.0
"""Longest pause, in seconds, after a pull that the broker refused. It would refuse the next one, too."""

END_OF_PULL = ("404", "408")
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
        self.subject = raw.subject.partition(".")[2]
        """Without the run's name."""
        self._raw = raw
        self._replies = replies
        self._connection = connection

    @property
    def stored(self) -> float:
        """When the broker stored the message: Unix time of the broker's clock."""
        return float(self._raw.metadata.timestamp.timestamp())

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
        """Up to `limit` leases of queued messages, and at most MOST_LEASED. If there are none, waits up to `wait`
        seconds for the first."""
        async with self._lock:
            deadline = time.monotonic() + wait
            limit = min(limit, MOST_LEASED)
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
                        if status not in END_OF_PULL:
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
        connection.warn_sometimes("pull refused", self._consumer, reason=reason)
        await asyncio.sleep(min(wait, REFUSED_PAUSE))

    async def _decoded(self, raw: Msg, types: tuple[type[AnyMessage], ...]) -> Lease[AnyMessage] | None:
        try:
            message = decode(raw.data, *types)
        except MessageError as error:
            failure = connection.count_malformed(raw, error)
            await self._connection.publish(raw.reply, b"+TERM " + failure.kind.encode())
            return None
        return Lease(raw, message, self._replies, self._connection, self.ack_wait)


async def api(
    replies: Replies, subject: str, body: dict[str, Any] | None = None, timeout: float = 5.0
) -> dict[str, Any]:
    """One request to the broker's JetStream API. Raises NotThere, BusError (with the broker's message), Unanswered."""
    payload = json.dumps(body).encode() if body else b""
    return checked(await replies.ask(f"$JS.API.{subject}", payload, timeout=timeout), subject)


def checked(answer: Msg, subject: str) -> dict[str, Any]:
    """The broker's JSON reply. Raises NotThere, TooManyWaiting or BusError if it is an error."""
    content: dict[str, Any] = json.loads(answer.data)
    error = content.get("error")
    if error is None:
        return content
    text = f"{subject}: {error.get('description', error)}"
    if "per subject" in text:
        raise TooManyWaiting(f"{text}: as many of yours wait as one client may have; more go as these end")
    raise NotThere(text) if error.get("code") == 404 else BusError(text)


async def publish_durable(
    replies: Replies,
    subject: str,
    payload: bytes,
    message_id: str | None,
    timeout: float = 5.0,
    headers: dict[str, str] | None = None,
) -> int:
    """Publish into a stream, and wait until the broker confirms it. Returns the sequence number. Raises Unanswered,
    TooManyWaiting, BusError."""
    if message_id:
        headers = {**(headers or {}), "Nats-Msg-Id": message_id}
    try:
        answer = await replies.ask(subject, payload, timeout=timeout, headers=headers)
    except Unanswered as error:
        raise Unanswered(f"{error} (no stream has acknowledged it)") from error
    return int(checked(answer, subject)["seq"])


# ----------------------------------------------------------------------------------------------------------------------
# Reads all messages of a stream in batches, directly from the broker's store.

TIMEOUT = 5.0
"""Timeout in seconds of one batch. It normally takes the broker some milliseconds."""

BATCH = 500
"""Messages per request: some 200 KiB, so that a reply does not overload a slow reader. (One request could return the
last values of all keys, but the broker refuses it for more than 1,024 keys.)"""

END_OF_BATCH, NOTHING = "204", "404"
"""The broker's status after a batch, and if there are no messages from that sequence number on."""


async def batches(replies: Replies, stream: str, subject: str = ">", most: int = BATCH) -> AsyncIterator[list[Msg]]:
    """The messages of a stream on a subject (all: `>`), oldest first, at most `most` at a time. Raises Unanswered,
    NotThere (no such stream), BusError.

    No consumer is made for it: who may make one may let the broker deliver to any subject.
    """
    sequence, remaining = 1, 1
    while remaining:
        body = json.dumps({"seq": sequence, "batch": most, "next_by_subj": subject}).encode()
        values: list[Msg] = []

        def complete(message: Msg, values: list[Msg] = values) -> bool:
            if status_of(message):
                return True
            values.append(message)
            return False

        end = await replies.collect(f"$JS.API.DIRECT.GET.{stream}", body, timeout=TIMEOUT, done=complete)
        if end is None:
            raise NotThere(f"{stream}: no answer within {TIMEOUT:g} s; has the broker created this run's streams?")
        headers = end.headers or {}
        if status_of(end) not in (END_OF_BATCH, NOTHING, NO_RESPONDERS):
            raise BusError(f"{stream}: {headers.get('Description', status_of(end))}")
        if not values:
            return
        yield values
        remaining = int(headers.get("Nats-Num-Pending", 0))
        sequence = int((values[-1].headers or {})["Nats-Sequence"]) + 1


async def all_messages(replies: Replies, stream: str) -> list[Msg]:
    """Every message of a stream, oldest first. Raises what `batches` raises."""
    return [message async for batch in batches(replies, stream) for message in batch]


async def last_of(replies: Replies, stream: str, subject: str) -> Msg | None:
    """The last message of a stream on one subject, or None. Raises Unanswered, BusError."""
    answer = await replies.ask(f"$JS.API.DIRECT.GET.{stream}.{subject}", b"", timeout=API_TIMEOUT)
    if status_of(answer) == NOTHING:
        return None
    if status_of(answer):
        raise BusError(f"{stream} {subject}: {(answer.headers or {}).get('Description', status_of(answer))}")
    return answer


# ----------------------------------------------------------------------------------------------------------------------
# Reads, writes and watches a run's state in key-value buckets. The registry of nodes is a bucket whose entries
# expire.

API_TIMEOUT = 5.0
"""Timeout in seconds of one operation on a bucket. It normally takes the broker less than a millisecond."""

WATCH_LOOK = 10.0
"""Seconds between looks whether the bucket of a watch was deleted and made again."""

WATCH_RETRY = 0.5
"""Seconds until a watch that could not be set up (the broker's streams are still starting) is retried."""


def _deleted(message: Msg) -> bool:
    headers = message.headers or {}
    return headers.get("KV-Operation") in ("DEL", "PURGE") or "Nats-Marker-Reason" in headers


def key_subject(bucket: str, key: str) -> str:
    """The subject on which a key's values are published."""
    return f"$KV.{bucket}.{key}"


async def put_key(
    replies: Replies, bucket: str, key: str, payload: bytes, headers: dict[str, str] | None = None
) -> int:
    """Set a key; returns its revision."""
    return await publish_durable(replies, key_subject(bucket, key), payload, None, API_TIMEOUT, headers)


async def delete_key(replies: Replies, bucket: str, key: str) -> None:
    """Remove a key: a mark takes the place of its value."""
    await replies.ask(key_subject(bucket, key), b"", timeout=API_TIMEOUT, headers={"KV-Operation": "DEL"})


async def get_key(replies: Replies, bucket: str, key: str) -> Msg | None:
    """The last value of a key, or None. Raises Unanswered, BusError."""
    answer = await last_of(replies, f"KV_{bucket}", key_subject(bucket, key))
    return None if answer is None or _deleted(answer) else answer


async def all_values(replies: Replies, bucket: str) -> dict[str, Msg]:
    """The last values of all keys, by key. Raises Unanswered, NotThere, BusError."""
    messages = await all_messages(replies, f"KV_{bucket}")
    last = {(message.headers or {})["Nats-Subject"].removeprefix(f"$KV.{bucket}."): message for message in messages}
    return {key: message for key, message in last.items() if not _deleted(message)}


def decoded(message: Msg, *types: type[AnyMessage]) -> AnyMessage | None:
    """The message of a value; None if it cannot be decoded (counted, logged)."""
    try:
        return decode(message.data, *types)
    except MessageError as error:
        connection.count_malformed(message, error)
        return None


class Followed:
    """Looks at what the broker stores whenever somebody publishes to a subject, after each reconnect, and every
    WATCH_LOOK seconds: what is published may be refused by the stream, and a stream may be deleted and made again."""

    def __init__(self, connection: Connection, subject: str) -> None:
        self.subject = subject
        self._connection = connection
        self._heard: NatsSubscription | None = None
        self._due = asyncio.Event()
        self._again = False
        """Whether the next look is the first one of a connection."""
        self._following: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin. Raises NotThere if the run has no such stream; Unanswered, BusError."""
        self._heard = await self._connection.subscribe(self.subject, self._received)
        try:
            await self._look(again=True)
        except BaseException:
            await self.unsubscribe()
            raise
        self._connection.on_returned.append(self._returned)
        self._following = asyncio.create_task(self._follow())

    async def unsubscribe(self) -> None:
        """Stop."""
        if self._returned in self._connection.on_returned:
            self._connection.on_returned.remove(self._returned)
        if self._following is not None:
            self._following.cancel()
        if self._heard is not None and not self._heard._closed and not self._connection.client.is_closed:
            await self._heard.unsubscribe()

    async def _received(self, message: Msg) -> None:
        self._due.set()

    async def _returned(self) -> None:
        self._again = True
        self._due.set()

    async def _follow(self) -> None:
        while True:
            await wait_first(self._due, timeout=WATCH_LOOK)
            if not self._due.is_set() and not self._connection.connected:
                continue
            self._due.clear()
            again, self._again = self._again, False
            try:
                await self._look(again)
            except BusError as error:  # the broker is away, or its streams are still starting
                connection.warn_sometimes("watch waits for the broker's streams", self.subject, error=str(error))
                self._again |= again
                self._due.set()
                await asyncio.sleep(WATCH_RETRY)

    async def _look(self, again: bool) -> None:
        """`again`: what was told before is told once more. Raises BusError."""
        raise NotImplementedError


class Watch(Followed, Generic[AnyMessage]):
    """Follows a key: its current value first, then every change. A value that another one replaces at once may be left
    out: it is state. It begins again after every reconnect."""

    def __init__(
        self,
        connection: Connection,
        replies: Replies,
        bucket: str,
        key: str,
        kind: type[AnyMessage],
        callback: Callable[[AnyMessage | None, float], None],
        counts: Callable[[Msg], bool],
    ) -> None:
        """`callback` gets the value, and how many seconds the broker had it when this watch began; 0: less. `counts`:
        whether a value may be believed; others are skipped."""
        super().__init__(connection, key_subject(bucket, key))
        self._replies = replies
        self._bucket = bucket
        self._key = key
        self._kind = kind
        self._callback = callback
        self._counts = counts
        self._began: datetime | None = None
        """The broker's time when this watch began; None: the broker does not say it."""
        self._seen: tuple[str, str] | None = None
        """Number and time of the last value, both empty for none; None: nothing is told yet."""

    async def _look(self, again: bool) -> None:
        if again:
            # Ages are differences of the broker's own times, since this machine's clock may show something else.
            try:
                info = await api(self._replies, f"STREAM.INFO.KV_{self._bucket}")
            except NotThere as error:
                raise NotThere(f"{error}; has the broker created this run's streams?") from error
            self._began, self._seen = datetime.fromisoformat(info["ts"]) if "ts" in info else None, None
        message = await get_key(self._replies, self._bucket, self._key)
        headers = (message.headers or {}) if message else {}
        seen = headers.get("Nats-Sequence", ""), headers.get("Nats-Time-Stamp", "")
        if seen == self._seen:
            return
        self._seen = seen
        if message is None:
            self._call(None)
        elif self._counts(message) and (value := decoded(message, self._kind)) is not None:
            stored = datetime.fromisoformat(seen[1])
            self._call(value, max(0.0, (self._began - stored).total_seconds()) if self._began else 0.0)

    def _call(self, value: AnyMessage | None, age: float = 0.0) -> None:
        try:
            self._callback(value, age)
        except Exception:
            connection.HANDLER_ERRORS.labels(channel_name(self._key)).inc()
            log.exception("state callback failed", key=self.subject)


class Answers(Followed):
    """Follows the results of one client's attempts, as provers publish them. What was published while there was no
    connection is looked up by its attempt's id."""

    def __init__(
        self,
        connection: Connection,
        replies: Replies,
        run: str,
        client: str,
        received: Callable[[Msg], Coroutine[Any, Any, None]],
        outstanding: Callable[[], Iterable[str]],
    ) -> None:
        """`received`: called with each message, with some of them twice. `outstanding`: the ids of attempts without a
        result."""
        super().__init__(connection, f"{run}.{answer(client, '*', '*')}")
        self._replies = replies
        self._run = run
        self._client = client
        self._take = received
        self._outstanding = outstanding

    async def _received(self, message: Msg) -> None:
        await self._take(message)

    async def _look(self, again: bool) -> None:
        if again:  # what is published while this node is connected arrives
            await self.look_up()

    async def look_up(self) -> None:
        """Take what the broker has of the attempts without a result. Raises Unanswered, BusError."""
        for attempt_id in ["", *self._outstanding()]:  # one at least: it says if there is no such stream
            for piece in range(MAX_PARTS):
                subject = f"{self._run}.{answer(self._client, attempt_id, piece)}"
                if (message := await last_of(self._replies, answers_stream(self._run), subject)) is None:
                    break
                await self._take(message)


# ----------------------------------------------------------------------------------------------------------------------
# Uploads and downloads of files in the broker's object store, with checked digests.

CHUNKS = 64
"""Chunks of 128 KiB in one request of a download."""

OVERHEAD = 1.05
"""Space that the object store needs for a file, relative to its size: each chunk of 128 KiB has a header, and each file
has one more entry. Measured: less than 1% more."""


async def put_object(jetstream: Any, bucket: str, name: str, path: Path) -> str:
    """Store a file under a name, replacing an old one; returns its digest. Raises NotThere, Unanswered, OSError."""
    digest = await asyncio.to_thread(file_digest, path)
    try:
        store = await jetstream.object_store(bucket)
        with path.open("rb") as file:
            await store.put(name, file)
    except NotFoundError as error:
        raise NotThere(f"no object store {bucket}; has the broker created this run's streams?") from error
    except (JetStreamError, NatsError) as error:
        raise Unanswered(f"object {name} was not stored: {error}") from error
    return digest


async def get_object(replies: Replies, bucket: str, name: str, path: Path, digest: str) -> None:
    """Download an object to `path`. The file appears only when it is complete and matches the digest.

    Raises NotThere, DigestMismatch, Unanswered (connection lost), BusError, OSError.
    """
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            actual = await _download(replies, bucket, name, file)
        if actual != digest:
            raise DigestMismatch(f"object {name} has digest {actual[:16]}..., not {digest[:16]}...; it was not used")
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


async def _download(replies: Replies, bucket: str, name: str, file: IO[bytes]) -> str:
    """Write an object's chunks into an open file; returns the digest of the written bytes."""
    # The layout is that of NATS' object stores: an entry for each name, and chunks by the id that the entry gives.
    entry = await last_of(replies, f"OBJ_{bucket}", _entry(bucket, name))
    info = json.loads(entry.data) if entry is not None else {"deleted": True}
    if info.get("deleted"):
        raise NotThere(f"no object {name} in {bucket}")
    hasher, subject = hashlib.blake2b(), f"$O.{bucket}.C.{info['nuid']}"
    async for batch in batches(replies, f"OBJ_{bucket}", subject, CHUNKS):
        for chunk in batch:
            await asyncio.to_thread(_write_chunk, file, hasher, chunk.data)
    return hasher.hexdigest()


def _entry(bucket: str, name: str) -> str:
    return f"$O.{bucket}.M.{base64.urlsafe_b64encode(name.encode()).decode()}"


def _write_chunk(file: IO[bytes], hasher: Any, chunk: bytes) -> None:
    hasher.update(chunk)
    file.write(chunk)


async def has_object(replies: Replies, bucket: str, name: str) -> bool:
    """Whether the store has an object. Raises Unanswered, BusError."""
    entry = await last_of(replies, f"OBJ_{bucket}", _entry(bucket, name))
    return entry is not None and not json.loads(entry.data).get("deleted")


async def delete_object(jetstream: Any, bucket: str, name: str) -> None:
    """Remove an object if it exists."""
    try:
        store = await jetstream.object_store(bucket)
        await store.delete(name)
    except NotFoundError:
        return
    except (JetStreamError, NatsError) as error:
        raise Unanswered(f"object {name} was not removed: {error}") from error
