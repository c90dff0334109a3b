"""Dry run of a stage: prints its plan and its estimated cost, without training."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from node.data.errors import InputError
from node.model.config import ModelConfig
from node.model.tokenizer import Tokenizer
from node.training.beginning import load, resolve
from node.training.device import choose_device, has_bf16
from node.training.estimate import estimate, product_speed
from node.training.loader import Loader, readers
from node.training.settings import StageSettings

GUESS = {"transitions": 0.2, "proofs": 0.3, "conjectures": 0.3, "text": 1.0, "lean": 1.0}
"""Share of tokens that are predicted, where there is no tokenizer yet to count with: a fifth of the bank's transitions
are tactics, three tenths of its proofs proof; conjectures are a guess."""


def dry_run(stage: str, settings: StageSettings) -> list[str]:
    """Lines for people. Raises InputError."""
    device = choose_device(settings)
    shape, tokenizer = _shape(settings)
    if settings.length > shape.context:
        raise InputError(f"length is {settings.length}, and the network reads {shape.context} tokens at most")
    supervised, note = _supervised(settings, tokenizer)
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


def _supervised(settings: StageSettings, tokenizer: Tokenizer | None) -> tuple[float, str]:
    """(share of predicted tokens, how it was determined)."""
    if tokenizer is None:
        kinds = [source.partition(":")[0] for source in settings.data.sources]
        if settings.data.transitions_as_text:
            return 1.0, "(assumed)"
        return sum(GUESS.get(kind, 1.0) for kind in kinds) / max(1, len(kinds)), "(assumed: no tokenizer yet)"
    sources = readers(settings.data, tokenizer, settings.length, settings.seed)
    rows = Loader(sources, settings.length, settings.data.window, settings.seed).rows(settings.data.window)
    documents = [document for row in rows for document in row]
    predicted = sum(len(document.tokens) - document.prompt for document in documents)
    return predicted / (len(rows) * settings.length), "(counted in the first rows)"
