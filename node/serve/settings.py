"""Configuration of the verification service: section [serve] of a file, and flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from common.lean_settings import LeanSettings
from common.limits import Duration, Megabytes, Natural, Port, Positive, Timeout
from common.sizing import LEAN_SHARE, LEAN_WORKER_MB, read_machine

KEY_VARIABLE = "LEAN_SERVER_API_KEY"
"""The variable from which Kimina's client takes the key that it sends."""

REMOTE_SNIPPETS = 64
"""More than the workers of a few machines; lean-proxies say when they have enough."""


@dataclass
class ServeSettings:
    """Serve Kimina Lean Server's HTTP API over our Lean workers, or over the lean-proxies of a mesh."""

    host: str = "127.0.0.1"
    """Address to listen on. Any other than loopback needs a key: clients run Lean code of their own."""

    port: Port = 8000
    """Port to listen on; 0 takes a free one."""

    api_key: str = ""
    """What clients must send as `Authorization: Bearer KEY`. Empty: the environment's LEAN_SERVER_API_KEY, else none is
    asked for. A key in a flag can be seen in the list of processes; the environment or a file keeps it private."""

    url: str = ""
    """A broker, nats://HOST:PORT: the lean-proxies of its run check the snippets. Empty: workers of this process."""

    run: str = "demo"
    """With `url`: the run whose lean-proxies are asked."""

    workers: Natural = 0
    """Snippets at once, each with a Lean process of its own; 0 takes one per core, and no more than half of the memory
    holds. With `url`: snippets that are with lean-proxies at a time; 0 takes 64."""

    queue: Natural = 1024
    """Snippets that may wait for a worker; while more wait, requests are answered with 429."""

    memory_mb: Megabytes = 1024
    """Memory that a Lean process may take beyond what its header took; a snippet that takes more is ended."""

    longest: Timeout = 3600.0
    """Most seconds for a snippet, whatever its request asks for."""

    verify_seconds: Timeout = 120.0
    """Most seconds for the trusted verdict on a snippet that Lean found no fault with."""

    heartbeats: Positive = 200_000
    """Lean's `maxHeartbeats`, unless a snippet sets another (Lean's default is the same)."""

    max_body_mb: Positive = 32
    """Most megabytes of a request; longer ones are answered with 413."""

    drain_seconds: Duration = 10.0
    """When told to stop, open requests have so long to be answered."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, files read-only, no processes of their own."""

    config: Path | None = None
    """A TOML file: its sections [serve] and [lean] give the defaults of the flags."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header: section [lean] of the file."""

    def resolved_requests(self) -> int:
        """Snippets that are with lean-proxies at a time."""
        return self.workers or REMOTE_SNIPPETS

    def resolved_workers(self) -> int:
        """Workers on this machine. All cores: the service has the machine for itself."""
        machine = read_machine()
        return self.workers or max(1, min(machine.cores, int(machine.memory_mb * LEAN_SHARE / LEAN_WORKER_MB)))
