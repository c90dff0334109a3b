"""Where proofmesh keeps what it can make or fetch again: nats-server, Lean's library, warm starts, whitelists."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "PROOFMESH_CACHE"
"""Names another folder for all of it."""


def cache_directory() -> Path:
    """$PROOFMESH_CACHE, or `~/.cache/proofmesh`. It may not be there yet."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path.home() / ".cache" / "proofmesh"
