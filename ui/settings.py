"""Configuration of the web monitor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import tyro

from common.limits import Duration, Port

TRAINING = "training"
"""Name in place of a run's: show training runs only."""


@dataclass
class UiSettings:
    """The web monitor: one live page about a run, and about training runs."""

    host: str = "127.0.0.1"
    """Address to listen on. The page has no password: on a shared machine leave it on loopback and tunnel to it."""

    hosts: tuple[str, ...] = ()
    """Further names under which the page is opened, such as a proxy's. Requests for other names than the bound address
    and loopback get 403: a web page from elsewhere could read the run."""

    port: Port = 5050
    """Port to listen on; 0 takes a free one and prints it."""

    history: str = ""
    """A run's metrics.jsonl, read at start so that the curves begin with the run. Empty: they begin now."""

    runs: Annotated[str, tyro.conf.arg(aliases=["--directory"])] = "runs"
    """Folder of run directories. A run without a broker is shown from its files there, and so are the curves of
    training runs (`proofmesh train`). Empty: none."""

    mesh: bool = True
    """Connect to the run's broker. With `--no-mesh`, the run is shown from its files, together with training runs."""

    patience: Duration | None = 3.0
    """Seconds in which the broker must answer and have nodes of the run; otherwise the run is shown from its files.
    None: wait for the broker."""
