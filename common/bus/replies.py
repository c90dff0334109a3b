"""Requests and their replies over one inbox.

Unlike the client library's own requests, these fail at once when the connection is lost, since the reply is then lost,
too. They can also collect several replies to one request.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from common.bus.connection import Connection
from common.bus.errors import Unanswered

if TYPE_CHECKING:
    from nats.aio.msg import Msg

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
        self._waiting: dict[str, asyncio.Queue[Msg | None]] = {}
        self._single: dict[str, asyncio.Future[Msg]] = {}
        connection.on_lost.append(self._lost)

    async def start(self) -> None:
        """Subscribe to the inbox. Called once, after connecting."""
        self._inbox = self._connection.client.new_inbox()
        await self._connection.subscribe(f"{self._inbox}.*", self._received)

    async def ask(self, subject: str, payload: bytes, *, timeout: float, headers: dict[str, str] | None = None) -> Msg:
        """Send a request and return the first reply. Raises Unanswered."""
        token = await self._ready(subject, timeout)
        future = self._single[token] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                await self._connection.publish(subject, payload, f"{self._inbox}.{token}", headers)
                answer: Msg = await future
        except TimeoutError:
            raise Unanswered(f"{subject}: no answer within {timeout:g} s") from None
        finally:
            del self._single[token]
        if status_of(answer) == NO_RESPONDERS:
            raise Unanswered(f"{subject}: no node serves it")
        return answer

    async def collect(self, subject: str, payload: bytes, *, timeout: float, done: Callable[[Msg], bool]) -> Msg | None:
        """Send a request and read replies until `done(reply)` is true. Returns that reply; None after the timeout.

        Raises Unanswered if no node serves the subject or the connection is lost.
        """
        token = await self._ready(subject, timeout)
        queue = self._waiting[token] = asyncio.Queue()
        try:
            async with asyncio.timeout(timeout):
                await self._connection.publish(subject, payload, f"{self._inbox}.{token}")
                while True:
                    answer = await queue.get()
                    if answer is None or status_of(answer) == NO_RESPONDERS:
                        raise Unanswered(f"{subject}: {'no node serves it' if answer else 'the broker was lost'}")
                    if done(answer):
                        return answer
        except TimeoutError:
            return None
        finally:
            del self._waiting[token]

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
