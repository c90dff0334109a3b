"""One open proofs.sqlite: its connection, transactions, and what its errors mean."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from node.learner.run.directory import explained
from node.learner.store.schema import migrate


class Database:
    """One open database. Raises RunDirectoryError where it cannot be written or read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with explained(path):
            self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self._db.execute("PRAGMA journal_mode = WAL")
            # FULL: an acknowledged result must survive a power cut, the broker has forgotten it. A commit costs some
            # milliseconds of this thread, and results come at tens per second.
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.execute("PRAGMA foreign_keys = ON")
            migrate(self._db, str(path))

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with explained(self.path):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with explained(self.path):
            return self._db.execute(query, values).fetchall()
