"""Settings that every node shares: the broker's address, the run, logs and metrics."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import unquote

from common.limits import Duration, Port


@dataclass
class BusSettings:
    """How to reach the broker."""

    url: str = "nats://127.0.0.1:4222"
    """Address of the broker. Separate several servers of one cluster by commas. The user and password, or the token, of
    the first one that has them (`nats://USER:PASSWORD@HOST`, `nats://TOKEN@HOST`) count as the two settings below, for
    all servers."""

    user: str = ""
    """User name; empty takes PROOFMESH_NATS_USER. Required if the broker listens on more than loopback."""

    password: str = field(default="", repr=False)
    """Password, or without a user a token; empty takes PROOFMESH_NATS_PASSWORD, which keeps it out of files and command
    lines."""

    def __post_init__(self) -> None:
        """Take the credentials out of the address, so that no message and no command line can show them."""
        addresses, found = [], None
        for server in self.servers():
            scheme, separator, place = server.partition("://") if "://" in server else ("", "", server)
            credentials, at, host = place.rpartition("@")
            found = found or (credentials if at else None)
            addresses.append(f"{scheme}{separator}{host}")
        if found:
            first, colon, second = found.partition(":")
            self.user, self.password = (unquote(first), unquote(second)) if colon else ("", unquote(first))
        self.url = ",".join(addresses)

    verifiers: tuple[str, ...] = ()
    """Public keys of the lean-proxies whose verdicts on proofs count (each logs its own at the start), in addition to
    those in PROOFMESH_VERIFIERS, separated by commas. `proofmesh up` adds the key of its own lean-proxies. Without any,
    a node takes the keys that the run lists on the broker, which everybody with its password can change."""

    def verifier_keys(self) -> tuple[str, ...]:
        """The configured keys of verifiers, each once, from the settings and the environment."""
        listed = (*self.verifiers, *os.environ.get("PROOFMESH_VERIFIERS", "").split(","))
        return tuple(dict.fromkeys(key.strip() for key in listed if key.strip()))

    def servers(self) -> list[str]:
        """The list of addresses."""
        return [url.strip() for url in self.url.split(",") if url.strip()]

    def credentials(self) -> tuple[str, str]:
        """User and password, from the settings or the environment; empty strings if there are none. A password without
        a user is a token."""
        if self.password:
            return self.user, self.password
        return self.user or os.environ.get("PROOFMESH_NATS_USER", ""), os.environ.get("PROOFMESH_NATS_PASSWORD", "")


@dataclass
class LifeSettings:
    """Settings of a node of any role: log, metrics, and how long it waits for the broker at start."""

    broker_wait: Duration | None = None
    """Seconds to wait for the broker at start; none waits for ever. If the connection is lost later, a node always
    waits for the broker."""

    host: str = "127.0.0.1"
    """Address that /metrics and /healthz listen on. With `0.0.0.0` the registry has this machine's address on the way
    to the broker."""

    metrics_port: Port = 0
    """Port of /metrics and /healthz; 0 takes a free port, which the registry and the log show."""

    log_level: str = "info"
    """Lowest level that is logged: debug, info, warning or error."""

    log_dir: str = ""
    """Folder for a log file of this node (JSON lines); empty writes no file. The log always goes to standard error,
    too."""

    log_json: bool = False
    """Write JSON lines to standard error, too, for programs that read logs. `proofmesh up` sets it for its nodes."""

    uvloop: bool = True
    """Run on uvloop. `proofmesh bench bus` compares it with asyncio's own loop on this machine."""


@dataclass
class NodeSettings(LifeSettings):
    """All shared settings of a node: the run, the broker, and LifeSettings."""

    run: str = "demo"
    """Name of the run: lower-case letters, digits and hyphens. Nodes see only nodes of the same run."""

    bus: BusSettings = field(default_factory=BusSettings)
    """How to reach the broker."""


@dataclass
class RunSettings:
    """The run: section [run] of a configuration file."""

    name: str = "demo"
    """Name of the run: lower-case letters, digits and hyphens."""

    dir: str = "runs"
    """Folder that holds run directories."""
