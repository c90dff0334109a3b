"""Reads stored telemetry: a stream that keeps the newest messages of some subjects."""

from __future__ import annotations

from common.bus.replies import Replies
from common.bus.state import messages_of
from common.bus.stored import stored
from common.protocol.messages import AnyMessage


async def read(replies: Replies, stream: str, types: tuple[type[AnyMessage], ...]) -> list[AnyMessage]:
    """All messages of the stream, oldest first. Those that cannot be decoded are counted and left out.

    Raises Unanswered, NotThere (no such stream), BusError.
    """
    return messages_of(await stored(replies, stream), *types)
