"""Configuration of the web monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from common.limits import Duration, Port

TRAINING = "training"
"""In place of a run's name: training runs alone."""


@dataclass
class UiSettings:
    """The web monitor: one live page about a run, and about training runs."""

    host: str = "127.0.0.1"
    """Address to listen on. The page has no password: on a shared machine leave it on loopback and tunnel to it."""

    port: Port = 5050
    """Port to listen on; 0 takes a free one and prints it."""

    history: str = ""
    """A run's metrics.jsonl, read at start so that the curves begin where the run did. Empty: begin now."""

    runs: Annotated[str, tyro.conf.arg(aliases=["--directory"])] = "runs"
    """Folder of run directories: a run without a broker is shown from its files there, and the curves of what
    `proofmesh train` trains there are drawn as they grow. Empty: none."""

    mesh: bool = True
    """Ask the run's broker. Without (`--no-mesh`), the run is shown from its files, and training runs beside it."""

    patience: Duration | None = 3.0
    """Seconds in which the broker must answer and know nodes of the run. If it does not, the run is shown from its
    files; none: wait for it."""
