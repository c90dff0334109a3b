"""Reads what a stream holds, in batches, straight from the broker's store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from common.bus.errors import BusError, NotThere
from common.bus.replies import NO_RESPONDERS, Replies, status_of

if TYPE_CHECKING:
    from nats.aio.msg import Msg

TIMEOUT = 5.0
"""Seconds for one batch: it takes the broker some milliseconds, so more than this is an outage."""

BATCH = 500
"""Messages in one request: some 200 KiB, so that the answer is no burst for a slow reader. (A request for the last
values of all keys would be one, but the broker refuses it beyond 1,024 of them.)"""

END_OF_BATCH, NOTHING = "204", "404"
"""The broker's status after a batch, and when there is nothing from that sequence number on."""


async def stored(replies: Replies, stream: str) -> list[Msg]:
    """Every message of a stream, oldest first. Raises Unanswered, NotThere (no such stream), BusError."""
    found: list[Msg] = []
    sequence, left = 1, 1
    while left:
        body = json.dumps({"seq": sequence, "batch": BATCH, "next_by_subj": ">"}).encode()
        answers, complete = await replies.collect(
            f"$JS.API.DIRECT.GET.{stream}", body, timeout=TIMEOUT, done=lambda message: bool(status_of(message))
        )
        if not complete:
            raise NotThere(f"{stream}: no answer within {TIMEOUT:g} s; has the broker created this run's streams?")
        *values, end = answers
        headers = end.headers or {}
        if status_of(end) not in (END_OF_BATCH, NOTHING, NO_RESPONDERS):
            raise BusError(f"{stream}: {headers.get('Description', status_of(end))}")
        found += values
        left = int(headers.get("Nats-Num-Pending", 0)) if values else 0
        sequence = int((values[-1].headers or {})["Nats-Sequence"]) + 1 if values else sequence
    return found
