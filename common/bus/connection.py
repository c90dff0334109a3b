"""The connection to the broker, and plain messages and requests over it.

In reading order: what the bus counts, the connection (it reconnects for ever), requests that this node sends and their
replies, subscriptions and requests that this node serves.
"""

from __future__ import annotations

import asyncio
import random
import re
import ssl
import time
import weakref
from collections import Counter, OrderedDict
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Sequence
from itertools import count
from typing import Any

import msgspec
import structlog
from nats.aio.client import PING_PROTO, Client, Server
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription as NatsSubscription
from nats.errors import (
    AuthorizationError,
    ConnectionClosedError,
    ConnectionReconnectingError,
    Error,
    FlushTimeoutError,
    OutboundBufferLimitError,
    SlowConsumerError,
)
from prometheus_client.core import CounterMetricFamily
from prometheus_client.registry import Collector

from common.bus.asking import BadKey, BusUnavailable, BusyError, NotAllowed, RemoteFailure, Unanswered
from common.bus.credentials import NodeKey, tls
from common.bus.permissions import Role, elsewhere, has_streams, inbox
from common.bus.signing import Signer
from common.life import metrics, timeline
from common.protocol.messages import (
    Busy,
    Failure,
    FailureKind,
    Message,
    MessageError,
    OversizedMessage,
    UnknownVersion,
    decode,
    encode,
)
from common.protocol.subjects import OWNER, channel_name
from common.settings import BusSettings

log = structlog.get_logger("bus")

MALFORMED = metrics.counter("bus_malformed", "Payloads that were not the expected message", ["kind"])
SLOW_CONSUMERS = metrics.counter("bus_slow_consumers", "Messages dropped because a subscription's queue was full")
RECONNECTS = metrics.counter("bus_reconnects", "Reconnections to the broker")
CONNECTED = metrics.gauge("bus_connected", "1 while the broker is connected")
DROPPED = metrics.counter("bus_dropped", "Messages dropped during an outage because the buffer was full")
BUSY = metrics.counter("bus_busy_answers", "Requests answered with Busy", ["channel"])
HANDLER_ERRORS = metrics.counter("bus_handler_errors", "Exceptions of request handlers and callbacks", ["channel"])
REQUEST_SECONDS = metrics.histogram("bus_request_seconds", "Response time of requests that this node sent", ["channel"])
UNSIGNED = metrics.counter("bus_unsigned_replies", "Verdicts that do not count, for want of a verifier's signature")
UNTRUSTED = metrics.counter(
    "bus_untrusted", "Messages that do not count, for want of their sender's signature", ["channel"]
)
SERVED_SECONDS = metrics.histogram("bus_served_seconds", "Time to answer requests that this node serves", ["channel"])
WAIT_SECONDS = metrics.histogram(
    "bus_wait_seconds", "Of it, time that requests waited at this node until their work began", ["channel"]
)
TRANSIT_SECONDS = metrics.histogram(
    "bus_transit_seconds",
    "Time that requests of attempts and their replies were under way, or not read yet",
    ["channel"],
)

_SENDERS_REMEMBERED = 1024
"""Senders whose malformed messages are not logged again. Limited, since senders choose their own names."""

WARN_EVERY = 30.0
"""Seconds between log lines about the same continuing problem, so that it does not fill the log."""

_warned: dict[tuple[str, ...], float] = {}
_logged_senders: OrderedDict[tuple[str, ...], None] = OrderedDict()


def warn_sometimes(event: str, about: str, **fields: object) -> None:
    """Log a warning about `about`, unless the same one was logged within the last WARN_EVERY seconds."""
    key, now = (event, about), time.monotonic()
    if now - _warned.get(key, float("-inf")) >= WARN_EVERY:
        _warned[key] = now
        log.warning(event, about=about, **fields)


def failure_kind(error: MessageError) -> FailureKind:
    """The kind of an invalid payload: `malformed`, `version` or `oversized`."""
    if isinstance(error, UnknownVersion):
        return FailureKind.VERSION
    return FailureKind.OVERSIZED if isinstance(error, OversizedMessage) else FailureKind.MALFORMED


_FROM_ANOTHER_ACCOUNT = "_R_."
"""Begins the reply subject that the broker gives to a request from another account."""

_INFO_HEADER = "Nats-Request-Info"
"""What the broker says of such a request's sender, whatever the sender has written there."""


def sender_of(message: Msg) -> str:
    """The sender of a message: its account if it is another one, its key or node by the reply inbox (see
    `permissions.inbox`), or the subject if there is no inbox."""
    if message.reply.startswith(_FROM_ANOTHER_ACCOUNT):
        return f"account {msgspec.json.decode((message.headers or {}).get(_INFO_HEADER, '{}')).get('acc', '')}"
    parts = message.reply.split(".")
    with_key = len(parts) == 6
    return ".".join(parts[:3] if with_key else parts[:-1]) if message.reply else message.subject


def count_malformed(message: Msg, error: MessageError) -> Failure:
    """Count an invalid payload, log it once per sender and kind, and return the Failure to reply with."""
    kind = failure_kind(error)
    MALFORMED.labels(kind).inc()
    sender = sender_of(message)
    if _first_time(sender, message.subject, kind):
        log.warning("bad message", subject=message.subject, sender=sender, kind=kind, error=str(error))
    return Failure(reason=f"{message.subject}: {error}", kind=kind)


def count_untrusted(subject: str, channel: str, problem: str) -> bool:
    """Count a message that its own node has not signed, and log it once per subject and problem. Returns True."""
    UNTRUSTED.labels(channel).inc()
    if _first_time(subject, problem, "untrusted"):
        log.warning(
            "a message in a node's name does not count", subject=subject, reason=f"{problem} (or its node is older)"
        )
    return True


def _first_time(*what: str) -> bool:
    new = what not in _logged_senders
    if new:
        _logged_senders[what] = None
        if len(_logged_senders) > _SENDERS_REMEMBERED:
            _logged_senders.popitem(last=False)
    return new


# ----------------------------------------------------------------------------------------------------------------------
# Messages and bytes of all connections, read from the client library's counts on each request of `/metrics`.

_FIELDS = {"in": ("in_msgs", "in_bytes"), "out": ("out_msgs", "out_bytes")}


class Traffic(Collector):
    """Messages and bytes in and out, over all connections that this process had."""

    def __init__(self) -> None:
        self._clients: weakref.WeakSet[Client] = weakref.WeakSet()
        self._past = {"in_msgs": 0, "in_bytes": 0, "out_msgs": 0, "out_bytes": 0}

    def follow(self, client: Client) -> None:
        self._clients.add(client)

    def forget(self, client: Client) -> None:
        """Add the counts of a closed connection to the totals."""
        if client in self._clients:
            self._clients.discard(client)
            for name in self._past:
                self._past[name] += client.stats[name]

    def collect(self) -> Iterator[CounterMetricFamily]:
        messages = CounterMetricFamily("proofmesh_bus_messages", "Messages through the broker", labels=["direction"])
        size = CounterMetricFamily("proofmesh_bus_bytes", "Payload bytes through the broker", labels=["direction"])
        for direction, (messages_field, bytes_field) in _FIELDS.items():
            messages.add_metric([direction], self._sum(messages_field))
            size.add_metric([direction], self._sum(bytes_field))
        yield messages
        yield size

    def _sum(self, name: str) -> int:
        return self._past[name] + sum(client.stats[name] for client in self._clients)


TRAFFIC = Traffic()
metrics.METRICS.registry.register(TRAFFIC)


# ----------------------------------------------------------------------------------------------------------------------
# The connection to the broker. It reconnects for ever, and calls hooks on every disconnect and reconnect.

SCHEMES = ("nats", "tls", "ws", "wss")
"""Allowed schemes of addresses: the transports of nats-py."""

OUTAGE_BUFFER_BYTES = 8 * 1024 * 1024
"""Buffer for messages that are published during an outage (16 of the largest). Beyond it they are dropped and
counted."""

DRAIN_SECONDS = 5
"""Most seconds to handle queued messages when a node leaves. Leases are safe in the broker anyway."""

PENDING_MESSAGES = 65_536
PENDING_BYTES = 64 * 1024 * 1024
"""Queue limits of a subscription; beyond them messages are dropped and counted. They hold half a second of the fastest
telemetry that a node can read, in an amount of memory that a node can spare."""

RECONNECT_LONGEST = 3.0
"""Most seconds between attempts to reconnect: short enough to find the broker soon, long enough not to flood it."""


def reconnect_delay(failures: int, jitter: float) -> float:
    """Seconds to wait after `failures` failed attempts; `jitter` in [0, 1) spreads the nodes of a mesh in time."""
    return min(RECONNECT_LONGEST, 0.05 * 2.0 ** min(failures, 10)) * (0.5 + 0.5 * jitter)


CANCEL_SECONDS = 0.5
"""Seconds after which a connection attempt that still runs is cancelled again."""


def check_addresses(settings: BusSettings) -> None:
    """Check the form of the broker's addresses. Raises BusUnavailable: waiting would not help."""
    servers = settings.servers()
    for url in servers:
        scheme, separator, _ = url.partition("://")
        if separator and scheme not in SCHEMES:
            raise BusUnavailable(f"[bus] url: {url!r} is not a broker address; write it like nats://127.0.0.1:4222")
    if not servers:
        raise BusUnavailable("[bus] url: is empty; write the broker's address like nats://127.0.0.1:4222")


def _why_not_encrypted(url: str, error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return (
            f"the certificate of the broker at {url} does not count: {error.verify_message}; compare [bus] ca and "
            "[bus] broker_name with the certificate, its dates, and this machine's clock"
        )
    return (
        f"no encrypted connection to the broker at {url} ({error.reason or error}): does it encrypt ([broker] "
        "certificate), and does it ask for a certificate of this node ([bus] certificate)?"
    )


def _is_refusal(error: Exception) -> bool:
    if isinstance(error, ssl.SSLError):
        return True
    return isinstance(error, AuthorizationError) or "authorization violation" in str(error).lower()


def _forbidden(error: Exception) -> str:
    """What the broker does not let this key do; empty: the error is another one. The client library writes subjects in
    lower case."""
    return str(error).lower().partition("permissions violation for ")[2]


class _OrderedClient(Client):
    """The client of nats-py, with a key and with PING sent in order.

    nats-py 2.16 writes PING to the socket before commands that it has not sent yet. So `flush` may return before an
    earlier `subscribe` or `unsubscribe` has reached the server. This happened about once in 150 times, and the first
    request to that subject was refused. With PING sent in order, a PONG means that the server has seen all earlier
    commands.
    """

    def __init__(self, key: NodeKey | None = None) -> None:
        super().__init__()
        self._public_nkey = key.public if key else None  # nats-py sets it only with the package `nkeys`

    async def _send_ping(self, future: asyncio.Future[Any] | None = None) -> None:
        self._pongs.append(future or asyncio.get_running_loop().create_future())
        await self._send_command(PING_PROTO)
        await self._flush_pending()

    async def _process_pong(self) -> None:
        """Ignore a PONG whose `flush` was cancelled or has timed out. nats-py 2.16 would set the result of the
        cancelled future, and this error would end its reading task."""
        if self._pongs and self._pongs[0].done():
            self._pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()

    async def _close(self, status: int, do_cbs: bool = True) -> None:
        """During an outage, drop pending data before closing. nats-py 2.16 would write it to the closed transport;
        uvloop's transport raises then, and the client would stay half closed."""
        if self.is_reconnecting:
            self._pending = []
            self._pending_data_size = 0
        await super()._close(status, do_cbs)


class Connection:
    """A nats-py client that reconnects for ever. Hooks run on every disconnect (`on_lost`) and reconnect
    (`on_returned`)."""

    def __init__(self, settings: BusSettings, name: str, role: str, key: NodeKey | None = None) -> None:
        self.settings = settings
        self.name = name
        self.role = role
        self.owner = key.owner if key else OWNER
        """Whose attempts it asks for, if it is a client."""
        self.token = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:80] or "node"
        self.client: Client = _OrderedClient(key)
        self.on_lost: list[Callable[[], None]] = []
        self.on_returned: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.on_forbidden: list[Callable[[str], None]] = []
        """Called with what the broker does not let this key do, such as `publish to "demo.tactic.request"`."""
        self.given_up = asyncio.Event()
        """Set when the client library closed the connection for good, without a call of `close`. The node must then
        end."""
        self._up = asyncio.Event()
        self._up_since = 0.0
        self._up_before = 0.0
        self._opened = False
        self._closing = False
        self._refused: asyncio.Future[None] | None = None
        self.key = key
        """The key that it shows to the broker."""
        self._has_no_streams = key is not None and not has_streams(Role(role))
        self._last_error: Exception | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def connected(self) -> bool:
        return self._up.is_set()

    def connected_seconds(self) -> float:
        """Total seconds with a connection: a clock that stands still during outages."""
        return self._up_before + (time.monotonic() - self._up_since if self._up.is_set() else 0.0)

    def _set_up(self) -> None:
        self._up_since = time.monotonic()
        self._up.set()
        CONNECTED.set(1)

    def _set_down(self) -> None:
        self._up_before = self.connected_seconds()
        self._up.clear()
        CONNECTED.set(0)

    async def open(self, wait: float | None) -> None:
        """Connect within `wait` seconds (None: no limit). Raises BusUnavailable; at once if the credentials are
        refused."""
        check_addresses(self.settings)
        self._refused = asyncio.get_running_loop().create_future()
        user, password = self.settings.credentials()
        encryption = tls(self.settings)
        connecting = asyncio.create_task(
            self.client.connect(
                servers=self.settings.servers(),
                name=self.name,
                user=user or None,
                password=password or None,
                token=password if password and not user else None,
                signature_cb=self.key.sign if self.key else None,
                tls=encryption,
                tls_hostname=self.settings.broker_name or None,
                tls_handshake_first=encryption is not None,
                error_cb=self._on_error,
                disconnected_cb=self._on_disconnected,
                reconnected_cb=self._on_reconnected,
                closed_cb=self._on_closed,
                reconnect_to_server_handler=self._choose_server,
                max_reconnect_attempts=-1,
                reconnect_time_wait=0.25,  # type: ignore[arg-type]  # seconds; the library takes floats
                connect_timeout=3,
                ping_interval=10,
                max_outstanding_pings=2,
                drain_timeout=DRAIN_SECONDS,
                pending_size=OUTAGE_BUFFER_BYTES,
                # Role and key first: the broker keeps a key from hearing what is sent to another.
                inbox_prefix=f"{inbox(self.role, self.key.public if self.key else '')}.{self.token}",
            )
        )
        await asyncio.wait([connecting, self._refused], timeout=wait, return_when=asyncio.FIRST_COMPLETED)
        if not connecting.done():
            # Cancel repeatedly: before Python 3.12, `wait_for` inside the library loses a cancellation that arrives
            # just when a connection attempt fails, and the library would try for ever.
            while not connecting.done():
                connecting.cancel()
                await asyncio.wait([connecting], timeout=CANCEL_SECONDS)
            self._closing = True
            await self.client.close()
            raise BusUnavailable(self._connect_problem(wait))
        connecting.result()
        self._opened = True
        self._set_up()

    def _connect_problem(self, wait: float | None) -> str:
        assert self._refused is not None
        if isinstance(self._last_error, ssl.SSLError):
            return _why_not_encrypted(self.settings.url, self._last_error)
        if self._refused.done() and self.key:
            return (
                f"the broker at {self.settings.url} refused the key of {self.key.place}: it was revoked, or made for "
                "another broker; `proofmesh broker keys RUN` on the broker's machine shows the keys that count"
            )
        if self._refused.done():
            return (
                f"the broker at {self.settings.url} refused the credentials; set [bus] key, or user and password "
                "(PROOFMESH_KEY, PROOFMESH_INVITE, or PROOFMESH_NATS_USER and PROOFMESH_NATS_PASSWORD)"
            )
        silent = "empty response" in str(self._last_error) and not self.settings.ca
        encrypts = "; if it encrypts, set [bus] ca or PROOFMESH_CA" if silent else ""
        return (
            f"no broker at {self.settings.url} after {wait:g} s ({self._last_error or 'no answer'}); start one with "
            f"`proofmesh broker`, or name another with [bus] url (--bus.url, or --url){encrypts}"
        )

    def wrong_role(self) -> str:
        """Why the broker does not let this node be what it is."""
        place = self.key.place if self.key else "this user"
        return (
            f"the broker does not let {place} be a {self.role}: it is a key of another role; name the key of role "
            f"{self.role}, or the folder with all keys of the run, with [bus] key or PROOFMESH_KEY"
        )

    async def wait_connected(self, timeout: float | None = None) -> bool:
        """Wait until the broker is connected, at most `timeout` seconds; None: for ever."""
        if self.connected:
            return True
        try:
            async with asyncio.timeout(timeout):
                await self._up.wait()
        except TimeoutError:
            return False
        return True

    def named(self, subject: str) -> str:
        """The name of a subject in the account of this node."""
        return elsewhere(subject) if self._has_no_streams else subject

    async def publish(
        self, subject: str, payload: bytes, reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Publish. Never raises because of an outage: messages are buffered; when the buffer is full, they are
        dropped."""
        try:
            await self.client.publish(self.named(subject), payload, reply, headers)
        except OutboundBufferLimitError:
            DROPPED.inc()
        except ConnectionClosedError:
            if not self._closing:
                DROPPED.inc()

    async def subscribe(
        self,
        subject: str,
        callback: Callable[[Msg], Coroutine[Any, Any, None]],
        *,
        queue: str = "",
        pending_messages: int = PENDING_MESSAGES,
        pending_bytes: int = PENDING_BYTES,
    ) -> NatsSubscription:
        """Subscribe. When this returns, the broker has the subscription; in an outage it gets it on reconnect."""
        subscription = await self.client.subscribe(
            subject, queue, callback, pending_msgs_limit=pending_messages, pending_bytes_limit=pending_bytes
        )
        if self.connected:
            try:
                await self.client.flush()
            except FlushTimeoutError:
                log.info("broker lost while subscribing; subscribed again on reconnect", subject=subject)
        return subscription

    async def close(self) -> None:
        """Handle received messages, flush published ones, and disconnect."""
        self._closing = True
        self._set_down()
        try:
            await self.client.drain()
        except (ConnectionReconnectingError, ConnectionClosedError):
            await self.client.close()
        except (Error, OSError, RuntimeError) as error:  # RuntimeError: from uvloop, if the transport has just closed
            log.warning("broker left without draining", error=str(error))
            await self.client.close()
        for task in self._tasks:
            task.cancel()

    def _choose_server(self, servers: Sequence[Server], _: dict[str, Any]) -> tuple[Server | None, float]:
        server = min(servers, key=lambda server: server.reconnects)
        return server, reconnect_delay(server.reconnects, random.random())

    async def _on_error(self, error: Exception) -> None:
        if isinstance(error, SlowConsumerError):
            SLOW_CONSUMERS.inc()
            warn_sometimes("slow consumer: messages dropped", error.subject)
            return
        if (forbidden := _forbidden(error)) and self._opened:
            for hook in self.on_forbidden:
                hook(forbidden)
            warn_sometimes("the broker forbids this", forbidden, role=self.role)
            return
        self._last_error = error
        if self._refused is not None and not self._refused.done() and _is_refusal(error):
            self._refused.set_result(None)
        elif not self._closing:
            text = str(error) or type(error).__name__
            warn_sometimes("broker not reached", self.settings.url, error=text)

    async def _on_disconnected(self) -> None:
        if not self._up.is_set():
            return
        self._set_down()
        log.warning("broker lost; reconnecting", url=self.settings.url)
        for hook in self.on_lost:
            hook()

    async def _on_reconnected(self) -> None:
        self._set_up()
        RECONNECTS.inc()
        log.info("broker found again", url=self.settings.url)
        # Hooks send requests to the broker. Awaiting them here would block the client's own reconnection task.
        for hook in self.on_returned:
            self.spawn(hook())

    def spawn(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a background task; if it raises, the error is logged."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._finished)

    def _finished(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("bus task failed", exc_info=error)

    async def _on_closed(self) -> None:
        if self._opened and not self._closing:
            log.error("connection closed by the client library", error=str(self.client.last_error))
            self.given_up.set()


# ----------------------------------------------------------------------------------------------------------------------
# Requests and their replies over one inbox.
#
# Unlike the client library's own requests, these fail at once when the connection is lost, since the reply is then
# lost, too. They can also collect several replies to one request.

NO_RESPONDERS = "503"


def status_of(message: Msg) -> str:
    """The broker's status code in a reply (`503` no subscriber, `404` not found, ...), or an empty string."""
    return (message.headers or {}).get("Status", "")


class Replies:
    """The inbox of a node's requests."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._inbox = ""
        self._numbers = count(1)
        self._waiting: dict[str, asyncio.Queue[Msg | NotAllowed | None]] = {}
        self._single: dict[str, asyncio.Future[Msg]] = {}
        self._asked: dict[str, str] = {}
        """The subject of each open request."""
        connection.on_lost.append(self._lost)
        connection.on_forbidden.append(self._forbidden)

    async def start(self) -> None:
        """Subscribe to the inbox. Called once, after connecting. Raises BadKey if the broker does not let the
        node's key hear it."""
        self._inbox = self._connection.client.new_inbox()
        refused: list[str] = []
        self._connection.on_forbidden.append(refused.append)
        await self._connection.subscribe(f"{self._inbox}.*", self._received)
        self._connection.on_forbidden.remove(refused.append)
        if refused:
            raise BadKey(self._connection.wrong_role())

    async def ask(self, subject: str, payload: bytes, *, timeout: float, headers: dict[str, str] | None = None) -> Msg:
        """Send a request and return the first reply. Raises Unanswered."""
        token = await self._ready(subject, timeout)
        future = self._single[token] = asyncio.get_running_loop().create_future()
        self._asked[token] = self._connection.named(subject).lower()
        try:
            async with asyncio.timeout(timeout):
                await self._connection.publish(subject, payload, f"{self._inbox}.{token}", headers)
                answer: Msg = await future
        except TimeoutError:
            raise Unanswered(f"{subject}: no answer within {timeout:g} s") from None
        finally:
            del self._single[token], self._asked[token]
        if status_of(answer) == NO_RESPONDERS:
            raise Unanswered(f"{subject}: no node serves it")
        return answer

    async def collect(
        self,
        subject: str,
        payload: bytes,
        *,
        timeout: float,
        done: Callable[[Msg], bool],
        headers: dict[str, str] | None = None,
    ) -> Msg | None:
        """Send a request and read replies until `done(reply)` is true. Returns that reply; None after the timeout.

        Raises Unanswered if no node serves the subject or the connection is lost.
        """
        token = await self._ready(subject, timeout)
        queue = self._waiting[token] = asyncio.Queue()
        self._asked[token] = self._connection.named(subject).lower()
        try:
            async with asyncio.timeout(timeout):
                await self._connection.publish(subject, payload, f"{self._inbox}.{token}", headers)
                while True:
                    answer = await queue.get()
                    if isinstance(answer, NotAllowed):
                        raise answer
                    if answer is None or status_of(answer) == NO_RESPONDERS:
                        raise Unanswered(f"{subject}: {'no node serves it' if answer else 'the broker was lost'}")
                    if done(answer):
                        return answer
        except TimeoutError:
            return None
        finally:
            del self._waiting[token], self._asked[token]

    async def _ready(self, subject: str, timeout: float) -> str:
        if not self._connection.connected and not await self._connection.wait_connected(timeout):
            raise Unanswered(f"{subject}: no broker for {timeout:g} s")
        return str(next(self._numbers))

    async def _received(self, message: Msg) -> None:
        token = message.subject[len(self._inbox) + 1 :]
        future = self._single.get(token)
        if future is not None:
            if not future.done():
                future.set_result(message)
        elif (queue := self._waiting.get(token)) is not None:
            queue.put_nowait(message)

    def _lost(self) -> None:
        for future in self._single.values():
            if not future.done():
                future.set_exception(Unanswered("the broker was lost while the request was open"))
        for queue in self._waiting.values():
            queue.put_nowait(None)

    def _forbidden(self, what: str) -> None:
        """Fail the requests that the broker has not let through: nobody would answer them."""
        for token, subject in self._asked.items():
            if what != f'publish to "{subject}"':
                continue
            error = NotAllowed(f"the broker does not let a key of role {self._connection.role} publish to {subject}")
            if (future := self._single.get(token)) is None:
                self._waiting[token].put_nowait(error)
            elif not future.done():
                future.set_exception(error)


# ----------------------------------------------------------------------------------------------------------------------
# Subscriptions with a synchronous callback, and request servers with bounded concurrency.
#
# The client library runs the callbacks of one subscription one after another. So a callback here only decodes the
# message and passes it on; each request handler runs as its own task.

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


WAITS_SECONDS = 1.0
"""Least seconds for which a sender counts as waiting after a full server turned it away."""


class RequestServer:
    """Answers the requests of one subject with at most `limit` concurrent handlers. Further requests get Busy; so
    do those of a sender that holds half of the slots while others wait."""

    def __init__(
        self,
        connection: Connection,
        subject: str,
        request: type[Message],
        handler: Callable[[Any], Awaitable[Message]],
        limit: int,
        signer: Signer | None = None,
        room: int | None = None,
    ) -> None:
        """`room`: see `common.bus.bus.Bus.serve`."""
        self._connection = connection
        self._signer = signer
        self._subject = subject
        self._request = request
        self._handler = handler
        self._limit = limit
        self._share = (room or limit) / 2
        self._time = ServiceTime()
        self.at_work: set[asyncio.Task[None]] = set()
        self._held: Counter[str] = Counter()
        """Slots by sender."""
        self._waiting: OrderedDict[str, float] = OrderedDict()
        """Senders that were turned away since there was no room, and until when they count as waiting."""
        self._busy = BUSY.labels(channel_name(subject))
        self._seconds = SERVED_SECONDS.labels(channel_name(subject))
        self._wait_seconds = WAIT_SECONDS.labels(channel_name(subject))

    async def received(self, message: Msg) -> None:
        """The subscription's callback: starts a handler, or replies Busy or Failure."""
        try:
            request = decode(message.data, self._request)
        except MessageError as error:
            await self._answer(message, count_malformed(message, error))
            return
        sender, retry_after = sender_of(message), self._time.retry_after(self._limit)
        if reason := self._why_busy(sender, retry_after):
            self._busy.inc()
            await self._answer(message, Busy(retry_after=retry_after, reason=reason))
            return
        task = asyncio.get_running_loop().create_task(self._handle(message, request, sender))
        self.at_work.add(task)
        self._held[sender] += 1
        task.add_done_callback(lambda done: self._finished(done, sender))

    def _why_busy(self, sender: str, retry_after: float) -> str:
        """Why a sender has to ask again later; empty: a slot is free for it."""
        now, held = time.monotonic(), self._held[sender]
        # While nobody waits, one sender may hold all slots: none of them should lie idle.
        if self._waiting and held > 0 and held >= self._share and self._others_wait(sender, now):
            return f"{held} requests of this sender are at work, and others wait"
        if len(self.at_work) < self._limit:
            self._waiting.pop(sender, None)
            return ""
        self._waits(sender, retry_after)
        return "queue full"

    def _waits(self, sender: str, retry_after: float) -> None:
        """Note a sender that was turned away because there was no room."""
        pause = min(retry_after, RETRY_AFTER_BOUNDS[1])  # what the sender does, whatever a handler says
        self._waiting[sender] = time.monotonic() + max(WAITS_SECONDS, 2 * pause)
        if len(self._waiting) > _SENDERS_REMEMBERED:
            self._waiting.popitem(last=False)

    def _others_wait(self, sender: str, now: float) -> bool:
        self._waiting = OrderedDict((each, until) for each, until in self._waiting.items() if until > now)
        return any(each != sender for each in self._waiting)

    def _finished(self, task: asyncio.Task[None], sender: str) -> None:
        self.at_work.discard(task)
        self._held[sender] -= 1
        if not self._held[sender]:
            del self._held[sender]

    async def _handle(self, message: Msg, request: Message, sender: str) -> None:
        served = timeline.serve(message.headers)
        start = time.perf_counter()
        answer = await self._outcome(request)
        seconds = time.perf_counter() - start
        self._seconds.observe(seconds)
        self._time.observe(seconds)
        if (waited := served.waited(seconds)) is not None:
            self._wait_seconds.observe(waited)
        if isinstance(answer, Busy):  # the handler's own queue is full
            self._waits(sender, answer.retry_after)
        await self._answer(message, answer, served.headers(seconds, self._connection.name))

    async def _outcome(self, request: Message) -> Message:
        """The handler's reply. Exceptions of the handler become replies, too, so that a request cannot crash a node."""
        try:
            return await self._handler(request)
        except BusyError as error:
            return Busy(retry_after=error.retry_after, reason=error.reason)
        except RemoteFailure as error:
            return Failure(reason=error.reason, kind=error.kind)
        except Exception as error:
            HANDLER_ERRORS.labels(channel_name(self._subject)).inc()
            log.exception("request handler failed", subject=self._subject)
            return Failure(reason=f"{self._subject}: {type(error).__name__}: {error}")

    async def _answer(self, message: Msg, answer: Message, headers: dict[str, str] | None = None) -> None:
        if not message.reply:
            return
        try:
            payload = encode(answer)
        except MessageError as error:
            payload = encode(
                Failure(reason=f"{self._subject}: the reply is too large: {error}", kind=FailureKind.OVERSIZED)
            )
        if self._signer is not None:
            headers = {**(headers or {}), **self._signer.headers(message.subject, message.data, payload)}
        await self._connection.publish(message.reply, payload, headers=headers)


def message_callback(
    types: tuple[type[Message], ...],
    prefix: str,
    callback: Callable[[str, Any], None],
    counts: Callable[[str, Msg, Message], bool],
) -> Callable[[Msg], Coroutine[Any, Any, None]]:
    """A subscription's callback that decodes each message and calls `callback(subject, message)`, with the subject
    without the run's prefix, if `counts(subject, raw, message)`."""
    skip = len(prefix)

    async def received(message: Msg) -> None:
        try:
            decoded = decode(message.data, *types)
        except MessageError as error:
            count_malformed(message, error)
            return
        subject = message.subject[skip:]
        if not counts(subject, message, decoded):
            return
        try:
            callback(subject, decoded)
        except Exception:
            HANDLER_ERRORS.labels(channel_name(subject)).inc()
            log.exception("subscription callback failed", subject=subject)

    return received
