"""Metrics of the bus, and log warnings that are not repeated."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import TYPE_CHECKING

import structlog

from common.life import metrics
from common.protocol.messages import Failure, FailureKind, MessageError, OversizedMessage, UnknownVersion

if TYPE_CHECKING:
    from nats.aio.msg import Msg

log = structlog.get_logger("bus")

MALFORMED = metrics.counter("bus_malformed", "Payloads that were not the expected message", ["kind"])
SLOW_CONSUMERS = metrics.counter("bus_slow_consumers", "Messages dropped because a subscription's queue was full")
RECONNECTS = metrics.counter("bus_reconnects", "Reconnections to the broker")
CONNECTED = metrics.gauge("bus_connected", "1 while the broker is connected")
DROPPED = metrics.counter("bus_dropped", "Messages dropped during an outage because the buffer was full")
BUSY = metrics.counter("bus_busy_answers", "Requests answered with Busy", ["channel"])
HANDLER_ERRORS = metrics.counter("bus_handler_errors", "Exceptions of request handlers and callbacks", ["channel"])
REQUEST_SECONDS = metrics.histogram("bus_request_seconds", "Response time of requests that this node sent", ["channel"])
UNSIGNED = metrics.counter("bus_unsigned_replies", "Verdicts that do not count, for want of a verifier's signature")
SERVED_SECONDS = metrics.histogram("bus_served_seconds", "Time to answer requests that this node serves", ["channel"])

_SENDERS_REMEMBERED = 1024
"""Senders whose malformed messages are not logged again. Limited, since senders choose their own names."""

WARN_EVERY = 30.0
"""Seconds between log lines about the same continuing problem, so that it does not fill the log."""

_warned: dict[tuple[str, ...], float] = {}
_logged_senders: OrderedDict[tuple[str, str, str], None] = OrderedDict()


def warn_sometimes(event: str, about: str, **fields: object) -> None:
    """Log a warning about `about`, unless the same one was logged within the last WARN_EVERY seconds."""
    key, now = (event, about), time.monotonic()
    if now - _warned.get(key, float("-inf")) >= WARN_EVERY:
        _warned[key] = now
        log.warning(event, about=about, **fields)


def failure_kind(error: MessageError) -> FailureKind:
    """The kind of an invalid payload: `malformed`, `version` or `oversized`."""
    if isinstance(error, UnknownVersion):
        return FailureKind.VERSION
    return FailureKind.OVERSIZED if isinstance(error, OversizedMessage) else FailureKind.MALFORMED


def sender_of(message: Msg) -> str:
    """The sender of a message: the reply inbox, which names the node, or the subject if there is no inbox."""
    return message.reply.rsplit(".", 1)[0] if message.reply else message.subject


def count_malformed(message: Msg, error: MessageError) -> Failure:
    """Count an invalid payload, log it once per sender and kind, and return the Failure to reply with."""
    kind = failure_kind(error)
    MALFORMED.labels(kind).inc()
    key = (sender_of(message), message.subject, kind)
    if key not in _logged_senders:
        _logged_senders[key] = None
        if len(_logged_senders) > _SENDERS_REMEMBERED:
            _logged_senders.popitem(last=False)
        log.warning("bad message", subject=message.subject, sender=key[0], kind=kind, error=str(error))
    return Failure(reason=f"{message.subject}: {error}", kind=kind)
