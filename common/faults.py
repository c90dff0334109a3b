"""Named points at which a test may kill the process, to see what a crash just there leaves behind.

`PROOFMESH_FAULT="prover:published-not-acked"` kills the process with SIGKILL the first time it reaches that point:
nothing is flushed, closed or handed back, as in a power cut. `PROOFMESH_FAULT="NAME#3"` waits for the third time.
Without the variable, a point costs a dictionary look-up.
"""

from __future__ import annotations

import os
import signal

VARIABLE = "PROOFMESH_FAULT"

_reached: dict[str, int] = {}


def reach(name: str) -> None:
    """Say that the process is at the point `name`; does not return when the environment asks for its death here."""
    wanted = os.environ.get(VARIABLE)
    if wanted is None:
        return
    _reached[name] = _reached.get(name, 0) + 1
    point, _, turn = wanted.partition("#")
    if name == point and _reached[name] == int(turn or 1):
        os.kill(os.getpid(), signal.SIGKILL)
