"""What checkpoints and weights files share: digests, and building a network from its configuration and tensors."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import safetensors
import torch

from node.model.checkpoint_folders import digest
from node.model.config import ModelConfig, ModelConfigError
from node.model.tokenizer import Tokenizer
from node.model.transformer import Transformer

__all__ = [
    "FileMismatch",
    "build_model",
    "config_from_dict",
    "config_to_dict",
    "digest",
    "state_tensors",
    "written",
]


class FileMismatch(ValueError):
    """Configuration, tensors and tokenizer of a file do not belong together; the text says what differs."""


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give `path` to a library that writes it; a full disk and the like come out as the OSError that they are.

    safetensors (Rust) says the error's number in its text only, and torch hides it behind a check of its own.
    """
    try:
        yield path
    except safetensors.SafetensorError as error:
        if found := re.search(r"\(os error (\d+)\)", str(error)):
            number = int(found[1])
            raise OSError(number, os.strerror(number), str(path)) from error
        raise
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise OSError(error.__context__.errno, error.__context__.strerror, str(path)) from error
        raise


def config_to_dict(config: ModelConfig) -> dict[str, Any]:
    return config.as_dict()


def config_from_dict(values: dict[str, Any]) -> ModelConfig:
    """Raises FileMismatch for fields that this version does not know or that cannot be."""
    known = {field.name for field in dataclasses.fields(ModelConfig)}
    if unknown := sorted(set(values) - known):
        raise FileMismatch(f"the model configuration has fields that this version does not know: {', '.join(unknown)}")
    try:
        return ModelConfig(**values).check()
    except (ModelConfigError, TypeError) as error:
        raise FileMismatch(f"the model configuration cannot be used: {error}") from error


def state_tensors(model: Transformer) -> dict[str, torch.Tensor]:
    """Tensors to store: contiguous, on the CPU, a tied output matrix once."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    if model.config.tied:
        del tensors["policy.weight"]
    return tensors


def build_model(config: ModelConfig, tensors: dict[str, torch.Tensor], tokenizer: Tokenizer) -> Transformer:
    """The network with these weights. Raises FileMismatch when names, shapes or the vocabulary differ."""
    if tokenizer.vocab_size > config.vocab_size:
        raise FileMismatch(
            f"the tokenizer has {tokenizer.vocab_size} tokens and the network {config.vocab_size}: "
            "they are not of one run"
        )
    if config.tied and "embedding.weight" in tensors:
        tensors = {**tensors, "policy.weight": tensors["embedding.weight"]}
    model = Transformer(config)
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if expected != found:
        names = sorted(name for name in expected.keys() | found.keys() if expected.get(name) != found.get(name))
        first = names[0]
        raise FileMismatch(
            f"{len(names)} tensors do not fit the configuration; first `{first}`: "
            f"expected shape {expected.get(first, 'no such tensor')}, found {found.get(first, 'none')}"
        )
    if bad := sorted(name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()):
        raise FileMismatch(f"`{bad[0]}` holds numbers that are not finite ({len(bad)} tensors do)")
    model.load_state_dict(tensors)
    return model
