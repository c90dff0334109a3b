"""Overview of evaluations, one row each: what was evaluated, the share that is solved, and the cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from node.eval.curves import wilson
from node.eval.folder import PLAN, Evaluation, FolderError
from node.eval.records import Standing
from node.eval.results import results_of
from node.eval.words import budgets_in_words, library_in_words


@dataclass(frozen=True)
class Row:
    """One evaluation."""

    folder: str
    benchmark: str
    digest: str
    policy: str
    method: str
    budgets: str
    seed: int
    passes: int
    statements: int
    """Statements that are evaluated."""
    unread: int
    """Rows of the whole benchmark that could not be read as statements."""
    counted: int
    """Evaluated statements that are solved or unsolved."""
    solved: float
    """Statements that one pass solves on average."""
    any: int
    """Statements that at least one pass solved."""
    rate: float
    """Share of the counted statements that one pass solves; nan if none is counted."""
    low: float
    high: float
    """Ends of its 95% interval (Wilson)."""
    rate_without_flawed: float
    """nan if no statement has a known flaw."""
    not_elaborated: int
    undecided: int
    missing: int
    """Attempts that were not played yet; 0: the evaluation is finished."""
    lean_attempts: int
    wall_seconds: float
    lean: str
    library: str
    date: float
    """Unix time of the last attempt; 0 without attempts."""


def row_of(evaluation: Evaluation) -> Row:
    """The row of an evaluation."""
    results = results_of(evaluation)
    plan, total = evaluation.plan, results.total
    low, high = wilson(total.solved, total.statements)
    return Row(
        folder=str(evaluation.path),
        benchmark=plan.benchmark.spec,
        digest=plan.benchmark.digest,
        policy=plan.label,
        method=plan.way,
        budgets=budgets_in_words(plan.budgets),
        seed=plan.seed,
        passes=results.passes,
        statements=len(results.statements),
        unread=results.unread,
        counted=total.statements,
        solved=total.solved,
        any=total.any,
        rate=total.rate,
        low=low,
        high=high,
        rate_without_flawed=results.without_flawed.rate if results.without_flawed else math.nan,
        not_elaborated=results.standings[Standing.NOT_ELABORATED],
        undecided=results.standings[Standing.UNDECIDED],
        missing=results.missing,
        lean_attempts=results.costs.lean_attempts,
        wall_seconds=results.costs.wall_seconds,
        lean=plan.lean.version,
        library=library_in_words(plan),
        date=max((each.time for each in evaluation.attempts), default=0.0),
    )


def same_statements(row: Row) -> tuple[str, int]:
    """A key that is equal for evaluations of the same statements, whatever the name and place of the benchmark."""
    return row.digest, row.statements


def in_order(rows: Sequence[Row]) -> list[Row]:
    """Sorted by the evaluated statements, then by decreasing rate; rows without a rate come last."""
    benchmark_names: dict[tuple[str, int], str] = {}
    for row in sorted(rows, key=lambda row: row.benchmark):
        benchmark_names.setdefault(same_statements(row), row.benchmark)

    def place(row: Row) -> tuple[str, str, int, float, str]:
        rate = 1.0 if math.isnan(row.rate) else -row.rate
        return benchmark_names[same_statements(row)], *same_statements(row), rate, row.folder

    return sorted(rows, key=place)


def evaluations_in(folder: Path) -> list[Path]:
    """The folder itself if it is an evaluation, else all evaluations below it. Raises FolderError if there is none."""
    if not folder.is_dir():
        raise FolderError(f"{folder}: no such folder; `proofmesh eval --out FOLDER` makes one")
    folders = [folder] if (folder / PLAN).is_file() else sorted(plan.parent for plan in folder.rglob(PLAN))
    if not folders:
        raise FolderError(f"{folder}: has no evaluation (no {PLAN}); `proofmesh eval --out {folder}/NAME` makes one")
    return folders
