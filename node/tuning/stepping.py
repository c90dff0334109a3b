"""Shared steps of the trainers of Hugging Face models, on transformers' Trainer.

A fixed order of examples, AdamW with one schedule, a stop if the loss is not finite, and checkpoints that count only
when they are complete.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from transformers import TrainerCallback

from node.data.errors import NotFinite
from node.training.journal import StageJournal
from node.tuning.order import Fixed
from node.tuning.run_folder import RunFolder
from node.tuning.settings import OptimizerSettings, TuningSettings

BETAS = (0.9, 0.98)
"""Betas of AdamW. With 0.999 a short training would still average over the large gradients of its first steps."""


Stop = Callable[[], bool]
"""Returns True when the training should end after the current step."""


@dataclass
class Clock:
    """The progress of a training, by steps or by time, whichever is further."""

    steps: int
    seconds: float
    """Most seconds; inf: no limit."""
    before: float = 0.0
    """Seconds of training before this process."""
    started: float = 0.0

    def start(self) -> None:
        """Starts the clock. Call it before the optimizer is created: its first learning rate depends on the clock."""
        self.started = time.monotonic()

    @property
    def spent(self) -> float:
        return self.before + time.monotonic() - self.started

    def done(self, step: int) -> float:
        return max(step / self.steps, self.spent / self.seconds)


class FiniteSteps:
    """A mixin for a Trainer: stops before a step that is not finite."""

    state: Any

    def compute_loss(self, *arguments: Any, **more: Any) -> Any:
        """The loss. Raises NotFinite before the step changes any weight."""
        result = super().compute_loss(*arguments, **more)  # type: ignore[misc]
        loss = result[0] if isinstance(result, tuple) else result
        if not torch.isfinite(loss).all():
            raise NotFinite(f"the loss of step {self.state.global_step + 1} is not a number")
        return result

    def _clip_grad_norm(self, model: Any) -> Any:
        norm = super()._clip_grad_norm(model)  # type: ignore[misc]
        if not torch.isfinite(torch.as_tensor(norm)).all():
            raise NotFinite(f"the gradient of step {self.state.global_step + 1} is not a number")
        return norm

    def create_model_card(self, *arguments: Any, **more: Any) -> None:
        """Writes nothing: proofmesh writes model cards itself."""


class FixedOrder(FiniteSteps):
    """A mixin for a Trainer: fixes the order of the data, and stops before a step that is not finite."""

    order: Sequence[int]
    """Rows of the data set for the whole training; must be set before the Trainer's `__init__`."""

    def _get_train_sampler(self, train_dataset: Any = None) -> Fixed:
        return Fixed(self.order)


class Watch(TrainerCallback):
    """Marks checkpoints as complete, and ends the training at its time limit or when the user stops it. Subclasses
    write the curves (`on_log`)."""

    def __init__(self, folder: RunFolder, journal: StageJournal, clock: Clock, wants_end: Stop) -> None:
        self._folder, self._journal, self._clock, self._wants_end = folder, journal, clock, wants_end

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        if self._clock.done(state.global_step) >= 1 or self._wants_end():
            control.should_training_stop = control.should_save = True

    def on_save(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        self._folder.completed(state.global_step, self._clock.spent)


def optimizers(model: Any, settings: OptimizerSettings, clock: Clock) -> tuple[AdamW, LambdaLR]:
    """AdamW of the trainable parameters. The learning rate rises, stays constant, and falls to 0."""
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = AdamW(trained, lr=settings.rate, betas=BETAS, weight_decay=settings.weight_decay)

    def factor(step: int) -> float:
        rising = (step + 1) / (clock.steps * settings.warmup + 1)
        falling = (1 - clock.done(step)) / settings.cooldown if settings.cooldown else 1.0
        return max(0.0, min(1.0, rising, falling))

    return optimizer, LambdaLR(optimizer, factor)


def arguments(folder: RunFolder, settings: TuningSettings, steps: int, seed: int, *, on_gpu: bool) -> dict[str, Any]:
    """The `TrainingArguments` that all trainers share."""
    return {
        "output_dir": str(folder.checkpoints),
        "max_steps": steps,
        "max_grad_norm": settings.optimizer.clip,
        "logging_steps": settings.keeping.log_every,
        "logging_nan_inf_filter": False,
        "save_steps": settings.keeping.save_every,
        "save_total_limit": 2,  # the newest one may be incomplete
        "gradient_checkpointing": settings.place.recompute,
        "use_cpu": not on_gpu,
        "dataloader_pin_memory": False,
        "report_to": "none",
        "disable_tqdm": True,
        "seed": seed,
    }


def half_precision(settings: TuningSettings, *, on_gpu: bool) -> bool:
    """Whether the steps are computed in bfloat16."""
    return on_gpu and settings.place.dtype != "float32" and torch.cuda.is_bf16_supported()
