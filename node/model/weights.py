"""Weights files: one safetensors file with everything an inference node needs, whose metadata has the configuration and
the tokenizer; and what checkpoints share with them: building a network from configuration and tensors.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import safetensors
import torch
from safetensors.torch import load_file, save_file

from common.files import file_digest, replacing
from node.model.config import FileMismatch, ModelConfig, config_from_dict
from node.model.tokenizer import Tokenizer, TokenizerError
from node.model.transformer import Transformer


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Turn the write errors of libraries within the block into OSError, such as a full disk.

    safetensors (Rust) has the error number only in its message, and torch hides the OSError behind a RuntimeError.
    """
    try:
        yield path
    except safetensors.SafetensorError as error:
        if match := re.search(r"\(os error (\d+)\)", str(error)):
            number = int(match[1])
            raise OSError(number, os.strerror(number), str(path)) from error
        raise
    except RuntimeError as error:
        if isinstance(error.__context__, OSError):
            raise OSError(error.__context__.errno, error.__context__.strerror, str(path)) from error
        raise


def state_tensors(model: Transformer) -> dict[str, torch.Tensor]:
    """The tensors to store: contiguous, on the CPU, without a tied output matrix."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    if model.config.tied:
        del tensors["policy.weight"]
    return tensors


def build_model(config: ModelConfig, tensors: dict[str, torch.Tensor], tokenizer: Tokenizer) -> Transformer:
    """Build the network with these weights. Raises FileMismatch if names, shapes or the vocabulary differ."""
    if tokenizer.vocab_size > config.vocab_size:
        raise FileMismatch(
            f"the tokenizer has {tokenizer.vocab_size} tokens and the network {config.vocab_size}; "
            "take both from the same run"
        )
    if config.tied and "embedding.weight" in tensors:
        tensors = {**tensors, "policy.weight": tensors["embedding.weight"]}
    model = Transformer(config)
    expected = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    actual = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    if expected != actual:
        names = sorted(name for name in expected.keys() | actual.keys() if expected.get(name) != actual.get(name))
        first = names[0]
        raise FileMismatch(
            f"{len(names)} tensors do not match the configuration; first `{first}`: "
            f"expected shape {expected.get(first, 'no such tensor')}, found {actual.get(first, 'none')}"
        )
    if bad := sorted(name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()):
        raise FileMismatch(f"{len(bad)} tensors have values that are not finite, such as `{bad[0]}`")
    model.load_state_dict(tensors)
    return model


# --- weights files ----------------------------------------------------------------------------------------------------

__all__ = ["SCHEMA_VERSION", "Weights", "WeightsError", "read", "write"]

SCHEMA_VERSION = 1
"""Incremented when the meaning of a tensor or of the metadata changes."""


class WeightsError(ValueError):
    """A weights file that is missing, truncated, of another schema, or inconsistent; the text names the file."""


@dataclass(frozen=True)
class Weights:
    """The content of a weights file."""

    model: Transformer
    """In evaluation mode, without gradients."""
    tokenizer: Tokenizer
    information: dict[str, str] = field(default_factory=dict)
    """Notes of the writer: version, step, run, ..."""


def write(path: Path, model: Transformer, tokenizer: Tokenizer, information: dict[str, str] | None = None) -> str:
    """Write the file atomically and return its digest.

    Raises OSError (disk full, read-only).
    """
    metadata = {
        "proofmesh": str(SCHEMA_VERSION),
        "model": json.dumps(model.config.as_dict()),
        "tokenizer": tokenizer.to_json(),
        "information": json.dumps(information or {}),
    }
    with replacing(path) as temporary:
        with written(temporary):
            save_file(state_tensors(model), temporary, metadata=metadata)
        return file_digest(temporary)


def read(path: Path, device: torch.device | str = "cpu") -> Weights:
    """Read a weights file onto a device. Raises WeightsError."""
    try:
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
        tensors = load_file(path)
    except FileNotFoundError as error:
        raise WeightsError(f"{path}: there is no such weights file") from error
    except (OSError, safetensors.SafetensorError) as error:
        raise WeightsError(f"{path}: not a complete safetensors file ({error})") from error
    if metadata.get("proofmesh") != str(SCHEMA_VERSION):
        schema = metadata.get("proofmesh", "none")
        raise WeightsError(f"{path}: weights of schema {schema}; this version reads schema {SCHEMA_VERSION}")
    try:
        tokenizer = Tokenizer.from_json(metadata["tokenizer"])
        model = build_model(config_from_dict(json.loads(metadata["model"])), tensors, tokenizer)
        information = dict(json.loads(metadata["information"]))
    except (FileMismatch, TokenizerError, KeyError, json.JSONDecodeError) as error:
        raise WeightsError(f"{path}: {error}") from error
    return Weights(model.to(device).eval().requires_grad_(False), tokenizer, information)
