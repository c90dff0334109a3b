"""Tests from inside whether a process is confined: `python probe.py SCRATCH OUTSIDE PORT SECRET`.

It attempts each of `scratch`, `outside`, `network`, `processes`, `signals` and `reads` (of the file SECRET), and prints
the names of those that succeed, separated by commas. All except `scratch` should fail. Standard library only: it runs
isolated, like Lean.
"""

import os
import socket
import sys


def writes(path: str) -> bool:
    """True when a file can be created at this path."""
    try:
        with open(path, "w"):  # noqa: PTH123 - this file starts as fast as it can
            return True
    except OSError:
        return False


def reads(path: str) -> bool:
    """True when this file can be read."""
    try:
        with open(path) as file:  # noqa: PTH123 - this file starts as fast as it can
            return bool(file.read())
    except OSError:
        return False


def connects(port: int) -> bool:
    """True when a connection to a port of this machine succeeds."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def forks() -> bool:
    """True when a process can be started."""
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def signals(process: int) -> bool:
    """True when signal 0, which does nothing, can be sent to a process outside."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    scratch, outside, port, secret = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
    attempts = {
        "scratch": writes(os.path.join(scratch, "inside")),  # noqa: PTH118
        "outside": writes(outside),
        "network": connects(port),
        "processes": forks(),
        "signals": signals(os.getppid()),
        "reads": reads(secret),
    }
    print(",".join(name for name, succeeded in attempts.items() if succeeded))
