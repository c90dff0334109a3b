"""Carries out a training of a Hugging Face model with transformers' Trainer in its folder: lock, resuming, interrupts,
full disks; the steps that all trainers share; and the order of the examples, which is fixed before the first step, so
that a run can resume at any step.
"""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Any

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Sampler
from transformers import TrainerCallback

from common.output.command import Exit
from common.run_folder import owned
from common.seeds import derive_seed
from common.watch.tracking import Tracked
from node.data.errors import InputError, NotFinite, TrainingError
from node.llm.hub.loading import quiet
from node.training.journal import StageJournal
from node.tuning.run_folder import Checkpoint, RunFolder
from node.tuning.settings import LengthSettings, OptimizerSettings, TuningSettings

FULL_DISK = ("no space left", "file too large", "disk quota", "pytorchstreamwriter", "unexpected pos", "i/o error")
"""Phrases in the errors of libraries when a file cannot be written."""


class Interrupted(TrainingError):
    """The user stopped the training; it can be resumed. Exit code 130, as after Ctrl-C."""

    exit_code = Exit.INTERRUPTED


def carried_out(
    folder: RunFolder, identity: Mapping[str, Any], train: Callable[[Stop], dict[str, Any]], *, fresh: bool
) -> dict[str, Any]:
    """Trains, or resumes the run in the folder, and returns the summary. A finished run is not repeated.

    `identity`: all that determines the result. `fresh`: start from scratch. Raises InputError, TrainingError.
    """
    if (summary := finished(folder, identity, fresh=fresh)) is not None:
        return summary
    in_use = f"--out {folder.path}: another process is training in this folder; name another one"
    with written(folder), owned(folder.path, lambda: InputError(in_use)), interrupts() as wants_end:
        folder.begin(identity, fresh=fresh)
        return train(wants_end)


def finished(folder: RunFolder, identity: Mapping[str, Any], *, fresh: bool) -> dict[str, Any] | None:
    """The summary of a finished run with this identity; None if there is still something to train. Raises InputError if
    the folder holds another run, or something else."""
    folder.check(identity, fresh=fresh)
    return None if fresh else folder.summary()


def steps_of(length: LengthSettings, examples: int, batch: int) -> int:
    """The number of training steps: as set, or as many as the epochs need."""
    return length.steps or max(1, math.ceil(length.epochs * examples / batch))


@dataclass(frozen=True)
class Part:
    """The part of a training that this process runs."""

    checkpoint: Checkpoint | None
    """The checkpoint that it resumes from; None: it starts from scratch."""
    clock: Clock
    steps: int
    """Steps of the whole training."""
    until: int
    """The step at which it ends: the last step, or that of the checkpoint if the time limit is already reached."""

    def train(self, trainer: Any, wants_end: Stop) -> int:
        """Runs transformers' Trainer and returns the last step. Raises Interrupted."""
        path = str(self.checkpoint.path) if self.checkpoint else None
        trainer.train(resume_from_checkpoint=path)
        last = int(trainer.state.global_step)
        if wants_end() and last < self.until:
            raise Interrupted(f"stopped at step {last:,} of {self.steps:,}; the same command resumes it")
        return last


def part_of(folder: RunFolder, steps: int, minutes: float | None) -> Part:
    """The remaining part of a training with this number of steps and at most this many minutes of training."""
    checkpoint = folder.last()
    clock = Clock(steps, 60 * (minutes or math.inf), checkpoint.seconds if checkpoint else 0.0)
    time_is_over = checkpoint is not None and clock.before >= clock.seconds
    return Part(checkpoint, clock, steps, checkpoint.step if checkpoint and time_is_over else steps)


@contextmanager
def journal_of(folder: RunFolder, part: Part, tracker: str, settings: Any) -> Iterator[StageJournal]:
    """Opens the journal of the curves, cut to the step from which the part resumes. Silences the libraries
    meanwhile. `tracker`: what gets the curves, too, with these settings. Raises UserError."""
    tracked = Tracked(tracker, folder.path, asdict(settings))
    with StageJournal(folder.metrics, part.steps, first=True, tracked=tracked) as journal, quiet():
        journal.trim(part.checkpoint.step if part.checkpoint else -1)
        if part.checkpoint:
            journal.say(f"resuming from step {part.checkpoint.step:,} of {part.steps:,}")
        yield journal


@contextmanager
def interrupts() -> Iterator[Stop]:
    """Gives a function that returns True after Ctrl-C or SIGTERM. The current step is finished and saved. A second
    Ctrl-C ends the process at once."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    asked = threading.Event()

    def handle(number: int, frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    before = {each: signal.signal(each, handle) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


@contextmanager
def explained(folder: RunFolder, *, not_finite: str, memory: str) -> Iterator[None]:
    """Turns errors of the training into messages that say what to do. Raises TrainingError."""
    try:
        yield
    except NotFinite as error:
        raise NotFinite(f"{error}; {kept(folder)}: {not_finite}") from error
    except torch.OutOfMemoryError as error:
        raise TrainingError(f"out of memory; {kept(folder)}: {memory}") from error


@contextmanager
def written(folder: RunFolder) -> Iterator[None]:
    """Turns errors of writing into messages that say what to do. Raises TrainingError."""
    try:
        yield
    except (OSError, SafetensorError, msgspec.MsgspecError, RuntimeError) as error:
        if isinstance(error, TrainingError):
            raise
        if not isinstance(error, OSError | SafetensorError) and not is_full_disk(error):
            raise
        why = " ".join(str(error).split())[:200]
        raise TrainingError(
            f"{folder.path} cannot be written ({why}); {kept(folder)}: make room, and run the same command again"
        ) from error


def is_full_disk(error: Exception) -> bool:
    """Whether an error of a library means that a file cannot be written."""
    return any(words in str(error).lower() for words in FULL_DISK)


def kept(folder: RunFolder) -> str:
    """Which checkpoint of an ended training exists, as part of a message."""
    last = folder.last()
    return f"the checkpoint of step {last.step:,} is kept" if last else "there is no checkpoint yet"


# --- steps ------------------------------------------------------------------------------------------------------------

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


# --- the order of examples --------------------------------------------------------------------------------------------

WINDOW = 50
"""Batches in a window; within it examples are sorted by length. This needs little padding and stays random enough."""


def order(lengths: Sequence[int], batch: int, steps: int, seed: int) -> np.ndarray:
    """The examples of each step, shape (steps, batch). Each epoch has a new order, grouped by length.

    A step can contain examples of two epochs. `lengths`: lengths of the examples in tokens.
    """
    count, total = len(lengths), steps * batch
    epochs = [_epoch(lengths, batch, seed, number) for number in range(-(-total // count))]
    return np.concatenate(epochs)[:total].reshape(steps, batch)


def _epoch(lengths: Sequence[int], batch: int, seed: int, number: int) -> np.ndarray:
    """All examples once. Windows are sorted by length and cut into batches, and the batches are shuffled."""
    rng = np.random.default_rng(derive_seed(seed, "sft-order", number))
    drawn = rng.permutation(len(lengths))
    size = np.asarray(lengths)
    batches: list[np.ndarray] = []
    for start in range(0, len(drawn), WINDOW * batch):
        window = drawn[start : start + WINDOW * batch]
        window = window[np.argsort(size[window], kind="stable")]
        batches += [window[at : at + batch] for at in range(0, len(window), batch)]
    return np.concatenate([batches[place] for place in rng.permutation(len(batches))])


def lengths_of(lengths: Sequence[int], examples: np.ndarray) -> np.ndarray:
    """Number of tokens in each step, shape (steps,), for `examples` of shape (steps, batch)."""
    totals: np.ndarray = np.asarray(lengths)[examples].sum(axis=1)
    return totals


class Fixed(Sampler[int]):
    """A sampler with a fixed order."""

    def __init__(self, examples: Sequence[int]) -> None:
        self._examples = examples

    def __iter__(self) -> Iterator[int]:
        return iter(self._examples)

    def __len__(self) -> int:
        return len(self._examples)
