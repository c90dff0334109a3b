"""Requests to whoever serves a subject: nodes of a mesh (`Bus`), or handlers of the same process (`Here`)."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol, TypeVar

from common.bus.errors import BusyError, RemoteFailure, Unanswered
from common.bus.retries import RetryDelay
from common.protocol.messages import Busy, Failure, Message

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
        handler = self._handlers.get(subject)
        if handler is None:
            raise Unanswered(f"{subject}: nothing in this process serves it")
        end = time.monotonic() + patience
        delay = RetryDelay()
        while True:
            match await handler(message):
                case Busy() as busy:
                    pause = delay.after(busy.retry_after, random.random())
                    if time.monotonic() + pause >= end:
                        raise BusyError(busy.retry_after, busy.reason)
                    await asyncio.sleep(pause)
                case Failure() as failure:
                    raise RemoteFailure(failure.reason, failure.kind)
                case answer if isinstance(answer, reply):
                    return answer
                case answer:
                    raise TypeError(f"{subject}: {type(answer).__name__} in place of {reply.__name__}")
