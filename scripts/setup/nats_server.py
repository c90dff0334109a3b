"""Set-up step for nats-server, run in the new environment. Prints the version if it downloads one."""

from __future__ import annotations

import sys

from broker import binary
from broker.errors import BrokerError
from common.cache import cache_directory


def main() -> int:
    """Find or download nats-server; returns the exit code."""
    before = {path.name for path in cache_directory().glob("nats-server-*")}
    try:
        server = binary.find()
        version = ".".join(map(str, binary.version_of(server)))
    except BrokerError as error:
        print(error, file=sys.stderr)
        return 1
    if server.parent.name.startswith("nats-server-") and server.parent.name not in before:
        print(f"fetched {version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
