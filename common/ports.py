"""TCP ports of this machine."""

from __future__ import annotations

import socket


def listenable(host: str, port: int) -> int:
    """The port, if it is free to listen on now; for 0, some free port. Raises OSError if it is not free."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just closed counts as free
        probe.bind((host, port))
        return int(probe.getsockname()[1])
