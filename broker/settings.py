"""Configuration of the broker."""

from __future__ import annotations

from dataclasses import dataclass

from common.limits import Port, Positive

HEADROOM = 4_096
"""Bytes that headers (the message id, a signature) add to the largest message."""


@dataclass
class BrokerSettings:
    """A nats-server with JetStream in its own store. Who may join: `proofmesh broker keys`, `invite`, `revoke`."""

    server: bool = True
    """Run a nats-server. `--no-server`: only keep this run's streams on the server of [bus] url. `proofmesh up` does so
    with [up] broker = 0, if the run's learner is here."""

    host: str = "127.0.0.1"
    """Address to listen on. On anything but loopback it makes keys for its run, unless [bus] has user and password."""

    port: Port = 4222
    """Port for nodes; 0 takes a free one and logs it."""

    monitor_port: Port = 0
    """Port of nats-server's own monitoring pages, always on loopback; 0 takes a free one and logs it."""

    store: str = "runs/.broker"
    """Folder of the streams, and of the keys; it is made private to this user. A restarted broker continues with its
    streams."""

    certificate: str = ""
    """File with the certificate (PEM) that nodes see: all connections are encrypted then. Nodes need [bus] ca. A file
    that is replaced is read within 5 seconds."""

    certificate_key: str = ""
    """File with the private key of `certificate`."""

    client_ca: str = ""
    """File with the certificate of the authority that vouches for nodes: each node needs a certificate of its own
    ([bus] certificate), too."""

    binary: str = ""
    """Path of a nats-server to use. Empty: the first of NATS_SERVER, PATH, the cache, or a download into the cache."""

    allow_old: bool = False
    """Use a nats-server older than 2.12.3, which may lose messages when it is killed."""

    busy_messages: Positive = 5_000
    """Messages a second of one connection from which on it is named in the log and in `proofmesh status`. A prover
    with eight searches sends some hundred."""

    max_store_mb: Positive = 10_240
    """Most disk that streams may take, in MiB."""

    max_memory_mb: Positive = 64
    """Most memory that streams may take, in MiB. All streams are on disk; only their readers need memory."""
