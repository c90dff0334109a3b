"""Reads a run from its directory, for a monitor without a broker: curves, evaluations, summary, proofs, logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from common import curves
from common.curves import METRICS, Evaluated, Tail
from common.files import NOT_JSON
from common.protocol.messages import LogRecord, Point, ProofFound
from common.records import readers as run_proofs
from common.watch.logs import LOGS, LogFiles

SUMMARY = "summary.json"
PROOFS = 60
"""Number of latest proofs that the page shows."""

LOG_BYTES = 64 * 1024
"""Bytes that are read first of the end of each log."""


@dataclass
class Change:
    """The new content of a run's files."""

    points: list[Point] = field(default_factory=list)
    evaluations: list[Evaluated] = field(default_factory=list)
    proofs: list[ProofFound] = field(default_factory=list)
    summary: dict[str, Any] | None = None
    logs: list[LogRecord] = field(default_factory=list)


class RunFiles:
    """One run directory. `look` reads files and may run in a thread."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problem = ""
        """An error about an unreadable file, for the page; empty: none."""
        self.summary: dict[str, Any] | None = None
        self._tail = Tail(folder / METRICS)
        self._logs = LogFiles(folder / LOGS, last_bytes=LOG_BYTES)
        self._labels: set[str] = set()
        self._proof = 0

    def look(self) -> Change:
        """The content that is new since the last call."""
        self.problem = ""
        return Change(
            self._tail.read().points, self._evaluations(), self._proofs(), self._summary(), list(self._logs.read())
        )

    def shown(self) -> dict[str, Any]:
        """The data of the page's header."""
        return {"finished": self.summary is not None, "folder": str(self.folder), "problem": self.problem}

    def _evaluations(self) -> list[Evaluated]:
        try:
            found = curves.read_evaluations(self.folder / curves.EVALUATIONS)
        except OSError as error:
            self.problem = f"{self.folder / curves.EVALUATIONS}: {error.strerror}"
            return []
        new = [each for each in found if each.label not in self._labels]
        self._labels.update(each.label for each in new)
        return new

    def _proofs(self) -> list[ProofFound]:
        try:
            found = run_proofs.latest(self.folder / run_proofs.DATABASE, PROOFS, after=self._proof)
        except run_proofs.UnreadableRecords as error:
            self.problem = str(error)
            return []
        self._proof = max([self._proof, *(number for number, _ in found)])
        return [proof for _, proof in found]

    def _summary(self) -> dict[str, Any] | None:
        """The summary, if it is new or has changed."""
        try:
            found = msgspec.json.decode((self.folder / SUMMARY).read_bytes(), type=dict[str, Any])
        except FileNotFoundError:
            return None
        except (OSError, *NOT_JSON) as error:
            self.problem = f"{self.folder / SUMMARY}: {error}"
            return None
        before, self.summary = self.summary, found
        return found if found != before else None


def run_folders(directory: Path) -> Iterator[str]:
    """Names of the learner's runs in a folder."""
    try:
        folders = sorted(directory.iterdir())
    except OSError:
        return
    yield from (each.name for each in folders if is_run(each))


def is_run(folder: Path) -> bool:
    """True if a folder is the run directory of a learner, not of a training run."""
    return (folder / run_proofs.DATABASE).is_file()
