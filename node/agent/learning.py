"""Trains on one repository after the other, and measures the effect on earlier ones. Imports torch."""

from __future__ import annotations

import glob
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from node.agent.data import DataFiles
from node.agent.settings import AgentSettings
from node.model.checkpoint import Checkpoint
from node.training.documents import Room
from node.training.loader import batches, held_out, pack, readers
from node.training.settings import STAGES, DataSettings, StageSettings
from node.training.stage import load, resolve, run_stage, step_settings
from node.training.trainer import Trainer, started

WARMUP = 20
"""Steps in which learning rates rise; in a short training a fifth of its steps."""

VALID_TOKENS = 16_384
"""Most tokens of one repository's held-out data that are measured."""


@dataclass(frozen=True)
class Measured:
    """Measures of a network on held-out transitions."""

    loss: float
    accuracy: float
    tokens: int


def train_start(settings: AgentSettings, folder: Path, files: DataFiles) -> Path:
    """Trains a fresh network on the first data, or resumes its training; returns the checkpoint.

    Raises TrainingError.
    """
    learning = settings.learning
    stage = replace(
        _stage(settings, folder, "start", _sources({files.train: 1.0})),
        preset=learning.preset,
        steps=learning.start_steps,
    )
    return _run(stage)


def train_on(
    settings: AgentSettings, folder: Path, run: str, start: Path, new: DataFiles, old: Sequence[DataFiles]
) -> tuple[Path, int]:
    """Trains the network `start` on a repository, mixed with old data, or resumes this; returns checkpoint and steps.

    Old repositories are weighted by their size. Raises TrainingError.
    """
    learning = settings.learning
    old_files = [each for each in old if each.has_train]
    replay = learning.replay if old_files else 0.0
    sizes = [each.train.stat().st_size for each in old_files]
    weights = {new.train: 1.0 - replay}
    weights |= {each.train: replay * size / sum(sizes) for each, size in zip(old_files, sizes, strict=True)}
    stage = _stage(settings, folder, run, _sources(weights))
    tokens = _tokens(new.train, load(start, optimizer=False), stage)
    steps = max(1, math.ceil(learning.epochs * tokens / (1.0 - replay) / learning.batch_tokens))
    steps = min(steps, learning.most_steps) if learning.most_steps else steps
    rates = replace(
        stage.rates,
        rate=stage.rates.rate * learning.rate,
        matrix_rate=stage.rates.matrix_rate * learning.rate,
        warmup=min(WARMUP, steps // 5),
    )
    stage = replace(stage, start=str(start), steps=steps, rates=rates, minutes=learning.minutes)
    return _run(stage), steps


def measure(
    settings: AgentSettings, folder: Path, checkpoint: Path, files: Mapping[int, DataFiles]
) -> dict[int, Measured]:
    """Loss (nats a token) and accuracy of tactics on the held-out transitions of each repository; repositories without
    any are left out. `folder`: place for copies of the data. Raises TrainingError."""
    checkpoint_data = load(checkpoint, optimizer=False)
    stage = _stage(settings, folder, "", ())
    measured = {}
    with started(stage) as device:
        trainer = Trainer(checkpoint_data.model, step_settings(stage), device)
        for number, each in files.items():
            if not each.has_valid:
                continue
            data = replace(stage.data, valid=(f"transitions:{glob.escape(str(each.valid))}",))
            documents = held_out(data, checkpoint_data.tokenizer, _room(checkpoint_data, stage), stage.seed)[0]
            rows = pack(documents, stage.length)
            micro_rows = max(1, stage.micro_tokens // stage.length)
            metrics = trainer.evaluate(batches(rows, stage.length, micro_rows))
            measured[number] = Measured(metrics["policy_loss"], metrics["tactic_accuracy"], int(metrics["tokens"]))
    return measured


def _stage(settings: AgentSettings, folder: Path, run: str, sources: tuple[str, ...]) -> StageSettings:
    learning = settings.learning
    data = DataSettings(
        sources=sources,
        held_out=0,  # the files contain only training data
        valid_tokens=VALID_TOKENS,
        shuffle_hypotheses=True,
        cache=str(folder / "cache"),
    )
    return replace(
        STAGES["sft"],
        run=run,
        directory=str(folder),
        data=data,
        length=learning.length,
        batch_tokens=learning.batch_tokens,
        micro_tokens=min(4096, learning.batch_tokens),
        threads=learning.threads,
        device=learning.device,
        seed=settings.seed,
        save_every=50,
        keep=1,
    )


def _sources(weights: Mapping[Path, float]) -> tuple[str, ...]:
    # Sources are patterns, which cannot have weight 0.
    return tuple(f"transitions:{glob.escape(str(path))}*{max(weight, 1e-6):.6f}" for path, weight in weights.items())


def _tokens(file: Path, network: Checkpoint, stage: StageSettings) -> int:
    """Number of tokens in a file's transitions, counted as in training."""
    names = [f"transitions:{glob.escape(str(file))}"]
    (reader,) = readers(stage.data, network.tokenizer, _room(network, stage), stage.seed, names=names)
    documents = (
        document
        for number, row in enumerate(reader.source.once(1 << 62))
        for document in reader.encoder.documents(row, "all", number)
    )
    return sum(len(document.tokens) for document in documents)


def _room(network: Checkpoint, stage: StageSettings) -> Room:
    return Room(stage.length, network.model.config.longest_tactic)


def _run(stage: StageSettings) -> Path:
    run_stage("sft", stage)
    return resolve(str(Path(stage.directory) / stage.run))
