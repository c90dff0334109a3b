"""The bus: the only package that knows nats-py. Nodes use the names below and nothing inside."""

from common.bus import names
from common.bus.admin import BucketSpec, ConsumerSpec, HistorySpec, ObjectStoreSpec, RunSpec, StreamSpec
from common.bus.bus import Bus
from common.bus.errors import (
    BusError,
    BusUnavailable,
    BusyError,
    DigestMismatch,
    NoRoom,
    NotThere,
    RemoteFailure,
    StreamConflict,
    Unanswered,
)
from common.bus.leases import Lease
from common.bus.names import ACK_WAIT, NODE_TTL
from common.bus.objects import file_digest
from common.bus.persistence import persistently
from common.bus.subscriptions import ServedSubscription, Subscription
from common.settings import BusSettings

__all__ = [
    "ACK_WAIT",
    "NODE_TTL",
    "BucketSpec",
    "Bus",
    "BusError",
    "BusSettings",
    "BusUnavailable",
    "BusyError",
    "ConsumerSpec",
    "DigestMismatch",
    "HistorySpec",
    "Lease",
    "NoRoom",
    "NotThere",
    "ObjectStoreSpec",
    "RemoteFailure",
    "RunSpec",
    "ServedSubscription",
    "StreamConflict",
    "StreamSpec",
    "Subscription",
    "Unanswered",
    "file_digest",
    "names",
    "persistently",
]
