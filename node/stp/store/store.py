"""The store of a run of self-play: stp.sqlite. Synchronous; a call takes some milliseconds, mostly for the disk.

Records never change once they are written, and every step is written in one transaction before the next step begins.
So a run that is killed at any point resumes from its last transaction: it reads the state of its round, and does the
missing steps with the same ids and seeds. Adding a record again changes nothing.
"""

from __future__ import annotations

from node.stp.store.attempts import AttemptRecords
from node.stp.store.counts import Counts
from node.stp.store.rounds import RoundRecords

FILE = "stp.sqlite"
"""File name in the run directory."""


class StpStore(RoundRecords, AttemptRecords, Counts):
    """An open store: `StpStore(directory / FILE)`. Raises StpError if it cannot be written or read."""
