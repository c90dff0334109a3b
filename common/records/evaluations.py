"""The database's records of evaluations: their state, the outcomes of their attempts, and their costs."""

from __future__ import annotations

from common.protocol.attempts import AttemptOutcome
from common.records.file import Database
from common.records.rows import EvaluationRow, Tried

COSTS = (
    "simulations",
    "expansions",
    "expansions_lost",
    "nodes",
    "tactics_tried",
    "tactics_failed",
    "seconds",
    "seconds_policy",
    "seconds_lean",
    "lean_attempts",
    "tokens",
)
"""Columns of `results` with the costs of an attempt."""

_SUMS = ", ".join(f"COALESCE(SUM(results.{name}), 0)" for name in COSTS)

_FIELDS = (
    "label, evaluation_id, weights, simulations, evaluations.created, finished, beside, worked, given_up,"
    " COALESCE(step, 0) FROM evaluations LEFT JOIN weights ON version = weights"
)


class EvaluationRecords(Database):
    """The evaluations of an open database."""

    def begin_evaluation(self, label: str, weights: int, simulations: int, now: float, beside: bool = False) -> int:
        """The id of the evaluation with this label; begins it if it does not exist."""
        with self._transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO evaluations (label, weights, simulations, created, beside)"
                " VALUES (?, ?, ?, ?, ?)",
                (label, weights, simulations, now, beside),
            )
        return int(self._rows("SELECT evaluation_id FROM evaluations WHERE label = ?", label)[0][0])

    def finish_evaluation(self, evaluation: int, now: float, worked: float | None = None) -> None:
        """Mark an evaluation as finished. `worked`: seconds that the run has been running so far."""
        with self._transaction() as db:
            db.execute(
                "UPDATE evaluations SET finished = ?, worked = ? WHERE evaluation_id = ? AND given_up IS NULL",
                (now, worked, evaluation),
            )

    def give_up_evaluation(self, evaluation: int, now: float, reason: str) -> None:
        """Mark an evaluation as abandoned: it has no result."""
        with self._transaction() as db:
            db.execute(
                "UPDATE evaluations SET given_up = ?, reason = ? WHERE evaluation_id = ? AND finished IS NULL",
                (now, reason, evaluation),
            )

    def evaluation(self, label: str) -> EvaluationRow | None:
        """An evaluation by its label, finished or not."""
        rows = self._rows(f"SELECT {_FIELDS} WHERE label = ?", label)
        return _row(*rows[0]) if rows else None

    def evaluations(self) -> list[EvaluationRow]:
        """All evaluations, in the order in which they were begun."""
        return [_row(*row) for row in self._rows(f"SELECT {_FIELDS} ORDER BY evaluation_id")]

    def evaluated(self, evaluation: int) -> dict[str, list[AttemptOutcome | None]]:
        """Outcomes of an evaluation's attempts by theorem; None: outstanding."""
        return {each.theorem_id: list(each.outcomes) for each in self.tried(evaluation)}

    def tried(self, evaluation: int) -> list[Tried]:
        """Every statement of an evaluation that has an attempt."""
        statements: dict[tuple[str, str, int], list[AttemptOutcome | None]] = {}
        for name, family, level, outcome in self._rows(
            "SELECT theorem_id, family, level, outcome FROM attempts JOIN theorems USING (theorem_id)"
            " LEFT JOIN results USING (attempt_id) WHERE evaluation_id = ? ORDER BY number",
            evaluation,
        ):
            outcomes = statements.setdefault((name, family, level), [])
            outcomes.append(None if outcome is None else AttemptOutcome(outcome))
        return [Tried(*statement, tuple(outcomes)) for statement, outcomes in statements.items()]

    def evaluation_costs(self, evaluation: int) -> dict[str, float]:
        """Total costs of the attempts of one evaluation (`COSTS`)."""
        (row,) = self._rows(
            f"SELECT {_SUMS} FROM results JOIN attempts USING (attempt_id) WHERE evaluation_id = ?", evaluation
        )
        return dict(zip(COSTS, row, strict=True))

    def costs(self) -> dict[str, dict[str, float]]:
        """Total costs by purpose of the attempts with a result: counts and seconds (`COSTS`). Evaluations beside
        learning have their own entry, `eval-beside`."""
        rows = self._rows(
            f"SELECT CASE WHEN beside THEN 'eval-beside' ELSE purpose END, COUNT(*), {_SUMS}"
            " FROM results JOIN attempts USING (attempt_id) LEFT JOIN evaluations USING (evaluation_id) GROUP BY 1"
        )
        return {purpose: dict(zip(("attempts", *COSTS), row, strict=True)) for purpose, *row in rows}

    def evaluation_expansions(self) -> int:
        """Expansions of all evaluations."""
        query = "SELECT COALESCE(SUM(expansions), 0) FROM results JOIN attempts USING (attempt_id)"
        return int(self._rows(f"{query} WHERE evaluation_id IS NOT NULL")[0][0])


def _row(
    label: str,
    evaluation_id: int,
    weights: int,
    simulations: int,
    created: float,
    finished: float | None,
    beside: int,
    worked: float | None,
    given_up: float | None,
    step: int,
) -> EvaluationRow:
    return EvaluationRow(
        label, evaluation_id, weights, simulations, created, finished, bool(beside), worked, given_up, step
    )
