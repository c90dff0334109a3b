"""The statistics of each train theorem: outcomes and costs of its attempts. They are updated in the transaction that
records a result, so they always agree with the results."""

from __future__ import annotations

import sqlite3
from dataclasses import astuple, fields

from common.protocol.attempts import AttemptResult, Purpose
from common.records.file import Database
from common.records.rows import Recent, Verdict
from common.records.standing import Standing, learn

_COLUMNS = ", ".join(field.name for field in fields(Standing))

_KEEP = (
    f"INSERT INTO theorem_statistics (theorem_id, {_COLUMNS}, shortest, last_budget, last_weights, expansions,"
    f" lean_attempts) VALUES (?, {', '.join('?' * len(fields(Standing)))}, ?, ?, ?, ?, ?)"
    " ON CONFLICT (theorem_id) DO UPDATE SET "
    + ", ".join(f"{field.name} = excluded.{field.name}" for field in fields(Standing))
    # MIN of several values is NULL when one of them is.
    + ", shortest = COALESCE(MIN(shortest, excluded.shortest), shortest, excluded.shortest)"
    ", last_budget = excluded.last_budget, last_weights = excluded.last_weights,"
    " expansions = expansions + excluded.expansions, lean_attempts = lean_attempts + excluded.lean_attempts"
)


class TheoremStatistics(Database):
    """Statistics of the train theorems of an open database."""

    def standings(self) -> dict[str, Standing]:
        """The record of every theorem that has a result."""
        rows = self._rows(f"SELECT theorem_id, {_COLUMNS} FROM theorem_statistics")
        return {theorem_id: _standing(columns) for theorem_id, *columns in rows}

    def outstanding_theorems(self) -> list[str]:
        """The theorem of every outstanding attempt on a train statement."""
        rows = self._rows(
            "SELECT theorem_id FROM outbox JOIN attempts USING (attempt_id) WHERE purpose IN ('train', 'disprove')"
        )
        return [theorem_id for (theorem_id,) in rows]

    def recent(self, limit: int) -> list[Recent]:
        """The latest decided attempts to prove train statements, oldest first."""
        rows = self._rows(
            "SELECT theorem_id, outcome = 'proved' FROM results CROSS JOIN attempts USING (attempt_id)"
            " WHERE purpose = 'train' AND outcome IN ('proved', 'failed', 'rejected')"
            " ORDER BY results.rowid DESC LIMIT ?",
            limit,
        )
        return [Recent(theorem_id, bool(proved)) for theorem_id, proved in reversed(rows)]

    def _keep_statistics(
        self, db: sqlite3.Connection, theorem_id: str, purpose: str, result: AttemptResult, verdict: Verdict
    ) -> None:
        """Update a theorem's statistics with a result, in the transaction that records the result."""
        row = db.execute(f"SELECT {_COLUMNS} FROM theorem_statistics WHERE theorem_id = ?", (theorem_id,)).fetchone()
        standing = _standing(row) if row else Standing()
        learn(standing, purpose == Purpose.DISPROVE, verdict.outcome)
        (budget,) = db.execute("SELECT simulations FROM attempts WHERE attempt_id = ?", (result.attempt_id,)).fetchone()
        spent = result.statistics
        steps = _steps(verdict) if purpose == Purpose.TRAIN else None
        db.execute(
            _KEEP,
            (
                *(theorem_id, *astuple(standing), steps, budget),
                *(spent.weights_last, spent.expansions, spent.lean_attempts),
            ),
        )


def _standing(columns: list[int]) -> Standing:
    attempts, failures, tries, proofs, disproved, refused, in_a_row = columns
    return Standing(attempts, failures, tries, proofs, bool(disproved), bool(refused), in_a_row)


def _steps(verdict: Verdict) -> int | None:
    """Tactics on the longest branch of a verified proof; None without a proof, or if it has no transitions."""
    if verdict.proof is None:
        return None
    return max((each.remaining_steps for each in verdict.proof.transitions), default=None)
