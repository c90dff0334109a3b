"""The connection to stp.sqlite: transactions and error messages."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from common.lean import Theorem
from common.records import database
from node.stp.errors import StpError
from node.stp.store.schema import MIGRATIONS

ADVICE = database.Advice(
    StpError,
    cannot="cannot be used",
    kept="What was recorded is kept, and the run goes on from there",
    damaged="the file is damaged: restore it from a copy, or use another run directory",
    denied="make it readable and writable for this user, or use another run directory",
    newer="another run directory",
    failing="the disk may be full or failing: look at it and start again",
    passed=(sqlite3.IntegrityError,),  # a missing round or statement is not a problem of the disk
)
"""Messages for errors about the files of a run."""

BUSY_SECONDS = 30.0
"""Seconds to wait for another process's transaction, each of which takes some milliseconds."""


class Database(database.Database):
    """An open database.

    read_only: for views, while another process writes; the file must exist. Raises StpError if it cannot be written or
    read.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        if read_only and not path.is_file():
            raise StpError(f"{path.parent} holds no run of self-play ({path.name} does not exist); check the path")
        super().__init__(path, MIGRATIONS, ADVICE, read_only=read_only, busy_seconds=BUSY_SECONDS)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read a single state of the file within the block, even if other processes write."""
        with self._explained():
            self._db.execute("BEGIN")
            try:
                yield
            finally:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")

    def _keep_theorem(self, db: sqlite3.Connection, theorem: Theorem) -> None:
        """Store a theorem within a transaction. Raises StpError if another theorem has its name."""
        if theorem.place is not None:
            raise StpError(f"{theorem.name} is inside a Lean file; self-play needs statements without a file context")
        statement = (theorem.binders, theorem.conclusion, theorem.header)
        stored = db.execute(
            "SELECT binders, conclusion, header FROM theorems WHERE name = ?", (theorem.name,)
        ).fetchone()
        if stored is None:
            db.execute("INSERT INTO theorems VALUES (?, ?, ?, ?)", (theorem.name, *statement))
        elif tuple(stored) != statement:
            raise StpError(
                f"{self.path} has another statement with the name {theorem.name}; give each statement a different "
                "name, or use another run directory"
            )


def explained(path: Path) -> AbstractContextManager[None]:
    """Turn errors of the file system and of SQLite about `path` into a StpError that says what to do."""
    return database.explained(path, ADVICE)
