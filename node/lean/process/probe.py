"""Run as `python probe.py SCRATCH OUTSIDE PORT`, confined: attempts what should fail, and prints what worked.

Printed are names of attempts with commas between them: `scratch`, `outside`, `network`, `processes`, `signals`.
Standard library only: it runs isolated, like Lean.
"""

import os
import socket
import sys


def writes(path: str) -> bool:
    """Whether a file can be made at this path."""
    try:
        with open(path, "w"):  # noqa: PTH123 - this file starts as fast as it can
            return True
    except OSError:
        return False


def connects(port: int) -> bool:
    """Whether something that listens on this machine can be reached."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def forks() -> bool:
    """Whether a process can be started."""
    try:
        child = os.fork()
    except OSError:
        return False
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return True


def signals(process: int) -> bool:
    """Whether a process outside can be sent a signal (0, which does nothing)."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


if __name__ == "__main__":
    scratch, outside, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    worked = {
        "scratch": writes(os.path.join(scratch, "inside")),  # noqa: PTH118
        "outside": writes(outside),
        "network": connects(port),
        "processes": forks(),
        "signals": signals(os.getppid()),
    }
    print(",".join(name for name, possible in worked.items() if possible))
