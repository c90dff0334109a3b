"""How a stage begins: from its own newest checkpoint, from another stage's, or with a fresh network and tokenizer."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from common.seeds import derive_seed
from node.data.errors import InputError
from node.data.grammar import modern
from node.data.rows import BadRow, conjecture_of, proof_of, steps_of, text_of
from node.data.tables import open_source, parse
from node.model import checkpoint
from node.model.checkpoint import Checkpoint, CheckpointError
from node.model.checkpoint_folders import STATE, newest_whole, none_whole
from node.model.conjectures import conjecture_prompt, written_conjecture
from node.model.names import StatementNames, canonical
from node.model.tokenizer import Tokenizer, TokenizerError
from node.model.trained import CONJECTURES_KEY, PROOFS_KEY
from node.model.transformer import Transformer
from node.training.settings import DataSettings, StageSettings

TOKENIZER_ROWS = 20_000
"""Most rows of each source for training a tokenizer: some megabytes, which take seconds."""

FIXED = ("length", "batch_tokens", "seed", "start", "value_weight", "value_targets", "after_weight")
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
    data_before, data_now = {**default["data"], **before["data"]}, now["data"]
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
