"""Opens proofs.sqlite."""

from __future__ import annotations

from pathlib import Path

from common.records import database
from common.records.errors import ADVICE
from common.records.schema import MIGRATIONS


class Database(database.Database):
    """One open database. Raises RunDirectoryError if it cannot be read or written."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, MIGRATIONS, ADVICE)
