"""The cache folder, for files that can be made or downloaded again: nats-server, Lean's library, warm starts,
whitelists."""

from __future__ import annotations

import os
from pathlib import Path

VARIABLE = "PROOFMESH_CACHE"
"""Environment variable that names another cache folder."""


def cache_directory() -> Path:
    """$PROOFMESH_CACHE, or `~/.cache/proofmesh`. The folder may not exist yet."""
    from_environment = os.environ.get(VARIABLE)
    return Path(from_environment) if from_environment else Path.home() / ".cache" / "proofmesh"
