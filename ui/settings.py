"""Configuration of the web monitor."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Port


@dataclass
class UiSettings:
    """The web monitor: one live page about the run."""

    host: str = "127.0.0.1"
    """Address to listen on. The page has no password: on a shared machine leave it on loopback and tunnel to it."""

    port: Port = 5050
    """Port to listen on; 0 takes a free one and prints it."""

    history: str = ""
    """A run's metrics.jsonl, read at start so that the curves begin where the run did. Empty: begin now."""
