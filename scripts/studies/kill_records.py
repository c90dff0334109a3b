"""Reads the records of a run whose nodes are killed, and checks at the end: recorded = dispatched - outstanding."""

from __future__ import annotations

import contextlib
import sqlite3
from collections import Counter
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from common.records.store import Store

Row = tuple[str, str, float]
"""Attempt, outcome, when it was recorded."""


@dataclass(frozen=True)
class Tally:
    """The records of a run whose nodes were killed."""

    dispatched: int
    outstanding: int
    recorded: int
    ids_recorded: int
    """Different attempts among the results."""
    both: int
    neither: int
    strays: int
    changed: int
    """Results that existed at a kill, and are missing or different now."""
    proofs: int
    proved: int
    outcomes: dict[str, int]

    @property
    def sound(self) -> bool:
        """Whether recorded = dispatched - outstanding, each id once, nothing changed afterwards, a proof for each
        attempt that proved."""
        rule = self.recorded == self.dispatched - self.outstanding == self.ids_recorded
        return rule and self.proofs == self.proved and not (self.both or self.neither or self.strays or self.changed)

    def numbers(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def recorded(database: Path) -> list[Row]:
    """Every result in the records; empty while there are none."""
    return [(row[0], row[1], row[2]) for row in _rows(database, "SELECT attempt_id, outcome, recorded FROM results")]


def outstanding(database: Path) -> set[str]:
    """Attempts without a result."""
    return {row[0] for row in _rows(database, "SELECT attempt_id FROM outbox")}


def tallied(database: Path, before: Collection[Row]) -> Tally:
    """The records of a run that no learner has open. Raises RunDirectoryError."""
    rows = recorded(database)
    store = Store(database)
    try:
        audit, counts = store.audit(), store.counts()
    finally:
        store.close()
    outcomes = Counter(outcome for _, outcome, _ in rows)
    return Tally(
        dispatched=audit.dispatched,
        outstanding=audit.outstanding,
        recorded=audit.recorded,
        ids_recorded=len({attempt for attempt, _, _ in rows}),
        both=audit.both,
        neither=audit.neither,
        strays=audit.strays,
        changed=len(set(before) - set(rows)),
        proofs=counts["proofs"],
        proved=outcomes["proved"],
        outcomes=dict(outcomes),
    )


def _rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    if not database.exists():
        return []
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as db:
        try:
            return list(db.execute(query))
        except sqlite3.OperationalError:  # the learner is creating the tables
            return []
