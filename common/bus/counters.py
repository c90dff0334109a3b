"""What the bus counts, and what it says once."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import structlog

from common import metrics
from common.messages import Failure, FailureKind, MessageError, OversizedMessage, UnknownVersion

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = structlog.get_logger("bus")

MALFORMED = metrics.counter("bus_malformed", "Payloads that were not the expected message", ["kind"])
SLOW_CONSUMERS = metrics.counter("bus_slow_consumers", "Messages dropped because a subscription's queue was full")
RECONNECTS = metrics.counter("bus_reconnects", "Times that the broker was lost and found again")
CONNECTED = metrics.gauge("bus_connected", "1 while the broker is connected")
DROPPED = metrics.counter("bus_dropped", "Messages dropped because the broker was away and the buffer full")
BUSY = metrics.counter("bus_busy_answers", "Requests answered with Busy", ["subject"])
HANDLER_ERRORS = metrics.counter("bus_handler_errors", "Exceptions of request handlers and callbacks", ["subject"])
REQUEST_SECONDS = metrics.histogram("bus_request_seconds", "Answer time of requests that this node sent", ["subject"])
SERVED_SECONDS = metrics.histogram("bus_served_seconds", "Time to answer requests that this node serves", ["subject"])

_SENDERS_REMEMBERED = 1024
"""Senders of malformed messages that are not logged again; bounded, since senders invent their own names."""

WARN_EVERY = 30.0
"""Seconds between log lines about a fault that goes on: it is seen, and does not fill the log."""

_warned: dict[tuple[str, ...], float] = {}
_said: OrderedDict[tuple[str, str, str], None] = OrderedDict()


def warn_sometimes(event: str, about: str, **fields: object) -> None:
    """Log a warning about something, unless it was logged within the last WARN_EVERY seconds."""
    key, now = (event, about), time.monotonic()
    if now - _warned.get(key, float("-inf")) >= WARN_EVERY:
        _warned[key] = now
        log.warning(event, about=about, **fields)


def failure_kind(error: MessageError) -> FailureKind:
    """The kind of a payload's fault: `malformed`, `version` or `oversized`."""
    if isinstance(error, UnknownVersion):
        return FailureKind.VERSION
    return FailureKind.OVERSIZED if isinstance(error, OversizedMessage) else FailureKind.MALFORMED


def sender_of(message: Msg) -> str:
    """Who sent a message: the inbox that it wants its answer in names the node; without one, its subject has to do."""
    return message.reply.rsplit(".", 1)[0] if message.reply else message.subject


def count_malformed(message: Msg, error: MessageError) -> Failure:
    """Count a bad payload, log it once per sender and kind, and return the answer that it gets where one is
    expected."""
    kind = failure_kind(error)
    MALFORMED.labels(kind).inc()
    key = (sender_of(message), message.subject, kind)
    if key not in _said:
        _said[key] = None
        if len(_said) > _SENDERS_REMEMBERED:
            _said.popitem(last=False)
        log.warning("bad message", subject=message.subject, sender=key[0], kind=kind, error=str(error))
    return Failure(reason=f"{message.subject}: {error}", kind=kind)
