"""The warm start: supervised training to a plateau of the validation loss, cached by its data and settings."""

from __future__ import annotations

import asyncio
import dataclasses
import hashlib
import shutil
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from common.files import NOT_JSON, cache_directory, copy_folder_whole, write_whole
from common.seeds import derive_seed
from node.learner.algorithms.algorithm import named
from node.learner.choosing.data import Data, sampled
from node.learner.errors import DataError, LearnerError
from node.learner.replay.replay import epochs
from node.learner.settings import LearnerSettings
from node.learner.trainer.group import ResilientTrainer
from node.model.checkpoint_folders import CheckpointError, check, complete, newest_whole, weights_at

VERSION = 5
"""Part of the cache key. Increase it when the warm start's procedure changes: old cache entries are then ignored."""


class WarmStart(msgspec.Struct, frozen=True):
    """The result of a warm start."""

    steps: int
    seconds: float
    """Duration on the machine that trained it."""
    losses: list[tuple[int, float]]
    """(step, validation loss)."""
    cached: bool = False
    cut: bool = False
    """The time limit ended it while the loss was still falling. Such a network is not kept for other runs."""


@dataclass(frozen=True)
class Plateau:
    """Detects the plateau of a loss. Pure."""

    patience: int
    least_gain: float
    best: float = float("inf")
    stale: int = 0

    def see(self, loss: float) -> Plateau:
        """The state after another measurement."""
        if loss < self.best * (1 - self.least_gain):
            return dataclasses.replace(self, best=loss, stale=0)
        return dataclasses.replace(self, best=min(loss, self.best), stale=self.stale + 1)

    @property
    def reached(self) -> bool:
        return self.stale >= self.patience


def cache_folder() -> Path:
    """Folder of the cached warm starts."""
    return cache_directory() / "warm-start"


def key(settings: LearnerSettings, data: Data) -> str:
    """The cache key: a hash of everything that a warm start depends on."""
    # Only the trainer settings that change the result; the others change where and how fast it is computed.
    trainer = {name: getattr(settings.trainer, name) for name in ("batch", "matrix_rate", "rate", "warmup")}
    trainer["value_weight"] = named(settings).loss().value_weight
    warm = dataclasses.asdict(settings.warm_start)
    del warm["checkpoint"]  # empty whenever the cache is used
    parts = [VERSION, data.digest, settings.seed, trainer, warm, settings.model.as_dict()]
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=12).hexdigest()


Report = Callable[[int, dict[str, float]], Awaitable[None]]


async def warm_start(
    settings: LearnerSettings, data: Data, trainer: ResilientTrainer, report: Report, log: Any
) -> WarmStart:
    """Put a checkpoint of the warm-started network into the trainer's folder: the one that the settings name, one from
    the cache, or a newly trained one.

    Raises LearnerError.
    """
    if settings.warm_start.checkpoint:
        return await _from_checkpoint(settings, data, trainer, report, log)
    folder = cache_folder() / key(settings, data)
    result = await asyncio.to_thread(_cached, folder, log)
    if result is None:
        result = await _train(settings, data, trainer, report, log)
        if not result.cut:
            _store(folder, complete(trainer.root)[-1], result, log)
        return result
    checkpoint = complete(folder)[-1]
    log.info("warm start from the cache", steps=result.steps, folder=str(folder))
    await trainer.stop()
    shutil.rmtree(trainer.root, ignore_errors=True)
    copy_folder_whole(checkpoint, trainer.root / checkpoint.name)
    for step, loss in result.losses:
        await report(step, {"valid_loss": loss})
    return msgspec.structs.replace(result, cached=True)


async def _from_checkpoint(
    settings: LearnerSettings, data: Data, trainer: ResilientTrainer, report: Report, log: Any
) -> WarmStart:
    """Use the network of a given checkpoint; its step number continues. Its loss is measured if the bank has
    transitions."""
    source = Path(settings.warm_start.checkpoint)
    try:
        source = await asyncio.to_thread(weights_at, source, log.warning)
        steps = int((await asyncio.to_thread(check, source))["step"])
        await trainer.stop()
        shutil.rmtree(trainer.root, ignore_errors=True)
        copy_folder_whole(source, trainer.root / f"step-{steps:06d}")
    except CheckpointError as error:
        raise DataError(f"[learner] warm_start.checkpoint: {error}") from error
    except OSError as error:
        raise LearnerError(f"[learner] warm_start.checkpoint: {source} cannot be copied: {error.strerror}") from error
    await trainer.start()
    if not data.validation:
        log.info("network of a checkpoint", folder=str(source), step=steps)
        return WarmStart(steps, 0.0, [])
    metrics = await trainer.evaluate(sampled(data.validation, settings.warm_start.validation, settings.seed))
    await report(steps, {"valid_loss": metrics["loss"], "value_loss": metrics["value_loss"]})
    log.info("network of a checkpoint", folder=str(source), step=steps, valid_loss=round(metrics["loss"], 4))
    return WarmStart(steps, 0.0, [(steps, metrics["loss"])])


async def _train(
    settings: LearnerSettings, data: Data, trainer: ResilientTrainer, report: Report, log: Any
) -> WarmStart:
    # 1. A fresh network, unless a killed process has left one to go on with.
    started = time.monotonic()
    warm = settings.warm_start
    fresh = trainer.root / "step-000000"
    if not complete(trainer.root):
        await trainer.group.create(fresh, settings.model, derive_seed(settings.seed, "network"), data.supervised)
    await trainer.start()
    validation = sampled(data.validation, warm.validation, settings.seed)
    losses: list[tuple[int, float]] = []

    async def steps(count: int, factors: Callable[[int], float]) -> None:
        first = trainer.step_number
        while trainer.step_number < first + count:
            number = trainer.step_number
            refs = epochs(data.supervised, settings.trainer.batch, settings.seed, number)
            metrics = await trainer.step(refs, factors(number - first))
            if metrics and trainer.step_number % 10 == 0:
                await report(trainer.step_number, {"loss": metrics["loss"], "policy_loss": metrics["policy_loss"]})

    async def measure() -> float:
        metrics = await trainer.evaluate(validation)
        losses.append((trainer.step_number, metrics["loss"]))
        await report(trainer.step_number, {"valid_loss": metrics["loss"], "value_loss": metrics["value_loss"]})
        log.info("warm start", step=trainer.step_number, valid_loss=round(metrics["loss"], 4))
        trainer.say_left_out()
        return metrics["loss"]

    # 2. Until the validation loss stops falling.
    trainer.group.alone = warm.all_cores
    plateau = Plateau(warm.patience, warm.least_gain)
    while not plateau.reached and trainer.step_number < warm.steps and time.monotonic() - started < warm.seconds:
        await steps(warm.every, lambda _: 1.0)
        plateau = plateau.see(await measure())
        await trainer.save()
    cut = not plateau.reached and trainer.step_number < warm.steps
    if cut:
        log.warning("the warm start ends at its time limit ([learner.warm_start] seconds)", step=trainer.step_number)
    # 3. Rates that fall to zero gain what large steps cannot.
    if warm.decay > 0:
        count = max(1, round(trainer.step_number * warm.decay))
        await steps(count, lambda number: 1 - (number + 0.5) / count)
        await measure()
    trainer.group.alone = False
    await trainer.save()
    return WarmStart(trainer.step_number, round(time.monotonic() - started, 1), losses, cut=cut)


def _cached(folder: Path, log: Any) -> WarmStart | None:
    """The warm start in the cache folder, if it is complete. A damaged one is deleted, so that it is trained again."""
    try:
        result = msgspec.json.decode((folder / "warm-start.json").read_bytes(), type=WarmStart)
    except (OSError, *NOT_JSON):
        return None
    newest, problems = newest_whole(folder)
    if problems:
        log.warning("damaged warm start in the cache; training it again", problem="; ".join(problems.values()))
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return result if newest is not None else None


def _store(folder: Path, checkpoint: Path, result: WarmStart, log: Any) -> None:
    """Put a warm start into the cache. If the cache cannot be written, the next run only loses time."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copy_folder_whole(checkpoint, folder / checkpoint.name)
        write_whole(folder / "warm-start.json", msgspec.json.encode(result))
    except OSError as error:
        log.warning("warm start not cached", folder=str(folder), reason=error.strerror)
