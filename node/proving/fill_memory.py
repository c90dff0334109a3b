"""A cache on disk of the search results for gaps, so that a second run of `fill` continues after the first one."""

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
"""Entries that were not used for this long are removed."""


class Remembered(msgspec.Struct, frozen=True):
    """The result of a search."""

    script: tuple[str, ...] = ()
    """The proof; empty if none was found."""
    by: str = ""
    simulations: int = 0
    seconds: float = 0.0
    reason: str = ""
    """Why there is no proof."""
    budget_seconds: float = 0.0
    budget_simulations: int = 0
    way: str = ""
    """The settings of the search. A failed search only counts for the same settings."""

    def spares(self, budget: Budget, way: str) -> bool:
        """Whether a search with this budget is unnecessary."""
        if self.script:
            return True
        enough = self.budget_seconds >= budget.seconds and self.budget_simulations >= budget.simulations
        return enough and self.way == way


@dataclass(frozen=True)
class FillMemory:
    """A cache folder with one small file for each gap."""

    folder: Path
    lean: tuple[str, ...]
    """The parts of the key besides the text of a place: Lean's version, its project, its header."""

    @classmethod
    def standard(cls, lean: Sequence[str]) -> FillMemory:
        """The memory in proofmesh's cache folder."""
        return cls(cache_directory() / "fill", tuple(lean))

    def recall(self, place: Place) -> Remembered | None:
        """The result for a place; None if there is none or it cannot be read."""
        file = self._file(place)
        try:
            result = msgspec.json.decode(file.read_bytes(), type=Remembered)
            os.utime(file)
        except (OSError, msgspec.DecodeError, msgspec.ValidationError):
            return None
        return result

    def keep(self, place: Place, result: Remembered) -> None:
        """Write a result to disk. If that fails, the next run searches again."""
        file = self._file(place)
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(file, msgspec.json.encode(result))

    def sweep(self) -> None:
        """Remove old entries."""
        with contextlib.suppress(OSError):
            for file in self.folder.iterdir():
                if time.time() - file.stat().st_mtime > KEPT_SECONDS:
                    file.unlink(missing_ok=True)

    def _file(self, place: Place) -> Path:
        digest = hashlib.blake2b(digest_size=20)
        digest.update(msgspec.json.encode([FORMAT, self.lean, place.key]))
        return self.folder / f"{digest.hexdigest()}.json"
