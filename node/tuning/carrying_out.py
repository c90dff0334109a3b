"""Runs a training of a Hugging Face model in its folder: lock, resuming, interrupts, full disks, error messages."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec
import torch
from safetensors import SafetensorError

from common.output.command import Exit
from common.run_folder import owned
from node.data.errors import InputError, NotFinite, TrainingError
from node.llm.hub.loading import quiet
from node.training.journal import StageJournal
from node.tuning.run_folder import Checkpoint, RunFolder
from node.tuning.settings import LengthSettings
from node.tuning.stepping import Clock, Stop

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
def journal_of(folder: RunFolder, part: Part) -> Iterator[StageJournal]:
    """Opens the journal of the curves, cut to the step from which the part resumes. Silences the libraries
    meanwhile."""
    with StageJournal(folder.metrics, part.steps, first=True) as journal, quiet():
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
