"""Kimina's client from the registry, as it is.

On Python 3.11 it cannot be imported: its pydantic wants `typing_extensions`' TypedDict there, and the client takes
`typing`'s. So on 3.11 the name means the other one while the client is imported; none of its files is touched.
"""

import sys
import typing
from types import ModuleType
from unittest import mock

import typing_extensions


def client() -> ModuleType:
    """The module `kimina_client`."""
    if sys.version_info >= (3, 12):
        import kimina_client
    else:
        with mock.patch.object(typing, "TypedDict", typing_extensions.TypedDict):
            import kimina_client
    return kimina_client
