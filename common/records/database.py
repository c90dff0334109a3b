"""A run's SQLite file: opening, migrations, transactions, notes, and readable errors.

The owner of a file passes its tables as migrations, and its error texts as `Advice`.
"""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

BUSY_SECONDS = 5.0
"""Most seconds to wait for another process's transaction (SQLite's own default)."""


@dataclass(frozen=True)
class Advice:
    """Texts of the errors about a file."""

    error: type[Exception]
    """The exception to raise, with a one-line message."""
    cannot: str
    """The failed operation, such as `cannot be written`."""
    kept: str
    """Which data is lost, and which is not."""
    damaged: str
    """What to do if the file is damaged."""
    denied: str
    """What to do if access is denied, and for all other errors."""
    newer: str
    """What to do if a newer version of proofmesh wrote the file, other than using that version."""
    failing: str = ""
    """What to do if the disk fails; empty: as `denied`."""
    passed: tuple[type[sqlite3.Error], ...] = ()
    """Errors that are mistakes of the caller. They are raised unchanged."""


class RunDirectoryError(RuntimeError):
    """The run directory cannot be used: held by another process, full, read-only, or of another schema."""


ADVICE = Advice(
    RunDirectoryError,
    cannot="cannot be written",
    kept="Recorded results are safe; the others are still with the broker and will be redelivered",
    damaged="the file is damaged: restore it, or use another run name",
    denied="make it writable for this user, or choose another folder with --directory",
    newer="another run name",
)
"""The errors about the files of a learner's run."""


@contextmanager
def explained(path: Path, advice: Advice = ADVICE) -> Iterator[None]:
    """Turn errors of the file system and of SQLite about `path` into a one-line message that says what to do."""
    try:
        yield
    except advice.passed:
        raise
    except sqlite3.DatabaseError as error:
        raise advice.error(f"{path} {advice.cannot} ({error}); {_to_do(str(error), advice)}") from error
    except OSError as error:
        reason = error.strerror or error
        raise advice.error(f"{path} {advice.cannot} ({reason}); {_to_do(error, advice)}") from error


def _to_do(error: OSError | str, advice: Advice) -> str:
    full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) if isinstance(error, OSError) else "full" in error
    if full:
        return f"free some space and start again. {advice.kept}"
    if isinstance(error, str) and ("malformed" in error or "not a database" in error):
        return advice.damaged
    if isinstance(error, str) and "disk I/O" in error and advice.failing:
        return f"{advice.failing}. {advice.kept}"
    return f"{advice.denied}. {advice.kept}"


def version_of(connection: sqlite3.Connection, name: str, known: int, advice: Advice) -> int:
    """The schema version of a file. Raises the advice's error if it is newer than `known`."""
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > known:
        raise advice.error(
            f"{name} has schema version {version}; this version of proofmesh knows up to {known}; "
            f"use the version that wrote it, or {advice.newer}"
        )
    return version


def migrate(connection: sqlite3.Connection, name: str, migrations: tuple[str, ...], advice: Advice = ADVICE) -> int:
    """Migrate the file to the newest schema and return its version before. migrations[n] takes version n to n + 1, in
    one transaction. Raises the advice's error for a file of a newer version."""
    version_before = version_of(connection, name, len(migrations), advice)
    for version in range(version_before, len(migrations)):
        # `executescript` commits an open transaction, so the whole migration is one script with its own transaction.
        connection.executescript(f"BEGIN IMMEDIATE;{migrations[version]};PRAGMA user_version = {version + 1};COMMIT;")
    return version_before


class Database:
    """One open file with a table `notes (key, value)`. Methods raise the advice's error if it cannot be written or
    read."""

    def __init__(
        self,
        path: Path,
        migrations: tuple[str, ...],
        advice: Advice = ADVICE,
        *,
        read_only: bool = False,
        busy_seconds: float = BUSY_SECONDS,
    ) -> None:
        """`read_only`: for views, while another process may write; the file must exist."""
        self.path = path
        self._advice = advice
        with self._explained():
            target = f"{path.absolute().as_uri()}?mode=ro" if read_only else str(path)
            self._db = sqlite3.connect(
                target, uri=read_only, isolation_level=None, check_same_thread=False, timeout=busy_seconds
            )
            try:
                self._prepare(migrations, read_only=read_only)
            except BaseException:
                self._db.close()
                raise

    def _prepare(self, migrations: tuple[str, ...], *, read_only: bool) -> None:
        # Check the version first, so that a file of a newer version is not changed.
        version = version_of(self._db, str(self.path), len(migrations), self._advice)
        if read_only:
            if version < len(migrations):
                raise self._advice.error(
                    f"{self.path} is from an older version of proofmesh; resume the run once to migrate it"
                )
            return
        self._db.execute("PRAGMA journal_mode = WAL")
        # FULL: recorded results are never requested again, so they must survive a power cut. A commit costs some
        # milliseconds.
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("PRAGMA foreign_keys = ON")
        migrate(self._db, str(self.path), migrations, self._advice)

    def close(self) -> None:
        self._db.close()

    def _explained(self) -> AbstractContextManager[None]:
        return explained(self.path, self._advice)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction: committed to the disk when the block ends, rolled back if it raises."""
        with self._explained():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._explained():
            return self._db.execute(query, values).fetchall()

    def note(self, key: str, value: Any) -> None:
        """Store a small JSON value under a key; an old value is replaced."""
        with self._transaction() as db:
            db.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (key, msgspec.json.encode(value).decode()))

    def noted(self, key: str, default: Any = None) -> Any:
        """The value that was stored under a key."""
        rows = self._rows("SELECT value FROM notes WHERE key = ?", key)
        return msgspec.json.decode(rows[0][0]) if rows else default
