"""`proofmesh train progress`: trains a model that predicts the remaining steps of a proof, by regression.

    proofmesh train progress --from-scratch --out runs/progress
    proofmesh trace PROJECT --format progress --out trace
    proofmesh train progress bert-base-uncased --data trace/progress.jsonl --prefix --target steps
    proofmesh prove 'theorem t (p q : Prop) : p ∧ q → q ∧ p' --progress runs/progress/model

The same command resumes an interrupted training. At the end it shows the error on held-out theorems, compared with
predictions that need no model.

Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or data, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from common.output.visible import say
from node.progress.settings import ProgressSettings
from node.tuning import commands

ROWS = {"model": "model", "mean": "mean of the training data", "lengths": "linear in lengths"}


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    return commands.main("proofmesh train progress", __doc__, ProgressSettings, argv, _run)


def _run(settings: ProgressSettings) -> None:
    """Raises TrainingError."""
    from node.progress.training import run

    _show(run(settings))


def _show(summary: Mapping[str, Any]) -> None:
    from rich.table import Table

    from common.output.terminal import Console

    console = Console()
    for question_kind, title in (("tactics", "steps after a tactic"), ("states", "steps from a state")):
        if not (measured := summary["held_out"].get(question_kind)):
            continue
        table = Table(title=f"{title}, held-out theorems ({measured['model']['count']:,})", title_justify="left")
        for column in ("", "mean absolute error", "root mean squared", "rank correlation"):
            table.add_column(column, justify="left" if not column else "right")
        for name, words in ROWS.items():
            each = measured[name]
            rank = each["rank_correlation"]
            errors = (f"{each['mean_absolute_error']:.3f}", f"{each['root_mean_squared_error']:.3f}")
            table.add_row(words, *errors, "-" if rank is None else f"{rank:.3f}")
        console.print(table)
        distances = Table(title="by true distance", title_justify="left")
        by_distance = measured["model"]["by_distance"]
        for column in ("steps", *by_distance):
            distances.add_column(column, justify="right")
        distances.add_row("questions", *(f"{each['count']:,}" for each in by_distance.values()))
        for field, words in (("mean_prediction", "mean prediction"), ("mean_absolute_error", "mean absolute error")):
            distances.add_row(words, *(f"{each[field]:.2f}" for each in by_distance.values()))
        console.print(distances)
    say(
        f"{summary['parameters']:,} parameters, {summary['questions']:,} questions, {summary['steps']:,} steps in "
        f"{summary['seconds']:,.0f} s"
    )
    say(f"use it with --progress {summary['use']}")
