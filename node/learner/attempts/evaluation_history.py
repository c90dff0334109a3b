"""Writes the history of a run's evaluations: `evaluations.jsonl` in its directory, and points for the monitor."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from itertools import groupby
from typing import TypeVar

from common import curves
from common.curves import Evaluated, Part, append_line
from common.records.database import explained
from common.records.rows import EvaluationRow, Tried
from common.records.store import Store
from node.learner.attempts.tally import solved
from node.learner.run.run import Run, now

K = TypeVar("K", int, str)


class EvaluationHistory:
    """Writes every finished evaluation to the history, once."""

    def __init__(self, run: Run, worked: Callable[[], float]) -> None:
        """`worked` returns the seconds that the run has been running so far, over all its processes."""
        self._run = run
        self._worked = worked
        self._writing = asyncio.Lock()

    async def finish(self, evaluation: int) -> None:
        """Mark an evaluation as finished, and write it. Raises RunDirectoryError."""
        await self._run.store.call(Store.finish_evaluation, evaluation, now(), round(self._worked(), 1))
        await self.write()

    async def write(self) -> None:
        """Append finished evaluations that are missing in the file. One is missing if a learner was killed after it
        finished the evaluation and before it wrote the line.

        Raises RunDirectoryError.
        """
        async with self._writing:  # an evaluation phase and one beside learning may finish at the same time
            await self._write()

    async def _write(self) -> None:
        path = self._run.directory.evaluations
        with explained(path):
            written = {each.label for each in curves.read_evaluations(path)}
        rows = [row for row in await self._run.store.call(Store.evaluations) if row.finished is not None]
        for row in sorted(rows, key=lambda row: row.finished or 0.0):
            if row.label in written:
                continue
            evaluation = await self._evaluated(row)
            # The point comes first, because the line in the file marks the evaluation as written. A repeated point does
            # no harm: it carries the evaluation's time, so the monitor shows it once.
            await self._run.journal.evaluation(evaluation)
            with explained(path):
                append_line(path, curves.evaluation_line(evaluation))

    async def _evaluated(self, row: EvaluationRow) -> Evaluated:
        tried = await self._run.store.call(Store.tried, row.evaluation_id)
        costs = await self._run.store.call(Store.evaluation_costs, row.evaluation_id)
        return evaluated(row, tried, costs)


def evaluated(row: EvaluationRow, tried: list[Tried], costs: dict[str, float]) -> Evaluated:
    """The counts and costs of a finished evaluation."""
    whole = part(tried)
    return Evaluated(
        label=row.label,
        beside=row.beside,
        step=row.step,
        weights=row.weights,
        time=round(row.finished or 0.0, 3),
        worked=row.worked,
        statements=whole.statements,
        solved=whole.solved,
        undecided=whole.undecided,
        simulations=row.simulations,
        simulations_used=int(costs["simulations"]),
        lean_attempts=int(costs["lean_attempts"]),
        tokens=int(costs["tokens"]) or None,
        levels=_parts(tried, lambda each: each.level),
        families=_parts(tried, lambda each: each.family),
    )


def part(tried: Iterable[Tried]) -> Part:
    """Counts the solved and undecided among these statements."""
    outcomes = [solved(each.outcomes) for each in tried]
    undecided = outcomes.count(None)
    share = round(outcomes.count(True) / max(1, len(outcomes) - undecided), 4)
    return Part(statements=len(outcomes), solved=outcomes.count(True), undecided=undecided, share=share)


def _parts(tried: Iterable[Tried], group: Callable[[Tried], K]) -> dict[str, Part]:
    groups = groupby(sorted(tried, key=group), group)
    return {str(name): part(some) for name, some in groups}
