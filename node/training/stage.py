"""Runs a training stage on one rank: data, steps, evaluations, checkpoints, curves.

The run directory is DIRECTORY/RUN: config.toml, training.json, metrics.jsonl, checkpoints/step-N, and
checkpoints/STABLE, which names the newest checkpoint that is whole. A run that is killed at any moment goes on from
there, with the losses that it would have had.
"""

from __future__ import annotations

import dataclasses
import gc
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomli_w
import torch

from common import run_folder
from common.config import taken_out
from common.curves import METRICS, About, write_about
from common.files import write_whole
from common.seeds import derive_seed
from common.watch.tracking import Tracked
from node.data.errors import InputError, NotFinite, TrainingError
from node.data.grammar import modern
from node.data.rows import BadRow, conjecture_of, proof_of, steps_of, text_of
from node.data.tables import open_source, parse
from node.model import checkpoint
from node.model.checkpoint import Checkpoint, CheckpointError
from node.model.checkpoint_folders import CONJECTURES_KEY, PROOFS_KEY, STATE, newest_whole, none_whole, prune, set_aside
from node.model.config import ModelConfig
from node.model.names import StatementNames, canonical
from node.model.optimizer import OptimizerSettings
from node.model.prompt import conjecture_prompt, written_conjecture
from node.model.tokenizer import Tokenizer, TokenizerError
from node.model.transformer import Transformer, has_bf16
from node.training.documents import Room
from node.training.estimate import duration, estimate, flops_per_token, peak_speed, product_speed
from node.training.journal import StageJournal
from node.training.loader import LeftOut, Loader, PackedBatch, Prefetch, Ready, batches, held_out, pack, readers
from node.training.settings import DataSettings, LossSettings, StageSettings
from node.training.trainer import RankDevice, StepSettings, Trainer, choose_device, started

STABLE = "STABLE"
"""Beside the checkpoints: the name of the newest whole one."""

COLLECT_EVERY = 500
"""Steps between garbage collections, which are off otherwise: one at the wrong moment holds all ranks up (half a second
in nanochat). What a step makes is freed by counting references."""


def run_stage(stage: str, settings: StageSettings) -> dict[str, float]:
    """Train from the newest checkpoint to the stage's last step; returns the last evaluation, or the last
    step's metrics.

    Raises TrainingError, InputError.
    """
    directory = run_directory(stage, settings)
    with (
        started(settings) as device,
        owned(directory, device),
        StageJournal(
            directory / METRICS, settings.steps, first=device.first, tracked=_tracked(settings, directory, device)
        ) as journal,
    ):
        found, path = begin(stage, settings, directory, device)
        run = _StageRun(stage, settings, directory, device, journal, found, path)
        return run.train()


def run_directory(stage: str, settings: StageSettings) -> Path:
    return Path(settings.directory) / (settings.run or stage)


def _tracked(settings: StageSettings, directory: Path, device: RankDevice) -> Tracked | None:
    return Tracked(settings.tracker, directory, dataclasses.asdict(settings)) if device.first else None


@contextmanager
def owned(directory: Path, device: RankDevice) -> Iterator[None]:
    """Lock the run directory, so that only one process trains in it. Raises InputError."""
    if not device.first:
        yield
        return
    in_use = f"{directory}: another process trains there; wait for it, or choose another --run"
    with run_folder.explained(directory, TrainingError), run_folder.owned(directory, lambda: InputError(in_use)):
        yield


def begin(stage: str, settings: StageSettings, directory: Path, device: RankDevice) -> tuple[Checkpoint, Path]:
    """The checkpoint that every rank starts from. Raises InputError."""
    root = directory / "checkpoints"
    if device.first:
        _first_rank(stage, settings, directory, root)
    device.gather(0)  # nobody looks before the first rank has written
    path, problems = newest_whole(root)
    if path is None:
        raise InputError(none_whole(root, problems))
    found = load(path, optimizer=True)
    if found.config.get("stage", stage) != stage:
        raise InputError(f"{directory} is a run of {found.config['stage']}, not of {stage}: choose another --run")
    check_same(settings, found, path, device.ranks)
    return found, path


def _first_rank(stage: str, settings: StageSettings, directory: Path, root: Path) -> None:
    path, problems = newest_whole(root)
    if path is None and problems:
        raise InputError(none_whole(root, problems))
    for damaged in problems:
        set_aside(damaged)
    if path is None:
        first_checkpoint(settings, stage, root / checkpoint_name(0))
    content = {key: value for key, value in dataclasses.asdict(settings).items() if value is not None}
    (directory / "config.toml").write_text(tomli_w.dumps({stage: content}), encoding="utf-8")


def step_settings(settings: StageSettings) -> StepSettings:
    """What the stage's settings say of a step."""
    rates = settings.rates
    return StepSettings(
        OptimizerSettings(
            matrix_rate=rates.matrix_rate,
            rate=rates.rate,
            momentum=rates.momentum,
            weight_decay=rates.weight_decay,
            clip=rates.clip,
            warmup=rates.warmup,
        ),
        LossSettings(value_weight=settings.value_weight, value_targets=settings.value_targets),
        compile=settings.compile,
        checkpoint_activations=settings.checkpoint_activations,
    )


def checkpoint_name(step: int) -> str:
    return checkpoint.name_of_step(step)


class _StageRun:
    """The parts of one stage at work."""

    def __init__(
        self,
        stage: str,
        settings: StageSettings,
        directory: Path,
        device: RankDevice,
        journal: StageJournal,
        found: Checkpoint,
        path: Path,
    ) -> None:
        self.stage, self.settings, self.device, self.journal = stage, settings, device, journal
        self.root, self.tokenizer, self.newest = directory / "checkpoints", found.tokenizer, path
        self.before = found.config
        self.room = Room(settings.length, found.model.config.longest_tactic)
        self.micro_rows = max(1, settings.micro_tokens // settings.length)
        self.trainer = Trainer(found.model, step_settings(settings), device)
        self.trainer.step_number = found.step
        if found.optimizer is not None:
            self.trainer.optimizer.load_state_dict(found.optimizer)
        self.loader = self._loader(found)
        self.valid = self._valid()
        self.peak = peak_speed(device.device)
        self.latest: dict[str, float] = {}
        self._stop = False

    def _loader(self, found: Checkpoint) -> Loader:
        settings, device = self.settings, self.device
        if settings.length > found.model.config.context:
            raise InputError(f"length is {settings.length}; the network reads {found.model.config.context} tokens")
        sources = readers(settings.data, self.tokenizer, self.room, settings.seed, rank=device.rank, ranks=device.ranks)
        loader = Loader(sources, settings.length, settings.data.window, settings.seed)
        if "data" in found.extra:
            loader.restore(found.extra["data"][device.rank])
        return loader

    def _valid(self) -> list[PackedBatch]:
        settings = self.settings
        documents, left_out = held_out(settings.data, self.tokenizer, self.room, settings.seed)
        self._say_left_out("evaluation", left_out.number, left_out.of)
        mine = pack(documents, settings.length)[self.device.rank :: self.device.ranks]
        return batches(mine, settings.length, self.micro_rows)

    def _next(self) -> Ready:
        """Micro-batches of a step, and where the loader is after them."""
        rows = self.loader.rows(self.settings.rows(self.device.ranks))
        made = batches(rows, self.settings.length, self.micro_rows)
        if self.device.device.type == "cuda":
            made = [batch.pinned() for batch in made]
        return made, self.loader.state()

    def train(self) -> dict[str, float]:
        """Steps until the end, a signal or the time limit."""
        # 1. The journal may be ahead of the checkpoint that this run resumes from: its later lines are played again.
        trainer, settings = self.trainer, self.settings
        self.journal.trim(trainer.step_number)
        if self.device.first:
            write_about(self.root.parent, self._about())
        self.journal.say(self._beginning())
        if trainer.step_number >= settings.steps:
            return self._evaluate()
        # 2. Steps, while the next batch is made beside them.
        feed = Prefetch(self._next)
        begun = time.monotonic()
        # `gc.unfreeze` knows no owners: it would also give back what a caller in this process has frozen.
        freezes = gc.get_freeze_count() == 0
        with self._signals():
            try:
                for number, (made, place) in enumerate(feed):
                    self._step(made, time.perf_counter())
                    _collect(number, freezes)
                    # All ranks have to end after the same step, or the others would wait for ever: they agree on it.
                    late = settings.minutes is not None and time.monotonic() - begun > settings.minutes * 60
                    ended = self._agreed(self._stop or late)
                    self._after(place, ended)
                    if ended or trainer.step_number >= settings.steps:
                        break
            except NotFinite as error:
                # The step that failed changed no weights, so the last checkpoint is still good.
                raise NotFinite(
                    f"{error}. Nothing was updated; the last good checkpoint is {self.newest}. Lower the learning "
                    "rates, or look at the data, and begin another --run with --start"
                ) from error
            finally:
                feed.close()
                if freezes:
                    gc.unfreeze()
                gc.enable()
        # 3. A signal is no end of the stage. The time limit is.
        counted = [each for each in self.device.gather(self.loader.left_out) if isinstance(each, LeftOut)]
        self._say_left_out("training", sum(each.number for each in counted), sum(each.of for each in counted))
        if trainer.step_number < settings.steps and self._stop:
            raise TrainingError(
                f"stopped after step {trainer.step_number}; the same command goes on from {self.newest}"
            )
        return self.latest

    def _step(self, made: list[PackedBatch], start: float) -> None:
        factor = self.settings.rates.factor(self.trainer.step_number, self.settings.steps)
        metrics = self.trainer.step(made, factor)
        step = self.trainer.step_number
        if self.device.device.type == "cuda":
            torch.cuda.synchronize()
        seconds = time.perf_counter() - start
        used = sum(batch.used for batch in made) * self.device.ranks
        metrics |= {"tokens_per_s": used / seconds, "step_s": seconds, "rate_factor": factor}
        if self.peak is not None:
            metrics["mfu"] = self._operations(made) / seconds / self.peak
        if step % self.settings.log_every == 0 or step in (1, self.settings.steps):
            self.journal.write(step, metrics)
        self.journal.at(step, f"loss {metrics['loss']:.3f}, {metrics['tokens_per_s']:,.0f} tokens/s")
        self.latest = metrics

    def _operations(self, made: list[PackedBatch]) -> float:
        """Floating-point operations of this rank's step."""
        config = self.trainer.model.config
        positions = [batch.tokens.numel() for batch in made]
        predicted = [batch.targets.numel() / count for batch, count in zip(made, positions, strict=True)]
        each = [
            flops_per_token(config, batch.tokens.shape[1], share) for batch, share in zip(made, predicted, strict=True)
        ]
        return sum(count * operations for count, operations in zip(positions, each, strict=True))

    def _after(self, place: dict[str, Any], ended: bool) -> None:
        step, settings = self.trainer.step_number, self.settings
        last = ended or step >= settings.steps
        if last or step % settings.save_every == 0:
            self._save(place)
        if last or step % settings.evaluate_every == 0:
            self.latest = self._evaluate() or self.latest

    def _agreed(self, stop: bool) -> bool:
        """True on all ranks if any rank wants to stop, so that all stop after the same step."""
        if self.device.ranks == 1:
            return stop
        return bool(self.device.total(torch.tensor([float(stop)], device=self.device.device)) > 0)

    def _evaluate(self) -> dict[str, float]:
        if not self.settings.data.held_out and not self.settings.data.valid:
            return {}
        metrics = self.trainer.evaluate(self.valid)
        if not metrics["tokens"]:
            return {}
        values = {f"valid_{name}": value for name, value in metrics.items() if name != "tokens"}
        self.journal.write(self.trainer.step_number, values)
        text = ", ".join(f"{name[6:].replace('_', ' ')} {value:.3f}" for name, value in values.items())
        self.journal.say(f"{self.stage} step {self.trainer.step_number}: {text}")
        return values

    def _save(self, place: dict[str, Any]) -> None:
        """A checkpoint; the first rank writes it, with every rank's place in the data."""
        places = self.device.gather(place)
        if self.device.first:
            trainer, step = self.trainer, self.trainer.step_number
            path = self.root / checkpoint_name(step)
            try:
                checkpoint.save(
                    path,
                    trainer.model,
                    self.tokenizer,
                    step=step,
                    optimizer=trainer.optimizer.state_dict(),
                    config=run_config(self.settings, self.stage, self.tokenizer, self.before),
                    extra={"data": places, "ranks": self.device.ranks},
                )
                write_whole(self.root / STABLE, f"{path.name}\n".encode())
                prune(self.root, self.settings.keep)
            except OSError as error:
                raise TrainingError(
                    f"checkpoint {path}: cannot be written ({error.strerror}); {self.newest} is whole. Free some space "
                    "and give the same command again"
                ) from error
            self.newest = path

    def _about(self) -> About:
        """For who draws the curves."""
        return About(
            stage=self.stage,
            steps=self.settings.steps,
            parameters=self.trainer.model.parameter_count(),
            started=time.time(),
        )

    def _say_left_out(self, where: str, number: int, of: int) -> None:
        """Say how many rows are too long, so that nobody has to guess why long tactics are not learnt."""
        if number:
            self.journal.say(
                f"{self.stage}: {number:,} of {of:,} rows ({number / of:.1%}) left out of {where}, because they are "
                f"too long: a tactic has at most {self.room.tactic} tokens (the network's tactic_tokens, and half of "
                f"--length), a row {self.room.tokens}"
            )

    def _beginning(self) -> str:
        model, step = self.trainer.model, self.trainer.step_number
        where = f"{self.device.ranks} x {self.device.device.type}{', bfloat16' if self.device.bf16 else ''}"
        how = f"goes on after step {step}" if step else "begins"
        return (
            f"{self.stage}: {model.parameter_count():,} parameters, {where}; {how}, {self.settings.steps} steps in all"
        )

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """SIGTERM and Ctrl-C end the stage after the step, with a checkpoint; a second one ends it at once."""

        def stop(number: int, _: object) -> None:
            if self._stop:
                os._exit(128 + number)
            self._stop = True

        before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _collect(number: int, freezes: bool) -> None:
    """Garbage collection when it suits: what is there after the first step stays for good."""
    if number == 0:
        gc.collect()
        if freezes:
            gc.freeze()
        gc.disable()
    elif number % COLLECT_EVERY == 0:
        gc.collect()


def summary(stage: str, metrics: dict[str, float], seconds: float) -> str:
    """One line for the end of a stage."""
    chosen = [
        name for name in ("valid_loss", "valid_bits_per_byte", "valid_tactic_accuracy", "loss") if name in metrics
    ]
    return f"{stage}: " + ", ".join(f"{name} {metrics[name]:.3f}" for name in chosen[:3]) + f" ({duration(seconds)})"


# --- how a stage begins: from its newest checkpoint, from another stage's, or with a fresh network --------------------

TOKENIZER_ROWS = 20_000
"""Most rows of each source for training a tokenizer: some megabytes, which take seconds."""

FIXED = ("length", "batch_tokens", "seed", "start", "value_weight", "value_targets")
"""Settings that must not change when a run continues, besides those of the data."""

FREE_DATA = ("valid", "valid_tokens", "cache")
"""Settings of the data that may change when a run continues."""


def resolve(start: str) -> Path:
    """The checkpoint folder `start`, or the newest whole checkpoint of the run directory `start`. Raises InputError."""
    path = Path(start)
    if (path / STATE).exists() or path.name.startswith("step-"):
        return path
    root = path / "checkpoints" if (path / "checkpoints").is_dir() else path
    found, problems = newest_whole(root)
    if found is None:
        raise InputError(none_whole(root, problems))
    return found


def load(path: Path, *, optimizer: bool) -> Checkpoint:
    """Load a checkpoint. Raises InputError."""
    try:
        loaded = checkpoint.load(path, optimizer=optimizer)
    except CheckpointError as error:
        raise InputError(str(error)) from error
    trained_with = loaded.config.get("tokenizer")
    if trained_with is not None and trained_with != loaded.tokenizer.digest:
        raise InputError(
            f"checkpoint {path}: its tokenizer is {loaded.tokenizer.digest}, it was trained with {trained_with}: the "
            "ids mean other texts. Put back the tokenizer.json that belongs to it"
        )
    return loaded


def first_checkpoint(settings: StageSettings, stage: str, target: Path) -> None:
    """Write the checkpoint of step 0: weights from `start`, or fresh ones. Raises InputError, OSError."""
    if settings.start:
        loaded = load(resolve(settings.start), optimizer=False)
        model, tokenizer, before = loaded.model, loaded.tokenizer, loaded.config
        if settings.tokenizer and _tokenizer(settings.tokenizer).digest != tokenizer.digest:
            raise InputError(
                f"{settings.tokenizer} is not the tokenizer of {settings.start}: the network would read other texts "
                "than it was trained on. Leave --tokenizer out; the checkpoint has its own"
            )
    else:
        before = {}
        tokenizer = _tokenizer(settings.tokenizer) if settings.tokenizer else train_tokenizer(settings)
        # A small corpus yields fewer tokens than `vocab_size`. Embedding rows for the missing tokens would be sampled,
        # but they have no text.
        model = Transformer(dataclasses.replace(settings.shape, vocab_size=tokenizer.vocab_size))
        model.reset(torch.Generator().manual_seed(derive_seed(settings.seed, "network")))
    if settings.length > model.config.context:
        raise InputError(f"length is {settings.length}, and the network reads {model.config.context} tokens at most")
    checkpoint.save(target, model, tokenizer, step=0, config=run_config(settings, stage, tokenizer, before))


def run_config(
    settings: StageSettings, stage: str, tokenizer: Tokenizer, before: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """The record in a checkpoint of how it was made. `before`: the record of the checkpoint that it continues from."""
    kinds = {parse(source).kind for source in settings.data.sources}
    learned = {key: True for key in (PROOFS_KEY, CONJECTURES_KEY) if before.get(key) or key in kinds}
    made = {"stage": stage, "settings": dataclasses.asdict(settings), "tokenizer": tokenizer.digest}
    return made | learned


def check_same(settings: StageSettings, found: Checkpoint, path: Path, ranks: int) -> None:
    """Raises InputError if the settings differ from those of the checkpoint, so that the run cannot continue."""
    before = found.config.get("settings", {})
    # A setting that is newer than the checkpoint had its default value then.
    default = _jsonable(dataclasses.asdict(StageSettings()))
    now = _jsonable(dataclasses.asdict(settings))
    before = {**default, **before}
    changed = {name: (before[name], now[name]) for name in FIXED if before[name] != now[name]}
    # What was taken out is off now.
    gone = {name: off[0] for name, off in taken_out("data").items()}
    data_before, data_now = {**gone, **default["data"], **before["data"]}, {**gone, **now["data"]}
    for each in (data_before, data_now):
        each["sources"] = [modern(source) for source in each["sources"]]
    for name in data_now:
        if name not in FREE_DATA and data_before[name] != data_now[name]:
            changed[f"data.{name}"] = (data_before[name], data_now[name])
    if found.extra.get("ranks", ranks) != ranks:
        changed["ranks"] = (found.extra["ranks"], ranks)
    if changed:
        changes = "; ".join(f"{name} was {was!r}, is {is_!r}" for name, (was, is_) in changed.items())
        raise InputError(
            f"{path} was made otherwise: {changes}. Continue with the settings that it was made with, or begin another "
            "--run"
        )


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _jsonable(each) for key, each in value.items()}
    return [_jsonable(each) for each in value] if isinstance(value, (list, tuple)) else value


def _tokenizer(path: str) -> Tokenizer:
    try:
        return Tokenizer.load(Path(path))
    except TokenizerError as error:
        raise InputError(f"tokenizer {path}: {error}") from error


def train_tokenizer(settings: StageSettings) -> Tokenizer:
    """A tokenizer for the stage's data, with the marks of roles and of the value's bins. Raises InputError."""
    texts = corpus(settings.data.sources, settings.data)
    return Tokenizer.train(texts, settings.vocab_size, roles=True, value_bins=settings.shape.value_bins)


def corpus(sources: tuple[str, ...], data: DataSettings) -> list[str]:
    """Texts of sources as the network reads them. Raises InputError for missing, unreadable or empty sources."""
    texts: list[str] = []
    for name in sources:
        spec = parse(name)
        source = open_source(spec, streaming=data.streaming, split=data.split, cache=data.cache)
        for row in source.once(TOKENIZER_ROWS):
            try:
                if spec.kind == "transitions":
                    texts += [text for step in steps_of(row) for text in canonical(step.transition)]
                elif spec.kind == "proofs":
                    proof = proof_of(row)
                    names = StatementNames(proof.statement) if proof else None
                    texts += [names.state, names.hide(proof.script)] if proof and names else []
                elif spec.kind == "conjectures":
                    asked = conjecture_of(row)
                    if asked is not None:
                        texts.append(conjecture_prompt(asked.lemma, asked.statement, asked.proof))
                        texts.append(written_conjecture(asked.conjecture))
                else:
                    texts.append(text_of(row, data.text_field))
            except BadRow as error:
                raise InputError(f"data {name}: {error}") from error
    if not any(text.strip() for text in texts):
        raise InputError(f"data {', '.join(sources) or '(none)'}: there is no text in it")
    return texts


# --- dry run ----------------------------------------------------------------------------------------------------------

GUESS = {"transitions": 0.2, "proofs": 0.3, "conjectures": 0.3, "text": 1.0, "lean": 1.0}
"""Share of tokens that are predicted, where there is no tokenizer yet to count with: a fifth of the bank's transitions
are tactics, three tenths of its proofs proof; conjectures are a guess."""


def dry_run(stage: str, settings: StageSettings) -> list[str]:
    """Lines for people. Raises InputError."""
    device = choose_device(settings)
    shape, tokenizer = _shape(settings)
    if settings.length > shape.context:
        raise InputError(f"length is {settings.length}, and the network reads {shape.context} tokens at most")
    supervised, note = _supervised(settings, tokenizer, shape.longest_tactic)
    bf16 = settings.bf16 != "off" and has_bf16(device)
    found = estimate(
        shape,
        settings,
        ranks=settings.ranks,
        supervised=supervised,
        speed=product_speed(device, bf16),
        bf16=bf16,
        kind=device.type,
    )
    start = f"from {settings.start}" if settings.start else "from fresh weights"
    return [
        f"{stage} {start} on {settings.ranks} x {device.type}, {'bfloat16' if bf16 else 'float32'}",
        f"data              {', '.join(settings.data.sources)}",
        f"predicted         {supervised:.0%} of the tokens {note}",
        *found.lines(),
    ]


def _shape(settings: StageSettings) -> tuple[ModelConfig, Tokenizer | None]:
    if settings.start:
        loaded = load(resolve(settings.start), optimizer=False)
        return loaded.model.config, loaded.tokenizer
    if settings.tokenizer:
        tokenizer = Tokenizer.load(Path(settings.tokenizer))
        return dataclasses.replace(settings.shape, vocab_size=tokenizer.vocab_size), tokenizer
    return dataclasses.replace(settings.shape, vocab_size=settings.vocab_size), None


def _supervised(settings: StageSettings, tokenizer: Tokenizer | None, longest: int) -> tuple[float, str]:
    """(share of predicted tokens, how it was determined). `longest`: the network's longest tactic."""
    if tokenizer is None:
        kinds = [source.partition(":")[0] for source in settings.data.sources]
        if settings.data.transitions_as_text:
            return 1.0, "(assumed)"
        return sum(GUESS.get(kind, 1.0) for kind in kinds) / max(1, len(kinds)), "(assumed: no tokenizer yet)"
    sources = readers(settings.data, tokenizer, Room(settings.length, longest), settings.seed)
    rows = Loader(sources, settings.length, settings.data.window, settings.seed).rows(settings.data.window)
    documents = [document for row in rows for document in row]
    predicted = sum(len(document.tokens) - document.prompt for document in documents)
    return predicted / (len(rows) * settings.length), "(counted in the first rows)"
