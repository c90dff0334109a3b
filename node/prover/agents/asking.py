"""Requests to other nodes that are retried until a reply arrives or a time limit is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from common.bus import Unanswered
from common.protocol.messages import Message

if TYPE_CHECKING:
    from common.bus import Bus

R = TypeVar("R", bound=Message)


class Patience:
    """A limit on the time spent waiting for other nodes. The clock stops while the broker is unreachable."""

    def __init__(self, bus: Bus, seconds: float) -> None:
        """`seconds`: waiting time while connected to the broker, summed over all requests of this object."""
        self._bus = bus
        self._end = bus.connected_seconds() + seconds

    @property
    def left(self) -> float:
        """Seconds that remain."""
        return self._end - self._bus.connected_seconds()

    async def ask(self, subject: str, message: Message, reply: type[R], *, timeout: float) -> R:
        """Send a request, and again until a reply arrives. `timeout`: seconds before a request is sent again.

        Raises Unanswered or BusyError when the time is over, RemoteFailure at once.
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
            await bus.wait_connected()  # no node can be reached; the clock stands still until then
