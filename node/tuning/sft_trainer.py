"""TRL's SFTTrainer with a loss weight for each example."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from transformers import PrinterCallback
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import DataCollatorForLanguageModeling, SFTTrainer

from node.llm.hub.loading import Loaded
from node.training.journal import StageJournal
from node.tuning import stepping
from node.tuning.run_folder import RunFolder
from node.tuning.sft_settings import SftSettings
from node.tuning.stepping import Clock, FixedOrder, Stop, Watch
from node.tuning.tokens import Tokens


def dataset(rows: Sequence[Tokens]) -> Dataset:
    """Columns `input_ids`, `labels` and `weight`. TRL does not tokenize rows that have tokens already. Its own
    tokenization would join prompt and completion first, which gives other tokens at their boundary than at
    inference."""
    return Dataset.from_dict(
        {
            "input_ids": [list(row.ids) for row in rows],
            "labels": [row.labels for row in rows],
            "weight": [row.weight for row in rows],
        }
    )


class Collator(DataCollatorForLanguageModeling):
    """TRL's collator, with an additional `weight`: float32 of shape (batch,)."""

    def torch_call(self, examples: list[dict[str, Any]]) -> dict[str, Any]:
        weights = torch.tensor([example.get("weight", 1.0) for example in examples], dtype=torch.float32)
        inputs_and_labels: dict[str, Any] = super().torch_call(examples)
        return {**inputs_and_labels, "weight": weights}


class WeightedTrainer(FixedOrder, SFTTrainer):
    """TRL's trainer. The loss of a step is the sum of weight * -log p(token) over the tokens of its completions,
    divided by the number of these tokens."""

    def __init__(self, examples: np.ndarray, **arguments: Any) -> None:
        """`examples`: numbers of the examples, in the order of the training."""
        self.order = examples.ravel().tolist()
        super().__init__(**arguments)
        # The Trainer must divide by the tokens of the whole step, even if the model's forward pass does not support it.
        self.model_accepts_loss_kwargs = True

    def compute_loss(self, model: Any, inputs: dict[str, Any], *others: Any, **more: Any) -> Any:
        """The weighted loss. Raises NotFinite before the step changes any weight."""
        weight = inputs.pop("weight")[:, None]

        def weighted(**arguments: Any) -> Any:
            outputs = model(**arguments)
            outputs.log_probs = outputs.log_probs * weight
            return outputs

        return super().compute_loss(weighted, inputs, *others, **more)


class SftWatch(Watch):
    """Writes the curves of a supervised fine-tuning."""

    def __init__(self, folder: RunFolder, journal: StageJournal, clock: Clock, tokens: np.ndarray, stop: Stop) -> None:
        """`tokens`: number of tokens in each step, including prompts."""
        super().__init__(folder, journal, clock, stop)
        self._seen = np.concatenate([[0], np.cumsum(tokens)])
        self._mark = (0, 0.0)

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._mark = (state.global_step, self._clock.spent)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **more: Any) -> None:
        if not logs or "loss" not in logs:
            return
        step, now = state.global_step, self._clock.spent
        (before, then), self._mark = self._mark, (step, now)
        speed = (self._seen[step] - self._seen[before]) / max(now - then, 1e-9)
        self._journal.at(step, f"loss {logs['loss']:.3f}")
        values = {
            "loss": float(logs["loss"]),
            "grad_norm": float(logs.get("grad_norm") or 0.0),
            "rate": float(logs.get("learning_rate") or 0.0),
            "accuracy": float(logs.get("mean_token_accuracy") or 0.0),
            "entropy": float(logs.get("entropy") or 0.0),
            "tokens": float(self._seen[step]),
            "tokens_per_second": float(speed),
            "seconds": now,
        }
        self._journal.write(step, values)


def arguments(folder: RunFolder, settings: SftSettings, steps: int, device: torch.device) -> SFTConfig:
    """For TRL."""
    micro = settings.micro_batch or settings.batch
    on_gpu = device.type == "cuda"
    return SFTConfig(
        **stepping.arguments(folder, settings, steps, settings.seed, on_gpu=on_gpu),
        per_device_train_batch_size=micro,
        gradient_accumulation_steps=settings.batch // micro,
        bf16=stepping.half_precision(settings, on_gpu=on_gpu),
        max_length=None,  # no truncation: examples that are too long were left out
        packing=False,
        shuffle_dataset=False,
        remove_unused_columns=False,  # TRL would remove `weight`
        average_tokens_across_devices=False,
    )


def trainer(
    loaded: Loaded,
    rows: Sequence[Tokens],
    examples: np.ndarray,
    args: SFTConfig,
    settings: SftSettings,
    clock: Clock,
    watch: SftWatch,
) -> WeightedTrainer:
    """The trainer, ready to train on `examples` (shape (steps, batch)) of `rows`."""
    made = WeightedTrainer(
        examples,
        model=loaded.model,
        args=args,
        data_collator=Collator(loaded.pad),
        train_dataset=dataset(rows),
        processing_class=loaded.tokenizer,
        callbacks=[watch],
        optimizers=stepping.optimizers(loaded.model, settings.optimizer, clock),
    )
    made.remove_callback(PrinterCallback)
    return made


def held_out_loss(loaded: Loaded, rows: Sequence[Tokens], batch: int) -> float:
    """Mean of -log p over the tokens of the completions, in nats, with equal weight for all tokens."""
    model, total, count = loaded.model, 0.0, 0
    model.eval()
    order = sorted(range(len(rows)), key=lambda place: len(rows[place].ids))
    collator = DataCollatorForLanguageModeling(loaded.pad)
    for start in range(0, len(order), batch):
        part = [rows[place] for place in order[start : start + batch]]
        inputs = collator([{"input_ids": list(row.ids), "labels": row.labels} for row in part])
        inputs = {name: each.to(loaded.device) for name, each in inputs.items()}
        labels = inputs.pop("labels")[:, 1:]
        with torch.no_grad():
            logits = model(**inputs, use_cache=False).logits[:, :-1].float()
        counted = labels != -100
        total += torch.nn.functional.cross_entropy(logits[counted], labels[counted], reduction="sum").item()
        count += int(counted.sum())
    return total / max(count, 1)
