"""Configuration of the verification service: section [serve] of a file, and flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from common.lean_settings import LeanSettings
from common.limits import Duration, Megabytes, Natural, Port, Positive, Share, Timeout
from common.sizing import LEAN_SHARE, LEAN_WORKER_MB, read_machine

KEY_VARIABLE = "LEAN_SERVER_API_KEY"
"""The environment variable from which Kimina's client reads its key."""

REMOTE_SNIPPETS = 64
"""Default of the snippets at lean-proxies at the same time. This is more than the workers of a few machines, because
busy lean-proxies refuse snippets."""


@dataclass
class ServeSettings:
    """Serve Kimina Lean Server's HTTP API over our Lean workers, or over the lean-proxies of a mesh."""

    host: str = "127.0.0.1"
    """Address to listen on. Any address except loopback needs a key, because clients can run any Lean code."""

    port: Port = 8000
    """Port to listen on; 0 takes a free one."""

    hosts: tuple[str, ...] = ()
    """Further names under which clients ask for this server, such as a DNS name. Requests for other names than the
    bound address and loopback, and requests of web pages from elsewhere, get 403: a web page could run Lean here. With
    a key, every name is accepted, because a web page does not know the key."""

    api_key: str = ""
    """The key that clients must send as `Authorization: Bearer KEY`. If empty, LEAN_SERVER_API_KEY of the environment;
    without both, no key is needed. A key in a flag is visible in the list of processes; use the environment or a file.
    """

    url: str = ""
    """A broker, nats://HOST:PORT: the lean-proxies of its run check the snippets. Empty: workers of this process."""

    run: str = "demo"
    """With `url`: the run whose lean-proxies check the snippets."""

    workers: Natural = 0
    """Snippets that run at the same time, each in its own Lean process. 0 means one for each core, and at most as many
    as half of the memory holds. With `url`: snippets at lean-proxies at the same time; 0 means 64."""

    queue: Natural = 1024
    """Most snippets that wait for a worker. While more wait, new requests get 429."""

    max_snippets: Positive = 512
    """Most snippets of a request. Longer requests get 413."""

    client_share: Share = 0.5
    """Share of the queue for one client (an address): while more of its snippets wait or run, its new requests get 429.
    A request that is taken may add `max_snippets` to them."""

    memory_mb: Megabytes = 1024
    """Memory that a Lean process may use in addition to its header's. A snippet that needs more is stopped."""

    longest: Timeout = 3600.0
    """Longest time limit of a snippet in seconds, whatever its request asks for."""

    verify_seconds: Timeout = 120.0
    """Time limit in seconds of the trusted verdict on a snippet that elaborates without errors."""

    heartbeats: Positive = 200_000
    """Lean's `maxHeartbeats`, unless a snippet sets it (Lean's default is the same)."""

    max_body_mb: Positive = 32
    """Most megabytes of a request. Longer ones get 413."""

    drain_seconds: Duration = 10.0
    """After a request to stop, seconds in which open requests may finish."""

    sandbox: bool = True
    """Confine Lean processes as far as the system allows: no network, no child processes, one folder to write to, and
    only their toolchain, project and input to read."""

    config: Path | None = None
    """A TOML file. Its sections [serve] and [lean] have the defaults of the flags."""

    lean: LeanSettings = field(default_factory=LeanSettings)
    """Which Lean, with which project and header: section [lean] of the file."""

    def resolved_requests(self) -> int:
        """Snippets at lean-proxies at the same time."""
        return self.workers or REMOTE_SNIPPETS

    def resolved_workers(self) -> int:
        """Workers on this machine: one for each core, because the service expects to be alone on the machine."""
        machine = read_machine()
        return self.workers or max(1, min(machine.cores, int(machine.memory_mb * LEAN_SHARE / LEAN_WORKER_MB)))
