"""Configuration of the web monitor."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Port


@dataclass
class UiSettings:
    """The web monitor: one live page about a run, and about training runs."""

    host: str = "127.0.0.1"
    """Address to listen on. The page has no password: on a shared machine leave it on loopback and tunnel to it."""

    port: Port = 5050
    """Port to listen on; 0 takes a free one and prints it."""

    history: str = ""
    """A run's metrics.jsonl, read at start so that the curves begin where the run did. Empty: begin now."""

    runs: str = "runs"
    """Folder of run directories: the curves of what `proofmesh train` trains there are drawn as they grow. Empty:
    none."""

    mesh: bool = True
    """Watch the mesh of the run through its broker. Without (`--no-mesh`), only training runs are shown, and no broker
    is needed."""
