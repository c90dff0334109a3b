"""Requests to other nodes, asked again until an answer comes or patience is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from common.bus import Unanswered
from common.messages import Message

if TYPE_CHECKING:
    from common.bus import Bus

R = TypeVar("R", bound=Message)


class Patience:
    """How long other nodes may keep us waiting: a stopwatch that an outage of the broker stops and does not reset."""

    def __init__(self, bus: Bus, seconds: float) -> None:
        """`seconds`: of waiting while the broker is there, over all that is asked with this patience."""
        self._bus = bus
        self._end = bus.connected_seconds() + seconds

    @property
    def left(self) -> float:
        """Seconds."""
        return self._end - self._bus.connected_seconds()

    async def ask(self, subject: str, message: Message, reply: type[R], *, timeout: float) -> R:
        """Ask until there is an answer. `timeout`: seconds after which one request is sent again.

        Raises Unanswered and BusyError when patience is over, RemoteFailure at once.
        """
        bus = self._bus
        while True:
            try:
                return await bus.request_patiently(
                    subject, message, reply, timeout=timeout, deadline=self.left, clock=bus.connected_seconds
                )
            except Unanswered:
                if bus.connected:
                    raise
            await bus.wait_connected()  # what is left is for afterwards: there is nobody to ask
