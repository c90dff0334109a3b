"""TCP ports of this machine."""

from __future__ import annotations

import socket


def listenable(host: str, port: int) -> int:
    """The port, if somebody could listen on it now; a free one for 0. Raises OSError."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a port that was just given up is free
        probe.bind((host, port))
        return int(probe.getsockname()[1])
