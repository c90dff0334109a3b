"""Reads all messages of a stream in batches, directly from the broker's store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from common.bus.errors import BusError, NotThere
from common.bus.replies import NO_RESPONDERS, Replies, status_of

if TYPE_CHECKING:
    from nats.aio.msg import Msg

TIMEOUT = 5.0
"""Timeout in seconds of one batch. It normally takes the broker some milliseconds."""

BATCH = 500
"""Messages per request: some 200 KiB, so that a reply does not overload a slow reader. (One request could return the
last values of all keys, but the broker refuses it for more than 1,024 keys.)"""

END_OF_BATCH, NOTHING = "204", "404"
"""The broker's status after a batch, and if there are no messages from that sequence number on."""


async def stored(replies: Replies, stream: str) -> list[Msg]:
    """Every message of a stream, oldest first. Raises Unanswered, NotThere (no such stream), BusError."""
    messages: list[Msg] = []
    sequence, remaining = 1, 1
    while remaining:
        body = json.dumps({"seq": sequence, "batch": BATCH, "next_by_subj": ">"}).encode()
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
        messages += values
        remaining = int(headers.get("Nats-Num-Pending", 0)) if values else 0
        sequence = int((values[-1].headers or {})["Nats-Sequence"]) + 1 if values else sequence
    return messages
