"""Named points at which a test can kill the process, to test recovery from a crash at that point.

`PROOFMESH_FAULT="prover:published-not-acked"` kills the process with SIGKILL when it first reaches that point. As in a
power cut, nothing is flushed, closed or handed back. `PROOFMESH_FAULT="NAME#3"` kills it at the third time. Without the
variable, a point costs one dictionary look-up.

`PROOFMESH_SLOW="lean-proxy:run=1.0"` makes each call of `slow("lean-proxy:run")` take a second longer.
"""

from __future__ import annotations

import asyncio
import os
import signal

VARIABLE = "PROOFMESH_FAULT"

SLOW = "PROOFMESH_SLOW"

_reached: dict[str, int] = {}


def reach(name: str) -> None:
    """Mark the point `name`. Kills the process here if the environment variable says so."""
    fault = os.environ.get(VARIABLE)
    if fault is None:
        return
    _reached[name] = _reached.get(name, 0) + 1
    point, _, turn = fault.partition("#")
    if name == point and _reached[name] == int(turn or 1):
        os.kill(os.getpid(), signal.SIGKILL)


async def slow(name: str) -> None:
    """Wait here, if the environment variable says so."""
    fault = os.environ.get(SLOW)
    if fault is not None and fault.partition("=")[0] == name:
        await asyncio.sleep(float(fault.partition("=")[2]))
