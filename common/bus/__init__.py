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
    from common.bus.asking import (
        Asking,
        BadKey,
        BusError,
        BusUnavailable,
        BusyError,
        DigestMismatch,
        Here,
        NoRoom,
        NotAllowed,
        NotThere,
        RemoteFailure,
        StreamConflict,
        TooManyWaiting,
        Unanswered,
        persistently,
    )
    from common.bus.bus import Bus, Queue
    from common.bus.connection import ServedSubscription, Subscription
    from common.bus.credentials import NodeKey
    from common.bus.names import ACK_WAIT, NODE_TTL
    from common.bus.permissions import Role
    from common.bus.signing import Signer
    from common.bus.stored import Lease
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
    "NodeKey",
    "NotAllowed",
    "NotThere",
    "ObjectStoreSpec",
    "Queue",
    "RemoteFailure",
    "Role",
    "RunSpec",
    "ServedSubscription",
    "Signer",
    "StreamConflict",
    "StreamSpec",
    "StreamState",
    "Subscription",
    "TooManyWaiting",
    "Unanswered",
    "names",
    "persistently",
]

_MODULES = (
    "settings",
    "bus.asking",
    "bus.names",
    "bus.permissions",
    "bus.credentials",
    "bus.signing",
    "bus.connection",
    "bus.stored",
    "bus.admin",
    "bus.bus",
)
"""Modules of `common` with the exported names. Each imports only those before it, so nothing is loaded in vain."""


def __getattr__(name: str) -> Any:
    """Import a name from the module that defines it (PEP 562)."""
    if name == "names":
        return importlib.import_module("common.bus.names")
    if name in __all__:
        for module in _MODULES:
            if hasattr(found := importlib.import_module(f"common.{module}"), name):
                value = globals()[name] = getattr(found, name)
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
