"""Reads back what telemetry announced before: a stream that keeps the newest messages of some plain subjects."""

from __future__ import annotations

from common.bus.replies import Replies
from common.bus.state import messages_of
from common.bus.stored import stored
from common.messages import AnyMessage


async def read(replies: Replies, stream: str, types: tuple[type[AnyMessage], ...]) -> list[AnyMessage]:
    """Everything that the stream holds, oldest first; what cannot be read is counted and left out.

    Raises Unanswered, NotThere (no such stream), BusError.
    """
    return messages_of(await stored(replies, stream), *types)
