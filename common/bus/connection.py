"""The connection to the broker. It reconnects for ever, and calls hooks on every disconnect and reconnect."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import structlog
from nats.aio.client import PING_PROTO, Client, Server
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import (
    AuthorizationError,
    ConnectionClosedError,
    ConnectionReconnectingError,
    Error,
    FlushTimeoutError,
    OutboundBufferLimitError,
    SlowConsumerError,
)

from common.bus import counters
from common.bus.errors import BusUnavailable
from common.settings import BusSettings

log = structlog.get_logger("bus")

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


def _is_refusal(error: Exception) -> bool:
    return isinstance(error, AuthorizationError) or "authorization violation" in str(error).lower()


class _OrderedClient(Client):
    """The client of nats-py, with PING sent in order.

    nats-py 2.16 writes PING to the socket before commands that it has not sent yet. So `flush` may return before an
    earlier `subscribe` or `unsubscribe` has reached the server. This happened about once in 150 times, and the first
    request to that subject was refused. With PING sent in order, a PONG means that the server has seen all earlier
    commands.
    """

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

    def __init__(self, settings: BusSettings, name: str) -> None:
        self.settings = settings
        self.name = name
        self.token = re.sub(r"[^A-Za-z0-9_-]", "-", name)[:80] or "node"
        self.client: Client = _OrderedClient()
        self.on_lost: list[Callable[[], None]] = []
        self.on_returned: list[Callable[[], Coroutine[Any, Any, None]]] = []
        self.given_up = asyncio.Event()
        """Set when the client library closed the connection for good, without a call of `close`. The node must then
        end."""
        self._up = asyncio.Event()
        self._up_since = 0.0
        self._up_before = 0.0
        self._opened = False
        self._closing = False
        self._refused: asyncio.Future[None] | None = None
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
        counters.CONNECTED.set(1)

    def _set_down(self) -> None:
        self._up_before = self.connected_seconds()
        self._up.clear()
        counters.CONNECTED.set(0)

    async def open(self, wait: float | None) -> None:
        """Connect within `wait` seconds (None: no limit). Raises BusUnavailable; at once if the credentials are
        refused."""
        check_addresses(self.settings)
        self._refused = asyncio.get_running_loop().create_future()
        user, password = self.settings.credentials()
        connecting = asyncio.create_task(
            self.client.connect(
                servers=self.settings.servers(),
                name=self.name,
                user=user or None,
                password=password or None,
                token=password if password and not user else None,
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
                inbox_prefix=f"_INBOX.{self.token}",
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
        if self._refused.done():
            return (
                f"the broker at {self.settings.url} refused the credentials; set [bus] user and password, "
                "or PROOFMESH_NATS_USER and PROOFMESH_NATS_PASSWORD"
            )
        return (
            f"no broker at {self.settings.url} after {wait:g} s ({self._last_error or 'no answer'}); start one with "
            "`proofmesh broker`, or name another with --bus.url or [bus] url"
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

    async def publish(
        self, subject: str, payload: bytes, reply: str = "", headers: dict[str, str] | None = None
    ) -> None:
        """Publish. Never raises because of an outage: messages are buffered; when the buffer is full, they are
        dropped."""
        try:
            await self.client.publish(subject, payload, reply, headers)
        except OutboundBufferLimitError:
            counters.DROPPED.inc()
        except ConnectionClosedError:
            if not self._closing:
                counters.DROPPED.inc()

    async def subscribe(
        self,
        subject: str,
        callback: Callable[[Msg], Coroutine[Any, Any, None]],
        *,
        queue: str = "",
        pending_messages: int = PENDING_MESSAGES,
        pending_bytes: int = PENDING_BYTES,
    ) -> Subscription:
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
            counters.SLOW_CONSUMERS.inc()
            counters.warn_sometimes("slow consumer: messages dropped", error.subject)
            return
        self._last_error = error
        if self._refused is not None and not self._refused.done() and _is_refusal(error):
            self._refused.set_result(None)
        elif not self._closing:
            text = str(error) or type(error).__name__
            counters.warn_sometimes("broker not reached", self.settings.url, error=text)

    async def _on_disconnected(self) -> None:
        if not self._up.is_set():
            return
        self._set_down()
        log.warning("broker lost; reconnecting", url=self.settings.url)
        for hook in self.on_lost:
            hook()

    async def _on_reconnected(self) -> None:
        self._set_up()
        counters.RECONNECTS.inc()
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
