"""Reads the statistics of a run's train theorems from its records, for commands that show a run."""

from __future__ import annotations

import enum
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from common.records.proofs import UnreadableRecords, reading

STATISTICS_SINCE = 6
"""Schema version from which records have statistics of theorems."""


class Order(enum.StrEnum):
    """The order of the theorems."""

    HARDEST = "hardest"
    """Undecided theorems first, those with most failures at the top."""
    TRIED = "tried"
    """Theorems with most attempts first."""
    COST = "cost"
    """Theorems with most expansions first."""


_ORDERS = {
    Order.HARDEST: "proofs > 0 OR disproved OR refused, failures DESC, expansions DESC",
    Order.TRIED: "attempts DESC, expansions DESC",
    Order.COST: "expansions DESC, attempts DESC",
}


@dataclass(frozen=True)
class TheoremRecord:
    """A train theorem with at least one result."""

    theorem_id: str
    family: str
    level: int
    binders: str
    conclusion: str
    attempts: int
    """Decided attempts to prove or to disprove it."""
    failures: int
    tries: int
    """Decided attempts to prove it."""
    proofs: int
    """Tries that proved it."""
    disproved: bool
    refused: bool
    """Lean does not accept the statement."""
    in_a_row: int
    shortest: int | None
    """Tactics on the longest branch of the shortest proof."""
    last_budget: int
    """Simulations of the last attempt."""
    last_weights: int
    expansions: int
    lean_attempts: int

    @property
    def result(self) -> str:
        """The result in a few words."""
        if self.refused:
            return "refused by Lean"
        if self.disproved:
            return "disproved"
        return f"proved {self.proofs} of {self.tries}" if self.proofs else "open"


@dataclass(frozen=True)
class Level:
    """The train theorems of one level."""

    level: int
    theorems: int
    tried: int
    """Theorems with a decided attempt."""
    proved: int
    disproved: int
    refused: int
    attempts: int
    failures: int
    expansions: int


def read_theorems(path: Path, limit: int, order: Order) -> tuple[list[Level], list[TheoremRecord]]:
    """The run's levels, and its first theorems by `order`. Raises UnreadableRecords."""
    with reading(path) as database:
        version: int = database.execute("PRAGMA user_version").fetchone()[0]
        if version < STATISTICS_SINCE:
            raise UnreadableRecords(
                f"{path}: an earlier version of proofmesh wrote it, without statistics of theorems; resume the run "
                "once to add them"
            )
        return _levels(database), _theorems(database, limit, order)


def _levels(database: sqlite3.Connection) -> list[Level]:
    rows = database.execute(
        "SELECT level, COUNT(*), COALESCE(SUM(attempts > 0), 0), COALESCE(SUM(proofs > 0), 0),"
        " COALESCE(SUM(disproved), 0), COALESCE(SUM(refused), 0), COALESCE(SUM(attempts), 0),"
        " COALESCE(SUM(failures), 0), COALESCE(SUM(expansions), 0)"
        " FROM theorems LEFT JOIN theorem_statistics USING (theorem_id) WHERE split = 'train'"
        " GROUP BY level ORDER BY level"
    )
    return [Level(*row) for row in rows]


def _theorems(database: sqlite3.Connection, limit: int, order: Order) -> list[TheoremRecord]:
    rows = database.execute(
        "SELECT theorem_id, family, level, binders, conclusion, attempts, failures, tries, proofs, disproved, refused,"
        " in_a_row, shortest, last_budget, last_weights, expansions, lean_attempts"
        f" FROM theorem_statistics JOIN theorems USING (theorem_id) ORDER BY {_ORDERS[order]}, theorem_id LIMIT ?",
        (limit,),
    )
    return [_theorem(*row) for row in rows]


def _theorem(
    theorem_id: str, family: str, level: int, binders: str, conclusion: str, attempts: int, failures: int, tries: int,
    proofs: int, disproved: int, refused: int, *numbers: int,
) -> TheoremRecord:  # fmt: skip
    first_columns = (theorem_id, family, level, binders, conclusion, attempts, failures, tries, proofs)
    return TheoremRecord(*first_columns, bool(disproved), bool(refused), *numbers)
