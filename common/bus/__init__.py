"""The bus: the only package that imports nats-py. Other packages use only the names that are exported here.

Names are imported on first access, so that code that needs only the errors does not import the client library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from common.bus import names
    from common.bus.admin import (
        BucketSpec,
        ConsumerSpec,
        HistorySpec,
        ObjectStoreSpec,
        RunSpec,
        StreamSpec,
        StreamState,
    )
    from common.bus.asking import Asking, Here
    from common.bus.bus import Bus
    from common.bus.errors import (
        BadKey,
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
    from common.bus.signing import Signer
    from common.bus.subscriptions import ServedSubscription, Subscription
    from common.settings import BusSettings

__all__ = [
    "ACK_WAIT",
    "NODE_TTL",
    "Asking",
    "BadKey",
    "BucketSpec",
    "Bus",
    "BusError",
    "BusSettings",
    "BusUnavailable",
    "BusyError",
    "ConsumerSpec",
    "DigestMismatch",
    "Here",
    "HistorySpec",
    "Lease",
    "NoRoom",
    "NotThere",
    "ObjectStoreSpec",
    "RemoteFailure",
    "RunSpec",
    "ServedSubscription",
    "Signer",
    "StreamConflict",
    "StreamSpec",
    "StreamState",
    "Subscription",
    "Unanswered",
    "file_digest",
    "names",
    "persistently",
]

_HOMES = {
    "common.bus.admin": (
        "BucketSpec",
        "ConsumerSpec",
        "HistorySpec",
        "ObjectStoreSpec",
        "RunSpec",
        "StreamSpec",
        "StreamState",
    ),
    "common.bus.asking": ("Asking", "Here"),
    "common.bus.bus": ("Bus",),
    "common.bus.errors": (
        *("BadKey", "BusError", "BusUnavailable", "BusyError", "DigestMismatch", "NoRoom", "NotThere", "RemoteFailure"),
        *("StreamConflict", "Unanswered"),
    ),
    "common.bus.leases": ("Lease",),
    "common.bus.names": ("ACK_WAIT", "NODE_TTL"),
    "common.bus.objects": ("file_digest",),
    "common.bus.persistence": ("persistently",),
    "common.bus.signing": ("Signer",),
    "common.bus.subscriptions": ("ServedSubscription", "Subscription"),
    "common.settings": ("BusSettings",),
}
"""The exported names of each module."""

_HOME = {name: module for module, names_ in _HOMES.items() for name in names_}


def __getattr__(name: str) -> Any:
    """Import a name from the module that defines it (PEP 562)."""
    if name == "names":
        return importlib.import_module("common.bus.names")
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_HOME[name]), name)
    return value
