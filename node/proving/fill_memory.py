"""What was found out about gaps, kept on disk: a second run begins where the first one ended, however that ended."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from common.cache import cache_directory
from common.files import write_whole
from common.places import Place
from node.proving.prover import Budget

FORMAT = "1"

KEPT_SECONDS = 60 * 24 * 3600.0
"""What nobody has asked for in so long is forgotten."""


class Remembered(msgspec.Struct, frozen=True):
    """What a search came to."""

    script: tuple[str, ...] = ()
    """The proof; empty where none was found."""
    by: str = ""
    simulations: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Why there is none."""
    budget_seconds: float = 0.0
    budget_simulations: int = 0
    way: str = ""
    """How it was looked for: a search without success says nothing about another way."""

    def spares(self, budget: Budget, way: str) -> bool:
        """Whether a search with this budget need not be made again."""
        if self.script:
            return True
        enough = self.budget_seconds >= budget.seconds and self.budget_simulations >= budget.simulations
        return enough and self.way == way


@dataclass(frozen=True)
class FillMemory:
    """A folder with one small file for each gap."""

    folder: Path
    lean: tuple[str, ...]
    """What decides what a place means besides its text: Lean's version, its project, its header."""

    @classmethod
    def standard(cls, lean: Sequence[str]) -> FillMemory:
        """In the folder of what can be made again."""
        return cls(cache_directory() / "fill", tuple(lean))

    def recall(self, place: Place) -> Remembered | None:
        """What is known of a place; None for nothing, or nothing that can be read."""
        file = self._file(place)
        try:
            found = msgspec.json.decode(file.read_bytes(), type=Remembered)
            os.utime(file)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return None
        return found

    def keep(self, place: Place, found: Remembered) -> None:
        """Remember it, at once and for good. Where the disk does not take it, the next run searches again."""
        file = self._file(place)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(found))

    def sweep(self) -> None:
        """Remove what is old."""
        with contextlib.suppress(OSError):
            for file in self.folder.iterdir():
                if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                    file.unlink(missing_ok=True)

    def _file(self, place: Place) -> Path:
        digest = hashlib.blake2b(digest_size=20)
        digest.update(msgspec.json.encode([FORMAT, self.lean, place.key]))
        return self.folder / f"{digest.hexdigest()}.json"
