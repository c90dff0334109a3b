"""Errors about the files of a run, and how they are worded."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from common.records import database


class RunDirectoryError(RuntimeError):
    """The run directory cannot be used: held by another process, full, read-only, or of another schema."""


ADVICE = database.Advice(
    RunDirectoryError,
    cannot="cannot be written",
    kept="Recorded results are safe; the others are still with the broker and will be redelivered",
    damaged="the file is damaged: restore it, or use another run name",
    denied="make it writable for this user, or choose another folder with --directory",
    newer="another run name",
)
"""How errors about the files of a run are worded."""


def explained(path: Path) -> AbstractContextManager[None]:
    """Turn errors of the file system and of SQLite about `path` into a RunDirectoryError that says what to do."""
    return database.explained(path, ADVICE)
