"""Trains a progress model, from the settings to the folder of the trained model.

outcome = run(ProgressSettings(from_scratch=True, out=Path("runs/progress")))
outcome["held_out"]["model"]["mean_absolute_error"]
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from transformers import PrinterCallback, Trainer, TrainingArguments, set_seed

from common.seeds import split
from node.data.errors import InputError
from node.model.hub.folders import written_folder
from node.progress.command import ProgressSettings
from node.progress.data import Question, questions, read_all
from node.progress.model import ProgressModel, begin, fresh
from node.tuning import carrying_out
from node.tuning.base_model import lora_config
from node.tuning.carrying_out import (
    Clock,
    FixedOrder,
    Stop,
    Watch,
    carried_out,
    explained,
    journal_of,
    order,
    part_of,
    steps_of,
)
from node.tuning.run_folder import RunFolder

MOST_HELD_OUT = 20_000
"""Most questions for measuring the error."""


@dataclass(frozen=True)
class Prepared:
    """Questions for training and for measuring."""

    train: list[Question]
    held_out: list[Question]
    seen: int
    """Number of held-out questions that also occur in the training data; they are not measured."""


def run(settings: ProgressSettings) -> dict[str, Any]:
    """Trains, or resumes the run in the folder, and returns the contents of summary.json. A finished run is not
    repeated.

    Raises InputError, TrainingError (NotFinite, Interrupted).
    """
    folder = RunFolder(settings.out)
    folder.check({}, fresh=True)  # before the slow loading of data and model
    prepared = prepare(settings)
    set_seed(settings.seed)
    progress = _model(settings, prepared)
    steps = steps_of(settings.length, len(prepared.train), settings.batch)
    return carried_out(
        folder,
        _identity(settings, prepared, steps),
        lambda wants_end: _train(progress, prepared, settings, folder, steps, wants_end),
        fresh=settings.fresh,
    )


def prepare(settings: ProgressSettings) -> Prepared:
    """Reads the data and splits it. Raises InputError if there is nothing to train on."""
    train_rows, held_out_rows = split(read_all(settings.data, settings.keep_out), settings.held_out)
    train = questions(train_rows)
    held_out = questions(held_out_rows)
    if not train:
        raise InputError(
            f"--data {' '.join(settings.data)}: all theorems are held out; use a larger --held-out, or 0 for none"
        )
    train_texts = {each.text for each in train}
    unseen = [each for each in held_out if each.text not in train_texts]
    return Prepared(train, unseen[:MOST_HELD_OUT], len(held_out) - len(unseen))


def _model(settings: ProgressSettings, prepared: Prepared) -> ProgressModel:
    """Raises InputError."""
    if settings.from_scratch:
        texts = [each.text for each in prepared.train]
        return fresh(settings.shape, settings.max_tokens, texts, settings.place.device, seed=settings.seed)
    progress = begin(settings.model, settings.max_tokens, settings.place.device, seed=settings.seed)
    if settings.lora.on:
        from peft import get_peft_model

        try:
            progress.model = get_peft_model(progress.model, lora_config(settings.lora, "SEQ_CLS"))
        except ValueError as error:
            raise InputError(f"--lora.targets: {' '.join(str(error).split())[:200]}") from error
    return progress


def _identity(settings: ProgressSettings, prepared: Prepared, steps: int) -> dict[str, Any]:
    """All that determines the result: a run is resumed only if all of it is equal."""
    digest = hashlib.sha256()
    for each in prepared.train:
        digest.update(f"{each.text}\0{each.steps}\0".encode())
    return {
        "kind": "progress",
        "model": settings.model or asdict(settings.shape),
        "data": list(settings.data),
        "questions": f"{len(prepared.train)} {digest.hexdigest()[:16]}",
        "lora": asdict(settings.lora) if settings.lora.on else None,
        "steps": steps,
        "minutes": settings.length.minutes,
        "batch": settings.batch,
        "optimizer": asdict(settings.optimizer),
        "max_tokens": settings.max_tokens,
        "seed": settings.seed,
    }


def _train(
    progress: ProgressModel,
    prepared: Prepared,
    settings: ProgressSettings,
    folder: RunFolder,
    steps: int,
    wants_end: Stop,
) -> dict[str, Any]:
    """Raises TrainingError."""
    rows = progress.tokens([each.text for each in prepared.train])
    # 1. The order of the examples is fixed by the seed, and ends where this part ends: a resumed run goes on in the
    # same order.
    part = part_of(folder, steps, settings.length.minutes)
    examples = order([len(row) for row in rows], settings.batch, steps, settings.seed)[: part.until]
    with journal_of(folder, part, settings.keeping.tracker, settings) as journal:
        part.clock.start()
        watch = ProgressWatch(folder, journal, part.clock, wants_end)
        made = trainer(progress, prepared.train, rows, examples, folder, settings, part.clock, watch)
        # 2. Training.
        with explained(
            folder,
            not_finite="add --fresh and a smaller --rate",
            memory="use a smaller --batch or --max-tokens, --recompute, or --lora",
        ):
            last = part.train(made, wants_end)
        # 3. Adapters are merged, so that the folder is a model of its own.
        seconds = part.clock.spent
        if settings.lora.on:
            progress.model = progress.model.merge_and_unload()
        summary = {
            "use": str(folder.model),
            "parameters": sum(parameter.numel() for parameter in progress.model.parameters()),
            "questions": len(prepared.train),
            "steps": last,
            "seconds": round(seconds, 1),
            "held_out_seen": prepared.seen,
            "held_out": evaluate(progress, prepared.train, prepared.held_out),
        }
        # 4. The summary comes last: a run with a summary is a finished run.
        with written_folder(folder.model, force=True) as unfinished:
            progress.save(unfinished)
        folder.finish(summary)
    return summary


def evaluate(progress: ProgressModel, train: Sequence[Question], held_out: Sequence[Question]) -> dict[str, Any]:
    """Measures (`node.progress.training`) of the model and of the baselines; empty without held-out questions.
    `train`: the data of the baselines."""
    if not held_out:
        return {}
    predictions = {"model": progress.predict([each.text for each in held_out]), **baselines(train, held_out)}
    steps = [each.steps for each in held_out]
    return {which: measures(predicted, steps) for which, predicted in predictions.items()}


# ----------------------------------------------------------------------------------------------------------------------
# transformers' Trainer with a squared error, a fixed order of examples, and a stop if the loss is not finite.


class _Squared(Trainer):
    """The loss of a step is the mean of (output - target)² over its questions."""

    def compute_loss(self, model: Any, inputs: dict[str, Any], *others: Any, **more: Any) -> Any:
        labels = inputs.pop("labels")
        return torch.nn.functional.mse_loss(model(**inputs).logits.squeeze(-1).float(), labels)


class ProgressTrainer(FixedOrder, _Squared):
    """The trainer with a fixed order of examples."""

    def __init__(self, examples: np.ndarray, **arguments: Any) -> None:
        """`examples`: numbers of the examples, in the order of the training."""
        self.order = examples.ravel().tolist()
        super().__init__(**arguments)


class ProgressWatch(Watch):
    """Writes the curves of a regression."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        if not logs or "loss" not in logs:
            return
        self._journal.at(state.global_step, f"loss {logs['loss']:.3f}")
        values = {
            "loss": float(logs["loss"]),
            "grad_norm": float(logs.get("grad_norm") or 0.0),
            "rate": float(logs.get("learning_rate") or 0.0),
            "seconds": self._clock.spent,
        }
        self._journal.write(state.global_step, values)


def trainer(
    progress: ProgressModel,
    questions: Sequence[Question],
    rows: Sequence[Sequence[int]],
    examples: np.ndarray,
    folder: RunFolder,
    settings: ProgressSettings,
    clock: Clock,
    watch: ProgressWatch,
) -> ProgressTrainer:
    """The trainer, ready to train on `examples` (shape (steps, batch)) of `rows`, the tokens of the questions."""
    data = [{"input_ids": row, "labels": each.steps} for row, each in zip(rows, questions, strict=True)]

    def collate(batch: Sequence[dict[str, Any]]) -> dict[str, Any]:
        labels = torch.tensor([each["labels"] for each in batch], dtype=torch.float32, device=progress.model.device)
        return {**progress.padded([each["input_ids"] for each in batch]), "labels": labels}

    made = ProgressTrainer(
        examples,
        model=progress.model,
        args=_arguments(folder, settings, len(examples), progress.model.device),
        train_dataset=data,
        data_collator=collate,
        callbacks=[watch],
        optimizers=carrying_out.optimizers(progress.model, settings.optimizer, clock),
    )
    made.remove_callback(PrinterCallback)
    return made


def _arguments(folder: RunFolder, settings: ProgressSettings, steps: int, device: torch.device) -> TrainingArguments:
    return TrainingArguments(
        **carrying_out.arguments(folder, settings, steps, settings.seed, on_gpu=device.type != "cpu"),
        per_device_train_batch_size=settings.batch,
        remove_unused_columns=False,
    )


# --- errors of predicted steps, and of baselines that need no model ---------------------------------------------------

FAR = 8
"""All distances from this one on are in one group."""


def measures(predicted: Sequence[float], steps: Sequence[float]) -> dict[str, Any]:
    """Mean absolute error and root mean squared error in steps, Spearman's rank correlation (None if one side is
    constant), and the mean absolute error by true distance."""
    guess, truth = np.asarray(predicted, float), np.asarray(steps, float)
    error = np.abs(guess - truth)
    distance = np.minimum(truth, FAR).astype(int)
    return {
        "count": len(truth),
        "mean_absolute_error": round(float(error.mean()), 4),
        "root_mean_squared_error": round(float(np.sqrt((error**2).mean())), 4),
        "rank_correlation": _rank_correlation(guess, truth),
        "by_distance": {
            str(each): {
                "count": int((distance == each).sum()),
                "mean_absolute_error": round(float(error[distance == each].mean()), 4),
                "mean_prediction": round(float(guess[distance == each].mean()), 3),
            }
            for each in sorted(set(distance.tolist()))
        },
    }


def _rank_correlation(left: np.ndarray, right: np.ndarray) -> float | None:
    left_ranks, right_ranks = _ranks(left), _ranks(right)
    if min(left_ranks.std(), right_ranks.std()) < 1e-12:
        return None
    return round(float(np.corrcoef(left_ranks, right_ranks)[0, 1]), 4)


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks from 1; equal values share their mean rank."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=float)


def baselines(train: Sequence[Question], held_out: Sequence[Question]) -> dict[str, list[float]]:
    """Baseline predictions for the held-out questions: the mean of the training data, and least squares on lengths."""
    steps = np.asarray([each.steps for each in train])
    weights, *_ = np.linalg.lstsq(_lengths(train), steps, rcond=None)
    return {
        "mean": [float(steps.mean())] * len(held_out),
        "lengths": np.maximum(_lengths(held_out) @ weights, 0.0).tolist(),
    }


def _lengths(questions: Sequence[Question]) -> np.ndarray:
    """Shape (questions, 5): 1, characters of the goal and of the tactic in hundreds, lines, symbols after the first ⊢
    in hundreds."""
    rows = []
    for each in questions:
        goal, _, tactic = each.text.rpartition("\n\nCandidate tactic:\n")
        conclusion = goal.partition("⊢")[2]
        rows.append([1.0, len(goal) / 100, len(tactic) / 100, goal.count("\n"), len(conclusion) / 100])
    return np.asarray(rows)
