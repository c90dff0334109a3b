"""The records of a run of self-play: stp.sqlite in the run directory."""

from node.stp.store.rows import AttemptRow, Found, Part, Progress, RoundKind, RoundRow, Solved, Stage
from node.stp.store.store import FILE, StpStore

__all__ = [
    "FILE",
    "AttemptRow",
    "Found",
    "Part",
    "Progress",
    "RoundKind",
    "RoundRow",
    "Solved",
    "Stage",
    "StpStore",
]
