"""transformers' Trainer with a squared error, a fixed order of examples, and a stop if the loss is not finite."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import PrinterCallback, Trainer, TrainingArguments

from node.progress.data import Question
from node.progress.model import ProgressModel
from node.progress.settings import ProgressSettings
from node.progress.texts import encode
from node.tuning import stepping
from node.tuning.run_folder import RunFolder
from node.tuning.stepping import Clock, FixedOrder, Watch


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
    target = progress.asking.target
    data = [{"input_ids": row, "labels": encode(each.steps, target)} for row, each in zip(rows, questions, strict=True)]

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
        optimizers=stepping.optimizers(progress.model, settings.optimizer, clock),
    )
    made.remove_callback(PrinterCallback)
    return made


def _arguments(folder: RunFolder, settings: ProgressSettings, steps: int, device: torch.device) -> TrainingArguments:
    return TrainingArguments(
        **stepping.arguments(folder, settings, steps, settings.seed, on_gpu=device.type != "cpu"),
        per_device_train_batch_size=settings.batch,
        remove_unused_columns=False,
    )
