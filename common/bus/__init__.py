"""The bus: the only package that knows nats-py. Nodes use the names below and nothing inside.

A name is imported when it is first used: what runs without a broker uses the errors alone, and nats-py and what it
needs take a second of CPU time to import.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_MODULES = {
    "common.bus.admin": (
        "BucketSpec",
        "ConsumerSpec",
        "HistorySpec",
        "ObjectStoreSpec",
        "RunSpec",
        "StreamSpec",
    ),
    "common.bus.bus": ("Bus",),
    "common.bus.errors": (
        "BusError",
        "BusUnavailable",
        "BusyError",
        "DigestMismatch",
        "NoRoom",
        "NotThere",
        "RemoteFailure",
        "StreamConflict",
        "Unanswered",
    ),
    "common.bus.leases": ("Lease",),
    "common.bus.names": (
        "ACK_WAIT",
        "NODE_TTL",
    ),
    "common.bus.objects": ("file_digest",),
    "common.bus.persistence": ("persistently",),
    "common.bus.subscriptions": (
        "ServedSubscription",
        "Subscription",
    ),
    "common.settings": ("BusSettings",),
}
_HOMES = {name: module for module, names_of_it in _MODULES.items() for name in names_of_it}


def __getattr__(name: str) -> Any:
    """Import a name from the module that it lives in."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


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
