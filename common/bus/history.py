"""Reads back what telemetry announced before: a stream that keeps the newest messages of some plain subjects."""

from __future__ import annotations

import json
from typing import Any

from common.bus.errors import BusError, NotThere
from common.bus.replies import NO_RESPONDERS, Replies, status_of
from common.bus.state import API_TIMEOUT, messages_of
from common.messages import AnyMessage

BATCH = 500
"""Messages in one request: some 200 KiB, so that the answer is no burst for a slow reader."""

END_OF_BATCH, NOTHING = "204", "404"
"""The broker's status after a batch, and when there is nothing from that sequence number on."""


async def read(replies: Replies, stream: str, types: tuple[type[AnyMessage], ...]) -> list[AnyMessage]:
    """Everything that the stream holds, oldest first; what cannot be read is counted and left out.

    Raises Unanswered, NotThere (no such stream), BusError.
    """
    found: list[Any] = []
    sequence = 1
    while True:
        body = json.dumps({"seq": sequence, "batch": BATCH, "next_by_subj": ">"}).encode()
        answers, complete = await replies.collect(
            f"$JS.API.DIRECT.GET.{stream}", body, timeout=API_TIMEOUT, done=lambda message: bool(status_of(message))
        )
        if not complete:
            raise NotThere(f"{stream}: no answer within {API_TIMEOUT:g} s; has the broker created this run's streams?")
        status = status_of(answers[-1])
        if status not in (END_OF_BATCH, NOTHING, NO_RESPONDERS):
            raise BusError(f"{stream}: {(answers[-1].headers or {}).get('Description', status)}")
        values = answers[:-1]
        found += messages_of(values, *types)
        if not values:
            return found
        sequence = int((values[-1].headers or {})["Nats-Sequence"]) + 1
