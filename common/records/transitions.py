"""Transitions by their number in a SQLite file: how the trainer's ranks read what they train on.

The file is the run's `proofs.sqlite`, while the learner goes on writing it, or one that `write` has made from the
transitions of a bank. A rank reads a transition once and keeps its tokens: to read one takes some 10 µs, to
encode it 30.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import astuple

from common.protocol.attempts import Transition
from common.records.readers import UnreadableRecords, reading

Ref = tuple[str, int]
"""A transition: the path of its file, and its number there."""

BUSY_SECONDS = 30.0
"""Most seconds that a reader waits: the learner's migrations of a large file may take some."""


class TransitionReader:
    """Reads one file. It sees what is committed after it was opened, and keeps no transaction open."""

    def __init__(self, path: Path) -> None:
        """Raises UnreadableRecords."""
        self._path = path
        try:
            self._db = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)
        except sqlite3.Error as error:
            raise UnreadableRecords(f"{path}: {error}") from error

    def read(self, number: int) -> Transition:
        """The transition with this number. Raises UnreadableRecords if it is missing or the file is damaged."""
        try:
            return _read(self._db, self._path, number)
        except sqlite3.Error as error:
            raise UnreadableRecords(f"{self._path}: transition {number} cannot be read ({error})") from error

    def close(self) -> None:
        self._db.close()


def _read(db: sqlite3.Connection, path: Path, number: int) -> Transition:
    query = "SELECT state, tactic, remaining_steps FROM transitions WHERE transition_id = ?"
    row = db.execute(query, (number,)).fetchone()
    if row is None:
        raise UnreadableRecords(f"{path}: transition {number} is missing")
    return Transition(*row)


def read_transitions(path: Path, numbers: Sequence[int]) -> list[Transition]:
    """Transitions by their numbers, of a run that goes on or is over. Nothing is written beside the file. Raises
    UnreadableRecords."""
    with reading(path) as db:
        return [_read(db, path, number) for number in numbers]


def write(path: Path, transitions: Sequence[Transition]) -> list[Ref]:
    """Write transitions to a new file in place of an old one; returns their references. Raises OSError."""
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        # A file that is cut off by a kill is written again by the next start, so nothing waits for the disk.
        db.execute("PRAGMA journal_mode = OFF")
        db.execute("PRAGMA synchronous = OFF")
        db.execute(
            "CREATE TABLE transitions (transition_id INTEGER PRIMARY KEY, state TEXT NOT NULL, tactic TEXT NOT NULL,"
            " remaining_steps INTEGER NOT NULL) STRICT"
        )
        db.execute("BEGIN")
        db.executemany(
            "INSERT INTO transitions VALUES (?, ?, ?, ?)",
            ((number, *astuple(each)) for number, each in enumerate(transitions, start=1)),
        )
        db.execute("COMMIT")
    return [(str(path), number) for number in range(1, len(transitions) + 1)]
