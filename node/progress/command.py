"""`proofmesh train progress`: trains a model that predicts the remaining steps of a proof, by regression.

    proofmesh train progress --from-scratch --out runs/progress
    proofmesh trace PROJECT --format progress --out trace
    proofmesh train progress bert-base-uncased --data trace/progress.jsonl

The same command resumes an interrupted training. At the end it shows the error on held-out theorems, compared with
predictions that need no model.

Exit code: 0 trained, 1 training could not go on, 2 wrong arguments or data, 130 interrupted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import tyro

from common.limits import Natural, Positive
from common.output.visible import say
from node.tuning import commands
from node.tuning.settings import KEPT_OUT, TuningSettings


@dataclass(frozen=True)
class Shape:
    """Shape of an encoder with fresh weights (--from-scratch)."""

    width: Positive = 128
    """Length of a token vector."""

    depth: Positive = 3
    """Layers."""

    heads: Positive = 4
    """Attention heads."""

    vocab_size: Positive = 2000
    """Most tokens of the vocabulary; the tokenizer is trained on the data."""


@dataclass(kw_only=True)
class ProgressSettings(TuningSettings):
    """Train a model that predicts how many steps of a proof remain, by regression (LeanProgress, arXiv 2502.17925)."""

    model: Annotated[str, tyro.conf.Positional] = ""
    """A folder or an id of the hub, in Hugging Face's format; it gets an output layer with one number. With --lora an
    adapter is trained, and merged into the saved model."""

    from_scratch: bool = False
    """Start with a small encoder with fresh weights and a tokenizer trained on the data, instead of a model."""

    shape: Shape = field(default_factory=Shape)

    out: Path = Path("runs/progress")
    """Folder of the training: checkpoints, curves, and at the end the trained model in OUT/model."""

    data: tuple[str, ...] = ("bank@all",)
    """Sources of training data: lines of `goal`, `prefix`, `tactic`, `steps_remaining` (`proofmesh trace --format
    progress`), folders of `proofmesh trace`, runs (proofs.sqlite), `bank`, `bank@all`, another
    bank's FOLDER or FOLDER@warm."""

    keep_out: tuple[str, ...] = KEPT_OUT
    """Benchmarks whose statements are never trained on, named as for `proofmesh eval`."""

    held_out: Natural = 10
    """One in this many theorems is held out with all its steps, to measure the error; 0: none."""

    batch: Positive = 32
    """Questions in a training step."""

    max_tokens: Positive = 512
    """Longer texts are truncated at the beginning, because goal and tactic are at the end."""

    seed: Natural = 0
    """Equal seeds give equal models, unless --minutes ends the training."""

    fresh: bool = False
    """Start from scratch, also if the folder has a run."""

    def check(self) -> None:
        """Checks conditions on several settings. Raises ValueError."""
        if bool(self.model) == self.from_scratch:
            raise ValueError("from-scratch: give either this flag or the name of a model")
        if self.from_scratch and self.lora.on:
            raise ValueError("lora needs an existing model: leave out --from-scratch")
        if self.shape.width % self.shape.heads:
            raise ValueError(f"shape.width {self.shape.width}: must be a multiple of --shape.heads {self.shape.heads}")
        if self.from_scratch and self.max_tokens < 8:
            raise ValueError(f"max-tokens {self.max_tokens}: must be at least 8, so that a state fits")


ROWS = {"model": "model", "mean": "mean of the training data", "lengths": "linear in lengths"}


def main(argv: Sequence[str]) -> int:
    """The command; returns its exit code."""
    return commands.main("proofmesh train progress", __doc__, ProgressSettings, argv, _run)


def _run(settings: ProgressSettings) -> None:
    """Trains, and shows the measures of the model beside the baselines. Raises TrainingError."""
    from rich.table import Table

    from common.output.terminal import Console
    from node.progress.training import run

    # 1. Training, or the summary of a finished run.
    summary = run(settings)
    console = Console()
    if measured := summary["held_out"]:
        # 2. The model beside its baselines.
        table = Table(
            title=f"steps after a tactic, held-out theorems ({measured['model']['count']:,})", title_justify="left"
        )
        for column in ("", "mean absolute error", "root mean squared", "rank correlation"):
            table.add_column(column, justify="left" if not column else "right")
        for name, words in ROWS.items():
            each = measured[name]
            rank = each["rank_correlation"]
            errors = (f"{each['mean_absolute_error']:.3f}", f"{each['root_mean_squared_error']:.3f}")
            table.add_row(words, *errors, "-" if rank is None else f"{rank:.3f}")
        console.print(table)
        # 3. The same by distance, because a mean over all hides how well far ones are judged.
        distances = Table(title="by true distance", title_justify="left")
        by_distance = measured["model"]["by_distance"]
        for column in ("steps", *by_distance):
            distances.add_column(column, justify="right")
        distances.add_row("questions", *(f"{each['count']:,}" for each in by_distance.values()))
        for figure, words in (("mean_prediction", "mean prediction"), ("mean_absolute_error", "mean absolute error")):
            distances.add_row(words, *(f"{each[figure]:.2f}" for each in by_distance.values()))
        console.print(distances)
    say(
        f"{summary['parameters']:,} parameters, {summary['questions']:,} questions, {summary['steps']:,} steps in "
        f"{summary['seconds']:,.0f} s"
    )
    say(f"the model is in {summary['use']}")
