"""Requests that outlast an outage of the broker."""

from __future__ import annotations

from typing import TypeVar

from common.bus import Bus, Unanswered
from common.messages import Message

R = TypeVar("R", bound=Message)


async def ask(bus: Bus, subject: str, message: Message, reply: type[R], *, timeout: float, patience: float) -> R:
    """Ask for up to `patience` seconds; time without the broker does not count.

    Raises Unanswered, BusyError (both after all patience), RemoteFailure (at once).
    """
    while True:
        try:
            return await bus.request_patiently(subject, message, reply, timeout=timeout, deadline=patience)
        except Unanswered:
            if bus.connected:
                raise
